#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Results are broadcast to groups of ports, if the switch needed such a group often. Until then, and
# where a port cannot take part, they are cloned.

# start_late may have arguments, but has none here.
# shellcheck disable=SC2119

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_groups

# groups_are FILTER: jq's FILTER holds for the number of groups
groups_are()
{
	shows ".groups $1"
}

# broadcast_by NUMBER MEMBER...: after some traffic of these there are so many groups, and their results
# are broadcast
broadcast_by()
{
	local number=$1 results spread

	shift
	traffic "$@"
	traffic_is "$*: sums are right" "$ALL_RIGHT"
	wait_for 20 groups_are "== $number" ||
		tap_not_ok "$*: there is a group" "$("$CANARY" switch show --name "$NAME"; cat "$ERR")"
	results=$(show .counters.results)
	spread=$(show .counters.spread)
	traffic "$@"
	traffic_is "$*: sums are right with a group" "$ALL_RIGHT and .results[1] > 0"
	tap_is "$*: all results are broadcast" "$(($(show .counters.spread) - spread))" \
		"$(($(show .counters.results) - results))"
	tap_is "$*: no copy is lost" "$(show .drops.transmit)" 0
}

# peer_is PORT WORD: how the other end of a port takes redirected frames
peer_is()
{
	shows ".ports[] | select(.name == \"$1\").peer == \"$2\""
}

# goes_deaf: the other end of s3 loses redirected frames from now on, and takes them again
goes_deaf()
{
	local spread

	ns_exec h3 ethtool -K eth0 gro off
	tap_check "a group goes when a port becomes deaf" wait_for 12 groups_are "== 1"
	tap_check "... and a line says so" grep -q "port s3 is fast, but its veth peer loses" "$ERR"
	spread=$(show .counters.spread)
	traffic h1 h2 h3 h4
	traffic_is "... sums are right" "$ALL_RIGHT and .results[1] > 0"
	tap_is "... and results are cloned" "$(show .counters.spread)" "$spread"
	ns_exec h3 ethtool -K eth0 gro on
	wait_for 12 peer_is s3 ok
	sleep 6	# until the other end of s3 is known
	broadcast_by 2 h1 h2 h3 h4
}

test_groups()
{
	start_late
	resolve_all
	traffic h1 h2 h3 h4
	tap_check "at first results are cloned" shows ".counters | .results > .spread + 15"
	broadcast_by 1 h1 h2 h3 h4
	broadcast_by 2 h1 h2 h2:22700 h3
	ns_ip sw link del s3
	make_s3_again
	tap_check "a group goes with its port, another one stays" wait_for 10 groups_are "== 1"
	sleep 6	# until the other end of s3 is known
	broadcast_by 2 h1 h2 h3 h4
	goes_deaf
	stop
}

# Frames that are redirected to a deaf port vanish. Clones do not.
test_deaf()
{
	ns_exec h4 ethtool -K eth0 gro off
	start_late
	resolve_all
	sleep 6
	traffic h4 h2 h3 h1
	sleep 11
	traffic h4 h2 h3 h1
	traffic_is "a port that loses redirected frames: sums are right" "$ALL_RIGHT and .results[1] > 0"
	tap_is "... and results are cloned" "$(show '[.groups, .counters.spread] | @csv')" 0,0
	stop
	ns_exec h4 ethtool -K eth0 gro on
}

test_groups
test_deaf
tap_done
