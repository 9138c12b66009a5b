#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# openmpi: MPI_Allreduce of an unmodified program through the component of Open MPI, against the best of
# Open MPI's own algorithms for each length, on the same hosts around a switch.
#	openmpi.sh shaped|fast
# shaped: links of RATE Mbit/s (HTB at both ends). fast: as fast as this machine is, with the measured
# threshold, and with all lengths through Canary.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "$0")/../mpi/openmpi_lib.sh"
# shellcheck source=columns_lib.sh
. "$(dirname "$0")/columns_lib.sh"

HOW=${1:-}
RATE=${RATE:-50}
ALGORITHMS=(0 3 4 5 6)	# coll_tuned_allreduce_algorithm; 0: Open MPI chooses
ALL=(--mca coll_canary_enable 1 --mca coll_canary_min_bytes 1)
case $HOW in
shaped) HOSTS=8 FIRST=16384 LAST=1048576 TYPES=(float double) ROUND=300 ;;
fast) HOSTS=4 FIRST=8 LAST=524288 TYPES=(double) ROUND=100 ;;
*) echo "usage: openmpi.sh shaped|fast" >&2; exit 2 ;;
esac

# columns FILE TYPE [OPTION...]: measures, and writes "BYTES MICROSECONDS" to the file
columns()
{
	local file=$1 type=$2

	shift 2
	MPI_LIMIT=900 mpi "$@" -- "$PROGRAMS/columns" "$type" "$FIRST" "$LAST" "$ROUND" ||
		bench_die "Open MPI $*: $(tail -n 5 "$TAP_TMP/complaints")"
	cp "$TAP_TMP/said" "$TAP_TMP/$file"
}

bench_start "selftests/bench/openmpi.sh $HOW"
bench_need ip tc jq ethtool mpirun.openmpi "$CANARY"
if [ ! -x "$PROGRAMS/columns" ] || [ ! -e "$COMPONENT/mca_coll_canary.so" ]; then
	bench_die "needs libopenmpi-dev, and make openmpi test-openmpi"
fi
network "$HOW"
for type in "${TYPES[@]}"; do
	for algorithm in "${ALGORITHMS[@]}"; do
		columns "own.$algorithm" "$type" --mca coll_tuned_use_dynamic_rules 1 \
			--mca coll_tuned_allreduce_algorithm "$algorithm"
	done
	columns all "$type" "${ALL[@]}"
	figures "openmpi.$HOW.$type" all "$NETWORK; baseline: the best of Open MPI's own algorithms"
	if [ "$HOW" = fast ]; then
		columns default "$type" --mca coll_canary_enable 1 --mca coll_canary_min_bytes 0
		figures "openmpi.$HOW.$type.default" default "likewise, with the threshold that is measured"
	fi
done
