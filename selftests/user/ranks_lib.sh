# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of tests that run ranks of the tool between network namespaces: HOSTS hosts
# behind a plain router. No switch takes part.
#	CANARY names the program.

# Options of a rank are split into words.
# shellcheck disable=SC2046

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
HOSTS=4
COMM=0

# begin NAME [PROGRAM...]: begins a test that needs these programs, in an empty folder
begin()
{
	tap_start "$1"
	shift
	need_root
	need_program jq nsenter ip "$@"
	[ -x "$CANARY" ] || tap_skip_all "no $CANARY"
	tmp_dir
	cd "$TAP_TMP" || exit 1
	network || tap_skip_all "cannot make a network of namespaces"
}

# Host i has 10.77.i.2 and reaches the others through the router.
network()
{
	local i

	ns_add router
	ns_exec router sysctl -qw net.ipv4.ip_forward=1
	for ((i = 0; i < HOSTS; i++)); do
		ns_add "h$i"
		ns_link "h$i" eth0 "10.77.$i.2/24" router "p$i" "10.77.$i.1/24" || return 1
		ns_ip "h$i" route add default via "10.77.$i.1"
	done
}

# Sets a communicator that no earlier test had, in subshells, too.
new_comm()
{
	COMM=$((RANDOM << 15 | RANDOM))
}

# on RANK COMMAND...: rank r runs on host r mod HOSTS
on()
{
	local rank=$1

	shift
	ns_exec "h$((rank % HOSTS))" timeout 120 "$@"
}

# Options of rank RANK of MEMBERS.
as()
{
	echo "--comm $COMM --rank $1 --members $2 --root 10.77.0.2"
}

# ranks MEMBERS COMMAND [ARGUMENTS]: run on all ranks; status, out.R and err.R of each. Words
# %R become the rank.
ranks()
{
	local members=$1 r pids=() bad=0 args

	shift
	new_comm
	for ((r = 0; r < members; r++)); do
		args=("${@//%R/$r}")
		on "$r" "${args[@]}" $(as "$r" "$members") > "out.$r" 2> "err.$r" &
		pids+=("$!")
	done
	for ((r = 0; r < members; r++)); do
		wait "${pids[r]}"
		echo "$?" > "status.$r"
		[ "$(cat "status.$r")" -eq 0 ] || bad=1
	done
	for ((r = 0; bad && r < members; r++)); do
		echo "rank $r: status $(cat "status.$r"): $(tail -n 1 "err.$r" | cut -c 1-200)"
	done
	return "$bad"
}
