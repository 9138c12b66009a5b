#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Machines that are big-endian or have 32 bits are refused when somebody compiles for them: by the
# header that everything includes, by make, and for the module by Kbuild. All say the same sentence.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

tap_start user/machines
need_program clang-14 make gcc
tmp_dir
cd "$TAP_TOP" || exit 1
unset MAKEFLAGS MAKELEVEL

SENTENCE="Canary is for little-endian machines of 64 bits: this compiler is for another one"

# compile TARGET: looks at the public headers, as on that machine. No code is made, so it needs
# headers of no other machine than this one.
compile()
{
	echo '#include <linux/canary_wire.h>' |
		clang-14 --target="$1" -fsyntax-only -Ikmod/uapi \
			-idirafter /usr/include/x86_64-linux-gnu -x c -
}

refused()
{
	local out

	! out=$(compile "$1" 2>&1) && grep -qF "$SENTENCE" <<< "$out"
}

# one_line COMMAND...: it fails, and says nothing but the sentence.
one_line()
{
	local out

	! out=$("$@" 2>&1) && [ "$(wc -l <<< "$out")" -eq 1 ] && grep -qF "$SENTENCE" <<< "$out"
}

# kbuild CONFIG...: reads Kbuild as a kernel with this configuration does. There is nothing to make.
kbuild()
{
	make -n -s -f Kbuild src=. srctree="$TAP_TMP" "$@"
}

kbuild_takes()
{
	kbuild "$@" 2>&1 | grep -q 'No targets'
}

for target in x86_64-linux-gnu aarch64-linux-gnu riscv64-linux-gnu powerpc64le-linux-gnu bpfel; do
	tap_check "$target compiles" compile $target
done
for target in i386-linux-gnu arm-linux-gnueabihf x86_64-linux-gnux32 s390x-linux-gnu \
		powerpc64-linux-gnu mips-linux-gnu bpfeb; do
	tap_check "$target is refused" refused $target
done
tap_check "make: 32 bits: one line" one_line make -n -s CC="gcc -m32" all
tap_check "make: big-endian: one line" one_line make -n -s CC="clang-14 --target=s390x-linux-gnu" all
tap_check "make help does not ask the compiler" make -n -s CC="gcc -m32" help
tap_check "module: 32 bits: one line" one_line kbuild CONFIG_MODULES=y
tap_check "module: big-endian: one line" one_line kbuild CONFIG_MODULES=y CONFIG_64BIT=y \
	CONFIG_CPU_BIG_ENDIAN=y
tap_check "module: little-endian and 64 bits" kbuild_takes CONFIG_MODULES=y CONFIG_64BIT=y
tap_check "module: make clean, without a configuration" kbuild_takes
tap_done
