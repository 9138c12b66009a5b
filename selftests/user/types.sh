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
	jq -e '(.results | length) == 248 and .out_of_bounds == 0 and
		(.results | map([.type, .redop]) | unique | length) == 124 and
		(.results | map(select(.type == "int8" and .redop == "avg").count)) == [3, 3001] and
		(.results | map(select(.type == "uint64" and .redop == "lxor").size)) == [0, 3000] and
		(.results | map(select(.type == "int64_index" and .redop == "minloc").count)) == [0, 187]' \
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

# The largest float64 at three ranks, and the rank that has it. What C leaves unused is 0 then.
largest()
{
	local r

	for r in 0 1 2; do
		python3 -c 'import struct, sys
r = int(sys.argv[1])
for x in ((1.5, 2.5, 2.5)[r], (-3, -0.0, 0)[r], (float("nan"), 1, float("inf"))[r]):
    sys.stdout.buffer.write(struct.pack("<dii", x, r, -1))' "$r" > "in.$r"
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out largest.%R --type double_int --op maxloc -j || return 1
	cmp largest.0 largest.1 && cmp largest.0 largest.2 || return 1
	[ "$(python3 -c 'import struct, sys
print(*struct.iter_unpack("<dii", sys.stdin.buffer.read()))' < largest.0)" = \
		"(2.5, 1, 0) (-0.0, 1, 0) (nan, 0, 0)" ] || return 1
	jq -e '.type == "float64_index" and .redop == "maxloc" and .elements == 3' err.0
}

# Sums of bytes that leave the type end at its ends, if that is asked for.
saturated()
{
	local r

	for r in 0 1 2; do
		printf '\145\233\377\005' > "in.$r"		# 101, -101, -1, 5
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out sum.%R -d int8 --how saturate -j || return 1
	printf '\177\200\375\017' | cmp - sum.0 && cmp sum.0 sum.2 || return 1
	ranks 3 "$CANARY" allreduce --in in.%R --out sum.%R -d int8 -j || return 1
	printf '\057\321\375\017' | cmp - sum.1
}

# pack VECTOR: numbers of float32, as Python reads them; unpack prints them with all their digits
pack()
{
	python3 -c 'import struct, sys
for x in sys.argv[1].split():
    sys.stdout.buffer.write(struct.pack("<f", float(x) if "x" not in x else float.fromhex(x)))' "$1"
}

unpack()
{
	python3 -c 'import struct, sys
print(*("%.9g" % x for x, in struct.iter_unpack("<f", sys.stdin.buffer.read())))'
}

# Sums of three ranks that lose everything when they are rounded in between, and special values
floats()
{
	pack '1e8 0.1 inf nan 0x1p-149 -0.0 3e38' > in.0
	pack '1 0.2 1 1 0x1p-149 -0.0 3e38' > in.1
	pack '-1e8 0.3 -inf 2 0x1p-149 -0.0 -3e38' > in.2
	ranks 3 "$CANARY" allreduce --in in.%R --out sum.%R -d float32 -j || return 1
	cmp sum.0 sum.1 && cmp sum.0 sum.2 || return 1
	[ "$(unpack < sum.0)" = "1 0.600000024 nan nan 4.20389539e-45 0 3.00000001e+38" ] ||
		{ unpack < sum.0; return 1; }
	jq -e '.type == "float32" and .method == "exact" and .blocks == 0' err.0
}

# Neighbours that differ by orders of magnitude: exponents are shared unless that is asked for.
how()
{
	local zeros
	zeros=$(printf '0 %.0s' {1..4998})

	for r in 0 1 2; do
		pack "1e30 1 $zeros" > "in.$r"
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out how.%R -d float -j || return 1
	jq -e '.method == "groups"' err.0 || return 1
	[ "$(head -c 8 how.0 | unpack)" = "3.0000002e+30 0" ] || { head -c 8 how.0 | unpack; return 1; }
	ranks 3 "$CANARY" allreduce --in in.%R --out how.%R -d float --how elementwise -j || return 1
	jq -e '.method == "each"' err.0 || return 1
	[ "$(head -c 8 how.0 | unpack)" = "3.0000002e+30 3" ] || return 1
	ranks 3 "$CANARY" allreduce --in in.%R --out how.%R -d float --how narrow,exact -j || return 1
	jq -e '.method == "exact"' err.1 && [ "$(head -c 8 how.2 | unpack)" = "3.0000002e+30 3" ]
}

# refused STATUS TEXT OPTION...: options that are wrong
refused()
{
	local status=$1 text=$2 got

	shift 2
	got=$("$CANARY" "$@" --comm 1 --rank 0 --members 1 2>&1 < /dev/null)
	if [ $? -ne "$status" ] || [[ $got != *"$text"* ]]; then
		echo "$*: $got"
		return 1
	fi
}

refusals()
{
	refused 2 "no land of float32, but sum, prod, min, max, avg" allreduce -d float32 --op land &&
		refused 2 "there is no sum of int32_index, but minloc, maxloc" allreduce -d 2int &&
		refused 2 "there is no maxloc of float32" allreduce -d float32 --op maxloc &&
		refused 2 "exact is not for minloc of int32_index" allreduce -d 2int --op minloc --how exact &&
		refused 2 "not for sum of float32, which has exact, elementwise, narrow" \
			allreduce -d float --how saturate &&
		refused 2 "saturate is not for avg of int8, which has none" \
			perf allreduce -d int8 -o avg -H saturate &&
		refused 2 "elementwise is not for sum of int32" allreduce --how saturate,elementwise &&
		refused 2 "there is no xor of bfloat16" perf allreduce -d bfloat16 -o xor &&
		refused 2 "exact is not for sum of int32" allreduce --how exact &&
		refused 2 "'fast' is none of exact, elementwise, narrow, saturate" allreduce -d half --how fast &&
		refused 2 "'real' is none of" allreduce -d real &&
		refused 0 "" allreduce -d double --how exact,narrow
}

# Ranks that add up otherwise: all are told so, and none waits.
mixed()
{
	local r

	new_comm
	head -c 40000 /dev/zero > zeros
	for r in 0 1 2; do
		# shellcheck disable=SC2046
		on "$r" "$CANARY" allreduce -i zeros -o /dev/null -d float $([ "$r" = 1 ] && echo --how exact) \
			$(as "$r" 3) 2> "err.$r" &
	done
	wait
	grep -h . err.?
	grep -q "rank 1 runs another operation" err.0 && grep -q "rank 1 runs another operation" err.2 &&
		grep -q "rank" err.1
}

# Two ranks cannot tell which of them is wrong. Both are told what has to be the same.
mixed_pair()
{
	local r

	new_comm
	for r in 0 1; do
		# shellcheck disable=SC2046
		on "$r" "$CANARY" allreduce -i zeros -o /dev/null -d "float$((32 * (r + 1)))" \
			$(as "$r" 2) 2> "err.$r" &
	done
	wait
	grep -h . err.0 err.1
	for r in 0 1; do
		grep -q "ranks 0-1 do not run the same operation: operator, type, length, and how" "err.$r" ||
			return 1
	done
}

perf_how()
{
	ranks 2 "$CANARY" perf allreduce -d float -o sum -b 16K -e 64K -n 2 -w 1 -H exact -J perf.json ||
		return 1
	jq -e '.out_of_bounds == 0 and (.results | length) == 3 and
		all(.results[]; .type == "float32" and .method == "exact")' perf.json
}

# Seven operations are checked, of which up to three are in flight. Nobody adds up here but leaders.
perf_flight()
{
	ranks 3 "$CANARY" perf allreduce -d int16 -o max -b 2 -e 20000 -f 100 -n 1 -w 0 -m 3 -c 7 \
		--algorithm tree -J perf.json || return 1
	jq -e '.out_of_bounds == 0 and (.results | length) == 3 and
		all(.results[]; .switches == "combine" and .aggregates == 0 and .ring == 0)' \
		perf.json || return 1
	ranks 3 "$CANARY" perf allreduce -b 8000 -e 8000 -n 1 -w 0 -c 2 --algorithm ring \
		-J perf.json || return 1
	# Each of two operations, in place and not, at three ranks
	jq -e '.results[0].ring == 12 and .results[0].aggregates == 0' perf.json
}

tap_check "minimum of int8" least
tap_check "average of uint8" average
tap_check "sum of int8 that is saturated" saturated
tap_check "largest float64, and who has it" largest
tap_check "sum of float32" floats
tap_check "how sums are made" how
tap_check "options that are refused" refusals
tap_check "ranks that add up in other ways" mixed
tap_check "two ranks with other types" mixed_pair
tap_check "perf: all operators on all types" perf_types
tap_check "perf: how" perf_how
tap_check "perf: several checks in flight" perf_flight
tap_done
