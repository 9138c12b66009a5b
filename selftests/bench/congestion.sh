#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# congestion.*: goodput of sums on a fat tree of 16 hosts, idle and while half of the hosts fill the
# links with random uniform traffic: dynamic trees, one and four static ones, the ring, Open MPI.
# Medians over RUNS placements of what topology/congestion.py measures; on a machine with other
# things to do compare the ratios, and take more placements.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

RUNS=${RUNS:-1}
SIZE=${SIZE:-512K}
RATE=${RATE:-10}
TOP_DIR=$(cd "$(dirname "$0")/../.." && pwd)

bench_start "selftests/bench/congestion.sh"
bench_need jq iperf3 mnexec
export CANARY
# Open MPI may not be there: then it is left out
"$TOP_DIR/topology/congestion.py" --out "$TAP_TMP/out" --json "$TAP_TMP/json" --seeds "$RUNS" --size "$SIZE" \
	--rate "${RATE}mbit" --algorithms "dynamic,static-1,static-4,ring,openmpi" --shares "0,0.5" >&2 ||
	[ -s "$TAP_TMP/json" ] || bench_die "nothing was measured"

# median ALGORITHM SHARE
median()
{
	jq --arg algorithm "$1" --argjson share "$2" \
		'[.[] | select(.algorithm == $algorithm and .congestion == $share) | .goodput_median][0]' "$TAP_TMP/json"
}

limit=$(jq -n "$RATE * 1408 / 1514")
idle=$(median dynamic 0)
busy=$(median dynamic 0.5)
bench_figure congestion.idle "$idle" Mbit/s "$limit" "dynamic trees, nobody congests; baseline: payload limit of a host's link"
bench_figure congestion.half "$busy" Mbit/s "$idle" "dynamic trees, half of the hosts congest; baseline: nobody does"
for other in static-1 static-4 ring openmpi; do
	value=$(median "$other" 0)
	[ "$value" = null ] || bench_figure "congestion.idle-$other" "$idle" Mbit/s "$value" \
		"dynamic trees, nobody congests; baseline: $other"
	value=$(median "$other" 0.5)
	[ "$value" = null ] || bench_figure "congestion.half-$other" "$busy" Mbit/s "$value" \
		"dynamic trees, half of the hosts congest; baseline: $other"
done
