#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fault.collisions, fault.children: goodput through a switch whose table has 16 slots, and through
# one that remembers two children of a block. It is compared with a switch that has a normal table.
# It is measured with restorations, and with direct answers to all members that were bypassed. Every
# sum is checked.
#	h0 .. h5 --- sw		user engine, links of 100 Mbit/s (HTB at both ends)

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

HOSTS=6
RATE=100
SIZE=$((1 << 20))
TIMEOUT=2500us

# measure NAME SWITCH-OPTION...: sets US (an allreduce) and RESTORED (copies by restoration)
measure()
{
	local what=$1 i pids=()

	shift
	OPTIONS=("$@")
	star_switch
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -w 1 -n 1 -c 1 \
			-b $SIZE -e $((SIZE + 20)) -i 4 \
			-J "$TAP_TMP/$what.json" --engine user --algorithm tree --comm 7 --rank "$i" \
			--members $HOSTS --root 10.0.0.2 --bind "10.0.$i.2" >"$TAP_TMP/$what.$i" 2>&1
		pids+=($!)
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/$what.$i")"
	done
	star_switch_stop
	[ "$(jq '[.results[] | (.out_of_place.wrong, .in_place.wrong)] | add' "$TAP_TMP/$what.json")" = 0 ] ||
		bench_die "$what: wrong sums"
	US=$(jq "[.results[].in_place.time_us] | sort | .[length / 2 | floor]" "$TAP_TMP/$what.json")
	RESTORED=$(jq .counters.restored "$TAP_TMP/switch.json")
}

goodput()
{
	jq -n "$SIZE * 8 / $US"
}

bench_start "selftests/bench/restore.sh"
bench_need ip tc jq ethtool "$CANARY"
star_topology
measure normal
NORMAL=$(goodput)
HOW="6 hosts, 1 MiB, links of $RATE Mbit/s; baseline: normal table"
measure collisions --slots 16
bench_figure fault.collisions "$(goodput)" Mbit/s "$NORMAL" \
	"16 slots, exact, $RESTORED results by restoration; $HOW"
measure collisions-direct --slots 16 --restore off
bench_figure fault.collisions.direct "$(goodput)" Mbit/s "$NORMAL" "16 slots, no restoration; $HOW"
measure children --children 2
bench_figure fault.children "$(goodput)" Mbit/s "$NORMAL" \
	"2 children a block, exact, $RESTORED results by restoration; $HOW"
measure children-direct --children 2 --restore off
bench_figure fault.children.direct "$(goodput)" Mbit/s "$NORMAL" \
	"2 children a block, no restoration; $HOW"
