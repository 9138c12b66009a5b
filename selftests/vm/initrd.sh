#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# initrd.sh DIRECTORY [MODULES [MODULE...]]: prints the path of an initrd that mounts the machine's
# root file system in the guest and continues there. It is made in DIRECTORY unless one with the
# same content is there. MODULES is the directory of the kernel's modules; without it everything
# must be built in. The MODULEs are files that are loaded after those.

set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
DIR=${1:?directory}
MODULES=${2:-}
FURTHER=("${@:3}")
NEEDED=(virtio_pci virtio_console 9pnet_virtio 9p overlay)
BUSYBOX=/bin/busybox

# module_files: prints the needed modules and their dependencies, in the order of loading
module_files()
{
	local name

	[ -n "$MODULES" ] || return 0
	for name in "${NEEDED[@]}"; do
		modprobe -d "${MODULES%/lib/modules/*}/" -S "$(basename "$MODULES")" \
			--show-depends "$name"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'
}

mapfile -t files < <(module_files)
if [ -n "$MODULES" ] && [ "${#files[@]}" -eq 0 ]; then
	echo "initrd: no modules in $MODULES" >&2
	exit 1
fi
files+=("${FURTHER[@]}")
sum=$(cat "$HERE/initrd-init" "$HERE/initrd.sh" "$BUSYBOX" "${files[@]}" |
	sha256sum | cut -c 1-16)
initrd=$DIR/initrd-$sum.cpio
if [ ! -r "$initrd" ]; then
	tree=$(mktemp -d "$DIR/initrd.XXXXXX")
	trap 'rm -rf "$tree"' EXIT
	mkdir -p "$tree"/{bin,proc,sys,dev,modules,lower,upper,root}
	cp "$BUSYBOX" "$tree/bin/busybox"
	cp "$HERE/initrd-init" "$tree/init"
	chmod 755 "$tree/init"
	: >"$tree/modules/order"
	for file in "${files[@]}"; do
		name=$(basename "$file" .xz)
		case $file in
		*.xz) xz -dc "$file" >"$tree/modules/$name" ;;
		*) cp "$file" "$tree/modules/" ;;
		esac
		echo "$name" >>"$tree/modules/order"
	done
	(cd "$tree" && find . -mindepth 1 -printf '%P\n' | sort |
		cpio --quiet -o -H newc -R 0:0) >"$tree.cpio"
	mv "$tree.cpio" "$initrd"
fi
echo "$initrd"
