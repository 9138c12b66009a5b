# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Node leaders: several ranks on each host, of which one is a member. openmpi_node.sh and mpich_node.sh
# bring mpi(), and the words that switch something on:
#	LEADERS, MEMBERS: with node leaders, and with all ranks as members; both from one byte on
#	LATE: as LEADERS, without a number for the shortest vector

# digest: prints what rank 0 said last about results
digest()
{
	sed -n 's/^digest //p' "$TAP_TMP/said" | tail -n 1
}

# by_leaders: prints how many communicators have node leaders, at rank 0
by_leaders()
{
	local n

	n=$(sed -n 's/.*; \([0-9]*\) by node leaders$/\1/p' "$TAP_TMP/complaints")
	echo "${n:-0}"
}

# same_bits DESCRIPTION ARGUMENT...: the program's results have the same bits whoever are the members
same_bits()
{
	local what=$1 by_all

	shift
	right "$what: all ranks are members" "${MEMBERS[@]}" -- "$PROGRAMS/node" "$@"
	tap_is "there are no node leaders" "$(by_leaders)" 0
	by_all=$(digest)
	right "$what: node leaders" "${LEADERS[@]}" -- "$PROGRAMS/node" "$@"
	some "there are some" "$(by_leaders)"
	tap_is "the bits are the same" "$(digest)" "${by_all:-none}"
}

# count_on HOST: counts what a host sends to Canary's ports from now on
count_on()
{
	ns_exec "h$1" nft -f - <<-'END'
	table ip sent {
		chain output {
			type filter hook output priority 0;
			udp dport 22600-22663 counter
		}
	}
	END
}

# counted HOST: prints how many bytes since then, and counts no more
counted()
{
	ns_exec "h$1" nft -j list table ip sent | jq '[.. | .counter? // empty | .bytes] | add'
	ns_exec "h$1" nft delete table ip sent
}

# less_is_sent: a host sends as much as one member, whoever runs on it. On a busy machine contributions come
# late, and their leaders send more. So the least of some runs counts.
less_is_sent()
{
	local by_all by_one sent i

	count_on 1
	right "twenty sums: all ranks are members" "${MEMBERS[@]}" -- "$PROGRAMS/node" repeat 20 100000
	by_all=$(counted 1)
	for i in 1 2 3 4 5; do
		count_on 1
		right "twenty sums: node leaders" "${LEADERS[@]}" -- "$PROGRAMS/node" repeat 20 100000
		sent=$(counted 1)
		[ "$i" -ne 1 ] && [ "$sent" -ge "$by_one" ] || by_one=$sent
		[ "$((by_one * PER_HOST * 10 < by_all * 12))" -eq 0 ] || break
	done
	echo "# a host with $PER_HOST ranks sends $by_all bytes, and $by_one with node leaders"
	tap_is "a host sends less than (1 + 20 %) / $PER_HOST of it" \
		"$((by_one * PER_HOST * 10 < by_all * 12))" 1
}

# job_ends DESCRIPTION ARGUMENT...: the launcher ends a job of which a rank has ended, and does so soon.
# Its exit status is its own business.
job_ends()
{
	local what=$1 rc=0

	shift
	MPI_LIMIT=60 mpi "${LATE[@]}" -- "$PROGRAMS/trouble" "$@" || rc=$?
	if [ "$rc" = 0 ] || [ "$rc" = 124 ] || { [ "$rc" = 137 ] && [ ! -s "$TAP_TMP/complaints" ]; }; then
		tap_not_ok "$what" "exit status $rc
$(told)"
	else
		tap_ok "$what"
	fi
}

# left_behind: prints how many processes on the hosts still have memory of node leaders. Another test may
# have ranks elsewhere on this machine.
left_behind()
{
	local i pid

	for ((i = 0; i < HOSTS; i++)); do
		for pid in $(ip netns pids "$(ns_name "h$i")"); do
			grep -ls "memfd:canary-node" "/proc/$pid/maps"
		done
	done | wc -l
}

nothing_left()
{
	[ "$(left_behind)" = 0 ]
}

# node_programs: what other tests run with one rank on a host
node_programs()
{
	right "types and operators" "${LEADERS[@]}" -- "$PROGRAMS/types" 1000
	tap_is "all of them by node leaders" "$(by_leaders) $(calls allreduce canary)" "1 468"
	right "a request does not wait for others to call" "${LATE[@]}" -- \
		"$PROGRAMS/calls" blocking first message
	tap_is "it is by Canary" "$(calls iallreduce canary)" 1
	right "a request does not wait for ranks that do something else" "${LATE[@]}" -- \
		"$PROGRAMS/node" busy
	tap_is "they are by Canary" "$(calls iallreduce canary)" 4
	right "more requests than there is room for" "${LATE[@]}" -- "$PROGRAMS/corners" first room
	right "requests that are cancelled, and freed under way" "${LATE[@]}" -- \
		"$PROGRAMS/careless" first dropped
	right "requests that nobody waits for" "${LATE[@]}" -- "$PROGRAMS/careless" first left
	right "copies and halves of communicators" "${LATE[@]}" -- "$PROGRAMS/calls" comms nested
	right "four threads" "${LATE[@]}" -- "$PROGRAMS/calls" threads
	right "communicators that are freed" "${LATE[@]}" -- "$PROGRAMS/calls" freed freed-first
}

# node_trouble: what goes wrong
node_trouble()
{
	right "a rank without memory to share" "${LEADERS[@]}" -- "$PROGRAMS/node" limited
	tap_is "all ranks are members then, and one line says why" \
		"$(by_leaders) $(grep -c "^canary: all 8 processes of a communicator are members: rank 5: .*ulimit" \
		"$TAP_TMP/complaints")" "0 1"
	some "their sums go through Canary" "$(calls allreduce canary)"
	right "a rank that others may not look into" "${LEADERS[@]}" -- "$PROGRAMS/node" hidden
	tap_is "likewise" "$(by_leaders) $(grep -c "rank 6: .*: the process is not dumpable" \
		"$TAP_TMP/complaints")" "0 1"
	goes_on "$PROGRAMS/trouble" "${LATE[@]}"
	job_ends "SIGKILL of a member ends the job" kill
	job_ends "SIGKILL of another rank ends it" kill 3
	job_ends "MPI_Abort ends it" abort
	job_ends "different lengths on one host end it" counts
	some "and a line says why" \
		"$(grep -c "^canary: MPI_Allreduce of 8 processes, rank .*: ranks of one host run different operations" \
		"$TAP_TMP/complaints")"
	# mpirun does not wait for those that it has killed.
	wait_for 10 nothing_left
	tap_is "nothing is left behind" "$(left_behind)" 0
}

# node_tests: all of it, on hosts around a switch
node_tests()
{
	PER_HOST=2
	same_bits "types, operators, lengths" digest
	same_bits "large vectors" large
	same_bits "communicators of some ranks" comms
	same_bits "requests under way" steps 5 20000
	PER_HOST=3 same_bits "three ranks on each host" repeat 3 60000
	less_is_sent
	node_programs
	node_trouble
	switch_dies "$PROGRAMS/trouble" "${LATE[@]}"
}
