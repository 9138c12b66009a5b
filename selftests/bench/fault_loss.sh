#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fault.loss: the share of goodput that is left with 1 % loss on every link, in both directions.
#	h0 .. h3 --- sw (lo 10.9.0.1)
# The network is that of goodput.sh: links shaped by HTB, one XDP switch, vectors of 4 MiB, user
# engine. It is measured with and without loss in turn. The injector (`canary fault`) is at the
# hosts, on what leaves and on what comes in.
#	fault_loss.sh [PERCENT]

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

LOSS=${1:-1}
ENGINE=user
RATE=${RATE:-100}
SIZE=$((4 << 20))
ROWS=${ROWS:-4}
# The time of some 20 frames. The root switch waits four times as long. Hosts drift apart, and a
# window is 64 blocks.
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=4

loss()
{
	local i dir

	for ((i = 0; i < HOSTS; i++)); do
		for dir in ingress egress; do
			if [ "$1" = on ]; then
				ns_exec "h$i" "$CANARY" fault add eth0 --dir $dir --seed $((10 + i)) \
					--drop "$LOSS%" --only-canary
			else
				ns_exec "h$i" "$CANARY" fault del eth0 --dir $dir
			fi
		done
	done
}

median()
{
	printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"
}

bench_start "selftests/bench/fault_loss.sh $LOSS"
bench_need ip tc jq ethtool "$CANARY"
chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
WHOLE=()
LOSSY=()
star_topology
star_switch
for _ in 1 2 3; do
	star_measure whole
	WHOLE+=("$FRACTION")
	loss on
	star_measure lossy
	loss off
	LOSSY+=("$FRACTION")
done
star_switch_stop
bench_figure fault.loss.goodput "$(median "${LOSSY[@]}")" "of limit" "$(median "${WHOLE[@]}")" \
	"$LOSS % loss on every link, both ways; baseline: none. 4 hosts, 4 MiB, $RATE Mbit/s, user engine"
