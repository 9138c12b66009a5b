#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of Open MPI that call MPI_Iallreduce, and no function that may wait for other ranks: their
# communicators are formed meanwhile, or turn out not to work, and sums are right all the time.

# shellcheck source=selftests/mpi/openmpi_lib.sh
. "$(dirname "$0")/openmpi_lib.sh"

ON=(--mca coll_canary_enable 1)
PROGRAM=$PROGRAMS/only

# shellcheck source=selftests/mpi/only_lib.sh
. "$(dirname "$0")/only_lib.sh"

begin mpi/openmpi_only
start_switch
forms "${ON[@]}"
forms_in_threads "${ON[@]}"
right "vectors of any length, also those of Open MPI itself" "${ON[@]}" \
	--mca coll_canary_min_bytes 1 -- "$PROGRAM" comms mixed freed
some "they go through Canary" "$(calls iallreduce canary)"
right "measured thresholds" "${ON[@]}" --mca coll_canary_min_bytes 0 -- "$PROGRAM" one call mixed
some "requests go through Canary" "$(calls iallreduce canary)"

ends "a rank that dies before it is formed ends the job" 137 "${ON[@]}" -- "$PROGRAM" dies
PER_HOST=2 right "two ranks on each host" "${ON[@]}" -- "$PROGRAM" many mixed
went "they go through Canary" 191 9 0

split "two hosts with a name of no interface" OMPI_MCA_coll_canary_interfaces=nosuch0 -- \
	"$PROGRAM" mixed
went "all by Open MPI" 0 8 152
some "and one line says why" "$(grep -c "^canary: .*rank 2: interfaces: none" "$TAP_TMP/complaints")"
split "two hosts that do not wait for the trial, which is right at others" \
	OMPI_MCA_coll_canary_trial=0 -- "$PROGRAM" many
went "all by Open MPI" 0 1 39
some "and one line says why" "$(grep -c "^canary: .*rank 2: no sum within 0 ms" "$TAP_TMP/complaints")"
export OMPI_MCA_coll_canary_trial=1000
fails "${ON[@]}"

tap_done
