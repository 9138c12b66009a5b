#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch daemon misses notifications of the kernel, or changes of its maps fail, and it
# recovers. The test looks at the content of the maps from outside.
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

# show FILTER: prints what jq's FILTER gives of the running switch
show()
{
	"$CANARY" switch show -j --name "$NAME" | jq -r "$1"
}

shows()
{
	[ "$(show "$1")" = "$2" ]
}

# more FILTER THAN: the number has grown by more than one
more()
{
	[ "$(show "$1")" -gt $(($2 + 1)) ]
}

set_to()
{
	"$CANARY" switch set --name "$NAME" "$@"
}

# map_id TYPE KEY ENTRIES: prints the id of that map of the daemon; KEY is the size of a key in
# bytes
map_id()
{
	awk -v type="$1" -v key="$2" -v entries="$3" '
		FNR == 1 { t = e = k = 0 }
		$1 == "map_type:" { t = $2 }
		$1 == "key_size:" { k = $2 }
		$1 == "max_entries:" { e = $2 }
		$1 == "map_id:" && t == type && k == key && e == entries { print $2; exit }' \
		"/proc/$SW/fdinfo/"* 2>/dev/null
}

# word NUMBER, big NUMBER: print four bytes; address A.B.C.D: prints sixteen bytes, as maps have it
word()
{
	printf '%02x %02x %02x %02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24))
}

big()
{
	printf '%02x %02x %02x %02x' $(($1 >> 24)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255))
}

address()
{
	printf '00 %.0s' {1..10}
	# shellcheck disable=SC2086
	printf 'ff ff %02x %02x %02x %02x' ${1//./ }
}

ifindex()
{
	ns_ip sw -j link show dev "$1" | jq '.[0].ifindex'
}

# entries MAP: prints "KEY=VALUE" in bytes; fails if they cannot be read
entries()
{
	(
		set -o pipefail
		bpftool -j map dump id "$1" |
			jq -r '.[] | [.key, .value | map(ltrimstr("0x")) | join(" ")] | join("=")'
	)
}

# has MAP KEY [VALUE], lacks MAP KEY: VALUE is the beginning of the value
has()
{
	local all

	all=$(entries "$1") && grep -q "^$2=${3:-}" <<<"$all"
}

lacks()
{
	local all

	all=$(entries "$1") && ! grep -q "^$2=" <<<"$all"
}

route()
{
	echo "$(word $((96 + $2))) $(address "$1")"
}

has_route()
{
	has "$ROUTES" "$(route "$@")"
}

lacks_route()
{
	lacks "$ROUTES" "$(route "$@")"
}

# neighbour_is ADDRESS MAC, lacks_neighbour ADDRESS: a neighbour at s2
neighbour_is()
{
	has "$NEIGHBOURS" "$(word "$S2") $(address "$1")" "${2//:/ }"
}

lacks_neighbour()
{
	lacks "$NEIGHBOURS" "$(word "$S2") $(address "$1")"
}

# admission ADDRESS LENGTH IFINDEX: prints the key
admission()
{
	echo "$(word $((32 + 96 + $2))) $(big "$3") $(address "$1")"
}

maps()
{
	ROUTES=$(map_id 11 20 65536)
	NEIGHBOURS=$(map_id 1 20 16384)
	PORTS=$(map_id 1 4 256)
	ADMISSIONS=$(map_id 11 24 16384)
	TOLD=$(map_id 11 20 256)
}

ns_add sw h1 h2
ns_ip sw addr add 10.9.0.1/32 dev lo
for i in 1 2; do
	ns_link h$i eth0 10.0.$i.2/24 sw s$i 10.0.$i.1/24
done
S1=$(ifindex s1)
S2=$(ifindex s2)
start
maps
for i in 7 8; do
	ns_ip sw neigh replace 10.0.2.$i lladdr 02:00:00:00:00:0$i nud permanent dev s2
done
ns_ip sw route add 10.20.0.0/16 via 10.0.2.7
ns_ip sw route add 10.23.0.0/16 via 10.0.2.7
ns_ip sw route add 10.23.1.0/24 via 10.0.2.7
tap_check "routes are in the map" wait_for 5 has_route 10.20.0.0 16
tap_check "all of them" wait_for 5 has_route 10.23.1.0 24
tap_check "neighbours, too" wait_for 5 neighbour_is 10.0.2.7 02:00:00:00:00:07
tap_check "all of them" wait_for 5 neighbour_is 10.0.2.8 02:00:00:00:00:08
tap_is "nothing was missed" "$(show '[.losses, .resyncs, .map_errors] | @csv')" 0,0,0

# one neighbour comes, one goes, one changes
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
tap_check "the maps are as before" neighbour_is 10.0.2.8 02:00:00:00:00:08
# twice: first the entries that it knows to be gone, then what the map has
tap_check "it is tried again" wait_for 10 more .route_dumps "$(show .route_dumps)"
rm "$FAIL"
tap_check "a route is put at last" wait_for 10 has_route 10.21.0.0 16
tap_check "one is deleted at last" wait_for 10 lacks_route 10.20.0.0 16
tap_check "a neighbour is put at last" wait_for 12 neighbour_is 10.0.2.9 02:00:00:00:00:09
tap_check "one is deleted at last" wait_for 12 lacks_neighbour 10.0.2.8
tap_check "one has its new address at last" wait_for 12 neighbour_is 10.0.2.7 02:00:00:00:00:77

# routes change: the kernel handles them until the map has them, unless the map would not be asked
echo update >"$FAIL"
for route in 10.23.1.0/24 10.21.0.0/16; do
	ns_ip sw route replace $route via 10.0.1.2
done
tap_check "a changed route is not sent to old next hops" wait_for 5 lacks_route 10.21.0.0 16
tap_check "or, where others would get it, still is" has_route 10.23.1.0 24
rm "$FAIL"
tap_check "a changed route is there at last" wait_for 10 has_route 10.21.0.0 16

# an answer does not come
echo rtnl >"$FAIL"
ns_ip sw route add 10.24.0.0/16 via 10.0.2.7
tap_check "no answer of the kernel: said" wait_for 10 \
	grep -q "cannot read the routes, will try again: Connection timed out" "$ERR"
tap_check "it does not wait for ever" wait_for 20 shows .name "$NAME"
rm "$FAIL"
tap_check "the route is there at last" wait_for 20 has_route 10.24.0.0 16

# admission
tap_check "rules" set_to --admit 7:10.0.1.2%s1,8:10.0.2.0/24
tap_check "are in the map" has "$ADMISSIONS" "$(admission 10.0.1.2 32 "$S1")"
touch "$FAIL"
tap_refuse "one that the map keeps is not taken back" set_to --revoke 7:10.0.1.2%s1
tap_is "it is shown" "$(show '.admission.rules | sort | @csv')" '"7:10.0.1.2/32%s1","8:10.0.2.0/24"'
rm "$FAIL"
tap_check "later it is" set_to --revoke 7:10.0.1.2%s1
tap_check "and is gone" lacks "$ADMISSIONS" "$(admission 10.0.1.2 32 "$S1")"
tap_check "that one alone" has "$ADMISSIONS" "$(admission 10.0.2.0 24 "$S1")"

# fan-ins
tap_check "a fan-in" set_to --fan-in 10.0.0.1=2
tap_check "is in the map" has "$TOLD" "$(route 10.0.0.1 32)" "02 00 00 00"
echo delete >"$FAIL"
tap_refuse "another one" set_to --fan-in 10.0.0.2=3
rm "$FAIL"
tap_check "the old one holds" has "$TOLD" "$(route 10.0.0.1 32)" "02 00 00 00"
tap_check "the new one is gone at last" wait_for 12 lacks "$TOLD" "$(route 10.0.0.2 32)"
tap_is "and all is as before" "$(show .fan_in.told)" 1

# ports
touch "$FAIL"
errors=$(show .map_errors)
ns_ip sw link set s1 mtu 1400
tap_check "a port's new MTU: refused" wait_for 5 grep -q "port s1: map of ports: " "$ERR"
tap_check "counted" test "$(show .map_errors)" -gt "$errors"
tap_check "the map has the old one" has "$PORTS" "$(word "$S1")" ".. .. .. .. .. .. .. .. $(word 1500)"
rm "$FAIL"
tap_check "the new one at last" \
	wait_for 12 has "$PORTS" "$(word "$S1")" ".. .. .. .. .. .. .. .. $(word 1400)"
touch "$FAIL"
ns_ip sw link del s1
tap_check "a port goes" wait_for 5 grep -q "port s1 is gone" "$ERR"
ns_link h1 eth0 10.0.1.2/24 sw s1 10.0.1.1/24
tap_check "and comes back: refused" wait_for 5 grep -q "port s1 came back, but cannot be used" "$ERR"
tap_check "what the map has of the old one stays" has "$PORTS" "$(word "$S1")"
rm "$FAIL"
tap_check "taken at last" wait_for 30 grep -q "port s1 is back" "$ERR"
tap_check "of the old one nothing stays" wait_for 12 lacks "$PORTS" "$(word "$S1")"
tap_check "and nobody is admitted there" wait_for 12 lacks "$ADMISSIONS" "$(admission 10.0.2.0 24 "$S1")"
S1=$(ifindex s1)
tap_check "the new one is in the map" has "$PORTS" "$(word "$S1")"
tap_check "with who is admitted there" wait_for 12 has "$ADMISSIONS" "$(admission 10.0.2.0 24 "$S1")"

# with so many names the message about a link is longer than the daemon's buffer
for ((i = 0; i < 280; i++)); do
	printf 'link property add dev s2 altname %0127d\n' "$i"
done >"$TAP_TMP/names"
if ns_ip sw -batch "$TAP_TMP/names" 2>"$TAP_TMP/ip"; then
	ns_ip sw link set s2 mtu 1400
	tap_check "a message too long for the buffer" test "$(ns_ip sw link show dev s2 | wc -c)" -gt 32768
	tap_check "it is noticed" wait_for 5 grep -q "notifications were lost" "$ERR"
	tap_check "what it said is known all the same" wait_for 5 shows '.ports[1].mtu' 1400
	tap_check "counted" test "$(show 'if .losses > 0 and .resyncs > 0 then 1 else 0 end')" -eq 1
	for i in 1 2 3 4 5 6 7 8; do
		resyncs=$(show .resyncs)
		ns_ip sw link set s2 mtu $((1400 + i % 2))
		wait_for 5 more .resyncs $((resyncs - 1))
	done
	tap_check "said once, then how often" wait_for 12 grep -q "everything was read [0-9]* times more" "$ERR"
	tap_check "not each time" test "$(grep -c "reading everything again" "$ERR")" -lt "$(show .resyncs)"
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
