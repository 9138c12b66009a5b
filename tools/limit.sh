#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs a command in a session of its own, for a limited time: limit.sh SECONDS COMMAND...
#
# When the time is over, or this script is told to end, it sends TERM to all processes of the
# command's group, which may clean up. LIMIT_GRACE seconds later it kills those that are left. So
# nothing that the command started goes on after it, except in further sessions. The exit status is
# the command's; 124 if the time was over, 137 if it had to be killed.

set -u

# Longer than a test may take to clean up: see bg_stop in selftests/lib.sh
GRACE=${LIMIT_GRACE:-120}
LIMIT=${1:?usage: limit.sh SECONDS COMMAND...}
shift

setsid timeout -k "$GRACE" "$LIMIT" "$@" &
GROUP=$!
trap 'kill -- "-$GROUP" 2>/dev/null || kill "$GROUP" 2>/dev/null' INT TERM HUP

# A signal interrupts wait, but does not end the command.
while wait "$GROUP" 2>/dev/null; status=$?; kill -0 "$GROUP" 2>/dev/null; do
	:
done
trap '' INT TERM HUP

# gone SECONDS: is the whole group gone by then?
gone()
{
	local end=$((SECONDS + $1))

	while kill -0 -- "-$GROUP" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

kill -- "-$GROUP" 2>/dev/null
gone "$GRACE" || kill -KILL -- "-$GROUP" 2>/dev/null
gone 10
exit "$status"
