#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A sample of the table of kinds: the whole core, some cells of both engines. AF_CANARY has guests of
# its own, for which `make module unmerged-module` builds the module.

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
need_program ip tc jq bpftool ethtool /usr/bin/python3
tmp_dir
table "the core: all types and operators" core
# There are 11 operators on integers. So each 10th cell is another operator, of the next type.
table "user engine, real switches: a sample" --every 10 user
if [ -e "$TAP_TOP/build/kmod/canary.ko" ] && [ -e "$TAP_TOP/build/unmerged/kmod/canary.ko" ]; then
	table "AF_CANARY, real switches: a sample" --every 27 kernel
else
	tap_skip "AF_CANARY, real switches: a sample" "no modules: make module unmerged-module"
fi
tap_done
