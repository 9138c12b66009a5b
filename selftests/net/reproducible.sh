#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A part of `make reproducible`: sums of floating-point numbers have the bits of the reference in a
# few networks, by the user engine on this machine and by AF_CANARY in the guest. Errors keep their
# bound. If one rank's result had another bit, it would be noticed.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

RUN=$TAP_TOP/tools/reproducible/run.py
CANARY=${CANARY:-$TAP_TOP/build/bin/canary}

tap_start net/reproducible
need_root
need_program ip tc jq mnexec /usr/bin/python3 "$CANARY" "$TAP_TOP/build/bin/canary-sim"
tmp_dir

# run PART: one line of the result for each sum
run()
{
	local part=$1 name rc=0

	timeout 1000 "$RUN" --quick --only "$part,errors" --out "$TAP_TMP/$part" >"$TAP_TMP/said" 2>&1 || rc=$?
	if [ ! -s "$TAP_TMP/$part" ]; then
		tap_not_ok "$part" "exit status $rc: $(tail -n 20 "$TAP_TMP/said")"
		return
	fi
	name=$(jq -r --arg part "$part" '.left_out[$part] // empty' "$TAP_TMP/$part")
	if [ "$name" ]; then
		tap_skip "$part" "$name"
		return
	fi
	while read -r name; do
		tap_ok "$name"
	done < <(jq -r '.sums[] | select((.wrong | length) == 0 and .distinct_results == 1 and
		.runs > 1 and .worst_error_over_bound <= 1) |
		"\(.engine): \(.type), \(.values), \(.elements) elements: the same bits in \(.runs) networks"' \
		"$TAP_TMP/$part")
	tap_is "$part: nothing is wrong, in no sum" "$rc: $(jq -r '.wrong[]' "$TAP_TMP/$part")" "0: "
}

# A program that changes a bit of the result of rank 3
cat >"$TAP_TMP/canary" <<END
#!/bin/bash
[[ "\$1 \$*" == "allreduce "*"--rank 3 "* ]] || exec "$CANARY" "\$@"
"$CANARY" "\$@" || exit
for ((i = 1; i < \$#; i++)); do
	[ "\${!i}" = --out ] && at=\$((i + 1)) && file=\${!at}
done
byte=\$(od -An -tu1 -j 77 -N 1 "\$file")
printf "\\\\x\$(printf %x \$((byte ^ 1)))" | dd of="\$file" bs=1 seek=77 conv=notrunc status=none
END
chmod +x "$TAP_TMP/canary"

run simulator
run user
run kernel
CANARY=$TAP_TMP/canary timeout 1000 "$RUN" --quick --only user --out "$TAP_TMP/changed" >"$TAP_TMP/said" 2>&1
tap_is "a changed bit of one rank is noticed in each sum" \
	"$? $(jq -c '[.sums[] | .distinct_results]' "$TAP_TMP/changed") $(jq -r '.wrong[]' "$TAP_TMP/changed" |
		grep -c 'rank 3: not the bits of the reference')" "1 [2,2] 4"
tap_done
