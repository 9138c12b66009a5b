# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the measurements. A measurement is a script that prints one JSON object on a
# line for each figure, and nothing else, on standard output. If it cannot be made, it says why on
# standard error, and its exit status is not 0.
#	name, value, unit	the figure
#	baseline, ratio		what it is compared with, value / baseline; null if nothing
#	command			measures this figure alone, from the top of the tree
#	note			what value and baseline are

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=quiet_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/quiet_lib.sh"
# shellcheck disable=SC2034
BENCH_BUILD=${BENCH_BUILD:-$TAP_TOP/build}
CANARY=${CANARY:-$BENCH_BUILD/bin/canary}

# bench_start COMMAND: prepares cleaning up, as tests do. COMMAND is shown to readers of the
# figures.
bench_start()
{
	set -Eeu -o pipefail
	trap 'echo "bench: $0:$LINENO: failed: $BASH_COMMAND" >&2' ERR
	trap tap_exit EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	BENCH_COMMAND=$1
	tmp_dir
}

bench_die()
{
	echo "bench: $*" >&2
	exit 1
}

bench_need()
{
	local program

	[ "$(id -u)" -eq 0 ] || bench_die "needs root"
	for program in "$@"; do
		command -v "$program" >/dev/null || bench_die "needs $program"
	done
}

# bench_figure NAME VALUE UNIT BASELINE NOTE: prints a figure. BASELINE may be null.
bench_figure()
{
	jq -cn --arg name "$1" --argjson value "$2" --arg unit "$3" --argjson baseline "$4" \
		--arg command "$BENCH_COMMAND" --arg note "$5" '
		def round4: if . == 0 then 0 else
			pow(10; 3 - (fabs | log10 | floor)) as $s | (. * $s | round) / $s end;
		{$name, value: ($value | round4), $unit,
		 baseline: (if $baseline then $baseline | round4 else null end),
		 ratio: (if $baseline then $value / $baseline | round4 else null end),
		 $command, $note}'
}

# bench_in_guest COMMAND...: runs it in the guest where time counts instructions
bench_in_guest()
{
	exec "$TAP_TOP/selftests/vm/run.sh" --icount --timeout "${BENCH_LIMIT:-600}" --env BENCH_BUILD --env VERBOSE -- "$@"
}

bench_load_module()
{
	local ko=$BENCH_BUILD/kmod/canary.ko needed

	[ -n "${CANARY_GUEST:-}" ] || bench_die "only a guest may load the module"
	[ ! -d /sys/module/canary ] || return 0
	for needed in $(modinfo -F depends "$ko" | tr , ' '); do
		modprobe "$needed" || bench_die "no module $needed"
	done
	insmod "$ko" || bench_die "the module does not load"
}

# bench_shape NAMESPACE DEVICE MBIT: limits the rate of what it sends
bench_shape()
{
	tc -n "$(ns_name "$1")" qdisc add dev "$2" root handle 1: htb default 1
	tc -n "$(ns_name "$1")" class add dev "$2" parent 1: classid 1:1 htb \
		rate "${3}mbit" burst 6056 cburst 6056 quantum 1514
}
