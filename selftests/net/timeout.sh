#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A switch without a timeout setting derives the timeout from the rates of its ports. For the guest,
# as its kernel has VLANs.
#	h --- sw, twice

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}

tap_start net/timeout
need_root
need_program ip tc jq "$CANARY"
tmp_dir
modprobe -q 8021q || tap_skip_all "needs the guest's devices"
NAME=$(ns_name sw)

# start OPTIONS...: starts a switch; its pid is SW
start()
{
	bg ns_exec sw "$CANARY" switch run --name "$NAME" --slots 64 --address 10.9.0.1 "$@" \
		>"$TAP_TMP/out" 2>"$TAP_TMP/err"
	SW=$!
	wait_for 20 grep -q " ready: " "$TAP_TMP/out" && return
	tap_not_ok "the switch starts" "$(cat "$TAP_TMP/err")"
	tap_done
}

show()
{
	"$CANARY" switch show -j --name "$NAME" | jq -c "$1"
}

bounds()
{
	show '[.timeout_auto, .timeout_min_us, .timeout_max_us]'
}

rates_are()
{
	[ "$(show '[.ports[].rate]')" = "$1" ]
}

# passed SECONDS: so many have passed since uptime $begun
passed()
{
	[ "$(show ".uptime_s - $begun >= $1")" = true ]
}

bounds_are()
{
	[ "$(bounds)" = "$1" ]
}

ns_add sw h
ns_ip sw addr add 10.9.0.1/32 dev lo
for i in 1 2; do
	ns_link h eth$i 10.0.$i.2/24 sw s$i 10.0.$i.1/24
done

for i in 1 2; do
	ns_ip h link set eth$i down
done
start --ports s1,s2
tap_is "no carrier anywhere: nobody knows the rates" "$(bounds)" '[true,1000,40000]'
bg_stop "$SW"
for i in 1 2; do
	ns_ip h link set eth$i up
done

start --ports s1,s2 --timeout 1ms
tap_is "a constant one, if it is named" "$(show '[.timeout_auto, .timeout_us, .timeout_max_us]')" '[false,1000,0]'
bg_stop "$SW"
start --ports s1,s2
tap_is "nobody knows the rates: 1 to 40 ms" "$(bounds)" '[true,1000,40000]'
tap_is "rates: none" "$(show '[.ports[].rate]')" '[0,0]'
tap_check "it begins between them" test "$(show '.timeout_us > 1000 and .timeout_us < 40000')" = true
tap_check "said at the start" grep -q " timeout 1000..40000us " "$TAP_TMP/out"

# 1514 bytes take 1211.2 us, 40 of them 48448
for i in 1 2; do
	ns_exec sw tc qdisc add dev s$i root tbf rate 10mbit burst 3000 limit 60000
done
tap_check "10 Mbit/s: 1 to 40 packets' time, soon" wait_for 12 bounds_are '[true,1211.2,48448]'
tap_is "rates: of the queueing disciplines" "$(show '[.ports[].rate]')" '[10000000,10000000]'
tap_check "show: has them" sh -c "'$CANARY' switch show --name '$NAME' | grep -q '^  s1 .*mtu 1500  10 Mbit/s'"
ns_exec sw tc qdisc replace dev s2 root handle 1: htb default 1
ns_exec sw tc class add dev s2 parent 1: classid 1:1 htb rate 2mbit ceil 4mbit
tap_check "4 Mbit/s at the other port: from the faster to the slower one" \
	wait_for 12 bounds_are '[true,1211.2,121120]'
ns_exec sw tc class change dev s2 parent 1: classid 1:1 htb rate 2mbit ceil 5mbit
"$CANARY" switch set --name "$NAME" --admit nobody
tap_check "another setting is set meanwhile: followed all the same" \
	wait_for 12 bounds_are '[true,1211.2,96896]'
tap_check "set: a constant" "$CANARY" switch set --name "$NAME" --timeout 3ms
tap_is "is kept" "$(show '[.timeout_auto, .timeout_us, .timeout_max_us]')" '[false,3000,0]'
ns_exec sw tc class change dev s2 parent 1: classid 1:1 htb rate 2mbit ceil 3mbit
tap_check "show: rates, though nothing follows them" wait_for 1 rates_are '[10000000,3000000]'
ns_exec sw tc class change dev s2 parent 1: classid 1:1 htb rate 2mbit ceil 5mbit
tap_check "set: by the ports again" "$CANARY" switch set --name "$NAME" --timeout auto
tap_is "is so" "$(bounds)" '[true,1211.2,96896]'
bg_stop "$SW"

start --ports s1,s2 --lifetime 100ms
tap_is "no longer than the lifetime allows" "$(bounds)" '[true,1211.2,20000]'
bg_stop "$SW"

# A veth claims 10 Gbit/s whatever it does, so its rate is not believed. A VLAN on it repeats that
# claim.
ns_ip sw link add link s1 name fast type vlan id 5
ns_ip sw link set fast up
start --ports fast
tap_is "a device that knows its rate" "$(show '.ports[0].rate')" 10000000000
tap_is "fast links: as hosts are late" "$(bounds)" '[true,10,1000]'
bg_stop "$SW"
ns_exec sw tc qdisc del dev s2 root
ns_ip h link set eth2 down
start --ports fast,s2
tap_is "a port without a carrier does not count" "$(bounds)" '[true,10,1000]'
ns_ip h link set eth2 up
tap_check "with a carrier it does" wait_for 12 bounds_are '[true,10,40000]'
ns_ip h link set eth2 down
tap_check "without one not again" wait_for 12 bounds_are '[true,10,1000]'
ns_ip sw link del fast
tap_check "no port with a carrier" wait_for 5 grep -q "port fast is gone" "$TAP_TMP/err"
# two ticks
begun=$(show .uptime_s)
tap_check "time passes" wait_for 20 passed 11
tap_is "nothing is changed" "$(bounds)" '[true,10,1000]'
bg_stop "$SW"
tap_done
