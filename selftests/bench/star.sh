# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The network of the goodput benchmarks: hosts around one switch, each link shaped at both ends.
#
#	h0 .. hN --- sw (lo 10.9.0.1)
#
# HOSTS, RATE (Mbit/s), ENGINE, SIZE (bytes), ROWS and TIMEOUT (of the switch) are the caller's, and
# so is lib.sh. The vectors always take trees.

PORTS=
OPTIONS=()	# of the switch

star_topology()
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

star_switch()
{
	local name

	name=$(ns_name sw)
	bg ns_exec sw "$CANARY" switch run --ports "$PORTS" --mode shaped --timeout "$TIMEOUT" \
		--name "$name" "${OPTIONS[@]}" >"$TAP_TMP/switch" 2>"$TAP_TMP/switch.err"
	SWITCH=$!
	wait_for 20 grep -q "ready:" "$TAP_TMP/switch" ||
		bench_die "no switch: $(cat "$TAP_TMP/switch.err")"
}

star_switch_stop()
{
	"$CANARY" switch show -j --name "$(ns_name sw)" >"$TAP_TMP/switch.json"
	bg_stop "$SWITCH" || :
	[ -z "${VERBOSE:-}" ] || jq -c '.counters, .drops | with_entries(select(.value != 0))' \
		"$TAP_TMP/switch.json" >&2
}

# star_measure NAME: perf at all ranks; sets FRACTION to the part of the limit that they had. Each row of
# perf is one operation: the sizes differ by next to nothing.
star_measure()
{
	local i pids=()

	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -w 0 -n 1 -c 1 \
			-b "$SIZE" -e $((SIZE + 4 * (ROWS - 1))) -i 4 -J "$TAP_TMP/$1.json" \
			--engine "$ENGINE" --algorithm tree --comm 7 --rank "$i" --members "$HOSTS" \
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
	# shellcheck disable=SC2034 # the caller reads it
	FRACTION=$(jq "[.results[] | (.out_of_place.time_us, .in_place.time_us)] | sort |
		.[length / 2 | floor] as \$us | $SIZE * 8 / \$us / ($RATE * 1408 / 1514)" \
		"$TAP_TMP/$1.json")
}
