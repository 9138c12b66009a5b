#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The simulator in small. Results are right: it checks each element itself, and says if one is
# wrong. One seed gives one output, however it was compiled. Faults cost time, but no sums. Errors
# in a description are found before anything runs.

set -u

. "$(dirname "$0")/../lib.sh"
cd "$TAP_TOP" || exit 1
tap_start sim
SIM=build/bin/canary-sim
O0=build/selftests/sim/canary-sim-O0
SANITIZED=build/selftests/sim/canary-sim-sanitized
tmp_dir
WORK=$TAP_TMP

# verdict STATUS DESCRIPTION [FILE]
verdict()
{
	if [ "$1" -eq 0 ]; then
		tap_ok "$2"
	else
		tap_not_ok "$2" "${3:+$(head -n 40 "$3")}"
	fi
}

# small NAME KEY=VALUE...: runs 64 hosts with the sanitized build. It has to succeed, and to have
# compared what all members received. The report is in $WORK/NAME.
small()
{
	local name=$1
	shift
	timeout 100 $SANITIZED --quiet topology=topology/shapes/paper_64.topo bytes=128KiB "$@" \
		>"$WORK/$name" 2>"$WORK/$name.err" || return 1
	jq -e '.right and .elements_checked >= .jobs[0].members * 32768' "$WORK/$name" >/dev/null
}

# field NAME EXPRESSION: prints a field of that report
field()
{
	jq "$2" "$WORK/$1"
}

same_everywhere()
{
	local name=$1 build
	shift
	for build in $SIM $O0 $SANITIZED; do
		timeout 100 "$build" --quiet --links "$WORK/links" \
			topology=topology/shapes/paper_64.topo bytes=32KiB "$@" \
			>"$WORK/same" 2>&1 || { verdict 1 "$name: $build" "$WORK/same"; return; }
		cat "$WORK/links" >>"$WORK/same"
		[ -f "$WORK/same.$name" ] || cp "$WORK/same" "$WORK/same.$name"
		cmp -s "$WORK/same" "$WORK/same.$name" || {
			diff "$WORK/same" "$WORK/same.$name" >"$WORK/same.diff"
			verdict 1 "$name: $build says something else" "$WORK/same.diff"
			return
		}
	done
	verdict 0 "same bytes from -O3, -O0 and sanitizers: $name"
}

# cores PORT: prints how many of the 16 ways to cores of a fat tree background traffic takes
cores()
{
	timeout 100 $SANITIZED --quiet --links "$WORK/links" topology=topology/shapes/fat_tree_k4.topo \
		members=2 hosts=1,2 bytes=1MiB traffic=derangement traffic_port="$1" >/dev/null &&
		awk -F , '$1 ~ /^sagg/ && $2 ~ /^score/ && $4 > 0' "$WORK/links" | wc -l
}

# refused LINE-OF-COMPLAINT KEY=VALUE...
refused()
{
	local want=$1
	shift
	timeout 20 $SANITIZED --quiet "$@" >"$WORK/out" 2>&1
	if [ $? -eq 2 ] && grep -qF -- "$want" "$WORK/out"; then
		verdict 0 "refused: $want"
	else
		verdict 1 "refused: $want" "$WORK/out"
	fi
}

# scale_refused LINE-OF-COMPLAINT ARGUMENT...: that one line is printed, and the status is 2
scale_refused()
{
	local want=$1
	shift
	timeout 20 tools/sim/scale.py "$@" >"$WORK/out" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l <"$WORK/out")" -eq 1 ] && grep -qF -- "$want" "$WORK/out"
	verdict $? "scale.py refuses: $want" "$WORK/out"
}

# kept ALGORITHM TOPOLOGY: prints a run as topology/congestion.py keeps it
kept()
{
	jq -nc --arg algorithm "$1" --arg topology "$2" '[{topology: $topology, rate: "10mbit", queue: null,
		traffic: 0.45, protocol: "udp", period: 1, size: "64K", iterations: 1, timeout: "1.2ms..48ms",
		static_timeout: "1.2ms..48ms", engine: "user", communicators: 1, switches: "all", trees: 2,
		window: 64, generator: "plain", program: "0"}, $algorithm, 0, 1] as $key |
		{key: ($key | tojson), algorithm: $algorithm, share: 0, seed: 1, members: 4, congesting: 0,
		placement: ["h8", "h1", "h5", "h4"], goodput: 8000000}'
}

# lossy SHARE RANKS DEPLOYED: that share is lost on each link. Sets CONTRIBUTIONS to the mean number
# of contributions that leaders took for each block, in thousandths, and TIME to the ns of all
# seeds.
lossy()
{
	local seed

	for seed in {1..12}; do
		timeout 100 $SIM --quiet topology="$WORK/lossy.topo" members="$2" loss="$1" \
			deployed="$3" seed="$seed" flow=drop cwnd=adaptive bytes=2MiB elements=352 \
			host_delay=20us timeout=12us timeout_max=1ms || return 1
	done >"$WORK/lossy"
	read -r CONTRIBUTIONS TIME < <(jq -rs '"\(map(.core["contributions-in"] * 1000 /
		.core["blocks-led"]) | add / length | floor) \(map(.ns) | add)"' "$WORK/lossy")
}

topo()
{
	printf '%s\n' "$@" >"$WORK/t.topo"
}

small dynamic
verdict $? "dynamic trees, 64 hosts" "$WORK/dynamic.err"
small runs run=4
verdict $? "runs of 4 blocks" "$WORK/runs.err"
! cmp -s "$WORK/dynamic" "$WORK/runs"
verdict $? "are not dynamic trees block by block" "$WORK/runs"
small fat topology=topology/shapes/fat_tree_k4.topo timeout=1ms
verdict $? "three-level fat tree" "$WORK/fat.err"
small static algorithm=static trees=2 timeout=1ms
verdict $? "static trees" "$WORK/static.err"
[ "$(field static '.switch["sent-clock"] // 0')" = 0 ] &&
	[ "$(field static '.core["contributions-in"] == .core["blocks-led"]')" = true ]
verdict $? "told switches wait for all and only for those, one contribution for each leader"
small ring algorithm=ring
verdict $? "ring" "$WORK/ring.err"
[ "$(field ring '.core["operations-ring"] == 64 and (.switch.merged // 0) == 0')" = true ]
verdict $? "hosts alone do that"
small ringfast algorithm=ring window=4096 bytes=1MiB
[ "$(field ringfast '.goodput_mbit > 30000')" = true ]
verdict $? "with all blocks in flight a ring is bound by links, not by round trips" "$WORK/ringfast.err"
small traffic members=32 traffic=permutation
verdict $? "with background traffic" "$WORK/traffic.err"
[ "$(field traffic '.lost')" = 0 ]
verdict $? "lossless links lose nothing"
small diverted members=32 traffic=uniform
verdict $? "with background traffic that nothing holds back" "$WORK/diverted.err"
[ "$(field diverted '(.switch.diverted // 0) > 0')" = true ]
verdict $? "full ports are avoided"
small paced members=8 hosts=1,2,3,4,5,6,7,8 traffic=permutation traffic_rate=10% traffic_port=flow
verdict $? "with a little background traffic, and all members at one switch" "$WORK/paced.err"
[ "$(field paced '.links.utilisation_ppm < 200000 and .switch.results < 200')" = true ]
verdict $? "it is little, and one switch serves them" "$WORK/paced"
small pinned members=32 traffic=uniform choice=block
verdict $? "with background traffic, but no other ports than those of blocks" "$WORK/pinned.err"
[ "$(field pinned '.switch.diverted // 0')" = 0 ]
verdict $? "then none are"
small jobs jobs=4
verdict $? "four communicators" "$WORK/jobs.err"
small operations operations=3
verdict $? "three operations" "$WORK/operations.err"
[ "$(field operations '.operations_ns | length == 3 and max < 2 * min')" = true ]
verdict $? "one after the other without a pause" "$WORK/operations"
small loss loss=0.1% rto_min=100us
verdict $? "loss of 0.1 %" "$WORK/loss.err"
[ "$(field loss '.lost > 0 and (.core["requests-out"] // 0) > 0')" = true ]
verdict $? "and it did lose, and members asked"
small drop flow=drop members=32 traffic=permutation rto_min=100us
verdict $? "queues that drop" "$WORK/drop.err"
small htb flow=drop burst=3028B members=32 traffic=derangement traffic_port=flow router_port=flow \
	rto_min=100us
verdict $? "links as HTB makes them, routers that choose by flow" "$WORK/htb.err"
small wires bytes=1KiB elements=256
small buckets bytes=1KiB elements=256 burst=3028B
[ "$(field wires .ns)" -gt "$(($(field buckets .ns) + 400))" ]
verdict $? "packets take no time in token buckets with tokens"
small full algorithm=ring window=4096 bytes=1MiB burst=3028B
[ "$(field full '.goodput_mbit > 30000 and .goodput_mbit < 45100')" = true ]
verdict $? "and no more than the link's rate over time" "$WORK/full"
[ "$(cores flow)" = 16 ]
verdict $? "where each switch hashes flows in its own way, they take all ways"
[ "$(cores socket)" = 8 ]
verdict $? "where all take the sender's hash, flows never part again"
small partial deployed=50%
verdict $? "half of the switches are plain routers" "$WORK/partial.err"
small none deployed=0%
verdict $? "all switches are plain routers" "$WORK/none.err"
[ "$(field none '.switch | length')" = 0 ]
verdict $? "and those did not look into anything"
small fail 'fail=sspine1 5us 20us' rto_min=100us reroute=5us
verdict $? "a switch fails and comes back without its state" "$WORK/fail.err"
small noise noise=10%
verdict $? "noise" "$WORK/noise.err"
# Seed 1 ends while results are on their way.
timeout 100 $SANITIZED --quiet topology=topology/shapes/paper_64.topo bytes=4KiB loss=5% noise=20% \
	noise_delay=300us rto_min=100us flow=drop >/dev/null 2>"$WORK/left"
verdict $? "nothing leaks that is on its way at the end" "$WORK/left"

printf '%s\n' "kind fat_tree" "levels 3" "radix 6" "rate 1gbit" "latency 2us" >"$WORK/lossy.topo"
for switches in 100% 50%; do
	lossy 5% 32 $switches && [ "$CONTRIBUTIONS" -lt $((31 * 1100)) ]
	verdict $? "$switches of the switches, 5 % lost: $CONTRIBUTIONS thousandths of a contribution a block"
done
# At 1 % switches save packets, but not much time. One seed may take twice as long as another.
for loss in "0.1% 100" "1% 125"; do
	lossy "${loss% *}" 32 0%
	alone=$TIME
	for switches in 100% 50%; do
		lossy "${loss% *}" 32 $switches && [ $((TIME * 100)) -lt $((alone * ${loss#* })) ]
		verdict $? "$switches of the switches, ${loss% *} lost: $((TIME / 1000)) us, without any $((alone / 1000)) us"
	done
done

same_everywhere dynamic members=32 traffic=permutation
same_everywhere static algorithm=static trees=4 timeout=1ms members=32 traffic=uniform
same_everywhere ring algorithm=ring members=16
same_everywhere loss loss=0.1% noise=1% rto_min=100us flow=drop

topo "kind fat_tree" "levels 3" "radix 6" "oversubscription 2" "rate 1gbit"
tap_check "both readers see the same network: what is not balanced" \
	/usr/bin/python3 selftests/sim/shapes.py $SIM "$WORK/t.topo"
tap_check "and all that is described in topology/shapes" \
	/usr/bin/python3 selftests/sim/shapes.py $SIM

# Keys of a scenario with their defaults, from --help
$SANITIZED --help | sed -n '/^Keys of a scenario/,/^$/s/^  \([a-z_]*\) .*(\([^(), :]*\)[^()]*);.*/\1 \2/p' |
	grep -v '^bytes ' >"$WORK/defaults"
lacking=$($SANITIZED --help | sed -n '/^Keys of a scenario/,/^$/s/^  \([a-z_]*\) .*/\1/p' |
	grep -vxF -e "$(cut -d' ' -f1 "$WORK/defaults")" | tr '\n' ' ')
tap_is "--help has the defaults of all keys but these, and that of bytes" "$lacking" "topology bytes how hosts fail "
rough=(members=32 traffic=permutation noise=5% loss=0.1% 'fail=sspine1 5us 20us')
small plain && small plain-defaults "$WORK/defaults" && cmp -s "$WORK/plain" "$WORK/plain-defaults" &&
	small rough "${rough[@]}" && small rough-defaults "$WORK/defaults" "${rough[@]}" &&
	cmp -s "$WORK/rough" "$WORK/rough-defaults"
verdict $? "and they are the defaults" "$WORK/defaults"

S=leaf_spine:2,4,2
{ kept dynamic $S; kept static-2 $S; kept ring $S; kept static-33 $S; kept dynamic leaf_spine
	kept openmpi star:4; kept dynamic behind_router; printf '{"key": "interr'; } >"$WORK/runs"
timeout 60 tools/sim/validate.py --within 50 --json "$WORK/rows" "$WORK/runs" >"$WORK/out" 2>"$WORK/left"
tap_is "validate.py simulates what was measured" "$?: $(jq -c 'map(.algorithm) | sort' "$WORK/rows")" \
	'0: ["dynamic","ring","static-2"]'
sort "$WORK/left" | cut -d : -f 2- >"$WORK/why"
tap_is "and says what it leaves out" "$(cat "$WORK/why")" \
" behind_router, dynamic: left out, 1 run: the simulator is told of fat_tree, leaf_spine, star here
 leaf_spine, dynamic: left out, 1 run: the topology lacks numbers, as congestion.py once wrote it
 leaf_spine:2,4,2, static-33: left out, 1 run: trees: '33' is out of range, 1 to 32
 star:4, openmpi: left out, 1 run: no such algorithm in the simulator"
kept static-256 star:4 >"$WORK/runs"
timeout 60 tools/sim/validate.py "$WORK/runs" >"$WORK/out" 2>&1
tap_is "which may not be all" "$?: $(tail -n 1 "$WORK/out")" "2: validate: no run is left to compare"
echo '{"date": 1}' >"$WORK/runs"
timeout 60 tools/sim/validate.py "$WORK/runs" >"$WORK/out" 2>&1
tap_is "validate.py refuses other files" "$?: $(cat "$WORK/out")" \
	"2: validate: $WORK/runs, line 1: no run of topology/congestion.py"

P=topology=topology/shapes/paper_64.topo
refused "/nowhere/links: No such file" $P --links /nowhere/links
grep -q '"right"' "$WORK/out"
verdict $((! $?)) "and that before anything is simulated" "$WORK/out"
refused "scenario: run: no power of two" $P run=3
refused "scenario: run: only with algorithm dynamic" $P run=2 algorithm=ring
refused "scenario: run: a window has no run of each member" $P run=8
scale_refused "--radix 5: not an even number" --radix 5
scale_refused "--traffic 1.5: not a share" --traffic 1.5
scale_refused "--trees: a fat tree of radix 4 has only 4 cores" --radix 4 --trees 8
scale_refused "invalid int value: 'many'" --placements many
printf 'seed 1\nbytes 4MiB # fine\nbyte 3\nrate 7\n' >"$WORK/s"
refused "$WORK/s:3: unknown key 'byte'" "$WORK/s" $P
refused "$WORK/s:4: unknown key 'rate'" "$WORK/s" $P
refused "argument 3: bytes: '4 elephants' is not a size such as 4MiB" $P 'bytes=4 elephants'
refused "argument 3: algorithm: 'best' is none of: dynamic, static, ring" $P algorithm=best
refused "argument 3: trees: '33' is out of range, 1 to 32" $P trees=33
refused "window: no power of two" $P window=100
refused "members: the topology has fewer hosts" $P members=65
refused "jobs: members are not divisible by them" $P jobs=3
refused "hosts: not numbers of different hosts: 8,2,15" $P members=3 hosts=1,2,2
refused "hosts: not numbers of different hosts: 8,2,15" $P members=2 hosts=1,65
refused "hosts: not as many as members" $P members=3 hosts=1,2
refused "fail: no switch 'sspine99'" $P 'fail=sspine99 1us'
refused "fail: no times such as 100us in 'sspine1 soon'" $P 'fail=sspine1 soon'
refused "timeout_max: less than timeout" $P timeout=2us timeout_max=1us
refused "trees, first_tree: only with algorithm static" $P algorithm=ring trees=4
refused "trees, first_tree: only with algorithm static" $P first_tree=2
refused "traffic: all hosts are members, nobody is left to send it" $P traffic=uniform
refused "traffic: all hosts are members, nobody is left to send it" $P traffic=uniform members=64
refused "timeout: '2s' is out of range, 1ns to 1s" $P timeout=2s
refused "headers: '1KiB' is out of range, 20B to 1000B" $P headers=1KiB
refused "deployed: '101%' is out of range, 0% to 100%" $P deployed=101%
refused "canary-sim: --links: to which file?" $P --links
refused "canary-sim: --links: to which file?" $P --links --speed
refused "paper_64.topo: 'kind' is of a topology, this is to be a scenario" topology/shapes/paper_64.topo
tap_is "a scenario and a topology from pipes" "$($SANITIZED --quiet <(printf 'members 5\nbytes 32KiB\n') \
	topology=<(cat topology/shapes/paper_64.topo) | jq -c '[.right, .jobs[0].members]')" "[true,5]"
printf '# a scenario\n\n  bytes 4MiB\nseed 2\n' >"$WORK/s"
refused "$WORK/s: 'bytes' is of a scenario, this is to be a topology" topology="$WORK/s"
refused "scenario: no topology"
topo "kind fat_tree" "levels 3" "radix 5" "rate 1gbit"
refused "radix: a fat tree's switches have an even number of ports" topology="$WORK/t.topo"
topo "kind fat_tree" "levels 3" "radix 8" "oversubscription 2" "rate 1gbit"
refused "oversubscription: radix must be divisible by it plus 1" topology="$WORK/t.topo"
topo "kind leaf_spine" "leaves 2" "spines 2" "hosts 2" "rate 0bit"
refused "$WORK/t.topo:5: rate: '0bit' is out of range" topology="$WORK/t.topo"
topo "kind leaf_spine" "leaves 1" "spines 1" "hosts 65536" "rate 1gbit"
refused "leaf_spine: more than 65536 ports of a leaf" topology="$WORK/t.topo"
topo "kind leaf_spine" "leaves 2" "spines 2" "rate 1gbit"
refused "leaf_spine needs leaves, spines and hosts" topology="$WORK/t.topo"
topo "kind leaf_spine" "leaves 2" "spines 2" "hosts 2"
refused "no rate" topology="$WORK/t.topo"

tap_done
