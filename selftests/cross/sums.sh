#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Sums of ranks on processors of two kinds: this machine's, and an arm64 that is emulated. They have
# to understand each other's packets, and to get the bits that ranks of this machine alone get.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=${CANARY:-$TAP_TOP/build/bin/canary}
THERE=$TAP_TOP/build/arm64/bin/canary
TYPES="int8 uint16 int32 int64 float16 bfloat16 float32 float64 complex64 float64_index"

tap_start cross/sums
need_root
need_program ip qemu-aarch64-static "$HERE"
[ -e "$THERE" ] || tap_skip_all "needs $THERE: make cross-arm64"
tmp_dir
ns_add h

# rank MACHINE NUMBER TYPE OPERATOR: one of three ranks
rank()
{
	local program=("$HERE")

	[ "$1" = here ] || program=(qemu-aarch64-static -L "$TAP_TOP/build/arm64/root" "$THERE")
	ns_exec h timeout 300 "${program[@]}" allreduce --comm 1 --members 3 --rank "$2" --engine user \
		--root 127.0.0.1:22600 --bind "127.0.0.1:$((22600 + $2))" --type "$3" --op "$4" \
		--in "$TAP_TMP/in$2" --out "$TAP_TMP/out$2"
}

# digest MACHINE MACHINE MACHINE TYPE OPERATOR: prints the digests of what the three ranks get
digest()
{
	local pids=() bad=0 pid

	rm -f "$TAP_TMP"/out?
	rank "$2" 1 "$4" "$5" &
	pids+=("$!")
	rank "$3" 2 "$4" "$5" &
	pids+=("$!")
	rank "$1" 0 "$4" "$5" || bad=1
	for pid in "${pids[@]}"; do
		wait "$pid" || bad=1
	done
	[ $bad -eq 0 ] && (cd "$TAP_TMP" && cksum <out0 && cksum <out1 && cksum <out2)
}

# Bytes at random are numbers of every size, infinities, and none at all.
for i in 0 1 2; do
	head -c 48000 /dev/urandom >"$TAP_TMP/in$i"
done
tap_is "that program is for arm64" "$(od -An -tu2 -j 18 -N 2 "$THERE" | xargs)" 183
for type in $TYPES; do
	op=sum
	[ "$type" != float64_index ] || op=minloc
	alone=$(digest here here here "$type" $op)
	tap_is "$type: three ranks here agree" "$(sort -u <<<"$alone" | grep -c .)" 1
	tap_is "$type: rank 0 here, the others on arm64: the same bits" "$(digest here there there "$type" $op)" "$alone"
	tap_is "$type: rank 0 on arm64: the same bits" "$(digest there here there "$type" $op)" "$alone"
done
tap_done
