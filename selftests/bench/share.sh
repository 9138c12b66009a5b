#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# share.*: one TCP flow (cubic) and one host's sums on a link that either could fill, for several
# lengths of the queues.
#	h0 .. h3 --- sw (lo 10.9.0.1)
# The network is that of goodput.sh, but with short queues that drop. The flow goes from h0 to h1.
# It meets the contributions of h0 and the results that h0 sends as a leader, in the queue of h0 and
# in that of the switch. With FROM=h4, a host without a member, it meets them in the switch's queue
# only.
#	selftests/bench/share.sh [user|kernel]		(QUEUES="8 32" FROM=h4: others)

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

ENGINE=${1:-user}
RATE=${RATE:-100}
QUEUES=${QUEUES:-8 16 32 100}
FROM=${FROM:-h0}
SIZE=$((4 << 20))
SECONDS_EACH=${SECONDS_EACH:-6}
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=5
MEMBERS=4

# queues PACKETS: sets the length of all queues
queues()
{
	local i

	for ((i = 0; i < HOSTS; i++)); do
		tc -n "$(ns_name "h$i")" qdisc replace dev eth0 parent 1:1 handle 2: pfifo limit "$1"
		tc -n "$(ns_name sw)" qdisc replace dev "s$i" parent 1:1 handle 2: pfifo limit "$1"
	done
}

# sent: prints the bits that h0 has sent
sent()
{
	echo $(($(ip -n "$(ns_name h0)" -s -j link show dev eth0 | jq '.[0].stats64.tx.bytes') * 8))
}

# sums: starts ranks that sum vectors until they are told to stop
sums()
{
	local i

	PIDS=()
	for ((i = 0; i < MEMBERS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -n 1000 -c 0 -w 0 -b "$SIZE" \
			-e "$SIZE" --engine "$ENGINE" --algorithm tree --comm 7 --rank "$i" \
			--members "$MEMBERS" --root 10.0.0.2 --bind "10.0.$i.2" >"$TAP_TMP/perf.$i" 2>&1
		PIDS+=($!)
	done
}

# flow: sets TCP to the bit/s of the flow on the wire, and SUMS to those of what else h0 sent
flow()
{
	local before all tcp ns

	before=$(sent)
	ns=$(date +%s%N)
	ns_exec "$FROM" iperf3 -c 10.0.1.2 -p 5999 -C cubic -t "$SECONDS_EACH" -J \
		>"$TAP_TMP/flow.json" || bench_die "iperf3: $(jq -r .error "$TAP_TMP/flow.json")"
	all=$(($(sent) - before))
	ns=$(($(date +%s%N) - ns))
	TCP=$(jq ".end.sum_received.bits_per_second * 1514 / 1448" "$TAP_TMP/flow.json")
	tcp=$(jq ".end.sum_received.bytes * 8 * 1514 / 1448" "$TAP_TMP/flow.json")
	[ "$FROM" = h0 ] || tcp=0
	SUMS=$(jq -n "($all - $tcp) / $ns * 1000000000")
}

# share PACKETS: measures with queues of that length
share()
{
	local pid note="Mbit/s, queues of $1 packets; baseline: wanted"

	queues "$1"
	sums
	sleep 2
	flow
	for pid in "${PIDS[@]}"; do
		bg_stop "$pid" || :
	done
	bench_figure "share.tcp.$1" "$(jq -n "$TCP / $RATE / 1000000")" "of link" "$(jq -n 1/6)" \
		"a cubic flow beside one host's sums. $RATE $note"
	bench_figure "share.canary.$1" "$(jq -n "$SUMS / $RATE / 1000000")" "of link" \
		"$(jq -n 1/3)" "one host's sums beside a cubic flow, same run. $RATE $note"
}

bench_start "selftests/bench/share.sh"
[ "$ENGINE" = user ] || [ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_need ip tc jq ethtool iperf3 "$CANARY"
[ "$ENGINE" = user ] || bench_load_module
chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
star_topology
for ((i = 0; i < HOSTS; i++)); do
	ns_exec "h$i" ethtool -K eth0 tso off gso off	# or large packets would wait
done
star_switch
bg ns_exec h1 iperf3 -s -p 5999 >/dev/null 2>&1
wait_for 10 ns_exec h1 sh -c "ss -tln | grep -q :5999"
for packets in $QUEUES; do
	share "$packets"
done
star_switch_stop
