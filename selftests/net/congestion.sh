#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# topology/congestion.py in small. Sums are right whatever switches choose. Measured runs are kept
# and not measured again. What cannot be measured is refused.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
export CANARY
RUN=$TAP_TOP/topology/congestion.py
CHECK=("/usr/bin/python3" "$TAP_TOP/selftests/net/congestion_check.py")

tap_start net/congestion
need_root
need_program ip tc jq mnexec iperf3 setpriv /usr/bin/python3 "$CANARY"
tmp_dir

tap_check "peers of the traffic" "${CHECK[@]}" peers
tap_check "names, placements" "${CHECK[@]}" names
tap_check "what options come to" "${CHECK[@]}" options
tap_check "planned trees: whom switches wait for" "${CHECK[@]}" plan
tap_check "right however switches choose; what ships avoids a slow link" "${CHECK[@]}" diverts
tap_check "traffic flows, past full queues, and ends" "${CHECK[@]}" traffic
tap_check "a sender that fails begins anew" "${CHECK[@]}" again
tap_check "too little traffic is no result" "${CHECK[@]}" offered
tap_check "what is looked at, and when" "${CHECK[@]}" meter
tap_check "what runs come to" "${CHECK[@]}" rows
tap_check "a demonstration takes the rate that the machine carries" "${CHECK[@]}" rates
tap_check "what a busy machine measured is measured again" "${CHECK[@]}" again_if_none
tap_check "what is kept" "${CHECK[@]}" files
tap_check "leftovers end" "${CHECK[@]}" sweep
if command -v mpirun >/dev/null; then
	tap_check "Open MPI sums over the same links" "${CHECK[@]}" openmpi
	tap_check "its daemons do not disturb each other, and are missed" "${CHECK[@]}" openmpi_daemons
else
	tap_skip "Open MPI sums over the same links" "no mpirun"
fi

small=(--topology "leaf_spine:2,2,4" --rate 5mbit --size 128K --seeds 1 --shares "0,0.5" --algorithms "dynamic,static-1"
	--alone "dynamic,static-1" --out "$TAP_TMP/out" --json "$TAP_TMP/json" --any-rate)
tap_check "a small matrix" "$RUN" "${small[@]}"
tap_is "its rows" "$(jq -c 'map([.algorithm, .congestion, .members, .unit, .runs, .failed]) | sort' "$TAP_TMP/json")" \
	'[["dynamic",0,8,"Mbit/s",1,0],["dynamic",0.5,4,"Mbit/s",1,0],["static-1",0,8,"Mbit/s",1,0],["static-1",0.5,4,"Mbit/s",1,0]]'
# 4.65 Mbit/s: 1408 of 1514 bytes are payload, and HTB's burst adds 2 % of 128 KiB.
tap_is "goodput, no more than the links carry" \
	"$(jq "all(.goodput_median > 0 and .goodput_median < 4.8)" "$TAP_TMP/json")" true
tap_is "the others sent what they were to" \
	"$(jq "map(select(.asked > 0).offered | . != null and . >= 0.8) | all and length == 2" "$TAP_TMP/json")" true
tap_is "and what is kept of goodput without them is known" \
	"$(jq "map(select(.asked > 0).kept_median | . > 0) | all and length == 2" "$TAP_TMP/json")" true
tap_check "pictures" test -s "$TAP_TMP"/out/goodput-*.png -a -s "$TAP_TMP"/out/goodput-*.svg
"$RUN" "${small[@]}" >"$TAP_TMP/said"
tap_check "once more: nothing is left to do" grep -q 'Runs: 6 of 6 were made before and are kept, nothing is left to do' "$TAP_TMP/said"
head -n 5 "$TAP_TMP/out/runs.jsonl" >"$TAP_TMP/some"
{ cat "$TAP_TMP/some"; printf '{"key": "interr'; } >"$TAP_TMP/out/runs.jsonl"
"$RUN" "${small[@]}" >"$TAP_TMP/said"
tap_check "interrupted: goes on where it was" grep -q 'Runs: 5 of 6 were made before and are kept, 1 are left' "$TAP_TMP/said"
tap_check "interrupted: does the rest" grep -q '^\[1/1, ' "$TAP_TMP/said"
"$RUN" "${small[@]}" >"$TAP_TMP/said"
tap_check "and keeps it" grep -q 'Runs: 6 of 6 were made before and are kept, nothing is left to do' "$TAP_TMP/said"
"$RUN" "${small[@]}" --shares 0.5 --algorithms dynamic --alone "" --window 16 --generator plain \
	--json "$TAP_TMP/other" >"$TAP_TMP/said"
tap_is "fewer blocks in flight, plain sockets' traffic: another scenario" \
	"$(jq -c 'map([.scenario[-26:], .offered > 0.9, .goodput_median > 0])' "$TAP_TMP/other")" \
	'[["window 16, generator plain",true,true]]'
"$RUN" "${small[@]}" --shares 0 --algorithms dynamic --alone "" --timeout 3ms >"$TAP_TMP/said"
tap_is "other settings: nothing of before stays beside them" \
	"$(jq -c 'map([.algorithm, .settings.timeout])' "$TAP_TMP/json")" '[["dynamic","3ms"]]'

refused()
{
	local text=$1

	shift
	"$RUN" --out "$TAP_TMP/none" --json "$TAP_TMP/none.json" "$@" >"$TAP_TMP/said" 2>&1
	tap_is "refuses $*" $? 2
	tap_check "says why" grep -q -- "$text" "$TAP_TMP/said"
}

refused 'never congested' --rate none
refused 'k is even' --topology fat_tree:3
refused 'is none of dynamic' --algorithms best
refused 'are no numbers' --shares half
refused "--period: '0' is not a whole number from 1 to 3600" --period 0
refused "--period: '1.5' is not a whole number" --period 1.5
refused "--trees: '0' is not" --trees 0
refused "--patience: '-3' is not a number from" --patience -3
refused "--algorithms: 'dynamic-foo': 'foo' is none of adaptive, block" --algorithms dynamic,dynamic-foo
refused "'static-33': static trees: 33 is out of range, 1 to 32" --algorithms dynamic,static-33
refused "--out: '$TAP_TMP/no/where': No such file or directory" --out "$TAP_TMP/no/where"
refused "--json: '$TAP_TMP/no/where.json': No such file or directory" --json "$TAP_TMP/no/where.json"
refused "--out: '$TAP_TMP/said': Not a directory" --out "$TAP_TMP/said"
refused "--communicators: '99' is not a number from 1 to 4: 8 hosts sum" --communicators 99
refused "has one host: there is nobody to sum with" --topology star:1
refused "--timeout: '5' is no duration" --timeout 5
refused "--switches: '21' is not a number from 0 to 20" --switches 21
refused 'not all among' --algorithms ring --alone dynamic
refused 'is no size' --size 1G
refused "--window: '100' is not a power of two" --window 100
refused "--generator: 'plain' sends UDP, not tcp" --generator plain --protocol tcp
mkdir "$TAP_TMP/path"
ln -s "$(command -v setpriv)" "$TAP_TMP/path/setpriv"
PATH=$TAP_TMP/path "$RUN" --out "$TAP_TMP/none" --json "$TAP_TMP/none.json" --shares 0.5 2>"$TAP_TMP/said"
tap_check "refuses without a generator" grep -q 'iperf3 is missing' "$TAP_TMP/said"
refused 'at most [0-9.]*mbit' --topology leaf_spine:2,2,2 --algorithms dynamic --shares 0 --rate 400gbit
tap_done
