#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# share.*: one TCP flow (cubic) beside one host's sums, on a link that either could fill.
#
#	h0 .. h3 --- sw (lo 10.9.0.1)
#
# The network of goodput.sh, but queues are short and drop what is too much. The flow goes from h0 to
# h1, so that it meets what h0 contributes and what it sends as a leader.
#
#	selftests/bench/share.sh	(QUEUE=32: other queues)

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

ENGINE=user
RATE=${RATE:-100}
QUEUE=${QUEUE:-16}		# packets
SIZE=$((4 << 20))
SECONDS_EACH=${SECONDS_EACH:-6}
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=4

short_queues()
{
	local i

	for ((i = 0; i < HOSTS; i++)); do
		ns_exec "h$i" ethtool -K eth0 tso off gso off	# what waits are packets
		tc -n "$(ns_name "h$i")" qdisc add dev eth0 parent 1:1 handle 2: pfifo limit "$QUEUE"
		tc -n "$(ns_name sw)" qdisc add dev "s$i" parent 1:1 handle 2: pfifo limit "$QUEUE"
	done
}

# sent: bytes that h0 has sent
sent()
{
	ip -n "$(ns_name h0)" -s -j link show dev eth0 | jq '.[0].stats64.tx.bytes'
}

# sums: all ranks sum vectors until they are told to stop
sums()
{
	local i

	PIDS=()
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -n 1000 -c 0 -w 0 -b "$SIZE" \
			-e "$SIZE" --engine "$ENGINE" --algorithm tree --comm 7 --rank "$i" \
			--members "$HOSTS" --root 10.0.0.2 --bind "10.0.$i.2" >"$TAP_TMP/perf.$i" 2>&1
		PIDS+=($!)
	done
}

# flow: sets TCP to the Mbit/s that it had, ALL to those of the link
flow()
{
	local before

	before=$(sent)
	ns_exec h0 iperf3 -c 10.0.1.2 -p 5999 -C cubic -t "$SECONDS_EACH" -J >"$TAP_TMP/flow.json" ||
		bench_die "iperf3: $(jq -r .error "$TAP_TMP/flow.json")"
	ALL=$((($(sent) - before) * 8 / SECONDS_EACH))
	TCP=$(jq .end.sum_received.bits_per_second "$TAP_TMP/flow.json")
}

bench_start "selftests/bench/share.sh"
bench_need ip tc jq ethtool iperf3 "$CANARY"
chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
star_topology
short_queues
star_switch
bg ns_exec h1 iperf3 -s -p 5999 >/dev/null 2>&1
wait_for 10 ns_exec h1 sh -c "ss -tln | grep -q :5999"
sums
sleep 2
flow
for pid in "${PIDS[@]}"; do
	bg_stop "$pid" || :
done
star_switch_stop
bench_figure share.tcp "$(jq -n "$TCP * 1514 / 1448 / $RATE / 1000000")" "of link" "$(jq -n 1/6)" \
	"a cubic flow beside one host's sums. $RATE Mbit/s, queues of $QUEUE packets; baseline: wanted"
bench_figure share.canary "$(jq -n "($ALL - $TCP * 1514 / 1448) / $RATE / 1000000")" "of link" \
	"$(jq -n 1/3)" "one host's sums beside a cubic flow, same run; baseline: wanted"
