#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# One job gives the right result, bit for bit, whatever is between its ranks: switches, some
# switches, routers, several ranks on a host, links that lose, repeat, reorder and damage.
#	matrix.sh		all of that, with the user engine
#	matrix.sh engines	some of that, with the kernel's engine on all and on some
#				hosts; needs canary.ko loaded, or to be in the guest

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
DIGITS=${DIGITS:-$TAP_TOP/build/bin/digits}
export CANARY DIGITS
MODULE=${CANARY_MODULE:-$TAP_TOP/build/kmod/canary.ko}
# Where each link loses a tenth in each direction, it takes a while until all agree on a sum.
PATIENT=(--linger 30s --dead-after 30s)

tap_start "net/matrix${1:+-$1}"
need_root
need_program ip tc jq mnexec /usr/bin/python3 "$CANARY" "$DIGITS"
tmp_dir

# run DESCRIPTION CONDITION ARGUMENT...: the result is right, and CONDITION, for jq, holds for the
# counters. It proves that the case is what its name says.
run()
{
	local what=$1 condition=$2 rc=0 out=$TAP_TMP/result.json

	shift 2
	rm -f "$out"
	timeout 700 "$TAP_TOP/topology/run.py" --engine user --patience 300 --json "$out" \
		"$@" >"$TAP_TMP/said" 2>&1 || rc=$?
	if [ "$rc" -ne 0 ]; then
		tap_not_ok "$what" "exit status $rc: $(cat "$TAP_TMP/said")"
	elif ! jq -e "$condition" "$out" >/dev/null; then
		tap_not_ok "$what" "not so: $condition
$(cat "$TAP_TMP/said")"
	else
		tap_ok "$what ($(jq -r '"\(.seconds) s, \(.contributions_per_block) a block"' "$out"))"
	fi
}

# jq: the sum of a counter over all switches that run
MERGED='([.switches[] | select(.) | .counters.merged] | add // 0)'
RESTORED='([.switches[] | select(.) | .counters.restored] | add // 0)'
OUTSIDE='([.switches[] | select(.) | .counters["bypass-admission"] + .counters.marked + .drops.admission] | add // 0)'
RUNNING='([.switches[] | select(.)] | length)'
RINGS='([.ranks[].output.stats.operations_ring] | add)'
SUM=(allreduce --elements 8000)
# as rank 0 was told, at all ranks
RUNS_OF_8='([.ranks[].output | "\(.algorithm):\(.algorithm_number)"] | unique == ["tree:8"])'
# As many packets as the counts of faults below need. It has more blocks than are in flight at first, so
# contributions meet in switches even if ranks begin far apart.
LONG_SUM=(allreduce --elements 32000)
TRAIN=(digits -- --epochs 2)

# learn DESCRIPTION CONDITION GRADIENTS ARGUMENT...: run() a training of eight ranks with such
# gradients. Beyond what run() compares, it has to end with the same bits as all before it.
declare -A DIGEST
learn()
{
	local what="$1, $3" condition=$2 gradients=$3 digest

	shift 3
	run "$what" ".members == 8 and $condition" "$@" "${TRAIN[@]}" --gradients "$gradients"
	digest=$(jq -r '[.ranks[].output.weights_hash] | unique | join(" ")' "$TAP_TMP/result.json")
	[[ ! $digest =~ ^[0-9a-f]{16}$ ]] || : "${DIGEST[$gradients]:=$digest}"
	tap_is "$what: the same bits" "$digest" "${DIGEST[$gradients]:-a digest}"
}

# Data stay on their hosts where ranks are shuffled.
MOVED='([.ranks[] | select(.rank != .place)] | length)'
ALL_FAULTS=drop=1%,duplicate=5%,reorder=5%
networks()
{
	local gradients=$1

	learn "learn, all switches" "$RUNNING == 6 and $MERGED > 0" "$gradients"
	learn "learn, some switches" "$RUNNING == 3 and $MERGED > 0" "$gradients" --switches half
	learn "learn, no switch" "$RUNNING == 0 and .contributions_per_block == 7" "$gradients" \
		--switches none
	learn "learn, one switch, ranks in another order" "$RUNNING == 1 and $MERGED > 0 and $MOVED > 0" \
		"$gradients" --topology star:8 --shuffle 1
	learn "learn, losses, repeats, out of order, ranks in a third order" \
		"$MERGED > 0 and $MOVED > 0 and (.faults | .dropped > 0 and .duplicated > 5 and .reordered > 5)" \
		"$gradients" --shuffle 2 --faults "$ALL_FAULTS"
	learn "learn, two ranks a host behind routers, losses" \
		"$RUNNING == 0 and $MOVED > 0 and .faults.dropped > 0" "$gradients" --topology star:4 \
		--per-host 2 --switches none --shuffle 3 --faults drop=2%
}

users()
{
	run "all switches" "$RUNNING == 6 and $MERGED > 0" "${SUM[@]}"
	run "all switches, training" "$RUNNING == 6 and $MERGED > 0" "${TRAIN[@]}"
	run "all switches, links of 100 Mbit/s" "$RUNNING == 6 and $MERGED > 0" --rate 100mbit "${SUM[@]}"
	run "switches that admit the hosts of the job only" "$RUNNING == 6 and $MERGED > 0 and $OUTSIDE == 0" \
		--admission "${SUM[@]}"
	run "some that do" "$RUNNING == 3 and $MERGED > 0 and $OUTSIDE == 0" --switches half --admission "${SUM[@]}"
	run "some switches" "$RUNNING == 3 and $MERGED > 0" --switches half "${SUM[@]}"
	run "some switches, training" "$RUNNING == 3 and $MERGED > 0" --switches half "${TRAIN[@]}"
	run "spines only" "$RUNNING == 2" --switches sspine1,sspine2 "${SUM[@]}"
	run "no switch" "$RUNNING == 0 and .contributions_per_block == 7" --switches none "${SUM[@]}"
	run "no switch, training" "$RUNNING == 0" --switches none "${TRAIN[@]}"
	run "a plain router between two switches" "$RUNNING == 2 and $MERGED > 0" \
		--topology through_router "${SUM[@]}"
	run "a plain router between two switches, training" "$RUNNING == 2 and $MERGED > 0" \
		--topology through_router "${TRAIN[@]}"
	run "four hosts behind a router on one port" "$RUNNING == 1 and $MERGED > 0" \
		--topology behind_router "${SUM[@]}"
	run "four hosts behind a router on one port, training" "$RUNNING == 1 and $MERGED > 0" \
		--topology behind_router "${TRAIN[@]}"
	run "three ranks a host" ".members == 12 and $MERGED > 0" --topology star:4 --per-host 3 "${SUM[@]}"
	run "two ranks a host, training" ".members == 8 and $MERGED > 0" \
		--topology star:4 --per-host 2 "${TRAIN[@]}"
	networks float32
	networks bfloat16
	run "all switches, training with int32" "$RUNNING == 6 and $MERGED > 0" "${TRAIN[@]}" --gradients int32
	run "some hosts only" ".members == 5 and $MERGED > 0" --hosts 5 "${SUM[@]}"
	run "a fat tree" "$RUNNING == 20 and .members == 16 and $MERGED > 0" --topology fat_tree:4 "${SUM[@]}"

	run "collisions: room for 16 blocks" "$MERGED > 0 and $RESTORED > 0" --topology star:6 \
		--switch-option=--slots --switch-option=16 "${SUM[@]}"
	run "two children of a block" "$MERGED > 0 and $RESTORED > 0" --topology star:6 \
		--switch-option=--children --switch-option=2 "${SUM[@]}"
	run "two children of a block, no restoration" "$MERGED > 0 and $RESTORED == 0" --topology star:6 \
		--switch-option=--children --switch-option=2 --switch-option=--restore \
		--switch-option=off "${SUM[@]}"
	run "runs of 8 blocks" "$RUNS_OF_8 and $MERGED > 0" "${LONG_SUM[@]}" -- --algorithm tree:8
	run "runs of 8 blocks, a plain router between two switches" "$RUNS_OF_8 and $MERGED > 0" \
		--topology through_router "${LONG_SUM[@]}" -- --algorithm tree:8
	run "runs of 8 blocks, all of it at once" \
		"$RUNS_OF_8 and (.faults | .dropped > 0 and .duplicated > 0 and .delayed > 0)" \
		--topology through_router --faults drop=1%,duplicate=1%,reorder=1%,corrupt=0.1%,delay=1ms~500us \
		"${LONG_SUM[@]}" -- --algorithm tree:8 "${PATIENT[@]}"
	run "a ring across switches, three ranks a host" "$RINGS == 12 and $MERGED == 0" --topology star:4 \
		--per-host 3 "${SUM[@]}" -- --algorithm ring
	run "a ring, 10 % lost" "$RINGS == 8 and .faults.dropped > 50" --faults drop=10% "${SUM[@]}" \
		-- --algorithm ring "${PATIENT[@]}"

	run "1 % loss" ".faults.dropped > 0" --faults drop=1% "${SUM[@]}" -- "${PATIENT[@]}"
	run "1 % loss, training" ".faults.dropped > 0" --faults drop=1% "${TRAIN[@]}"
	run "1 % loss, no switch" ".faults.dropped > 0" --switches none --faults drop=1% "${SUM[@]}" -- "${PATIENT[@]}"
	run "10 % loss" ".faults.dropped > 50" --topology through_router --faults drop=10% \
		"${SUM[@]}" -- "${PATIENT[@]}"
	run "10 % loss in bursts" ".faults.dropped > 20" --topology star:4 --faults drop=10%,burst=4 \
		"${LONG_SUM[@]}" -- "${PATIENT[@]}"
	run "10 % repeated" ".faults.duplicated > 50" --faults duplicate=10% "${SUM[@]}"
	run "10 % out of order" ".faults.reordered > 50" --faults reorder=10% "${SUM[@]}"
	run "1 % damaged" ".faults.corrupted > 5" --faults corrupt=1% "${SUM[@]}" -- "${PATIENT[@]}"
	run "1 ms late, all of it at once" ".faults | .dropped > 0 and .duplicated > 0 and .delayed > 0" \
		--topology through_router --faults drop=1%,duplicate=1%,reorder=1%,corrupt=0.1%,delay=1ms~500us \
		"${LONG_SUM[@]}" -- "${PATIENT[@]}"
}

KERNELS='([.ranks[] | select(.engine == "kernel")] | length)'

engines()
{
	local module

	if [ ! -e /sys/module/canary ] && [ -n "${CANARY_GUEST:-}" ]; then
		for module in $(modinfo -F depends "$MODULE" | tr , ' '); do
			modprobe "$module"
		done
		insmod "$MODULE"
	fi
	[ -e /sys/module/canary ] || tap_skip_all "needs canary.ko loaded (in the guest the test does it)"

	# Small testbeds, as the demonstration has the large one
	run "all switches, training" "$KERNELS == 4 and $MERGED > 0" \
		--engine kernel --topology leaf_spine:1,2,2 "${TRAIN[@]}"
	run "some hosts, some switches, training" "$KERNELS == 2 and $RUNNING == 2" \
		--engine kernel:2 --topology leaf_spine:1,2,2 --switches half "${TRAIN[@]}"
	run "ranks in another order, losses, training with bfloat16" \
		"$KERNELS == 4 and $MERGED > 0 and $MOVED > 0 and .faults.dropped > 0" --engine kernel \
		--topology leaf_spine:1,2,2 --shuffle 2 --faults drop=1%,duplicate=5%,reorder=5% \
		"${TRAIN[@]}" --gradients bfloat16
	run "all but the first host, no switch" "$KERNELS == 2 and $RUNNING == 0" \
		--engine user:1 --topology star:3 --switches none "${SUM[@]}"
	run "a plain router between two switches, mixed" "$KERNELS == 2 and $MERGED > 0" \
		--engine kernel:2 --topology through_router "${LONG_SUM[@]}"
	run "four hosts behind a router on one port" "$KERNELS == 5 and $MERGED > 0" \
		--engine kernel --topology behind_router:4,1 "${LONG_SUM[@]}"
	run "three ranks a host, mixed" "$KERNELS == 3 and .members == 6 and $MERGED > 0" \
		--engine kernel:1 --topology star:2 --per-host 3 "${LONG_SUM[@]}"
	run "runs of 8 blocks, 10 % lost, repeated, out of order, mixed" \
		"$RUNS_OF_8 and $KERNELS == 2 and (.faults | .dropped > 20 and .duplicated > 20 and .reordered > 20)" \
		--engine kernel:2 --topology star:3 --faults drop=10%,duplicate=10%,reorder=10% \
		"${LONG_SUM[@]}" -- --algorithm tree:8 "${PATIENT[@]}"
	run "a ring, mixed" "$KERNELS == 3 and .members == 6 and $RINGS == 6 and $MERGED == 0" \
		--engine kernel:1 --topology star:2 --switches none --per-host 3 "${SUM[@]}" -- --algorithm ring
	run "a ring, 10 % lost, repeated, out of order, mixed" \
		"$KERNELS == 2 and $RINGS == 3 and (.faults | .dropped > 20 and .duplicated > 20)" \
		--engine kernel:2 --topology star:3 --switches none \
		--faults drop=10%,duplicate=10%,reorder=10% "${SUM[@]}" -- --algorithm ring "${PATIENT[@]}"
	run "10 % lost, repeated, out of order, mixed" \
		"$KERNELS == 2 and (.faults | .dropped > 20 and .duplicated > 20 and .reordered > 20)" \
		--engine kernel:2 --topology star:3 --faults drop=10%,duplicate=10%,reorder=10% \
		"${LONG_SUM[@]}" -- "${PATIENT[@]}"
}

case ${1:-} in
engines) engines ;;
*) users ;;
esac
tap_done
