#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# link.goodput: the share of a link's payload limit that arrives as reduced vector at every rank.
#	h0 .. h3 --- sw (lo 10.9.0.1)
# Four hosts, vectors of 4 MiB, `canary perf allreduce`. The result is the median of the operations,
# since on a machine with other work some of them stand still for a while. Each link is shaped by
# HTB at both ends, so in both directions. HTB counts frames with their Ethernet header: 1514 bytes
# carry 1408 of the vector. So the limit is rate x 1408/1514. If the switch adds up all
# contributions, every block crosses every link once in each direction. Without a switch a leader
# receives three contributions.
#	goodput.sh user|kernel		kernel: AF_CANARY, in the instruction-counting guest

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=star.sh
. "$(dirname "$0")/star.sh"

ENGINE=${1:-}
case $ENGINE in
user) RATE=${RATE:-100} ;;
# A block takes 8 packets over hops (3 up, 1 + 1 at the leader's link, 3 down), of some 16 us each.
kernel) RATE=${RATE:-25} ;;
*) echo "usage: goodput.sh user|kernel" >&2; exit 2 ;;
esac
SIZE=$((4 << 20))
[ "$ENGINE" = user ] && ROWS=${ROWS:-8} || ROWS=${ROWS:-2}
# The time of some 20 frames. The root switch waits four times as long. Hosts drift apart, and a
# window is 64 blocks.
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=4

if [ "$ENGINE" = kernel ] && [ -z "${CANARY_GUEST:-}" ]; then
	bench_in_guest "$0" "$@"
fi
bench_start "selftests/bench/goodput.sh $ENGINE"
bench_need ip tc jq ethtool "$CANARY"
[ "$ENGINE" = user ] || bench_load_module
# Other work of this machine shall not count. A window is 8 ms of a link. A process that waits
# longer than that for a processor leaves the link idle.
[ -n "${CANARY_GUEST:-}" ] || chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
star_topology
star_measure plain
PLAIN=$FRACTION
star_switch
star_measure switch
star_switch_stop
HOW="4 hosts, 4 MiB, links of $RATE Mbit/s, payload limit of them"
bench_figure "link.goodput.$ENGINE" "$FRACTION" "of limit" 1 "one XDP switch, $HOW"
bench_figure "link.goodput.$ENGINE.mbit" "$(jq -n "$FRACTION * $RATE * 1408 / 1514")" Mbit/s \
	"$(jq -n "$RATE * 1408 / 1514")" "the same as rate and limit"
bench_figure "link.goodput.$ENGINE.router" "$PLAIN" "of limit" 1 \
	"no program in the switch, $HOW (a leader's link limits to 2/3)"
