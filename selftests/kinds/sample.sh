#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A sample of the table of kinds: the whole core; of both engines each 11th cell, which takes
# another operator of each type. AF_CANARY has its own guest.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# table DESCRIPTION ARGUMENTS...: kinds.sh finds everything right
table()
{
	local what=$1

	shift
	tap_check "$what" "$TAP_TOP/selftests/kinds/kinds.sh" --out "$TAP_TMP/kinds.json" "$@"
	jq -r '.[] | "\(.engine) \(.way)"' "$TAP_TMP/kinds.json" | sort | uniq -c | tap_diag
}

tap_start kinds/sample
need_root
need_program ip tc jq bpftool ethtool /usr/bin/python3 qemu-system-x86_64
tmp_dir
table "the core: all types and operators" core
# 11 operators on integers: each 10th takes another one of the next type
table "user engine, real switches" --every 10 user
table "AF_CANARY, real switches" --every 27 kernel
tap_done
