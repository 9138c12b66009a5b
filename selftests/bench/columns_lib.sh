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

# keep FILE: of what columns.c said now and of FILE, if there is one, the shorter time of each length
keep()
{
	touch "$TAP_TMP/$1"
	grep -Eh '^[0-9]+ [0-9.]+$' "$TAP_TMP/$1" "$TAP_TMP/said" | sort -n -k1 -k2 |
		awk '$1 != last { print; last = $1 }' >"$TAP_TMP/least"
	mv "$TAP_TMP/least" "$TAP_TMP/$1"
}

# figures NAME FILE NOTE BASELINE...: a figure for each length, beside the best one of these files
figures()
{
	local name=$1 file=$2 note=$3 bytes us best

	shift 3
	while read -r bytes us; do
		best=$(cd "$TAP_TMP" && awk -v bytes="$bytes" '$1 == bytes' "$@" | sort -nk2 |
			head -n 1 | cut -d' ' -f2)
		bench_figure "$name.$bytes" "$(jq -n "$bytes / $us")" MB/s \
			"$(jq -n "$bytes / $best")" "$note"
	done <"$TAP_TMP/$file"
}
