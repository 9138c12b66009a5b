#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What goes wrong around programs of MPICH: hosts without the library, or with another one, networks
# that do not work, a switch that dies, processes that die. A program goes on as it does without
# Canary, or ends as MPICH ends it, and one line says why.

# shellcheck source=selftests/mpi/mpich_lib.sh
. "$(dirname "$0")/mpich_lib.sh"

PROGRAM=$PROGRAMS/trouble

# halves VARIABLE=VALUE PROGRAM...: runs it with a variable of the last two hosts
halves()
{
	local variable=$1

	shift
	on_host0 mpiexec.mpich "${HYDRA[@]}" -hosts "$(hosts 1)" -genv LD_PRELOAD "$PRELOAD" -n 2 "$@" : \
		-n 2 -env "${variable%%=*}" "${variable#*=}" "$@" </dev/null
}

# split DESCRIPTION VARIABLE=VALUE PROGRAM...: as right, with a variable of the last two hosts
split()
{
	local what=$1

	shift
	right_by "$what" halves "$@"
}

begin mpi/mpich_trouble
start_switch

split "two hosts without the library" LD_PRELOAD= "$PROGRAM"
without peers "2 has no libcanary-mpich.so"
split "two hosts where it is switched off" CANARY_ENABLE=0 "$PROGRAM"
without peers "switched off"
split "two hosts with another version" CANARY_TEST_VERSION=9.9 "$PROGRAM"
without peers "another version"
split "two hosts with another threshold" CANARY_MIN_BYTES=5000 "$PROGRAM"
without peers "2 has another value of CANARY_MIN_BYTES;"
split "two hosts with a name of no interface" CANARY_INTERFACES=nosuch0 "$PROGRAM"
without refused "rank 2: interfaces: none of 'nosuch0'"
right "a name of no interface at all hosts" "${ON[@]}" CANARY_INTERFACES=nosuch0 -- "$PROGRAM"
without refused "rank 0: interfaces: none of 'nosuch0'"
split "two hosts with a word that is no engine" CANARY_ENGINE=nosuch "$PROGRAM"
without peers "2 cannot use Canary: CANARY_ENGINE: 'nosuch'"
right "words and units" "${ON[@]}" CANARY_ENABLE=yes CANARY_MIN_BYTES=8K -- "$PROGRAM"
tap_is "are read" "$(calls allreduce canary)" 2
right "a value that is wrong at all hosts" "${ON[@]}" CANARY_MIN_BYTES=much -- "$PROGRAM"
without peers "0 cannot use Canary: CANARY_MIN_BYTES: 'much'"
printf '%032d\n' 1 >"$TAP_TMP/key1"
printf '%032d\n' 2 >"$TAP_TMP/key2"
chmod 600 "$TAP_TMP"/key?
right "a key" "${ON[@]}" CANARY_KEY_FILE="$TAP_TMP/key1" -- "$PROGRAM"
tap_is "is a key for all" "$(calls allreduce canary)" 2
export CANARY_TRIAL=3000
split "two hosts with a key" CANARY_KEY_FILE="$TAP_TMP/key2" "$PROGRAM"
without refused "rank 2: key_file: this is not the key of rank 0"
firewall "$PROGRAM" "${ON[@]}"
export CANARY_TRIAL=60000

switch_dies "$PROGRAM" "${ON[@]}"
goes_on "$PROGRAM" "${ON[@]}"
mpi "${ON[@]}" -- "$PROGRAM" kill
rc=$?
tap_is "SIGKILL of a rank ends the job" $((rc != 0 && rc != 124)) 1
ends "MPI_Abort ends the job" 42 "${ON[@]}" -- "$PROGRAM" abort
different_lengths "$PROGRAM" "${ON[@]}"
mpi "${ON[@]}" -- "$PROGRAM" later
tap_is "so do different lengths of requests" "$(($? > 0 && $? < 124))" 1
tap_done
