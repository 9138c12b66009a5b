#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# switch.emission: time from the deadline of a block to the arrival of its frame at the next
# machine. It is measured for a switch daemon with defaults (it sleeps) and with --clock poll. The
# lateness of a plain sleep on the same machine at the same time is given beside it.
#	h0 --- sw (lo 10.9.0.1) --- h1

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

EMISSION=$BENCH_BUILD/selftests/bench/emission
SAMPLES=${SAMPLES:-1000}

topology()
{
	local i

	ns_add sw h0 h1
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for i in 0 1; do
		ns_link h$i eth0 10.0.$i.2/24 sw s$i 10.0.$i.1/24
		ns_ip h$i route add default via 10.0.$i.1
		ns_exec h$i ethtool -K eth0 gro on
		ns_exec h$i ping -qc 1 -W 2 10.0.$i.1 >/dev/null
	done
}

# measure CLOCK PREFIX NOTE
measure()
{
	local name q

	name=$(ns_name sw)
	bg ns_exec sw "$CANARY" switch run --ports s0,s1 --timeout 1ms --root-waits 0 \
		--slots 8192 --clock "$1" --name "$name" >"$TAP_TMP/switch" 2>"$TAP_TMP/switch.err"
	wait_for 20 grep -q "ready:" "$TAP_TMP/switch" ||
		bench_die "no switch: $(cat "$TAP_TMP/switch.err")"
	timeout 100 "$EMISSION" "$!" "/run/netns/$(ns_name h0)" 10.0.0.2 "/run/netns/$(ns_name h1)" \
		10.0.1.2 "$SAMPLES" >"$TAP_TMP/$1.json" || bench_die "emission with --clock $1"
	bg_stop "$!" || :
	for q in p50 p99; do
		bench_figure "$2.$q" "$(jq ".emission.$q / 1000" "$TAP_TMP/$1.json")" us \
			"$(jq ".sleep.$q / 1000" "$TAP_TMP/$1.json")" "$3"
	done
}

bench_start "selftests/bench/emission.sh"
bench_need ip jq ethtool ping "$CANARY" "$EMISSION"
topology
BESIDE="baseline: lateness of clock_nanosleep in the same run"
measure sleep switch.emission "deadline to wire, sleeping clock; $BESIDE"
measure poll switch.emission.poll "deadline to wire, polling clock; $BESIDE"
