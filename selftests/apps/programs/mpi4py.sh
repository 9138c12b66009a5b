# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# mpi4py: its own tests. Debian's package has none: they are in its source (apt-get source mpi4py).

APP_HOSTS=4
APP_WAYS=all	# its vectors are short
APP_WHAT="mpi4py, its own tests of collectives, operators, communicators and requests"
APP_CHECK="as many tests run as without Canary, and none fails that passes without it"

# Others call nothing that Canary has, or the same once more: vectors, neighbours, messages, files.
TESTS=${TESTS:-test_(cco_buf|cco_nb_buf|cco_obj$|op$|comm$|request|objmodel)}
ONLY=()
if [ -n "${SHORT:-}" ]; then
	APP_WHAT="mpi4py, its own tests of allreduces"
	TESTS='test_cco_(buf|nb_buf)$'
	ONLY=(-k llreduce)
fi
MPI4PY=${MPI4PY:-$TAP_TOP/build/source/mpi4py}

app_missing()
{
	if ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
		echo "needs mpi4py (package python3-mpi4py)"
	elif [ ! -e "$MPI4PY/test/runtests.py" ]; then
		echo "no tests in $MPI4PY: tools/setup/setup.sh source mpi4py, or set MPI4PY to its source"
	fi
}

app_prepare()
{
	:
}

app_run()
{
	app_mpi /usr/bin/python3 "$MPI4PY/test/runtests.py" -v --no-builddir -i "$TESTS" "${ONLY[@]}"
}

# outcomes FILE: prints the tests of all ranks that ran, and how they ended; without those of Canary
outcomes()
{
	grep -aE '^(Ran [0-9]+ tests|OK|FAILED|ERROR:|FAIL:)' "$1" | sed 's/ in [0-9.]*s$//' | sort
}

app_right()
{
	local ran

	ran=$(outcomes complaints)
	grep -q "^Ran [1-9]" <<<"$ran" || { echo "no test ran"; return 1; }
	diff <(outcomes "$1/complaints") - <<<"$ran"
}
