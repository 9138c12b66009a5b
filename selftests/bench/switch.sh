#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# switch.aggregate: time that the switch takes for a packet that it adds to others, by BPF_PROG_RUN,
# compared with a plain XDP redirect of the same packets. switch.kind: the same for each kind of data,
# compared with sums of 32 bits. bench_switch.c explains how. This script converts its list to the form
# of the other measurements.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

BENCH_SWITCH=$BENCH_BUILD/bin/bench_switch

bench_start "selftests/bench/switch.sh"
bench_need jq "$BENCH_SWITCH"
"$BENCH_SWITCH" >"$TAP_TMP/switch.json" || bench_die "bench_switch failed"
jq -c '.[] | {name, value, unit, baseline, ratio, command,
	note: (if .name == "switch.aggregate.router" then "256 elements as above; baseline: plain XDP router"
	       elif .name == "switch.aggregate.floor" then "256 elements added and nothing else"
	       elif .name == "switch.aggregate.admission" then "256 elements, 64 other admission rules; baseline: without rules"
	       elif .name | startswith("switch.kind.") then "a packet of 256 words of this kind, by the program alone; baseline: sums of 32 bits, in the same run"
	       elif .baseline then "baseline: plain XDP redirect, in the same run"
	       else "" end)}' \
	"$TAP_TMP/switch.json"
