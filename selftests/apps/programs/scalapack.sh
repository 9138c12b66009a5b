# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# ScaLAPACK: its own tests, as Debian packs them

APP_HOSTS=4
APP_ALONE=1
SCALAPACK_TESTS="xdinv xdqr xdbrd xdtrd"
APP_WHAT="ScaLAPACK, its tests ${SCALAPACK_TESTS// /, }"
APP_CHECK="each of them finishes, and none of its residual checks fails"

SCALAPACK=/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests

app_missing()
{
	[ -x "$SCALAPACK/xdlu" ] || echo "needs $SCALAPACK/xdlu (package scalapack-mpi-test)"
}

app_prepare()
{
	cp "$SCALAPACK"/*.dat .
}

app_run()
{
	local test

	for test in $SCALAPACK_TESTS; do
		app_mpi "$SCALAPACK/$test" || return 1
		cp "$TAP_TMP/said" "$test.said"
	done
}

app_right()
{
	local test bad=0

	for test in $SCALAPACK_TESTS; do
		if ! grep -Eq "^ *Finished +[1-9][0-9]* tests" "$test.said"; then
			echo "$test does not finish"
			bad=1
		fi
		if grep -E "^ *[1-9][0-9]* tests completed and failed|FAILED" "$test.said"; then
			bad=1
		fi
	done
	return $bad
}
