#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Unmodified programs of MPICH on four hosts around a switch: what goes through Canary is right, the
# switch adds it up, and all else goes to MPICH's own functions.

# shellcheck source=selftests/mpi/mpich_lib.sh
. "$(dirname "$0")/mpich_lib.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
EXPECTED_TYPES=468	# calls of MPI_Allreduce in types.c
OPENMPI_PROGRAMS=$TAP_TOP/build/selftests/mpi

# fortran DESCRIPTION FILE WRAPPER: compiles a program in Fortran, and runs it
fortran()
{
	if ! command -v gfortran "$3" >/dev/null; then
		tap_skip "$1" "needs gfortran and $3"
		return
	fi
	tap_check "$1 is compiled" "$3" -w -o "$TAP_TMP/fortran" "$HERE/$2"
	right "$1" "${ON[@]}" -- "$TAP_TMP/fortran"
}

begin mpi/mpich
start_switch

right "types and operators" "${ON[@]}" CANARY_MIN_BYTES=1 -- "$PROGRAMS/types" 1000
tap_is "all MPI_Allreduce by Canary" "$(calls allreduce canary)" $EXPECTED_TYPES
tap_is "all MPI_Reduce by Canary" "$(calls reduce canary)" $((EXPECTED_TYPES / 2))
tap_is "all MPI_Iallreduce by Canary" "$(calls iallreduce canary)" $((EXPECTED_TYPES / 2))
some "the switch added up contributions" "$(counter merged)"
some "and sent blocks on that were complete" "$(counter sent-complete)"

right "sums of all lengths, barriers" "${ON[@]}" CANARY_BARRIER=1 -- "$PROGRAMS/calls" blocking
tap_is "long ones by Canary" "$(calls allreduce canary)" 4
tap_is "barriers by Canary" "$(calls barrier canary)" 9

right "requests under way" "${ON[@]}" -- "$PROGRAMS/calls" flight
tap_is "requests by Canary" "$(calls iallreduce canary)" 19
right "all functions that complete requests" "${ON[@]}" -- "$PROGRAMS/corners" first waits
tap_is "requests by Canary" "$(calls iallreduce canary)" 36
right "more requests than there is room for" "${ON[@]}" -- "$PROGRAMS/corners" first room
tap_is "requests by Canary" "$(calls iallreduce canary)" 600
right "a request does not wait for others to call" "${ON[@]}" -- "$PROGRAMS/calls" blocking first message
tap_is "it is by Canary" "$(calls iallreduce canary)" 1
right "an empty vector that only some ranks have" "${ON[@]}" -- "$PROGRAMS/careless" empty
tap_is "forms a communicator at all ranks" \
	"$(calls iallreduce not-formed) $(calls allreduce short) $(calls allreduce canary)" "1 1 1"
right "requests that are cancelled, and freed under way" "${ON[@]}" -- "$PROGRAMS/careless" first dropped
tap_is "by Canary" "$(calls iallreduce canary)" 2
right "requests that nobody waits for" "${ON[@]}" -- "$PROGRAMS/careless" first left
tap_is "by Canary" "$(calls iallreduce canary)" 2
right "a session before MPI_Init" "${ON[@]}" -- "$PROGRAMS/careless" session first
tap_is "its sums by Canary" "$(calls allreduce canary)" 1
right "likewise before there is a communicator" "${ON[@]}" -- "$PROGRAMS/calls" first
tap_is "then not by Canary" "$(calls iallreduce not-formed)" 1
right "a communicator that MPI_Init forms" "${ON[@]}" CANARY_EARLY=1 -- "$PROGRAMS/calls" first
tap_is "is there for requests" "$(calls iallreduce canary)" 1
right "a communicator that is freed before its request" "${ON[@]}" -- "$PROGRAMS/calls" freed
tap_is "by Canary" "$(calls iallreduce canary)" 1
right "large counts" "${ON[@]}" -- "$PROGRAMS/corners" large
tap_is "all three functions by Canary" \
	"$(calls allreduce canary) $(calls iallreduce canary) $(calls reduce canary)" "1 1 1"

right "copies and halves of communicators" "${ON[@]}" CANARY_MIN_MEMBERS=2 -- \
	"$PROGRAMS/calls" comms nested
tap_is "all of their sums by Canary" "$(calls allreduce canary)" 221
right "four threads" "${ON[@]}" CANARY_EARLY=1 -- "$PROGRAMS/calls" threads
tap_is "their sums by Canary" "$(calls allreduce canary)" 80
tap_is "and their requests" "$(calls iallreduce canary)" 80
right "all functions that complete requests, in four threads" "${ON[@]}" -- "$PROGRAMS/careless" threads
tap_is "requests by Canary" "$(calls iallreduce canary)" 144
right "measured thresholds" "${ON[@]}" CANARY_MIN_BYTES=0 -- "$PROGRAMS/calls" blocking comms nested
tap_is "all communicators of four are formed" \
	"$(sed -n 's/^canary: *\([0-9]* communicators formed, [0-9]* not\).*/\1/p' "$TAP_TMP/complaints")" \
	"61 communicators formed, 0 not"
right "operators and types of the program" "${ON[@]}" -- "$PROGRAMS/calls" others
tap_is "they are not Canary's: operator" "$(calls allreduce operator)" 1
tap_is "they are not Canary's: type" "$(calls allreduce type)" 1

PER_HOST=2 right "two ranks on each host" "${ON[@]}" -- "$PROGRAMS/calls" blocking flight
some "they go through Canary" "$(calls allreduce canary)"

fortran "a program in Fortran" fortran.f90 mpif90.mpich
tap_is "all of its sums by Canary" "$(calls allreduce canary)" 4
fortran "a program in Fortran 2008" fortran08.f90 mpif90.mpich
tap_is "all of its sums by Canary" "$(calls allreduce canary) $(calls iallreduce canary)" "2 1"

mpi -- "$PROGRAMS/corners" first errors
cp "$TAP_TMP/said" "$TAP_TMP/expected"
right "errors" "${ON[@]}" -- "$PROGRAMS/corners" first errors
tap_check "are those of MPICH" cmp "$TAP_TMP/expected" "$TAP_TMP/said"

before=$(counter new)
right "the same program without the library" -- "$PROGRAMS/calls" blocking flight
tap_is "does without Canary" "$(counter new)" "$before"
tap_is "and says nothing" "$(grep -c canary "$TAP_TMP/complaints")" 0
right "the same program with CANARY_ENABLE=0" "${ON[@]}" CANARY_ENABLE=0 -- "$PROGRAMS/calls" blocking
tap_is "says nothing, too" "$(grep -c canary "$TAP_TMP/complaints")" 0

mpi "${ON[@]}" -- sh -c 'echo "all right"'
tap_is "a program without MPI does not notice it" \
	"$(sort -u "$TAP_TMP/said") $(wc -c <"$TAP_TMP/complaints")" "all right 0"
if [ -x "$OPENMPI_PROGRAMS/calls" ]; then
	LD_PRELOAD=$PRELOAD "$OPENMPI_PROGRAMS/calls" blocking >/dev/null 2>"$TAP_TMP/complaints"
	tap_is "a program of Open MPI ends" $? 2
	some "and a line says why" "$(grep -c "^canary: .* Open MPI" "$TAP_TMP/complaints")"
else
	tap_skip "a program of Open MPI" "needs libopenmpi-dev, and make test-openmpi"
fi
tap_done
