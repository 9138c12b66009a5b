#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A switch daemon that is told to end, stands still, is told to look again, and is asked by people
# who say nothing: no block is lost by that.

# start_late may have arguments, here it has none
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

# One of three members says nothing, so the switch holds the others' contributions for seconds.
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

# Stopped by a signal, it does nothing at all: as one that hangs
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

# Somebody else carries away what the clock could not emit: nothing is left that it could try.
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

# silent N: so many clients of nobody's that say nothing
silent()
{
	bg setpriv --reuid 65534 --clear-groups /usr/bin/python3 -c "$SILENT" "$1" "$NAME"
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
test_hangup
test_silent
stop
tap_done
