#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs the project's tests, two at a time, and adds up: test.sh NAME...
# Each is the make target test-NAME, prints TAP and ends with a line
# "# NAME: N passed, N failed[, N skipped]"; a test without that line has failed. The last line
# is "N passed, N failed", or has ", N skipped" behind it.

set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
cd "$TOP" || exit 1
LOGS=build/test
JOBS=${TEST_JOBS:-2}
# Seconds after which a test counts as hanging, and limit for all of them
LIMIT=${TEST_LIMIT:-1200}
LIMIT_ALL=${TEST_LIMIT_ALL:-4200}
mkdir -p $LOGS

# run_one NAME: runs a test; whatever ends this process ends all that the test started
run_one()
{
	local name=$1 begin=$SECONDS limit=$LIMIT status=124 pid

	[ $((LIMIT_ALL - begin)) -ge "$limit" ] || limit=$((LIMIT_ALL - begin))
	[ "$limit" -gt 0 ] || limit=0
	: >"$LOGS/$name.log"
	if [ "$limit" -ne 0 ]; then
		tools/limit.sh "$limit" make -s "test-$name" >"$LOGS/$name.log" 2>&1 </dev/null &
		pid=$!
		trap 'kill "$pid" 2>/dev/null' TERM
		while wait "$pid"; status=$?; kill -0 "$pid" 2>/dev/null; do
			:
		done
	fi
	case $status in
	124 | 137) echo "not ok - test-$name ends within $limit s, $begin s after the first began" \
		>>"$LOGS/$name.log" ;;
	esac
	echo $status >"$LOGS/$name.status"
	# The output of a test is written at once, so that two tests do not mix.
	{
		echo "== $name ($((SECONDS - begin)) s, status $status)"
		cat "$LOGS/$name.log"
	} >"$LOGS/$name.out"
	cat "$LOGS/$name.out"
}

# end STATUS: ends the running tests, which clean up
end()
{
	local pids

	pids=$(jobs -rp)
	trap '' INT TERM HUP
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids 2>/dev/null
	wait
	exit "$1"
}
trap 'end 130' INT
trap 'end 143' TERM HUP

rm -f $LOGS/*.log $LOGS/*.status $LOGS/*.out
echo "running ${#} tests, $JOBS at a time; logs in $LOGS: $*"
for name in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
		wait -n
	done
	run_one "$name" &
done
wait

passed=0
failed=0
skipped=0
for name in "$@"; do
	status=$(cat "$LOGS/$name.status" 2>/dev/null || echo 255)
	bad=0
	lines=0
	while read -r p f s; do
		lines=$((lines + 1))
		passed=$((passed + p))
		failed=$((failed + f))
		skipped=$((skipped + s))
		bad=$((bad + f))
	done < <(sed -nE 's/^# [^:]+: ([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?.*/\1 \2 0\4/p' \
		"$LOGS/$name.log" 2>/dev/null)
	if [ $lines -eq 0 ] || { [ "$status" -ne 0 ] && [ $bad -eq 0 ]; }; then
		echo "test $name: status $status and $lines summaries: counted as failed"
		failed=$((failed + 1))
		bad=1
	fi
	[ $bad -eq 0 ] || grep -E '^not ok' "$LOGS/$name.log" | sed "s/^/$name: /"
done
if [ $skipped -gt 0 ]; then
	grep -hE '# SKIP' $LOGS/*.log
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ $failed -eq 0 ] && [ $passed -gt 0 ]
