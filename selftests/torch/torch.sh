#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# PyTorch's process group "canary": four ranks behind two switches. Each operation and type,
# training by DistributedDataParallel, ranks that die, networks and ranks without Canary, scripts
# for Gloo.
#	h0, h1 --- a (lo 10.9.0.1) --- b (lo 10.9.0.2) --- h2, h3

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=$TAP_TOP/selftests/torch
CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
PYTHON=/usr/bin/python3
# shellcheck disable=SC2034
MASTER=10.9.10.2
# shellcheck source=selftests/torch/torch_lib.sh
. "$HERE/torch_lib.sh"
unset CANARY_KEY_FILE CANARY_ENABLE CANARY_BIND CANARY_COMM

tap_start torch/torch
need_root
need_program ip jq nft ethtool "$CANARY" $PYTHON
WHY=$(torch_missing)
[ -z "$WHY" ] || tap_skip_all "$WHY"
tmp_dir

# host N ROUTER: links hN to it
host()
{
	ns_link "h$1" eth0 "10.9.1$1.2/24" "$2" "p$1" "10.9.1$1.1/24"
	ns_ip "h$1" route add default via "10.9.1$1.1"
	ns_exec "h$1" ethtool -K eth0 gro on
}

network()
{
	local ns

	ns_add a b h0 h1 h2 h3
	for ns in a b; do
		ns_exec $ns sysctl -qw net.ipv4.ip_forward=1
	done
	ns_ip a addr add 10.9.0.1/32 dev lo
	ns_ip b addr add 10.9.0.2/32 dev lo
	host 0 a
	host 1 a
	host 2 b
	host 3 b
	ns_link a mid 10.9.1.1/30 b mid 10.9.1.2/30
	ns_exec a ethtool -K mid gro on
	ns_exec b ethtool -K mid gro on
	ns_ip a route add default via 10.9.1.2
	ns_ip b route add default via 10.9.1.1
}

# switch NAME PORTS: starts a switch; sets SWITCH
switch()
{
	bg ns_exec "$1" "$CANARY" switch run --name "$(ns_name "$1")" --ports "$2" \
		>"$TAP_TMP/switch.$1" 2>&1
	SWITCH=$!
	wait_for 10 grep -q " ready: " "$TAP_TMP/switch.$1" && return
	tap_not_ok "switch $1 starts" "$(cat "$TAP_TMP/switch.$1")"
	tap_done
}

merged()
{
	"$CANARY" switch show -j --name "$(ns_name "$1")" | jq .counters.merged
}

said()
{
	tail -n 3 "$TAP_TMP"/out.? "$TAP_TMP"/err.?
}

# verdicts NAME: the lines of rank 0 as results
verdicts()
{
	local word rest

	while read -r word rest; do
		case $word in
		ok) tap_ok "$rest" ;;
		not) tap_not_ok "${rest#ok }" ;;
		esac
	done <"$TAP_TMP/out.0"
	if [ "$STATUS" = "0 0 0 0" ]; then
		tap_ok "$1: all ranks end well"
	else
		tap_not_ok "$1: all ranks end well" "$STATUS: $(said)"
	fi
}

# of RANK WORD: prints what the rank says behind that word
of()
{
	sed -n "s/^$2 //p" "$TAP_TMP/out.$1"
}

try_operations()
{
	local before_a before_b

	before_a=$(merged a)
	before_b=$(merged b)
	ranks $PYTHON "$HERE/ops.py"
	verdicts "operations"
	tap_check "switch a has merged contributions" [ "$(merged a)" -gt "$before_a" ]
	tap_check "switch b has merged contributions" [ "$(merged b)" -gt "$before_b" ]
}

# trained NAME: trains; prints the digest, if ranks have the same bits and have learned something
trained()
{
	ranks $PYTHON -m canary_torch "$HERE/digits.py" "$TAP_TOP/build/data/digits.csv.gz"
	tap_is "digits, $1: all ranks have the same weights" "$(of 0 ranks) $STATUS" "1 0 0 0 0"
	tap_check "digits, $1: most digits are recognised" \
		awk -v found="$(of 0 accuracy)" 'BEGIN { exit !(found > 0.8) }'
	DIGEST=$(of 0 digest)
}

try_training()
{
	local first rank before

	before=$(merged a)
	trained "two switches"
	first=$DIGEST
	tap_check "digits: the switches have merged gradients" [ "$(merged a)" -gt "$before" ]
	bg_stop "$SWITCH"
	for rank in 1 2; do
		ns_exec h$rank "$CANARY" fault add eth0 --drop 1% --seed 3 --only-canary
	done
	trained "one switch, and packets are lost"
	tap_check "digits: packets were lost" jq -e '[.. | .dropped? // empty | numbers] | add > 0' \
		<(ns_exec h1 "$CANARY" fault show eth0 -j)
	for rank in 1 2; do
		ns_exec h$rank "$CANARY" fault del eth0
	done
	tap_is "digits: the same weights with other switches and losses" "$DIGEST" "${first:-none}"
}

# ends WHAT RANKS: runs end.py; prints the different errors of these ranks
ends()
{
	local rank

	ranks $PYTHON "$HERE/end.py" "$1"
	ERRORS=$(for rank in $2; do
		of "$rank" error:
	done | sed 's/(\(10[0-9.]*\):[0-9]*)/(\1)/' | sort | uniq -c | sed 's/^ *//')
}

try_ends()
{
	ends killed "0 1 3"
	tap_is "a rank is killed: the others' exceptions name it" "$ERRORS" \
		"3 canary: rank 2 (10.9.12.2) answers nothing and counts as dead"
	ends left "0 2 3"
	tap_is "a rank ends: the others' exceptions name it" "$ERRORS" \
		"3 canary: rank 1 (10.9.11.2) left the group"
	ends other "0 1 2"
	tap_is "a rank calls another operation: the others' exceptions name it" \
		"${ERRORS%%:*}${ERRORS#*all ranks}" \
		"3 canary have to call the same ones, in the same order, with the same types, sizes and operators"
	tap_check "and it is rank 3" grep -q "rank 3 (10.9.13.2) runs another operation" <<<"$ERRORS"
	ends subgroup "0 3"
	tap_is "a rank of a sub-group is killed: its rank is that of all processes" "$ERRORS" \
		"2 canary: rank 2 (10.9.12.2) answers nothing and counts as dead"
	ends late "1 2 3"
	tap_is "a rank does not call: the others' operation times out" "$ERRORS" \
		"3 canary: an operation timed out: all ranks are alive, but some have not called it"
}

try_elastic()
{
	ns_exec h0 timeout 600 $PYTHON -m torch.distributed.run \
		--nproc_per_node="$RANKS" --max_restarts=1 --master_port=29501 \
		-r 1 -t 1 --log_dir "$TAP_TMP/elastic" "$HERE/end.py" elastic \
		>"$TAP_TMP/out.0" 2>"$TAP_TMP/err.0"
	tap_is "torchrun starts all ranks again, and they form a new communicator" \
		"$(grep -c 'end 40.0$' "$TAP_TMP/out.0")" 4
	tap_check "one was killed before" grep -q "exitcode *: -9" "$TAP_TMP/err.0"
}

# falls_back NAME PATTERN: sums are right, by Gloo, and rank 0 has said why
falls_back()
{
	tap_is "$1: sums are right" "$STATUS $(cat "$TAP_TMP"/out.? | sort | uniq -c | xargs)" \
		"0 0 0 0 4 sum 10.0"
	tap_check "$1: rank 0 says why" grep -Eq "^canary: not used, Gloo does everything: $2" \
		"$TAP_TMP/err.0"
	tap_is "$1: nothing went through Canary" \
		"$(sed -n 's/^canary: rank 0: all_reduce *\([a-z]* *[0-9]*\) .*/\1/p' "$TAP_TMP/err.0" |
			xargs)" "gloo 1"
}

begin_mixed()
{
	# shellcheck disable=SC2046
	begin_rank "$1" env CANARY_TABLE=1 $("$2" "$1")
}

# mixed COMMAND: each rank runs what the command prints for it
mixed()
{
	each_rank begin_mixed "$1"
}

half()
{
	[ "$1" -ge 2 ] || echo "$PYTHON -m canary_torch $HERE/gloo.py"
	[ "$1" -lt 2 ] || echo "$PYTHON $HERE/gloo.py"
}

# shellcheck disable=SC2317
other_half()
{
	[ "$1" -lt 2 ] || echo "$PYTHON -m canary_torch $HERE/gloo.py"
	[ "$1" -ge 2 ] || echo "$PYTHON $HERE/gloo.py"
}

# shellcheck disable=SC2317
one_key()
{
	[ "$1" -ne 1 ] || echo "CANARY_KEY_FILE=$TAP_TMP/key"
	echo "$PYTHON -m canary_torch $HERE/gloo.py"
}

# shellcheck disable=SC2317
two_keys()
{
	echo "CANARY_KEY_FILE=$TAP_TMP/key$(($1 == 2 ? 2 : 1))"
	echo "$PYTHON -m canary_torch $HERE/gloo.py"
}

# shellcheck disable=SC2317
word_for_number()
{
	[ "$1" -ne 2 ] || echo "CANARY_TABLE=all"
	echo "$PYTHON -m canary_torch $HERE/gloo.py"
}

# shellcheck disable=SC2317
not_text()
{
	[ "$1" -ne 1 ] || printf 'CANARY_MTU=\xff\xfe\n'
	echo "$PYTHON -m canary_torch $HERE/gloo.py"
}

# shellcheck disable=SC2317
wrong_engine()
{
	[ "$1" -ne 3 ] || echo "CANARY_ENGINE=fast"
	echo "$PYTHON -m canary_torch $HERE/gloo.py"
}

try_without()
{
	mixed half
	falls_back "half of the ranks have no Canary" "rank 2 of the group: has no Canary"
	mixed other_half
	tap_is "rank 0 has no Canary: sums are right" "$STATUS $(cat "$TAP_TMP"/out.? | sort | uniq -c | xargs)" \
		"0 0 0 0 4 sum 10.0"
	tap_is "rank 0 has no Canary: another rank says so" "$(cat "$TAP_TMP"/err.? | grep "^canary: not used")" \
		"canary: not used, Gloo does everything: rank 0 of the group: has no Canary"
	mixed one_key
	falls_back "one rank has a key" "rank 1: has a key, and rank 0 has none"
	(umask 077; echo 00112233445566778899aabbccddeeff >"$TAP_TMP/key1"
	 echo 00112233445566778899aabbccddeefe >"$TAP_TMP/key2")
	mixed two_keys
	falls_back "a rank has another key" "rank 2: has another key than rank 0"
	mixed word_for_number
	falls_back "a word for a number" "rank 2: CANARY_TABLE: 'all' is not a number from 0 to 2"
	mixed not_text
	falls_back "a value that is no text" "rank 1: CANARY_MTU: '[?][?]' is not a number"
	mixed wrong_engine
	falls_back "one rank has a wrong setting" "rank 3: CANARY_ENGINE: .*fast"
	ns_exec b nft -f - <<-END
		table ip block {
			chain forward {
				type filter hook forward priority 0
				udp dport 22600-22663 drop
			}
		}
	END
	CANARY_TRIAL=3000 CANARY_TABLE=1 ranks $PYTHON -m canary_torch "$HERE/gloo.py"
	falls_back "a firewall drops UDP" "rank [0-3]: packets do not arrive"
	ns_exec b nft delete table ip block
}

# usage WORD...: what the command says without a script
usage()
{
	$PYTHON -m canary_torch "$@" >"$TAP_TMP/out.0" 2>"$TAP_TMP/err.0"
	echo "$? $(wc -l <"$TAP_TMP/out.0") $(wc -l <"$TAP_TMP/err.0")"
}

try_usage()
{
	tap_is "--help prints the usage" "$(usage --help)" "0 2 0"
	tap_is "no script is an error" "$(usage)" "2 0 2"
	tap_is "so is one that is not there" "$(usage nosuch.py)" "2 0 1"
	tap_check "which is named" grep -qx "canary_torch: nosuch.py: No such file or directory" \
		"$TAP_TMP/err.0"
}

try_off()
{
	CANARY_ENABLE=off CANARY_TABLE=1 ranks $PYTHON -m canary_torch "$HERE/gloo.py"
	tap_is "off: sums are right" "$STATUS $(cat "$TAP_TMP"/out.? | sort | uniq -c | xargs)" \
		"0 0 0 0 4 sum 10.0"
	tap_is "off: and only the table says so" "$(cat "$TAP_TMP"/err.? | grep "^canary:" |
		grep -vc "^canary: rank 0: ")" 0
	tap_check "off: the table says why" grep -q "all_reduce *gloo .*CANARY_ENABLE says no" \
		"$TAP_TMP/err.0"
}

try_unmodified()
{
	CANARY_TABLE=1 ranks $PYTHON -m canary_torch "$HERE/gloo.py"
	tap_is "a script for Gloo: sums are right" \
		"$STATUS $(cat "$TAP_TMP"/out.? | sort | uniq -c | xargs)" \
		"0 0 0 0 4 sum 10.0"
	tap_check "a script for Gloo: they went through Canary" \
		grep -Eq "^canary: rank 0: all_reduce +canary +1 " "$TAP_TMP/err.0"
	(umask 077; echo 00112233445566778899aabbccddeeff >"$TAP_TMP/key")
	CANARY_TABLE=2 CANARY_INTERFACES=eth7,10.9.0.0/16 CANARY_COMM=7-9 CANARY_FLOATS=exact \
		CANARY_KEY_FILE=$TAP_TMP/key CANARY_ENGINE=user CANARY_ALGORITHM=tree CANARY_MTU=1400 \
		CANARY_WINDOW=64 CANARY_DEAD_AFTER=60000 ranks $PYTHON -m canary_torch "$HERE/gloo.py"
	tap_is "a script for Gloo, with many settings: sums are right" \
		"$STATUS $(cat "$TAP_TMP"/out.? | sort | uniq -c | xargs)" "0 0 0 0 4 sum 10.0"
	tap_is "a script for Gloo, with many settings: each rank prints a table" \
		"$(cat "$TAP_TMP"/err.? | grep -Ec "^canary: rank [0-3]: all_reduce +canary +1 ")" 4
	CANARY_TABLE=1 ns_exec h0 timeout 600 $PYTHON -m canary_torch "$HERE/gloo.py" spawn \
		>"$TAP_TMP/out.0" 2>"$TAP_TMP/err.0"
	tap_is "a script that spawns its ranks: sums are right" \
		"$? $(sort "$TAP_TMP/out.0" | uniq -c | xargs)" \
		"0 4 sum 10.0"
	tap_check "a script that spawns its ranks: they went through Canary" \
		grep -Eq "^canary: rank 0: all_reduce +canary +1 " "$TAP_TMP/err.0"
	tap_is "the same script without Canary" "$(ns_exec h0 timeout 600 $PYTHON "$HERE/gloo.py" spawn |
		sort | uniq -c | xargs)" "4 sum 10.0"
}

network || exit 1
switch a p0,p1,mid
switch b p2,p3,mid
try_operations
try_unmodified
try_ends
try_elastic
try_usage
try_off
try_without
# It stops switch b.
try_training
tap_done
