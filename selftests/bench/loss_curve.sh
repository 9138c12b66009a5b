#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# loss.*: goodput, and the number of contributions that a leader takes for each block, by loss. 0.01
# to 5 % of the packets on each link are lost. All, half or none of the switches take part, with 16
# and 32 ranks.
#
# It is simulated (canary-sim), so that the machine does not matter: three-level fat trees of 1
# Gbit/s, queues that drop, vectors of 4 MiB. Each value is the median of five seeds.
#	selftests/bench/loss_curve.sh		(RANKS="16", LOSS="1%": only those)

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SIM=${SIM:-$BENCH_BUILD/bin/canary-sim}
RANKS=${RANKS:-16 32}
LOSS=${LOSS:-0.01% 0.1% 1% 5%}
SEEDS=5

# shape RANKS: prints the smallest tree that has as many hosts
shape()
{
	local radix=4

	while ((radix ** 3 / 4 < $1)); do
		radix=$((radix + 2))
	done
	printf '%s\n' "kind fat_tree" "levels 3" "radix $radix" "rate 1gbit" "latency 2us" \
		"queue 128KiB" >"$TAP_TMP/topo"
}

# runs RANKS LOSS DEPLOYED: sets GOODPUT and CONTRIBUTIONS to the medians
runs()
{
	local seed

	for ((seed = 1; seed <= SEEDS; seed++)); do
		"$SIM" --quiet topology="$TAP_TMP/topo" members="$1" loss="$2" deployed="$3" seed="$seed" \
			flow=drop cwnd=adaptive bytes=4MiB elements=352 host_delay=20us timeout=12us \
			timeout_max=1ms || bench_die "canary-sim: $1 ranks, $2, $3"
	done >"$TAP_TMP/runs"
	read -r GOODPUT CONTRIBUTIONS < <(jq -rs 'def median: sort | .[length / 2 | floor];
		"\(map(.goodput_mbit) | median) \(map(.core |
		 .["contributions-in"] / .["blocks-led"]) | median)"' "$TAP_TMP/runs")
}

bench_start selftests/bench/loss_curve.sh
command -v jq >/dev/null || bench_die "needs jq"
[ -x "$SIM" ] || bench_die "needs $SIM"
for ranks in $RANKS; do
	shape "$ranks"
	for loss in $LOSS; do
		for switches in none:0% half:50% all:100%; do
			runs "$ranks" "$loss" "${switches#*:}"
			[ "${switches%:*}" != none ] || NONE=$GOODPUT
			name=loss.$ranks.${switches%:*}.${loss%\%}
			bench_figure "$name.goodput" "$GOODPUT" Mbit/s "$NONE" \
				"$loss lost on each link, $ranks ranks; baseline: without switches"
			bench_figure "$name.contributions" "$CONTRIBUTIONS" "a block" $((ranks - 1)) \
				"same runs, accepted by leaders; baseline: without switches and losses"
		done
	done
done
