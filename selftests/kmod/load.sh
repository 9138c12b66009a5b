#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads the module, uses it and unloads it, again and again. Meanwhile ranks are killed, engines
# linger, namespaces vanish, and /proc is read. Nothing may be left: no byte of the module's own
# count, and no memory of the kernel. It runs in the guest with two processors.

. "$(dirname "$0")/../lib.sh"

WORKER=$TAP_TOP/build/selftests/kmod/worker
MODULE=${MODULE:-$TAP_TOP/build/kmod/canary.ko}
ROUNDS=${1:-4}
ECONNRESET=104
# Slab caches in which a round would leave objects, and by how many objects the rest of the system
# may make them grow. A round has thousands of packets, and a thousand sockets.
declare -A CACHES=([UDP]=0 [ip_dst_cache]=64 [skbuff_head_cache]=64)
# kB by which the kernel's own caches may grow
NOISE=1024
# Seconds after which engines that linger for a minute would still exist
SOONER=40

# Makes a tree with only the modules that are needed, for modprobe and autoloading.
module_tree()
{
	local dir kver tunnel

	kver=$(uname -r)
	dir=$TAP_TMP/lib/modules/$kver
	tunnel=$(modinfo -n udp_tunnel 2>/dev/null)
	mkdir -p "$dir"
	cp "$MODULE" "$dir/canary.ko"
	[ ! -f "$tunnel" ] || cp "$tunnel" "$dir/"
	touch "$dir/modules.order" "$dir/modules.builtin"
	depmod -b "$TAP_TMP" "$kver" || return 1
	printf '#!/bin/sh\nmodprobe -d %s "$@" || exec modprobe "$@"\n' "$TAP_TMP" >"$TAP_TMP/modprobe"
	chmod +x "$TAP_TMP/modprobe"
	cp /proc/sys/kernel/modprobe "$TAP_TMP/modprobe.was"
	echo "$TAP_TMP/modprobe" >/proc/sys/kernel/modprobe
	at_exit "cat $TAP_TMP/modprobe.was >/proc/sys/kernel/modprobe"
}

load()
{
	modprobe -d "$TAP_TMP" canary
}

loaded()
{
	[ -d /sys/module/canary ]
}

unload()
{
	rmmod canary 2>/dev/null
}

# Prints kB of kernel memory: slabs, vmalloc, per-cpu.
memory()
{
	echo 3 >/proc/sys/vm/drop_caches
	sleep 0.5
	awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}

udp_memory()
{
	awk '/^UDP:/ { print $5 }' /proc/net/sockstat
}

# objects CACHE: prints how many objects are in use, without those that are only kept in reserve
objects()
{
	echo 1 >"/sys/kernel/slab/$1/shrink" 2>/dev/null
	sed 's/ .*//' "/sys/kernel/slab/$1/objects"
}

# value HOST NAME: prints a value of /proc/net/canary_stats
value()
{
	ns_exec "$1" sed -n "s/^$2 //p" /proc/net/canary_stats
}

hosts_up()
{
	ns_add a b || return 1
	ns_link a eth0 10.7.1.1/24 b eth0 10.7.1.2/24
}

pair()
{
	echo "0@$(ns_name a)/10.7.1.1" "1@$(ns_name b)/10.7.1.2"
}

# Does everything of a round with a loaded module. Return: the step that failed
use()
{
	# shellcheck disable=SC2046 # words
	{
		"$WORKER" -t 300 -e 20000 -n 3 -m epoll $(pair) || return 1
		"$WORKER" -t 300 -e 500000 -n 1 $(pair) || return 2
		"$WORKER" -t 300 -e 2000 -n 20 -f 8 -V 1:3:k -E "$ECONNRESET" $(pair) || return 3
		"$WORKER" -t 300 -e 2000 -n 20 -f 8 -V 0:3:c -E "$ECONNRESET" $(pair) || return 4
	}
}

# Makes sockets, routes and dropped packets: so many of each that it would be seen if they stayed.
waste()
{
	local pid

	"$WORKER" -t 300 -S 1000 -l 0 -M 2 -R 10.7.1.2 "1@$(ns_name a)/10.7.1.1" || return 1
	"$WORKER" -t 300 -M 2 "0@$(ns_name a)/10.7.1.1" >/dev/null &
	pid=$!
	wait_for 10 ns_exec a grep -q joining /proc/net/canary || return 2
	# shellcheck disable=SC2016 # for that shell
	ns_exec b bash -c 'for ((i = 0; i < 500; i++)); do
		printf "%0*d" "$i" 0 >/dev/udp/10.7.1.1/22600; done'
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	[ "$(value a drop-short)" -gt 0 ] && [ "$(value a drop-version)" -gt 0 ]
}

# One namespace ends while the only rank in it is alive, another one while its engine lingers.
vanish()
{
	local pid

	ns_add c || return 1
	ns_link c eth0 10.7.2.1/24 a eth1 10.7.2.2/24 || return 2
	"$WORKER" -t 300 -M 2 -l 60000 "0@$(ns_name c)/10.7.2.1" >/dev/null &
	pid=$!
	wait_for 10 ns_exec c grep -q joining /proc/net/canary || return 3
	ip netns del "$(ns_name c)"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	return 0
}

# Opens and closes sockets in all states, and reads /proc, until the file is gone.
churn()
{
	while [ -e "$TAP_TMP/churn" ]; do
		ns_exec a cat /proc/net/canary /proc/net/canary_stats
		"$WORKER" -t 1 -c 9 -M 2 -p 22650 "0@$(ns_name a)/10.7.1.1"
	done >/dev/null 2>&1
}

round()
{
	local churner rc

	load || return 99
	: >"$TAP_TMP/churn"
	churn &
	churner=$!
	use
	rc=$?
	waste || rc=$((rc + 20))
	vanish || rc=$((rc + 40))
	rm "$TAP_TMP/churn"
	wait "$churner"
	[ "$rc" = 0 ] || return "$rc"
	wait_for 10 own_nothing || return 100
	TAP_PATIENCE=$SOONER wait_for 10 unload || return 101
}

own_nothing()
{
	local host

	for host in a b; do
		[ "$(ns_exec "$host" grep -cE '^(sockets|lingering|vector-bytes|spare-bytes|core-bytes) 0$' \
			/proc/net/canary_stats)" = 5 ] || return 1
	done
}

test_refused()
{
	local pid

	load
	"$WORKER" -t 300 -M 2 "0@$(ns_name a)/10.7.1.1" >/dev/null &
	pid=$!
	wait_for 10 ns_exec a grep -q joining /proc/net/canary
	tap_refuse "rmmod is refused while there is a socket" rmmod canary
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	tap_check "and not when it was killed" wait_for 10 unload
}

# Without ACK nobody learns that the others have the result, so engines linger as long as they may.
test_lingering()
{
	local host

	load
	for host in a b; do
		tc -n "$(ns_name $host)" qdisc add dev eth0 clsact
		tc -n "$(ns_name $host)" filter add dev eth0 egress protocol ip u32 \
			match ip protocol 17 0xff match u8 37 0xff at 29 action drop ||
			tap_diag "cannot drop ACK"
	done
	# shellcheck disable=SC2046
	tap_check "an operation, then close" "$WORKER" -t 300 -l 3000 -n 1 -e 100 $(pair)
	tap_check "engines linger" ns_exec a grep -q " lingering " /proc/net/canary
	tap_refuse "rmmod is refused while they do" rmmod canary
	tap_check "rmmod succeeds when that is over" wait_for 15 unload
	load
	# shellcheck disable=SC2046
	"$WORKER" -t 300 -l 60000 -n 1 -e 100 $(pair)
	tap_check "engines linger for a minute" ns_exec b grep -q " lingering " /proc/net/canary
	ns_del a
	ns_del b
	TAP_PATIENCE=$SOONER tap_check "unless their namespaces end" wait_for 15 unload
	# shellcheck disable=SC2034 # lib.sh reads it
	NS_NAMES=()
	tap_check "namespaces again" hosts_up
}

tap_start kmod/load
need_root
need_program ip modprobe depmod
[ -x "$WORKER" ] || tap_skip_all "needs $WORKER (make)"
[ -n "${CANARY_GUEST:-}" ] || tap_skip_all "loads and unloads the module: only in the guest"
tmp_dir
tap_check "modules" module_tree
tap_check "namespaces" hosts_up

"$WORKER" -t 300 -n 1 -M 1 "0@$(ns_name a)/10.7.1.1" >/dev/null
loaded
tap_is "socket() loads the module" $? 0
tap_check "and it can be unloaded" wait_for 10 unload
tap_refuse "a family number that is taken is refused" \
	insmod "$MODULE" family=2
tap_check "another family number" insmod "$MODULE" family=19
tap_check "works" "$WORKER" -t 300 -n 1 -M 1 "0@$(ns_name a)/10.7.1.1"
tap_check "and it can be unloaded" wait_for 10 unload
test_refused
test_lingering

tap_check "round 0" round
before=$(memory)
udp=$(udp_memory)
declare -A had
for cache in "${!CACHES[@]}"; do
	had[$cache]=$(objects "$cache")
done
for ((i = 1; i <= ROUNDS; i++)); do
	tap_check "round $i: load, use, unload" round
done
grown=$(($(memory) - before))
tap_diag "the kernel's memory grew by $grown kB in $ROUNDS rounds"
[ "$grown" -lt "$NOISE" ]
tap_is "no memory of the kernel is left" $? 0
tap_is "no memory of UDP is left" "$(udp_memory)" "$udp"
for cache in "${!CACHES[@]}"; do
	grown=$(($(objects "$cache") - had[$cache]))
	tap_diag "$cache: $grown more"
	if [ -L "/sys/kernel/slab/$cache" ]; then
		tap_skip "no object of $cache is left" "others share the cache"
		continue
	fi
	[ "$grown" -le "${CACHES[$cache]}" ]
	tap_is "no object of $cache is left" $? 0
done
tap_is "no slab of the family is left" "$(grep -c CANARY /proc/slabinfo)" 0
tap_done
