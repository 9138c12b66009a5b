#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The fault injector: sends numbered datagrams over a link and checks what happened to them.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
SEQ=$TAP_TOP/selftests/net/udp_seq.py
# A slow machine (the guest) uses a smaller number.
COUNT=${FAULT_COUNT:-4000}
RATE=${FAULT_RATE:-10000}

tap_start net/fault
need_root
need_program ip tc jq /usr/bin/python3 "$CANARY"
tmp_dir

# fault ARGUMENTS...: runs `canary fault` on the sender's side
fault()
{
	ns_exec a "$CANARY" fault "$@"
}

# flow NAME SEND-OPTION...: sends COUNT datagrams from a to b; $TAP_TMP/NAME has what came
flow()
{
	local name=$1 pid

	shift
	bg ns_exec b /usr/bin/python3 "$SEQ" receive >"$TAP_TMP/$name.raw"
	pid=$!
	wait_for 10 grep -q ready "$TAP_TMP/$name.raw"
	ns_exec a /usr/bin/python3 "$SEQ" send 10.0.0.2 --count "$COUNT" --rate "$RATE" "$@"
	bg_stop "$pid"
	sed 1d "$TAP_TMP/$name.raw" >"$TAP_TMP/$name"
}

# counter NAME: prints a counter of the injector
counter()
{
	fault show eth0 -j | jq ".[0].counters.$1"
}

came()
{
	grep -c ok "$TAP_TMP/$1"
}

# Prints the numbers that came, sorted, each once.
numbers()
{
	awk '$3 == "ok" { print $1 }' "$TAP_TMP/$1" | sort -nu
}

late()
{
	awk '$3 == "ok" { if ($1 < most) n++; else most = $1 } END { print n + 0 }' "$TAP_TMP/$1"
}

repeated()
{
	awk '$3 == "ok" { if (seen[$1]++) n++ } END { print n + 0 }' "$TAP_TMP/$1"
}

# median NAME: prints the median of the microseconds on the way
median()
{
	awk '$3 == "ok" { print $2 }' "$TAP_TMP/$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# within DESCRIPTION VALUE LEAST MOST
within()
{
	if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
		tap_ok "$1 ($2)"
	else
		tap_not_ok "$1" "$2 is not in $3 .. $4"
	fi
}

# bounds PERCENT: prints least and most of COUNT chances, at five standard deviations
bounds()
{
	awk -v n="$COUNT" -v p="$1" 'BEGIN { p /= 100; s = 5 * sqrt(n * p * (1 - p));
		printf "%d %d\n", n * p - s, n * p + s + 1 }'
}

ns_add a b
ns_link a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
ns_exec a ping -q -c 1 -W 30 10.0.0.2 >/dev/null

flow clean
tap_is "without faults all come" "$(came clean)/$(late clean)/$(repeated clean)" "$COUNT/0/0"

# Rates
for percent in 1 10; do
	read -r least most < <(bounds $percent)
	fault add eth0 --drop $percent% --seed 7 --only-canary
	flow drop
	dropped=$(counter dropped)
	within "drop $percent% drops as many" "$dropped" "$least" "$most"
	tap_is "drop $percent%: all others come" "$(came drop)" $((COUNT - dropped))
	tap_is "drop $percent%: all were seen" "$(counter seen)" "$COUNT"
	fault del eth0
done
cp "$TAP_TMP/drop" "$TAP_TMP/seed7"

fault add eth0 --drop 10% --seed 7 --only-canary
flow again
fault del eth0
tap_is "the same seed drops the same" "$(numbers again | md5sum)" "$(numbers seed7 | md5sum)"

fault add eth0 --drop 10% --seed 8 --only-canary
flow other
fault del eth0
if [ "$(numbers other | md5sum)" != "$(numbers seed7 | md5sum)" ]; then
	tap_ok "another seed drops others"
else
	tap_not_ok "another seed drops others"
fi

fault add eth0 --drop 10% --burst 5 --seed 7 --only-canary
flow burst
fault del eth0
single=$(numbers burst | awk -v n="$COUNT" '
	{ gap = $1 - last - 1; if (NR > 1 && gap > 0) { if (gap < 5) short++; runs++ } last = $1 }
	END { print runs + 0, short + 0 }')
read -r runs short <<<"$single"
within "burst: losses come in runs" "$runs" $((COUNT / 200)) $((COUNT / 28))
tap_is "burst: no run is shorter than asked for" "$short" 0

read -r least most < <(bounds 5)
fault add eth0 --duplicate 5% --seed 7 --only-canary
flow dup
within "duplicate 5% duplicates as many" "$(counter duplicated)" "$least" "$most"
tap_is "duplicate: copies come" "$(repeated dup)" "$(counter duplicated)"
tap_is "duplicate: nothing is lost" "$(numbers dup | wc -l)" "$COUNT"
fault del eth0

fault add eth0 --corrupt 5% --seed 7 --only-canary
flow bad --size 1000
corrupted=$(counter corrupted)
within "corrupt 5% corrupts as many" "$corrupted" "$least" "$most"
# A flipped bit in IP or UDP header, or in the time stamp, cannot be seen by the receiver.
within "corrupt: those come damaged or not at all" $((COUNT - $(came bad))) \
	$((corrupted * 9 / 10)) "$corrupted"
within "corrupt: most come" "$(grep -c corrupt "$TAP_TMP/bad")" $((corrupted / 2)) "$corrupted"
fault del eth0

fault add eth0 --reorder 5% --hold 5ms --seed 7 --only-canary
flow order
within "reorder 5% holds back as many" "$(counter reordered)" "$least" "$most"
within "reorder: those come late" "$(late order)" $(($(counter reordered) / 2)) "$(counter reordered)"
tap_is "reorder: nothing is lost" "$(numbers order | wc -l)" "$COUNT"
fault del eth0

# On a busy machine there is no bound for how late a packet is. But it must not be early.
fault add eth0 --delay 10ms --seed 7 --only-canary
flow delay --rate $((RATE / 5))
within "delay 10ms takes as long" "$(median delay)" 10000 1000000
tap_is "delay: nothing is lost" "$(numbers delay | wc -l)" "$COUNT"
tap_is "delay: all had room" "$(counter delayed)/$(counter line_full)" "$COUNT/0"
# A sender that moves to another processor overtakes what it left in the queue of the first one.
within "delay: few overtake" "$(late delay)" 0 $((COUNT / 10))
tap_check "the delay line is there" ns_exec a sh -c "ip -br link | grep -q cnyf"
fault del eth0
tap_is "del takes the delay line away" "$(ns_exec a ip -br link | grep -c cnyf)" 0

fault add eth0 --delay 10ms~5ms --seed 7 --only-canary
flow jitter --rate $((RATE / 5))
full=$(counter line_full)
fault del eth0
# The delays differ.
spread=$(awk '$3 == "ok" { print $2 }' "$TAP_TMP/jitter" | sort -n |
	awk '{ v[NR] = $1 } END { print v[int(NR * 9 / 10)] - v[int(NR / 10) + 1] }')
# Packets that found no room in the line went at once, and were counted.
fastest=$(awk '$3 == "ok" { print $2 }' "$TAP_TMP/jitter" | sort -n | sed -n "$((full + 1))p")
within "jitter: early and late ones are apart" "$spread" 4000 1000000
within "jitter: none that waited comes before its time ($full had no room)" "$fastest" 5000 1000000

# A shaped link keeps its rate, its queue and the delay.
ns_exec a tc qdisc add dev eth0 root handle 1: htb default 1
ns_exec a tc class add dev eth0 parent 1: classid 1:1 htb rate 20mbit burst 3000 quantum 3000
fault add eth0 --delay 10ms --only-canary
flow shaped --rate $((RATE / 10)) --size 1000
within "delay on a shaped link" "$(median shaped)" 10000 1000000
tap_is "shaped: nothing is lost" "$(numbers shaped | wc -l)" "$COUNT"
fault del eth0
tap_check "del leaves the queueing discipline" ns_exec a sh -c "tc qdisc show dev eth0 | grep -q htb"
ns_exec a tc qdisc del dev eth0 root

# Ingress, and several kinds at once
fault add eth0 --drop 100% --dir ingress
tap_refuse "ingress 100%: nothing comes back" ns_exec a ping -q -c 1 -W 1 10.0.0.2
fault add eth0 --drop 1% --duplicate 1% --reorder 1% --corrupt 1% --delay 1ms --only-canary --seed 7
tap_is "both directions at once" "$(fault show eth0 -j | jq -c '[.[].dir]')" '["egress","ingress"]'
fault del eth0 --dir ingress
tap_check "del --dir leaves the other" ns_exec a ping -q -c 1 -W 30 10.0.0.2
tap_is "del --dir ingress leaves egress" "$(fault show eth0 -j | jq -c '[.[].dir]')" '["egress"]'
tap_is "ping is not Canary" "$(counter seen)" 0
flow all
tap_is "several kinds at once: no errors" "$(counter errors)/$(counter line_full)" "0/0"
fault del eth0
fault add eth0 --dir ingress --delay 20ms --duplicate 100%
ns_exec a ping -c 3 -i 0.2 10.0.0.2 >"$TAP_TMP/ping"
tap_is "ingress: delayed and duplicated" "$(grep -cE 'time=([2-9][0-9]|[0-9]{3})' "$TAP_TMP/ping")/$(grep -c DUP "$TAP_TMP/ping")" "2/2"
tap_diag <"$TAP_TMP/ping"
fault del eth0

tap_is "del leaves no filter" "$(ns_exec a tc filter show dev eth0 egress; ns_exec a tc filter show dev eth0 ingress)" ""
tap_is "del leaves no qdisc" "$(ns_exec a tc qdisc show dev eth0 | grep -c clsact)" 0
flow end
tap_is "del leaves the link clean" "$(came end)/$(late end)/$(repeated end)" "$COUNT/0/0"

ns_exec a tc qdisc add dev eth0 clsact
fault add eth0 --drop 1%
fault del eth0
tap_is "a clsact of others stays" "$(ns_exec a tc qdisc show dev eth0 | grep -c clsact)" 1

# Bad input: the same with any kernel, and slow to try in the guest
if [ -n "${CANARY_GUEST:-}" ]; then
	tap_skip "bad input" "tested on the machine itself"
	tap_done
fi
fault add eth0 --drop 1%
tap_refuse "a second add" fault add eth0 --drop 1%
tap_is "a refused add leaves the first" "$(fault show eth0 -j | jq length)" 1
fault del eth0
tap_refuse "del of nothing" fault del eth0
for bad in "--drop 101%" "--drop -1%" "--drop 1" "--drop x%" "--drop nan%" "--delay 5" "--delay 5m" "--delay 1us" \
	"--delay 11s" "--delay 5ms~6ms" "--delay 5ms~" "--seed -1" "--seed x" "--burst 99" "--dir up" "--what 1%" \
	"--drop" "" "--only-canary" "--burst 3 --delay 1ms"; do
	# shellcheck disable=SC2086 # words
	tap_refuse "refuses '$bad'" fault add eth0 $bad
done
rc=0
fault add eth0 --drop 1% --hold 5ms || rc=$?
tap_is "a hold of nothing: status" "$rc" 2
tap_refuse "refuses a device that is not there" fault add eth9 --drop 1%
tap_is "refusals leave nothing" "$(fault show eth0 -j | jq length)/$(ns_exec a ip -br link | grep -c cnyf)" "0/0"
range=$(fault add eth0 --drop 101% 2>&1)
tap_check "range errors say the range" grep -q '0% to 100%' <<<"$range"
tap_done
