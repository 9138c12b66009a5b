#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# host.softirq.8, .1024, .16384: the longest time (ns, = instructions) for which AF_CANARY kept
# other softirqs waiting, by the number of members, in the guest where time counts instructions.
#
# Rank 0 is a socket of the module. One process plays all other ranks from one UDP socket, over
# loopback, as any user may (softirq.c). The phases are: rendezvous; sums; a packet that asks for
# the order of a ring; a forged aggregate; goodbye; a communicator whose other ranks fall silent;
# one that is closed with very many operations that nobody received; many communicators whose other
# ranks fall silent at once; many of which one rank each leaves at once.
#
# The baseline is the time of a module that did all that the core wanted at once.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SOFTIRQ=$BENCH_BUILD/selftests/bench/softirq
MEMBERS=(8 1024 16384)
# ns, at commit 66069c8
declare -A AT_ONCE=([8]=147937 [1024]=6454923 [16384]=104836940)

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
[ $# -eq 0 ] || MEMBERS=("$@")
bench_start "selftests/bench/softirq.sh"
bench_need jq tc "$SOFTIRQ"
bench_load_module
modprobe sch_netem || bench_die "no module sch_netem"
ip link set lo up
for members in "${MEMBERS[@]}"; do
	"$SOFTIRQ" "$members" >"$TAP_TMP/$members.json"
	[ -z "${VERBOSE:-}" ] || jq -c . "$TAP_TMP/$members.json" >&2
	longest=$(jq '[.[][]] | max' "$TAP_TMP/$members.json")
	where=$(jq -r "to_entries[] as \$phase | \$phase.value | to_entries[] |
		select(.value == $longest) | \"\(\$phase.key), \(.key)\"" "$TAP_TMP/$members.json")
	bench_figure "host.softirq.$members" "$longest" ns "${AT_ONCE[$members]}" \
		"longest time that softirqs wait, $members members ($where); baseline: commit 66069c8"
done
