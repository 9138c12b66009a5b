# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Programs of Open MPI across hosts around a switch

# shellcheck source=selftests/mpi/mpi_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/mpi_lib.sh"

COMPONENT=$TAP_TOP/build/lib/openmpi
# shellcheck disable=SC2034
PROGRAMS=$TAP_TOP/build/selftests/mpi

# begin NAME: begins a test: programs, hosts
begin()
{
	tap_start "$1"
	need_program mpirun.openmpi
	[ -e "$COMPONENT/mca_coll_canary.so" ] ||
		tap_skip_all "needs Open MPI's headers (package libopenmpi-dev), and make openmpi"
	hosts_up
	launcher
}

# launcher: sets MCA, the options of mpirun
launcher()
{
	agent
	# shellcheck disable=SC2054
	MCA=(--mca plm_rsh_agent "$TAP_TMP/agent" --mca plm_rsh_no_tree_spawn 1
		--mca btl tcp,self --mca pml ob1
		--mca btl_tcp_if_include 10.77.0.0/16 --mca oob_tcp_if_include 10.77.0.0/16
		# mpirun notices a daemon that ends, and cleans up after it
		--mca orte_leave_session_attached 1 --mca orte_tmpdir_base "$TAP_TMP"
		# processors are shared, so waiting ranks must not spin
		--mca mpi_yield_when_idle 1
		# additions of 8 and 16 bits by AVX saturate in Open MPI 4.1.4
		--mca op ^avx
		--mca mca_base_component_path "SYSTEM_DEFAULT:$COMPONENT"
		--mca coll_canary_table 1)
	export OMPI_MCA_coll_canary_trial=60000
	# measured thresholds would be others each time
	export OMPI_MCA_coll_canary_min_bytes=16384
}

# mpi [OPTION...] -- PROGRAM [ARGUMENT...]: runs a program on all hosts, as on_host0, with PER_HOST ranks
# each
mpi()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	on_host0 mpirun.openmpi --allow-run-as-root --oversubscribe "${MCA[@]}" \
		--host "$(hosts "${PER_HOST:-1}")" "${options[@]}" "$@"
}

# halves VARIABLE=VALUE PROGRAM...: runs it with a variable of the last two hosts. Parameters on mpirun's
# command line would be those of all hosts.
halves()
{
	local variable=$1

	shift
	on_host0 mpirun.openmpi --allow-run-as-root --oversubscribe "${MCA[@]}" \
		--host 10.77.0.2:1,10.77.1.2:1 -n 2 -x OMPI_MCA_coll_canary_enable=1 "$@" : \
		--host 10.77.2.2:1,10.77.3.2:1 -n 2 -x OMPI_MCA_coll_canary_enable=1 \
		-x "$variable" "$@"
}

# split DESCRIPTION VARIABLE=VALUE -- PROGRAM...: as right, with a variable of the last two hosts
split()
{
	local what=$1 variable=$2

	shift 3
	right_by "$what" halves "$variable" "$@"
}
