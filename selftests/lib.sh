# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What every shell test shares: TAP output, network namespaces with names that
# no other process uses, and cleaning up whatever way the test ends.
#
#	. "$(dirname "$0")/../lib.sh"
#	tap_start net/ping
#	ns_add a b
#	ns_link a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
#	tap_check "a reaches b" ns_exec a ping -c 1 -W 1 10.0.0.2
#	tap_done
#
# A script that ends without tap_done has failed, and says so.

TAP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The repository, for tests that need a path into it: CANARY_TREE, or what `make install` noted
# beside this file, or where this file is.
TAP_TOP=${CANARY_TREE:-$(cat "$TAP_DIR/tree" 2>/dev/null || dirname "$TAP_DIR")}
TAP_PASSED=0
TAP_FAILED=0
TAP_SKIPPED=0
TAP_OPEN=
TAP_TMP=
TAP_PIDS=()
TAP_CLEANUPS=()
NS_PREFIX=cny$$
# Seconds that what has to come may take, at least. How fast a machine is no test knows: what
# comes costs no more than it takes, and only what does not come is waited for so long.
TAP_PATIENCE=${TAP_PATIENCE:-60}
NS_NAMES=()

# What kselftest exits with when a test cannot run at all.
TAP_EXIT_SKIP=4

# tap_start [NAME]: begin; NAME is what the last line calls this script.
tap_start()
{
	TAP_NAME=${1:-$(basename "$(cd "$(dirname "$0")" && pwd)")/$(basename "$0" .sh)}
	TAP_OPEN=1
	trap tap_exit EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	echo "TAP version 13"
	[ -e "$TAP_TOP/PROTOCOL.md" ] || tap_skip_all "needs the tree of Canary: set CANARY_TREE"
	case " ${CANARY_ONLY:-$(basename "$0")} " in
	*" $(basename "$0") "*) ;;
	*) tap_skip_all "not one of CANARY_ONLY" ;;
	esac
}

tap_number()
{
	echo $((TAP_PASSED + TAP_FAILED + TAP_SKIPPED))
}

# tap_diag TEXT...: comment lines; without arguments, of standard input.
tap_diag()
{
	if [ $# -gt 0 ]; then
		printf '%s\n' "$*" | sed 's/^/# /'
	else
		sed 's/^/# /'
	fi
}

# tap_ok DESCRIPTION
tap_ok()
{
	TAP_PASSED=$((TAP_PASSED + 1))
	echo "ok $(tap_number) $*"
}

# tap_not_ok DESCRIPTION [DETAIL]
tap_not_ok()
{
	TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $(tap_number) $1"
	[ -z "${2:-}" ] || tap_diag "$2"
	return 0
}

# tap_skip DESCRIPTION REASON
tap_skip()
{
	TAP_SKIPPED=$((TAP_SKIPPED + 1))
	echo "ok $(tap_number) $1 # SKIP ${2:?a skipped test has a reason}"
}

# tap_skip_all REASON: nothing here can run; ends the script.
tap_skip_all()
{
	tap_skip "everything" "$1"
	tap_done
}

# tap_check DESCRIPTION COMMAND...: passes if the command succeeds; its output
# is shown if it does not.
tap_check()
{
	local what=$1 out rc=0

	shift
	out=$("$@" 2>&1) || rc=$?
	if [ "$rc" -eq 0 ]; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc: $*
$out"
	fi
}

# tap_refuse DESCRIPTION COMMAND...: passes if the command fails of itself (a
# signal, or a command that is not there, is no refusal).
tap_refuse()
{
	local what=$1 out rc=0

	shift
	out=$("$@" 2>&1) || rc=$?
	if [ "$rc" -gt 0 ] && [ "$rc" -lt 126 ]; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc, expected a refusal: $*
$out"
	fi
}

# tap_is DESCRIPTION GOT EXPECTED
tap_is()
{
	if [ "$2" = "$3" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "got      '$2'
expected '$3'"
	fi
}

# tap_done: plan, last line, exit status (0 passed, 1 failed, 4 all skipped).
tap_done()
{
	local rc=0

	TAP_OPEN=
	if [ "$(tap_number)" -eq 0 ]; then
		tap_not_ok "something was tested"
	fi
	echo "1..$(tap_number)"
	echo "# $TAP_NAME: $TAP_PASSED passed, $TAP_FAILED failed, $TAP_SKIPPED skipped"
	if [ "$TAP_FAILED" -gt 0 ]; then
		rc=1
	elif [ "$TAP_PASSED" -eq 0 ]; then
		rc=$TAP_EXIT_SKIP
	fi
	exit "$rc"
}

# Runs once, at the end, however the script ends.
tap_exit()
{
	local rc=$? i

	# whatever fails here, all the rest is cleaned up nevertheless
	set +eu
	trap - EXIT ERR
	trap '' INT TERM HUP
	for ((i = ${#TAP_CLEANUPS[@]} - 1; i >= 0; i--)); do
		eval "${TAP_CLEANUPS[i]}" >/dev/null 2>&1
	done
	bg_stop_all
	ns_cleanup
	[ -z "$TAP_TMP" ] || rm -rf "$TAP_TMP"
	if [ -n "$TAP_OPEN" ]; then
		tap_not_ok "the script runs to its end" "exit status $rc"
		echo "1..$(tap_number)"
		echo "# $TAP_NAME: $TAP_PASSED passed, $TAP_FAILED failed, $TAP_SKIPPED skipped"
		[ "$rc" -ne 0 ] || rc=1
	fi
	exit "$rc"
}

# at_exit COMMAND-LINE: evaluated at the end, last registered first.
at_exit()
{
	TAP_CLEANUPS+=("$1")
}

# tmp_dir: sets TAP_TMP to a directory that goes away with the script.
tmp_dir()
{
	[ -n "$TAP_TMP" ] || TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/$NS_PREFIX.XXXXXX")
}

# bg COMMAND...: in the background, ended with the script; $! is its pid.
# Its own output is the caller's to redirect. With ns_exec too $! is the command.
bg()
{
	if [ "$1" = ns_exec ]; then
		local name=$2

		shift 2
		set -- nsenter --net="/run/netns/$(ns_name "$name")" -- "$@"
	fi
	"$@" &
	TAP_PIDS+=("$!")
}

# bg_stop PID: TERM, KILL if that does not end it, reap; returns its exit status.
bg_stop()
{
	local end=$((SECONDS + TAP_PATIENCE + 1))

	kill "$1" 2>/dev/null
	while kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
		sleep 0.05
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

bg_stop_all()
{
	local pid

	for pid in "${TAP_PIDS[@]}"; do
		if kill -0 "$pid" 2>/dev/null; then
			bg_stop "$pid"
		fi
	done
	TAP_PIDS=()
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when it is late. SECONDS are
# what it takes on an idle machine; never less than TAP_PATIENCE is waited.
wait_for()
{
	local patience=$1 end

	shift
	[ "$patience" -ge "$TAP_PATIENCE" ] || patience=$TAP_PATIENCE
	end=$((SECONDS + patience + 1))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# need_root, need_program NAME...: skip the whole script if it is not there.
need_root()
{
	[ "$(id -u)" -eq 0 ] || tap_skip_all "needs root"
}

need_program()
{
	local program

	for program in "$@"; do
		command -v "$program" >/dev/null || tap_skip_all "needs $program"
	done
}

# ns_name NAME: what the namespace NAME of this script is really called.
ns_name()
{
	echo "$NS_PREFIX-$1"
}

# ns_add NAME...: network namespaces with loopback up.
ns_add()
{
	local name

	for name in "$@"; do
		ip netns add "$(ns_name "$name")" || return 1
		NS_NAMES+=("$name")
		ip -n "$(ns_name "$name")" link set lo up || return 1
	done
}

# ns_exec NAME COMMAND...: not by ip netns exec, which hides /sys/fs/bpf.
ns_exec()
{
	local name=$1

	shift
	nsenter --net="/run/netns/$(ns_name "$name")" -- "$@"
}

# ns_ip NAME ARGUMENTS...: iproute2's ip in the namespace.
ns_ip()
{
	local name=$1

	shift
	ip -n "$(ns_name "$name")" "$@"
}

# ns_link A DEVICE ADDRESS/LENGTH B DEVICE ADDRESS/LENGTH: a veth pair, up;
# "-" is no address. Made inside the namespaces: never seen outside.
ns_link()
{
	local a b

	a=$(ns_name "$1")
	b=$(ns_name "$4")
	ip link add name "$2" netns "$a" type veth peer name "$5" netns "$b" || return 1
	[ "$3" = - ] || ip -n "$a" addr add "$3" dev "$2" || return 1
	[ "$6" = - ] || ip -n "$b" addr add "$6" dev "$5" || return 1
	ip -n "$a" link set "$2" up && ip -n "$b" link set "$5" up
}

# ns_del NAME: processes left inside are ended first, by pid.
ns_del()
{
	local pid full

	full=$(ns_name "$1")
	for pid in $(ip netns pids "$full" 2>/dev/null); do
		kill -KILL "$pid" 2>/dev/null
	done
	ip netns del "$full" 2>/dev/null
}

ns_cleanup()
{
	local name

	for name in "${NS_NAMES[@]}"; do
		ns_del "$name"
	done
	NS_NAMES=()
}
