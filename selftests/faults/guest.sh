#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# guest.sh COMMAND...: in the guest, loads the module, runs a command and unloads the module. If it
# cannot be unloaded, it is still in use, which is a failure, too.

TOP=$(cd "$(dirname "$0")/../.." && pwd)
MODULE=${MODULE:-$TOP/build/kmod/canary.ko}

[ -n "${CANARY_GUEST:-}" ] || { echo "$0: loads a module: only in the guest" >&2; exit 125; }
modprobe -q udp_tunnel
insmod "$MODULE" || exit 125
"$@"
status=$?
for ((i = 0; i < 300; i++)); do
	rmmod canary 2>/dev/null && exit "$status"
	sleep 0.1
done
rmmod canary
cat /proc/net/canary_stats >&2
echo "$0: the module is still in use" >&2
exit 1
