# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Hosts h0 .. hN on links that are shaped at both ends, switches between them, and perf at all
# ranks.
#
# The caller sets HOSTS, RATE (Mbit/s), ENGINE, SIZE (bytes), ROWS and TIMEOUT (of switches), and
# sources lib.sh.

# host_link N SWITCH
host_link()
{
	ns_add "h$1"
	ns_link "h$1" eth0 "10.0.$1.2/24" "$2" "s$1" "10.0.$1.1/24"
	ns_ip "h$1" route add default via "10.0.$1.1"
	ns_exec "h$1" ethtool -K eth0 gro on
	bench_shape "h$1" eth0 "$RATE"
	bench_shape "$2" "s$1" "$RATE"
}

# host_switch SWITCH PORTS OPTION...: starts a switch; sets the variable SWITCH to its pid and adds
# that to SWITCHES
SWITCHES=()
host_switch()
{
	local in=$1 ports=$2

	shift 2
	bg ns_exec "$in" "$CANARY" switch run --ports "$ports" --mode shaped --timeout "$TIMEOUT" \
		--name "$(ns_name "$in")" "$@" >"$TAP_TMP/$in" 2>"$TAP_TMP/$in.err"
	SWITCH=$!
	SWITCHES+=("$SWITCH")
	wait_for 20 grep -q "ready:" "$TAP_TMP/$in" ||
		bench_die "no switch $in: $(cat "$TAP_TMP/$in.err")"
}

# host_measure NAME ALGORITHM OPTION...: runs perf at all ranks, and sets FRACTION to the share of
# the limit that they reached. Each row of perf is one operation: their sizes are nearly equal.
host_measure()
{
	local i pids=() name=$1 algorithm=$2

	shift 2
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -n 1 -c 1 \
			-b "$SIZE" -e $((SIZE + 4 * (ROWS - 1))) -i 4 -J "$TAP_TMP/$name.json" \
			--engine "$ENGINE" --algorithm "$algorithm" --comm 7 --rank "$i" \
			--members "$HOSTS" --root 10.0.0.2 --bind "10.0.$i.2" "$@" \
			>"$TAP_TMP/$name.$i" 2>&1
		pids+=($!)
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/$name.$i")"
	done
	[ -z "${VERBOSE:-}" ] ||
		jq -c "[.results[] | (.out_of_place.time_us, .in_place.time_us)], .stats" \
			"$TAP_TMP/$name.json" >&2
	# shellcheck disable=SC2034 # the caller reads it
	FRACTION=$(jq "[.results[] | (.out_of_place.time_us, .in_place.time_us)] | sort |
		.[length / 2 | floor] as \$us | $SIZE * 8 / \$us / ($RATE * 1408 / 1514)" \
		"$TAP_TMP/$name.json")
}
