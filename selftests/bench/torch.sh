#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# torch.*: how long the gradients of PyTorch's DistributedDataParallel travel, by Canary and by
# Gloo, on the same shaped links.
#	h0 .. h3 --- sw (lo 10.9.0.1)
#	selftests/bench/torch.sh [BYTES...]		(HOSTS=8 RATE=10: others)
# What is measured is backward() with communication less the same without it, of the slowest rank.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

HOSTS=${HOSTS:-4}
RATE=${RATE:-100}
STEPS=${STEPS:-5}
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
PYTHON=/usr/bin/python3
[ $# -gt 0 ] || set -- 1000000 10000000

# seconds BACKEND BYTES: sets SECONDS_OF to what the communication of a step takes
seconds()
{
	local i pids=()

	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" env RANK="$i" WORLD_SIZE="$HOSTS" MASTER_ADDR=10.0.0.2 \
			MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1 \
			PYTHONPATH="$TAP_TOP/build/lib/python" PYTHONWARNINGS=ignore \
			CANARY_ENGINE=user CANARY_TABLE=1 timeout 900 \
			$PYTHON "$TAP_TOP/selftests/bench/torch_ddp.py" "$1" "$2" "$STEPS" \
			>"$TAP_TMP/out.$i" 2>"$TAP_TMP/err.$i"
		pids+=($!)
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "$1, rank $i: $(tail -n 5 "$TAP_TMP/err.$i")"
	done
	[ -z "${VERBOSE:-}" ] || cat "$TAP_TMP/out.0" "$TAP_TMP/err.0" >&2
	if [ "$1" = canary ] && ! grep -Eq "all_reduce +canary" "$TAP_TMP/err.0"; then
		bench_die "gradients did not go through Canary: $(cat "$TAP_TMP/err.0")"
	fi
	SECONDS_OF=$(jq '.with - .alone' "$TAP_TMP/out.0")
}

bench_start "HOSTS=$HOSTS RATE=$RATE selftests/bench/torch.sh $*"
bench_need ip tc jq ethtool "$CANARY" $PYTHON
[ -e "$TAP_TOP/build/lib/python/canary_torch/_C.so" ] || bench_die "needs the module: make torch"
star_topology
star_switch
for bytes; do
	seconds gloo "$bytes"
	gloo=$SECONDS_OF
	seconds canary "$bytes"
	bench_figure "torch.ddp.$bytes.$HOSTS.$RATE" "$SECONDS_OF" s "$gloo" \
		"gradients of $bytes bytes, $HOSTS hosts at $RATE Mbit/s: Canary; baseline: Gloo"
done
star_switch_stop
