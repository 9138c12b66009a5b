#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A link swallows packets while everything else says that it is good. What is sent again takes
# another one of the equal-cost ways.
#	h1, h2 --- sw --- r1 --- h3 (10.7.0.1, by either)
#	             \--- r2 ---/

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
BYTES=40000

tap_start net/switch_grey
need_root
need_program ip jq ethtool "$CANARY"
tmp_dir

# A router between sw and h3: 10.0.N.0/24 and 10.1.N.0/24
router()
{
	ns_link "r$1" eth0 "10.0.$1.2/24" sw "r$1" "10.0.$1.1/24"
	ns_link "r$1" eth1 "10.1.$1.1/24" h3 "r$1" "10.1.$1.2/24"
	ns_exec "r$1" ethtool -K eth0 gro on
	ns_exec "r$1" sysctl -qw net.ipv4.ip_forward=1
	ns_ip "r$1" route add 10.7.0.1 via "10.1.$1.2"
	ns_ip "r$1" route add default via "10.0.$1.1"
}

host()
{
	ns_link "h$1" eth0 "10.2.$1.2/24" sw "h$1" "10.2.$1.1/24"
	ns_exec "h$1" ethtool -K eth0 gro on
	ns_ip "h$1" route add default via "10.2.$1.1"
}

ns_add sw r1 r2 h1 h2 h3
for i in 1 2; do
	router $i
	host $i
done
ns_ip sw addr add 10.9.0.1/32 dev lo
ns_exec sw sysctl -qw net.ipv4.ip_forward=1
ns_ip h3 addr add 10.7.0.1/32 dev lo
ns_exec h3 sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.r1.rp_filter=0 \
	net.ipv4.conf.r2.rp_filter=0
ns_ip h3 route add default via 10.1.2.1
ns_ip sw route add 10.7.0.1/32 nexthop via 10.0.1.2 nexthop via 10.0.2.2

bg ns_exec sw "$CANARY" switch run --name "$(ns_name sw)" --ports h1,h2,r1,r2 --timeout 20ms \
	--slots 256 >"$TAP_TMP/switch" 2>&1
if ! wait_for 20 grep -q " ready: " "$TAP_TMP/switch"; then
	tap_not_ok "the switch starts" "$(cat "$TAP_TMP/switch")"
	tap_done
fi
# What the kernel routes, such as questions and answers, takes the good way. A rule does that, as
# switches only follow the main table.
ns_ip sw rule add pref 100 to 10.7.0.1 table 77
ns_ip sw route add table 77 10.7.0.1 via 10.0.2.2
ns_exec r1 "$CANARY" fault add eth0 --dir ingress --drop 100% --only-canary

# rank N ADDRESS NAMESPACE: starts one of three ranks, by an engine of libcanary
rank()
{
	head -c $BYTES /dev/urandom >"$TAP_TMP/in$1"
	bg ns_exec "$3" timeout 60 "$CANARY" allreduce --engine user --comm 1 --rank "$1" \
		--members 3 --root 10.7.0.1:22600 --bind "$2:22600" --in "$TAP_TMP/in$1" \
		--out "$TAP_TMP/out$1" >"$TAP_TMP/rank$1" 2>&1
}

PIDS=()
rank 0 10.7.0.1 h3
PIDS+=($!)
rank 1 10.2.1.2 h1
PIDS+=($!)
rank 2 10.2.2.2 h2
PIDS+=($!)
bad=0
for pid in "${PIDS[@]}"; do
	wait "$pid" || bad=1
done
tap_is "retries get around a link that swallows contributions" \
	"$bad$(cat "$TAP_TMP"/rank? 2>/dev/null | grep -i error)" 0
tap_check "all have the same" cmp "$TAP_TMP/out0" "$TAP_TMP/out1"
tap_check "all three" cmp "$TAP_TMP/out0" "$TAP_TMP/out2"
tap_check "it did swallow some" test "$(ns_exec r1 "$CANARY" fault show eth0 -j |
	jq '.[0].counters.dropped')" -gt 0
tap_done
