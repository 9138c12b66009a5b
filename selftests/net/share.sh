#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A queue of our own host is short and full: TCP flows get a share, and so do sums.
# selftests/bench/share.sh measures this, and its baselines say what is wanted. This test asks for
# less, as other processes may delay ours. At realtime priority they rarely do.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}

tap_start net/share
need_root
need_program ip tc jq ethtool iperf3 chrt "$CANARY"
chrt -r 1 true 2>/dev/null || tap_skip_all "needs realtime priority"
tmp_dir

# at_least NAME LEAST: a share of the link
at_least()
{
	local value

	value=$(jq -r --arg name "$1" 'select(.name == $name) | .value' "$TAP_TMP/figures")
	tap_is "$1: ${value:-nothing} of the link, at least $2" "$(jq -n "${value:-0} >= $2")" true
}

export CANARY
QUEUES="8 16" SECONDS_EACH=5 "$TAP_TOP/selftests/bench/share.sh" >"$TAP_TMP/figures" \
	2>"$TAP_TMP/err" || tap_diag "$(cat "$TAP_TMP/err")"
for packets in 8 16; do
	at_least "share.tcp.$packets" 0.1
	at_least "share.canary.$packets" 0.25
done
tap_done
