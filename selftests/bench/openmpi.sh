#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# openmpi: MPI_Allreduce of an unmodified program through the component of Open MPI, against the best of
# Open MPI's own algorithms for each length, on the same hosts around a switch.
#	openmpi.sh shaped|fast
# shaped: links of RATE Mbit/s (HTB at both ends). fast: as fast as this machine is. There the component is
# measured with its own threshold as well (".default"). Beside that stands what Open MPI does without it:
# below the threshold the call goes there. This is measured a second time (".again"), beside the first. What
# these two differ by is noise.
# Each column is measured ROUNDS times (these three: ROUNDS_DEFAULT), in turns that begin with another one each
# time. The median counts.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=columns_lib.sh
. "$(dirname "$0")/columns_lib.sh"

HOW=${1:-}
RATE=${RATE:-50}
ALGORITHMS=(0 3 4 5 6)	# coll_tuned_allreduce_algorithm; 0: Open MPI chooses
read -ra TYPES <<<"${TYPES:-float double}"
LAST=${LAST:-16777216}
DEFAULT=(--mca coll_canary_enable 1 --mca coll_canary_min_bytes 0)
ALL=(--mca coll_canary_enable 1 --mca coll_canary_min_bytes 1)
case $HOW in
shaped) HOSTS=8 FIRST=${FIRST:-8} ROUND=${ROUND:-100} ROUNDS=${ROUNDS:-1} ;;
fast) HOSTS=4 FIRST=${FIRST:-8} ROUND=${ROUND:-100} ROUNDS=${ROUNDS:-5}
	ROUNDS_DEFAULT=${ROUNDS_DEFAULT:-9} ;;
*) echo "usage: openmpi.sh shaped|fast" >&2; exit 2 ;;
esac

# columns FILE TYPE [OPTION...]: measures, and keeps "BYTES MICROSECONDS" in the file
columns()
{
	local file=$1 type=$2

	shift 2
	MPI_LIMIT=1800 mpi "$@" -- "$PROGRAMS/columns" "$type" "$FIRST" "$LAST" "$ROUND" ||
		bench_die "Open MPI $*: $(tail -n 5 "$TAP_TMP/complaints")"
	keep "$file"
}

# column NAME TYPE: measures one of them once
column()
{
	local name=$1 type=$2

	case $name in
	own.*) columns "$type.$name" "$type" --mca coll_tuned_use_dynamic_rules 1 \
		--mca coll_tuned_allreduce_algorithm "${name#own.}" ;;
	all) columns "$type.all" "$type" "${ALL[@]}" ;;
	without | again) columns "$type.$name" "$type" ;;
	default) columns "$type.default" "$type" "${DEFAULT[@]}" ;;
	esac
}

# rounds N TYPE NAME...: measures all of these columns N times
rounds()
{
	local n=$1 type=$2 round i

	shift 2
	for ((round = 0; round < n; round++)); do
		for ((i = 1; i <= $#; i++)); do
			column "${@:(round + i) % $# + 1:1}" "$type"
		done
	done
}

bench_start "selftests/bench/openmpi.sh $HOW"
bench_need ip tc jq ethtool mpirun.openmpi "$CANARY"
if [ ! -x "$PROGRAMS/columns" ] || [ ! -e "$COMPONENT/mca_coll_canary.so" ]; then
	bench_die "needs libopenmpi-dev, and make openmpi test-openmpi"
fi
network "$HOW"
for type in "${TYPES[@]}"; do
	rounds "$ROUNDS" "$type" "${ALGORITHMS[@]/#/own.}" all
	own=("${ALGORITHMS[@]/#/$type.own.}")
	figures "openmpi.$HOW.$type" "$type.all" \
		"$NETWORK; baseline: the best of Open MPI's own algorithms" "${own[@]}"
	[ "$HOW" = fast ] || continue
	rounds "$ROUNDS_DEFAULT" "$type" without default again
	figures "openmpi.$HOW.$type.default" "$type.default" \
		"$NETWORK, with the threshold that is measured; baseline: without Canary" "$type.without"
	figures "openmpi.$HOW.$type.again" "$type.again" \
		"$NETWORK, without Canary; baseline: the same" "$type.without"
done
