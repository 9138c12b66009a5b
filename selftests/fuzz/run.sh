#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs fuzzers for a given time each, from the committed corpus: run.sh [SECONDS FUZZER...]
# Inputs that crash are kept below build/ and shown.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"

tap_start fuzz
[ $# -gt 0 ] || set -- 60 "$TAP_TOP"/build/selftests/fuzz_{parse,core}
seconds=$1
shift
for fuzzer in "$@"; do
	name=$(basename "$fuzzer")
	corpus=$here/corpus/$name
	work=$(dirname "$fuzzer")/$name.work
	mkdir -p "$work/new"
	log=$work/log
	files=$(find "$corpus" -type f 2>/dev/null | wc -l)
	if [ "$files" -eq 0 ]; then
		tap_not_ok "$name: no corpus in $corpus"
		continue
	fi
	"$fuzzer" -max_total_time="$seconds" -max_len=4096 -timeout=20 -print_final_stats=1 \
		-artifact_prefix="$work/" "$work/new" "$corpus" >"$log" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
	if [ $status -eq 0 ] && [ "${runs:-0}" -gt 1000 ]; then
		tap_ok "$name: $seconds s from $files inputs: $runs runs, no finding"
	else
		tap_not_ok "$name: status $status after ${runs:-0} runs"
		grep -E 'ERROR|SUMMARY|Test unit written' "$log" | sed 's/^/# /'
		tail -n 30 "$log" | sed 's/^/# /'
	fi
done
tap_done fuzz
