#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# type.*: what sums of floating-point numbers cost beside those of int32, in the same run. All in the
# guest where time counts instructions, with AF_CANARY.
#	types.sh cost	type.cost.T: processor time of both of two ranks for a KiB of a vector of
#			4 MiB, as host.cost (cost.sh)
#	types.sh links	type.links.T: time of a vector of 2^20 elements among 8 hosts around a
#			switch, where links limit it; of bfloat16, beside float32. A vector before
#			it, which is not measured, teaches the switch its fan-in
#	types.sh latency	type.latency.double: time of one double among 8 hosts

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

WHAT=${1:-}
ENGINE=kernel
ELEMENTS=$((1 << 20))
case $WHAT in
cost) HOSTS=2 ;;
links) HOSTS=8 RATE=${RATE:-15} TIMEOUT=${TIMEOUT:-20ms} ;;
latency) HOSTS=8 TIMEOUT=1ms ;;
*) echo "usage: types.sh cost|links|latency" >&2; exit 2 ;;
esac

# shellcheck source=hosts.sh
. "$(dirname "$0")/hosts.sh"

# A pair of hosts without a switch
pair()
{
	local i

	ns_add h0 h1
	ns_link h0 eth0 10.0.0.2/16 h1 eth0 10.0.1.2/16
	for i in 0 1; do
		ns_exec h$i ethtool -K eth0 tso off gso off gro off >/dev/null
	done
}

# star SHAPED: hosts around a switch
star()
{
	local i ports=

	ns_add sw
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for ((i = 0; i < HOSTS; i++)); do
		if [ "$1" = shaped ]; then
			host_link "$i" sw
		else
			ns_add "h$i"
			ns_link "h$i" eth0 "10.0.$i.2/24" sw "s$i" "10.0.$i.1/24"
			ns_ip "h$i" route add default via "10.0.$i.1"
			ns_exec "h$i" ethtool -K eth0 gro on
		fi
		ns_exec sw ethtool -K "s$i" gro on
		ports=${ports:+$ports,}s$i
	done
	if [ "$1" = shaped ]; then
		host_switch sw "$ports"
	else
		bg ns_exec sw "$CANARY" switch run --ports "$ports" --timeout "$TIMEOUT" \
			--name "$(ns_name sw)" >"$TAP_TMP/sw" 2>"$TAP_TMP/sw.err"
		wait_for 20 grep -q "ready:" "$TAP_TMP/sw" ||
			bench_die "no switch: $(cat "$TAP_TMP/sw.err")"
	fi
}

# us TYPE BYTES OPTION...: prints the microseconds of a sum
us()
{
	local i pids=() type=$1 bytes=$2

	shift 2
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 600 "$CANARY" perf allreduce -d "$type" -b "$bytes" \
			-e "$bytes" -c 0 -J "$TAP_TMP/$type.json" --engine kernel --comm 7 \
			--algorithm tree --rank "$i" --members "$HOSTS" --root 10.0.0.2 \
			--bind "10.0.$i.2" "$@" >"$TAP_TMP/$type.$i" 2>&1
		pids+=("$!")
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/$type.$i")"
	done
	[ -z "${VERBOSE:-}" ] || jq -c '.results, .stats' "$TAP_TMP/$type.json" >&2
	jq '.results[0].out_of_place.time_us' "$TAP_TMP/$type.json"
}

cost()
{
	local type int32 size=$((4 << 20)) time

	pair
	int32=$(us int32 $size -n 2 -w 1 --zerocopy off)
	for type in float bfloat16 double; do
		time=$(us $type $size -n 2 -w 1 --zerocopy off)
		bench_figure "type.cost.$type" "$(jq -n "$time * 1000 * 1024 / $size")" ns/KiB \
			"$(jq -n "$int32 * 1000 * 1024 / $size")" \
			"2 ranks, 4 MiB, both hosts; baseline: int32"
	done
}

links()
{
	local int32 float bfloat16

	star shaped
	int32=$(us int32 $((4 * ELEMENTS)) -n 2 -w 1)
	float=$(us float $((4 * ELEMENTS)) -n 2 -w 1)
	bfloat16=$(us bfloat16 $((2 * ELEMENTS)) -n 2 -w 1)
	bench_figure type.links.float "$float" us "$int32" \
		"8 hosts, a switch, links of $RATE Mbit/s, 4 MiB; baseline: int32"
	bench_figure type.links.bfloat16 "$bfloat16" us "$float" \
		"the same, as many elements; baseline: float"
}

latency()
{
	local int32 double

	star unshaped
	int32=$(us int32 4 -n 500 -w 24)
	double=$(us double 8 -n 500 -w 24)
	bench_figure type.latency.double "$double" us "$int32" \
		"one element, 8 hosts, a switch; baseline: int32"
}

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_start "selftests/bench/types.sh $WHAT"
bench_need ip tc jq ethtool "$CANARY"
bench_load_module
"$WHAT"
