# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the tests of the switch daemon: its network, and traffic that checks itself.
#	h1 .. h4 (10.0.N.2) --- sw (10.0.N.1, lo 10.9.0.1)
#	g1 .. g4 (10.1.N.2) --- r (a plain router) --- 10.0.5.0/24 --- sw

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
TRAFFIC=$TAP_TOP/selftests/net/switch_traffic.py
ADDRESS=10.9.0.1
PORTS=s1,s2,s3,s4,s5

# begin NAME: begins a test: programs, names and files that all of them use
begin()
{
	tap_start "$1"
	need_root
	need_program ip tc jq bpftool ethtool setpriv /usr/bin/python3 "$CANARY"
	tmp_dir
	OUT=$TAP_TMP/out
	ERR=$TAP_TMP/err
	NAME=$(ns_name sw)
	topology
}

# link_host N: connects hN to port sN
link_host()
{
	ns_link "h$1" eth0 "10.0.$1.2/24" sw "s$1" "10.0.$1.1/24"
	ns_ip "h$1" route add default via "10.0.$1.1"
	# a veth receives what XDP redirects only with GRO
	ns_exec "h$1" ethtool -K eth0 gro on
}

topology()
{
	local i

	ns_add sw r h1 h2 h3 h4 g1 g2 g3 g4
	ns_ip sw addr add $ADDRESS/32 dev lo
	for i in 1 2 3 4; do
		link_host $i
		ns_link g$i eth0 10.1.$i.2/24 r r$i 10.1.$i.1/24
		ns_ip g$i route add default via 10.1.$i.1
	done
	ns_link r sw0 10.0.5.2/24 sw s5 10.0.5.1/24
	ns_exec r ethtool -K sw0 gro on
	ns_ip r route add default via 10.0.5.1
	ns_ip sw route add 10.1.0.0/16 via 10.0.5.2
	ns_exec r sysctl -qw net.ipv4.ip_forward=1
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
}

# start ARGUMENTS...: starts a switch and waits until it is ready. Its pid is SW.
start()
{
	bg ns_exec sw "$CANARY" switch run --name "$NAME" "$@" >"$OUT" 2>"$ERR"
	SW=$!
	wait_for 10 grep -q "^canary switch $NAME ready: " "$OUT" && return
	tap_not_ok "the switch starts" "$(cat "$ERR")"
	tap_done
}

# start_late: with the longest timeout, so that only complete blocks leave in these tests
start_late()
{
	start --ports $PORTS --timeout 1s --root-waits 0 "$@"
}

stop()
{
	bg_stop "$SW"
}

# show FILTER: prints what jq's FILTER gives of the running switch
show()
{
	"$CANARY" switch show -j --name "$NAME" | jq -r "$1"
}

dumped()
{
	[ "$(show .route_dumps)" -gt "$1" ]
}

# followed: waits until the daemon has heard all changes up to now. Notifications come in order. So
# a dump of the routes that begins because of a change made now comes after all of them.
followed()
{
	local before

	before=$(show .route_dumps)
	ns_ip sw route add unreachable 10.255.255.255/32
	ns_ip sw route del unreachable 10.255.255.255/32
	wait_for 10 dumped "$before" ||
		tap_not_ok "changes are followed" "$("$CANARY" switch show --name "$NAME")"
}

knows_all()
{
	[ "$(show .neighbours)" -ge 5 ]
}

# resolve_all: makes the switch know its neighbours, for tests that count every packet. If it does
# not know two hosts, only one copy of a result would wait for its neighbour.
resolve_all()
{
	local i

	for i in 1 2 3 4 5; do
		wait_for 5 ns_exec sw ping -q -c 1 -W 5 10.0.$i.2
	done
	followed
	wait_for 5 knows_all || tap_not_ok "neighbours are known" "$("$CANARY" switch show --name "$NAME")"
}

# make_s3_again: makes the link of h3 again, after the port was deleted
make_s3_again()
{
	link_host 3
	wait_for 3 grep -q "port s3 is back" "$ERR" || tap_not_ok "port s3 is back" "$(cat "$ERR")"
	resolve_all
}

# members NAMESPACE[:PORT]...: prints the members as the traffic generator takes them
members()
{
	local spec ns port addr

	for spec in "$@"; do
		ns=${spec%%:*}
		port=22600
		[ "$ns" = "$spec" ] || port=${spec#*:}
		case $ns in
		h*) addr=10.0.${ns#h}.2 ;;
		g*) addr=10.1.${ns#g}.2 ;;
		esac
		echo "$(ns_name "$ns"):$addr:$port"
	done
}

# traffic MEMBER... [-- OPTION...]: the result is in TRAFFIC_JSON
traffic()
{
	local list=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		list+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	# shellcheck disable=SC2046
	TRAFFIC_JSON=$(timeout 300 /usr/bin/python3 "$TRAFFIC" $(members "${list[@]}") "$@")
}

# traffic_is DESCRIPTION FILTER: jq's FILTER holds for the last traffic
traffic_is()
{
	# without input jq prints nothing and succeeds
	if [ -n "$TRAFFIC_JSON" ] && jq -e "$2" <<<"$TRAFFIC_JSON" >/dev/null 2>&1; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "not $2: $TRAFFIC_JSON
$("$CANARY" switch show --name "$NAME" 2>&1)"
	fi
}

# shows FILTER: jq's FILTER holds for the running switch
shows()
{
	show "$1" | grep -qx true
}

# attached: prints how many ports of the switch have XDP programs, tc filters, clsact qdiscs
attached()
{
	echo "$(ns_exec sw ip -j -d link show | jq '[.[] | select(.xdp)] | length')" \
		"$(ns_exec sw bpftool -j net | jq '.[0].tc | length')" \
		"$(ns_exec sw tc qdisc | grep -c clsact)"
}

# Filters for jq about traffic
# shellcheck disable=SC2034
{
	ALL_RIGHT='.exact and .results[0] == .results[1]'
	MERGED="$ALL_RIGHT and .results[1] > 0 and .arrived == 1 and .sources == [\"$ADDRESS:22600\"]"
	FORWARDED="$ALL_RIGHT and .results[1] > 0 and .arrived == 3 and (.sources | length) == 3"
}
