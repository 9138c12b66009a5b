#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What waits at the ports. Every switch of the machine sees it, and it is right whoever came first
# and whoever was killed. Settings are changed while a switch runs.
#	h1 --- a --- h2, h1 --- b --- h2, h1 --- w --- h2: a, b and w are switches, their links to h2
#	slow; that of w has four transmit queues

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

	ns_add h1 h2 a b w
	for n in a b; do
		ns_link h1 to-$n 10.0.$i.2/24 $n in 10.0.$i.1/24
		ns_link h2 to-$n 10.1.$i.2/24 $n out 10.1.$i.1/24
		ns_ip $n addr add 10.9.0.1/32 dev lo
		ns_exec $n tc qdisc add dev out root tbf rate 100kbit burst 3000 limit $ROOM
		i=$((i + 1))
	done
	ns_link h1 to-w 10.0.2.2/24 w in 10.0.2.1/24
	ip link add name out netns "$(ns_name w)" numtxqueues 4 numrxqueues 4 type veth \
		peer name to-w2 netns "$(ns_name h2)" numtxqueues 4 numrxqueues 4
	ns_ip h2 addr add 10.1.2.2/24 dev to-w2
	ns_ip h2 link set to-w2 up
	ns_ip w addr add 10.1.2.1/24 dev out
	ns_ip w addr add 10.9.0.1/32 dev lo
	# other packets would be counted, too
	ns_exec w sysctl -q net.ipv6.conf.out.disable_ipv6=1
	ns_ip w link set out up
	ns_ip w neigh add 10.1.2.2 dev out lladdr \
		"$(ns_ip h2 -j link show to-w2 | jq -r '.[0].address')"
}

# tbf WHERE...: sets a tbf on w's wide link
tbf()
{
	ns_exec w tc qdisc add dev out "$@" tbf rate 100kbit burst 3000 limit $ROOM
}

tbf_seen()
{
	[ "$(egress w room)" = "$ROOM" ]
}

# start SWITCH OPTIONS...: starts a switch; its pid is PID[SWITCH]
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

# egress SWITCH FIELD: prints a field of the slow port
egress()
{
	show "$1" ".ports[] | select(.name == \"out\") | .egress.$2"
}

# burst SWITCH PACKETS ADDRESS [FLOWS]: sends packets of 1000 bytes, all at once
burst()
{
	ns_exec "$1" /usr/bin/python3 - "$2" "$3" "${4:-1}" <<'END'
import socket, sys
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(sys.argv[3]))]
for i in range(int(sys.argv[1])):
    try:
        socks[i % len(socks)].sendto(bytes(958), (sys.argv[2], 9))
    except OSError:
        pass
END
}

# drift SWITCH BYTES: changes the total of what waits at the slow port by so much, so that it is
# wrong
drift()
{
	local ifindex

	ifindex=$(ns_ip "$1" -j link show out | jq '.[0].ifindex')
	ns_exec "$1" /usr/bin/python3 - "$ifindex" "$2" <<'END'
import json, socket, struct, subprocess, sys

COOKIE = 71         # SO_NETNS_COOKIE
TOTAL = 5 * 8       # where it is in struct csw_backlog


def bpftool(*args):
    out = subprocess.run(["bpftool", "-j", *args], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
cookie = struct.unpack("Q", sock.getsockopt(socket.SOL_SOCKET, COOKIE, 8))[0]
key = ["key", *map(str, struct.pack("QII", cookie, int(sys.argv[1]), 0))]
done = False
for found in bpftool("map", "list"):
    which = ["id", str(found["id"])]
    if found.get("name") != "canary_backlog":
        continue
    try:
        value = bpftool("map", "lookup", *which, *key)["value"]
    except (subprocess.CalledProcessError, KeyError):
        continue        # of other versions of the program
    value = bytearray(int(byte, 16) for byte in value)
    total = struct.unpack_from("I", value, TOTAL)[0] + int(sys.argv[2])
    struct.pack_into("I", value, TOTAL, total & 0xffffffff)
    bpftool("map", "update", *which, *key, "value", *map(str, value))
    done = True
sys.exit(not done)
END
}

# map_of SWITCH: prints ids of its maps of what waits
map_of()
{
	local id

	awk '/^map_id:/ { print $2 }' /proc/"${PID[$1]}"/fdinfo/* | sort -u | while read -r id; do
		bpftool -j map show id "$id" | jq -r 'select(.name == "canary_backlog").id'
	done
}

# told_of_drops: prints drops that the disciplines of w's wide link report
told_of_drops()
{
	ns_exec w tc -s -j qdisc show dev out | jq '[.[] | select(.kind == "tbf").drops] | add'
}

# flood ADDRESS PROCESSES: sends from w for 0.2 s
flood()
{
	ns_exec w /usr/bin/python3 - "$1" "$2" <<'END'
import os, socket, sys, time
children = []
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            try:
                sock.sendto(bytes(1400), (sys.argv[1], 9))
            except OSError:
                pass
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
END
}

contended()
{
	flood 10.1.2.2 4
	[ "$(egress w waiting),$(egress w drops)" = 0,null ]
}

waits()
{
	local n

	n=$(egress "$1" waiting)
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}

# gone SWITCH SECONDS: nothing waits any more within this time; otherwise it prints what the
# discipline says
gone()
{
	wait_for "$2" waits "$1" 0 0 && return
	show "$1" '.ports[] | select(.name == "out") | .egress'
	ns_exec "$1" tc -s qdisc show dev out
	return 1
}

# refuses DESCRIPTION TEXT COMMAND...: the command fails and says TEXT
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
map=$(map_of a)
tap_check "one map" test "$(wc -w <<<"$map")" -eq 1
tap_is "for all switches of a machine" "$(map_of b)" "$map"
tap_is "room of a port: what its discipline says" "$(egress a room)" $ROOM
tap_is "or what the administrator says" "$(egress b room)" 5000
tap_is "a port without a queue has none" "$(show a '.ports[] | select(.name == "in") | .egress')" null
tap_is "nothing waits" "$(egress a waiting)" 0

# 30 packets take 2.4 s
burst a 30 10.1.0.2
tap_check "what waits is seen" waits a 1000 30000
tap_check "and not that of another switch's port of that name" test "$(egress b peak)" -lt 1000
tap_check "and that it has gone" gone a 10
peak=$(egress a peak)
tap_check "peak: $peak" test "$peak" -gt 20000 -a "$peak" -le 30000
burst a 100 10.1.0.2
tap_check "drops are counted" test "$(egress a drops)" -ge 30
burst b 20 10.1.1.2
tap_check "the second switch sees its own" waits b 1000 20000

kill -KILL "${PID[a]}"
wait "${PID[a]}" 2>/dev/null
tap_check "the first one is killed: the second one still sees" gone b 10
burst b 20 10.1.1.2
tap_check "and what comes" waits b 1000 20000
start a
# what waited before the switch came has left, or the discipline's word is taken for it
burst a 2 10.1.0.2
tap_check "begun anew" gone a 10

# One discipline for four transmit queues: what waits belongs to it, whichever queue a packet was
# for.
tbf root
start w
burst w 30 10.1.2.2 16
tap_check "four queues, one discipline: what waits is seen" waits w 1000 30000
tap_check "and that it has gone" gone w 10
peak=$(egress w peak)
tap_check "nothing was counted twice: $peak" test "$peak" -gt 20000 -a "$peak" -le 30000
tap_check "the total is wrong" drift w 7000000
burst w 2 10.1.2.2
tap_check "right with the next packet" gone w 10
missed=$(egress w missed)
tap_check "the last event was missed: something seems to wait" drift w 1000
tap_check "the discipline knows" gone w 10
tap_is "and it is said" "$(egress w missed)" $((missed + 1))

ns_exec w tc qdisc del dev out root
ns_exec w tc qdisc add dev out root handle 1: mq
for i in 1 2 3 4; do
	tbf parent 1:$i
done
tap_check "four disciplines" wait_for 10 tbf_seen
burst w 500 10.1.2.2 16
tap_check "a discipline for each: together" waits w 60001 240000
tap_check "until all has gone" gone w 20
dropped=$(told_of_drops)
tap_check "of 500 some were dropped: $dropped" test "$dropped" -ge 200
tap_is "as many as all disciplines say" "$(egress w drops)" "$dropped"
burst w 100 10.1.2.2 16
ns_exec w tc qdisc del dev out root
tbf root
tap_check "and one" wait_for 10 tbf_seen
burst w 30 10.1.2.2
tap_check "another discipline: what the old ones held is forgotten" waits w 1000 30000
tap_check "and all has gone" gone w 10
tap_is "nor are their drops its own" "$(egress w drops)" 0

# Packets only meet in such a discipline if two processors send at the same time.
what="drops that are counted by each processor are not known"
if [ "$(nproc)" -gt 1 ]; then
	ns_exec w tc qdisc del dev out root
	ns_exec w tc qdisc add dev out root pfifo_fast
	tap_check "$what" wait_for 20 contended
	tap_is "but that nothing waits" "$(egress w waiting)" 0
	tap_check "and it is said" grep -q "dropped ?" \
		<<<"$("$CANARY" switch show --name "$(ns_name w)")"
	ns_exec w tc qdisc del dev out root
	tbf root
	tap_check "again another discipline" wait_for 10 tbf_seen
	burst w 10 10.1.2.2
	tap_is "those of the next discipline are" "$(egress w drops)" 0
else
	tap_skip "$what" "one processor"
fi
bg_stop "${PID[w]}"

tap_is "choice: both ways" "$(show a '[.choice, .spread, .flowlet_us] | @csv')" '"both",1,5000'
tap_is "choice: as told" "$(show b '[.choice, .spread, .flowlet_us] | @csv')" '"random",4,3000'
tap_check "set while it runs" "$CANARY" switch set --name "$(ns_name a)" --choice two --spread 2 --flowlet 1ms
tap_is "is shown" "$(show a '[.choice, .spread, .flowlet_us] | @csv')" '"two",2,1000'
tap_check "early" "$CANARY" switch set --name "$(ns_name a)" --choice early
tap_is "is shown, too" "$(show a .choice)" early
tap_check "static trees, and a timeout" "$CANARY" switch set --name "$(ns_name a)" --choice static --trees 2+1 --timeout 7ms
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
