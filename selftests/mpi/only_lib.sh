# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Programs that call MPI_Iallreduce only, with Open MPI and MPICH. PROGRAM is build/selftests/*/only

# went DESCRIPTION CANARY NOT-FORMED REFUSED: passes if as many requests went these ways
went()
{
	tap_is "$1" "$(calls iallreduce canary) $(calls iallreduce not-formed) $(calls iallreduce refused)" \
		"$2 $3 $4"
}

# formed: prints how many communicators were formed, and how many not
formed()
{
	sed -n 's/^canary: *\([0-9]*\) communicators formed, \([0-9]*\) not.*/\1 \2/p' "$TAP_TMP/complaints"
}

# forms [OPTION...]: the first request of each communicator goes to the MPI library, all others not
forms()
{
	right "one request at a time" "$@" -- "$PROGRAM" one
	went "the first one begins to form" 9 1 0
	right "many, before one rank comes" "$@" -- "$PROGRAM" many
	went "they wait until it is formed" 39 1 0
	right "copies and halves of communicators" "$@" -- "$PROGRAM" comms
	went "of halves, which have too few members, none" 4 4 0
	right "other collective calls in between, at other times" "$@" -- "$PROGRAM" mixed
	went "all but the first one" 152 8 0
	right "a call that waits" "$@" -- "$PROGRAM" call
	went "waits until it is formed" 5 1 0
	tap_is "and goes through Canary" "$(calls allreduce canary)" 1
	right "a rank that waits for a message meanwhile" "$@" -- "$PROGRAM" message
	went "goes on forming" 4 1 0
	right "communicators that are freed meanwhile" "$@" -- "$PROGRAM" freed
	went "are formed" 4 8 0
	tap_is "all of them" "$(formed)" "8 0"
	right "a program that ends meanwhile" "$@" -- "$PROGRAM" last
	went "ends well" 0 1 0
	tap_is "when it is formed" "$(formed)" "1 0"
}

# forms_in_threads [OPTION...]
forms_in_threads()
{
	right "threads" "$@" -- "$PROGRAM" threads
	went "all but the first request of each" 57 3 0
}

# fails [OPTION...]: one host hears nothing of Canary. Forming has to give up after a second.
fails()
{
	ns_exec h3 nft -f - <<-'END'
	table ip dropped { chain input { type filter hook input priority 0; udp dport 22600-22663 drop; }; }
	END
	right "a firewall before one host: one request at a time" "$@" -- "$PROGRAM" one
	went "all by the MPI library" 0 1 9
	right "many" "$@" -- "$PROGRAM" many
	went "all by the MPI library" 0 1 39
	right "a rank that waits for a message" "$@" -- "$PROGRAM" message
	went "all by the MPI library" 0 1 4
	right "a call that waits" "$@" -- "$PROGRAM" call
	went "all by the MPI library" 0 1 5
	tap_is "and so does this" "$(calls allreduce canary) $(calls allreduce refused)" "0 1"
	right "a program that ends meanwhile" "$@" -- "$PROGRAM" last
	tap_is "waits until it is known" "$(formed)" "0 1"
	right "other collective calls in between, at other times" "$@" -- "$PROGRAM" mixed
	went "all by the MPI library" 0 8 152
	right "threads" "$@" -- "$PROGRAM" threads
	went "all by the MPI library" 0 3 57
	right "communicators that are freed meanwhile" "$@" -- "$PROGRAM" freed
	went "all by the MPI library" 0 8 4
	tap_is "none of them is formed" "$(formed)" "0 8"
	ns_exec h3 nft delete table ip dropped
}
