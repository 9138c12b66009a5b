#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Converts the lists of these programs to the form of the other measurements. Their heads explain how
# they measure by BPF_PROG_RUN.
#
# bench_switch:	switch.aggregate, the time that the switch takes for a packet that it adds to others,
#		compared with a plain XDP redirect of the same packets; switch.kind, the same for each
#		kind of data, compared with sums of 32 bits
# bench_block:	switch.block, what a block of 8 contributions takes, from the first of these to the last
#		copy of its result, compared with a router that forwards 16 packets
# bench_scaling:	switch.scaling, what 2, 4 and 8 threads gain. Where there is one processor, as in the
#		guest, it is left out

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

PROGRAMS=(switch block)
[ "$(nproc)" -lt 2 ] || PROGRAMS+=(scaling)

bench_start "selftests/bench/switch.sh"
bench_need jq
for program in "${PROGRAMS[@]}"; do
	"$BENCH_BUILD/bin/bench_$program" >"$TAP_TMP/$program.json" || bench_die "bench_$program failed"
done
jq -c '.[] | {name, value, unit, baseline, ratio, command,
	note: (if .name == "switch.aggregate.router" then "256 elements as above; baseline: plain XDP router"
	       elif .name == "switch.aggregate.floor" then "256 elements added and nothing else"
	       elif .name == "switch.aggregate.admission" then "256 elements, 64 other admission rules; baseline: without rules"
	       elif .name == "switch.block" then "8 contributions of 256 elements, the result and its 8 copies, cold table; baseline: 16 packets through a plain XDP router"
	       elif .name == "switch.block.copies" then "the result and its 8 copies; baseline: 8 packets through the router"
	       elif .name | startswith("switch.scaling.") then "all threads; baseline: one thread. A redirect gains \(.redirect_gains). Bypassed, percent: lock \(.percent.lock), queue \(.percent.queue_lock)"
	       elif .name | startswith("switch.kind.") then "a packet of 256 words of this kind, by the program alone; baseline: sums of 32 bits, in the same run"
	       elif .baseline then "baseline: plain XDP redirect, in the same run"
	       else "" end)}' \
	"$TAP_TMP"/*.json
