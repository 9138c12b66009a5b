#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measurements know when others use the processors, and are not made then.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=quiet_lib.sh
. "$(dirname "$0")/quiet_lib.sh"

tap_start bench/quiet
tmp_dir
BENCH_RUN=$$
HERE=$(cd "$(dirname "$0")" && pwd)
RUN=$HERE/run.sh
unset BENCH_BUSY BENCH_QUIET
need_program jq

# busy TICKS [VARIABLE=VALUE...]: a process that has used so much of a processor, and then sleeps; sets BUSY
busy()
{
	local ticks=$1

	shift
	# shellcheck disable=SC2016
	bg env "$@" bash -c 'while read -ra f </proc/$$/stat && [ $((f[13] + f[14])) -lt "$1" ]; do :; done
		exec sleep 1000' bash "$ticks"
	BUSY=$!
	wait_for 60 sleeps "$BUSY"
}

sleeps()
{
	[ "$(cat "/proc/$1/comm")" = sleep ]
}

# used PID: prints its ticks
used()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

test_others()
{
	local before after mine=$BENCH_RUN

	before=$(bench_others)
	busy 30
	after=$(bench_others)
	tap_check "what others use is counted: $((after - before))" test $((after - before)) -ge 30
	kill "$BUSY"
	wait "$BUSY"
	# Of a process that ended, this shell has the ticks, which is not counted itself.
	busy 30 "BENCH_RUN=$mine"
	tap_check "the processes of a measurement are known" grep -qx "$BUSY" <(bench_own)
	tap_is "... and no other one is" "$(bench_own | grep -cx "$$")" 0
	tap_check "... they have used something" test "$(used "$BUSY")" -ge 30
	before=$(bench_others)
	after=$(BENCH_RUN=none bench_others)
	tap_check "... which is not counted" test $((after - before)) -ge 30
	kill "$BUSY"
	wait "$BUSY"
}

# Shares of 1000 ticks
test_share()
{
	tap_is "half a percent is none" "$(bench_share 100 105 1000)" 0
	tap_is "5 percent" "$(bench_share 0 50 1000)" 5
	tap_is "all" "$(bench_share 7 1007 1000)" 100
	tap_is "less than nothing, as a process has ended" "$(bench_share 50 20 1000)" 0
}

# How often is a part made, and what becomes of its figures? BENCH_QUIET decides whether the machine is quiet.
test_again()
{
	printf '#!/bin/sh\necho {}\n' >part
	chmod +x part
	BENCH_QUIET=100 "$RUN" --out figures ./part >out 2>err
	tap_is "quiet: exit status" $? 0
	tap_is "... measured once" "$(grep -c "^bench: .*/part$" err)" 1
	tap_is "... figures" "$(jq length figures)" 1
	BENCH_QUIET=-1 BENCH_BUSY=1 "$RUN" --out figures ./part >out 2>err
	tap_is "others do not matter with BENCH_BUSY" "$? $(jq length figures)" "0 1"
}

test_refusal()
{
	BENCH_PATIENCE=0 "$RUN" --out figures floats >out 2>err
	tap_is "a busy machine: exit status" $? 1
	tap_check "... and why" grep -q "others use some % of the processors" err
	tap_check "... also at the end" grep -q "^# not measured: .*float_speed: others use the processors" out
	tap_is "... and no figures" "$(jq length figures)" 0
}

cd "$TAP_TMP" || exit 1
test_others
test_share
test_again
test_refusal
tap_done
