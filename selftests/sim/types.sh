#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Types and operators in the simulator. It compares each result bit for bit with a reference that
# shares nothing with the core. Here, sums of floating-point numbers also have to be the same in
# networks that have nothing in common but the members.

set -u

. "$(dirname "$0")/../lib.sh"
cd "$TAP_TOP" || exit 1
tap_start sim_types
SIM=build/bin/canary-sim
O0=build/selftests/sim/canary-sim-O0
SANITIZED=build/selftests/sim/canary-sim-sanitized
tmp_dir
WORK=$TAP_TMP

# Networks of 16 members or more. The words of a line are keys.
NETWORKS="
topology=topology/shapes/fat_tree_k4.topo
topology=topology/shapes/paper_64.topo loss=2% noise=10% noise_delay=50us rto_min=100us dealt=random seed=7
topology=topology/shapes/paper_64.topo algorithm=ring elements=352 dealt=random seed=3
topology=topology/shapes/paper_64.topo deployed=50% elements=700 timeout=3us timeout_max=100us seed=5
topology=topology/shapes/flare_64.topo algorithm=static trees=3 loss=1% flow=drop rto_min=100us seed=9
topology=topology/shapes/fat_tree_k4.topo deployed=0% loss=2% rto_min=20ms placement=packed dealt=random"

# simulate BUILD KEY=VALUE...: 16 members. The report is in $WORK/report.
simulate()
{
	local build=$1

	shift
	timeout 100 "$build" --quiet members=16 "$@" >"$WORK/report" 2>"$WORK/errors"
}

# everywhere NAME BUILD KEY=VALUE...: one digest from all networks, and from all members in each
everywhere()
{
	local name=$1 build=$2 network runs=0

	shift 2
	: >"$WORK/digests"
	while read -r network; do
		[ "$network" ] || continue
		runs=$((runs + 1))
		# shellcheck disable=SC2086
		if ! simulate "$build" $network "$@"; then
			tap_not_ok "$name" "$network $*" "$(head -n 30 "$WORK/errors" "$WORK/report")"
			return
		fi
		jq -r '"\(.jobs[0].digest) \(.jobs[0].distinct) \(.right)"' "$WORK/report" >>"$WORK/digests"
	done <<<"$NETWORKS"
	tap_is "$name: the same bits in $runs networks" \
		"$(wc -l <"$WORK/digests") $(sort -u "$WORK/digests" | cut -d ' ' -f 2- | tr '\n' ' ')" \
		"$runs 1 true "
}

# method NAME KEY=VALUE...
method()
{
	local want=$1

	shift
	simulate $SIM topology=topology/shapes/paper_64.topo "$@"
	tap_is "$*: $want" "$(jq -r '.jobs[0].method' "$WORK/report")" "$want"
}

# all_right NAME TYPE OPERATOR...: as canary perf has them; two operations one after the other
all_right()
{
	local name=$1 type=$2 op bad=""

	shift 2
	for op in "$@"; do
		simulate $SANITIZED topology=topology/shapes/paper_64.topo type="$type" op="$op" values=perf \
			bytes=4000 operations=2 loss=1% rto_min=100us &&
			[ "$(jq '.right and .elements_checked > 0 and .jobs[0].distinct == 1' \
				"$WORK/report")" = true ] || bad+=" $op"
	done
	tap_is "$type, $name: right" "$bad" ""
}

# refused LINE-OF-COMPLAINT KEY=VALUE...
refused()
{
	local want=$1

	shift
	timeout 20 $SANITIZED --quiet topology=topology/shapes/paper_64.topo "$@" >"$WORK/out" 2>&1
	tap_is "refused: $want" "$?: $(cat "$WORK/out")" "2: scenario: $want"
}

# digest KEY=VALUE...
digest()
{
	simulate $SIM topology=topology/shapes/paper_64.topo "$@" && jq -r '.jobs[0].digest' "$WORK/report"
}

# Lengths are those of the three methods: exact, each, groups.
for type in float16 bfloat16 float32 float64; do
	case $type in
	float32) size=4 ;;
	float64) size=8 ;;
	*) size=2 ;;
	esac
	for values in gauss heavy embeddings outliers adversarial full cancel special; do
		everywhere "$type, $values" $SIM type=$type values=$values bytes=$((size * 5003))
	done
	everywhere "$type, special, elementwise" $SANITIZED type=$type values=special \
		bytes=$((size * 601))
	everywhere "$type, full, exact" $SANITIZED type=$type values=full bytes=$((size * 97))
	everywhere "$type, average" $SIM type=$type values=cancel op=avg bytes=$((size * 4500))
	everywhere "$type, maximum" $SIM type=$type values=special op=max bytes=$((size * 1000))
	all_right "floating-point operators" $type sum prod min max avg
done
for type in int8 uint16 int32 uint64; do
	all_right "integer operators" $type sum prod min max and or xor land lor lxor avg
done
for type in int16_index int64_index float32_index; do
	all_right "values with an index" $type minloc maxloc
done
for type in complex64 complex128; do
	all_right "complex numbers" $type sum prod
done
tap_check "--help names types, operators and sets" eval "$SIM --help | grep -q '; int32, .*, float64' &&
	$SIM --help | grep -q '; sum, prod' && $SIM --help | grep -q '; auto, perf, gauss, .*, special$'"

method exact type=float32 bytes=1024
method each type=float32 bytes=1028
method each type=bfloat16 bytes=8KiB
method groups type=bfloat16 bytes=8194
method exact type=float64 bytes=40000 how=exact,narrow
method each type=float64 bytes=40000 how=elementwise
method ranks type=float32 bytes=40 op=prod
method elements type=int64 bytes=40

# What has to differ does differ.
[ "$(digest type=float32 values=gauss bytes=2000)" != "$(digest type=float32 values=heavy bytes=2000)" ] &&
	[ "$(digest type=float32 bytes=2000)" != "$(digest type=float32 bytes=2000 members=17)" ]
tap_check "other numbers have other digests" [ $? -eq 0 ]
[ "$(digest type=float32 op=prod values=gauss bytes=2000)" != \
	"$(digest type=float32 op=prod values=gauss bytes=2000 dealt=random)" ]
tap_check "products depend on who has which rank" [ $? -eq 0 ]
digests=$(for build in $SIM $O0 $SANITIZED; do
	for values in gauss heavy embeddings outliers adversarial full cancel special; do
		simulate "$build" topology=topology/shapes/paper_64.topo type=float64 values=$values bytes=3200 &&
			jq -r '.jobs[0].digest' "$WORK/report"
	done | md5sum
done | uniq -c | awk '{print $1}')
tap_is "numbers are the same from -O3, -O0 and sanitizers" "$digests" 3

mkdir "$WORK/vectors"
timeout 20 $SANITIZED topology=topology/shapes/paper_64.topo members=3 type=float64 values=cancel bytes=800 \
	dealt=random --vectors "$WORK/vectors" >"$WORK/out" 2>&1
tap_is "--vectors: those of all ranks, and the result" \
	"$? $(cat "$WORK/out") $(cd "$WORK/vectors" && wc -c -- * | awk '{print $2, $1}' | tr '\n' ' ')" \
	"0  rank0 800 rank1 800 rank2 800 result 800 total 3200 "
refused "op: there is no land of float32" type=float32 op=land
refused "bytes: elements have 8" type=float64 bytes=12
refused "how: 'exact,best' is not one that there is" type=float32 how=exact,best
refused "how: 'exact' is not for sum of int32" how=exact
refused "values: int32 is no floating-point type" values=gauss
refused "elements: floating-point numbers need 121" type=float64 elements=64
refused "dealt: only with values" dealt=random
timeout 20 $SANITIZED topology=topology/shapes/paper_64.topo --vectors "$WORK/vectors" >"$WORK/out" 2>&1
tap_is "refused: vectors that no host holds" "$?: $(cat "$WORK/out")" \
	"2: canary-sim: --vectors: hosts hold none, without values=perf"
tap_done
