#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes all measurements: run.sh [--out FILE]
# [switch|emission|goodput|guest|softirq|latency|types|floats|restore|congestion|ring|fault|loss|curve|share|cpu|kernel|small|openmpi|mpich|PROGRAM]...
#
# PROGRAM is a path with a slash: another program that prints figures.
#
# It writes a JSON list of figures (see lib.sh) and prints them as a table. Figures from the
# instruction-counting guest are measured twice, and how much the two differ is a figure, too. All others wait
# for a quiet machine, and are made again if others used more than BENCH_QUIET (5) percent of its processors
# meanwhile; see quiet_lib.sh. BENCH_BUSY=1 measures even so. Nothing is asserted: the exit status is 0 unless a
# measurement could not be made. The reason is told at the end.

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
[ $# -gt 0 ] || set -- switch emission goodput guest softirq latency types floats restore congestion ring fault loss curve share cpu kernel small openmpi mpich
DIR=$(mktemp -d)
TRIES=${BENCH_TRIES:-3}	# how often a part is made, if the machine is not quiet
export BENCH_RUN=$$
# REAPER COMMAND...: orphans of the command become its children, so that it has the ticks that they used. Else
# those of MPI's daemons count as others'. 36 is PR_SET_CHILD_SUBREAPER.
REAPER=(python3 -c "import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])")

# shellcheck source=quiet_lib.sh
. "$HERE/quiet_lib.sh"

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

# measure NAME SCRIPT [ARGUMENT...]: writes its figures to $DIR/NAME, and its messages to the terminal
measure()
{
	local name=$1 script=$2

	shift 2
	echo "bench: $script${1:+ $1}" >&2
	"${REAPER[@]}" "$WITHIN" "$LIMIT" "$HERE/$script" "$@" >"$DIR/$name" &
	wait $!
}

# counted NAME SCRIPT [ARGUMENT...]: measures in the guest, where others do not matter
counted()
{
	local status=0

	measure "$@" || status=$?
	[ $status -eq 0 ] || FAILED+=("$2${3:+ $3}: status $status, see above")
}

# alone NAME SCRIPT [ARGUMENT...]: measures on a quiet machine
alone()
{
	local what=$2${3:+ $3} before others all share status try

	for ((try = 1; try <= TRIES; try++)); do
		status=0
		bench_quiet || {
			FAILED+=("$what: others use the processors")
			return
		}
		read -r _ before < <(bench_idle)
		others=$(bench_others)
		measure "$@" || status=$?
		read -r _ all < <(bench_idle)
		share=$(bench_share "$others" "$(bench_others)" $((all - before)))
		if [ "$share" -le "$BENCH_QUIET" ] || [ -n "${BENCH_BUSY:-}" ]; then
			[ $status -eq 0 ] || FAILED+=("$what: status $status, see above")
			return
		fi
		echo "bench: $what: others used $share % of the processors, run $try of $TRIES" >&2
		rm -f "$DIR/$1"
	done
	FAILED+=("$what: others used $share % of the processors in the last of $TRIES runs")
}

# twice NAME SCRIPT [ARGUMENT...]: runs two at once, as each guest has its own clock
twice()
{
	local name=$1 pid again=0

	"$WITHIN" "$LIMIT" "$HERE/$2" "${@:3}" >"$DIR/again.$name" 2>"$DIR/again.$name.err" &
	pid=$!
	counted "$@"
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
	switch) alone 1.switch switch.sh ;;
	emission) alone 2.emission emission.sh ;;
	goodput) alone 3.goodput goodput.sh user ;;
	loss) alone 9.loss fault_loss.sh ;;
	curve) alone 9.loss.curve loss_curve.sh ;;
	share) alone 9.share share.sh user ;;
	openmpi)
		alone 9.openmpi.shaped openmpi.sh shaped
		alone 9.openmpi.fast openmpi.sh fast
		;;
	cpu)
		for hosts in 2 4 8; do
			alone "9.cpu.$hosts.1500" cpu.sh $hosts 1500
			alone "9.cpu.$hosts.9000" cpu.sh $hosts 9000
		done
		;;
	kernel)
		counted 9.kernel.1500 cpu_kernel.sh 1500
		counted 9.kernel.9000 cpu_kernel.sh 9000
		;;
	small)
		for hosts in 2 4 8; do
			alone "9.small.$hosts" small.sh $hosts
		done
		;;
	mpich) alone 9.mpich.shaped mpich.sh shaped ;;
	guest)
		twice 4.guest.goodput goodput.sh kernel
		twice 5.guest.cost cost.sh
		repeatability >"$DIR/6.guest.repeat"
		;;
	softirq) counted 6.softirq softirq.sh ;;
	latency) counted 7.latency latency.sh ;;
	types)
		counted 7.types.cost types.sh cost
		counted 7.types.links types.sh links
		counted 7.types.latency types.sh latency
		;;
	floats) alone 7.floats ../../build/selftests/bench/float_speed ;;
	restore) alone 9.restore restore.sh ;;
	congestion) alone 8.congestion congestion.sh ;;
	fault) alone 8.fault fault.sh ;;
	ring)
		alone 9.ring.user ring.sh user
		counted 9.ring.kernel ring.sh kernel
		;;
	*/*) alone "9.${part##*/}" "$(realpath --relative-to="$HERE" "$part")" ;;
	*)
		echo "usage: run.sh [--out FILE] [switch|emission|goodput|guest|softirq|latency|types|floats|restore|congestion|ring|fault|loss|curve|share|cpu|kernel|small|openmpi|mpich|PROGRAM]..." >&2
		exit 2
		;;
	esac
done

mkdir -p "$(dirname "$OUT")"
rm -f "$DIR"/again.*
: >"$DIR/0"	# there may be no figures at all
cat "$DIR"/* | jq -s . >"$OUT"
jq -r '["name", "value", "unit", "baseline", "ratio"],
	(.[] | [.name, .value, .unit, .baseline // "-", .ratio // "-"]) | @tsv' "$OUT" |
	awk -F '\t' '{ printf "%-30s %10s %-10s %10s %8s\n", $1, $2, $3, $4, $5 }'
echo "# $(jq length "$OUT") figures in $OUT"
if [ ${#FAILED[@]} -gt 0 ]; then
	printf '# not measured: %s\n' "${FAILED[@]}"
	exit 1
fi
