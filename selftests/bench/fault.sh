#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fault.*: communicators that share switches and links, and goodput under faults. The former gives
# the sum of goodputs compared with that of one alone, and Jain's index of fairness. The latter is
# compared with the same run without faults. topology/tenants.py and topology/fault.py measure this,
# with the user engine on links with a rate.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

RATE=${RATE:-50mbit}
TOP_DIR=$(cd "$(dirname "$0")/../.." && pwd)

bench_start "selftests/bench/fault.sh"
bench_need jq mnexec
export CANARY

"$TOP_DIR/topology/tenants.py" --rate "$RATE" --operations 40 --communicators 1 2 4 8 -j >"$TAP_TMP/concurrent"
one=$(jq 'select(.communicators == 1).sum_bps / 1e6' "$TAP_TMP/concurrent")
for n in 2 4 8; do
	sum=$(jq "select(.communicators == $n).sum_bps / 1e6" "$TAP_TMP/concurrent")
	jain=$(jq "select(.communicators == $n).jain" "$TAP_TMP/concurrent")
	bench_figure "fault.concurrent-$n" "$sum" Mbit/s "$one" "goodput of $n communicators together; baseline: of one"
	bench_figure "fault.fairness-$n" "$jain" index 1 "Jain's index of $n communicators' goodput"
done
for fault in drop forged-all-observed switch-kill link-down; do
	"$TOP_DIR/topology/fault.py" "$fault" --engine user --rate "$RATE" --elements 400000 -j >"$TAP_TMP/result"
	value=$(jq '.blocks * 352 * 32 / .seconds / 1e6' "$TAP_TMP/result")
	base=$(jq '.blocks * 352 * 32 / .baseline_seconds / 1e6' "$TAP_TMP/result")
	redone=$(jq .redone "$TAP_TMP/result")
	bench_figure "fault.$fault" "$value" Mbit/s "$base" "goodput, $redone blocks redone; baseline: without the fault"
done
