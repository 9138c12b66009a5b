# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# HPCC: HPL, PTRANS, RandomAccess, FFT, STREAM, DGEMM, latency and bandwidth

APP_HOSTS=16
APP_ALONE=1
APP_RATE=1000	# what it measures of links takes long on slow ones
APP_WHAT="HPCC, all parts, HPL of 400 unknowns"
[ -z "${SHORT:-}" ] || APP_WHAT="HPCC, all parts, HPL of 200 unknowns"
APP_CHECK="HPL passes its residual checks, and HPCC says that all of it succeeded"

app_missing()
{
	command -v hpcc >/dev/null || echo "needs hpcc"
}

app_prepare()
{
	local unknowns=400 side=4

	[ -z "${SHORT:-}" ] || unknowns=200 side=2
	cat >hpccinf.txt <<-END
	HPLinpack benchmark input file
	Innovative Computing Laboratory, University of Tennessee
	HPL.out output file name (if any)
	8 device out (6=stdout,7=stderr,file)
	1 # of problems sizes (N)
	$unknowns Ns
	1 # of NBs
	40 NBs
	0 PMAP process mapping (0=Row-,1=Column-major)
	1 # of process grids (P x Q)
	$side Ps
	$side Qs
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

app_run()
{
	app_mpi hpcc
}

app_right()
{
	grep -q "^ *1 tests completed and passed residual checks" hpccoutf.txt ||
		echo "HPL did not pass its residual checks"
	grep -qx "Success=1" hpccoutf.txt || echo "no Success=1"
	grep -qx "Success=1" hpccoutf.txt &&
		grep -q "^ *1 tests completed and passed residual checks" hpccoutf.txt
}
