#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# cpu.allreduce: sums where processors are the limit, beside Open MPI on the same hosts.
#	cpu.sh HOSTS MTU
#	h0 .. h(HOSTS - 1) --- sw, veth, not shaped
# All hosts and the switch share the processors of this machine. "canary perf" sums int32 with the user
# engine: as it is, and tuned for such a machine, with runs of 16 blocks and SCHED_BATCH (".tuned"). The
# baseline is the best of Open MPI's algorithms for that length, over TCP, with float32:
#  - as TCP is on a veth: segments of up to 64 KiB pass the stack as one (".HOSTS.MTU.BYTES")
#  - one segment a packet, which is what a wire costs (".plain")
# Runs alternate, ROUNDS times. A figure is the median, and the baseline the least of the medians. Before the
# first one there is traffic until the switch broadcasts results, which takes it two seconds at most.
#
# cpu.processor: processor time for a byte of the vector, of all hosts and the switch together. It is the
# time of a sum by the share of the time in which processors were busy while the program ran.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=cpu_lib.sh
. "$(dirname "$0")/cpu_lib.sh"

HOSTS=${1:-0}
MTU=${2:-0}
case $HOSTS.$MTU in
2.1500 | 4.1500 | 8.1500 | 2.9000 | 4.9000 | 8.9000) ;;
*) echo "usage: cpu.sh 2|4|8 1500|9000" >&2; exit 2 ;;
esac
ROUNDS=${ROUNDS:-3}
SIZES=${SIZES:-65536 1048576 4194304 67108864}
SEGMENTS=65535		# largest number of segments of a packet, the default of devices

# segments N: sets how many segments a packet for a device may have
segments()
{
	local i

	for ((i = 0; i < HOSTS; i++)); do
		ns_ip "h$i" link set eth0 gso_max_segs "$1"
	done
}

# figures BYTES: prints them. The ratio is one of speeds: 1 is as fast as the baseline.
figures()
{
	local name=$HOSTS.$MTU.$1 own cores tuned tuned_cores plain plain_cores gso gso_cores
	local what="$HOSTS hosts, MTU $MTU, links as fast as this machine"

	read -r own cores < <(median "canary.$1")
	read -r tuned tuned_cores < <(median "tuned.$1")
	read -r gso gso_cores < <(best "gso.$1")
	read -r plain plain_cores < <(best "plain.$1")
	bench_figure "cpu.allreduce.$name" "$(jq -n "$1 / $own")" MB/s "$(jq -n "$1 / $gso")" \
		"$what; baseline: the best of Open MPI's algorithms"
	bench_figure "cpu.allreduce.$name.tuned" "$(jq -n "$1 / $tuned")" MB/s "$(jq -n "$1 / $gso")" \
		"$what, runs of 16 blocks and SCHED_BATCH; baseline: the best of Open MPI's algorithms, without"
	bench_figure "cpu.allreduce.$name.plain" "$(jq -n "$1 / $own")" MB/s "$(jq -n "$1 / $plain")" \
		"$what; baseline: the same, one segment a packet"
	bench_figure "cpu.processor.$name" "$(jq -n "$own * $cores * 1000 / $1")" ns/byte \
		"$(jq -n "$gso * $gso_cores * 1000 / $1")" \
		"processor time for a byte of the vector, all hosts and the switch; baseline: Open MPI's best"
	bench_figure "cpu.processor.$name.tuned" "$(jq -n "$tuned * $tuned_cores * 1000 / $1")" ns/byte \
		"$(jq -n "$gso * $gso_cores * 1000 / $1")" "likewise, tuned"
	bench_figure "cpu.processor.$name.plain" "$(jq -n "$own * $cores * 1000 / $1")" ns/byte \
		"$(jq -n "$plain * $plain_cores * 1000 / $1")" "likewise, one segment a packet"
}

bench_start "selftests/bench/cpu.sh $HOSTS $MTU"
bench_need ip jq chrt ethtool mpirun.openmpi "$CANARY"
[ -x "$PROGRAMS/columns" ] || bench_die "needs libopenmpi-dev, and make test-openmpi"
network
bench_quiet || exit 1
CALLS=600 timed before canary 1048576
for bytes in $SIZES; do
	for ((round = 0; round < ROUNDS; round++)); do
		timed "canary.$bytes" canary "$bytes"
		ALGORITHM=tree:16 timed "tuned.$bytes" batch canary "$bytes"
		for algorithm in "${ALGORITHMS[@]}"; do
			timed "gso.$bytes.$algorithm" openmpi "$bytes" "$algorithm"
		done
		segments 1
		for algorithm in "${ALGORITHMS[@]}"; do
			timed "plain.$bytes.$algorithm" openmpi "$bytes" "$algorithm"
		done
		segments $SEGMENTS
	done
	figures "$bytes"
done
