#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs a command in a session of its own, for so long at most: limit.sh SECONDS COMMAND...
#
# When the time is over, or this script is told to end, all processes of the command's group are
# told (TERM) and may clean up. What is there LIMIT_GRACE seconds later is killed: nothing that
# the command started, except in further sessions, goes on after it. The exit status is the
# command's; 124 if the time was over, 137 if it had to be killed.

set -u

# Longer than the clean-up of a test may take: see bg_stop in selftests/lib.sh
GRACE=${LIMIT_GRACE:-120}
LIMIT=${1:?usage: limit.sh SECONDS COMMAND...}
shift

setsid timeout -k "$GRACE" "$LIMIT" "$@" &
GROUP=$!
trap 'kill -- "-$GROUP" 2>/dev/null || kill "$GROUP" 2>/dev/null' INT TERM HUP

# A signal ends the waiting, but not what is waited for
while wait "$GROUP" 2>/dev/null; status=$?; kill -0 "$GROUP" 2>/dev/null; do
	:
done
trap '' INT TERM HUP

# gone SECONDS: whether nothing is left of the group by then
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
