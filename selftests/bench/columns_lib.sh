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

# figures NAME FILE NOTE: a figure for each length, beside the best one of the files own.*
figures()
{
	local bytes us best

	while read -r bytes us; do
		best=$(awk -v bytes="$bytes" '$1 == bytes' "$TAP_TMP"/own.* | sort -nk2 | head -n 1 |
			cut -d' ' -f2)
		bench_figure "$1.$bytes" "$(jq -n "$bytes / $us")" MB/s \
			"$(jq -n "$bytes / $best")" "$3"
	done <"$TAP_TMP/$2"
}
