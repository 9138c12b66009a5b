#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs the project's tests, two at a time, the longest first, and adds up: test.sh NAME... One that
# mostly waits runs beside them.
# Each is the make target test-NAME, prints TAP and ends with a line
# "# NAME: N passed, N failed[, N skipped]"; a test without that line has failed. The last line
# is "N passed, N failed", or has ", N skipped" behind it.

set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
cd "$TOP" || exit 1
LOGS=build/test
JOBS=${TEST_JOBS:-2}
BESIDE=${TEST_BESIDE:-$((JOBS / 2))}
# Seconds after which a test counts as hanging, and limit for all of them
LIMIT=${TEST_LIMIT:-1200}
LIMIT_ALL=${TEST_LIMIT_ALL:-4200}
# Tests that take minutes, the longest first: a long one that starts late runs alone at the end.
# The lines "== NAME" say what each takes.
LONG="matrix core kmod user congestion matrix-guest vm kinds sim kselftest torch fault-matrix
	reproducible topology switch kernels fault-guest mpich xgboost openmpi switch-guest fuzz
	hostile-guest timeout kmod-smp"
# These use a processor for less than half of their time.
WAITING="matrix user settings config unit recover backlog"
mkdir -p $LOGS

# in_order NAME...: prints these names in the order in which they start
in_order()
{
	local name

	for name in $LONG; do
		[[ " $* " != *" $name "* ]] || echo "$name"
	done
	for name in "$@"; do
		[[ " ${LONG//[[:space:]]/ } " == *" $name "* ]] || echo "$name"
	done
}

# run_one NAME: runs a test; whatever ends this process ends all that the test started
run_one()
{
	local name=$1 begin=$SECONDS limit=$LIMIT status=124 used pid

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
	# times is for this shell: a pipe would be another one
	times >"$LOGS/$name.times"
	used=$(awk -F '[ms ]+' 'NR == 2 { printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }' "$LOGS/$name.times")
	# The output of a test is written at once, so that two tests do not mix.
	{
		echo "== $name ($((SECONDS - begin)) s, $used s of processors, status $status)"
		cat "$LOGS/$name.log"
	} >"$LOGS/$name.out"
	cat "$LOGS/$name.out"
}

# start_next: starts the first test of QUEUE that may run now; fails if none may
start_next()
{
	local pid name i busy=0 waiting=0 may

	for pid in $(jobs -rp); do
		if [[ " $WAITING " == *" ${STARTED[$pid]} "* ]]; then
			waiting=$((waiting + 1))
		else
			busy=$((busy + 1))
		fi
	done
	may=$((JOBS + BESIDE - busy))	# if all that is left waits
	for name in "${QUEUE[@]}"; do
		[[ " $WAITING " == *" $name "* ]] || may=$BESIDE
	done
	for i in "${!QUEUE[@]}"; do
		name=${QUEUE[i]}
		if [[ " $WAITING " == *" $name "* ]]; then
			[ $waiting -lt "$may" ] || continue
		else
			[ $busy -lt "$JOBS" ] || continue
		fi
		unset "QUEUE[i]"
		run_one "$name" &
		STARTED[$!]=$name
		return 0
	done
	return 1
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

rm -f $LOGS/*.log $LOGS/*.status $LOGS/*.out $LOGS/*.times
mapfile -t names < <(in_order "$@")
set -- "${names[@]}"
echo "running ${#} tests, $JOBS at a time and $BESIDE that waits; logs in $LOGS: $*"
QUEUE=("$@")
declare -A STARTED	# names of the tests that run, by process
while [ ${#QUEUE[@]} -gt 0 ]; do
	start_next || wait -n
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
