# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Programs of MPICH across hosts around a switch

# shellcheck source=selftests/mpi/mpi_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/mpi_lib.sh"

PRELOAD=$TAP_TOP/build/lib/canary/libcanary-mpich.so
# shellcheck disable=SC2034
PROGRAMS=$TAP_TOP/build/selftests/mpich
# shellcheck disable=SC2034
ON=(LD_PRELOAD="$PRELOAD")

# begin NAME: begins a test: programs, hosts
begin()
{
	tap_start "$1"
	need_program mpiexec.mpich
	[ -e "$PRELOAD" ] || tap_skip_all "needs MPICH's headers (package libmpich-dev), and make mpich"
	hosts_up
	launcher
}

# launcher: sets HYDRA, the options of mpiexec. UCX finds the memory that these hosts share, and
# MPICH's own messages go there. Over TCP, MPICH 4.0.2 sometimes hangs in MPI_Finalize, also without
# Canary.
launcher()
{
	agent
	HYDRA=(-launcher ssh -launcher-exec "$TAP_TMP/agent" -localhost 10.77.0.2
		-genv CANARY_TABLE 1)
	export CANARY_TRIAL=60000
	# measured thresholds would be others each time
	export CANARY_MIN_BYTES=16384
}

# mpi [VARIABLE=VALUE...] -- PROGRAM [ARGUMENT...]: runs a program on all hosts, as on_host0, with
# PER_HOST ranks each
mpi()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=(-genv "${1%%=*}" "${1#*=}")
		shift
	done
	shift
	on_host0 mpiexec.mpich "${HYDRA[@]}" -hosts "$(hosts "${PER_HOST:-1}")" "${options[@]}" \
		-n $((HOSTS * ${PER_HOST:-1})) "$@" </dev/null
}
