#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Several ranks of MPICH on each host: one of them contributes for all.

# shellcheck source=selftests/mpi/mpich_lib.sh
. "$(dirname "$0")/mpich_lib.sh"
# shellcheck source=selftests/mpi/node_lib.sh
. "$(dirname "$0")/node_lib.sh"

LATE=("${ON[@]}" CANARY_MIN_MEMBERS=2)
LEADERS=("${LATE[@]}" CANARY_MIN_BYTES=1)
# shellcheck disable=SC2034
MEMBERS=("${LEADERS[@]}" CANARY_NODE_LEADERS=0)

begin mpi/mpich_node
start_switch
node_tests
tap_done
