#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# ring.*: the share of a link's payload limit that arrives as reduced vector at every rank, by
# algorithm, where only one link connects the leaves.
#	h0 h1 h2 --- l0 --- l1 --- h3 h4 h5	all links of the same rate, both directions
# Limits, as shares of rate x 1408/1514 (a packet of 1514 bytes carries 1408 of the vector): a ring
# sends 2 (N - 1) / N of the vector over each link, also over the one between the leaves: 3/5.
# Trees without a switch that adds send as much over a host's link, but three times the vector over
# the link between the leaves: 1/3.
# Trees with switches that add: 1.
#	ring.sh user|kernel		kernel: AF_CANARY, in the instruction-counting guest

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=hosts.sh
. "$(dirname "$0")/hosts.sh"

ENGINE=${1:-}
case $ENGINE in
user) RATE=${RATE:-50} SIZE=$((1 << 20)) ROWS=${ROWS:-3} ;;
kernel) RATE=${RATE:-15} SIZE=$((1 << 19)) ROWS=${ROWS:-1} ;;
*) echo "usage: ring.sh user|kernel" >&2; exit 2 ;;
esac
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=6

topology()
{
	local i leaf

	for leaf in 0 1; do
		ns_add l$leaf
		ns_ip l$leaf addr add 10.9.0.$leaf/32 dev lo
		ns_exec l$leaf sysctl -qw net.ipv4.ip_forward=1
	done
	ns_link l0 trunk 10.1.0.1/24 l1 trunk 10.1.0.2/24
	for leaf in 0 1; do
		ns_exec l$leaf ethtool -K trunk gro on
		bench_shape l$leaf trunk "$RATE"
		ns_ip l$leaf route add default via 10.1.0.$((2 - leaf))
		ns_ip l$leaf route add 10.9.0.$((1 - leaf)) via 10.1.0.$((2 - leaf))
	done
	for ((i = 0; i < HOSTS; i++)); do
		host_link "$i" l$((i / 3))
	done
}

start_switches()
{
	host_switch l0 trunk,s0,s1,s2
	host_switch l1 trunk,s3,s4,s5
}

# measure NAME ALGORITHM: sets FRACTION, and sets LAST and WHY to the algorithm of the last
# operation
measure()
{
	host_measure "$1" "$2" -w 1
	LAST=$(jq -r .last_algorithm "$TAP_TMP/$1.json")
	WHY=$(jq -r .why "$TAP_TMP/$1.json")
}

if [ "$ENGINE" = kernel ] && [ -z "${CANARY_GUEST:-}" ]; then
	bench_in_guest "$0" "$@"
fi
bench_start "selftests/bench/ring.sh $ENGINE"
bench_need ip tc jq ethtool "$CANARY"
[ "$ENGINE" = user ] || bench_load_module
# As in goodput.sh: other work of this machine shall not count.
[ -n "${CANARY_GUEST:-}" ] || chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
topology
HOW="6 hosts behind two leaves, $((SIZE >> 10)) KiB, links of $RATE Mbit/s, payload limit of them"
measure plain-tree tree
TREE=$FRACTION
measure plain-ring ring
bench_figure "ring.goodput.$ENGINE" "$FRACTION" "of limit" "$TREE" \
	"a ring, routers only (limit 3/5); baseline: trees there (limit 1/3); $HOW"
measure plain-auto auto
bench_figure "ring.auto.$ENGINE" "$FRACTION" "of limit" "$TREE" \
	"left to rank 0, routers only: $LAST at the end, $WHY; baseline: trees there; $HOW"
start_switches
measure switch-tree tree
TREE=$FRACTION
measure switch-ring ring
bench_figure "ring.goodput.$ENGINE.switch" "$FRACTION" "of limit" "$TREE" \
	"a ring across XDP switches; baseline: trees that they add up (limit 1); $HOW"
measure switch-auto auto
bench_figure "ring.auto.$ENGINE.switch" "$FRACTION" "of limit" "$TREE" \
	"left to rank 0, XDP switches: $LAST at the end, $WHY; baseline: trees there; $HOW"
for pid in "${SWITCHES[@]}"; do
	bg_stop "$pid" || :
done
