#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# cpu.kernel: sums through AF_CANARY where processors are the limit, beside Open MPI on the same hosts.
#	cpu_kernel.sh MTU
#	h0 .. h3 --- sw, veth, not shaped
# All hosts and the switch share the processor of the guest where time counts instructions. "canary perf"
# sums int32. The baseline is the best of Open MPI's algorithms for that length, over TCP, with float32.
# In the guest's kernel, a veth whose other end has an XDP program takes no large packets. So the stack
# cuts up those of TCP, and trains, just before it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=cpu_lib.sh
. "$(dirname "$0")/cpu_lib.sh"

MTU=${1:-0}
case $MTU in
1500 | 9000) ;;
*) echo "usage: cpu_kernel.sh 1500|9000" >&2; exit 2 ;;
esac
HOSTS=4
ROUNDS=1
CALLS=6
BYTES=1048576
# shellcheck disable=SC2034
ENGINE=kernel

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_start "selftests/bench/cpu_kernel.sh $MTU"
bench_need ip jq ethtool mpirun.openmpi "$CANARY"
[ -x "$PROGRAMS/columns" ] || bench_die "needs libopenmpi-dev, and make test-openmpi"
bench_load_module
network
for algorithm in "${ALGORITHMS[@]}"; do
	timed "mpi.$algorithm" openmpi $BYTES "$algorithm"
done
timed canary canary $BYTES
read -r own _ < <(median canary)
read -r mpi _ < <(best mpi)
bench_figure "cpu.kernel.$HOSTS.$MTU.$BYTES" "$(jq -n "$BYTES / $own")" MB/s "$(jq -n "$BYTES / $mpi")" \
	"AF_CANARY, $HOSTS hosts, MTU $MTU, one processor; baseline: the best of Open MPI's algorithms"
