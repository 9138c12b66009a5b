#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs one test again and again while other processes keep the processors busy. A test that assumes
# a fast machine fails here.

set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
TIMES=30
BUSY=2
LIMIT=3600
GUEST=0

usage()
{
	cat <<-END
	usage: selftests/repeat.sh [-g] [-n TIMES] [-b BUSY] [-t SECONDS] TEST [ARGUMENT...]

	  TEST        a file of selftests/net, kmod or vm; what is in kmod runs in the guest
	              (selftests/kmod/api_call: the program that is built of it)
	  -g          in the guest
	  -n TIMES    runs ($TIMES)
	  -b BUSY     processes that keep processors busy meanwhile ($BUSY)
	  -t SECONDS  a run that takes longer has failed ($LIMIT)

	Logs of runs that failed stay in build/repeat. Exit status: 0 if none failed.
	END
}

while getopts gn:b:t:h option; do
	case $option in
	g) GUEST=1 ;;
	n) TIMES=$OPTARG ;;
	b) BUSY=$OPTARG ;;
	t) LIMIT=$OPTARG ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
for number in "$TIMES" "$BUSY" "$LIMIT"; do
	[[ $number =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
done
[ $# -gt 0 ] || { usage >&2; exit 2; }
TEST=$(realpath -m "$1")
shift
[ -x "$TEST" ] || [ -x "$TOP/build/${TEST#"$TOP/"}" ] || { echo "repeat: no test $TEST" >&2; exit 2; }

# The command of the test
case $TEST in
"$TOP"/selftests/kmod/load.sh)
	RUN=("$TOP/selftests/vm/run.sh" --smp2 --timeout "$LIMIT" -- "$TEST" "$@") ;;
"$TOP"/selftests/kmod/*)
	RUN=("$TOP/selftests/vm/run.sh" --timeout "$LIMIT" -- "$TOP/selftests/kmod/guest.sh" "${TEST##*/}") ;;
*)
	RUN=("$TEST" "$@")
	[ $GUEST -eq 0 ] || RUN=("$TOP/selftests/vm/run.sh" --timeout "$LIMIT" -- "${RUN[@]}") ;;
esac
NAME=$(basename "$(dirname "$TEST")")-$(basename "$TEST" .sh)
LOGS=$TOP/build/repeat
mkdir -p "$LOGS"
LOG=$LOGS/$NAME.$$.log

PIDS=()
end()
{
	trap - EXIT
	[ ${#PIDS[@]} -eq 0 ] || kill "${PIDS[@]}" 2>/dev/null
	wait
	rm -f "$LOG"
	exit "$1"
}
trap 'end $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for ((i = 0; i < BUSY; i++)); do
	setpriv --pdeathsig KILL bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
	PIDS+=("$!")
done

failed=0
for ((i = 1; i <= TIMES; i++)); do
	begin=$SECONDS
	"$TOP/tools/limit.sh" "$((LIMIT + 60))" "${RUN[@]}" >"$LOG" 2>&1 </dev/null &
	PIDS[BUSY]=$!
	wait "${PIDS[BUSY]}"
	status=$?
	unset 'PIDS[BUSY]'
	said=$(grep -E '^# [^:]+: [0-9]+ passed, ' "$LOG" | tail -n 1)
	if [ $status -eq 0 ] && [ -n "$said" ]; then
		echo "run $i of $TIMES, $((SECONDS - begin)) s: ${said#\# }"
		continue
	fi
	failed=$((failed + 1))
	cp "$LOG" "$LOGS/$NAME.failed.$failed.log"
	echo "run $i of $TIMES, $((SECONDS - begin)) s: FAILED, status $status, see $LOGS/$NAME.failed.$failed.log"
	grep -E '^not ok' "$LOG" | sed 's/^/    /'
done
echo "$NAME: $TIMES runs beside $BUSY busy processes, $failed failed"
[ $failed -eq 0 ]
