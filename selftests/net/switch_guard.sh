#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What a switch does not let through: packets that its machine's packet filter or reverse path
# filter would drop, tenants that take all of it.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_guard

# drop MATCH...: what the machine forwards and these words of nft match; nothing: no more of that
drop()
{
	ns_exec sw nft delete table ip guard 2>/dev/null
	[ $# -gt 0 ] || return 0
	ns_exec sw nft "add table ip guard
		add chain ip guard forward { type filter hook forward priority 0; }
		add rule ip guard forward $* counter drop"
}

# lacks DESCRIPTION ADDRESS: nothing from there arrived of the last traffic, and all of the others
lacks()
{
	traffic_is "$1" ".exact and .sources == [\"$ADDRESS:22600\"] and .arrived == 1 and (.sources | index(\"$2:22600\") | not)"
}

# h2 is a stranger: what it sends is the kernel's to judge
test_strangers()
{
	start --ports $PORTS --timeout 300ms --root-patience 0 \
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

# One tenant takes all descriptors with made-up contributions; another one's blocks are merged
# nevertheless. 64 blocks of one contribution each, all sent on by then, fill the 64 slots.
test_shares()
{
	start --ports $PORTS --slots 64 --timeout 1ms --root-patience 0 --lifetime 60s \
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

# rxvlan N, txvlan N: of port sN, of the other end of that
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
	ns_exec sw ethtool -K s1 rxvlan on
}

need_program nft
ns_exec sw sysctl -qw net.ipv4.conf.all.rp_filter=0
test_strangers
test_forward
test_shares
test_tags
tap_done
