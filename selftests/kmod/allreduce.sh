#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sums through AF_CANARY between hosts (network namespaces) on one bridge and behind routers, also
# while something happens to networks, processes and namespaces. The worker compares every element
# with a sum of its own. It runs where the module is loaded: in the guest.

. "$(dirname "$0")/../lib.sh"

WORKER=$TAP_TOP/build/selftests/kmod/worker
HOSTS=(h0 h1 h2 h3)
ROUTED=()
EHOSTDOWN=112
ECONNRESET=104
EPROTO=71

# rank R HOST [PORT]: prints the worker's argument for a rank; hosts are h0 to h3, r0 to r2
rank()
{
	local addr

	case $2 in
	h*) addr=10.7.0.$((10 + ${2#h})) ;;
	r*) addr=10.8.${2#r}.1 ;;
	esac
	echo "$1@$(ns_name "$2")/$addr${3:+:$3}"
}

# all: one rank on each host; eight: two ranks on each host
all()
{
	rank 0 h0; rank 1 h1; rank 2 h2; rank 3 h3
}

eight()
{
	all
	rank 4 h0 22601; rank 5 h1 22601; rank 6 h2 22601; rank 7 h3 22601
}

# check WHAT ARGUMENTS...: passes if the worker finds nothing wrong
check()
{
	local what=$1

	shift
	tap_check "$what" "$WORKER" -t 300 "$@"
	settle
}

# Waits until nothing lingers, so that ports are free.
lingering()
{
	local host

	for host in "${HOSTS[@]}" "${ROUTED[@]}"; do
		ns_exec "$host" grep -q '^lingering 0$' /proc/net/canary_stats || return 0
	done
	return 1
}

settled()
{
	! lingering
}

settle()
{
	wait_for 30 settled || tap_diag "engines linger"
}

# value HOST NAME: prints a value of /proc/net/canary_stats
value()
{
	ns_exec "$1" sed -n "s/^$2 //p" /proc/net/canary_stats
}

# total NAME: prints its sum over all hosts
total()
{
	local host sum=0

	for host in "${HOSTS[@]}"; do
		sum=$((sum + $(value "$host" "$1")))
	done
	echo "$sum"
}

bridge_up()
{
	local host

	ns_add bridge "${HOSTS[@]}"
	ns_ip bridge link add br0 type bridge
	ns_ip bridge link set br0 up
	for host in "${HOSTS[@]}"; do
		ns_link "$host" eth0 "10.7.0.$((10 + ${host#h}))/24" bridge "$host" -
		ns_ip bridge link set "$host" master br0
	done
}

# faults ARGUMENTS...: sets netem on both ends of every link, or removes it
faults()
{
	local host

	for host in "${HOSTS[@]}"; do
		tc -n "$(ns_name "$host")" qdisc del dev eth0 root 2>/dev/null
		tc -n "$(ns_name bridge)" qdisc del dev "$host" root 2>/dev/null
		[ $# -gt 0 ] || continue
		tc -n "$(ns_name "$host")" qdisc add dev eth0 root netem limit 10000 "$@" ||
			return 1
		tc -n "$(ns_name bridge)" qdisc add dev "$host" root netem limit 10000 "$@" ||
			return 1
	done
}

test_plain()
{
	local mode

	# shellcheck disable=SC2046 # words
	for mode in block poll epoll plain; do
		check "four hosts, $mode" -m "$mode" -e 3000 $(all)
	done
	# shellcheck disable=SC2046
	{
		check "two ranks a host" -e 3000 $(eight)
		check "lengths 0 to 2000, eight in flight" -v -e 2000 -n 24 -f 8 -m epoll $(all)
		check "one element" -e 1 -n 8 $(all)
		check "barriers only" -e 0 -n 8 $(all)
		check "window of 1" -w 1 -e 3000 -n 2 $(all)
		check "window of 1024" -w 1024 -e 40000 -n 2 $(all)
		check "MTU of 576" -u 576 -e 3000 $(all)
		check "1 MiB" -e 262144 -n 2 -f 1 $(all)
		check "with a key" -k secret -e 3000 $(all)
		check "ranks post at their own time" -i 50 -e 1000 -n 8 -f 4 $(all)
		check "two members" -e 3000 $(rank 0 h2) $(rank 1 h3)
		check "all members on one host" -e 3000 $(rank 0 h1) $(rank 1 h1 22601) $(rank 2 h1 22602)
	}
}

test_agreed()
{
	local out

	ns_ip h2 link set eth0 mtu 1280
	# shellcheck disable=SC2046
	out=$("$WORKER" -t 300 -r -n 2 $(all) | awk '{ print $4 }' | sort -u | xargs)
	tap_is "the smallest MTU of all is agreed: (1280 - 92) / 4 elements" "$out" 297
	ns_ip h2 link set eth0 mtu 1500
	settle
}

test_two()
{
	local rc1=0 rc2=0 pid

	# shellcheck disable=SC2046
	{
		bg "$WORKER" -t 300 -c 1 -s 5 -e 5000 -n 6 $(all) >"$TAP_TMP/one"
		pid=$!
		"$WORKER" -t 300 -c 2 -s 6 -e 5000 -n 6 $(rank 0 h3 22640) $(rank 1 h0 22641) \
			$(rank 2 h1 22640) >"$TAP_TMP/two" || rc2=$?
	}
	wait "$pid" || rc1=$?
	tap_is "two communicators at once" "$rc1 $rc2" "0 0"
	cat "$TAP_TMP/one" "$TAP_TMP/two" | tap_diag
	settle
}

test_faults()
{
	local percent again before

	for percent in 1 10; do
		again="loss $percent% duplicate $percent% delay 300us reorder $percent%"
		# shellcheck disable=SC2086
		tap_check "netem: $again" faults $again
		before=$(total retransmissions)
		# shellcheck disable=SC2046
		check "$percent % loss, duplication, reordering" -l 20000 -e 4000 -n 6 -f 3 -m poll $(all)
		if [ "$percent" = 10 ]; then
			[ "$(total retransmissions)" -gt "$before" ]
			tap_is "something was retransmitted" $? 0
			# shellcheck disable=SC2046
			check "$percent %, eight ranks" -l 20000 -v -e 3000 -n 6 -f 3 $(eight)
		fi
	done
	tap_check "netem: none" faults
}

# -a, -A: 0 automatic, 1 trees, 2 ring
test_ring()
{
	# shellcheck disable=SC2046
	{
		check "ring: four hosts" -a 2 -A 2 -e 3000 $(all)
		check "ring: two ranks a host, lengths 0 to 2000, eight in flight" \
			-a 2 -A 2 -v -e 2000 -n 24 -f 8 -m epoll $(eight)
		check "ring: two members" -a 2 -A 2 -e 3000 $(rank 0 h2) $(rank 1 h3)
		check "ring: window of 1" -a 2 -A 2 -w 1 -e 3000 -n 2 $(all)
		check "ring: with a key, 1 MiB" -a 2 -A 2 -k secret -e 262144 -n 2 -f 1 $(all)
		check "ring: ranks post at their own time" -a 2 -A 2 -i 50 -e 1000 -n 8 -f 4 $(all)
		# CANARY_STATIC_TREES(2)
		check "static trees: four hosts" -a $((2 << 8 | 3)) -A 3 -e 3000 $(all)
		# CANARY_TREE_RUNS(16), CANARY_TREE_RUNS(8)
		check "runs of 16 blocks: four hosts" -a $((16 << 8 | 1)) -A 1 -e 20000 $(all)
		check "runs of 8 blocks: two ranks a host, lengths 0 to 2000, eight in flight" \
			-a $((8 << 8 | 1)) -A 1 -v -e 2000 -n 24 -f 8 -m epoll $(eight)
		check "automatic: nobody adds up, so it becomes a ring" -A 2 -e 20000 -n 4 -f 1 $(all)
		check "automatic: short vectors stay trees" -A 1 -e 2000 -n 4 -f 1 $(all)
		tap_check "netem: loss 3% duplicate 3%" faults loss 3% duplicate 3% delay 300us reorder 3%
		check "ring: loss, duplication, reordering" -a 2 -A 2 -l 20000 -e 6000 -n 6 -f 3 $(all)
		check "runs of 16 blocks: the same" -a $((16 << 8 | 1)) -A 1 -l 20000 -e 20000 -n 6 -f 3 $(all)
		faults
		check "ring: a rank is killed in the middle" \
			-a 2 -V 2:3:k -E "$ECONNRESET" -e 2000 -n 20 -f 4 $(all)
	}
}

test_victims()
{
	# shellcheck disable=SC2046
	{
		check "a rank is killed in the middle: ECONNRESET for all others" \
			-V 2:3:k -E "$ECONNRESET" -e 2000 -n 20 -f 4 $(all)
		check "rank 0 is killed in the middle" \
			-V 0:3:k -E "$ECONNRESET" -e 2000 -n 20 -f 4 $(all)
		check "a rank closes in the middle" \
			-V 3:1:c -E "$ECONNRESET" -e 2000 -n 20 -f 4 $(all)
	}
}

test_mismatch()
{
	local pid rc1=0 rc2=0

	# shellcheck disable=SC2046
	{
		bg "$WORKER" -t 300 -M 3 -e 100 -E "$EPROTO" $(rank 0 h0) $(rank 1 h1) >"$TAP_TMP/one"
		pid=$!
		"$WORKER" -t 300 -M 3 -R 10.7.0.10 -e 101 -E "$EPROTO" $(rank 2 h2) >"$TAP_TMP/two" ||
			rc2=$?
	}
	wait "$pid" || rc1=$?
	tap_is "one rank has another length: EPROTO for all" "$rc1 $rc2" "0 0"
	cat "$TAP_TMP/one" "$TAP_TMP/two" | tap_diag
	settle
}

all_connected()
{
	local host

	for host in "${HOSTS[@]}"; do
		ns_exec "$host" grep -q connected /proc/net/canary || return 1
	done
}

test_silence()
{
	local pid rc=0

	# shellcheck disable=SC2046
	bg "$WORKER" -t 300 -d 700 -i 100 -n 10000 -e 100 -E "$EHOSTDOWN" $(all) >"$TAP_TMP/one"
	pid=$!
	tap_check "all ranks are connected" wait_for 20 all_connected
	ns_ip h2 link set eth0 down
	wait "$pid" || rc=$?
	tap_is "a host is cut off: EHOSTDOWN for all" "$rc" 0
	tap_diag <"$TAP_TMP/one"
	ns_ip h2 link set eth0 up
	settle
}

refs()
{
	cat /sys/module/canary/refcnt
}

no_refs()
{
	[ "$(refs)" = 0 ]
}

# The namespace has lost its name. It lives as long as its socket does.
test_netns()
{
	local pid other

	wait_for 10 no_refs
	tap_is "no socket, no engine: the module is not in use" "$(refs)" 0
	ns_add gone
	ns_link gone eth0 10.7.0.50/24 bridge gone -
	ns_ip bridge link set gone master br0
	# shellcheck disable=SC2046
	{
		bg "$WORKER" -t 300 -l 60000 -M 2 -n 100000 -i 20 -e 1000 -E "$ECONNRESET" \
			$(rank 0 h0) >"$TAP_TMP/one"
		other=$!
		bg "$WORKER" -t 300 -l 60000 -M 2 -R 10.7.0.10 -n 100000 -i 20 -e 1000 \
			"1@$(ns_name gone)/10.7.0.50" >"$TAP_TMP/two"
		pid=$!
	}
	wait_for 20 ns_exec gone grep -q connected /proc/net/canary
	tap_is "a socket is in the namespace" $? 0
	ip netns del "$(ns_name gone)"
	sleep 0.3
	kill -0 "$pid"
	tap_is "the namespace has no name any more, the socket goes on" $? 0
	# Its rank ends with it (PDEATHSIG).
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait "$other"
	tap_is "the socket's end: the other rank is told" $? 0
	tap_diag <"$TAP_TMP/one"
	# The engine of the other rank need not linger, as all others have left. It ends in less
	# than a minute.
	TAP_PATIENCE=40 tap_check "engines that were to linger for a minute ended with their namespace" \
		wait_for 10 no_refs
}

test_router()
{
	local i

	ns_add router r0 r1 r2
	ns_exec router sysctl -qw net.ipv4.ip_forward=1
	for i in 0 1 2; do
		ns_link "r$i" eth0 "10.8.$i.1/24" router "p$i" "10.8.$i.254/24"
		ns_ip "r$i" route add default via "10.8.$i.254"
	done
	ROUTED=(r0 r1 r2)
	# shellcheck disable=SC2046
	{
		check "behind a router" -e 5000 $(rank 0 r0) $(rank 1 r1) $(rank 2 r2)
		ns_ip router link set p1 mtu 1300
		ns_ip r1 link set eth0 mtu 1300
		check "one link of it with a smaller MTU" -e 5000 $(rank 0 r0) $(rank 1 r1) $(rank 2 r2)
	}
}

test_trace()
{
	local trace=/sys/kernel/tracing event

	if [ ! -d "$trace/events/canary" ]; then
		tap_skip "tracepoints" "no tracefs"
		return
	fi
	echo 1 >"$trace/events/canary/enable"
	faults loss 5%
	# shellcheck disable=SC2046
	check "traced" -e 4000 -n 4 $(all)
	faults
	echo 0 >"$trace/events/canary/enable"
	for event in contribution result retransmission completion drop; do
		grep -q " $event: comm=1 " "$trace/trace"
		tap_is "tracepoint $event" $? 0
	done
	: >"$trace/trace"
}

tap_start kmod/allreduce
need_root
need_program ip tc nsenter
[ -x "$WORKER" ] || tap_skip_all "needs $WORKER (make)"
[ -d /sys/module/canary ] || tap_skip_all "the module canary is not loaded"
tmp_dir
bridge_up
[ $# -gt 0 ] || set -- plain agreed two faults ring victims mismatch silence netns router trace
for t in "$@"; do
	"test_$t"
done
tap_done
