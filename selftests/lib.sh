# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of all shell tests: TAP output, network namespaces whose names no other process
# uses, and cleaning up however the test ends.
#	. "$(dirname "$0")/../lib.sh"
#	tap_start net/ping
#	ns_add a b
#	ns_link a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
#	tap_check "a reaches b" ns_exec a ping -c 1 -W 1 10.0.0.2
#	tap_done
# A script that ends without tap_done has failed, and says so.

TAP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The tree, for tests that need a path in it: CANARY_TREE, or the path that `make install` wrote
# beside this file, or the parent of this file's folder
TAP_TOP=${CANARY_TREE:-$(cat "$TAP_DIR/tree" 2>/dev/null || dirname "$TAP_DIR")}
TAP_PASSED=0
TAP_FAILED=0
TAP_SKIPPED=0
TAP_OPEN=
TAP_TMP=
TAP_PIDS=()
TAP_CLEANUPS=()
NS_PREFIX=cny$$
# Least number of seconds to wait for something that has to happen. A test cannot know how fast the
# machine is. Something that happens costs only the time that it takes. Only what does not happen
# costs the full time.
TAP_PATIENCE=${TAP_PATIENCE:-60}
NS_NAMES=()

# The exit status for kselftest if a test cannot run at all
TAP_EXIT_SKIP=4

# tap_start [NAME]: begins the script. NAME is its name in the last line.
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

# tap_diag TEXT...: prints comment lines; without arguments, standard input
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

# tap_skip_all REASON: ends the script, as nothing can run here
tap_skip_all()
{
	tap_skip "everything" "$1"
	tap_done
}

# tap_check DESCRIPTION COMMAND...: passes if the command succeeds. If not, its output is shown.
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

# tap_refuse DESCRIPTION COMMAND...: passes if the command fails by itself. A signal or a missing
# command is a failure.
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

# tap_done: prints plan and last line, and exits: 0 passed, 1 failed, 4 all skipped
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

# Runs once at the end, however the script ends.
tap_exit()
{
	local rc=$? i

	# If one step fails, the rest is cleaned up nevertheless.
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

# at_exit COMMAND-LINE: is evaluated at the end, the last registered one first
at_exit()
{
	TAP_CLEANUPS+=("$1")
}

# tmp_dir: sets TAP_TMP to a directory that is removed with the script
tmp_dir()
{
	[ -n "$TAP_TMP" ] || TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/$NS_PREFIX.XXXXXX")
}

# bg COMMAND...: runs in the background and ends with the script; $! is its pid. The caller may
# redirect its output. With ns_exec, too, $! is the command.
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

# bg_stop PID: sends TERM, and KILL if that does not help; returns the exit status
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

# wait_for SECONDS COMMAND...: repeats the command until it succeeds; fails if that takes too long.
# SECONDS is what it may take on an idle machine. The limit is at least TAP_PATIENCE.
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

# need_root, need_program NAME...: skip the whole script if this is missing
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

# ns_name NAME: prints the real name of this script's namespace NAME
ns_name()
{
	echo "$NS_PREFIX-$1"
}

# ns_add NAME...: makes network namespaces, with loopback up
ns_add()
{
	local name

	for name in "$@"; do
		ip netns add "$(ns_name "$name")" || return 1
		NS_NAMES+=("$name")
		ip -n "$(ns_name "$name")" link set lo up || return 1
	done
}

# ns_exec NAME COMMAND...: runs it there. `ip netns exec` is not used, as it hides /sys/fs/bpf.
ns_exec()
{
	local name=$1

	shift
	nsenter --net="/run/netns/$(ns_name "$name")" -- "$@"
}

# ns_ip NAME ARGUMENTS...: runs iproute2's ip in the namespace
ns_ip()
{
	local name=$1

	shift
	ip -n "$(ns_name "$name")" "$@"
}

# ns_link A DEVICE ADDRESS/LENGTH B DEVICE ADDRESS/LENGTH: makes a veth pair and sets it up. "-" is
# no address. It is made inside the namespaces, and never visible outside.
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

# ns_del NAME: ends processes that are left inside by pid, then removes it
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
