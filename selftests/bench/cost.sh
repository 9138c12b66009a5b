#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# host.cost, zerocopy.cost: what AF_CANARY takes of a processor, ns (= instructions) a KiB of the
# vector, with copies and without, in the guest where time counts instructions.
#
#	h0 --- h1, veth, not shaped, MTU 1500
#
# Both hosts are on the one processor, which is never idle: the time of an allreduce is what it
# costs both of them. Of two ranks each contributes to half of the blocks and leads the other
# half, so each sends as many bytes as the vector has and receives as many. The baseline is a
# TCP connection between the same namespaces on which each side sends the other that many bytes:
# as an allreduce by reduce-scatter and allgather would, without its additions. It is measured
#  - without TSO, GSO and GRO: one packet a pass through the stack, as with AF_CANARY. To switch off
#    "gso" does not do that: since Linux 4.17 TCP always makes large packets, and what the device
#    does not cut up the stack does just before it. So the device says that it takes one segment;
#  - with these large packets, cut up by the stack (".gso"): what "ethtool -K tso off gso off gro
#    off" leaves, and what TCP costs on a network card without offloads;
#  - with TSO, GSO and GRO (".offloads"): up to 64 KiB a pass, on a veth pair to the very end, as
#    nobody ever cuts them up.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

TCP=$BENCH_BUILD/selftests/bench/tcp_exchange
SIZE=$((4 << 20))
ITERS=${ITERS:-4}
# How sender and receiver fall into step differs by 10 % from round to round, and by 1 % from
# connection to connection: the mean of some medians.
CONNECTIONS=4
ROUNDS=200
ROUNDS_PLAIN=60
SEGMENTS=65535	# of a large packet at most, what devices have by default

# offloads on|off
offloads()
{
	local i

	for i in 0 1; do
		ns_exec h$i ethtool -K eth0 tso "$1" gso "$1" gro "$1" >/dev/null
	done
}

# segments N: that a packet handed to the device may have
segments()
{
	local i

	for i in 0 1; do
		ip -n "$(ns_name h$i)" link set eth0 gso_max_segs "$1"
	done
}

# canary on|off: ns an allreduce, with zero copy on or off
canary()
{
	local i pids=()

	for i in 0 1; do
		bg ns_exec h$i timeout 300 "$CANARY" perf allreduce -b $SIZE -e $SIZE -w 1 \
			-n "$ITERS" -c 0 -J "$TAP_TMP/perf.json" --engine kernel --comm 7 \
			--zerocopy "$1" --algorithm tree \
			--rank $i --members 2 --root 10.0.0.1 --bind 10.0.0.$((i + 1)) \
			>"$TAP_TMP/perf.$i" 2>&1
		pids+=("$!")
	done
	for i in 0 1; do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/perf.$i")"
	done
	[ -z "${VERBOSE:-}" ] || jq -c '.results, .stats' "$TAP_TMP/perf.json" >&2
	jq '.results[0].out_of_place.time_us * 1000' "$TAP_TMP/perf.json"
}

# tcp ROUNDS: ns an exchange
tcp()
{
	local i

	for ((i = 0; i < CONNECTIONS; i++)); do
		timeout 300 "$TCP" "/run/netns/$(ns_name h0)" 10.0.0.1 \
			"/run/netns/$(ns_name h1)" 10.0.0.2 $SIZE "$1"
	done | jq -s 'add / length'
}

per_kib()
{
	jq -n "$1 / $SIZE * 1024"
}

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_start "selftests/bench/cost.sh"
bench_need jq ethtool "$CANARY" "$TCP"
bench_load_module
ns_add h0 h1
ns_link h0 eth0 10.0.0.1/24 h1 eth0 10.0.0.2/24
offloads off
COPIES=$(canary off)
PINNED=$(canary on)
SEGMENTED=$(tcp $ROUNDS)
segments 1
PLAIN=$(tcp $ROUNDS_PLAIN)
segments $SEGMENTS
offloads on
OFFLOADED=$(tcp $ROUNDS)
HOW="2 ranks, 4 MiB, both hosts; baseline: TCP moving the same bytes"

# cost NAME VALUE [HOW]: compared with TCP in its three ways
cost()
{
	bench_figure "$1" "$(per_kib "$2")" ns/KiB "$(per_kib "$PLAIN")" \
		"${3:-}$HOW, without TSO, GSO, GRO"
	bench_figure "$1.gso" "$(per_kib "$2")" ns/KiB "$(per_kib "$SEGMENTED")" \
		"${3:-}$HOW, large packets cut up by the stack, no offloads"
	bench_figure "$1.offloads" "$(per_kib "$2")" ns/KiB "$(per_kib "$OFFLOADED")" \
		"${3:-}$HOW, with TSO, GSO, GRO"
}

cost host.cost "$COPIES"
cost zerocopy.cost "$PINNED" "zero copy; "
bench_figure zerocopy.copies "$(per_kib "$PINNED")" ns/KiB "$(per_kib "$COPIES")" \
	"zero copy; 2 ranks, 4 MiB, both hosts; baseline: with copies"
