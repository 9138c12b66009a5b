#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch daemon between namespaces: attaching and detaching, what it follows, what it
# refuses, and that contributions are added up and results copied on the way.
#
#	h1 .. h4 (10.0.N.2) --- sw (10.0.N.1, lo 10.9.0.1)
#	g1 .. g4 (10.1.N.2) --- r (a plain router) --- 10.0.5.0/24 --- sw

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
TRAFFIC=$TAP_TOP/selftests/net/switch_traffic.py
ADDRESS=10.9.0.1
PORTS=s1,s2,s3,s4,s5

tap_start net/switch
need_root
need_program ip tc jq bpftool ethtool setpriv /usr/bin/python3 "$CANARY"
tmp_dir
OUT=$TAP_TMP/out
ERR=$TAP_TMP/err
NAME=$(ns_name sw)

topology()
{
	local i

	ns_add sw r h1 h2 h3 h4 g1 g2 g3 g4
	ns_ip sw addr add $ADDRESS/32 dev lo
	for i in 1 2 3 4; do
		ns_link h$i eth0 10.0.$i.2/24 sw s$i 10.0.$i.1/24
		ns_ip h$i route add default via 10.0.$i.1
		ns_link g$i eth0 10.1.$i.2/24 r r$i 10.1.$i.1/24
		ns_ip g$i route add default via 10.1.$i.1
		# what XDP redirects into a veth needs a receiver
		ns_exec h$i ethtool -K eth0 gro on
	done
	ns_link r sw0 10.0.5.2/24 sw s5 10.0.5.1/24
	ns_exec r ethtool -K sw0 gro on
	ns_ip r route add default via 10.0.5.1
	ns_ip sw route add 10.1.0.0/16 via 10.0.5.2
	ns_exec r sysctl -qw net.ipv4.ip_forward=1
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
}

# start ARGUMENTS...: a switch; it is ready when this returns. Its pid is SW.
start()
{
	bg ns_exec sw "$CANARY" switch run --name "$NAME" "$@" >"$OUT" 2>"$ERR"
	SW=$!
	wait_for 10 grep -q "^canary switch $NAME ready: " "$OUT" && return
	tap_not_ok "the switch starts" "$(cat "$ERR")"
	tap_done
}

# start_late: as long as blocks may take, so that only complete ones leave in these tests
start_late()
{
	start --ports $PORTS --timeout 300ms --root-patience 0 "$@"
}

stop()
{
	bg_stop "$SW"
}

# show FILTER: of the running switch
show()
{
	"$CANARY" switch show -j --name "$NAME" | jq -r "$1"
}

# resolve_all: neighbours, for tests that count every packet; the daemon may take a moment
resolve_all()
{
	local i

	for i in 1 2 3 4; do
		ns_exec sw ping -q -c 1 -W 1 10.0.$i.2
	done >/dev/null
	ns_exec sw ping -q -c 1 -W 1 10.0.5.2 >/dev/null
	wait_for 2 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .neighbours) -ge 5 ]"
}

# members NAMESPACE[:PORT]...: as the traffic generator wants them
members()
{
	local spec ns port addr

	for spec in "$@"; do
		ns=${spec%%:*}
		port=22600
		[ "$ns" = "$spec" ] || port=${spec#*:}
		case $ns in
		h*) addr=10.0.${ns#h}.2 ;;
		g*) addr=10.1.${ns#g}.2 ;;
		esac
		echo "$(ns_name "$ns"):$addr:$port"
	done
}

# traffic MEMBER... [-- OPTION...]: result in TRAFFIC_JSON
traffic()
{
	local list=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		list+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 60 /usr/bin/python3 "$TRAFFIC" $(members "${list[@]}") "$@")
}

# traffic_is DESCRIPTION FILTER: what jq says of the last traffic
traffic_is()
{
	if jq -e "$2" <<<"$TRAFFIC_JSON" >/dev/null 2>&1; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "not $2: $TRAFFIC_JSON
$("$CANARY" switch show --name "$NAME" 2>&1)"
	fi
}

ALL_RIGHT='.exact and .results[0] == .results[1]'
MERGED="$ALL_RIGHT and .results[1] > 0 and .arrived == 1 and .sources == [\"$ADDRESS:22600\"]"
FORWARDED="$ALL_RIGHT and .results[1] > 0 and .arrived == 3 and (.sources | length) == 3"

# refused WHAT MESSAGE ARGUMENTS...: ends by itself, with that message
refused()
{
	local what=$1 message=$2 out rc=0

	shift 2
	out=$(timeout 10 nsenter --net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" "$@" 2>&1) ||
		rc=$?
	if { [ $rc -eq 1 ] || [ $rc -eq 2 ]; } && grep -qF -- "$message" <<<"$out"; then
		tap_ok "refused: $what"
	else
		tap_not_ok "refused: $what" "exit status $rc, expected '$message' in: $out"
	fi
}

# attached: how many of the switch's ports have XDP programs, tc filters, clsact qdiscs
attached()
{
	echo "$(ns_exec sw ip -j -d link show | jq '[.[] | select(.xdp)] | length')" \
		"$(ns_exec sw bpftool -j net | jq '.[0].tc | length')" \
		"$(ns_exec sw tc qdisc | grep -c clsact)"
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
	refused "restoration maybe" "neither on nor off" --ports s1 --restore maybe
	refused "lifetime too short" "10ms to 3600s" --ports s1 --lifetime 1ms
	refused "lifetime below timeouts" "(2 + root patience) timeouts" --ports s1 --timeout 1s --lifetime 1500ms
	refused "too many children" "from 1 to 32" --ports s1 --children 33
	refused "too much root patience" "from 0 to 100" --ports s1 --root-patience 101
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

unprivileged()
{
	! ns_exec sw setpriv --reuid 65534 --clear-groups "$CANARY" switch run --name x \
		--ports s1 >"$OUT" 2>&1 && grep -q "missing privilege CAP_NET_ADMIN" "$OUT"
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
	tap_check "show: all switches" sh -c "'$CANARY' switch show -j | jq -r .name | grep -qx '$NAME'"
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

test_traffic()
{
	local mode

	for mode in fast shaped; do
		start_late --mode $mode
		tap_check "$mode: others' packets pass" ns_exec h1 ping -q -c 2 -i 0.1 -W 1 10.0.4.2
		resolve_all
		traffic h1 h2 h3 h4
		traffic_is "$mode: contributions merged, results copied" "$MERGED"
		traffic h1 h2 h3 h4 -- --elements 352 --blocks 32
		traffic_is "$mode: full packets" "$MERGED"
		traffic h1:22600 h1:22601 h2:22600 h2:22663 h4
		traffic_is "$mode: two ranks on one host" "$MERGED"
		traffic g1 g2 g3 g4 h4
		traffic_is "$mode: four hosts behind a router on one port" "$MERGED"
		traffic h1 h2 h3 g4
		traffic_is "$mode: leader behind the router" "$MERGED"
		traffic h1 h2 g3 g4
		traffic_is "$mode: member and leader behind the router" "$ALL_RIGHT and .arrived == 2"
		traffic h1 h2 h3 h4 -- --silent 1
		traffic_is "$mode: incomplete blocks leave at the deadline, not before" \
			"$ALL_RIGHT and .arrived == 1 and .delay >= 0.3 and .delay < 1"
		tap_is "$mode: emitted by the clock or a carrier" \
			"$(show '.counters["sent-clock"] + .counters["sent-carrier"]')" 32
		tap_is "$mode: nothing dropped, nothing held" \
			"$(show '([.drops[]] | add) + .slots_used + .queue_depth + .clock.errors')" 0
		stop
	done
}

# htb_sent: packets that went through the qdisc of s4
htb_sent()
{
	ns_exec sw tc -j -s qdisc show dev s4 | jq '.[] | select(.kind == "htb") | .packets'
}

# The leader is next to the switch
test_root_patience()
{
	start --ports $PORTS --timeout 100ms --root-patience 3
	tap_is "show -j: root patience" "$(show .root_patience)" 3
	resolve_all
	traffic h1 h2 h3 h4 -- --silent 1
	traffic_is "the root switch waits for other switches" \
		"$ALL_RIGHT and .arrived == 1 and .delay >= 0.4 and .delay < 1"
	ns_ip sw route add 10.7.0.1/32 via 10.0.4.2
	ns_ip h4 addr add 10.7.0.1/32 dev lo
	sleep 0.2
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 60 /usr/bin/python3 "$TRAFFIC" $(members h1 h2 h3) \
		"$(ns_name h4):10.7.0.1:22600" --silent 1)
	traffic_is "a switch on the way does not" \
		"$ALL_RIGHT and .arrived == 1 and .delay >= 0.1 and .delay < 0.3"
	ns_ip h4 addr del 10.7.0.1/32 dev lo
	ns_ip sw route del 10.7.0.1/32
	stop
}

# The traffic generator has 16 blocks in flight: the first ones teach
test_fan_in()
{
	start_late
	traffic h1 h2 h3 h4 -- --silent 1 --blocks 48
	traffic_is "fan-in: two of three come by" "$ALL_RIGHT and .arrived == 1"
	tap_is "fan-in: known from the first results on" \
		"$(show '.counters | [.["sent-expected"], .["sent-clock"] + .["sent-carrier"], .learned] | @csv')" \
		32,16,1
	tap_is "show -j: fan-in" "$(show '.fan_in | [.mode, .known, .told] | @csv')" '"learn",2,0'
	stop
	start --ports $PORTS --timeout 100us..500ms
	traffic h1 h2 h3 h4 -- --blocks 64
	tap_is "show -j: the timeout follows what was seen" "$(show '
		[.timeout_min_us, .timeout_max_us, .timeout_us < 500000, .memory > 126e6] | @csv')" \
		100,500000,true,true
	stop
	start_late --fan-in off,10.0.4.0/24=2
	traffic h1 h2 h3 h4 -- --silent 1
	traffic_is "fan-in told: right" "$ALL_RIGHT and .arrived == 1"
	tap_is "fan-in told: no timeout" "$(show '.counters["sent-expected"]')" 16
	traffic h1 h2 h4 h3 -- --silent 1
	tap_is "fan-in told of other leaders, off: all wait" \
		"$(show '.counters | [.["sent-expected"], .["sent-clock"] + .["sent-carrier"]] | @csv')" 16,16
	tap_is "show -j: fan-in off" "$(show '.fan_in | [.mode, .known, .told] | @csv')" '"off",0,1'
	tap_check "fan-in told while it runs" "$CANARY" switch set --name "$NAME" --fan-in off,10.0.3.0/24=2,10.0.1.1=3
	traffic h1 h2 h4 h3 -- --silent 1
	traffic h1 h2 h3 h4 -- --silent 1
	tap_is "holds, and nothing that was told before" \
		"$(show '.counters | [.["sent-expected"], .["sent-clock"] + .["sent-carrier"]] | @csv')" 32,32
	tap_is "show -j: fan-in told" "$(show '.fan_in | [.mode, .known, .told] | @csv')" '"off",0,2'
	tap_refuse "fan-in: nonsense" "$CANARY" switch set --name "$NAME" --fan-in 10.0.3.0/24
	tap_check "fan-in: learn again" "$CANARY" switch set --name "$NAME" --fan-in learn
	tap_is "show -j: fan-in learned" "$(show '.fan_in | [.mode, .told] | @csv')" '"learn",0'
	stop
}

# set_to ARGUMENTS...: the running switch
set_to()
{
	"$CANARY" switch set --name "$NAME" "$@" >"$OUT" 2>&1
}

# set_refused WHAT MESSAGE ARGUMENTS...
set_refused()
{
	local what=$1 message=$2

	shift 2
	if ! set_to "$@" && grep -qF -- "$message" "$OUT"; then
		tap_ok "refused: $what"
	else
		tap_not_ok "refused: $what" "expected '$message' in: $(cat "$OUT")"
	fi
}

# One of three contributions a block is not merged, but results come to all
ASIDE="$ALL_RIGHT and .results[1] > 0 and .arrived == 2 and (.sources | length) == 2"
HOSTS=1:10.0.1.2%s1,1:10.0.2.2%s2,1:10.0.3.2%s3,1:10.0.4.2%s4

test_admission()
{
	local before

	start_late --admit $HOSTS --admit 100-200:10.0.0.0/16
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "admission: who is admitted is merged" "$MERGED"
	tap_is "show -j: admission" "$(show '.admission | [.on, .entries, (.rules | length), .rules[4]] | @csv')" \
		'true,9,5,"100-200:10.0.0.0/16"'
	tap_check "show: admission" sh -c "'$CANARY' switch show --name '$NAME' | grep -q ' 1:10.0.2.2/32%s2\$'"
	traffic h1 h2 h3 h4 -- --comm 201
	traffic_is "admission: not for another communicator" "$FORWARDED"
	traffic h1 h2 h3 h4 -- --comm 200
	traffic_is "admission: a shorter prefix counts for longer ones, too" "$MERGED"
	tap_is "admission: counted" "$(show '.counters["bypass-admission"]')" 48
	tap_check "set --revoke" set_to --revoke 1:10.0.3.2%s3
	traffic h1 h2 h3 h4
	traffic_is "admission: one of them is not" "$ASIDE"
	tap_check "set --admit" set_to --admit 1:10.0.3.2%s2
	traffic h1 h2 h3 h4
	traffic_is "admission: not by another port" "$ASIDE"
	before=$(show .admission)
	set_refused "set: admission at nobody's port" "s9 is no port" --admit 5:any,6:any%s9
	set_refused "set: admission of no prefix" "length of a prefix" --admit 5:any,6:10.0.1.2/33
	set_refused "set: too many admissions" "more than 256 rules" --admit "$(seq -s, -f "%.0f:any" 1000 1251)"
	set_refused "set: too many ranges of one source" "18 ranges of communicators" \
		--admit "$(seq -s, -f "%.0f:10.0.3.2" 1000 2 1032)"
	set_refused "set: revoking what is not there" "there is no rule 1:10.0.3.2/32" --revoke 1:10.0.3.2
	set_refused "set: too long" "16384 characters" --admit "$(seq -s, -f "%.0f:any" 5000)"
	set_refused "set: nothing" "16384 characters" --admit ""
	tap_is "refusals leave the rules alone" "$(show .admission)" "$before"
	tap_refuse "set: only root changes rules" setpriv --reuid 65534 --clear-groups \
		"$CANARY" switch set --name "$NAME" --admit everybody
	tap_check "set: nobody" set_to --admit nobody
	tap_is "show -j: nobody" "$(show '.admission | [.on, .entries] | @csv')" true,0
	traffic h1 h2 h3 h4
	traffic_is "admission: nobody" "$FORWARDED"
	tap_check "set: all anew" set_to --admit nobody,any:any%s1,any:10.0.2.0/23,1:10.0.4.2
	traffic h1 h2 h3 h4
	traffic_is "admission: any" "$MERGED"
	ns_ip sw link del s3
	wait_for 3 grep -q "port s3 is gone" "$ERR"
	tap_is "admission: at ports that are there" "$(show .admission.entries)" 9
	ns_link h3 eth0 10.0.3.2/24 sw s3 10.0.3.1/24
	ns_ip h3 route add default via 10.0.3.1
	ns_exec h3 ethtool -K eth0 gro on
	wait_for 3 grep -q "port s3 is back" "$ERR"
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "admission: a port that is back has its rules" "$MERGED"
	set_to --revoke any:any%s1,any:10.0.2.0/23 --revoke 1:10.0.4.2
	traffic h1 h2 h3 h4
	traffic_is "admission: the last rule revoked leaves nobody" "$FORWARDED"
	tap_check "set: everybody" set_to --admit everybody
	traffic h1 h2 h3 h4
	traffic_is "admission: everybody" "$MERGED"
	tap_is "admission: nothing was dropped" "$(show '.drops.admission + .drops.form')" 0
	stop
}

# few_more GOT EXPECTED: a neighbour may be asked for meanwhile
few_more()
{
	[ "$1" -ge "$2" ] && [ "$1" -le $(($2 + 5)) ]
}

# 32 full packets at 2 Mbit/s take 0.19 s
test_shaping()
{
	local before

	ns_exec sw tc qdisc add dev s4 root handle 1: htb default 1
	ns_exec sw tc class add dev s4 parent 1: classid 1:1 htb rate 2mbit burst 2k cburst 2k
	start_late --mode shaped
	before=$(htb_sent)
	traffic h1 h2 h3 h4 -- --elements 352 --blocks 32 --one-way
	traffic_is "shaped: a 2 Mbit/s port takes its time" \
		'.exact and .arrived == 1 and .delay + .spread > 0.17'
	tap_check "shaped: every packet through the qdisc" few_more $(($(htb_sent) - before)) 32
	traffic h1 h2 h3 h4 -- --elements 352 --blocks 16 --one-way --silent 0
	traffic_is "shaped: frames of the clock, too" '.exact and .arrived == 1'
	tap_check "shaped: all of them through the qdisc" few_more $(($(htb_sent) - before)) 48
	stop
	start_late --mode fast
	before=$(htb_sent)
	traffic h1 h2 h3 h4 -- --elements 352 --blocks 32 --one-way
	traffic_is "fast: right on such a port, too" '.exact and .arrived == 1'
	tap_check "fast: not through the qdisc" few_more $(($(htb_sent) - before)) 0
	stop
	ns_exec sw tc qdisc del dev s4 root
}

# The leader has 10.7.0.1 in h3 and in h4
test_routes()
{
	local leader

	leader=$(ns_name h3):10.7.0.1:22600
	for i in 3 4; do
		ns_ip h$i addr add 10.7.0.1/32 dev lo
	done
	ns_ip sw route add 10.7.0.1/32 via 10.0.4.2
	start_late
	route_traffic "$leader"
	traffic_is "route to h4" "$MERGED and .places == [0, 16]"
	ns_ip sw route replace 10.7.0.1/32 via 10.0.3.2
	sleep 0.2
	route_traffic "$leader"
	traffic_is "route replaced: to h3" "$MERGED and .places == [16, 0]"
	ns_ip sw route replace 10.7.0.1/32 nexthop via 10.0.3.2 nexthop via 10.0.4.2
	sleep 0.2
	route_traffic "$leader"
	traffic_is "two next hops: both, each block by one" "$MERGED and (.places | min) > 0"
	ns_ip sw link set s3 down
	sleep 0.2
	route_traffic "$leader"
	traffic_is "a next hop's port goes down: the other one" "$MERGED and .places == [0, 16]"
	ns_ip sw link set s3 up
	ns_ip sw route del 10.7.0.1/32
	if ns_ip sw nexthop add id 7 via 10.0.3.2 dev s3 2>/dev/null; then
		ns_ip sw nexthop add id 8 via 10.0.4.2 dev s4
		ns_ip sw nexthop add id 9 group 8
		ns_ip sw route add 10.7.0.1/32 nhid 9
		sleep 0.2
		route_traffic "$leader"
		traffic_is "next hop group: to h4" "$MERGED and .places == [0, 16]"
		ns_ip sw nexthop replace id 9 group 7
		sleep 0.2
		route_traffic "$leader"
		traffic_is "next hop group replaced: to h3" "$MERGED and .places == [16, 0]"
		ns_exec sw sysctl -qw net.ipv4.nexthop_compat_mode=0
		ns_ip sw nexthop replace id 9 group 8
		sleep 0.2
		route_traffic "$leader"
		traffic_is "the same without compatibility messages" "$MERGED and .places == [0, 16]"
	else
		tap_skip "next hop objects" "this kernel has none"
	fi
	ns_ip sw route flush 10.7.0.1/32
	ns_ip sw route add unreachable 10.7.0.1/32
	sleep 0.2
	traffic_before=$(show '.counters.new')
	route_traffic "$leader" --patience 0.2 --one-way
	tap_is "no route: not taken" "$(show '.counters.new')" "$traffic_before"
	ns_ip sw route del unreachable 10.7.0.1/32
	stop
}

route_traffic()
{
	local leader=$1

	shift
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 60 /usr/bin/python3 "$TRAFFIC" $(members h1 h2 g1) "$leader" \
		--also "$(ns_name h4)" "$@")
}

# Routes change while the daemon cannot listen
test_overrun()
{
	local i

	start_late
	kill -STOP "$SW"
	for ((i = 0; i < 12000; i++)); do
		echo "route add 10.$((100 + i / 250)).$((i % 250)).0/24 via 10.0.2.2"
	done >"$TAP_TMP/batch"
	ns_ip sw -batch "$TAP_TMP/batch"
	kill -CONT "$SW"
	tap_check "lost notifications are noticed" wait_for 5 grep -q "notifications were lost" "$ERR"
	tap_is "and counted" "$(show ".losses > 0 and .resyncs > 0")" true
	wait_for 5 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .routes) -gt 12000 ]"
	tap_is "12000 routes are known then" "$(show '.routes > 12000')" true
	sed -i s/add/del/ "$TAP_TMP/batch"
	ns_ip sw -batch "$TAP_TMP/batch"
	wait_for 5 sh -c "[ \$('$CANARY' switch show -j --name '$NAME' | jq .routes) -lt 100 ]"
	tap_is "and forgotten again" "$(show '.routes < 100')" true
	traffic h1 h2 h3 h4
	traffic_is "it works as before" "$MERGED"
	stop
}

test_neighbours()
{
	local kernel

	ns_ip sw neigh flush all
	start_late
	tap_check "next hops are resolved before traffic comes" \
		wait_for 3 sh -c "ip -n '$NAME' neigh show dev s5 | grep -q 'REACHABLE'"
	traffic h1 h2 h3 h4
	traffic_is "hosts not resolved yet: the first result may be late, no contribution is lost" \
		'.exact and .arrived == 1 and .results[0] > 0'
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "hosts resolved" "$MERGED"
	kernel=$(show '.counters["to-kernel"]')
	ns_ip h4 link set eth0 address 02:00:00:00:77:77
	ns_exec h4 ping -q -c 1 -W 1 10.0.4.1 >/dev/null
	traffic h1 h2 h3 h4
	traffic_is "a host has a new address" "$MERGED"
	tap_is "without the kernel's help" "$(show '.counters["to-kernel"]')" "$kernel"
	ns_ip sw neigh replace 10.0.4.2 lladdr 02:00:00:00:66:66 nud permanent dev s4
	sleep 0.2
	traffic h1 h2 h3 h4 -- --patience 0.2 --one-way
	traffic_is "a permanent entry counts, right or wrong" '.arrived == 0'
	ns_ip sw neigh del 10.0.4.2 dev s4
	traffic h1 h2 h3 h4
	traffic_is "a deleted one is asked for again" "$MERGED"
	stop
}

test_ports_change()
{
	start_late
	ns_ip sw link del s3
	tap_check "port deleted: said" wait_for 3 grep -q "port s3 is gone" "$ERR"
	traffic h1 h2 h4
	traffic_is "port deleted: the others go on" "$MERGED"
	ns_link h3 eth0 10.0.3.2/24 sw s3 10.0.3.1/24
	ns_ip h3 route add default via 10.0.3.1
	ns_exec h3 ethtool -K eth0 gro on
	wait_for 3 grep -q "port s3 is back" "$ERR"
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "port made again: it is part of the switch" "$MERGED"
	ns_ip sw link set s4 address 02:00:00:00:55:55
	ns_ip h4 neigh flush all
	ns_exec h4 ping -q -c 1 -W 1 10.0.4.1 >/dev/null
	resolve_all
	tap_is "port's new address: known" "$(show '.ports[3].mac')" 02:00:00:00:55:55
	traffic h1 h2 h3 h4
	traffic_is "port's new address: used" "$MERGED"
	stop
}

test_kill()
{
	start_late
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
	traffic h1 h2 h3 h4
	traffic_is "restart: works" "$MERGED"
	stop
	tap_is "restart, SIGTERM: nothing left" "$(attached)" "0 0 0"
	traffic h1 h2 h3 h4
	traffic_is "no switch: an ordinary router" "$FORWARDED"
}

# voluntary: how often the daemon's threads were switched to
voluntary()
{
	cat /proc/"$SW"/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'
}

# What is only seen after some seconds: warnings of deaf peers, the use of the processor
test_idle()
{
	local before

	ns_exec h1 ethtool -K eth0 gro off
	ns_exec sw sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.s2.rp_filter=1
	start --ports $PORTS
	tap_check "warns: no forwarding" grep -q "ip_forward is 0" "$ERR"
	tap_check "warns: strict rp_filter" grep -q "s2: rp_filter is 1" "$ERR"
	sleep 1
	before=$(voluntary)
	sleep 5.5
	tap_check "idle: sleeps" test "$before" -gt 0 -a $(($(voluntary) - before)) -le 12
	tap_is "warns: peer without GRO drops redirected frames" \
		"$(grep -o "port s[0-9] is fast, but" "$ERR" | sort | tr '\n' ';')" "port s1 is fast, but;"
	tap_is "show -j: that, too" "$(show '[.ports[].peer] | join(" ")')" "deaf ok ok ok ok"
	ns_exec h1 ethtool -K eth0 gro on
	sleep 5.5
	tap_is "show -j: no more once it is mended" "$(show '[.ports[].peer] | join(" ")')" \
		"ok ok ok ok ok"
	stop
	start --ports $PORTS --sysctl
	tap_is "--sysctl sets them" \
		"$(ns_exec sw sysctl -n net.ipv4.ip_forward net.ipv4.conf.s2.rp_filter | tr '\n' ' ')" "1 2 "
	stop
}

# The driver refuses XDP for such packets: all of it works, slowly
test_generic()
{
	ns_ip sw link set s4 mtu 9000
	ns_ip h4 link set eth0 mtu 9000
	start_late
	if [ "$(show '.ports[3].xdp')" = generic ]; then
		tap_check "no native XDP: said" grep -q "s4: its driver refuses XDP at MTU 9000" "$ERR"
		traffic h1 h2 h3 h4
		traffic_is "no native XDP: generic, shaped" "$MERGED"
	else
		tap_skip "no native XDP" "this driver takes it at MTU 9000"
	fi
	stop
	ns_ip sw link set s4 mtu 1500
	ns_ip h4 link set eth0 mtu 1500
}

topology
test_options
test_environment
test_life
test_foreign_qdisc
test_traffic
test_root_patience
test_fan_in
test_admission
test_shaping
test_routes
test_overrun
test_neighbours
test_ports_change
test_kill
test_idle
test_generic
tap_done
