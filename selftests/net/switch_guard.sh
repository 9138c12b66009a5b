#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What a switch does not let through: packets that its machine's packet filter or reverse path
# filter would drop, and tenants that take everything.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

SHIM=$TAP_TOP/build/selftests/net/fail_maps.so

begin net/switch_guard

# drop MATCH...: the machine drops what it forwards and what these words of nft match; without
# words: nothing any more
drop()
{
	ns_exec sw nft delete table ip guard 2>/dev/null
	[ $# -gt 0 ] || return 0
	ns_exec sw nft "add table ip guard
		add chain ip guard forward { type filter hook forward priority 0; }
		add rule ip guard forward $* counter drop"
}

# lacks DESCRIPTION ADDRESS: of the last traffic, nothing from there arrived, and everything from
# others
lacks()
{
	traffic_is "$1" ".exact and .sources == [\"$ADDRESS:22600\"] and .arrived == 1 and (.sources | index(\"$2:22600\") | not)"
}

# h2 is not admitted: the kernel decides about its packets.
test_strangers()
{
	start --ports $PORTS --timeout 300ms --root-waits 0 \
		--admit any:10.0.1.2%s1,any:10.0.3.2%s3,any:any%s4
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "a stranger's contribution reaches its leader" \
		"$ALL_RIGHT and .arrived == 2 and (.sources | index(\"10.0.2.2:22600\"))"
	drop ip saddr 10.0.2.2
	traffic h1 h2 h3 h4 -- --one-way --stopped 1
	lacks "not if the packet filter drops it" 10.0.2.2
	drop
	ns_ip sw route add 10.0.2.2/32 dev s3
	ns_exec sw sysctl -qw net.ipv4.conf.s2.rp_filter=1
	traffic h1 h2 h3 h4 -- --one-way --stopped 1
	lacks "not by a port that is no way back to it, where the kernel looks at that" 10.0.2.2
	ns_exec sw sysctl -qw net.ipv4.conf.s2.rp_filter=0
	ns_ip sw route del 10.0.2.2/32
	stop
}

test_forward()
{
	start_late
	resolve_all
	drop ip saddr 10.0.0.0/16
	traffic h1 h4 -- --one-way
	traffic_is "--forward fast: what is forwarded does not meet the packet filter" \
		".exact and .arrived == 1"
	stop
	start_late --forward stack
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "--forward stack: merged ones and their results do not" "$MERGED"
	traffic h1 h4 -- --patience 0.5 --one-way
	traffic_is "... what is complete when it comes does" ".arrived == 0"
	tap_is "show -j: --forward" "$(show .forward)" stack
	drop
	traffic h1 h4
	traffic_is "... and passes if it may" "$ALL_RIGHT and .arrived == 1"
	stop
}

# One tenant takes all descriptors with made-up contributions. Blocks of another one are merged
# nevertheless. 64 blocks of one contribution each fill the 64 slots, and all have been sent on.
test_shares()
{
	start --ports $PORTS --slots 64 --timeout 1ms --root-waits 0 --lifetime 60s \
		--admit any:10.0.1.2%s1,any:any%s2,any:any%s3,any:any%s4
	resolve_all
	traffic h1 h2 h3 h4 -- --silent 1 --silent 2 --blocks 64 --one-way
	wait_for 2 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .slots_collecting) = 0 ]"
	tap_is "show -j: one tenant holds all slots" \
		"$(show '[.admission.shares[] | "\(.source) \(.slots)"] | join(";")')" "10.0.1.2/32%s1 64"
	traffic h2 h3 h4 -- --comm 2 --blocks 16
	traffic_is "another one has room for its blocks" "$ALL_RIGHT"
	tap_is "... that the first one gave back" \
		"$(show '[.counters.displaced, .counters["bypass-collision"]] | @csv')" "16,0"
	tap_check "show: whose slots are whose" sh -c "'$CANARY' switch show --name '$NAME' |
		grep -q '10.0.1.2/32%s1 holds 48 slots'"
	stop
}

# rxvlan N, txvlan N: prints the feature of port sN, or of its other end
rxvlan()
{
	ns_exec sw ethtool -k "s$1" | sed -n 's/^rx-vlan-offload: //p'
}

txvlan()
{
	ns_exec "h$1" ethtool -k eth0 | sed -n 's/^tx-vlan-offload: //p'
}

test_tags()
{
	ns_exec h1 ethtool -K eth0 txvlan on
	start_late
	tap_is "tags of VLANs are in frames: rxvlan off, others' devices as they were" \
		"$(rxvlan 1) $(txvlan 1) $(show '.ports[0].tags')" "off on unknown"
	"$CANARY" switch set --name "$NAME" --admit any:any
	tap_is "... where rules hold, also what the other end does not put in" \
		"$(rxvlan 1) $(txvlan 1) $(show '.ports[0].tags')" "off off seen"
	ns_exec sw ethtool -K s1 rxvlan on
	tap_check "... and it stays off" wait_for 2 \
		grep -q "s1: somebody switched rxvlan on again, now it is off" "$ERR"
	tap_is "rxvlan is off again" "$(rxvlan 1)" off
	stop
	tap_is "the end: both are as they were" "$(rxvlan 1) $(txvlan 1)" "on on"
	ns_exec sw ethtool -K s3 rxvlan off
	start_late
	stop
	tap_is "... off where they were off" "$(rxvlan 1) $(rxvlan 3)" "on off"
	ns_exec sw ethtool -K s3 rxvlan on
}

# hidden_refused WHAT COMMAND...: it fails, as rules would not be safe at t0
hidden_refused()
{
	local what=$1 out rc=0

	shift
	out=$("$@" 2>&1) || rc=$?
	if [ $rc -eq 1 ] && grep -q "port t0: tags of VLANs may be hidden" <<<"$out"; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit status $rc: $out"
	fi
}

# A device that cannot be asked whether it hides tags
test_hidden()
{
	ns_ip sw tuntap add t0 mode tap
	ns_ip sw link set t0 up
	echo tags >"$TAP_TMP/fail"
	export LD_PRELOAD=$SHIM FAIL_MAPS=$TAP_TMP/fail
	hidden_refused "who may hide tags is no port where rules hold" timeout 20 nsenter \
		--net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" --ports t0 --admit any:any
	start --ports t0
	unset LD_PRELOAD FAIL_MAPS
	tap_is "... without rules it is one" "$(show '.ports[0].tags')" hidden
	hidden_refused "... and gets none then" "$CANARY" switch set --name "$NAME" --admit any:any
	tap_is "... none at all" "$(show '.admission | [.on, .entries] | @csv')" "false,0"
	rm "$TAP_TMP/fail"
	tap_check "... until it hides none" "$CANARY" switch set --name "$NAME" --admit any:any
	tap_is "... which is seen" "$(show '.ports[0].tags') $(show .admission.on)" "seen true"
	stop
	ns_ip sw link del t0
}

# The daemon looks for the other ends of all ports in one search.
test_searches()
{
	export LD_PRELOAD=$SHIM COUNT_SEARCHES=$TAP_TMP/searches
	start_late --admit any:any
	unset LD_PRELOAD COUNT_SEARCHES
	followed
	tap_check "fewer searches for namespaces than ports" \
		test "$(grep -c /run/netns "$TAP_TMP/searches")" -lt 5
	tap_is "... and all are found" "$(show '[.ports[].tags] | unique | join(" ")')" seen
	stop
}

ARP='
import socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("eth0", 0))
mac = sock.getsockname()[4]
ask = bytes.fromhex("0001080006040001")
sender, target = map(socket.inet_aton, sys.argv[1:])
sock.send(b"\xff" * 6 + mac + b"\x08\x06" + ask + mac + sender + bytes(6) + target)
'

# ask_as ADDRESS: h2 asks by ARP for the address of its port, and claims that ADDRESS is its own
ask_as()
{
	ns_exec h2 /usr/bin/python3 -c "$ARP" "$1" 10.0.2.1
	wait_for 5 sh -c "ip -n '$NAME' neigh show $1 dev s2 | grep -q lladdr"
	followed
}

# neigh_mac BYTE...: prints the MAC address of the neighbour at s2 with the address of these 16
# bytes
neigh_mac()
{
	local index program id

	read -r index program < <(ns_exec sw ip -j -d link show s2 |
		jq -r '.[0] | "\(.ifindex) \(.xdp.prog.id)"')
	for id in $(bpftool -j prog show id "$program" | jq '.map_ids[]'); do
		[ "$(bpftool -j map show id "$id" | jq -r .name)" = neighbours ] || continue
		bpftool -j map lookup id "$id" key $((index & 255)) $((index >> 8)) 0 0 "$@" |
			jq -r '.value[0:6] | map(.[2:]) | join(":")'
	done
}

# Neighbours with addresses of no host, and an IPv4 address mapped into IPv6
test_odd_neighbours()
{
	local mapped="0 0 0 0 0 0 0 0 0 0 255 255 10 0 2 2" mac

	start_late
	resolve_all
	tap_check "a host says that it has 0.0.0.9: the kernel believes it" ask_as 0.0.0.9
	ns_ip sw route add 10.8.0.0/24 nexthop via 0.0.0.8 dev s2 onlink nexthop via 10.0.3.2
	ns_ip sw route add 0.0.0.4/30 dev s2
	followed
	tap_is "a next hop 0.0.0.8, a network of such addresses: it goes on" "$(show .name)" "$NAME"
	ns_ip sw route del 0.0.0.4/30
	ns_ip sw route del 10.8.0.0/24
	traffic h1 h2 h3 h4
	traffic_is "... and adds" "$MERGED"
	ns_ip sw route add 10.7.0.1/32 via inet6 fe80::99 dev s2
	ns_ip sw neigh replace fe80::99 lladdr 02:00:00:00:99:99 nud permanent dev s2
	followed
	tap_is "a next hop of IPv6 has its own entry" \
		"$(neigh_mac 254 128 0 0 0 0 0 0 0 0 0 0 0 0 0 153)" 02:00:00:00:99:99
	# shellcheck disable=SC2086
	mac=$(neigh_mac $mapped)
	tap_is "that of 10.0.2.2 is the host's" "$mac" \
		"$(ns_exec h2 ip -j link show eth0 | jq -r '.[0].address')"
	ns_ip sw neigh replace ::ffff:10.0.2.2 lladdr 02:00:00:00:66:66 nud permanent dev s2
	followed
	# shellcheck disable=SC2086
	tap_is "a neighbour ::ffff:10.0.2.2 of IPv6 does not take it" "$(neigh_mac $mapped)" "$mac"
	ns_ip sw neigh del ::ffff:10.0.2.2 dev s2
	followed
	# shellcheck disable=SC2086
	tap_is "... nor take it away" "$(neigh_mac $mapped)" "$mac"
	ns_ip sw route del 10.7.0.1/32
	ns_ip sw neigh flush all
	stop
}

need_program nft
[ -e "$SHIM" ] || tap_skip_all "needs $SHIM"
ns_exec sw sysctl -qw net.ipv4.conf.all.rp_filter=0
test_strangers
test_forward
test_shares
test_tags
test_hidden
test_searches
test_odd_neighbours
tap_done
