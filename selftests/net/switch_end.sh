#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A switch daemon is told to end, stands still, is told to look again, or has clients that say
# nothing. No block is lost by that.

# start_late may have arguments, but has none here.
# shellcheck disable=SC2119

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_end
SHIM=$TAP_TOP/build/selftests/net/fail_maps.so
FAIL=$TAP_TMP/fail

collecting()
{
	[ "$(show .slots_collecting)" -ge "$1" ]
}

works()
{
	[ "$(show .clock.works)" = "$1" ]
}

# One of three members says nothing, so the switch holds the contributions of the others for
# seconds.
test_drain()
{
	local json=$TAP_TMP/traffic pid

	start --ports $PORTS --timeout 900ms
	resolve_all
	# shellcheck disable=SC2046
	bg timeout 60 /usr/bin/python3 "$TRAFFIC" $(members h1 h2 h3 h4) --silent 2 --patience 5 \
		--one-way >"$json"
	pid=$!
	tap_check "blocks are held" wait_for 10 collecting 16
	stop
	tap_is "SIGTERM: exit status" $? 0
	wait "$pid"
	TRAFFIC_JSON=$(cat "$json")
	traffic_is "SIGTERM: all that was held has been sent on, merged" \
		".exact and .arrived == 1 and .sources == [\"$ADDRESS:22600\"]"
	tap_is "SIGTERM: nothing left" "$(attached)" "0 0 0"
}

# Stops only the main thread: the daemon does not follow routes and neighbours.
STOP_THREAD='
import ctypes, sys, time
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
SEIZE, INTERRUPT = 0x4206, 0x4207
for request in SEIZE, INTERRUPT:
    if ptrace(request, int(sys.argv[1]), None, None):
        sys.exit("ptrace: %d" % ctypes.get_errno())
print("stopped", flush=True)
time.sleep(60)
'

# The daemon does not answer, so the traffic shows whether the switch forwards.
forwards()
{
	traffic h1 h2 h3 h4 -- --one-way
	[ "$(jq .arrived <<<"$TRAFFIC_JSON")" = 3 ]
}

test_main_hangs()
{
	local pid

	bg /usr/bin/python3 -c "$STOP_THREAD" "$SW" >"$TAP_TMP/stopped"
	pid=$!
	tap_check "the main thread is stopped" wait_for 5 grep -q stopped "$TAP_TMP/stopped"
	tap_check "... later it is a router" wait_for 30 forwards
	bg_stop "$pid"
	tap_check "... it goes on: it says that it works" wait_for 10 works true
}

# A daemon that was stopped by a signal does nothing at all, like one that hangs.
test_hang()
{
	start_late
	resolve_all
	traffic h1 h2 h3 h4
	traffic_is "before SIGSTOP" "$MERGED"
	kill -STOP "$SW"
	sleep 2.2
	traffic h1 h2 h3 h4
	traffic_is "SIGSTOP: 2 s later it is a router" "$FORWARDED"
	kill -CONT "$SW"
	tap_check "SIGCONT: it says that it works" wait_for 10 works true
	traffic h1 h2 h3 h4
	traffic_is "SIGCONT: it adds again" "$MERGED"
	tap_is "what was only forwarded is counted" "$(show '.counters.unattended')" 48
}

# The clock cannot emit, but somebody else carries the block away. So it has nothing left to try
# with.
test_failure()
{
	if [ ! -e "$SHIM" ]; then
		tap_skip "the clock fails" "needs $SHIM"
		return
	fi
	LD_PRELOAD=$SHIM FAIL_MAPS=$FAIL start --ports $PORTS --timeout 1ms
	resolve_all
	echo run >"$FAIL"
	traffic h1 h2 h3 h4 -- --silent 2 --one-way
	tap_check "the clock fails: it says no more that it works" wait_for 10 works false
	tap_is "... and nothing is held" "$(show .slots_collecting)" 0
	traffic h1 h2 h3 h4
	traffic_is "... it is a router" "$FORWARDED"
	rm "$FAIL"
	tap_check "the clock does not fail any more: it works" wait_for 10 works true
	traffic h1 h2 h3 h4
	traffic_is "... results are right" "$ALL_RIGHT"
	tap_check "... and takes blocks" shows '.counters.new > 16'
	stop
}

resynced()
{
	[ "$(show .resyncs)" -gt "$1" ]
}

test_hangup()
{
	local before

	before=$(show .resyncs)
	kill -HUP "$SW"
	tap_check "SIGHUP: everything is read again" wait_for 10 resynced "$before"
	tap_check "SIGHUP: said" grep -q "SIGHUP: reading everything again" "$ERR"
	traffic h1 h2 h3 h4
	traffic_is "SIGHUP: it goes on" "$MERGED"
}

SILENT='
import socket, sys, time
many = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[1]))]
for sock in many:
    sock.connect("/run/canary/switch-%s.sock" % sys.argv[2])
print("connected", flush=True)
for sock in many:
    sock.recv(1)
print("all closed", flush=True)
'

# silent N: starts N clients of user nobody that say nothing
silent()
{
	bg setpriv --reuid 65534 --clear-groups /usr/bin/python3 -c "$SILENT" "$1" "$NAME"
}

# A client that says nothing for 2 s is closed, and rightly so. Then this one prints "late": it was
# not driven out.
ASK='
import os, socket, sys, time
start = time.monotonic()
sock = socket.socket(socket.AF_UNIX)
sock.connect("/run/canary/switch-%s.sock" % sys.argv[1])
print("connected", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
try:
    sock.send(b"netns\n")
    answer = sock.recv(100).decode()
except BrokenPipeError:
    answer = ""
print("late" if not answer and time.monotonic() - start > 1.5 else "answer " + answer, flush=True)
'

# places: a client connects, then 40 of another user connect, then it asks
places()
{
	local go=$TAP_TMP/go

	rm -f "$go"
	bg setpriv --reuid 65533 --clear-groups /usr/bin/python3 -c "$ASK" "$NAME" "$go" \
		>"$TAP_TMP/ask"
	wait_for 10 grep -q connected "$TAP_TMP/ask"
	silent 40 >"$TAP_TMP/silent"
	wait_for 10 grep -q connected "$TAP_TMP/silent"
	touch "$go"
	wait_for 10 grep -q "late\|answer" "$TAP_TMP/ask"
	wait_for 10 grep -q "all closed" "$TAP_TMP/silent"
}

# A user that has one place keeps it, however many another one wants.
test_places()
{
	local try

	chmod 755 "$TAP_TMP"
	for try in {1..20}; do
		places
		grep -q late "$TAP_TMP/ask" || break
		echo "# try $try: the machine is too busy to connect 40 clients in time"
	done
	tap_check "40 clients of a user do not drive out another one's" \
		grep -q "answer [0-9]" "$TAP_TMP/ask"
}

# Clients leave without the answer, thousands of times, while nobody reads the daemon's messages.
LEAVE='
import socket, sys
for i in range(3000):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect("/run/canary/switch-%s.sock" % sys.argv[1])
    sock.send(b"text\n")
    sock.close()
'

test_unread()
{
	mkfifo "$TAP_TMP/unread"
	exec 7<>"$TAP_TMP/unread"
	ERR=$TAP_TMP/unread start_late
	dd if=/dev/zero of="$TAP_TMP/unread" bs=4096 count=64 oflag=nonblock 2>/dev/null
	timeout 60 /usr/bin/python3 -c "$LEAVE" "$NAME"
	tap_is "nobody reads its standard error: it goes on" "$(timeout 10 "$CANARY" switch show -j \
		--name "$NAME" | jq -r .name)" "$NAME"
	exec 7<&-
	stop
}

# as many connections wait as possible
FULL='
import os, socket, sys, time
many = []
while True:
    many.append(socket.socket(socket.AF_UNIX))
    many[-1].setblocking(False)
    try:
        many[-1].connect("/run/canary/switch-%s.sock" % sys.argv[1])
    except BlockingIOError:
        break
print("full", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
'

test_full()
{
	local go=$TAP_TMP/end

	ns_exec sw sysctl -qw net.core.somaxconn=8
	start_late
	kill -STOP "$SW"
	bg /usr/bin/python3 -c "$FULL" "$NAME" "$go" >"$TAP_TMP/full"
	wait_for 10 grep -q full "$TAP_TMP/full"
	timeout 10 nsenter --net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" \
		--ports s1 >"$TAP_TMP/second" 2>&1
	tap_check "a second one does not wait for one that hangs" grep -q "running already" \
		"$TAP_TMP/second"
	kill -CONT "$SW"
	touch "$go"
	stop
}

test_silent()
{
	silent 40 >"$TAP_TMP/silent"
	tap_check "40 clients that say nothing" wait_for 10 grep -q connected "$TAP_TMP/silent"
	tap_is "do not keep root from looking" "$(show .name)" "$NAME"
	tap_is "nor others" "$(setpriv --reuid 65534 --clear-groups "$CANARY" switch show -j \
		--name "$NAME" | jq -r .name)" "$NAME"
	tap_refuse "who may not change settings" setpriv --reuid 65534 --clear-groups \
		"$CANARY" switch set --name "$NAME" --spread 2
	tap_check "they are closed" wait_for 10 grep -q "all closed" "$TAP_TMP/silent"
}

test_drain
test_failure
test_hang
test_main_hangs
test_hangup
test_silent
test_places
stop
test_unread
test_full
tap_done
