#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Devices that are no ports, ports that others take, VLANs. For the guest, as its kernel has such
# devices.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_devices

# refused WHAT MESSAGE PORT
refused()
{
	local out rc=0

	ns_ip sw link set "$3" up
	out=$(timeout 10 nsenter --net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" \
		--ports "$3" 2>&1) || rc=$?
	if [ $rc -eq 1 ] && grep -qF -- "$2" <<<"$out"; then
		tap_ok "refused: $1"
	else
		tap_not_ok "refused: $1" "exit status $rc, expected '$2' in: $out"
	fi
}

test_kinds()
{
	ns_ip sw link add bond0 type bond
	refused "a bond" "bond0 is a bond, which is no port: take it apart" bond0
	ns_ip sw link add link bond0 name bond0.7 type vlan id 7
	refused "a VLAN of a bond" "bond0.7 is a VLAN of a bond" bond0.7
	ns_ip sw link add br0 type bridge
	refused "a bridge" "br0 is a bridge, which is no port: take devices out of it" br0
	ns_ip sw link add link s1 name mac0 type macvlan
	refused "a macvlan" "mac0 is a part of another device" mac0
	ns_ip sw link set s3 master br0
	refused "a port of a bridge" "s3 belongs to br0 (bridge), which takes its packets" s3
	ns_ip sw link set s3 nomaster
	ns_ip sw link add vrf0 type vrf table 100
	refused "a VRF" "vrf0 is a VRF, which is no port" vrf0
	ns_ip sw link set s3 master vrf0
	refused "what belongs to a VRF" "s3 belongs to vrf0 (vrf), which has routes of its own" s3
	ns_ip sw link set s3 nomaster
	ns_ip sw link del vrf0
	ns_ip sw link del mac0
}

# received_bytes: prints the bytes that arrived at s2
received_bytes()
{
	ns_ip sw -s -j link show s2 | jq '.[0].stats64.rx.bytes'
}

# What h2 sends in its VLAN 20, which does not exist here, is not part of its own network.
test_vlan()
{
	local mac before

	mac=$(ns_ip sw -j link show s2 | jq -r '.[0].address')
	ns_ip h2 link add link eth0 name v20 type vlan id 20
	ns_ip h2 addr del 10.0.2.2/24 dev eth0
	ns_ip h2 addr add 10.0.2.2/24 dev v20
	ns_ip h2 link set v20 up
	ns_ip h2 neigh add 10.0.2.1 lladdr "$mac" dev v20
	ns_ip h2 route replace default via 10.0.2.1 dev v20
	start_late --admit any:any
	before=$(received_bytes)
	traffic h2 h4 -- --one-way --patience 0.5
	# 16 contributions of 32 elements, with IP and UDP headers; the device may count more for a
	# frame
	tap_check "what is sent in a VLAN comes" \
		test $(($(received_bytes) - before)) -ge $((16 * (64 + 32 * 4 + 28)))
	tap_is "what comes in a VLAN is not the port's" \
		"$(show '.counters["rx-contribution"]')" 0
	stop
	ns_ip h2 link del v20
	ns_ip h2 addr add 10.0.2.2/24 dev eth0
	ns_ip h2 route replace default via 10.0.2.1
}

# A VLAN can be a port, whether the device below it is a port or not.
test_vlan_port()
{
	ns_ip sw link add link s2 name s2.20 type vlan id 20
	ns_ip sw addr add 10.7.20.1/24 dev s2.20
	ns_ip sw link set s2.20 up
	ns_ip h2 link add link eth0 name v20 type vlan id 20
	ns_ip h2 addr add 10.7.20.2/24 dev v20
	ns_ip h2 link set v20 up
	ns_ip h2 route add 10.0.0.0/8 via 10.7.20.1
	ns_ip h2 route del default
	start --ports s1,s2,s2.20,s3,s4 --timeout 300ms --root-waits 0 --admit any:any%s2.20
	TRAFFIC_JSON=$(timeout 60 /usr/bin/python3 "$TRAFFIC" "$(ns_name h2):10.7.20.2:22600" \
		"$(ns_name h4):10.0.4.2:22600" --one-way)
	traffic_is "a VLAN of its own as a port" ".arrived == 1"
	tap_is "... is told apart from the device below it" \
		"$(show '[.counters["rx-contribution"], .counters["bypass-admission"]] | @csv')" 16,0
	stop
	ns_ip h2 link del v20
	ns_ip h2 route replace default via 10.0.2.1
	ns_ip sw link del s2.20
}

# forged COUNT DEVICE [LINK]: h1 sends forged aggregates to h4, addressed to the MAC address of sw's
# DEVICE; they leave by LINK (eth0)
forged()
{
	local mac link=${3:-eth0}

	mac=$(ns_ip sw -j link show "$2" | jq -r '.[0].address')
	ns_ip h1 route replace 10.0.4.2/32 via 10.0.1.1 dev "$link" onlink
	ns_ip h1 neigh replace 10.0.1.1 lladdr "$mac" dev "$link"
	ns_exec h1 /usr/bin/python3 - "$1" <<-END
	import socket, struct, sys
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.SOL_SOCKET, 11, 1)
	s.bind(("10.0.1.2", 22600))
	h = struct.Struct(">BBBBIIIIHHBBHBBHQIIIHHQ").pack(1, 1, 0, 0, 1, 1, 1, 1, 9, int(sys.argv[1]), 1, 1,
		0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
	s.sendto(h, ("10.0.4.2", 22600))
	END
	ns_ip h1 neigh del 10.0.1.1 dev "$link"
	ns_ip h1 route del 10.0.4.2/32
}

# received: prints how many datagrams the stack of h4 has received, for which no socket need exist
received()
{
	# shellcheck disable=SC2016
	ns_exec h4 awk '/^Udp:/ && $2 ~ /^[0-9]/ { print $2 + $3 }' /proc/net/snmp
}

# dropped_forged WHAT DEVICE [LINK]: with rules, such forged packets do not get to h4
dropped_forged()
{
	local before form

	before=$(received)
	form=$(show .drops.form)
	forged 2 "$2" "${3:-eth0}"
	wait_for 3 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .drops.form) -gt $form ]"
	tap_is "$1" "$(($(show .drops.form) - form)) $(($(received) - before))" "1 0"
}

# Devices on top of a port that are no ports: rules apply to what they would take.
test_beside()
{
	ns_exec sw sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	ns_ip sw link add link s1 name s1.20 type vlan id 20
	ns_ip sw link add link s1.20 name s1.20.6 type vlan id 6
	ns_ip sw link add link s1 name mac0 type macvlan mode bridge
	ns_ip h1 link add link eth0 name v20 type vlan id 20
	ns_ip h1 link add link v20 name v20.6 type vlan id 6
	ns_ip sw link set s1.20 up
	ns_ip sw link set s1.20.6 up
	ns_ip sw link set mac0 up
	ns_ip h1 link set v20 up
	ns_ip h1 link set v20.6 up
	start_late --admit any:10.0.1.2%s1
	ns_exec sw ping -q -c 1 -W 5 10.0.4.2 >/dev/null
	dropped_forged "with rules, aggregates in a VLAN that is no port are dropped" s1.20 v20
	dropped_forged "... in a VLAN of that VLAN, too" s1.20.6 v20.6
	dropped_forged "... and what is for a macvlan" mac0
	stop
	ns_ip sw link del mac0
	ns_ip sw link del s1.20
	ns_ip h1 link del v20
}

# A port is given to a bridge while the switch runs: rules still apply to what it receives.
test_taken()
{
	local before

	start_late --admit any:10.0.1.2%s1
	ns_ip sw link set br0 address 02:00:00:00:00:99
	ns_ip sw link set br0 up
	ns_ip sw link set s1 master br0
	ns_ip sw addr add 10.0.1.1/24 dev br0
	tap_check "a port that is given to a bridge: said" wait_for 3 \
		grep -q "s1 was given to br0 (bridge)" "$ERR"
	tap_is "show -j: that, too" "$(show '.ports[0].captive')" true
	sleep 0.2
	before=$(received)
	forged 2 br0
	wait_for 3 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .drops.form) = 1 ]"
	tap_is "... aggregates by that way are dropped" \
		"$(show '.drops.form') $(($(received) - before))" "1 0"
	ns_ip sw link set s1 nomaster
	ns_ip sw addr del 10.0.1.1/24 dev br0
	tap_check "... until it is a port again: said" wait_for 3 \
		grep -q "s1 has no master any more" "$ERR"
	ns_exec h1 ping -q -c 1 -W 1 10.0.1.1 >/dev/null
	traffic h1 h4 -- --one-way
	traffic_is "... and works" ".arrived == 1 and .exact"
	stop
}

# A port comes back, and belongs to a bridge already: it is no port, and rules apply there, too.
test_back_taken()
{
	start_late --admit any:10.0.1.2%s1
	ns_ip sw link del s1
	wait_for 5 grep -q "port s1 is gone" "$ERR"
	ns_link h1 eth0 10.0.1.2/24 sw new -
	ns_exec h1 ethtool -K eth0 gro on
	ns_ip h1 route add default via 10.0.1.1
	ns_ip sw link set new master br0
	ns_ip sw link set new down
	ns_ip sw link set new name s1
	ns_ip sw link set s1 up
	ns_ip sw addr add 10.0.1.1/24 dev br0
	tap_check "a port that comes back as a bridge's: said" wait_for 10 \
		grep -q "s1 was given to br0 (bridge)" "$ERR"
	tap_refuse "... it is not said to be back" grep -q "port s1 is back" "$ERR"
	tap_is "show -j: that, too" "$(show '.ports[0].captive')" true
	ns_exec sw ping -q -c 1 -W 5 10.0.4.2 >/dev/null
	dropped_forged "... aggregates by that way are dropped" br0
	ns_ip sw addr del 10.0.1.1/24 dev br0
	ns_ip sw link set s1 nomaster
	ns_ip sw addr add 10.0.1.1/24 dev s1
	tap_check "... until it is a port again: said" wait_for 10 \
		grep -q "s1 has no master any more" "$ERR"
	stop
}

modprobe -q -a bonding 8021q bridge macvlan vrf || tap_skip_all "needs the guest's devices"
test_kinds
test_vlan
test_vlan_port
test_beside
test_taken
test_back_taken
tap_done
