#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Run in the guest: does its kernel have what we need it for? DIRECTORY has the module vm_trouble.ko
# and the BPF object xdp_drop.o.

. "$(dirname "$0")/../lib.sh"
DIR=${1:?directory of vm_trouble.ko and xdp_drop.o}

# rtt NAMESPACE ADDRESS: prints the average round trip of three pings in us
rtt()
{
	ns_exec "$1" ping -q -c 3 -i 0.2 -W 30 "$2" |
		sed -n 's|^rtt.* = [^/]*/\([0-9]*\)\.\([0-9]*\)/.*|\1\2|p'
}

slower_than()
{
	tap_diag "round trip $1 us"
	[ "${1:-0}" -gt "$2" ]
}

tap_start vm/guest_kernel
tap_is "runs the kernel of the headers" "$(uname -r)" "$(basename "$GUEST_KVER")"
tap_check "loads veth" modprobe veth
ns_add a b
ns_link a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
tap_check "ping over veth" ns_exec a ping -q -c 1 -W 30 10.0.0.2
tap_check "HTB" ns_exec a tc qdisc add dev eth0 root handle 1: htb default 1
tap_check "HTB class" ns_exec a tc class add dev eth0 parent 1: classid 1:1 htb rate 100mbit
tap_check "netem under HTB" ns_exec a tc qdisc add dev eth0 parent 1:1 handle 2: netem delay 20ms
tap_check "netem delays" slower_than "$(rtt a 10.0.0.2)" 19000
tap_check "clsact" ns_exec b tc qdisc add dev eth0 clsact
tap_check "XDP program loads" bpftool prog load "$DIR/xdp_drop.o" /sys/fs/bpf/xdp_drop
tap_check "XDP program attaches" ns_exec b ip link set eth0 xdpdrv pinned /sys/fs/bpf/xdp_drop
tap_refuse "XDP program drops" ns_exec a ping -q -c 1 -W 1 10.0.0.2
tap_check "module loads" insmod "$DIR/vm_trouble.ko"
tap_check "module unloads" rmmod vm_trouble
tap_check "tracepoints" test -e /sys/kernel/tracing/events/qdisc/qdisc_enqueue
tap_check "writes to its own copy" touch "$DIR/written"
tap_done
