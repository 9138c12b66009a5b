#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Types and operators as the tool has them, between network namespaces: options, files, reports.
# What comes out of each operator on each type is for types_test, and for canary perf itself.

# Variables in single quotes belong to jq.
# shellcheck disable=SC2016

# shellcheck source=ranks_lib.sh
. "$(dirname "$0")/ranks_lib.sh"

begin user/tool_types

# Sizes are cut to whole elements. Each type and operator has a row for each size.
perf_types()
{
	ranks 3 "$CANARY" perf allreduce -d all -o all -b 3 -e 3001 -i 2998 -n 1 -w 0 -J perf.json ||
		return 1
	jq -e '(.results | length) == 176 and .out_of_bounds == 0 and
		(.results | map([.type, .redop]) | unique | length) == 88 and
		(.results | map(select(.type == "int8" and .redop == "avg").count)) == [3, 3001] and
		(.results | map(select(.type == "uint64" and .redop == "lxor").size)) == [0, 3000]' \
		perf.json || return 1
	awk '$1 ~ /^[0-9]+$/ && NF == 13 && $3 == "uint16" && $4 == "land" {n++} END {exit n != 2}' \
		out.0
}

# The least of signed bytes at three ranks
least()
{
	local r

	printf '\001\200\177\005\377' > in.0
	printf '\002\177\376\005\000' > in.1
	printf '\377\000\001\005\001' > in.2
	ranks 3 "$CANARY" allreduce --in in.%R --out least.%R --type int8 --op min -j || return 1
	for r in 0 1 2; do
		printf '\377\200\376\005\377' | cmp - "least.$r" || return 1
	done
	jq -e '.type == "int8" and .redop == "min" and .elements == 5 and .blocks == 1 and
		.block_elements == 1408' err.0
}

# Bytes are added up in words, so an average has more blocks.
average()
{
	local r

	for r in 0 1 2; do
		head -c 3000 /dev/zero | tr '\0' "\\$((r + 1))" > "in.$r"
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out average.%R -d uint8 --op avg -j || return 1
	cmp average.2 in.1 &&
		jq -e '.elements == 3000 and .block_elements == 352 and .blocks == 9 and
			.stats.blocks_done == 9' err.0
}

tap_check "minimum of int8" least
tap_check "average of uint8" average
tap_check "perf: all operators on all types" perf_types
tap_done
