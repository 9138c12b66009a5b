#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# debug-kernel.sh [NAME...]: builds debug kernels from Debian's source.
# selftests/vm/debug/NAME.config configures NAME. build/debug-kernel/NAME/bzImage is for run.sh
# --kernel. What is there already is not made again.

set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
OUT=$TOP/build/debug-kernel
PACKAGE=linux-source-6.1
SOURCE=$OUT/$PACKAGE
JOBS=${JOBS:-$(nproc)}

say()
{
	echo "debug-kernel: $*"
}

die()
{
	echo "debug-kernel: error: $*" >&2
	exit 1
}

# logged LOG COMMAND...: output goes to the log; if the command fails, its end to the terminal
logged()
{
	local log=$1

	shift
	"$@" >"$log" 2>&1 9>&- && return 0
	tail -n 20 "$log" | sed 's/^/debug-kernel: | /' >&2
	die "see $log"
}

unpack()
{
	local version

	version=$(dpkg-query -W -f '${Version}' "$PACKAGE" 2>/dev/null) ||
		die "needs $PACKAGE (tools/setup/setup.sh packages)"
	[ "$(cat "$SOURCE/.version-of-package" 2>/dev/null)" != "$version" ] || return 0
	say "unpacking $PACKAGE $version"
	rm -rf "$SOURCE"
	tar -xJf "/usr/src/$PACKAGE.tar.xz" -C "$OUT"
	echo "$version" >"$SOURCE/.version-of-package"
}

# check_config DIRECTORY FRAGMENT...: the configuration has what the fragments ask for. The kernel's
# make silently drops an option that depends on one that is off.
check_config()
{
	local line bad=

	while read -r line; do
		grep -qxF -- "$line" "$1/.config" || bad+=" $line"
	done < <(grep -h '^CONFIG_' "${@:2}")
	[ -z "$bad" ] || die "the configuration lacks:$bad"
}

build()
{
	local name=$1 dir=$OUT/$1 fragments

	fragments=("$HERE/debug/guest.config" "$HERE/debug/$name.config")
	[ -r "${fragments[1]}" ] || die "no configuration ${fragments[1]}"
	mkdir -p "$dir"
	cat "${fragments[@]}" >"$dir/wanted.new"
	if ! cmp -s "$dir/wanted.new" "$dir/wanted" || [ ! -e "$dir/bzImage" ]; then
		say "configuring $name"
		logged "$dir/log" make -C "$SOURCE" O="$dir" KCONFIG_ALLCONFIG="$dir/wanted.new" allnoconfig
		check_config "$dir" "${fragments[@]}"
		say "building $name: some ten minutes"
		logged "$dir/log" nice -n 10 make -C "$SOURCE" O="$dir" -j "$JOBS" bzImage modules
		# The vmlinux does not boot by itself, as the PVH entry does not work with KASAN.
		ln -f "$dir/arch/x86/boot/bzImage" "$dir/bzImage"
		mv "$dir/wanted.new" "$dir/wanted"
	fi
}

[ $# -gt 0 ] || set -- kasan kcsan
mkdir -p "$OUT"
exec 9>"$OUT/lock"
flock 9
unpack
for name in "$@"; do
	exec 9>"$OUT/$name.lock"
	flock 9
	build "$name"
done
