#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# docs/how-to-try-a-switch.md: its commands, taken from there, give the results that it describes.

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

tap_start user/try
need_root
need_program ip ethtool ping
[ -x "$TAP_TOP/build/bin/canary" ] || tap_skip_all "no canary"
tmp_dir
cd "$TAP_TOP" || exit 1
OWN=cny$$

# step NUMBER: prints the commands of that section (0: of the beginning), with unique names
step()
{
	awk -v n="$1" '/^## / { i = $2 + 0; if ($2 !~ /^[0-9]/) exit } i == n && /^\t/ && !/^\tcanary: /' \
		docs/how-to-try-a-switch.md |
		sed -e "s#/tmp/try#$TAP_TMP/#g; s/try-/$OWN-/g; s/--name try/--name $OWN/g" -e 's/^\t//'
}

end()
{
	local name

	[ -z "${switch:-}" ] || kill "$switch" 2>/dev/null
	for name in sw h1 h2 h3 h4; do
		ip netns del "$OWN-$name" 2>/dev/null
	done
}
at_exit end

# run NUMBER: runs that section in this shell, as a reader does
run()
{
	# shellcheck disable=SC1090
	. <(step "$1") >"$TAP_TMP/step$1" 2>&1
}

# counted NAME: the switch has counted something there
counted()
{
	canary switch show --name "$OWN" | grep -q "^  $1 "
}

run 0
run 1
tap_check "hosts reach each other" grep -q "1 received" "$TAP_TMP/step1"
run 2
tap_check "the switch is ready" wait_for 30 grep -q ready "$TAP_TMP/step2"
run 3
tap_check "the same sum at all" grep -q "the same sum" "$TAP_TMP/step3"
tap_check "the switch adds" counted merged
tap_refuse "nobody is a stranger" counted bypass-admission
run 4
tap_check "who has another key is named" grep -q "wants to join as rank 3 with another key" \
	"$TAP_TMP/step4"
run 3
tap_check "a sum with a host that is not admitted" grep -q "the same sum" "$TAP_TMP/step3"
tap_check "its contributions travel alone" counted bypass-admission
run 5
switch=
tap_is "no namespace is left" "$(ip netns | grep -c "^$OWN-")" 0
tap_refuse "the switch left nothing behind" grep stays "$TAP_TMP/step2"
tap_done
