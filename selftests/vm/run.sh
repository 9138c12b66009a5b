#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs a command as root in a guest that has this machine's files, but a kernel of its own. There
# modules can be loaded, all queueing disciplines exist, and time can be made to count instructions.

set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
GUEST=$TOP/build/guest

# Exit statuses of this script, beside those of the command
EXIT_KERNEL=121
EXIT_DIED=122
EXIT_TIMEOUT=124
EXIT_SETUP=125
# Exit status of qemu when the guest used the exit device, see guest-init
QEMU_END=85

# TCG executes fast string instructions byte by byte, and --icount counts each byte. With them the
# kernel's copies would take five times as long.
CPU=max,-erms,-fsrm

# Messages that a healthy kernel does not print
TROUBLE='WARNING: |BUG: |BUG at |Oops|general protection fault|Call Trace:|Kernel panic'
TROUBLE+='|possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage'
TROUBLE+='|INFO: (task|rcu|possible)|rcu.*(stall|starved)|refcount_t: |UBSAN: |KASAN: |KCSAN: '
TROUBLE+='|unregister_netdevice: waiting|Objects remaining|unreferenced object|[Ll]eak'
TROUBLE+='|held lock|bad unlock|scheduling while atomic|sleeping function'

usage()
{
	cat <<-END
	usage: selftests/vm/run.sh [OPTION...] -- COMMAND [ARGUMENT...]

	  --icount           time counts instructions, 1 ns each: repeatable timings
	  --smp2             two processors (slow; for races)
	  --mem SIZE         memory, 2G by default
	  --timeout SECONDS  of this machine's time, 1200 by default
	  --out DIR          made if absent, writable in the guest at the same path
	                     and as /out; all else that the guest writes is lost
	  --env NAME[=VALUE] into the command's environment, otherwise empty
	  --kernel VMLINUX   boot this kernel
	  --modules DIR      with these modules (.../lib/modules/VERSION)
	  --append STRING    further kernel parameters
	  --console FILE     keep the kernel's console there
	  --allow REGEX      console lines that are no trouble although they look so
	  --races REGEX      of KCSAN's reports only those are trouble that have it in
	                     one of the functions next to an access: the kernel has
	                     races of its own

	The command sees the machine's files and the working directory, and writes
	to its own copy. Exit status: the command's, or
	  $EXIT_KERNEL  the kernel printed a warning, an oops, a leak: see standard error
	  $EXIT_DIED  the guest ended without a status
	  $EXIT_TIMEOUT  timeout
	  $EXIT_SETUP  wrong usage, or something is missing
	END
}

die()
{
	echo "vm: error: $*" >&2
	exit "$EXIT_SETUP"
}

# Removes the directories of the run, and ends qemu (see start).
cleanup()
{
	local rc=$?

	trap - EXIT
	if [ -n "${QEMU:-}" ]; then
		kill "$QEMU" 2>/dev/null || :
		wait "$QEMU" 2>/dev/null || :
	fi
	[ -z "${RUN:-}" ] || rm -rf "$RUN"
	exit "$rc"
}

# need VALUE OPTION: checks that an option has its argument
need()
{
	[ "$1" -gt 1 ] || die "$2 needs an argument"
}

parse()
{
	ICOUNT='' SMP=1 MEM=2G TIMEOUT=1200 OUT='' ENV=() KERNEL='' MODULES='' APPEND='' CONSOLE='' ALLOW='' RACES=''
	while [ $# -gt 0 ]; do
		case $1 in
		--icount) ICOUNT=1 ;;
		--smp2) SMP=2 ;;
		--mem) need $# "$1"; MEM=$2; shift ;;
		--timeout) need $# "$1"; TIMEOUT=$2; shift ;;
		--out) need $# "$1"; OUT=$2; shift ;;
		--env) need $# "$1"; ENV+=("$2"); shift ;;
		--kernel) need $# "$1"; KERNEL=$2; shift ;;
		--modules) need $# "$1"; MODULES=$2; shift ;;
		--append) need $# "$1"; APPEND=$2; shift ;;
		--console) need $# "$1"; CONSOLE=$2; shift ;;
		--allow) need $# "$1"; ALLOW=$2; shift ;;
		--races) need $# "$1"; RACES=$2; shift ;;
		-h | --help) usage; exit 0 ;;
		--) shift; break ;;
		-*) usage >&2; die "unknown option '$1'" ;;
		*) break ;;
		esac
		shift
	done
	[ $# -gt 0 ] || { usage >&2; die "no command"; }
	[[ $TIMEOUT =~ ^[1-9][0-9]*$ ]] || die "--timeout: '$TIMEOUT' is no number of seconds"
	[[ $MEM =~ ^[1-9][0-9]*[MG]$ ]] || die "--mem: '$MEM' is no size such as 512M or 2G"
	if [ -n "$ICOUNT" ] && [ "$SMP" != 1 ]; then
		die "--icount is for one processor"
	fi
	[ -z "$MODULES" ] || [ -d "$MODULES" ] || die "--modules: no directory $MODULES"
	COMMAND=("$@")
}

# Chooses the kernel of set-up unless another one is asked for.
choose_kernel()
{
	if [ -n "$KERNEL" ]; then
		[ -r "$KERNEL" ] || die "--kernel: cannot read $KERNEL"
		return
	fi
	"$TOP/tools/setup/setup.sh" kernel >&2 || die "no kernel for the guest"
	# shellcheck source=/dev/null
	. "$GUEST/config.mk"
	KERNEL=$GUEST_VMLINUX
	MODULES=${MODULES:-$GUEST_MODULES}
}

# The run directory is the guest's /run/guest: it has the command, and how it ended.
make_run()
{
	local item

	mkdir -p "$GUEST/run"
	for item in "$GUEST"/run/*; do
		# Remove what is left of runs that were killed.
		RUN=${item##*/}
		[ -d "/proc/${RUN%%.*}" ] || rm -rf "$item"
	done
	RUN=$(mktemp -d "$GUEST/run/$$.XXXXXX")
	cp "$HERE/guest-init" "$RUN/init"
	chmod 755 "$RUN/init"
	: >"$RUN/stdout"
	: >"$RUN/stderr"
	: >"$RUN/console"
	if [ -n "$OUT" ]; then
		mkdir -p "$OUT"
		OUT=$(cd "$OUT" && pwd)
		: >"$RUN/out"
	fi
	printf 'MODULES=%q\nOUT=%q\n' "$MODULES" "$OUT" >"$RUN/settings"
	{
		printf 'cd %q || exit 125\n' "$PWD"
		# shellcheck disable=SC2016 # for the guest to expand
		printf 'exec env -i HOME=/root LANG=C.UTF-8 TERM=dumb USER=root CANARY_GUEST=1 PATH="$PATH"'
		for item in "${ENV[@]}"; do
			if [[ $item != *=* ]]; then
				[ -n "${!item+set}" ] || continue
				item="$item=${!item}"
			fi
			printf ' %q' "$item"
		done
		printf ' %q' "${COMMAND[@]}"
		echo
	} >"$RUN/command"
}

# build_wait: sets WAIT to the module that keeps a counting clock from jumping (see there), for the
# kernel that set-up chose
build_wait()
{
	local dir=$GUEST/wait-$GUEST_KVER

	WAIT=$dir/vm_wait.ko
	[ ! "$WAIT" -nt "$HERE/vm_wait.c" ] || return 0
	mkdir -p "$dir"
	(
		flock 8
		[ ! "$WAIT" -nt "$HERE/vm_wait.c" ] || exit 0
		cp "$HERE/vm_wait.c" "$dir/"
		echo "obj-m := vm_wait.o" >"$dir/Kbuild"
		make -C "$GUEST_KDIR" M="$dir" modules >"$dir/log" 2>&1 && exit 0
		sed 's/^/vm: | /' "$dir/log" >&2
		exit 1
	) 8>"$dir/lock" || die "cannot make vm_wait.ko"
}

# start: starts qemu in the background; QEMU is its pid. It outlives neither this script nor the
# timeout, whatever happens to either.
start()
{
	local initrd args share run=${RUN//,/,,} out=${OUT//,/,,}
	local cmdline="console=ttyS0 loglevel=5 panic=-1 mitigations=off tsc=reliable"

	# A busy machine may delay timer interrupts. The kernel's watchdogs must not report that.
	cmdline+=" random.trust_cpu=on rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 no_timer_check"
	# Tests count the objects of a slab cache. Merging would mix them with others: UDP's with
	# those of signal_struct.
	[ -n "$ICOUNT" ] || cmdline+=" slab_nomerge"
	initrd=$("$HERE/initrd.sh" "$GUEST" "$MODULES" ${WAIT:+"$WAIT"}) || die "cannot make the initrd"
	share=security_model=none,multidevs=remap
	args=(-M q35 -cpu "$CPU" -smp "$SMP" -m "$MEM"
		-nodefaults -no-user-config -no-reboot -display none -monitor none
		-kernel "$KERNEL" -initrd "$initrd" -append "$cmdline $APPEND"
		-device "isa-debug-exit,iobase=0x501,iosize=1"
		-serial "file:$run/console"
		-fsdev "local,id=root,path=/,readonly=on,$share"
		-device "virtio-9p-pci,fsdev=root,mount_tag=root"
		-fsdev "local,id=run,path=$run,$share"
		-device "virtio-9p-pci,fsdev=run,mount_tag=run"
		-device virtio-serial-pci
		-chardev "file,id=out,path=$run/stdout"
		-device "virtserialport,chardev=out,name=out"
		-chardev "file,id=err,path=$run/stderr"
		-device "virtserialport,chardev=err,name=err")
	if [ -n "$OUT" ]; then
		args+=(-fsdev "local,id=out,path=$out,$share"
			-device "virtio-9p-pci,fsdev=out,mount_tag=out")
	fi
	if [ "$SMP" -gt 1 ]; then
		args+=(-accel "tcg,thread=multi")
	else
		args+=(-accel "tcg,thread=single")
	fi
	[ -z "$ICOUNT" ] || args+=(-icount "shift=0,sleep=off" -rtc "clock=vm")
	setpriv --pdeathsig TERM timeout --foreground -k 5 "$TIMEOUT" \
		setpriv --pdeathsig KILL qemu-system-x86_64 "${args[@]}" \
		</dev/null >"$RUN/qemu" 2>&1 &
	QEMU=$!
}

# finish: waits for qemu, and passes on what the command prints
finish()
{
	local tails=()

	tail -c +1 -s 0.05 --pid="$QEMU" -f "$RUN/stdout" &
	tails+=($!)
	tail -c +1 -s 0.05 --pid="$QEMU" -f "$RUN/stderr" >&2 &
	tails+=($!)
	QEMU_RC=0
	wait "$QEMU" || QEMU_RC=$?
	QEMU=
	wait "${tails[@]}" || :
}

# trouble: prints what the kernel complained about, with the lines that follow
trouble()
{
	tr -d '\r' <"$RUN/console" >"$RUN/kernel"
	if [ -n "$ALLOW" ]; then
		grep -Ev -- "$ALLOW" "$RUN/kernel" >"$RUN/rest" || :
		mv "$RUN/rest" "$RUN/kernel"
	fi
	if [ -n "$RACES" ]; then
		RACES=$RACES awk -f "$HERE/races.awk" "$RUN/kernel" >"$RUN/rest"
		mv "$RUN/rest" "$RUN/kernel"
	fi
	grep -E -A 25 -m 60 -- "$TROUBLE" "$RUN/kernel"
}

# verdict: exits with the result
verdict()
{
	local status=

	[ -z "$CONSOLE" ] || cp "$RUN/console" "$CONSOLE"
	[ ! -s "$RUN/status" ] || read -r status <"$RUN/status"
	if [ "$QEMU_RC" -eq 124 ] || [ "$QEMU_RC" -eq 137 ]; then
		echo "vm: timeout: killed after $TIMEOUT s" >&2
	fi
	if trouble >"$RUN/trouble"; then
		echo "vm: the guest's kernel complains (the command's exit status is ${status:-unknown}):" >&2
		sed 's/^/vm: | /' "$RUN/trouble" >&2
		exit "$EXIT_KERNEL"
	fi
	if [ "$QEMU_RC" -eq 124 ] || [ "$QEMU_RC" -eq 137 ]; then
		exit "$EXIT_TIMEOUT"
	fi
	if [ "$QEMU_RC" -ne "$QEMU_END" ] || [ -z "$status" ]; then
		echo "vm: the guest died (qemu's exit status is $QEMU_RC):" >&2
		cat "$RUN/qemu" "$RUN/console" | tail -n 30 | sed 's/^/vm: | /' >&2
		exit "$EXIT_DIED"
	fi
	exit "$status"
}

parse "$@"
[ "$(id -u)" -eq 0 ] || die "needs root: the guest reads all of the machine's files"
command -v qemu-system-x86_64 >/dev/null || die "needs qemu-system-x86 (tools/setup/setup.sh packages)"
choose_kernel
WAIT=
if [ -n "$ICOUNT" ] && [ "$KERNEL" = "${GUEST_VMLINUX:-}" ]; then
	build_wait
elif [ -n "$ICOUNT" ]; then
	echo "vm: no vm_wait.ko for this kernel: opening a file takes long" >&2
fi
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
make_run
start
finish
verdict
