#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# nodes: what a host sends, and how long a sum takes, with 1, 2 and 4 ranks of Open MPI on each of four
# hosts around a switch: all ranks as members, node leaders, and Open MPI alone. Links of RATE Mbit/s.

# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=../mpi/node_lib.sh
. "$(dirname "$0")/../mpi/node_lib.sh"

RATE=${RATE:-100}
SUMS=21		# the first one forms the communicator, and is not timed
COUNT=100000	# float32
LATE=(--mca coll_canary_enable 1 --mca coll_canary_min_members 2)
LEADERS=("${LATE[@]}" --mca coll_canary_min_bytes 1)
MEMBERS=("${LEADERS[@]}" --mca coll_canary_node_leaders 0)
WITHOUT=(--mca coll_canary_enable 0)

# measure WHO OPTION...: prints a line
measure()
{
	local who=$1

	shift
	count_on 1
	right "$who, $PER_HOST on each host" "$@" -- "$PROGRAMS/node" repeat $SUMS $COUNT
	echo "# $who, $PER_HOST ranks on each host: $(counted 1) bytes of Canary from one host," \
		"$(sed -n 's/^ms for a sum: //p' "$TAP_TMP/said") ms for a sum"
}

begin bench/nodes
start_switch
for ((i = 0; i < HOSTS; i++)); do
	ns_exec "h$i" tc qdisc add dev eth0 root tbf rate "${RATE}mbit" burst 64k latency 20ms
	ns_exec sw tc qdisc add dev "s$i" root tbf rate "${RATE}mbit" burst 64k latency 20ms
done
for PER_HOST in 1 2 4; do
	measure "all ranks are members" "${MEMBERS[@]}"
	measure "node leaders" "${LEADERS[@]}"
	measure "without Canary" "${WITHOUT[@]}"
done
tap_done
