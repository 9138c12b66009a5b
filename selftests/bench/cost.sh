#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# host.cost, zerocopy.cost: processor time that AF_CANARY takes, in ns (= instructions) per KiB of
# the vector, with and without copies. It is measured in the guest where time counts instructions.
#	h0 --- h1, veth, not shaped, MTU 1500, then 9000 (names that end with ".9000")
# Both hosts share one processor, which is never idle. So the time of an allreduce is what it costs
# both of them. Each of the two ranks contributes to one half of the blocks and leads the other
# half. So each sends and receives as many bytes as the vector has. The baseline is a TCP connection
# between the same namespaces, on which each side sends that many bytes. An allreduce by
# reduce-scatter and allgather would move the same bytes, and add. The baseline is measured in three
# ways:
#  - Without TSO, GSO and GRO: one packet per pass through the stack, as with AF_CANARY. Switching
#    off "gso" is not enough. Since Linux 4.17 TCP always makes large packets, and the stack cuts
#    them up just before the device. So the device is set to take one segment.
#  - With these large packets, which the stack cuts up (".gso"). This is what "ethtool -K tso off
#    gso off gro off" leaves, and the cost of TCP on a network card without offloads.
#  - With TSO, GSO and GRO (".offloads"): up to 64 KiB per pass. On a veth pair nobody ever cuts them
#    up.
# AF_CANARY sends trains (kmod/train.c). So it is measured in two ways:
#  - The stack takes trains apart just before the device. This is "host.cost", and is compared with
#    all three baselines.
#  - The device passes trains on (".whole"), as veth does. The baseline is TCP with all offloads.
# A last baseline (".udp", of both) is what packets of UDP cost, without any protocol: sockets that
# send trains as long, of packets with as many data, and look at nothing that comes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

EXCHANGE=$BENCH_BUILD/selftests/bench/exchange
SIZE=$((4 << 20))
ITERS=${ITERS:-4}
# The times of sender and receiver differ by 10 % from round to round, depending on how they
# interleave, but by only 1 % from connection to connection. So take the mean of the medians of some
# connections.
CONNECTIONS=4
ROUNDS=200
ROUNDS_PLAIN=60
SEGMENTS=65535	# largest size of a large packet, the default of devices

# offloads on|off
offloads()
{
	local i

	for i in 0 1; do
		ns_exec h$i ethtool -K eth0 tso "$1" gso "$1" tx-gso-list "$1" \
			tx-udp-segmentation "$1" gro "$1" >/dev/null
	done
}

# segments N: sets how many segments a packet for the device may have
segments()
{
	local i

	for i in 0 1; do
		ip -n "$(ns_name h$i)" link set eth0 gso_max_segs "$1"
	done
}

# canary on|off: prints the ns of an allreduce, with zero copy on or off
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

# exchange tcp|udp ROUNDS [DATA]: prints the ns of an exchange
exchange()
{
	local i

	for ((i = 0; i < CONNECTIONS; i++)); do
		timeout 300 "$EXCHANGE" "$1" "/run/netns/$(ns_name h0)" 10.0.0.1 \
			"/run/netns/$(ns_name h1)" 10.0.0.2 $SIZE "${@:2}"
	done | jq -s 'add / length'
}

per_kib()
{
	jq -n "$1 / $SIZE * 1024"
}

# cost NAME VALUE [HOW]: prints a figure for each of the three TCP baselines
cost()
{
	bench_figure "$1" "$(per_kib "$2")" ns/KiB "$(per_kib "$PLAIN")" \
		"${3:-}$HOW, without TSO, GSO, GRO"
	bench_figure "$1.gso" "$(per_kib "$2")" ns/KiB "$(per_kib "$SEGMENTED")" \
		"${3:-}$HOW, large packets cut up by the stack, no offloads"
	bench_figure "$1.offloads" "$(per_kib "$2")" ns/KiB "$(per_kib "$OFFLOADED")" \
		"${3:-}$HOW, with TSO, GSO, GRO"
}

# costs MTU SUFFIX DATA: measures, and prints the figures, with SUFFIX behind their names. A block
# has DATA bytes.
costs()
{
	local i copies pinned whole udp what="2 ranks, 4 MiB, MTU $1, both hosts"

	for i in 0 1; do
		ip -n "$(ns_name h$i)" link set eth0 mtu "$1"
	done
	HOW="$what; baseline: TCP moving the same bytes"
	offloads off
	copies=$(canary off)
	pinned=$(canary on)
	SEGMENTED=$(exchange tcp $ROUNDS)
	udp=$(exchange udp $ROUNDS_PLAIN "$3")
	segments 1
	PLAIN=$(exchange tcp $ROUNDS_PLAIN)
	segments $SEGMENTS
	offloads on
	OFFLOADED=$(exchange tcp $ROUNDS)
	whole=$(canary off)
	bench_figure "host.cost$2.whole" "$(per_kib "$whole")" ns/KiB \
		"$(per_kib "$OFFLOADED")" "$HOW, with TSO, GSO, GRO; the device passes trains on"
	bench_figure "host.cost$2.whole.udp" "$(per_kib "$whole")" ns/KiB \
		"$(per_kib "$(exchange udp $ROUNDS_PLAIN "$3")")" \
		"$what; baseline: UDP moving the same bytes, without any protocol; the device passes trains on"
	bench_figure "host.cost$2.udp" "$(per_kib "$copies")" ns/KiB "$(per_kib "$udp")" \
		"$what; baseline: UDP moving the same bytes, without any protocol"
	cost "host.cost$2" "$copies"
	cost "zerocopy.cost$2" "$pinned" "zero copy; "
	bench_figure "zerocopy.copies$2" "$(per_kib "$pinned")" ns/KiB "$(per_kib "$copies")" \
		"zero copy; $what; baseline: with copies"
}

[ -n "${CANARY_GUEST:-}" ] || bench_in_guest "$0" "$@"
bench_start "selftests/bench/cost.sh"
bench_need jq ethtool "$CANARY" "$EXCHANGE"
bench_load_module
ns_add h0 h1
ns_link h0 eth0 10.0.0.1/24 h1 eth0 10.0.0.2/24
costs 1500 "" 1408
costs 9000 .9000 3200
