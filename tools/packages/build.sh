#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds the Debian packages: tools/packages/build.sh DIRECTORY
# The sources are copied to DIRECTORY/canary-VERSION, as Debian's tools want a folder debian/ at the
# top and leave files there. The packages lie in DIRECTORY, and those of an earlier run are removed.

set -euo pipefail

[ $# -eq 1 ] || { echo "usage: tools/packages/build.sh DIRECTORY" >&2; exit 2; }
TOP=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
OUT=$(cd "$1" && pwd)
VERSION=$(dpkg-parsechangelog -l "$TOP/tools/packages/debian/changelog" -S Version)
TREE=$OUT/canary-$VERSION
LOG=$OUT/build.log

# Nothing that is not in the repository gets into a package. Tests stay outside, but for the lists
# that the Makefile reads.
sources()
{
	if [ -e "$TOP/.git" ]; then
		git -C "$TOP" ls-files --cached --others --exclude-standard
	else
		(cd "$TOP" && find . -path ./build -prune -o ! -type d -printf '%P\n')
	fi | grep -vE '^(docs|topology)/|^selftests/.*\.(sh|c|h|py)$|^selftests/fuzz/|^\.'
}

rm -rf "$TREE" "$OUT"/*.deb "$OUT"/*.changes "$OUT"/*.buildinfo
mkdir -p "$TREE"
sources | while read -r file; do
	[ ! -e "$TOP/$file" ] || echo "$file"
done | tar -C "$TOP" -c --files-from=- | tar -C "$TREE" -x
mv "$TREE/tools/packages/debian" "$TREE/debian"

# PyTorch's package needs PyTorch, which is not in packages.txt.
PROFILES=
if [ ! -e /usr/include/torch/csrc/distributed/c10d ]; then
	echo "tools/packages/build.sh: no libtorch-dev: without python3-canary-torch (make torch installs it)" >&2
	PROFILES=pkg.canary.notorch
fi

# The caller's make is not that of the package.
unset MAKEFLAGS MAKELEVEL MFLAGS
cd "$TREE"
if ! DEB_BUILD_PROFILES=$PROFILES DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" \
		dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes >"$LOG" 2>&1; then
	tail -n 30 "$LOG" >&2
	echo "tools/packages/build.sh: error: dpkg-buildpackage failed, see $LOG" >&2
	exit 1
fi
rm -rf "$TREE"
ls "$OUT"/*.deb
