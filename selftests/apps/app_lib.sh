# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What programs run on, and how they are run: hosts behind leaf switches, spine switches between
# those, all links shaped.
#	h0 h1 .. (10.77.N.2) --- l0 (lo 10.9.0.1) --- p0 p1 (lo 10.9.1.1) --- l1 --- .. hN
#
# programs/NAME.sh describes a program:
#	APP_HOSTS	how many hosts it runs on, one rank each
#	APP_RATE	Mbit/s of its links, 100 by default
#	APP_WAYS	how it runs with Canary, "all default" by default
#	APP_ALONE	set if it judges itself, and nothing is compared
#	APP_WHAT	what it computes, for readers
#	APP_CHECK	when it is right, for readers
#	app_missing	prints why it cannot run here, or nothing
#	app_prepare	writes its input to the current folder, where each run begins
#	app_run		runs it; what it prints goes to `said`, the tables to `complaints`
#	app_right DIR	was it right? DIR has what the same did without Canary. It prints why not
# HOW is how it runs: without, all, default (one.sh). SHORT is set where it should end soon.

# shellcheck source=../bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../bench/lib.sh"
# shellcheck source=../mpi/openmpi_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../mpi/openmpi_lib.sh"

APPS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SPINES=2
SWITCHES=()	# namespaces

# app_load NAME: reads the description of a program
app_load()
{
	unset APP_RATE APP_WAYS APP_ALONE
	# shellcheck source=/dev/null
	. "$APPS/programs/$1.sh"
}

# app_start FOLDER HOW: goes to a new folder with the program's input, and settles how it runs.
# ON has mpirun's options, ON_ENV the variables of other programs.
app_start()
{
	mkdir -p "$1" && cd "$1" || return 1
	app_prepare || return 1
	HOW=$2
	ON=()
	ON_ENV=(CANARY_ENABLE=0)
	[ "$HOW" != without ] || return 0
	# shellcheck disable=SC2034
	ON_ENV=(CANARY_TABLE=1 "CANARY_ENGINE=$ENGINE" CANARY_TRIAL=60000)
	ON=(--mca coll_canary_enable 1 --mca coll_canary_engine "$ENGINE")
	case $HOW in
	all)
		ON+=(--mca coll_canary_min_bytes 1 --mca coll_canary_barrier 1)
		ON_ENV+=(CANARY_MIN_BYTES=1)
		;;
	default)
		ON+=(--mca coll_canary_min_bytes 0)
		;;
	esac
}

# app_mpi PROGRAM...: runs it on all hosts by mpirun. Its output is added to the folder's files.
app_mpi()
{
	local rc=0

	mpi "${ON[@]}" -- "$@" || rc=$?
	cat "$TAP_TMP/said" >>said
	cat "$TAP_TMP/complaints" >>complaints
	return "$rc"
}

# app_near TOLERANCE FILE FILE: are numbers within this part of each other, and all else the same?
app_near()
{
	"$APPS/near.py" "$@"
}

# link_up A DEVICE ADDRESS B DEVICE ADDRESS: a link that is shaped at both ends
link_up()
{
	ns_link "$@" || return 1
	# a veth receives what XDP redirects only with GRO
	ns_exec "$1" ethtool -K "$2" gro on
	ns_exec "$4" ethtool -K "$5" gro on
	bench_shape "$1" "$2" "$RATE"
	bench_shape "$4" "$5" "$RATE"
}

router()
{
	ns_add "$1"
	ns_ip "$1" addr add "$2/32" dev lo
	ns_exec "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1
	SWITCHES+=("$1")
}

add_host()
{
	ns_add "h$1"
	link_up "h$1" eth0 "10.77.$1.2/24" "$2" "s$1" "10.77.$1.1/24"
	ns_ip "h$1" route add default via "10.77.$1.1"
	# What crosses a link has at most the link's MTU. Else headers of segments are not counted.
	ns_exec "h$1" ethtool -K eth0 tso off gso off
}

# app_network: HOSTS hosts, four or two behind a leaf
app_network()
{
	local i j leaf hops per=4

	[ "$HOSTS" -gt 8 ] || per=2
	for ((j = 0; j < SPINES; j++)); do
		router "p$j" "10.9.1.$((j + 1))"
	done
	for ((leaf = 0; leaf * per < HOSTS; leaf++)); do
		router "l$leaf" "10.9.0.$((leaf + 1))"
		hops=()
		for ((j = 0; j < SPINES; j++)); do
			link_up "l$leaf" "u$j" "10.78.$leaf.$((4 * j + 1))/30" \
				"p$j" "d$leaf" "10.78.$leaf.$((4 * j + 2))/30"
			hops+=(nexthop via "10.78.$leaf.$((4 * j + 2))")
			ns_ip "l$leaf" route add "10.9.1.$((j + 1))" via "10.78.$leaf.$((4 * j + 2))"
			ns_ip "p$j" route add "10.9.0.$((leaf + 1))" via "10.78.$leaf.$((4 * j + 1))"
		done
		ns_ip "l$leaf" route add default "${hops[@]}"
		for ((i = leaf * per; i < (leaf + 1) * per && i < HOSTS; i++)); do
			add_host "$i" "l$leaf"
			for ((j = 0; j < SPINES; j++)); do
				ns_ip "p$j" route add "10.77.$i.0/24" via \
					"10.78.$leaf.$((4 * j + 1))"
			done
		done
	done
}

# app_switches: makes switches of all routers
app_switches()
{
	local ns ports

	for ns in "${SWITCHES[@]}"; do
		ports=$(ns_ip "$ns" -j link show type veth | jq -r '[.[].ifname] | join(",")')
		bg ns_exec "$ns" "$CANARY" switch run --name "$(ns_name "$ns")" --ports "$ports" \
			--mode shaped >"$TAP_TMP/switch.$ns" 2>&1
	done
	for ns in "${SWITCHES[@]}"; do
		wait_for 20 grep -q " ready: " "$TAP_TMP/switch.$ns" ||
			bench_die "no switch $ns: $(cat "$TAP_TMP/switch.$ns")"
	done
}

# app_merged: prints how many contributions the switches have added
app_merged()
{
	local ns

	for ns in "${SWITCHES[@]}"; do
		ns_exec "$ns" "$CANARY" switch show -j --name "$(ns_name "$ns")"
	done | jq -s '[.[].counters.merged] | add'
}

# app_bytes: prints what has crossed the hosts' links, both ways
app_bytes()
{
	local i

	for ((i = 0; i < HOSTS; i++)); do
		ns_ip "h$i" -s -j link show eth0
	done | jq -s '[.[][0].stats64 | .rx.bytes, .tx.bytes] | add'
}
