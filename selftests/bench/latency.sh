#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# latency.*: time of small allreduces with learned fan-in, compared with switches whose fan-in is
# configured, and with switches that only have their timeout. In the guest where time counts
# instructions.
#	h0 h1 --- l0 ---+
#	h2 h3 --- l1 ---+--- s		all links unshaped, MTU 1500, AF_CANARY
#	h4 h5 --- l2 ---+

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

HOSTS=6
LEAVES=3
ITERS=${ITERS:-60}
# Each rank leads at least twice before the measurement begins.
WARMUP=$((2 * HOSTS))

# node NAME LOOPBACK: makes a switch without a daemon
node()
{
	ns_add "$1"
	ns_ip "$1" addr add "$2/32" dev lo
	ns_exec "$1" sysctl -qw net.ipv4.ip_forward=1
}

# receive NAME DEV: switches on GRO, which a veth needs to receive what XDP redirects
receive()
{
	ns_exec "$1" ethtool -K "$2" gro on
}

topology()
{
	local i leaf

	node s 10.9.0.9
	for ((leaf = 0; leaf < LEAVES; leaf++)); do
		node l$leaf 10.9.0.$leaf
		ns_link l$leaf u0 10.1.$leaf.1/24 s d$leaf 10.1.$leaf.2/24
		receive l$leaf u0
		receive s d$leaf
		ns_ip l$leaf route add default via 10.1.$leaf.2
		ns_ip s route add 10.9.0.$leaf via 10.1.$leaf.1
		ns_ip s route add 10.0.$leaf.0/24 via 10.1.$leaf.1
	done
	for ((i = 0; i < HOSTS; i++)); do
		leaf=$((i / 2))
		ns_add h$i
		ns_link h$i eth0 "$(host_address $i)/30" l$leaf p$i "10.0.$leaf.$((i % 2 * 4 + 1))/30"
		ns_ip h$i route add default via "10.0.$leaf.$((i % 2 * 4 + 1))"
		receive h$i eth0
	done
}

host_address()
{
	echo "10.0.$(($1 / 2)).$(($1 % 2 * 4 + 2))"
}

# start_switch NAME PORTS FAN-IN
start_switch()
{
	local name

	name=$(ns_name "$1")
	bg ns_exec "$1" "$CANARY" switch run --name "$name" --ports "$2" --fan-in "$3" --timeout 1ms \
		>"$TAP_TMP/$1" 2>"$TAP_TMP/$1.err"
	SWITCHES+=("$!")
	wait_for 20 grep -q "ready:" "$TAP_TMP/$1" || bench_die "no switch $1: $(cat "$TAP_TMP/$1.err")"
}

# start_switches learn|off|told
start_switches()
{
	local leaf spine=$1 fan_in=$1

	SWITCHES=()
	# The spine gets contributions from two leaves if the leader is behind the third one. A leaf
	# gets those of its own two hosts if the leader is elsewhere, and all (members - 1) if it is
	# here.
	[ "$1" != told ] || spine=off,10.0.0.0/16=4
	start_switch s d0,d1,d2 "$spine"
	for ((leaf = 0; leaf < LEAVES; leaf++)); do
		[ "$1" != told ] || fan_in=off,10.0.0.0/16=2,10.0.$leaf.0/24=$((HOSTS - 1))
		start_switch l$leaf u0,p$((2 * leaf)),p$((2 * leaf + 1)) "$fan_in"
	done
}

stop_switches()
{
	local pid name

	for name in s l0 l1 l2; do
		[ -z "${VERBOSE:-}" ] || "$CANARY" switch show -j --name "$(ns_name $name)" |
			jq -c '.fan_in, (.counters, .drops | with_entries(select(.value != 0)))' >&2
	done
	for pid in "${SWITCHES[@]}"; do
		bg_stop "$pid" || :
	done
}

# measure HOW: writes the microseconds of allreduces to $TAP_TMP/HOW.json
measure()
{
	local i pids=()

	start_switches "$1"
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec h$i timeout 300 "$CANARY" perf allreduce -b 4 -e 4K -f 32 -n "$ITERS" \
			-w $WARMUP -c 1 -J "$TAP_TMP/$1.json" --engine kernel --comm 7 --rank $i \
			--members $HOSTS --root "$(host_address 0)" --bind "$(host_address $i)" \
			>"$TAP_TMP/$1.$i" 2>&1
		pids+=("$!")
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/$1.$i")"
	done
	stop_switches
	[ -z "${VERBOSE:-}" ] || jq -c '.results, .stats' "$TAP_TMP/$1.json" >&2
}

# us HOW SIZE
us()
{
	jq ".results[] | select(.size == $2) | .out_of_place.time_us" "$TAP_TMP/$1.json"
}

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_start "selftests/bench/latency.sh"
bench_need ip jq ethtool "$CANARY"
bench_load_module
topology
for how in told learn off; do
	measure $how
done
for size in 4 128 4096; do
	bench_figure latency.learned.$size "$(us learn $size)" us "$(us told $size)" \
		"allreduce of $size bytes, 6 hosts, 3 + 1 switches; baseline: told their children"
done
for size in 4 4096; do
	bench_figure latency.timeout.$size "$(us off $size)" us "$(us told $size)" \
		"the same, fan-in neither learned nor told: timeouts of 1 ms"
done
