# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the benchmarks of MPI libraries, over those of lib.sh and mpi_lib.sh. They use
# columns.c, which prints "BYTES MICROSECONDS" for each length. RATE is that of links, in Mbit/s.

# shape: limits all links, in both directions
shape()
{
	local i

	for ((i = 0; i < HOSTS; i++)); do
		bench_shape "h$i" eth0 "$RATE"
		bench_shape sw "s$i" "$RATE"
	done
}

# network shaped|fast: hosts around a switch. NETWORK says what their links are
# shellcheck disable=SC2034
network()
{
	SWITCH=$(ns_name sw)
	topology
	launcher
	NETWORK="$HOSTS hosts, links as fast as this machine"
	if [ "$1" = shaped ]; then
		shape
		SWITCH_OPTIONS=(--mode shaped)
		NETWORK="$HOSTS hosts, links of $RATE Mbit/s"
	fi
	start_switch
}

# keep FILE: adds what columns.c said to the file
keep()
{
	grep -E '^[0-9]+ [0-9.]+$' "$TAP_TMP/said" >>"$TAP_TMP/$1"
}

# typical FILE: "BYTES MICROSECONDS" of each length, the median of those in the file
typical()
{
	sort -k1,1n -k2,2n "$TAP_TMP/$1" | awk '
		$1 != bytes && n { print bytes, us[int((n + 1) / 2)]; n = 0 }
		{ bytes = $1; us[++n] = $2 }
		END { if (n) print bytes, us[int((n + 1) / 2)] }'
}

# figures NAME FILE NOTE BASELINE...: a figure for each length, beside the best one of these files
figures()
{
	local name=$1 file=$2 note=$3 baseline bytes us best

	shift 3
	for baseline in "$@"; do
		typical "$baseline"
	done >"$TAP_TMP/baselines"
	while read -r bytes us; do
		best=$(awk -v bytes="$bytes" '$1 == bytes' "$TAP_TMP/baselines" | sort -nk2 |
			head -n 1 | cut -d' ' -f2)
		bench_figure "$name.$bytes" "$(jq -n "$bytes / $us")" MB/s \
			"$(jq -n "$bytes / $best")" "$note"
	done < <(typical "$file")
}
