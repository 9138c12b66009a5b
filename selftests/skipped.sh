#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# skipped.sh FILE REASON: makes FILE a test that is skipped, in place of a program that does not
# exist

cat >"$1" <<-END
	#!/bin/sh
	echo "TAP version 13"
	echo "1..0 # SKIP $2"
	exit 4
END
chmod +x "$1"
