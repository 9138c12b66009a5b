#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kinds.sh [--every N] [--out FILE] [core|user|kernel]...: the table of types, operators, engines
# and ways, and whether each cell of it is right. With --every it runs a sample: of each engine and
# way every N'th cell. FILE receives the cells as JSON. Exit status 0: all cells are right.
#
# core.c runs the core in simulated time, net.sh the two engines between namespaces, AF_CANARY in
# guests. They only count. table.py judges. `make kinds` and `make kinds-core` build all of them.

set -u

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(dirname "$(dirname "$HERE")")
BUILD=$TOP/build
export CANARY=${CANARY:-$BUILD/bin/canary}
EVERY=1
OUT=$BUILD/kinds.json
GUEST_SECONDS=1500

while [ $# -gt 0 ]; do
	case $1 in
	--every) EVERY=${2:?--every needs a number} ;;
	--out) OUT=${2:?--out needs a file} ;;
	*) break ;;
	esac
	shift 2
done
[ $# -gt 0 ] || set -- core user kernel
DIR=$(mktemp -d)

# end STATUS: ends what runs, which cleans up
end()
{
	local pids

	trap - EXIT
	trap '' INT TERM HUP
	pids=$(jobs -rp)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids 2>/dev/null
	wait
	rm -rf "$DIR"
	exit "$1"
}
trap 'end $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run NAME COMMAND...: in the background. Its cells are in $DIR/NAME, its messages in $DIR/NAME.log.
run()
{
	local name=$1

	shift
	"$@" >"$DIR/$name" 2>"$DIR/$name.log" &
	PIDS+=("$!:$name")
}

core()
{
	"$BUILD/selftests/kinds/core" "$EVERY" switch ring &&
		"$BUILD/selftests/kinds/core_unmerged" "$EVERY" passes
}

PIDS=()
for engine in "$@"; do
	case $engine in
	core) run core core ;;
	user) run user "$HERE/net.sh" user "$EVERY" switch ring passes ;;
	kernel)
		# A guest can load one module only.
		for ways in "switch ring" passes; do
			# shellcheck disable=SC2086
			run "kernel ${ways%% *}" "$TOP/selftests/vm/run.sh" --timeout $GUEST_SECONDS \
				--env CANARY -- "$HERE/net.sh" kernel "$EVERY" $ways
		done
		;;
	*)
		echo "usage: kinds.sh [--every N] [--out FILE] [core|user|kernel]..." >&2
		exit 2
		;;
	esac
done
for one in "${PIDS[@]}"; do
	if ! wait "${one%%:*}"; then
		echo "# ${one#*:} did not run to its end:"
		tail -n 20 "$DIR/${one#*:}.log" | sed 's/^/# /'
		: >"$DIR/failed"
	fi
done
cat "$DIR"/core "$DIR"/user "$DIR"/kernel* 2>/dev/null | grep -av '^TAP version' >"$DIR/cells" || :
"$HERE/table.py" --out "$OUT" "$DIR/cells" "$@" && [ ! -e "$DIR/failed" ]
