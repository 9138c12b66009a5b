#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of Debian, as they are: HPCC and LAMMPS on four hosts around a switch, with sums of all
# lengths by Canary. HPCC checks itself. LAMMPS has to print what it prints without Canary.

# shellcheck source=selftests/mpi/openmpi_lib.sh
. "$(dirname "$0")/openmpi_lib.sh"

ON=(--mca coll_canary_enable 1 --mca coll_canary_min_bytes 1 --mca coll_canary_barrier 1)

# HPL of 200 unknowns on 2 x 2 processes, and short forms of the other parts
hpcc_input()
{
	cat >"$TAP_TMP/hpccinf.txt" <<-'END'
	HPLinpack benchmark input file
	Innovative Computing Laboratory, University of Tennessee
	HPL.out output file name (if any)
	8 device out (6=stdout,7=stderr,file)
	1 # of problems sizes (N)
	200 Ns
	1 # of NBs
	40 NBs
	0 PMAP process mapping (0=Row-,1=Column-major)
	1 # of process grids (P x Q)
	2 Ps
	2 Qs
	16.0 threshold
	1 # of panel fact
	2 PFACTs (0=left, 1=Crout, 2=Right)
	1 # of recursive stopping criterium
	4 NBMINs (>= 1)
	1 # of panels in recursion
	2 NDIVs
	1 # of recursive panel fact.
	1 RFACTs (0=left, 1=Crout, 2=Right)
	1 # of broadcast
	1 BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
	1 # of lookahead depth
	1 DEPTHs (>=0)
	2 SWAP (0=bin-exch,1=long,2=mix)
	64 swapping threshold
	0 L1 in (0=transposed,1=no-transposed) form
	0 U in (0=transposed,1=no-transposed) form
	1 Equilibration (0=no,1=yes)
	8 memory alignment in double (> 0)
	##### This line (no. 32) is ignored (it serves as a separator). ######
	0 Number of additional problem sizes for PTRANS
	1200 values of N
	0 number of additional blocking sizes for PTRANS
	40 values of NB
	END
}

lammps_input()
{
	cat >"$TAP_TMP/melt" <<-'END'
	units lj
	atom_style atomic
	lattice fcc 0.8442
	region box block 0 6 0 6 0 6
	create_box 1 box
	create_atoms 1 box
	mass 1 1.0
	velocity all create 3.0 87287
	pair_style lj/cut 2.5
	pair_coeff 1 1 1.0 1.0 2.5
	neighbor 0.3 bin
	neigh_modify every 20 delay 0 check no
	fix 1 all nve
	thermo 10
	run 50
	END
}

# numbers: prints step, temperature, energies and pressure that LAMMPS printed
numbers()
{
	awk '$1 ~ /^[0-9]+$/ && NF == 6 { print $1, $2, $3, $4, $5, $6 }' "$TAP_TMP/said"
}

begin mpi/openmpi_apps
start_switch
cd "$TAP_TMP" || exit 1
if command -v hpcc >/dev/null; then
	hpcc_input
	tap_check "HPCC runs" mpi "${ON[@]}" -- hpcc
	tap_check "its HPL passed" grep -q "^ *1 tests completed and passed residual checks" hpccoutf.txt
	tap_check "all of it succeeded" grep -qx "Success=1" hpccoutf.txt
	some "sums of it went through Canary" "$(calls allreduce canary)"
	grep "^canary:" "$TAP_TMP/complaints" | tap_diag
else
	tap_skip "HPCC" "needs hpcc"
fi
if command -v lmp >/dev/null; then
	lammps_input
	tap_check "LAMMPS runs without Canary" mpi -- lmp -in melt -log none
	numbers >expected
	tap_check "LAMMPS runs with Canary" mpi "${ON[@]}" -- lmp -in melt -log none
	numbers >got
	tap_is "it printed some lines" "$(wc -l <expected)" 6
	tap_check "and the same ones" cmp expected got
	some "sums of it went through Canary" "$(calls allreduce canary)"
	grep "^canary:" "$TAP_TMP/complaints" | tap_diag
else
	tap_skip "LAMMPS" "needs lammps"
fi
some "the switch added up contributions" "$(counter merged)"
tap_done
