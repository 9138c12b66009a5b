#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Unmodified programs of Open MPI on four hosts around a switch: what goes through Canary is right,
# the switch adds it up, and all else goes to the functions that Open MPI would choose without it.

# shellcheck source=selftests/mpi/openmpi_lib.sh
. "$(dirname "$0")/openmpi_lib.sh"

ON="--mca coll_canary_enable 1"
EXPECTED_TYPES=468	# calls of MPI_Allreduce in types.c

begin mpi/openmpi
start_switch

# shellcheck disable=SC2086
{
right "types and operators" $ON --mca coll_canary_min_bytes 1 -- "$PROGRAMS/types" 1000
tap_is "all MPI_Allreduce by Canary" "$(calls allreduce canary)" $EXPECTED_TYPES
tap_is "all MPI_Reduce by Canary" "$(calls reduce canary)" $((EXPECTED_TYPES / 2))
tap_is "all MPI_Iallreduce by Canary" "$(calls iallreduce canary)" $((EXPECTED_TYPES / 2))
some "the switch added up contributions" "$(counter merged)"
some "and sent blocks on that were complete" "$(counter sent-complete)"

right "sums of all lengths, barriers" $ON --mca coll_canary_barrier 1 -- "$PROGRAMS/calls" blocking
tap_is "long ones by Canary" "$(calls allreduce canary)" 4
tap_is "short ones not" "$(calls allreduce short)" 4
tap_is "barriers by Canary" "$(calls barrier canary)" 9

right "requests under way" $ON -- "$PROGRAMS/calls" flight
tap_is "requests by Canary" "$(calls iallreduce canary)" 19
right "all functions that complete requests" $ON -- "$PROGRAMS/corners" first waits
tap_is "requests by Canary" "$(calls iallreduce canary)" 36
right "more requests than there is room for" $ON -- "$PROGRAMS/corners" first room
tap_is "requests by Canary" "$(calls iallreduce canary)" 600
right "a request does not wait for others to call" $ON -- "$PROGRAMS/calls" blocking first message
tap_is "it is by Canary" "$(calls iallreduce canary)" 1
right "an empty vector that only some ranks have" $ON -- "$PROGRAMS/careless" empty
tap_is "does not disturb forming" "$(calls iallreduce not-formed) $(calls allreduce canary)" "1 1"
right "requests that are cancelled, and freed under way" $ON -- "$PROGRAMS/careless" first dropped
tap_is "by Canary" "$(calls iallreduce canary)" 2
right "requests that nobody waits for" $ON -- "$PROGRAMS/careless" first left
tap_is "by Canary" "$(calls iallreduce canary)" 2
right "likewise before there is a communicator" $ON -- "$PROGRAMS/calls" first
tap_is "then not by Canary" "$(calls iallreduce not-formed)" 1

right "a communicator that MPI_Init forms" $ON --mca coll_canary_early 1 -- "$PROGRAMS/calls" first
tap_is "is there for requests" "$(calls iallreduce canary)" 1

right "a communicator that is freed before its request" $ON -- "$PROGRAMS/calls" freed
tap_is "by Canary" "$(calls iallreduce canary)" 1
right "one that a rank frees before others call" $ON -- "$PROGRAMS/calls" freed-first
tap_is "by Canary" "$(calls iallreduce canary)" 1

right "copies and halves of communicators" $ON --mca coll_canary_min_members 2 -- \
	"$PROGRAMS/calls" comms nested
tap_is "all of their sums by Canary" "$(calls allreduce canary)" 221
right "four threads" $ON --mca coll_canary_early 1 -- "$PROGRAMS/calls" threads
tap_is "their sums by Canary" "$(calls allreduce canary)" 80
tap_is "and their requests" "$(calls iallreduce canary)" 80
right "all functions that complete requests, in four threads" $ON -- "$PROGRAMS/careless" threads
tap_is "requests by Canary" "$(calls iallreduce canary)" 144
right "measured thresholds" $ON --mca coll_canary_min_bytes 0 -- "$PROGRAMS/calls" blocking comms nested
tap_is "all communicators of four are formed" \
	"$(sed -n 's/^canary: *\([0-9]* communicators formed, [0-9]* not\).*/\1/p' "$TAP_TMP/complaints")" \
	"61 communicators formed, 0 not"
right "operators and types of the program" $ON -- "$PROGRAMS/calls" others
tap_is "they are not Canary's: operator" "$(calls allreduce operator)" 1
tap_is "they are not Canary's: type" "$(calls allreduce type)" 1

PER_HOST=2 right "two ranks on each host" $ON -- "$PROGRAMS/calls" blocking flight
some "they go through Canary" "$(calls allreduce canary)"

if command -v gfortran mpif90.openmpi >/dev/null; then
	tap_check "a program in Fortran is compiled" mpif90.openmpi -o "$TAP_TMP/fortran" \
		"$(dirname "$0")/fortran.f90"
	right "a program in Fortran" $ON -- "$TAP_TMP/fortran"
	tap_is "all of its sums by Canary" "$(calls allreduce canary)" 4
else
	tap_skip "a program in Fortran" "needs gfortran and mpif90.openmpi"
fi
if /usr/bin/python3 -c "import mpi4py, numpy" 2>/dev/null; then
	right "a program of mpi4py" $ON -- /usr/bin/python3 "$(dirname "$0")/arrays.py"
	some "goes through Canary" "$(calls allreduce canary)"
else
	tap_skip "a program of mpi4py" "needs python3-mpi4py and python3-numpy"
fi

before=$(counter new)
right "the same program without the variable" -- "$PROGRAMS/calls" blocking flight
tap_is "does without Canary" "$(counter new)" "$before"
tap_is "and says nothing" "$(grep -c canary "$TAP_TMP/complaints")" 0
}
tap_done
