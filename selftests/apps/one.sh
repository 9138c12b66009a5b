#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs an unmodified program on emulated hosts: without Canary, with Canary for calls of all lengths
# ("all"), and with Canary as it is set by default ("default").
#	one.sh NAME		NAME: of programs/. Standard output: a line of JSON for each way
# ENGINE: user, or kernel, in the guest. APP_HOSTS_ASKED, RATE (Mbit/s): others than the program's.
# WAYS: some of them. SHORT: a short form.

# shellcheck source=selftests/apps/app_lib.sh
. "$(dirname "$0")/app_lib.sh"

NAME=${1:?usage: one.sh NAME}
ENGINE=${ENGINE:-user}
export MPI_LIMIT=${MPI_LIMIT:-900}

# row WAY JSON: prints a row
row()
{
	jq -cn --arg program "$NAME" --argjson hosts "$HOSTS" --arg engine "$ENGINE" --arg way "$1" \
		--arg what "$APP_WHAT" --arg check "$APP_CHECK" --argjson more "$2" '
		{$program, $hosts, $engine, $way, right: null, calls: null, calls_canary: null,
		 seconds: null, seconds_without: null, bytes: null, bytes_without: null,
		 $what, $check} + $more'
}

skip()
{
	row all "$(jq -n --arg why "$1" '{skipped: $why}')"
	exit 0
}

# measure HOW: runs it once, and sets TOOK, BYTES and MERGED. Return: whether it ended well
measure()
{
	local begin bytes merged rc=0

	app_start "$TAP_TMP/$1" "$1"
	bytes=$(app_bytes)
	merged=$(app_merged)
	begin=$(date +%s%N)
	# In the background, as bash ends itself only between commands. Namespaces end what is in them.
	app_run >&2 &
	wait $! || rc=$?
	TOOK=$(jq -n "($(date +%s%N) - $begin) / 1e7 | round / 100")
	BYTES=$(($(app_bytes) - bytes))
	MERGED=$(($(app_merged) - merged))
	echo "apps: $NAME, $1: $TOOK s, $BYTES bytes, status $rc" >&2
	keep "$1"
	[ -z "${VERBOSE:-}" ] || tail -n 30 said complaints >&2
	return "$rc"
}

# keep HOW: what a program said is for people to read later
keep()
{
	local to=$TAP_TOP/build/apps/$NAME-$ENGINE-$1

	[ -z "${CANARY_GUEST:-}" ] || to=/out/$NAME-$ENGINE-$1
	rm -rf "$to"
	mkdir -p "$to"
	cp -r . "$to/" || :
}

# compare WAY: prints the row of a run
compare()
{
	local problem='' right=true calls

	measure "$1" || problem="it failed: $(tail -n 3 complaints)"
	[ -n "$problem" ] || problem=$(app_right "$TAP_TMP/without" 2>&1) || problem=${problem:-wrong}
	[ -z "$problem" ] || right=false
	calls=$("$APPS/calls.py" complaints)
	row "$1" "$(jq -n --argjson right $right --arg problem "$problem" --argjson c "$calls" \
		--argjson seconds "$TOOK" --argjson without "$TOOK_WITHOUT" --argjson bytes "$BYTES" \
		--argjson bytes_without "$BYTES_WITHOUT" --argjson merged "$MERGED" '
		{$right, calls: $c.calls, calls_canary: $c.canary, $seconds, seconds_without: $without,
		 $bytes, $bytes_without, $merged, by: $c.by} +
		if $problem == "" then {} else {$problem} end')"
}

bench_start "selftests/apps/one.sh $NAME"
# Programs may fail: that is a result.
trap - ERR
set +e +u
app_load "$NAME"
HOSTS=${APP_HOSTS_ASKED:-$APP_HOSTS}
RATE=${RATE:-${APP_RATE:-100}}
WAYS=${WAYS:-${APP_WAYS:-all default}}
bench_need ip tc jq ethtool mpirun.openmpi "$CANARY"
why=$(app_missing)
[ -z "$why" ] || skip "$why"
[ "$ENGINE" != kernel ] || bench_load_module
app_network
launcher
app_switches
measure without || skip "it fails without Canary, too: $(tail -n 3 complaints)"
TOOK_WITHOUT=$TOOK
BYTES_WITHOUT=$BYTES
for way in $WAYS; do
	compare "$way"
done
