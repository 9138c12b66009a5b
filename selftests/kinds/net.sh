#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# net.sh user|kernel EVERY WAY...: each type and operator between namespaces around a real XDP
# switch, by canary perf, which compares every element with its own reference. Prints a JSON object
# for each cell, for table.py: what was asked for, what ranks said, what canary perf and the switch
# counted. Of the cells each EVERY'th one is run. AF_CANARY needs the module, which is loaded in the
# guest only.
#
# switch: three ranks around a switch. passes: the same, built without CANARY_K_SWITCHES, so that no
# kind is combined. ring: as "switch", but what is run is a ring.

# shellcheck source=../net/switch_lib.sh
. "$(dirname "$0")/../net/switch_lib.sh"

ENGINE=$1
EVERY=$2
shift 2
BUILD=$(dirname "$(dirname "$CANARY")")
RANKS=3
# Sizes in elements: 1, FACTOR, FACTOR^2, LAST. The second one is less than a block, of all types.
# The four have a method each for sums of floating-point numbers, or two.
FACTOR=21
LAST=9261
FLIGHT=4
CHECKS=5	# four in flight, and one alone

# list: prints type, operator and bytes of an element of all that there is
list()
{
	"$CANARY" perf allreduce -d all -o all -b 64 -e 64 -n 1 -w 0 -c 0 -J "$TAP_TMP/list" \
		--comm 1 --rank 0 --members 1 --root 127.0.0.1 --engine user \
		>"$TAP_TMP/log" || return 1
	jq -r '.results[] | "\(.type) \(.redop) \(.size / .count)"' "$TAP_TMP/list"
}

# perf TYPE OPERATOR ELEMENT ALGORITHM: three ranks. Fails if one fails or is wrong.
perf()
{
	local r pids=() bad=0

	COMM=$((COMM + 1))
	for ((r = 0; r < RANKS; r++)); do
		ns_exec "h$((r + 1))" timeout 300 "$CANARY" perf allreduce -d "$1" -o "$2" \
			-b "$3" -e $(($3 * LAST)) -f $FACTOR -n 1 -w 0 -m $FLIGHT -c $CHECKS \
			-J "$TAP_TMP/perf" --engine "$ENGINE" --algorithm "$4" \
			--comm $COMM --rank $r --members $RANKS --root 10.0.1.2 \
			>"$TAP_TMP/out.$r" 2>"$TAP_TMP/err.$r" &
		pids+=("$!")
	done
	for r in "${pids[@]}"; do
		wait "$r" || bad=1
	done
	return $bad
}

counters()
{
	"$CANARY" switch show -j --name "$NAME" >"$TAP_TMP/$1"
}

# cell WAY TYPE OPERATOR ELEMENT
cell()
{
	local algorithm=tree failed=false

	[ "$1" != ring ] || algorithm=ring
	echo null >"$TAP_TMP/perf"
	perf "$2" "$3" "$4" $algorithm || failed=true
	counters after
	{
		printf '{"type": "%s", "operator": "%s", "engine": "%s", "way": "%s", "failed": %s,\n' \
			"$2" "$3" "$ENGINE" "$1" $failed
		printf '"ranks": %d, "error": ' $RANKS
		if $failed; then
			cat "$TAP_TMP"/err.? | jq -Rs .
		else
			echo '""'
		fi
		echo ', "perf":'
		cat "$TAP_TMP/perf"
		echo ', "before":'
		cat "$TAP_TMP/before"
		echo ', "after":'
		cat "$TAP_TMP/after"
		echo '}'
	} >&3
	mv "$TAP_TMP/after" "$TAP_TMP/before"
}

# way WAY: a switch, and all cells
way()
{
	local build=$BUILD n=0 type operator element

	[ "$1" != passes ] || build=$BUILD/unmerged
	CANARY=$build/bin/canary
	if [ "$ENGINE" = kernel ]; then
		[ -n "${CANARY_GUEST:-}" ] || tap_skip_all "only a guest may load the module"
		modprobe -q udp_tunnel
		[ -d /sys/module/canary ] || insmod "$build/kmod/canary.ko" || exit 1
	fi
	start --ports $PORTS --timeout 1s --root-waits 0
	resolve_all
	counters before
	while read -r type operator element; do
		n=$((n + 1))
		[ $((n % EVERY)) -eq 0 ] || continue
		cell "$1" "$type" "$operator" "$element" </dev/null
	done <"$TAP_TMP/cells"
	stop
}

begin "kinds/$ENGINE"
exec 3>&1 >&2
COMM=$((RANDOM << 15 | RANDOM))
list >"$TAP_TMP/cells" || { cat "$TAP_TMP/log"; exit 1; }
for w in "$@"; do
	way "$w"
done
# shellcheck disable=SC2034 # lib.sh reads it
TAP_OPEN=
