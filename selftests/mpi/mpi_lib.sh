# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the tests with MPI: hosts around a switch, and mpirun across them.
#	h0 .. h3 (10.77.N.2) --- sw (10.77.N.1, lo 10.9.0.1)

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
COMPONENT=$TAP_TOP/build/lib/openmpi
# shellcheck disable=SC2034
PROGRAMS=$TAP_TOP/build/selftests/mpi
HOSTS=4

# begin NAME: begins a test: programs, hosts, a switch
begin()
{
	tap_start "$1"
	need_root
	need_program mpirun.openmpi jq ethtool "$CANARY"
	[ -e "$COMPONENT/mca_coll_canary.so" ] ||
		tap_skip_all "needs Open MPI's headers (package libopenmpi-dev), and make openmpi"
	tmp_dir
	SWITCH=$(ns_name sw)
	topology
	launcher
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

# mpirun starts the daemon of a host by this script, and names the host by its address. Daemons with
# the same host name remove each other's directories. They take a name up to its first dot.
launcher()
{
	cat >"$TAP_TMP/agent" <<-END
	#!/bin/sh
	number=\$(echo "\$1" | cut -d. -f3)
	shift
	exec nsenter --net="/run/netns/$(ns_name h)\$number" unshare --uts \\
		sh -c 'hostname "\$0" && exec sh -c "\$*"' "host\$number" "\$@"
	END
	chmod +x "$TAP_TMP/agent"
	# shellcheck disable=SC2054
	MCA=(--mca plm_rsh_agent "$TAP_TMP/agent" --mca plm_rsh_no_tree_spawn 1
		--mca btl tcp,self --mca pml ob1
		--mca btl_tcp_if_include 10.77.0.0/16 --mca oob_tcp_if_include 10.77.0.0/16
		# mpirun notices a daemon that ends, and cleans up after it
		--mca orte_leave_session_attached 1 --mca orte_tmpdir_base "$TAP_TMP"
		# processors are shared, so waiting ranks must not spin
		--mca mpi_yield_when_idle 1
		# additions of 8 and 16 bits by AVX saturate in Open MPI 4.1.4
		--mca op ^avx
		--mca mca_base_component_path "SYSTEM_DEFAULT:$COMPONENT"
		--mca coll_canary_table 1)
	export OMPI_MCA_coll_canary_trial=60000
	# measured thresholds would be others each time
	export OMPI_MCA_coll_canary_min_bytes=16384
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

# mpi [OPTION...] -- PROGRAM [ARGUMENT...]: runs a program on all hosts, started from h0. What it says
# is in $TAP_TMP/said, what is printed to stderr in $TAP_TMP/complaints. PER_HOST ranks each
mpi()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	ns_exec h0 unshare --uts sh -c 'hostname host0 && exec "$@"' sh timeout -k 5 "${MPI_LIMIT:-240}" \
		mpirun.openmpi --allow-run-as-root --oversubscribe "${MCA[@]}" \
		--host "$(hosts "${PER_HOST:-1}")" "${options[@]}" "$@" \
		>"$TAP_TMP/said" 2>"$TAP_TMP/complaints"
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

# right DESCRIPTION [OPTION...] -- PROGRAM [ARGUMENT...]: passes if the program says that all is right
right()
{
	local what=$1 rc=0

	shift
	mpi "$@" || rc=$?
	if [ "$rc" = 0 ] && grep -qx "all right" "$TAP_TMP/said"; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc
$(told)"
	fi
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
