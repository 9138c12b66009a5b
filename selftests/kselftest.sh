#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The tests as kselftests: from this folder, installed, and copied into the source of Debian's
# kernel. Only some of them run and all others are skipped, as `make test` runs all of them. It also
# checks that `make test` has each test of tests.mk.

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"

PACKAGE=linux-source-6.1
SOURCE=$TAP_TOP/build/$PACKAGE
# Some of each kind: compiled or not, between namespaces, for the module, which is not loaded here
ONLY="parse_test json_test usage.sh examples.sh settings.sh api_call rules.sh"

tap_start kselftest
need_root
need_program make rsync perl /usr/sbin/ip "$TAP_TOP/build/bin/canary"
unset MAKEFLAGS MAKELEVEL CANARY_TREE
tmp_dir

# unpack: unpacks the kernel source's part of kselftest, once for each version
unpack()
{
	local version

	version=$(dpkg-query -W -f '${Version}' "$PACKAGE") || return 1
	[ "$(cat "$SOURCE/version" 2>/dev/null)" != "$version" ] || return 0
	rm -rf "$SOURCE"
	tar -xJf "/usr/src/$PACKAGE.tar.xz" -C "$TAP_TOP/build" "$PACKAGE/scripts/subarch.include" \
		"$PACKAGE/tools/testing/selftests" && echo "$version" >"$SOURCE/version"
}

# run LOG COMMAND...: runs it with a time limit, and shows the output if it fails
run()
{
	local log=$TAP_TMP/$1

	shift
	timeout 900 "$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log"; return 1; }
}

# results LOG: prints "STATUS NAME" for each test; STATUS is "skip" if it was skipped
results()
{
	sed -nE -e 's/^ok [0-9]+ selftests: .*: ([^ ]+) # SKIP.*/skip \1/p' \
		-e 's/^ok [0-9]+ selftests: .*: ([^ ]+)$/ok \1/p' \
		-e 's/^not ok [0-9]+ selftests: .*: ([^ ]+).*/bad \1/p' "$TAP_TMP/$1"
}

# few LOG: the chosen tests ran, and all others were skipped
few()
{
	local all ran

	all=$(results "$1" | wc -l)
	tap_is "$1: all tests are there" "$all" "$(wc -l <"$TAP_TMP/list")"
	tap_is "$1: none fails" "$(results "$1" | grep '^bad')" ""
	ran=$(results "$1" | sed -n 's/^ok //p' | sort | xargs)
	tap_is "$1: those that were to run did" "$ran" \
		"examples.sh json_test parse_test settings.sh usage.sh"
	tap_check "$1: a test without the module says so" \
		grep -q '# .*SKIP.*the module canary is not loaded' "$TAP_TMP/$1"
}

# `make test` would run each test of the list.
one_list()
{
	local folder name commands lacking=

	commands=$(make -n -C "$TAP_TOP" test-commands 2>/dev/null)
	while IFS=: read -r folder name; do
		grep -qE -e "${folder#canary/}/$name" -e "(^|[[:space:]/])$name([;[:space:]]|\$)" <<<"$commands" || lacking+=" $folder:$name"
	done <"$TAP_TMP/list"
	[ -z "$lacking" ] || { echo "not run:$lacking"; return 1; }
}

make -s -C "$TAP_DIR" emit_tests COLLECTION=canary 2>/dev/null | grep '^canary' >"$TAP_TMP/list"
tap_check "make test runs each of $(wc -l <"$TAP_TMP/list") tests" one_list

tap_check "run_tests in this tree" run tree \
	env CANARY_ONLY="$ONLY" make -C "$TAP_DIR" run_tests
few tree

tap_check "install" run install env CANARY_ONLY="$ONLY" make -s -C "$TAP_DIR" install \
	INSTALL_PATH="$TAP_TMP/installed"
tap_check "run what was installed" run installed.log \
	env CANARY_ONLY="$ONLY" "$TAP_TMP/installed/run_kselftest.sh"
few installed.log

tap_check "kselftest of $PACKAGE" unpack
rm -rf "$SOURCE/tools/testing/selftests/net/canary"
tap_check "this folder, copied into it" cp -a "$TAP_DIR" "$SOURCE/tools/testing/selftests/net/canary"
tap_check "run_tests in the kernel's tree" run kernel env CANARY_TREE="$TAP_TOP" \
	CANARY_ONLY="$ONLY" make -C "$SOURCE/tools/testing/selftests" TARGETS=net/canary run_tests
few kernel
tap_check "without the tree of Canary" run alone \
	make -C "$SOURCE/tools/testing/selftests" TARGETS=net/canary run_tests
tap_is "alone: all are skipped" "$(results alone | grep -c '^skip')" "$(wc -l <"$TAP_TMP/list")"
tap_is "alone: each says why" "$(grep -c '# .*SKIP needs the tree of Canary' "$TAP_TMP/alone")" \
	"$(wc -l <"$TAP_TMP/list")"
tap_done
