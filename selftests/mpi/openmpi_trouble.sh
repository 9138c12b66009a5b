#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What goes wrong around MPI programs: hosts without the component, or with another one, networks that
# do not work, a switch that dies, processes that die. A program goes on as it does without Canary,
# or ends as Open MPI ends it, and one line says why.

# shellcheck source=selftests/mpi/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

ON=(--mca coll_canary_enable 1)
PROGRAM=$PROGRAMS/trouble

# split DESCRIPTION VARIABLE=VALUE -- PROGRAM...: as right, with a variable of the last two hosts. Parameters
# on mpirun's command line would be those of all hosts.
split()
{
	local what=$1 variable=$2 rc=0

	shift 3
	ns_exec h0 unshare --uts sh -c 'hostname host0 && exec "$@"' sh timeout -k 5 240 \
		mpirun.openmpi --allow-run-as-root --oversubscribe "${MCA[@]}" \
		--host 10.77.0.2:1,10.77.1.2:1 -n 2 -x OMPI_MCA_coll_canary_enable=1 "$@" : \
		--host 10.77.2.2:1,10.77.3.2:1 -n 2 -x OMPI_MCA_coll_canary_enable=1 \
		-x "$variable" "$@" >"$TAP_TMP/said" 2>"$TAP_TMP/complaints" || rc=$?
	if [ "$rc" = 0 ] && grep -qx "all right" "$TAP_TMP/said"; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc
$(told)"
	fi
}

# without REASON LINE: passes if no call went through Canary for this reason, and one line says so
without()
{
	if [ "$(calls allreduce canary)" = 0 ] && [ "$(calls allreduce "$1")" -gt 0 ] &&
	   [ "$(grep -c "^canary: [a-z]* .*$2" "$TAP_TMP/complaints")" = 1 ]; then
		tap_ok "without Canary ($1), and one line says why"
	else
		tap_not_ok "without Canary ($1), and one line says why" "$(told)"
	fi
}

# ends DESCRIPTION STATUS PROGRAM...: passes if mpirun ends with this exit status
ends()
{
	local what=$1 status=$2 rc=0

	shift 2
	mpi "${ON[@]}" -- "$@" || rc=$?
	if [ "$rc" = "$status" ]; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc
$(told)"
	fi
}

begin mpi/openmpi_trouble
start_switch

split "two hosts without the component" OMPI_MCA_coll=^canary -- "$PROGRAM"
without peers "no component"
split "two hosts with another version" CANARY_TEST_VERSION=9.9 -- "$PROGRAM"
without peers "another version"
split "two hosts with another threshold" OMPI_MCA_coll_canary_min_bytes=5000 -- "$PROGRAM"
without peers "other settings"
split "two hosts with another priority" OMPI_MCA_coll_canary_priority=20 -- "$PROGRAM"
without peers "other settings"
split "two hosts with a name of no interface" OMPI_MCA_coll_canary_interfaces=nosuch0 -- "$PROGRAM"
without refused "rank 2: interfaces: none of 'nosuch0'"
printf '%032d\n' 1 >"$TAP_TMP/key1"
printf '%032d\n' 2 >"$TAP_TMP/key2"
chmod 600 "$TAP_TMP"/key?
right "a key" "${ON[@]}" --mca coll_canary_key_file "$TAP_TMP/key1" -- "$PROGRAM"
tap_is "is a key for all" "$(calls allreduce canary)" 2
export OMPI_MCA_coll_canary_trial=3000
split "two hosts with a key" OMPI_MCA_coll_canary_key_file="$TAP_TMP/key2" -- "$PROGRAM"
without refused "rank 0: no sum within 3000 ms"
split "two hosts with a word that is no engine" OMPI_MCA_coll_canary_engine=nosuch -- "$PROGRAM"
without peers "no component"

right "empty parameters" "${ON[@]}" --mca coll_canary_floats "" --mca coll_canary_interfaces "" -- \
	"$PROGRAM"
tap_is "mean nothing" "$(calls allreduce canary)" 2

ns_exec h3 nft -f - <<'END'
table ip dropped { chain input { type filter hook input priority 0; udp dport 22600-22663 drop; }; }
END
right "a firewall before one host" "${ON[@]}" -- "$PROGRAM"
without refused "rank 0: no sum within 3000 ms"
ns_exec h3 nft delete table ip dropped
ns_exec h2 ethtool -K eth0 gro off
right "a host that loses long packets" "${ON[@]}" -- "$PROGRAM"
without refused "no sum within 3000 ms"
ns_exec h2 ethtool -K eth0 gro on
export OMPI_MCA_coll_canary_trial=60000

touch "$TAP_TMP/go"
mpi "${ON[@]}" -- "$PROGRAM" loop "$TAP_TMP/go" &
LOOP=$!
wait_for 20 grep -qx "turn 5" "$TAP_TMP/said"
kill -KILL "$SW"
wait "$SW" 2>/dev/null
at=$(tail -n 1 "$TAP_TMP/said" | cut -d' ' -f2)
tap_check "a switch dies, and sums go on" wait_for 30 grep -qx "turn $((at + 20))" "$TAP_TMP/said"
start_switch
before=$(counter merged)
taken()
{
	[ "$(counter merged)" -gt "$before" ]
}
tap_check "when it is back, it adds up again" wait_for 30 taken
rm "$TAP_TMP/go"
wait "$LOOP"
tap_is "all sums were right" "$? $(tail -n 1 "$TAP_TMP/said")" "0 all right"
tap_is "and all by Canary" "$(calls allreduce refused)" 0

right "a process that stands still longer than Canary waits by itself" "${ON[@]}" -- "$PROGRAM" stop 7
tap_is "is not dead" "$(calls allreduce canary)" 2
right "a child of a process" "${ON[@]}" -- "$PROGRAM" fork
tap_is "does not disturb it" "$(calls allreduce canary)" 5
ends "SIGKILL of a rank ends the job" 137 "$PROGRAM" kill
ends "MPI_Abort ends the job" 42 "$PROGRAM" abort
mpi "${ON[@]}" -- "$PROGRAM" counts
tap_is "different lengths end the job" "$(($? > 0 && $? < 124))" 1
some "and a line says why" "$(grep -c "^canary: MPI_Allreduce of 4 processes, rank .*" "$TAP_TMP/complaints")"
tap_done
