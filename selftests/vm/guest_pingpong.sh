#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Run in the guest: PINGPONG [COUNT] prints the nanoseconds of a UDP round trip between two
# namespaces.

. "$(dirname "$0")/../lib.sh"
PINGPONG=${1:?pingpong}

tap_start vm/guest_pingpong >/dev/null
ns_add a b
ns_link a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
bg ns_exec b "$PINGPONG" 10.0.0.2
sleep 1
ns_exec a ping -q -c 1 -W 30 10.0.0.2 >/dev/null
ns_exec a timeout 300 "$PINGPONG" 10.0.0.2 "${2:-20000}" && tap_ok "ping-pong" >/dev/null
tap_done >/dev/null
