#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the path between ranks does to them. An attacker off the path forges ICMP messages that say
# that packets are too large, before and while they are connected. Or a path really takes less than
# before.
# Ranks are at a and b, a router r is between them, the attacker is at c.
#
# It uses the kernel engine where the module is loaded (in the guest), else the user engine.

# Variables in single quotes belong to awk.
# shellcheck disable=SC2016

. "$(dirname "$0")/../lib.sh"

CANARY=$TAP_TOP/build/bin/canary
FORGE=$TAP_TOP/selftests/net/frag_needed.py
A=10.20.1.1
B=10.20.2.1
COMM=$((RANDOM << 15 | RANDOM))

# rank R HOST: sums of 64 KiB without end, in the background; what it says goes to a file R
rank()
{
	local extra=()

	[ "$1" -eq 0 ] || extra=(--bind "$B:22601")
	bg ns_exec "$2" "$CANARY" perf allreduce --engine "$ENGINE" --comm "$COMM" --rank "$1" \
		--members 2 --root $A --linger 0s --dead-after 1s -b 64K -e 64K -n 1000000 -w 1 \
		"${extra[@]}" >"$TAP_TMP/$1" 2>&1
}

# begin WHAT: both sum up for long; sets ONE and TWO
begin()
{
	local before

	COMM=$((COMM + 1))
	before=$(value operations)
	rank 0 a
	ONE=$!
	rank 1 b
	TWO=$!
	tap_check "$1" wait_for 30 beyond $((before + 10))
}

# value NAME: of rank 0, out of what canary stats says
value()
{
	if [ $ENGINE = kernel ]; then
		ns_exec a sed -n "s/^$1 //p" /proc/net/canary_stats
	else
		ns_exec a "$CANARY" stats -j | jq ".user[] | select(.comm == $COMM and .rank == 0) |
			if \"$1\" | startswith(\"drop-\") then .stats.drops[\"$1\"[5:]]
			else .stats[\"$1\"] end"
	fi
}

# beyond N: rank 0 has ended more operations
beyond()
{
	local now

	now=$(value operations) && [ "${now:-0}" -gt "$1" ]
}

# go_on WHAT: sums do go on, and no packet is too large
go_on()
{
	local now dropped

	now=$(value operations)
	dropped=$(value drop-mtu)
	tap_check "$1" wait_for 20 beyond $((now + 20))
	tap_is "$1: no packet is held to be too large" "$(value drop-mtu)" "$dropped"
}

# icmp HOST: ICMP messages that it has received
icmp()
{
	ns_exec "$1" awk '/^Icmp:/ { n = $2 } END { print n }' /proc/net/snmp
}

# icmp_beyond HOST N: it has received more
icmp_beyond()
{
	[ "$(icmp "$1")" -gt "$2" ]
}

# forge HOST MTU PROTOCOL FROM TO: and see it come there
forge()
{
	local host=$1 before

	before=$(icmp "$host")
	shift
	ns_exec c "$FORGE" "$@" && wait_for 5 icmp_beyond "$host" "$before"
}

# forge_all: to both ranks, of their packets and of a ping that they never answered
forge_all()
{
	forge a 600 udp "$A:22600" "$B:22601" && forge b 600 udp "$B:22601" "$A:22600" &&
		forge a 560 icmp "$A" "$B" && forge b 560 icmp "$B" "$A"
}

stop()
{
	bg_stop "$ONE"
	bg_stop "$TWO"
}

ended()
{
	! kill -0 "$ONE" 2>/dev/null && ! kill -0 "$TWO" 2>/dev/null
}

ENGINE=user
[ ! -r /proc/net/canary ] || ENGINE=kernel
if [ $ENGINE = kernel ]; then
	tap_start kmod/path
else
	tap_start user/path
fi
need_root
need_program jq nsenter ip setpriv /usr/bin/python3
tmp_dir
ns_add a b c r
ns_exec r sysctl -qw net.ipv4.ip_forward=1
ns_link a eth0 $A/24 r ra 10.20.1.254/24
ns_link b eth0 $B/24 r rb 10.20.2.254/24
ns_link c eth0 10.20.3.1/24 r rc 10.20.3.254/24
for host in a:1 b:2 c:3; do
	ns_ip "${host%:*}" route add default via "10.20.${host#*:}.254"
done

begin "sums begin"
tap_check "forged ICMP comes to both hosts" forge_all
tap_is "the kernel believes what is said of a ping" \
	"$(ns_ip a route get $B | grep -o 'mtu [0-9]*')" "mtu 560"
go_on "sums go on in spite of forged ICMP"
stop

contributed=$(value contributions-out)
before=$(value operations)
begin "after that, others begin"
go_on "with full packets"
# 16384 elements are 47 blocks of 352; of those, each of two ranks contributes half.
tap_is "with full packets: so few are needed" \
	"$(($(value contributions-out) - contributed < ($(value operations) + 2 - before) * 40))" 1

# What really is too large is noticed by its not coming.
before=$SECONDS
ns_ip r link set rb mtu 1000
tap_check "a path that takes less than before: both ranks end" wait_for 60 ended
tap_check "they say that large packets do not arrive" \
	grep -q 'only small packets' "$TAP_TMP/0" "$TAP_TMP/1"
tap_diag "took $((SECONDS - before)) s; rank 0: $(tail -n 1 "$TAP_TMP/0")"
tap_diag "rank 1: $(tail -n 1 "$TAP_TMP/1")"
tap_done
