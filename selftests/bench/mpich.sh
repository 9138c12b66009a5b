#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# mpich: MPI_Allreduce of an unmodified program through the library that is loaded before it, against the
# best of MPICH's own algorithms for each length, on the same hosts around a switch.
#	mpich.sh shaped
# shaped: links of RATE Mbit/s (HTB at both ends), 16 bytes to LAST

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../mpi/mpich_lib.sh
. "$(dirname "$0")/../mpi/mpich_lib.sh"
# shellcheck source=columns_lib.sh
. "$(dirname "$0")/columns_lib.sh"

HOW=${1:-}
RATE=${RATE:-50}
ALGORITHMS=(auto recursive_doubling reduce_scatter_allgather)	# MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM
HOSTS=4 FIRST=16 LAST=${LAST:-16777216} TYPE=float ROUND=${ROUND:-200}
# These hosts share memory, which hosts on a network do not.
# shellcheck disable=SC2054
TCP=(UCX_TLS=tcp,self UCX_NET_DEVICES=eth0)
[ "$HOW" = shaped ] || { echo "usage: mpich.sh shaped" >&2; exit 2; }

ended()
{
	grep -q "^$LAST " "$TAP_TMP/said" || ! kill -0 "$1" 2>/dev/null
}

# columns FILE [VARIABLE=VALUE...]: measures, and writes "BYTES MICROSECONDS" to the file. MPICH may hang in
# MPI_Finalize, when all has been printed.
columns()
{
	local file=$1 options=() variable pid

	shift
	for variable in "${TCP[@]}" "$@"; do
		options+=(-genv "${variable%%=*}" "${variable#*=}")
	done
	: >"$TAP_TMP/said"
	bg ns_exec h0 unshare --uts sh -c 'hostname host0 && exec "$@"' sh \
		mpiexec.mpich "${HYDRA[@]}" -hosts "$(hosts 1)" "${options[@]}" -n "$HOSTS" \
		"$PROGRAMS/columns" "$TYPE" "$FIRST" "$LAST" "$ROUND" \
		</dev/null >"$TAP_TMP/said" 2>"$TAP_TMP/complaints"
	pid=$!
	wait_for 500 ended "$pid"
	sleep 2
	bg_stop "$pid" || :
	grep -q "^$LAST " "$TAP_TMP/said" ||
		bench_die "MPICH $*: $(tail -n 5 "$TAP_TMP/complaints")"
	keep "$file"
}

bench_start "selftests/bench/mpich.sh $HOW"
bench_need ip tc jq ethtool mpiexec.mpich "$CANARY"
if [ ! -x "$PROGRAMS/columns" ] || [ ! -e "$PRELOAD" ]; then
	bench_die "needs libmpich-dev, and make mpich test-mpich"
fi
network "$HOW"
for algorithm in "${ALGORITHMS[@]}"; do
	columns "own.$algorithm" MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM="$algorithm"
done
columns all "${ON[@]}" CANARY_MIN_BYTES=1
figures "mpich.$HOW.$TYPE" all \
	"$NETWORK; baseline: the best of MPICH's own algorithms" "${ALGORITHMS[@]/#/own.}"
