#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What goes wrong around MPI programs: hosts without the component, or with another one, networks that
# do not work, a switch that dies, processes that die. A program goes on as it does without Canary,
# or ends as Open MPI ends it, and one line says why.

# shellcheck source=selftests/mpi/openmpi_lib.sh
. "$(dirname "$0")/openmpi_lib.sh"

ON=(--mca coll_canary_enable 1)
PROGRAM=$PROGRAMS/trouble

begin mpi/openmpi_trouble
start_switch

split "two hosts without the component" OMPI_MCA_coll=^canary -- "$PROGRAM"
without peers "no component"
split "two hosts with another version" CANARY_TEST_VERSION=9.9 -- "$PROGRAM"
without peers "another version"
split "two hosts with another threshold" OMPI_MCA_coll_canary_min_bytes=5000 -- "$PROGRAM"
without peers "2 has another value of coll_canary_min_bytes;"
split "two hosts with another priority" OMPI_MCA_coll_canary_priority=20 -- "$PROGRAM"
without peers "2 has another value of coll_canary_priority;"
split "two hosts with a name of no interface" OMPI_MCA_coll_canary_interfaces=nosuch0 -- "$PROGRAM"
without refused "rank 2: interfaces: none of 'nosuch0'"
printf '%032d\n' 1 >"$TAP_TMP/key1"
printf '%032d\n' 2 >"$TAP_TMP/key2"
chmod 600 "$TAP_TMP"/key?
right "a key" "${ON[@]}" --mca coll_canary_key_file "$TAP_TMP/key1" -- "$PROGRAM"
tap_is "is a key for all" "$(calls allreduce canary)" 2
export OMPI_MCA_coll_canary_trial=3000
split "two hosts with a key" OMPI_MCA_coll_canary_key_file="$TAP_TMP/key2" -- "$PROGRAM"
without refused "rank 2: key_file: this is not the key of rank 0"
split "two hosts with a word that is no engine" OMPI_MCA_coll_canary_engine=nosuch -- "$PROGRAM"
without peers "2 cannot use Canary: coll_canary_engine: 'nosuch'"
right "words and units" --mca coll_canary_enable yes --mca coll_canary_min_bytes 8K -- "$PROGRAM"
tap_is "are read" "$(calls allreduce canary)" 2
right "a value that is wrong at all hosts" "${ON[@]}" --mca coll_canary_min_bytes much -- "$PROGRAM"
without peers "0 cannot use Canary: coll_canary_min_bytes: 'much'"

right "runs of blocks" "${ON[@]}" --mca coll_canary_algorithm tree:8 -- "$PROGRAM"
tap_is "are led" "$(calls allreduce canary)" 2
merged=$(counter merged)
right "a ring" "${ON[@]}" --mca coll_canary_algorithm ring -- "$PROGRAM"
tap_is "goes through Canary, and the switch adds up nothing" \
	"$(calls allreduce canary) $(($(counter merged) - merged))" "2 0"
split "runs of blocks on two hosts" OMPI_MCA_coll_canary_algorithm=tree:8 -- "$PROGRAM"
without peers "2 has another value of coll_canary_algorithm"
split "no power of two" OMPI_MCA_coll_canary_algorithm=tree:12 -- "$PROGRAM"
without peers "2 cannot use Canary: coll_canary_algorithm: blocks in a run: 12 is not a power of two"

right "empty parameters" "${ON[@]}" --mca coll_canary_floats "" --mca coll_canary_interfaces "" -- \
	"$PROGRAM"
tap_is "mean nothing" "$(calls allreduce canary)" 2

firewall "$PROGRAM" "${ON[@]}"
ns_exec h2 ethtool -K eth0 gro off
right "a host that loses long packets" "${ON[@]}" -- "$PROGRAM"
without refused "no sum within 3000 ms"
ns_exec h2 ethtool -K eth0 gro on
export OMPI_MCA_coll_canary_trial=60000

switch_dies "$PROGRAM" "${ON[@]}"
goes_on "$PROGRAM" "${ON[@]}"
ends "SIGKILL of a rank ends the job" 137 "${ON[@]}" -- "$PROGRAM" kill
ends "MPI_Abort ends the job" 42 "${ON[@]}" -- "$PROGRAM" abort
different_lengths "$PROGRAM" "${ON[@]}"
tap_done
