#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# small: how long a sum of 8 bytes takes where processors are the limit, beside Open MPI on the same hosts.
#	small.sh HOSTS
#	h0 .. h(HOSTS - 1) --- sw, veth, not shaped
# "canary perf" sums int32 with the user engine, one operation after the other. The baseline is the best of
# Open MPI's algorithms, over TCP, with float32. Its ranks poll. Those of canary poll for 50 us, and then sleep,
# as is the default. "sleeping" is without that (--spin 0us). Runs alternate, ROUNDS times, and medians count.
# The 99th percentile is that of single operations at rank 0.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=cpu_lib.sh
. "$(dirname "$0")/cpu_lib.sh"

HOSTS=${1:-0}
MTU=1500
case $HOSTS in
2 | 4 | 8) ;;
*) echo "usage: small.sh 2|4|8" >&2; exit 2 ;;
esac
ROUNDS=${ROUNDS:-5}
CALLS=${CALLS:-5000}
NOTE="8 bytes, $HOSTS hosts, links as fast as this machine"

bench_start "selftests/bench/small.sh $HOSTS"
bench_need ip jq ethtool mpirun.openmpi "$CANARY"
[ -x "$PROGRAMS/columns" ] || bench_die "needs libopenmpi-dev, and make test-openmpi"
network
bench_quiet || exit 1
for ((round = 0; round < ROUNDS; round++)); do
	timed canary canary 8
	jq '.results[0].out_of_place.p99_us' "$TAP_TMP/perf.json" >>"$TAP_TMP/p99"
	timed sleeping canary 8 --spin 0us
	for algorithm in "${ALGORITHMS[@]}"; do
		timed "own.$algorithm" openmpi 8 "$algorithm"
	done
done
read -r us cores < <(median canary)
read -r sleeping _ < <(median sleeping)
read -r best best_cores < <(best own)
bench_figure "small.$HOSTS" "$us" us "$best" "$NOTE; baseline: the best of Open MPI's algorithms"
bench_figure "small.sleeping.$HOSTS" "$sleeping" us "$best" "$NOTE, without polling; baseline: the same"
bench_figure "small.p99.$HOSTS" "$(median p99)" us "$us" "$NOTE; baseline: the mean of these operations"
bench_figure "small.processor.$HOSTS" "$(jq -n "$us * $cores")" us "$(jq -n "$best * $best_cores")" \
	"processor time of a sum of $NOTE, all hosts and the switch; baseline: Open MPI's best"
