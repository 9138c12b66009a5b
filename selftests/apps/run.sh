#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs unmodified programs with and without Canary, and writes what came out: see usage.

set -u -o pipefail

# shellcheck source=selftests/apps/app_lib.sh
. "$(dirname "$0")/app_lib.sh"

OUT=$TAP_TOP/build/apps.json
ALL=(lammps hpcc gromacs mumps scalapack mpi4py torch-digits torch-text xgboost kernel:lammps
	kernel:mpi4py)
LIMIT=${APPS_LIMIT:-1800}
KEEP=

usage()
{
	cat <<-END
	usage: selftests/apps/run.sh [--out FILE] [--keep] [[kernel:]PROGRAM...]

	  --out FILE  build/apps.json by default: a list of {program, hosts, engine, way, right,
	              calls, calls_canary, seconds, seconds_without, bytes, bytes_without, ...}
	  --keep      rows of other programs in FILE stay

	Programs: ${ALL[*]}
	kernel: a short form of it, in the guest, by AF_CANARY. What a program says is in
	build/apps/. The exit status is 1 if a program is wrong.
	END
}

# guest NAME: runs a short form of a program in the guest, by AF_CANARY. It has this machine's files.
guest()
{
	mkdir -p "$TAP_TOP/build/apps"
	"$TAP_TOP/selftests/vm/run.sh" --mem 6G --timeout "$LIMIT" --out "$TAP_TOP/build/apps" \
		--env VERBOSE --env MPI4PY --env MPI_LIMIT="$LIMIT" -- \
		env TAP_PATIENCE=300 ENGINE=kernel WAYS=all SHORT=1 APP_HOSTS_ASKED=4 "$APPS/one.sh" "$1"
}

# run ENTRY: prints the rows of a program
run()
{
	case $1 in
	kernel:*) guest "${1#kernel:}" ;;
	*) "$TAP_TOP/tools/limit.sh" "$LIMIT" "$APPS/one.sh" "$1" ;;
	esac
}

# without_row ENTRY STATUS: a row of a program that did not come to its end
without_row()
{
	local engine=user

	[ "${1#kernel:}" = "$1" ] || engine=kernel
	jq -cn --arg program "${1#kernel:}" --arg engine $engine --arg problem \
		"one.sh ended with status $2, see its messages" \
		'{$program, $engine, way: "end", right: false, $problem}'
}

while [ $# -gt 0 ]; do
	case $1 in
	--out) OUT=${2:?--out needs a file}; shift ;;
	--keep) KEEP=1 ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || set -- "${ALL[@]}"
for entry in "$@"; do
	[ -e "$APPS/programs/${entry#kernel:}.sh" ] || { usage >&2; exit 2; }
done
mkdir -p "$(dirname "$OUT")"
ROWS=$(mktemp "$OUT.XXXXXX")
trap 'rm -f "$ROWS" "$ROWS.all"' EXIT
for entry in "$@"; do
	echo "apps: $entry" >&2
	run "$entry" </dev/null | grep '^{' >>"$ROWS"
	status=("${PIPESTATUS[@]}")
	# Rows that are missing must not look as if all were well.
	[ "${status[*]}" = "0 0" ] || without_row "$entry" "${status[0]}" >>"$ROWS"
done
if [ -n "$KEEP" ] && [ -s "$OUT" ]; then
	jq -s --slurpfile old "$OUT" '. as $new |
		[$old[0][] | select(. as $row | all($new[];
			.program != $row.program or .engine != $row.engine))] + $new' "$ROWS" >"$ROWS.all"
else
	jq -s . "$ROWS" >"$ROWS.all"
fi
mv "$ROWS.all" "$OUT"
"$APPS/table.py" --text "$OUT"
jq -e 'all(.[]; .right != false)' "$OUT" >/dev/null
