#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# debug-tests.sh [TEST...]: in a guest with a debug kernel, runs the module's tests, then reports
# what kmemleak finds. Prints TAP. The guest's runner looks at other messages of the kernel.

HERE=$(cd "$(dirname "$0")" && pwd)
KMEMLEAK=/sys/kernel/debug/kmemleak

[ $# -gt 0 ] || set -- 'api_*' allreduce.sh
[ ! -e $KMEMLEAK ] || echo clear >$KMEMLEAK
"$HERE/../kmod/guest.sh" "$@"
status=$?
if [ -e $KMEMLEAK ]; then
	# kmemleak reports an object only when it has been unreferenced for some seconds.
	sleep 10
	echo scan >$KMEMLEAK
	sleep 1
	echo scan >$KMEMLEAK
	if grep -q . $KMEMLEAK; then
		echo "not ok kmemleak"
		cat $KMEMLEAK
		status=1
	else
		echo "ok kmemleak: nothing"
	fi
fi
exit $status
