#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests the guest runner itself: it passes on what the command prints and how it ends, notices what
# the kernel complains about, and keeps time. No test in the guest can notice what the runner
# misses.

. "$(dirname "$0")/../lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
RUN=$HERE/run.sh
BUILD=$TAP_TOP/build/selftests/vm

# build: compiles the module, the BPF program and the ping-pong, below build/
build()
{
	mkdir -p "$BUILD" || return 1
	cp -u "$HERE/vm_trouble.c" "$BUILD/" || return 1
	echo "obj-m := vm_trouble.o" >"$BUILD/Kbuild"
	make -C "$GUEST_KDIR" M="$BUILD" modules &&
	clang-14 -O2 -g -target bpf -I/usr/include/x86_64-linux-gnu \
		-c "$HERE/xdp_drop.bpf.c" -o "$BUILD/xdp_drop.o" &&
	gcc -O2 -Wall -Wextra -Werror "$HERE/pingpong.c" -o "$BUILD/pingpong"
}

# races PATTERN: prints how many reports of a recorded console are ours with that PATTERN
races()
{
	RACES=$1 awk -f "$HERE/races.awk" "$HERE/races.txt" | grep -c "BUG: KCSAN"
}

# start NAME ARGUMENTS...: starts the runner in the background; results are in TAP_TMP
start()
{
	local name=$1

	shift
	{
		rc=0
		"$RUN" "$@" >"$TAP_TMP/$name.out" 2>"$TAP_TMP/$name.err" || rc=$?
		echo "$rc" >"$TAP_TMP/$name.rc"
	} &
	TAP_PIDS+=("$!")
}

# ended DESCRIPTION NAME STATUS: checks the exit status of what start started
ended()
{
	local got

	got=$(cat "$TAP_TMP/$2.rc" 2>/dev/null)
	if [ "$got" = "$3" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "exit status $got, expected $3
$(tail -n 30 "$TAP_TMP/$2.out" "$TAP_TMP/$2.err")"
	fi
}

# says FILE PATTERN: the output of what start started has PATTERN; if not, its end is shown
says()
{
	grep -q -- "$2" "$TAP_TMP/$1" && return
	tail -n 30 "$TAP_TMP/$1"
	return 1
}

within()
{
	[ "$1" -gt 0 ] && [ $((($1 - $2) * 100)) -le "$1" ] && [ $((($2 - $1) * 100)) -le "$1" ]
}

# runner_qemu PID: does the runner PID have a qemu?
runner_qemu()
{
	grep -q -a "guest/run/$1\." /proc/[0-9]*/cmdline 2>/dev/null
}

no_runner_qemu()
{
	! runner_qemu "$1"
}

# expire PID: acts as if the time of the runner PID is over
expire()
{
	local limit

	limit=$(pgrep -P "$1" -x timeout) && kill -ALRM "$limit"
}

tap_start vm/selftest
need_root
need_program qemu-system-x86_64 clang-14
"$TAP_TOP/tools/setup/setup.sh" kernel | tap_diag
# shellcheck source=/dev/null
. "$TAP_TOP/build/guest/config.mk" || tap_skip_all "needs tools/setup/setup.sh kernel"
tmp_dir
tap_check "module, BPF program and ping-pong compile" build

tap_is "a race is that of who accesses" "$(races 'br_handle_frame_finish\+')" 1
tap_is "or of who called him" "$(races '__netif_receive_skb_one_core\+')" 1
tap_is "not of who called long before" "$(races '\[canary\]')" 0
tap_is "nor of who was interrupted" "$(races 'mtree_range_walk\+')" 0
tap_is "what is no race is not left out" "$(RACES=nobody awk -f "$HERE/races.awk" "$HERE/races.txt" | grep -c WARNING)" 1

# Two at the same time
mkdir "$TAP_TMP/work"
cd "$TAP_TMP/work" || exit 1
# shellcheck disable=SC2016 # for the guest's shell
start io --env "A=b c" --out "$TAP_TMP/result" -- sh -c '
	echo "$0|$1|$A|$PWD"
	echo complaint >&2
	echo mine >/out/file
	echo same >"'"$TAP_TMP"'/result/path"
	seq 100000 >/dev/stdout
	sleep 1000 &
	exit 42' "a  b" '$c"'
start kernel --env "GUEST_KVER=$GUEST_KVER" -- "$HERE/guest_kernel.sh" "$BUILD"
wait
ended "exit status passes" io 42
tap_is "arguments, environment, working directory" "$(head -n 1 "$TAP_TMP/io.out")" \
	"a  b|\$c\"|b c|$TAP_TMP/work"
tap_is "all of the output" "$(tail -n +2 "$TAP_TMP/io.out" | sha256sum)" \
	"$(seq 100000 | sha256sum)"
tap_is "standard error, nothing else" "$(cat "$TAP_TMP/io.err")" "complaint"
tap_is "output directory as /out" "$(cat "$TAP_TMP/result/file")" "mine"
tap_is "output directory under its own path" "$(cat "$TAP_TMP/result/path")" "same"
ended "the kernel does what it is for" kernel 0
sed -n 's/^\(not \)\{0,1\}ok/#   &/p' "$TAP_TMP/kernel.out"
tap_refuse "the guest cannot write to the machine" test -e "$BUILD/written"

start warn -- insmod "$BUILD/vm_trouble.ko" how=warn
start oops -- insmod "$BUILD/vm_trouble.ko" how=oops
wait
start leak -- insmod "$BUILD/vm_trouble.ko" how=leak
start allowed --allow "objects? leaked" -- insmod "$BUILD/vm_trouble.ko" how=leak
wait
start race --races "\[vm_trouble\]" -- insmod "$BUILD/vm_trouble.ko" how=race
start others --races "\[vm_trouble\]" -- insmod "$BUILD/vm_trouble.ko" how=race where=other
wait
start died -- busybox poweroff -f
start late --timeout 1 -- sleep 1000
wait
ended "WARN is noticed" warn 121
tap_check "WARN is shown" says warn.err "WARNING: .*vm_trouble_init"
ended "oops is noticed" oops 121
tap_check "oops is shown" says oops.err "BUG: kernel NULL pointer"
ended "leak is noticed" leak 121
ended "what is allowed is no trouble" allowed 0
ended "a race of ours is noticed" race 121
ended "a race of the kernel is no trouble where only ours are" others 0
ended "a guest that dies is noticed" died 122
ended "timeout" late 124
tap_check "timeout is told" says late.err "timeout: killed after 1 s"
# Nobody knows how long a guest takes to boot, so the time expires after that.
bg "$RUN" --timeout 1200 -- sh -c "echo begun; sleep 1000" >"$TAP_TMP/begun.out" 2>"$TAP_TMP/begun.err"
begun=$!
tap_check "output comes while the command runs" wait_for 1000 says begun.out begun
tap_check "its time is over" expire "$begun"
wait "$begun"
echo $? >"$TAP_TMP/begun.rc"
ended "timeout while the command runs" begun 124
tap_is "output before the timeout is there, once" "$(cat "$TAP_TMP/begun.out")" begun

start slow1 --icount -- "$HERE/guest_pingpong.sh" "$BUILD/pingpong"
start slow2 --icount -- "$HERE/guest_pingpong.sh" "$BUILD/pingpong"
wait
ended "instruction counting" slow1 0
first=$(cat "$TAP_TMP/slow1.out")
second=$(cat "$TAP_TMP/slow2.out")
tap_diag "a round trip takes $first and $second ns"
tap_check "timings repeat within 1 %" within "${first:-0}" "${second:-0}"

start smp2 --smp2 --mem 1G -- nproc
# shellcheck disable=SC2016 # for the guest's shell
start files --icount -- bash -c '
	start=${EPOCHREALTIME/./}
	for i in {1..50}; do
		read -r line </etc/passwd
	done
	sleep 100
	echo $((${EPOCHREALTIME/./} - start - 100000000))'
start usage --timeout never -- true
wait
took=$(cat "$TAP_TMP/files.out")
tap_diag "50 times opening a file takes $took us, then sleeping 100 s no time"
tap_check "the clock does not jump while files are read" test "${took:-1000000}" -lt 250000
tap_is "two processors" "$(cat "$TAP_TMP/smp2.out")" 2
ended "wrong usage" usage 125

bg "$RUN" -- sleep 1000 2>/dev/null
runner=$!
tap_check "qemu runs" wait_for 10 runner_qemu "$runner"
bg_stop "$runner"
tap_check "qemu ends with the runner" wait_for 10 no_runner_qemu "$runner"
tap_done
