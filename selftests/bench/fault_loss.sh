#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fault.loss: what 1 % loss on every link, in both directions, leaves of the lossless goodput.
#
#	h0 .. h3 --- sw (lo 10.9.0.1)
#
# The network of goodput.sh: links shaped by HTB, one XDP switch, vectors of 4 MiB, user engine.
# Measured without and with loss by turns, in the same network; the injector (`canary fault`) is
# at the hosts, on what leaves and on what comes in.
#
#	fault_loss.sh [PERCENT]

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LOSS=${1:-1}
ENGINE=user
RATE=${RATE:-100}
SIZE=$((4 << 20))
ROWS=${ROWS:-4}
# Some 20 frames, the root switch waits four times that: hosts drift apart, and a window is 64.
TIMEOUT=${TIMEOUT:-$((250 * 1000 / RATE))us}
HOSTS=4

topology()
{
	local i

	ns_add sw
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for ((i = 0; i < HOSTS; i++)); do
		ns_add "h$i"
		ns_link "h$i" eth0 "10.0.$i.2/24" sw "s$i" "10.0.$i.1/24"
		ns_ip "h$i" route add default via "10.0.$i.1"
		ns_exec "h$i" ethtool -K eth0 gro on
		bench_shape "h$i" eth0 "$RATE"
		bench_shape sw "s$i" "$RATE"
		PORTS=${PORTS:+$PORTS,}s$i
	done
}

start_switch()
{
	local name

	name=$(ns_name sw)
	bg ns_exec sw "$CANARY" switch run --ports "$PORTS" --mode shaped --timeout "$TIMEOUT" \
		--name "$name" >"$TAP_TMP/switch" 2>"$TAP_TMP/switch.err"
	SWITCH=$!
	wait_for 20 grep -q "ready:" "$TAP_TMP/switch" ||
		bench_die "no switch: $(cat "$TAP_TMP/switch.err")"
}

stop_switch()
{
	"$CANARY" switch show -j --name "$(ns_name sw)" >"$TAP_TMP/switch.json"
	bg_stop "$SWITCH" || :
	[ -z "${VERBOSE:-}" ] || jq -c '.counters, .drops | with_entries(select(.value != 0))' \
		"$TAP_TMP/switch.json" >&2
}

# measure NAME: perf at all ranks; sets FRACTION to the part of the limit that they had. Each row of
# perf is one operation: the sizes differ by next to nothing.
measure()
{
	local i pids=()

	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -w 0 -n 1 -c 1 \
			-b $SIZE -e $((SIZE + 4 * (ROWS - 1))) -i 4 -J "$TAP_TMP/$1.json" \
			--engine "$ENGINE" --algorithm tree --comm 7 --rank "$i" --members $HOSTS \
			--root 10.0.0.2 --bind "10.0.$i.2" ${WINDOW:+--window "$WINDOW"} \
			>"$TAP_TMP/$1.$i" 2>&1
		pids+=($!)
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/$1.$i")"
	done
	[ -z "${VERBOSE:-}" ] ||
		jq -c "[.results[] | (.out_of_place.time_us, .in_place.time_us)], .stats" \
			"$TAP_TMP/$1.json" >&2
	FRACTION=$(jq "[.results[] | (.out_of_place.time_us, .in_place.time_us)] | sort |
		.[length / 2 | floor] as \$us | $SIZE * 8 / \$us / ($RATE * 1408 / 1514)" \
		"$TAP_TMP/$1.json")
}

loss()
{
	local i dir

	for ((i = 0; i < HOSTS; i++)); do
		for dir in ingress egress; do
			if [ "$1" = on ]; then
				ns_exec "h$i" "$CANARY" fault add eth0 --dir $dir --seed $((10 + i)) \
					--drop "$LOSS%" --only-canary
			else
				ns_exec "h$i" "$CANARY" fault del eth0 --dir $dir
			fi
		done
	done
}

median()
{
	printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"
}

bench_start "selftests/bench/fault_loss.sh $LOSS"
bench_need ip tc jq ethtool "$CANARY"
chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
PORTS=''
WHOLE=()
LOSSY=()
topology
start_switch
for _ in 1 2 3; do
	measure whole
	WHOLE+=("$FRACTION")
	loss on
	measure lossy
	loss off
	LOSSY+=("$FRACTION")
done
stop_switch
bench_figure fault.loss.goodput "$(median "${LOSSY[@]}")" "of limit" "$(median "${WHOLE[@]}")" \
	"$LOSS % loss on every link, both ways; baseline: none. 4 hosts, 4 MiB, $RATE Mbit/s, user engine"
