#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Several ranks of Open MPI on each host: one of them contributes for all.

# shellcheck source=selftests/mpi/openmpi_lib.sh
. "$(dirname "$0")/openmpi_lib.sh"
# shellcheck source=selftests/mpi/node_lib.sh
. "$(dirname "$0")/node_lib.sh"

LATE=(--mca coll_canary_enable 1 --mca coll_canary_min_members 2)
LEADERS=("${LATE[@]}" --mca coll_canary_min_bytes 1)
# shellcheck disable=SC2034
MEMBERS=("${LEADERS[@]}" --mca coll_canary_node_leaders 0)

begin mpi/openmpi_node
start_switch
node_tests

# This launcher ends no job of which a rank has ended.
MPI_LIMIT=10 mpi "${LATE[@]}" --enable-recovery -- "$PROGRAMS/trouble" kill 3
some "a rank that has ended is noticed on its host" \
	"$(grep -c "rank 2: rank 3, process [0-9]* on this host, has ended" "$TAP_TMP/complaints")"
some "and other hosts hear of it" \
	"$(grep -c "rank [04-7]: among the node leaders: " "$TAP_TMP/complaints")"
tap_done
