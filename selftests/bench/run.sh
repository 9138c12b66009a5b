#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes all measurements: run.sh [--out FILE]
# [switch|emission|goodput|guest|softirq|latency|types|floats|restore|congestion|ring|fault|loss|curve|share|cpu|small|openmpi|mpich]...
#
# It writes a JSON list of figures (see lib.sh) and prints them as a table. Figures from the
# instruction-counting guest are measured twice, and how much the two differ is a figure, too.
# Nothing is asserted: the exit status is 0 unless a measurement could not be made.

set -eu -o pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
OUT=$HERE/../../build/bench.json
FAILED=()
# Seconds after which a measurement counts as hanging
LIMIT=${BENCH_LIMIT:-3600}
WITHIN=$HERE/../../tools/limit.sh

if [ "${1:-}" = --out ]; then
	OUT=${2:?--out needs a file}
	shift 2
fi
[ $# -gt 0 ] || set -- switch emission goodput guest softirq latency types floats restore congestion ring fault loss curve share cpu small openmpi mpich
DIR=$(mktemp -d)

# end STATUS: ends running measurements, which clean up
end()
{
	local status=$1 pids

	set +e
	trap - EXIT
	trap '' INT TERM HUP
	pids=$(jobs -rp)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids
	wait
	rm -rf "$DIR"
	exit "$status"
}
trap 'end $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run NAME SCRIPT [ARGUMENT...]: writes its figures to $DIR/NAME, and its messages to the terminal
run()
{
	local name=$1 script=$2

	shift 2
	echo "bench: $script${1:+ $1}" >&2
	"$WITHIN" "$LIMIT" "$HERE/$script" "$@" >"$DIR/$name" &
	wait $! || {
		echo "bench: $script${1:+ $1} could not be measured (status $?)" >&2
		FAILED+=("$script${1:+ $1}")
	}
}

# twice NAME SCRIPT [ARGUMENT...]: runs two at once, as each guest has its own clock
twice()
{
	local name=$1 pid again=0

	"$WITHIN" "$LIMIT" "$HERE/$2" "${@:3}" >"$DIR/again.$name" 2>"$DIR/again.$name.err" &
	pid=$!
	run "$@"
	wait $pid || again=$?
	[ $again -eq 0 ] || {
		cat "$DIR/again.$name.err" >&2
		FAILED+=("$2${3:+ $3}, the second time")
	}
}

# repeatability: a figure: the largest difference of all values that were measured twice
repeatability()
{
	jq -cs --slurpfile again <(cat "$DIR"/again.*[!r]) '
		def differ($x; $y): if $x and $y then ($x - $y) / $y * 100 | fabs else 0 end;
		[.[] as $a | $again[] | select(.name == $a.name) |
		 {name, percent: ([differ(.value; $a.value), differ(.baseline; $a.baseline)] | max)}] |
		if length == 0 then empty else max_by(.percent) |
		(.percent * 1000 | round / 1000) as $percent |
		{name: "guest.repeatability", value: $percent, unit: "%", baseline: 1, ratio: $percent,
		 command: "selftests/bench/run.sh guest",
		 note: "largest difference between two runs (\(.name)); baseline: the limit"} end' \
		"$DIR"/4.guest.goodput "$DIR"/5.guest.cost
}

for part in "$@"; do
	case $part in
	switch) run 1.switch switch.sh ;;
	emission) run 2.emission emission.sh ;;
	goodput) run 3.goodput goodput.sh user ;;
	loss) run 9.loss fault_loss.sh ;;
	curve) run 9.loss.curve loss_curve.sh ;;
	share) run 9.share share.sh user ;;
	openmpi)
		run 9.openmpi.shaped openmpi.sh shaped
		run 9.openmpi.fast openmpi.sh fast
		;;
	cpu)
		for hosts in 2 4 8; do
			run "9.cpu.$hosts.1500" cpu.sh $hosts 1500
			run "9.cpu.$hosts.9000" cpu.sh $hosts 9000
		done
		;;
	small)
		for hosts in 2 4 8; do
			run "9.small.$hosts" small.sh $hosts
		done
		;;
	mpich) run 9.mpich.shaped mpich.sh shaped ;;
	guest)
		twice 4.guest.goodput goodput.sh kernel
		twice 5.guest.cost cost.sh
		repeatability >"$DIR/6.guest.repeat"
		;;
	softirq) run 6.softirq softirq.sh ;;
	latency) run 7.latency latency.sh ;;
	types)
		run 7.types.cost types.sh cost
		run 7.types.links types.sh links
		run 7.types.latency types.sh latency
		;;
	floats) run 7.floats ../../build/selftests/bench/float_speed ;;
	restore) run 9.restore restore.sh ;;
	congestion) run 8.congestion congestion.sh ;;
	fault) run 8.fault fault.sh ;;
	ring)
		run 9.ring.user ring.sh user
		run 9.ring.kernel ring.sh kernel
		;;
	*)
		echo "usage: run.sh [--out FILE] [switch|emission|goodput|guest|softirq|latency|types|floats|restore|congestion|ring|fault|loss|curve|share|cpu|small|openmpi|mpich]..." >&2
		exit 2
		;;
	esac
done

mkdir -p "$(dirname "$OUT")"
rm -f "$DIR"/again.*
cat "$DIR"/* | jq -s . >"$OUT"
jq -r '["name", "value", "unit", "baseline", "ratio"],
	(.[] | [.name, .value, .unit, .baseline // "-", .ratio // "-"]) | @tsv' "$OUT" |
	awk -F '\t' '{ printf "%-30s %10s %-10s %10s %8s\n", $1, $2, $3, $4, $5 }'
echo "# $(jq length "$OUT") figures in $OUT"
if [ ${#FAILED[@]} -gt 0 ]; then
	printf '# not measured: %s\n' "${FAILED[@]}"
	exit 1
fi
