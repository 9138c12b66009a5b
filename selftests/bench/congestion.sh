#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# congestion.*: goodput of sums on a fat tree of 16 hosts, both idle and while half of the hosts
# fill the links with random uniform traffic. It compares dynamic trees, one, two and four static
# trees, the ring, and Open MPI without congestion. Values are medians over RUNS placements of
# topology/congestion.py. On a machine with other work, compare the ratios, and use more placements.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

RUNS=${RUNS:-3}
SIZE=${SIZE:-1M}
RATE=${RATE:-10}
TOP_DIR=$(cd "$(dirname "$0")/../.." && pwd)

bench_start "selftests/bench/congestion.sh"
bench_need jq iperf3 mnexec
export CANARY

# measure SHARES ALGORITHMS RUNS
measure()
{
	"$TOP_DIR/topology/congestion.py" --out "$TAP_TMP/out" --json "$TAP_TMP/json" --seeds "$3" --size "$SIZE" \
		--rate "${RATE}mbit" --algorithms "$2" --shares "$1" >&2 || bench_die "$2: not all was measured"
}

# row ALGORITHM SHARE: prints its row, or null
row()
{
	jq -c --arg algorithm "$1" --argjson share "$2" \
		'[.[] | select(.algorithm == $algorithm and .asked == $share)][0]' "$TAP_TMP/json"
}

# reservation ROW: prints the end of a note if the processor limits the row
reservation()
{
	[ "$(jq -r .limit <<<"$1")" = links ] ||
		jq -r '"; no result, the processor limits \(.algorithm): \(.cpu_idle) of it is idle, sleepers \(.late_ms) ms late"' <<<"$1"
}

# figure NAME ALGORITHM SHARE BASELINE-ALGORITHM BASELINE-SHARE NOTE
figure()
{
	local mine base note

	mine=$(row "$2" "$3")
	base=$(row "$4" "$5")
	[ "$mine" = null ] || [ "$base" = null ] && bench_die "$1: no result of $2 or $4"
	note=$6$(reservation "$mine")$(reservation "$base")
	bench_figure "$1" "$(jq .goodput_median <<<"$mine")" Mbit/s "$(jq .goodput_median <<<"$base")" \
		"$note; medians of $(jq .runs <<<"$mine") placements, baseline $(jq .runs <<<"$base")"
}

measure "0,0.5" "dynamic,static-1,static-2,static-4,ring" "$RUNS"
if command -v mpirun >/dev/null && /usr/bin/python3 -c "import mpi4py, numpy" 2>/dev/null; then
	measure 0 openmpi 1
	openmpi=openmpi
else
	echo "bench: congestion.idle-openmpi is left out: no mpirun or mpi4py" >&2
fi

limit=$(jq -n "$RATE * 1408 / 1514")
bench_figure congestion.idle "$(row dynamic 0 | jq .goodput_median)" Mbit/s "$limit" \
	"dynamic trees, nobody congests; baseline: payload limit of a host's link$(reservation "$(row dynamic 0)")"
figure congestion.half dynamic 0.5 dynamic 0 "dynamic trees, half of the hosts congest; baseline: nobody does"
for other in static-1 static-2 static-4 ring ${openmpi:-}; do
	figure "congestion.idle-$other" dynamic 0 "$other" 0 "dynamic trees, nobody congests; baseline: $other"
	[ "$other" = openmpi ] ||
		figure "congestion.half-$other" dynamic 0.5 "$other" 0.5 \
			"dynamic trees, half of the hosts congest; baseline: $other"
done
