#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Kernels other than the guest's. Each loads the programs that were built here. The module is built
# for each and passes its test of socket calls. A kernel that is not available is skipped. With
# KERNELS_REQUIRED=1 it is a failure.

. "$(dirname "$0")/../lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
RUN=$HERE/run.sh
LOAD=$TAP_TOP/build/selftests/bpf/load_programs
OTHER=6.12
# Seconds that this machine's kernel may take for all programs. A guest has a limit of its own.
LIMIT=600

# adopt PREFIX FILE: counts the checks of another TAP stream as our own, with PREFIX
adopt()
{
	local line text

	while read -r line; do
		text=${line#*ok }
		text=${text#* }
		case $line in
		ok*"# SKIP"*) tap_skip "$1${text%%# SKIP*}" "${text#*# SKIP }" ;;
		ok*) tap_ok "$1${text#- }" ;;
		not*) tap_not_ok "$1${text#- }" ;;
		esac
	done < <(grep -E '^(not )?ok ' "$2")
}

# ended WHAT NAME: it ran to its end, and its checks are adopted
ended()
{
	local rc

	rc=$(cat "$TAP_TMP/$2.rc")
	adopt "" "$TAP_TMP/$2.out"
	if [ "$rc" = 0 ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "exit status $rc
$(tail -n 40 "$TAP_TMP/$2.out" "$TAP_TMP/$2.err")"
	fi
}

# start NAME COMMAND...: in the background
start()
{
	local name=$1

	shift
	{
		rc=0
		"$@" >"$TAP_TMP/$name.out" 2>"$TAP_TMP/$name.err" || rc=$?
		echo "$rc" >"$TAP_TMP/$name.rc"
	} &
	TAP_PIDS+=("$!")
}

tap_start vm/kernels
need_root
need_program qemu-system-x86_64
[ -x "$LOAD" ] || tap_skip_all "needs $LOAD (make test-kernels makes it)"
tmp_dir
start host timeout -k 10 "$LIMIT" "$LOAD"
start guest "$RUN" -- "$LOAD"
if "$TAP_TOP/tools/setup/setup.sh" other $OTHER >"$TAP_TMP/setup" 2>&1; then
	# shellcheck source=/dev/null
	. "$TAP_TOP/build/guest/other-$OTHER.mk"
	module=$TAP_TOP/build/kmod-$OTHER/canary.ko
	start other "$RUN" --kernel "$GUEST_VMLINUX" --modules "$GUEST_MODULES" -- "$LOAD"
	tap_check "canary.ko is built for $GUEST_KVER" make -s -C "$TAP_TOP" "${module#"$TAP_TOP"/}"
	# two guests at a time
	wait
	start module "$RUN" --kernel "$GUEST_VMLINUX" --modules "$GUEST_MODULES" \
		--env MODULE="$module" -- "$HERE/../kmod/guest.sh" "api_*"
fi
wait
ended "this machine's kernel takes all programs" host
ended "the guest's kernel does" guest
if [ -n "${module:-}" ]; then
	ended "Linux $OTHER does" other
	ended "the module works in Linux $OTHER" module
elif [ "${KERNELS_REQUIRED:-0}" = 1 ]; then
	tap_not_ok "Linux $OTHER can be had" "$(cat "$TAP_TMP/setup")"
else
	tap_skip "Linux $OTHER" "$(tail -n 1 "$TAP_TMP/setup")"
fi
tap_done
