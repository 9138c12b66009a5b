#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch daemon misses something, notifications of the kernel or changes of its maps, and finds
# its way back: what the maps have is looked at from outside.
#
#	h1 (10.0.1.2) --- sw (10.0.1.1) --- h2 (10.0.2.2)

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
SHIM=$TAP_TOP/build/selftests/net/fail_maps.so

tap_start net/recover
need_root
need_program ip jq bpftool "$CANARY"
[ -e "$SHIM" ] || tap_skip_all "needs $SHIM"
tmp_dir
NAME=$(ns_name sw)
ERR=$TAP_TMP/err
FAIL=$TAP_TMP/fail

start()
{
	LD_PRELOAD=$SHIM FAIL_MAPS=$FAIL bg ns_exec sw "$CANARY" switch run --name "$NAME" \
		--ports s1,s2 --slots 64 --timeout 1ms >"$TAP_TMP/out" 2>"$ERR"
	SW=$!
	wait_for 20 grep -q " ready: " "$TAP_TMP/out" && return
	tap_not_ok "the switch starts" "$(cat "$ERR")"
	tap_done
}

# show FILTER: of the running switch
show()
{
	"$CANARY" switch show -j --name "$NAME" | jq -r "$1"
}

shows()
{
	[ "$(show "$1")" = "$2" ]
}

# map_id TYPE ENTRIES: of the daemon's maps, with keys of two words
map_id()
{
	awk -v type="$1" -v entries="$2" '
		FNR == 1 { t = e = k = 0 }
		$1 == "map_type:" { t = $2 }
		$1 == "key_size:" { k = $2 }
		$1 == "max_entries:" { e = $2 }
		$1 == "map_id:" && t == type && k == 8 && e == entries { print $2; exit }' \
		"/proc/$SW/fdinfo/"* 2>/dev/null
}

# bytes NUMBER A.B.C.D: a key of two words
bytes()
{
	echo $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24)) "${2//./ }"
}

# has_route ADDRESS LENGTH, has_neighbour DEVICE ADDRESS: in the map
has_route()
{
	# shellcheck disable=SC2046
	bpftool -j map dump id "$ROUTES" | jq -e --argjson key "[$(bytes "$2" "$1" | tr ' ' ,)]" \
		'any(.[]; [.key[] | ltrimstr("0x") | explode | map(if . > 96 then . - 87 else . - 48 end) |
			.[0] * 16 + .[1]] == $key)' >/dev/null
}

neighbour()
{
	# shellcheck disable=SC2046
	bpftool -j map lookup id "$NEIGHBOURS" key $(bytes "$(ns_ip sw -j link show dev "$1" | jq '.[0].ifindex')" "$2") |
		jq -r '.value[0:6] | map(ltrimstr("0x")) | join(":")'
}

neighbour_is()
{
	[ "$(neighbour "$1" "$2" 2>/dev/null)" = "$3" ]
}

lacks()
{
	! "$@"
}

ns_add sw h1 h2
ns_ip sw addr add 10.9.0.1/32 dev lo
for i in 1 2; do
	ns_link h$i eth0 10.0.$i.2/24 sw s$i 10.0.$i.1/24
done
start
ROUTES=$(map_id 11 65536)
NEIGHBOURS=$(map_id 1 16384)
ns_ip sw neigh replace 10.0.2.7 lladdr 02:00:00:00:00:07 nud permanent dev s2
ns_ip sw neigh replace 10.0.2.8 lladdr 02:00:00:00:00:08 nud permanent dev s2
ns_ip sw route add 10.20.0.0/16 via 10.0.2.7
tap_check "routes are in the map" wait_for 5 has_route 10.20.0.0 16
tap_check "neighbours, too" wait_for 5 neighbour_is s2 10.0.2.7 02:00:00:00:00:07
tap_is "nothing was missed" "$(show '[.losses, .resyncs, .map_errors] | @csv')" 0,0,0

# one that comes, one that goes, one that changes
touch "$FAIL"
ns_ip sw route add 10.21.0.0/16 via 10.0.2.7
ns_ip sw route del 10.20.0.0/16
ns_ip sw neigh replace 10.0.2.9 lladdr 02:00:00:00:00:09 nud permanent dev s2
ns_ip sw neigh del 10.0.2.8 dev s2
ns_ip sw neigh replace 10.0.2.7 lladdr 02:00:00:00:00:77 nud permanent dev s2
tap_check "maps refuse: routes, said" wait_for 5 grep -q "route map, will try again" "$ERR"
tap_check "maps refuse: neighbours, said" wait_for 5 grep -q "neighbour map (room for 16384), will try again" "$ERR"
tap_check "counted" test "$(show .map_errors)" -ge 5
tap_check "the maps are as before" has_route 10.20.0.0 16
rm "$FAIL"
tap_check "a route is put at last" wait_for 10 has_route 10.21.0.0 16
tap_check "one is deleted at last" wait_for 10 lacks has_route 10.20.0.0 16
tap_check "a neighbour is put at last" wait_for 12 neighbour_is s2 10.0.2.9 02:00:00:00:00:09
tap_check "one is deleted at last" wait_for 12 neighbour_is s2 10.0.2.8 ""
tap_check "one has its new address at last" wait_for 12 neighbour_is s2 10.0.2.7 02:00:00:00:00:77

# with so many names a link's message is longer than the daemon's buffer
for ((i = 0; i < 280; i++)); do
	printf 'link property add dev s2 altname %0127d\n' "$i"
done >"$TAP_TMP/names"
if ns_ip sw -batch "$TAP_TMP/names" 2>"$TAP_TMP/ip"; then
	ns_ip sw link set s2 mtu 1400
	tap_check "a message too long for the buffer" test "$(ns_ip sw link show dev s2 | wc -c)" -gt 32768
	tap_check "it is noticed" wait_for 5 grep -q "notifications were lost" "$ERR"
	tap_check "what it said is known all the same" wait_for 5 shows '.ports[1].mtu' 1400
	tap_check "counted" test "$(show 'if .losses > 0 and .resyncs > 0 then 1 else 0 end')" -eq 1
	ns_ip sw route add 10.22.0.0/16 via 10.0.2.7
	tap_check "routes are followed as before" wait_for 5 has_route 10.22.0.0 16
	bg_stop "$SW"
	start
	tap_is "a switch starts at such a port" "$(show '.ports[1].mtu')" 1400
else
	tap_skip "a message too long" "no such names: $(head -n 1 "$TAP_TMP/ip")"
fi

bg_stop "$SW"
tap_done
