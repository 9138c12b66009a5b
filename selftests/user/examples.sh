#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The examples that people copy: three ranks on one host, or two times three, with each of them. The
# one on the socket needs the module, which is in the guest.

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

BUILD=$TAP_TOP/build
SUM="0.3 30 300 3000"
export LIBCANARY=$BUILD/lib/libcanary.so

tap_start user/examples
need_root
need_program /usr/bin/python3
tmp_dir
ns_add host
ns_ip host link set lo up

# ranks COMMAND: runs $RANKS ranks, each of which prints the sum
RANKS=3
ranks()
{
	local rank pids=() bad=0

	for ((rank = 1; rank <= RANKS; rank++)); do
		ns_exec host timeout 60 "$@" $((rank % RANKS)) "$RANKS" 127.0.0.1 \
			>"$TAP_TMP/out.$rank" 2>"$TAP_TMP/err.$rank" &
		pids+=("$!")
	done
	for rank in "${pids[@]}"; do
		wait "$rank" || bad=1
	done
	for ((rank = 1; rank <= RANKS; rank++)); do
		grep -qx "$SUM" "$TAP_TMP/out.$rank" || bad=1
	done
	[ "$bad" -eq 0 ] || cat "$TAP_TMP"/err.*
	return "$bad"
}

tap_check "examples/library.c" ranks "$BUILD/examples/library"
# Six of them are two halves of three.
SUM="3 30 300 3000" RANKS=6 tap_check "examples/table.c" ranks "$BUILD/examples/table"
tap_check "examples/allreduce.py" ranks /usr/bin/python3 "$TAP_TOP/examples/allreduce.py"
if [ -e /sys/module/canary ]; then
	tap_check "examples/socket.c" ranks "$BUILD/examples/socket"
else
	tap_skip "examples/socket.c" "the module is not loaded"
fi
tap_done
