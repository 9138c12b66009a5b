#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Unmodified distributed trainings of XGBoost on four hosts around a switch, with the library loaded
# before them: the models are those of the same trainings without it, and the switch adds up. Then what
# goes wrong: other settings at a worker, a worker without the library, a worker that is killed.

# shellcheck source=selftests/mpi/mpi_lib.sh
. "$(dirname "$0")/../mpi/mpi_lib.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/xgboost/workers_lib.sh
. "$HERE/workers_lib.sh"

tap_start xgboost/xgboost
need_root
need_program jq ethtool "$CANARY"
WHY=$(xgboost_missing)
[ -z "$WHY" ] || tap_skip_all "$WHY"
tmp_dir
cd "$TAP_TMP" || exit 1
SWITCH=$(ns_name sw)
topology

# trained DESCRIPTION MODEL [VARIABLE=VALUE...]: passes if all workers end well with one model
trained()
{
	local what=$1 model=$2 i good=1

	shift
	start "$@" && finish || good=
	for ((i = 1; i < WORKERS; i++)); do
		cmp -s "$model.0.json" "$model.$i.json" || good=
	done
	if [ -n "$good" ]; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "exit statuses ${STATUS[*]}
$(tail -n 5 complaints.*)"
	fi
}

same()
{
	tap_check "$1" cmp "$2.0.json" "$3.0.json"
}

alike()
{
	tap_check "$1" "$HERE/alike.py" "$2.0.json" "$3.0.json"
}

ON=(LD_PRELOAD="$LIBRARY" CANARY_TABLE=1 CANARY_TRIAL=60000)

test_models()
{
	trained "hist, without Canary" plain
	trained "hist, through Canary" canary "${ON[@]}"
	alike "the same model" plain canary
	tap_is "sums through Canary" "$(calls allreduce canary)" 41
	tap_is "short ones not" "$(calls allreduce short)" 8
	some "the switch added up contributions" "$(counter merged)"
	trained "hist, all lengths through Canary" all "${ON[@]}" CANARY_MIN_BYTES=1
	alike "the same model" plain all
	tap_is "all but one, without elements, through Canary" \
		"$(calls allreduce canary) $(calls allreduce short)" "48 1"
	trained "hist, correctly rounded" exact "${ON[@]}" CANARY_FLOATS=exact
	alike "the same model" plain exact
	trained "hist, from a measured length on" measured "${ON[@]}" CANARY_MIN_BYTES=0
	alike "the same model" plain measured
	METHOD=approx trained "approx, without Canary" plain-approx
	METHOD=approx trained "approx, through Canary" approx "${ON[@]}" CANARY_MIN_BYTES=1
	alike "the same model" plain-approx approx
	some "sums through Canary" "$(calls allreduce canary)"
	WORKERS=2 trained "two workers, without Canary" plain2
	WORKERS=2 trained "two workers, through Canary" two "${ON[@]}" CANARY_MIN_MEMBERS=2
	alike "the same model" plain2 two
	tap_is "sums through Canary" "$(calls allreduce canary)" 41
}

# typed DESCRIPTION [VARIABLE=VALUE...]: passes if types.py finds no wrong result
typed()
{
	local what=$1

	shift
	PROGRAM=types.py start none "$@"
	if finish; then
		tap_ok "$what"
	else
		tap_not_ok "$what" "$(cat said.* complaints)"
	fi
}

test_types()
{
	typed "types and operators, without Canary"
	typed "types and operators, through Canary" "${ON[@]}" CANARY_MIN_BYTES=1
	tap_is "all of them through Canary" "$(calls allreduce canary)" "$(tail -n 1 said.0)"
}

test_without()
{
	trained "switched off" off "${ON[@]}" CANARY_ENABLE=0
	same "the same bits as without Canary" plain off
	tap_is "and nothing is said" "$(grep -c canary complaints)" 0
	OF_1="CANARY_MIN_BYTES=5" trained "a worker with other settings" other "${ON[@]}"
	same "the same bits as without Canary" plain other
	tap_is "one line says why" "$(grep -c 'worker 1 has another value of CANARY_MIN_BYTES' complaints)" 1
	tap_is "and the table" "$(calls allreduce canary) $(calls allreduce peers)" "0 49"
	OF_1="CANARY_INTERFACES=none0" trained "a worker without an address" none "${ON[@]}"
	same "the same bits as without Canary" plain none
	tap_is "one line says why" "$(grep -c 'rank 1: interfaces: none of' complaints)" 1
}

waits()
{
	grep -q 'waits for the others' complaints.0 complaints.2 complaints.3
}

# ended: have all workers but the killed one ended by themselves?
ended()
{
	! kill -0 "${PIDS[0]}" 2> /dev/null && ! kill -0 "${PIDS[2]}" 2> /dev/null &&
		! kill -0 "${PIDS[3]}" 2> /dev/null
}

test_trouble()
{
	local pid

	OF_1="LD_PRELOAD=" start alone "${ON[@]}" CANARY_TRIAL=1000
	tap_check "a worker lacks the library: others say that they wait" wait_for 10 waits
	for pid in "${PIDS[@]}"; do
		bg_stop "$pid"
	done

	ROUNDS=100000 start killed "${ON[@]}" CANARY_DEAD_AFTER=3000
	tap_check "sums are under way" wait_for 20 switch_merges "$(counter merged)"
	# The worker is the child of timeout(1).
	pkill -KILL -P "${PIDS[1]}"
	tap_check "a worker is killed: the others end" wait_for 30 ended
	finish
	tap_diag "exit statuses ${STATUS[*]}"
	tap_check "with an exception that names it" \
		grep -q 'xgboost.core.XGBoostError:.*canary: worker 0 of 4: rank 1' complaints.0
}

switch_merges()
{
	[ "$(counter merged)" -gt $(($1 + 1000)) ]
}

start_switch
test_models
test_types
test_without
test_trouble
tap_done
