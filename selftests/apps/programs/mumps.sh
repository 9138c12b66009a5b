# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# MUMPS: its examples dsimpletest and ssimpletest, which solve the equations of a file

APP_HOSTS=4
APP_ALONE=1
APP_WHAT="MUMPS, its example and 10000 equations (a 100 x 100 grid), in double and single precision"
APP_CHECK="the solutions are 1 2 3 4 5, and 1 everywhere; to 1e-6 in double, 1e-2 in single precision"

MUMPS=/usr/lib/mumps

app_missing()
{
	[ -x "$MUMPS/dsimpletest" ] || echo "needs $MUMPS/dsimpletest (package mumps-test)"
}

# Five points of a grid; the right side is that of a solution of ones.
app_prepare()
{
	awk -v n=100 'function add(i, j, v) { out[++nz] = i " " j " " v; sum[i] += v }
		BEGIN {
			for (y = 0; y < n; y++)
				for (x = 0; x < n; x++) {
					i = y * n + x + 1
					add(i, i, "4.5")
					if (x) add(i, i - 1, "-1.0")
					if (x < n - 1) add(i, i + 1, "-1.0")
					if (y) add(i, i - n, "-1.0")
					if (y < n - 1) add(i, i + n, "-1.0")
				}
			print n * n " :N"
			print nz " :NZ"
			for (i = 1; i <= nz; i++) print out[i]
			for (i = 1; i <= n * n; i++) printf "%.1f\n", sum[i]
		}' >grid
}

app_run()
{
	local test

	for test in dsimpletest ssimpletest; do
		# Only rank 0 reads it.
		app_mpi "$MUMPS/$test" <"$MUMPS/input_simpletest_real" || return 1
		cp "$TAP_TMP/said" "$test.small"
		app_mpi "$MUMPS/$test" <grid || return 1
		cp "$TAP_TMP/said" "$test.grid"
	done
}

# solution FILE: prints the numbers behind "Solution is", one a line
solution()
{
	sed -n 's/^ *[Ss]olution is//p' "$1" | tr -s ' ' '\n' | grep .
}

app_right()
{
	local test tolerance=1e-6

	seq 5 >small
	awk 'BEGIN { for (i = 0; i < 10000; i++) print 1 }' >ones
	for test in dsimpletest ssimpletest; do
		solution "$test.small" | app_near $tolerance small /dev/stdin || return 1
		solution "$test.grid" | app_near $tolerance ones /dev/stdin || return 1
		tolerance=1e-2
	done
}
