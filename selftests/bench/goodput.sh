#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# link.goodput: what part of a link's payload limit arrives as reduced vector at every rank.
#
#	h0 .. h3 --- sw (lo 10.9.0.1)
#
# Four hosts, vectors of 4 MiB, `canary perf allreduce`: the median of the operations, since on a
# machine that has something else to do some of them stand still for a while. Each link is
# shaped by HTB at both ends, so in both directions. HTB accounts frames with their Ethernet
# header: 1514 bytes carry 1408 of the vector, so that is the limit: rate x 1408/1514. Every
# block crosses every link once in each direction if the switch adds up all contributions; a
# leader without switch receives three.
#
#	goodput.sh user|kernel		kernel: AF_CANARY, in the instruction-counting guest

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

ENGINE=${1:-}
case $ENGINE in
user) RATE=${RATE:-100} ;;
# 8 packets a block and hop (3 up, 1 + 1 at the leader's link, 3 down) cost some 16 us each there
kernel) RATE=${RATE:-25} ;;
*) echo "usage: goodput.sh user|kernel" >&2; exit 2 ;;
esac
SIZE=$((4 << 20))
[ "$ENGINE" = user ] && ROWS=${ROWS:-8} || ROWS=${ROWS:-2}
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

if [ "$ENGINE" = kernel ] && [ -z "${CANARY_GUEST:-}" ]; then
	bench_in_guest "$0" "$@"
fi
bench_start "selftests/bench/goodput.sh $ENGINE"
bench_need ip tc jq ethtool "$CANARY"
[ "$ENGINE" = user ] || bench_load_module
# The links are to be measured, not what else this machine does: a window is 8 ms of a link, and
# who waits longer than that for a processor leaves it idle.
[ -n "${CANARY_GUEST:-}" ] || chrt -r -p 1 $$ || renice -n -15 $$ >/dev/null
PORTS=
topology
measure plain
PLAIN=$FRACTION
start_switch
measure switch
stop_switch
HOW="4 hosts, 4 MiB, links of $RATE Mbit/s, payload limit of them"
bench_figure "link.goodput.$ENGINE" "$FRACTION" "of limit" 1 "one XDP switch, $HOW"
bench_figure "link.goodput.$ENGINE.mbit" "$(jq -n "$FRACTION * $RATE * 1408 / 1514")" Mbit/s \
	"$(jq -n "$RATE * 1408 / 1514")" "the same as rate and limit"
bench_figure "link.goodput.$ENGINE.router" "$PLAIN" "of limit" 1 \
	"no program in the switch, $HOW (a leader's link limits to 2/3)"
