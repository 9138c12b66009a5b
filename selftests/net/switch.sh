#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The life of the switch daemon between namespaces: what it refuses, attaching and detaching, being
# killed, doing nothing, drivers that lack features.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch

# refused WHAT MESSAGE ARGUMENTS...: the daemon ends by itself with that message
refused()
{
	local what=$1 message=$2 out rc=0

	shift 2
	out=$(timeout 60 nsenter --net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" "$@" 2>&1) ||
		rc=$?
	if { [ $rc -eq 1 ] || [ $rc -eq 2 ]; } && grep -qF -- "$message" <<<"$out"; then
		tap_ok "refused: $what"
	else
		tap_not_ok "refused: $what" "exit status $rc, expected '$message' in: $out"
	fi
}

test_options()
{
	refused "no ports" "which devices"
	refused "empty port" "empty port name" --ports s1,,s2
	refused "port named twice" "named twice" --ports s1,s1
	refused "unknown port mode" "neither fast nor shaped" --ports s1:slow
	refused "unknown mode" "neither fast nor shaped" --ports s1 --mode slow
	refused "device name too long" "longer than" --ports s1234567890123456
	refused "slots no power of two" "power of two from 16 to 1048576" --ports s1 --slots 100
	refused "too few slots" "from 16 to 1048576" --ports s1 --slots 8
	refused "too many slots" "from 16 to 1048576" --ports s1 --slots 2097152
	refused "slots no number" "from 16 to 1048576" --ports s1 --slots many
	refused "negative slots" "from 16 to 1048576" --ports s1 --slots -16
	refused "timeout without unit" "no duration" --ports s1 --timeout 1
	refused "timeout: neither auto nor a time" "no duration" --ports s1 --timeout automatic
	refused "timeout too short" "10us to 1s" --ports s1 --timeout 1us
	refused "timeout too long" "10us to 1s" --ports s1 --timeout 2s
	refused "timeout: least is most" "not less than" --ports s1 --timeout 2ms..2ms
	refused "timeout: upper bound too long" "10us to 1s" --ports s1 --timeout 1ms..2s
	refused "timeout: no lower bound" "no duration" --ports s1 --timeout ..2ms
	refused "trees that are not chosen" "--trees: only with --choice static, the choice is both" --ports s1 --trees 2
	refused "too many trees" "--trees: '257' is not a number from 1 to 256" --ports s1 --choice static --trees 257
	refused "restoration maybe" "neither on nor off" --ports s1 --restore maybe
	refused "lifetime too short" "10ms to 3600s" --ports s1 --lifetime 1ms
	refused "lifetime below timeouts" "(2 + root waits) timeouts" --ports s1 --timeout 1s --lifetime 1500ms
	refused "too many children" "from 1 to 32" --ports s1 --children 33
	refused "too many root waits" "from 0 to 100" --ports s1 --root-waits 101
	refused "no children" "from 1 to 32" --ports s1 --children 0
	refused "unknown fan-in" "neither learn, off nor LEADER" --ports s1 --fan-in some
	refused "fan-in of nobody" "from 1 to 65534" --ports s1 --fan-in 10.0.1.2=0
	refused "fan-in of too many" "from 1 to 65534" --ports s1 --fan-in 10.0.1.2=65535
	refused "fan-in to no address" "not an IPv4 address" --ports s1 --fan-in h1=2
	refused "fan-in to no prefix" "from 0 to 32" --ports s1 --fan-in 10.0.1.0/33=2
	refused "admission without a source" "neither everybody, nobody nor COMM" --ports s1 --admit 7
	refused "admission: empty rule" "neither everybody, nobody nor COMM" --ports s1 --admit 7:any,
	refused "admission of no communicator" "neither any, nor a communicator" --ports s1 --admit x:10.0.1.0/24
	refused "admission of a range that ends before it begins" "neither any, nor a communicator" \
		--ports s1 --admit 8-7:10.0.1.0/24
	refused "admission beyond all communicators" "(0 to 4294967295)" --ports s1 --admit 7-4294967296:any
	refused "admission of no address" "neither any nor an IPv4 address" --ports s1 --admit 7:10.0.1/24
	refused "admission of no prefix" "length of a prefix from 0 to 32" --ports s1 --admit 7:10.0.1.0/33
	refused "admission of an address as a prefix" "has bits behind the 24" --ports s1 --admit 7:10.0.1.2/24
	refused "admission at nobody's port" "s9 is no port of this switch" --ports s1 --admit 7:10.0.1.2%s9
	refused "admission at a port without name" "no name of a port" --ports s1 --admit 7:10.0.1.2%
	refused "too many admissions" "more than 256 rules" --ports s1 \
		--admit "$(seq -s, -f "%.0f:any" 257)"
	refused "unknown clock" "neither sleep nor poll" --ports s1 --clock fast
	refused "no address" "not an IPv4 address" --ports s1 --address here
	refused "multicast address" "unicast" --ports s1 --address 224.0.0.1
	refused "name with a slash" "letters, digits" --ports s1 --name ../x
	refused "unexpected argument" "unexpected argument 'x'" --ports s1 x
}

unprivileged()
{
	! ns_exec sw setpriv --reuid 65534 --clear-groups "$CANARY" switch run --name x \
		--ports s1 >"$OUT" 2>&1 && grep -q "missing privilege CAP_NET_ADMIN" "$OUT"
}

test_environment()
{
	refused "no such device" "port nowhere: there is no such device" --ports s1,nowhere
	refused "loopback" "not an Ethernet device" --ports lo
	ns_ip sw link set s3 down
	refused "port that is down" "port s3 is down" --ports s1,s3
	ns_ip sw link set s3 up
	refused "address of nobody" "10.9.9.9 is not on any device" --ports s1 --address 10.9.9.9
	ns_ip sw addr del $ADDRESS/32 dev lo
	refused "no address on lo" "lo has no global /32 address" --ports s1
	ns_ip sw addr add $ADDRESS/32 dev lo
	tap_is "refusals leave nothing behind" "$(attached)" "0 0 0"
	tap_check "refused without privileges" unprivileged
}

test_life()
{
	start --ports s1,s2:shaped --slots 64 --timeout 1ms
	tap_is "attached to its ports" "$(attached)" "2 2 2"
	tap_is "show -j: what it was told" \
		"$(show '[.name, .address, .mode, .timeout_us, .slots, .slots_used, .ports[1].mode] | @csv')" \
		"\"$NAME\",\"$ADDRESS\",\"fast\",1000,64,0,\"shaped\""
	tap_is "show -j: native XDP" "$(show '[.ports[].xdp] | unique | join(" ")')" native
	tap_is "show -j: counters and drops" \
		"$(show '(.counters | has("rx-contribution")) and (.drops | has("ttl"))')" true
	tap_check "show: a table" sh -c "'$CANARY' switch show --name '$NAME' | grep -q '^  s2  *up  *shaped  *native'"
	tap_check "show: all switches" sh -c "'$CANARY' switch show -j --all | jq -r .name | grep -qx '$NAME'"
	tap_refuse "show: no such switch" "$CANARY" switch show --name "$NAME-x"
	refused "second switch of that name" "running already" --ports s3
	refused "second switch on a port" "port s2 belongs to another canary switch" \
		--name "$NAME-2" --ports s2,s3
	tap_is "the first one did not suffer" "$(attached)" "2 2 2"
	stop
	tap_is "SIGTERM: exit status" $? 0
	tap_is "SIGTERM: nothing left" "$(attached)" "0 0 0"
	tap_check "SIGTERM: socket removed" test ! -e "/run/canary/switch-$NAME.sock"
	tap_is "standard output: one line" "$(wc -l <"$OUT")" 1
}

test_foreign_qdisc()
{
	ns_exec sw tc qdisc add dev s1 clsact
	start --ports s1,s2
	ns_exec sw tc filter add dev s2 egress bpf bytecode '1,6 0 0 0'
	stop
	tap_is "a qdisc of others stays, and ours if others use it" "$(attached)" "0 1 2"
	ns_exec sw tc qdisc del dev s1 clsact
	ns_exec sw tc qdisc del dev s2 clsact
	ns_exec sw ip link set s1 xdpgeneric obj "$TAP_TOP/build/bpf/canary_switch.bpf.o" sec xdp 2>/dev/null
	if [ "$(attached)" = "1 0 0" ]; then
		refused "port with an XDP program" "port s1" --ports s1
		ns_ip sw link set s1 xdpgeneric off
	else
		tap_skip "refused: port with an XDP program" "ip cannot load programs"
	fi
}

test_kill()
{
	start_late
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "before SIGKILL" "$MERGED"
	kill -KILL "$SW"
	wait "$SW" 2>/dev/null
	tap_is "SIGKILL: no XDP left" "$(attached | cut -d' ' -f1)" 0
	traffic h1 h2 h3 h4
	traffic_is "SIGKILL: an ordinary router" "$FORWARDED"
	tap_check "SIGKILL: others' packets pass" ns_exec h1 ping -q -c 2 -i 0.1 -W 1 10.0.4.2
	tap_refuse "SIGKILL: nothing to show" "$CANARY" switch show --name "$NAME"
	start_late --mode shaped
	tap_is "restart: leftovers replaced" \
		"$(grep -c "replacing the tc filter that a killed switch left" "$ERR")" 5
	tap_is "restart: one filter a port" "$(attached)" "5 5 5"
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "restart: works" "$MERGED"
	stop
	tap_is "restart, SIGTERM: nothing left" "$(attached)" "0 0 0"
	traffic h1 h2 h3 h4
	traffic_is "no switch: an ordinary router" "$FORWARDED"
}

# voluntary: prints how often the daemon's threads went to sleep
voluntary()
{
	cat /proc/"$SW"/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'
}

# deaf: prints ports whose other ends drop redirected frames, according to the daemon
deaf()
{
	grep -o "port s[0-9] is fast, but" "$ERR" | sort | tr '\n' ';'
}

is_deaf()
{
	[ -n "$(deaf)" ]
}

# What shows only after some seconds: warnings about other ends, the use of the processor
test_idle()
{
	local before begun

	ns_exec h1 ethtool -K eth0 gro off
	ns_exec sw sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.s2.rp_filter=1
	start --ports $PORTS --children 2
	tap_check "warns: no forwarding" grep -q "ip_forward is 0" "$ERR"
	tap_check "warns: strict rp_filter" grep -q "s2: rp_filter is 1" "$ERR"
	sleep 1
	before=$(voluntary)
	begun=${EPOCHREALTIME/[.,]/}
	sleep 5.5
	# Twenty in 5.5 s: its clock reports twice a second that it works, and looks at
	# groups every second.
	tap_check "idle: sleeps" test "$before" -gt 0 -a \
		$((($(voluntary) - before) * 5500000)) -le $(((${EPOCHREALTIME/[.,]/} - begun) * 20))
	traffic h2 h3 h4 g1 -- --one-way --patience 5
	tap_check "show: more sources than --children" sh -c "'$CANARY' switch show --name '$NAME' |
		grep -q 'too many sources: 16 contributions met a block with 2 children'"
	wait_for 6 is_deaf
	tap_is "warns: peer without GRO drops redirected frames" "$(deaf)" "port s1 is fast, but;"
	tap_is "show -j: that, too" "$(show '[.ports[].peer] | join(" ")')" "deaf ok ok ok ok"
	# what the driver says about itself, if the kernel tells
	tap_check "show -j: who takes redirected frames" grep -qxE "(false true|null null)" \
		<<<"$(show '[.ports[0, 1].redirects] | join(" ")')"
	ns_exec h1 ethtool -K eth0 gro on
	tap_check "show -j: no more once it is mended" \
		wait_for 6 shows '[.ports[].peer] | join(" ") == "ok ok ok ok ok"'
	wait_for 6 grep -q "contributions were not merged" "$ERR"
	tap_is "warns of that, once" "$(grep -c "16 contributions were not merged" "$ERR")" 1
	stop
	start --ports $PORTS --sysctl
	tap_is "--sysctl sets them" \
		"$(ns_exec sw sysctl -n net.ipv4.ip_forward net.ipv4.conf.s2.rp_filter | tr '\n' ' ')" "1 2 "
	stop
}

# The driver takes XDP for such packets only in several pieces.
test_long()
{
	ns_ip sw link set s4 mtu 9000
	ns_ip h4 link set eth0 mtu 9000
	start_late
	tap_is "MTU 9000: native XDP" "$(show '.ports[3].xdp')" native
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "... small packets are merged" "$MERGED"
	tap_check "... large ones of others pass" \
		ns_exec h4 ping -q -c 2 -i 0.1 -W 1 -M "do" -s 8000 10.0.4.1
	refused "... and it is known as a port of a switch" "port s4 belongs to another canary switch" \
		--name "$NAME-2" --ports s4
	stop
	ns_ip sw link set s4 mtu 1500
	ns_ip h4 link set eth0 mtu 1500
	start_late
	ns_ip sw link del s4
	wait_for 5 grep -q "port s4 is gone" "$ERR"
	ns_link h4 eth0 10.0.4.2/24 sw new 10.0.4.1/24
	ns_exec h4 ethtool -K eth0 gro on
	ns_ip h4 link set eth0 mtu 9000
	ns_ip h4 route add default via 10.0.4.1
	ns_ip sw link set new down
	ns_ip sw link set new mtu 9000 name s4
	ns_ip sw link set s4 up
	tap_check "a port comes back with MTU 9000" wait_for 10 grep -q "port s4 is back" "$ERR"
	tap_is "... native XDP" "$(show '.ports[3].xdp')" native
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "... small packets are merged" "$MERGED"
	tap_check "... large ones of others pass" \
		ns_exec h4 ping -q -c 2 -i 0.1 -W 1 -M "do" -s 8000 10.0.4.1
	stop
	ns_ip sw link set s4 mtu 1500
	ns_ip h4 link set eth0 mtu 1500
}

# The driver refuses XDP, here because its other end has more transmit queues. All works, but
# slowly.
test_generic()
{
	if ! ns_exec h4 ethtool -L eth0 tx 2 2>/dev/null; then
		tap_skip "no native XDP" "one processor: no queues to choose from"
		return
	fi
	start_late
	tap_is "no native XDP: generic" "$(show '.ports[3].xdp')" generic
	tap_check "no native XDP: said" grep -q "s4: its driver refuses XDP at MTU 1500" "$ERR"
	traffic h1 h2 h3 h4
	traffic_is "no native XDP: generic, shaped" "$MERGED"
	ns_ip sw link set s4 mtu 1400
	tap_check "another MTU does not change that: said" wait_for 5 \
		grep -q "s4 has MTU 1400 now, and stays in generic, slow mode" "$ERR"
	ns_ip sw link set s4 mtu 1500
	stop
	ns_exec h4 ethtool -L eth0 tx 1
}

test_options
test_environment
test_life
test_foreign_qdisc
test_kill
test_idle
test_long
test_generic
tap_done
