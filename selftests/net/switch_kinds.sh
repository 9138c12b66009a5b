#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The switch combines all kinds of data: members find the results right, and its counters say that it
# merged their packets, or sent none past.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/switch_kinds

# perf OPERATOR TYPE: three ranks; what they say is in out.RANK and err.RANK. Fails if one fails.
perf()
{
	local r pids=() bad=0

	COMM=$((COMM + 1))
	for r in 0 1 2; do
		ns_exec "h$((r + 1))" "$CANARY" perf allreduce --op "$1" --datatype "$2" \
			-b 8000 -e 8000 -n 3 -w 1 --engine user --algorithm tree \
			--comm $COMM --rank $r --members 3 --root 10.0.1.2 \
			>"$TAP_TMP/out.$r" 2>"$TAP_TMP/err.$r" &
		pids+=("$!")
	done
	for r in 0 1 2; do
		wait "${pids[r]}" || bad=1
	done
	return $bad
}

# merges OPERATOR TYPE KIND
merges()
{
	local merged bypassed

	merged=$(show .counters.merged)
	bypassed=$(show '.counters["bypass-operator"]')
	if ! perf "$1" "$2"; then
		tap_not_ok "$1 of $2: $3" "$(cat "$TAP_TMP"/out.0 "$TAP_TMP"/err.?)"
		return
	fi
	merged=$(($(show .counters.merged) - merged))
	bypassed=$(($(show '.counters["bypass-operator"]') - bypassed))
	tap_check "$1 of $2: $3: right, $merged packets merged, $bypassed passed" \
		[ "$merged" -gt 4 -a "$bypassed" -eq 0 ]
}

COMM=$((RANDOM << 15 | RANDOM))
start --ports $PORTS --timeout 100ms --root-waits 0
resolve_all
merges sum uint8 ADD8
merges sum int16 ADD16
merges sum int32 ADD32
merges sum int64 ADD64
merges max uint8 MAX8
merges min int16 MAX16
merges max int32 MAX32
merges min uint64 MAX64
merges and uint8 OR
merges xor int16 XOR
merges prod int8 MUL8
merges prod uint16 MUL16
merges prod int32 MUL32
merges prod uint64 MUL64
merges avg int8 "sums of longer lanes"
merges lxor int8 XOR
stop
tap_done
