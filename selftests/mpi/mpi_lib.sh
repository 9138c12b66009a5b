# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the tests with MPI: hosts around a switch, and what ran on them. openmpi_lib.sh
# and mpich_lib.sh start programs across the hosts.
#	h0 .. h3 (10.77.N.2) --- sw (10.77.N.1, lo 10.9.0.1)

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
HOSTS=4

# hosts_up: makes hosts and the switch's box, for a test that has started
hosts_up()
{
	need_root
	need_program jq ethtool "$CANARY"
	tmp_dir
	SWITCH=$(ns_name sw)
	topology
}

topology()
{
	local i

	ns_add sw
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for ((i = 0; i < HOSTS; i++)); do
		ns_add "h$i"
		ns_link "h$i" eth0 "10.77.$i.2/24" sw "s$i" "10.77.$i.1/24"
		ns_ip "h$i" route add default via "10.77.$i.1"
		# a veth receives what XDP redirects only with GRO
		ns_exec "h$i" ethtool -K eth0 gro on
	done
}

# agent: makes a script that a launcher starts in place of ssh, with an address and a command. Daemons
# with the same host name remove each other's directories. They take a name up to its first dot.
agent()
{
	cat >"$TAP_TMP/agent" <<-END
	#!/bin/sh
	[ "\$1" != -x ] || shift
	number=\$(echo "\$1" | cut -d. -f3)
	shift
	exec nsenter --net="/run/netns/$(ns_name h)\$number" unshare --uts \\
		sh -c 'hostname "\$0" && exec sh -c "\$*"' "host\$number" "\$@"
	END
	chmod +x "$TAP_TMP/agent"
}

# ports: prints the ports of the switch
ports()
{
	local i list=

	for ((i = 0; i < HOSTS; i++)); do
		list+=,s$i
	done
	echo "${list#,}"
}

# start_switch: starts the switch, and waits until it is ready. Its pid is SW.
SWITCH_OPTIONS=()
start_switch()
{
	bg ns_exec sw "$CANARY" switch run --name "$SWITCH" --ports "$(ports)" \
		"${SWITCH_OPTIONS[@]}" >"$TAP_TMP/switch" 2>&1
	# shellcheck disable=SC2034
	SW=$!
	wait_for 10 grep -q "^canary switch $SWITCH ready: " "$TAP_TMP/switch" && return
	tap_not_ok "the switch starts" "$(cat "$TAP_TMP/switch")"
	tap_done
}

# counter NAME: prints a counter of the switch
counter()
{
	ns_exec sw "$CANARY" switch show -j --name "$SWITCH" | jq ".counters[\"$1\"]"
}

# hosts N: prints mpirun's list of all hosts, with N ranks each
hosts()
{
	local i list=

	for ((i = 0; i < HOSTS; i++)); do
		list+=,10.77.$i.2:$1
	done
	echo "${list#,}"
}

# on_host0 COMMAND...: runs a launcher on h0, for MPI_LIMIT seconds at most. What programs say is in
# $TAP_TMP/said, what is printed to stderr in $TAP_TMP/complaints
on_host0()
{
	ns_exec h0 unshare --uts sh -c 'hostname host0 && exec "$@"' sh \
		timeout -k 5 "${MPI_LIMIT:-240}" "$@" >"$TAP_TMP/said" 2>"$TAP_TMP/complaints"
}

# calls FUNCTION WAY: prints how many calls of a function went this way, at rank 0
calls()
{
	local column

	case $1 in
	allreduce) column=4 ;; iallreduce) column=3 ;; reduce) column=2 ;; barrier) column=1 ;;
	esac
	awk -v way="$2" -v column="$column" '$1 == "canary:" && $2 == way { n = $(NF - column + 1) }
		END { print n + 0 }' "$TAP_TMP/complaints"
}

# told: what a test shows if it fails
told()
{
	tail -n 20 "$TAP_TMP/said" "$TAP_TMP/complaints"
}

# right_by DESCRIPTION COMMAND...: passes if the command ends well and a program says that all is right
right_by()
{
	local what=$1 rc=0

	shift
	"$@" || rc=$?
	if [ "$rc" = 0 ] && grep -qx "all right" "$TAP_TMP/said"; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc
$(told)"
	fi
}

# right DESCRIPTION [OPTION...] -- PROGRAM [ARGUMENT...]: passes if the program says that all is right
right()
{
	local what=$1

	shift
	right_by "$what" mpi "$@"
}

# some DESCRIPTION NUMBER: passes if the number is not 0
some()
{
	if [ "${2:-0}" -gt 0 ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "$(told)"
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

# ends DESCRIPTION STATUS [OPTION...] -- PROGRAM...: passes if the launcher ends with this exit status
ends()
{
	local what=$1 status=$2 rc=0

	shift 2
	mpi "$@" || rc=$?
	if [ "$rc" = "$status" ]; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc
$(told)"
	fi
}

taken_since()
{
	[ "$(counter merged)" -gt "$1" ]
}

# switch_dies PROGRAM [OPTION...]: kills the switch while a program sums up, and starts it again
switch_dies()
{
	local program=$1 loop at before

	shift
	touch "$TAP_TMP/go"
	mpi "$@" -- "$program" loop "$TAP_TMP/go" &
	loop=$!
	wait_for 20 grep -qx "turn 5" "$TAP_TMP/said"
	kill -KILL "$SW"
	wait "$SW" 2>/dev/null
	at=$(tail -n 1 "$TAP_TMP/said" | cut -d' ' -f2)
	tap_check "a switch dies, and sums go on" \
		wait_for 30 grep -qx "turn $((at + 20))" "$TAP_TMP/said"
	start_switch
	before=$(counter merged)
	tap_check "when it is back, it adds up again" wait_for 30 taken_since "$before"
	rm "$TAP_TMP/go"
	wait "$loop"
	tap_is "all sums were right" "$? $(tail -n 1 "$TAP_TMP/said")" "0 all right"
	tap_is "and all by Canary" "$(calls allreduce refused)" 0
}

# firewall PROGRAM [OPTION...]: one host hears nothing of Canary. Forming has to give up after 3 s.
firewall()
{
	local program=$1

	shift
	ns_exec h3 nft -f - <<-'END'
	table ip dropped { chain input { type filter hook input priority 0; udp dport 22600-22663 drop; }; }
	END
	right "a firewall before one host" "$@" -- "$program"
	without refused "rank 0: no sum within 3000 ms"
	ns_exec h3 nft delete table ip dropped
}

# goes_on PROGRAM [OPTION...]: what does not end a job
goes_on()
{
	local program=$1

	shift
	right "a process that stands still longer than Canary waits by itself" "$@" -- "$program" stop 7
	tap_is "is not dead" "$(calls allreduce canary)" 2
	right "a child of a process" "$@" -- "$program" fork
	tap_is "does not disturb it" "$(calls allreduce canary)" 5
}

# different_lengths PROGRAM [OPTION...]: what ends it
different_lengths()
{
	local program=$1

	shift
	mpi "$@" -- "$program" counts
	tap_is "different lengths end the job" "$(($? > 0 && $? < 124))" 1
	some "and a line says why" "$(grep -c "^canary: MPI_Allreduce of 4 processes, rank .*" "$TAP_TMP/complaints")"
}
