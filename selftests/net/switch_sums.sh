#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch daemon adds contributions and copies results between namespaces: when, for whom, and by
# which way.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_sums

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
			"$ALL_RIGHT and .arrived == 1 and .delay >= 1"
		tap_is "$mode: emitted by the clock or a carrier" \
			"$(show '.counters["sent-clock"] + .counters["sent-carrier"]')" 32
		tap_is "$mode: nothing dropped, nothing held" \
			"$(show '([.drops[]] | add) + .slots_used + .queue_depth + .clock.errors')" 0
		stop
	done
}

# The leader is next to the switch.
test_root_waits()
{
	start --ports $PORTS --timeout 500ms --root-waits 3
	tap_is "show -j: root waits" "$(show .root_waits)" 3
	resolve_all
	traffic h1 h2 h3 h4 -- --silent 1
	traffic_is "the root switch waits for other switches" \
		"$ALL_RIGHT and .arrived == 1 and .delay >= 2"
	stop
	# With the root switch's patience, the traffic generator would give up.
	start --ports $PORTS --timeout 1s --root-waits 100 --lifetime 200s
	resolve_all
	ns_ip sw route add 10.7.0.1/32 via 10.0.4.2
	ns_ip h4 addr add 10.7.0.1/32 dev lo
	followed
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 300 /usr/bin/python3 "$TRAFFIC" $(members h1 h2 h3) \
		"$(ns_name h4):10.7.0.1:22600" --silent 1)
	traffic_is "a switch on the way does not" \
		"$ALL_RIGHT and .arrived == 1 and .delay >= 1"
	ns_ip h4 addr del 10.7.0.1/32 dev lo
	ns_ip sw route del 10.7.0.1/32
	stop
}

queue_empty()
{
	[ "$(show .queue_depth)" = 0 ]
}

# The traffic generator has 16 blocks in flight. The switch learns from the first ones.
test_fan_in()
{
	local learned

	start_late
	resolve_all
	traffic h1 h2 h3 h4 -- --silent 1 --blocks 48
	traffic_is "fan-in: two of three come by" "$ALL_RIGHT and .arrived == 1"
	tap_is "fan-in: known from the first results on" \
		"$(show '.counters | [.["sent-expected"], .["sent-clock"] + .["sent-carrier"], .learned] | @csv')" \
		32,16,1
	tap_is "show -j: fan-in" "$(show '.fan_in | [.mode, .known, .told] | @csv')" '"learn",2,0'
	stop
	start --ports $PORTS --timeout 100us..500ms
	resolve_all
	traffic h1 h2 h3 h4 -- --blocks 64
	tap_is "show -j: the timeout follows what was seen" "$(show '
		[.timeout_min_us, .timeout_max_us, .timeout_us < 500000, .memory > 126e6] | @csv')" \
		100,500000,true,true
	learned=$(show .timeout_us)
	set_to --spread 2
	tap_is "what it learned is kept when something else is set" "$(show .timeout_us)" "$learned"
	set_to --timeout 10us..20us
	tap_is "and as far as other bounds allow" "$(show .timeout_us)" 20
	stop
	start_late --fan-in off,10.0.4.0/24=2
	resolve_all
	traffic h1 h2 h3 h4 -- --silent 1
	traffic_is "fan-in told: right" "$ALL_RIGHT and .arrived == 1"
	tap_is "fan-in told: no timeout" "$(show '.counters["sent-expected"]')" 16
	# The clock leaves such blocks to packets as long as packets come.
	tap_check "fan-in told: they leave the queue when no packets come any more" \
		wait_for 60 queue_empty
	tap_is "and nothing is sent for them" \
		"$(show '.counters | .["sent-clock"] + .["sent-carrier"]')" 0
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

# set_to ARGUMENTS...: changes the running switch
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

# One of three contributions to each block is not merged, but all members get results.
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
	tap_check "admission: a port goes" wait_for 3 grep -q "port s3 is gone" "$ERR"
	tap_is "admission: at ports that are there" "$(show .admission.entries)" 9
	make_s3_again
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

# htb_sent: prints the number of packets that went through the qdisc of s4
htb_sent()
{
	ns_exec sw tc -j -s qdisc show dev s4 | jq '.[] | select(.kind == "htb") | .packets'
}

# few_more GOT EXPECTED: there may be some more packets, of neighbour discovery
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

test_traffic
test_root_waits
test_fan_in
test_admission
test_shaping
tap_done
