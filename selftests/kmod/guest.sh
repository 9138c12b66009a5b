#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh TEST...: in the guest, loads the module, runs tests of this directory, and unloads the
# module. It merges their output into one TAP stream. A name that ends with * stands for all
# programs whose sources begin like that.

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(dirname "$(dirname "$HERE")")
MODULE=${MODULE:-$TOP/build/kmod/canary.ko}

run()
{
	local test=$1

	case $test in
	*.sh) timeout 1500 "$HERE/$test" ;;
	*) timeout 900 "$TOP/build/selftests/kmod/$test" 2>&1 ;;
	esac
	echo "exit $? $test"
}

# names TEST...: prints the names of the tests
names()
{
	local test file

	for test in "$@"; do
		case $test in
		*\*)
			for file in "$HERE/${test%\*}"*.c; do
				basename "$file" .c
			done ;;
		*) echo "$test" ;;
		esac
	done
}

unload()
{
	local i

	# Engines linger for a moment. The guest may be slow.
	for ((i = 0; i < 600; i++)); do
		rmmod canary 2>/dev/null && echo "ok - the module is unloaded" && return
		sleep 0.1
	done
	rmmod canary
	echo "not ok - the module is unloaded"
}

all()
{
	local test tests

	mapfile -t tests < <(names "$@")
	modprobe -q udp_tunnel
	if ! insmod "$MODULE"; then
		echo "not ok - the module is loaded"
		return
	fi
	for test in "${tests[@]}"; do
		run "$test"
	done
	unload
}

echo "TAP version 13"
all "$@" | awk '
/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0 }
/^TAP version/ || /^1\.\.[0-9]+$/ || /^# (kmod|user)\/[a-z]+: / { next }
# Lines of the harness. Its tests are counted below, like all others.
/^# (Starting|PASSED|FAILED|Totals)/ || /^#  +(RUN|OK) / { next }
/^# .*:[0-9]+ checks$/ { sub(/.*:/, ""); checks += $1; next }
/^exit / {
	# Exit status 0: passed; 1: failed, which the output has to say; 4: skipped.
	if (($2 != 0 && $2 != 1 && $2 != 4) || ($2 == 1 && bad == bad_before))
		printf "not ok %d %s ends (exit status %d)\n", ++n, $3, $2, bad++
	else if ($2 != 4 && (results == 0 || results != plan))
		printf "not ok %d %s: %d results of %d\n", ++n, $3, results, plan, bad++
	bad_before = bad
	results = plan = 0
	next
}
/^ok / || /^not ok / {
	text = $0
	sub(/^(not )?ok +([0-9]+|-) */, "", text)
	good = $1 == "ok"
	results++
	if (good && text ~ /# SKIP/)
		skipped++
	else if (good)
		passed++
	else
		bad++
	printf "%sok %d %s\n", good ? "" : "not ", ++n, text
	fflush()
	next
}
{ print; fflush() }
END {
	printf "1..%d\n# kmod: %d passed, %d failed, %d skipped", n, passed, bad, skipped
	printf "; tests of the harness made %d checks\n", checks
	exit bad ? 1 : 0
}'
exit "${PIPESTATUS[1]}"
