#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What waits at the ports: seen by every switch of the machine, right whoever came first and
# whoever was killed; settings that are changed while a switch runs.
#
#	h1 --- a --- h2, h1 --- b --- h2: a and b are switches, their links to h2 slow

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
ROOM=60000

tap_start net/backlog
need_root
need_program ip tc jq bpftool /usr/bin/python3 "$CANARY"
tmp_dir

topology()
{
	local n i=0

	ns_add h1 h2 a b
	for n in a b; do
		ns_link h1 to-$n 10.0.$i.2/24 $n in 10.0.$i.1/24
		ns_link h2 to-$n 10.1.$i.2/24 $n out 10.1.$i.1/24
		ns_ip $n addr add 10.9.0.1/32 dev lo
		ns_exec $n tc qdisc add dev out root tbf rate 100kbit burst 3000 limit $ROOM
		i=$((i + 1))
	done
}

# start SWITCH OPTIONS...: its pid is PID[SWITCH]
declare -A PID
start()
{
	local n=$1

	shift
	bg ns_exec "$n" "$CANARY" switch run --name "$(ns_name "$n")" --ports in,out --mode shaped \
		--address 10.9.0.1 "$@" >"$TAP_TMP/$n" 2>&1
	PID[$n]=$!
	wait_for 20 grep -q " ready: " "$TAP_TMP/$n" && return
	tap_not_ok "switch $n starts" "$(cat "$TAP_TMP/$n")"
	tap_done
}

show()
{
	"$CANARY" switch show -j --name "$(ns_name "$1")" | jq -r "$2"
}

# egress SWITCH FIELD: of the slow port
egress()
{
	show "$1" ".ports[] | select(.name == \"out\") | .egress.$2"
}

# burst SWITCH PACKETS ADDRESS: of 1000 bytes, all at once
burst()
{
	ns_exec "$1" /usr/bin/python3 - "$2" "$3" <<'END'
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[1])):
    try:
        sock.sendto(bytes(958), (sys.argv[2], 9))
    except OSError:
        pass
END
}

waits()
{
	local n

	n=$(egress "$1" waiting)
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}

# refuses DESCRIPTION TEXT COMMAND...: and says TEXT
refuses()
{
	local what=$1 text=$2

	shift 2
	tap_refuse "$what: refused" "$@"
	tap_check "$what: says why" grep -q "$text" <<<"$("$@" 2>&1)"
}

topology
start a
start b --queue 5000 --choice random --flowlet 3ms --spread 4
tap_is "room of a port: what its discipline says" "$(egress a room)" $ROOM
tap_is "or what the administrator says" "$(egress b room)" 5000
tap_is "a port without a queue has none" "$(show a '.ports[] | select(.name == "in") | .egress')" null
tap_is "nothing waits" "$(egress a waiting)" 0

# 30 packets take 2.4 s
burst a 30 10.1.0.2
tap_check "what waits is seen" waits a 1000 30000
tap_check "and not that of another switch's port of that name" test "$(egress b peak)" -lt 1000
tap_check "and that it has gone" wait_for 10 waits a 0 0
peak=$(egress a peak)
tap_check "peak: $peak" test "$peak" -gt 20000 -a "$peak" -le 30000
burst a 100 10.1.0.2
tap_check "drops are counted" test "$(egress a drops)" -ge 30
burst b 20 10.1.1.2
tap_check "the second switch sees its own" waits b 1000 20000

kill -KILL "${PID[a]}"
wait "${PID[a]}" 2>/dev/null
tap_check "the first one is killed: the second one still sees" wait_for 10 waits b 0 0
burst b 20 10.1.1.2
tap_check "and what comes" waits b 1000 20000
start a
# what waited before it came has gone or is taken at its discipline's word
burst a 2 10.1.0.2
tap_check "begun anew" wait_for 10 waits a 0 0

tap_is "choice: both ways" "$(show a '[.choice, .spread, .flowlet_us] | @csv')" '"both",1,5000'
tap_is "choice: as told" "$(show b '[.choice, .spread, .flowlet_us] | @csv')" '"random",4,3000'
tap_check "set while it runs" "$CANARY" switch set --name "$(ns_name a)" --choice two --spread 2 --flowlet 1ms
tap_is "is shown" "$(show a '[.choice, .spread, .flowlet_us] | @csv')" '"two",2,1000'
tap_check "static trees, and patience" "$CANARY" switch set --name "$(ns_name a)" --choice static --trees 2+1 --timeout 7ms
tap_is "are shown, too" "$(show a '[.choice, .trees, .first_tree, .timeout_us] | @csv')" '"static",2,1,7000'
tap_check "and back" "$CANARY" switch set --name "$(ns_name a)" --choice two
tap_is "of that switch alone" "$(show b .choice)" random
refuses "a choice that is none" "none of adaptive, block" "$CANARY" switch set --name "$(ns_name a)" --choice best
refuses "nothing to set" "nothing to set" "$CANARY" switch set --name "$(ns_name a)"
refuses "a switch that is none" "no switch" "$CANARY" switch set --name nosuch --choice two
refuses "not by everybody" "only root" setpriv --reuid 65534 --clear-groups \
	"$CANARY" switch set --name "$(ns_name a)" --choice block
refuses "a spread out of range" "from 1 to 256" "$CANARY" switch run --ports x --spread 0
tap_is "and all is as before" "$(show a .choice)" two
bg_stop "${PID[a]}"
bg_stop "${PID[b]}"
tap_done
