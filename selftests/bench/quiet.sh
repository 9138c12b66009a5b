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
	tap_check "... and no other one is" sh -c "! grep -qx $$" <(bench_own)
	tap_check "... they have used something" test "$(used "$BUSY")" -ge 30
	before=$(bench_others)
	after=$(BENCH_RUN=none bench_others)
	tap_check "... which is not counted" test $((after - before)) -ge 30
	kill "$BUSY"
	wait "$BUSY"
}

test_refusal()
{
	local run

	run=$HERE/run.sh
	BENCH_PATIENCE=0 "$run" --out figures floats >out 2>err
	tap_is "a busy machine: exit status" $? 1
	tap_check "... and why" grep -q "others use 100 % of the processors" err
	tap_check "... also at the end" grep -q "^# not measured: .*float_speed: others use the processors" out
	tap_is "... and no figures" "$(jq length figures)" 0
}

cd "$TAP_TMP" || exit 1
test_others
test_refusal
tap_done
