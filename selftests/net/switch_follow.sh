#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch daemon follows the kernel: routes, neighbours and ports that change while it runs.

# start_late may have arguments, but has none here.
# shellcheck disable=SC2119

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_follow

route_traffic()
{
	local leader=$1

	shift
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 300 /usr/bin/python3 "$TRAFFIC" $(members h1 h2 g1) "$leader" \
		--also "$(ns_name h4)" "$@")
}

knows()
{
	[ "$(show .neighbours)" -ge "$1" ]
}

# The leader has 10.7.0.1 in h3 and in h4.
test_routes()
{
	local leader before seen

	leader=$(ns_name h3):10.7.0.1:22600
	for i in 3 4; do
		ns_ip h$i addr add 10.7.0.1/32 dev lo
	done
	ns_ip sw route add 10.7.0.1/32 via 10.0.4.2
	start_late
	resolve_all
	route_traffic "$leader"
	traffic_is "route to h4" "$MERGED and .places == [0, 16]"
	ns_ip sw route replace 10.7.0.1/32 via 10.0.3.2
	followed
	route_traffic "$leader"
	traffic_is "route replaced: to h3" "$MERGED and .places == [16, 0]"
	ns_ip sw route replace 10.7.0.1/32 nexthop via 10.0.3.2 nexthop via 10.0.4.2
	followed
	route_traffic "$leader"
	traffic_is "two next hops: both, each block by one" "$MERGED and (.places | min) > 0"
	ns_ip sw link set s3 down
	followed
	route_traffic "$leader"
	traffic_is "a next hop's port goes down: the other one" "$MERGED and .places == [0, 16]"
	ns_ip sw link set s3 up
	resolve_all
	ns_ip sw route del 10.7.0.1/32
	if ns_ip sw nexthop add id 7 via 10.0.3.2 dev s3 2>/dev/null; then
		ns_ip sw nexthop add id 8 via 10.0.4.2 dev s4
		ns_ip sw nexthop add id 9 group 8
		ns_ip sw route add 10.7.0.1/32 nhid 9
		followed
		route_traffic "$leader"
		traffic_is "next hop group: to h4" "$MERGED and .places == [0, 16]"
		ns_ip sw nexthop replace id 9 group 7
		followed
		route_traffic "$leader"
		traffic_is "next hop group replaced: to h3" "$MERGED and .places == [16, 0]"
		ns_exec sw sysctl -qw net.ipv4.nexthop_compat_mode=0
		ns_ip sw nexthop replace id 9 group 8
		followed
		route_traffic "$leader"
		traffic_is "the same without compatibility messages" "$MERGED and .places == [0, 16]"
	else
		tap_skip "next hop objects" "this kernel has none"
	fi
	ns_ip sw route flush 10.7.0.1/32
	ns_ip sw route add unreachable 10.7.0.1/32
	followed
	before=$(show '.counters.new')
	seen=$(show '.counters["rx-contribution"]')
	route_traffic "$leader" --patience 0.2 --one-way
	tap_check "no route: seen" wait_for 5 shows ".counters[\"rx-contribution\"] == $seen + 48"
	tap_is "no route: not taken" "$(show '.counters.new')" "$before"
	ns_ip sw route del unreachable 10.7.0.1/32
	stop
}

# link_local NAMESPACE DEVICE: prints its link-local address, which needs no configuration
link_local()
{
	ns_ip "$1" -j -6 addr show dev "$2" scope link | jq -r '[.[].addr_info[].local | select(.)][0]'
}

has_link_local()
{
	[ "$(link_local "$1" "$2")" != null ]
}

# Routers without IPv4 addresses on their links are reached by their IPv6 addresses (RFC 5549).
test_via()
{
	local leader h3 h4 kernel i

	leader=$(ns_name h3):10.7.0.1:22600
	for i in 3 4; do
		ns_ip h$i addr replace 10.7.0.1/32 dev lo
	done
	wait_for 10 has_link_local h3 eth0
	wait_for 10 has_link_local h4 eth0
	h3=$(link_local h3 eth0)
	h4=$(link_local h4 eth0)
	ns_ip sw route add 10.7.0.1/32 via inet6 "$h4" dev s4
	start_late
	resolve_all
	followed
	tap_check "IPv6 next hop: resolved before traffic comes" wait_for 10 knows 6
	route_traffic "$leader"
	traffic_is "IPv6 next hop: to h4" "$MERGED and .places == [0, 16]"
	ns_ip sw route replace 10.7.0.1/32 nexthop via inet6 "$h3" dev s3 nexthop via 10.0.4.2
	followed
	tap_check "another one while it runs: resolved" wait_for 10 knows 7
	kernel=$(show '.counters["to-kernel"]')
	route_traffic "$leader"
	traffic_is "one by IPv6, one by IPv4: both" "$MERGED and (.places | min) > 0"
	tap_is "without the kernel's help" "$(show '.counters["to-kernel"]')" "$kernel"
	ns_ip h3 link set eth0 address 02:00:00:00:88:88
	ns_ip sw neigh del "$h3" dev s3
	ns_ip sw neigh replace "$h3" lladdr 02:00:00:00:88:88 nud permanent dev s3
	followed
	route_traffic "$leader"
	traffic_is "its neighbour has a new address: it is followed" "$MERGED and (.places | min) > 0"
	ns_ip sw route del 10.7.0.1/32
	if ns_ip sw nexthop add id 17 via "$h4" dev s4 2>/dev/null; then
		ns_ip sw nexthop add id 19 group 17
		ns_ip sw route add 10.7.0.1/32 nhid 19
		followed
		route_traffic "$leader"
		traffic_is "next hop group with an IPv6 one" "$MERGED and .places == [0, 16]"
		ns_ip sw route del 10.7.0.1/32
	else
		tap_skip "next hop group with an IPv6 one" "this kernel has none"
	fi
	stop
}

# The daemon reports what the switch does not do as the kernel does.
# A group has more next hops than a route may have, but most of them use a device that is no port.
test_group()
{
	local i ids=()

	ns_ip h4 addr replace 10.7.0.1/32 dev lo
	# routes name the group, but not its content
	ns_exec sw sysctl -qw net.ipv4.nexthop_compat_mode=0 2>/dev/null
	start --ports s1,s2,s3,s4 --timeout 1s --root-waits 0
	for i in 1 2 3 4; do
		wait_for 5 ns_exec sw ping -q -c 1 -W 5 10.0.$i.2
	done
	if ! ns_ip sw nexthop add id 400 via 10.0.4.2 dev s4 2>/dev/null; then
		tap_skip "a group of many next hops" "this kernel has none"
		stop
		return
	fi
	for i in $(seq 101 117); do
		ns_ip sw nexthop add id "$i" via "10.0.5.$i" dev s5
		ids+=("$i")
	done
	ns_ip sw nexthop add id 500 group "$(IFS=/ && echo "${ids[*]}")/400"
	ns_ip sw route add 10.7.0.1/32 nhid 500
	followed
	tap_is "17 next hops by others, one by a port: none is too many" "$(show .next_hops_cut)" 0
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 300 /usr/bin/python3 "$TRAFFIC" $(members h1 h2) \
		"$(ns_name h4):10.7.0.1:22600")
	traffic_is "... and that one is used" "$MERGED"
	for i in $(seq 201 217); do
		ns_ip sw nexthop add id "$i" via 10.0.3.$((i - 100)) dev s3
		ids+=("$i")
	done
	ns_ip sw nexthop replace id 500 group "$(IFS=/ && echo "${ids[*]}")/400"
	followed
	tap_is "18 by ports: two are too many" "$(show .next_hops_cut)" 2
	tap_check "... which is said" grep -q "2 next hops are not used: of a route only the first 16" "$ERR"
	stop
	ns_ip sw nexthop flush >/dev/null 2>&1
	ns_exec sw sysctl -qw net.ipv4.nexthop_compat_mode=1
}

test_unlike()
{
	local hops=() i

	start_late
	for ((i = 2; i < 20; i++)); do
		hops+=(nexthop via "10.0.3.$((100 + i))" dev s3)
	done
	ns_ip sw route add 10.8.0.0/24 "${hops[@]}"
	followed
	tap_is "18 next hops: two are not used, show says so" "$(show .next_hops_cut)" 2
	tap_check "and the log" grep -q "2 next hops are not used: of a route only the first 16" "$ERR"
	ns_ip sw route replace 10.8.0.0/24 nexthop via 10.0.3.2 weight 3 nexthop via 10.0.4.2
	followed
	tap_is "weights: show says that they do not count" \
		"$(show '[.next_hops_cut, .routes_weighted] | join(" ")')" "0 1"
	tap_check "and the log" grep -q "1 routes have next hops of different weights" "$ERR"
	ns_ip sw route del 10.8.0.0/24
	stop
}

# replace_s3: another device takes the place of s3, with the same name and number
replace_s3()
{
	local index

	index=$(ns_ip sw -j link show dev s3 | jq '.[0].ifindex')
	ns_ip sw link del s3
	ns_ip sw link add s3 index "$index" type veth peer name eth0 netns "$(ns_name h3)"
	ns_ip sw addr add 10.0.3.1/24 dev s3
	ns_ip h3 addr add 10.0.3.2/24 dev eth0
	ns_ip sw link set s3 up
	ns_ip h3 link set eth0 up
	ns_ip h3 route add default via 10.0.3.1
	ns_exec h3 ethtool -K eth0 gro on
}

# Routes and a port change while the daemon cannot listen.
test_overrun()
{
	local i

	start_late
	kill -STOP "$SW"
	for ((i = 0; i < 12000; i++)); do
		echo "route add 10.$((100 + i / 250)).$((i % 250)).0/24 via 10.0.2.2"
	done >"$TAP_TMP/batch"
	ns_ip sw -batch "$TAP_TMP/batch"
	replace_s3
	kill -CONT "$SW"
	tap_check "lost notifications are noticed" wait_for 5 grep -q "notifications were lost" "$ERR"
	tap_check "and counted" wait_for 5 shows '.losses > 0 and .resyncs > 0'
	tap_check "another device in place of a port is taken" wait_for 5 grep -q "port s3 is back" "$ERR"
	tap_check "12000 routes are known then" wait_for 5 shows '.routes > 12000'
	sed -i s/add/del/ "$TAP_TMP/batch"
	ns_ip sw -batch "$TAP_TMP/batch"
	tap_check "and forgotten again" wait_for 5 shows '.routes < 100'
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "it works as before" "$MERGED"
	stop
}

test_neighbours()
{
	local kernel sent

	ns_ip sw neigh flush all
	start_late
	tap_check "next hops are resolved before traffic comes" \
		wait_for 3 sh -c "ip -n '$NAME' neigh show dev s5 | grep -q lladdr"
	traffic h1 h2 h3 h4 -- --lossy
	traffic_is "hosts not resolved yet: the first result may be late, no contribution is lost" \
		'.exact and .arrived == 1 and .results[0] > 0'
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "hosts resolved" "$MERGED"
	kernel=$(show '.counters["to-kernel"]')
	ns_ip h4 link set eth0 address 02:00:00:00:77:77
	wait_for 5 ns_exec h4 ping -q -c 1 -W 5 10.0.4.1
	followed
	traffic h1 h2 h3 h4
	traffic_is "a host has a new address" "$MERGED"
	tap_is "without the kernel's help" "$(show '.counters["to-kernel"]')" "$kernel"
	ns_ip sw neigh replace 10.0.4.2 lladdr 02:00:00:00:66:66 nud permanent dev s4
	followed
	sent=$(show '.counters["sent-complete"]')
	traffic h1 h2 h3 h4 -- --patience 0.2 --one-way
	traffic_is "a permanent entry counts, right or wrong" '.arrived == 0'
	tap_check "though all was sent" wait_for 5 shows ".counters[\"sent-complete\"] == $sent + 16"
	ns_ip sw neigh del 10.0.4.2 dev s4
	followed
	traffic h1 h2 h3 h4
	traffic_is "a deleted one is asked for again" "$MERGED"
	stop
}

test_ports_change()
{
	start_late
	resolve_all
	ns_ip sw link del s3
	tap_check "port deleted: said" wait_for 3 grep -q "port s3 is gone" "$ERR"
	traffic h1 h2 h4
	traffic_is "port deleted: the others go on" "$MERGED"
	make_s3_again
	traffic h1 h2 h3 h4
	traffic_is "port made again: it is part of the switch" "$MERGED"
	ns_ip sw link set s4 address 02:00:00:00:55:55
	ns_ip h4 neigh flush all
	wait_for 5 ns_exec h4 ping -q -c 1 -W 5 10.0.4.1
	resolve_all
	tap_is "port's new address: known" "$(show '.ports[3].mac')" 02:00:00:00:55:55
	traffic h1 h2 h3 h4
	traffic_is "port's new address: used" "$MERGED"
	stop
}

test_routes
test_via
test_unlike
test_group
test_overrun
test_neighbours
test_ports_change
tap_done
