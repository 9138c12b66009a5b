#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Prepares a fresh Debian 12 machine for the Makefile's targets: packages, the guest's kernel, the
# parts of the kernel source that the project uses.
# Each step looks whether there is something to do, and says so if there is. It leaves what it made
# below build/. Several instances may run at the same time.

set -euo pipefail

TOP=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$TOP/build
GUEST=$BUILD/guest
PARTS=$BUILD/linux-parts
LOG=$BUILD/setup.log
PACKAGES=$TOP/tools/setup/packages.txt
SOURCE_PACKAGE=linux-source-6.1
SOURCE_PARTS=(
	scripts/checkpatch.pl
	scripts/spelling.txt
	scripts/const_structs.checkpatch
	tools/testing/selftests/lib.mk
	tools/testing/selftests/kselftest.h
	tools/testing/selftests/kselftest_harness.h
	tools/testing/selftests/Makefile
	tools/testing/selftests/run_kselftest.sh
	tools/testing/selftests/kselftest/module.sh
	tools/testing/selftests/kselftest/prefix.pl
	tools/testing/selftests/kselftest/runner.sh
	scripts/subarch.include
)
ARM64_TOOLS=(gcc-12-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
ARM64_PACKAGES=(libc6 libc6-dev linux-libc-dev libgcc-s1 libcrypt1 libbpf1 libbpf-dev libelf1
	libelf-dev zlib1g zlib1g-dev libmnl0 libmnl-dev libgmp10 libgmp-dev libmpfr6 libmpfr-dev)
# A guest without hardware never loads these. They are 5/6 of the size, so they are not unpacked.
NO_MODULES=(drivers/gpu drivers/media drivers/infiniband drivers/scsi
	drivers/net/ethernet drivers/net/wireless drivers/staging drivers/iio
	drivers/usb drivers/hwmon drivers/input drivers/mtd drivers/isdn sound)

usage()
{
	cat <<-END
	usage: tools/setup/setup.sh STEP...

	  packages  install the Debian packages of tools/setup/packages.txt
	  kernel    make build/guest: the kernel that the guest boots, its
	            modules, config.mk that says where everything is
	  parts     make build/linux-parts: checkpatch and kselftest
	  all       all of these
	  list NAME install the packages of tools/setup/NAME.txt, which only some
	            targets need
	  source PACKAGE
	            make build/source/PACKAGE: the source of a Debian package
	  other SERIES
	            make build/guest/other-SERIES.mk, as config.mk, for another kernel
	            series that Debian has (6.12): downloaded, with its headers, and
	            nothing of it installed
	  arm64     make build/arm64/root: libraries and headers of that machine; and
	            install a compiler and an emulator for it

	config.mk is for make and for sh:
	  GUEST_KVER     kernel version, as uname -r says it
	  GUEST_VMLINUX  uncompressed kernel
	  GUEST_MODULES  its modules, a directory named GUEST_KVER
	  GUEST_KDIR     its headers: make -C \$GUEST_KDIR M=... modules

	SETUP_DOWNLOAD=1 downloads the kernel even if it is installed.
	END
}

say()
{
	echo "setup: $*"
}

die()
{
	echo "setup: error: $*" >&2
	exit 1
}

# logged COMMAND...: output goes to the log; if the command fails, its end to the terminal.
# The lock is closed, since a service that a package starts would keep it.
logged()
{
	local from

	from=$(($(wc -c 2>/dev/null <"$LOG" || echo 0) + 1))
	"$@" </dev/null >>"$LOG" 2>&1 9>&- && return 0
	tail -c "+$from" "$LOG" | tail -n 15 | sed 's/^/setup: | /' >&2
	return 1
}

apt()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 \
		-o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@"
}

# An unreachable third-party source is no error here. What matters is whether the packages are found
# afterwards.
apt_update()
{
	say "updating the package index"
	logged apt update || say "some indices could not be updated, going on"
}

# package_names LIST: prints the packages of a file like packages.txt.
package_names()
{
	sed -e 's/#.*//' "$1" | xargs
}

# missing PACKAGE...: prints those that are not installed.
missing()
{
	comm -13 \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
			sed -n 's/^installed //p' | sort -u) \
		<(printf '%s\n' "$@" | sort -u)
}

# install_packages NAME...: tries the index as it is (absent on a fresh machine, often stale
# elsewhere), then a new one.
install_packages()
{
	say "installing $*"
	if ! apt install --no-install-recommends -y "$@" </dev/null >>"$LOG" 2>&1 9>&-; then
		apt_update
		logged apt install --no-install-recommends -y "$@" ||
			die "cannot install packages, see $LOG"
	fi
}

# setup_packages [LIST]
setup_packages()
{
	local names lacking

	read -ra names <<<"$(package_names "${1:-$PACKAGES}")"
	lacking=$(missing "${names[@]}" | xargs)
	[ -n "$lacking" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		die "as root: apt-get install --no-install-recommends $lacking"
	fi
	# shellcheck disable=SC2086
	install_packages $lacking
}

need_packages()
{
	local lacking

	lacking=$(missing "$@" | xargs)
	[ -z "$lacking" ] || setup_packages
}

package_version()
{
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
		sed -n 's/^installed //p'
}

# headers_kernel: prints "KVER VERSION" of the headers that linux-headers-amd64 depends on.
headers_kernel()
{
	dpkg-query -W -f '${Depends}\n' linux-headers-amd64 |
		sed -n 's/.*linux-headers-\([^ ]*\) (= \([^)]*\)).*/\1 \2/p'
}

# download PACKAGE VERSION: fetches the .deb into build/guest/download.
download()
{
	mkdir -p "$GUEST/download"
	(cd "$GUEST/download" && apt download "$1=$2" </dev/null >>"$LOG" 2>&1 9>&-)
}

# kernel_download KVER VERSION: unpacks the image package. It is not installed, so that this machine
# keeps its kernel.
kernel_download()
{
	local image=$GUEST/image-$1 module deb exclude=()

	say "downloading linux-image-$1 $2"
	download "linux-image-$1" "$2" || return 1
	deb=$(find "$GUEST/download" -name "linux-image-$1_*.deb" | head -n 1)
	say "unpacking the kernel and its modules"
	for module in "${NO_MODULES[@]}"; do
		exclude+=(--exclude "./lib/modules/$1/kernel/$module")
	done
	rm -rf "$image.new" "$image"
	mkdir -p "$image.new"
	dpkg-deb --fsys-tarfile "$deb" |
		tar -x -C "$image.new" "${exclude[@]}" ./boot ./lib/modules
	depmod -b "$image.new" "$1" 9>&-
	mv "$image.new" "$image"
	rm -rf "$GUEST/download"
}

# unpacker FILE OFFSET: prints the command that unpacks the data there.
unpacker()
{
	case $(od -An -tx1 -j "$2" -N 4 "$1" | tr -d ' ') in
	fd377a58) echo xz ;;
	28b52ffd) echo zstd ;;
	*) die "$1: neither XZ nor ZSTD" ;;
	esac
}

# vmlinux_extract VMLINUZ VMLINUX: the header of the boot protocol says where in the bzImage the
# compressed kernel is.
vmlinux_extract()
{
	local sectors offset length unpack

	sectors=$(od -An -tu1 -j 497 -N 1 "$1" | xargs)
	offset=$(od -An -tu4 -j 584 -N 4 "$1" | xargs)
	length=$(od -An -tu4 -j 588 -N 4 "$1" | xargs)
	offset=$(((sectors + 1) * 512 + offset))
	unpack=$(unpacker "$1" "$offset") || exit 1
	# The last four bytes of the payload are its size. They are not compressed.
	dd if="$1" iflag=skip_bytes,count_bytes bs=1M status=none \
		skip="$offset" count="$((length - 4))" | "$unpack" -dc >"$2.new"
	mv "$2.new" "$2"
}

# kernel_find KVER VERSION: prints the root of boot/ and lib/modules/ of that very kernel: / if it
# is installed, else where it was unpacked.
kernel_find()
{
	if [ -z "${SETUP_DOWNLOAD:-}" ] &&
	   [ "$(package_version "linux-image-$1")" = "$2" ] &&
	   [ -r "/boot/vmlinuz-$1" ] && [ -r "/lib/modules/$1/modules.dep.bin" ]; then
		return 0
	fi
	echo "$GUEST/image-$1"
}

setup_kernel()
{
	local kver version root stamp

	need_packages linux-headers-amd64 xz-utils kmod
	read -r kver version <<<"$(headers_kernel)"
	[ -n "$kver" ] || die "cannot tell the version of linux-headers-amd64"
	root=$(kernel_find "$kver" "$version")
	stamp="$kver $version ${root:-installed}"
	if [ "$(cat "$GUEST/stamp" 2>/dev/null)" = "$stamp" ] &&
	   [ -r "$GUEST/vmlinux-$kver" ] && [ -r "$GUEST/config.mk" ]; then
		return 0
	fi
	mkdir -p "$GUEST"
	rm -f "$GUEST/stamp"
	if [ -n "$root" ] && ! kernel_download "$kver" "$version"; then
		# The archive keeps only the newest version: move to that.
		[ "$(id -u)" -eq 0 ] || die "cannot download linux-image-$kver $version"
		apt_update
		if ! kernel_download "$kver" "$version"; then
			install_packages linux-headers-amd64
			read -r kver version <<<"$(headers_kernel)"
			root=$GUEST/image-$kver
			stamp="$kver $version $root"
			kernel_download "$kver" "$version" ||
				die "cannot download linux-image-$kver $version, see $LOG"
		fi
	fi
	say "extracting the kernel $kver for the guest"
	vmlinux_extract "$root/boot/vmlinuz-$kver" "$GUEST/vmlinux-$kver"
	cat >"$GUEST/config.mk.new" <<-END
	GUEST_KVER=$kver
	GUEST_VMLINUX=$GUEST/vmlinux-$kver
	GUEST_MODULES=$root/lib/modules/$kver
	GUEST_KDIR=/usr/src/linux-headers-$kver
	END
	mv "$GUEST/config.mk.new" "$GUEST/config.mk"
	echo "$stamp" >"$GUEST/stamp"
}

# depends PACKAGE NAME: prints the name and version of a package that PACKAGE depends on. NAME is a
# sed pattern.
depends()
{
	{ apt-cache show --no-all-versions "$1" 2>/dev/null || :; } |
		sed -n "s/^Depends:.*\\($2\\) (= \\([^)]*\\)).*/\\1 \\2/p" | head -n 1
}

# headers_unpack KVER VERSION: unpacks the headers below build/guest/headers-KVER, and makes their
# Makefile name that folder. Their vmlinux is removed: without its BTF the module gets none, and
# pahole is not needed.
headers_unpack()
{
	local headers=$GUEST/headers-$1 common=linux-headers-${1%-amd64}-common package deb

	for package in "linux-headers-$1" "$common" "linux-kbuild-${1%-amd64}"; do
		download "$package" "$2" || return 1
	done
	rm -rf "$headers.new" "$headers"
	mkdir -p "$headers.new"
	for deb in "$GUEST"/download/linux-headers-*.deb "$GUEST"/download/linux-kbuild-*.deb; do
		dpkg-deb -x "$deb" "$headers.new"
	done
	sed -i "s|/usr/src/|$headers/usr/src/|" "$headers.new/usr/src/linux-headers-$1/Makefile"
	rm -f "$headers.new/usr/src/linux-headers-$1/vmlinux"
	mv "$headers.new" "$headers"
}

# setup_other SERIES: prepares a kernel beside that of linux-headers-amd64.
setup_other()
{
	local series=$1 kver version image config=$GUEST/other-$1.mk

	[[ $series =~ ^[0-9]+\.[0-9]+$ ]] || die "'$series' is no kernel series such as 6.12"
	[ ! -r "$config" ] || return 0
	need_packages xz-utils zstd kmod
	image=$(depends "linux-image-$series-amd64" "linux-image-${series}[^ ]*")
	if [ -z "$image" ]; then
		apt_update
		image=$(depends "linux-image-$series-amd64" "linux-image-${series}[^ ]*")
	fi
	[ -n "$image" ] || die "this machine's archives have no linux-image-$series-amd64"
	read -r kver version <<<"${image#linux-image-}"
	mkdir -p "$GUEST"
	if ! headers_unpack "$kver" "$version" || ! kernel_download "$kver" "$version"; then
		die "cannot download the kernel $kver $version, see $LOG"
	fi
	vmlinux_extract "$GUEST/image-$kver/boot/vmlinuz-$kver" "$GUEST/vmlinux-$kver"
	cat >"$config.new" <<-END
	GUEST_KVER=$kver
	GUEST_VMLINUX=$GUEST/vmlinux-$kver
	GUEST_MODULES=$GUEST/image-$kver/lib/modules/$kver
	GUEST_KDIR=$GUEST/headers-$kver/usr/src/linux-headers-$kver
	END
	mv "$config.new" "$config"
}

# setup_arm64: apt gets lists of its own, so that this machine's dpkg learns of no other architecture.
setup_arm64()
{
	local root=$BUILD/arm64/root work=$BUILD/arm64/apt deb lacking

	lacking=$(missing "${ARM64_TOOLS[@]}" | xargs)
	# shellcheck disable=SC2086
	[ -z "$lacking" ] || install_packages $lacking
	rm -rf "$root" "$root.new" "$work"
	mkdir -p "$root.new" "$work/lists/partial" "$work/archives/partial"
	: >"$work/status"
	APT_CONFIG=$work/apt.conf
	export APT_CONFIG
	cat >"$APT_CONFIG" <<-END
	APT::Architecture "arm64";
	APT::Architectures { "arm64"; };
	Dir::State::lists "$work/lists";
	Dir::State::status "$work/status";
	Dir::Cache "$work";
	END
	say "downloading libraries for arm64"
	logged apt update || die "cannot read the package index of arm64, see $LOG"
	(cd "$work/archives" && logged apt download "${ARM64_PACKAGES[@]}") ||
		die "cannot download packages of arm64, see $LOG"
	for deb in "$work"/archives/*.deb; do
		dpkg-deb -x "$deb" "$root.new"
	done
	mv "$root.new" "$root"
	rm -rf "$work"
}

# setup_source PACKAGE: unpacks the source of a Debian package to build/source/PACKAGE. apt gets lists
# of its own, as most machines have none of sources.
setup_source()
{
	local to=$BUILD/source/$1 work

	[ ! -d "$to" ] || return 0
	mkdir -p "$BUILD/source"
	work=$(mktemp -d "$BUILD/source/apt.XXXXXX")
	mkdir -p "$work/lists/partial"
	# shellcheck disable=SC2016 # for apt to expand
	apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sort -u >"$work/sources.list"
	APT_CONFIG=$work/apt.conf
	export APT_CONFIG
	cat >"$APT_CONFIG" <<-END
	Dir::Etc::sourcelist "$work/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::lists "$work/lists";
	APT::Sandbox::User "root";
	END
	say "downloading the source of $1"
	if ! logged apt-get -q update || ! (cd "$work" && logged apt-get -q source "$1"); then
		rm -rf "$work"
		die "cannot download the source of $1, see $LOG"
	fi
	mv "$work/$1"-*/ "$to"
	rm -rf "$work"
}

setup_parts()
{
	local version part members=()

	need_packages "$SOURCE_PACKAGE" rsync
	version="$(package_version "$SOURCE_PACKAGE") $(cksum <<<"${SOURCE_PARTS[*]}")"
	[ "$(cat "$PARTS/stamp" 2>/dev/null)" != "$version" ] || return 0
	say "extracting checkpatch and kselftest from $SOURCE_PACKAGE ${version%% *}"
	rm -rf "$PARTS" "$PARTS.new"
	mkdir -p "$PARTS.new"
	for part in "${SOURCE_PARTS[@]}"; do
		members+=("$SOURCE_PACKAGE/$part")
	done
	tar -xJf "/usr/src/$SOURCE_PACKAGE.tar.xz" -C "$PARTS.new" \
		--strip-components 1 --occurrence=1 "${members[@]}"
	# The place of selftests/ in a kernel tree
	mkdir -p "$PARTS.new/tools/testing/selftests/net"
	# The link is relative, so that a tree can be moved or copied with its build/.
	ln -s ../../../../../../selftests "$PARTS.new/tools/testing/selftests/net/canary"
	echo "$version" >"$PARTS.new/stamp"
	mv "$PARTS.new" "$PARTS"
}

[ $# -gt 0 ] || { usage >&2; exit 1; }
mkdir -p "$BUILD"
exec 9>"$BUILD/setup.lock"
flock -w 2 9 || { say "waiting for another set-up to end"; flock 9; }
if [ "$1" = other ]; then
	setup_other "${2:?a kernel series}"
	exit 0
fi
if [ "$1" = list ]; then
	setup_packages "$TOP/tools/setup/${2:?the name of a list}.txt"
	exit 0
fi
if [ "$1" = source ]; then
	setup_source "${2:?the name of a package}"
	exit 0
fi
for step in "$@"; do
	case $step in
	packages)
		setup_packages ;;
	kernel)
		setup_kernel ;;
	parts)
		setup_parts ;;
	arm64)
		setup_arm64 ;;
	all)
		setup_packages
		setup_kernel
		setup_parts ;;
	-h | --help | help)
		usage ;;
	*)
		usage >&2
		die "unknown step '$step'" ;;
	esac
done
