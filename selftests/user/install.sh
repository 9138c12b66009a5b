#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# make install: a program that only knows pkg-config can use what is installed.

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

tap_start user/install
need_root
need_program make gcc g++ pkg-config unshare
tmp_dir
ROOT=$TAP_TMP/root
export PKG_CONFIG_PATH=$ROOT/usr/local/lib/pkgconfig

# flags WHAT...: prints flags of pkg-config, for a library below DESTDIR
flags()
{
	pkg-config --define-variable=prefix="$ROOT/usr/local" "$@" libcanary
}

cat > "$TAP_TMP/alone.c" << 'PROGRAM'
#include <canary.h>
#include <stdio.h>

int main(void)
{
	struct canary_params p;
	struct canary *c;
	int v = 42;

	canary_params_init(&p);
	if (canary_params_set(&p, "comm", "0x7777") || canary_params_set(&p, "engine", "user") ||
	    canary_open(&p, &c) || canary_connect(c, 1000) ||
	    canary_allreduce(c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM)) {
		puts(canary_errmsg());
		return 1;
	}
	printf("%s %d\n", canary_version(), v);
	canary_close(c);
	return 0;
}
PROGRAM

# alone PROGRAM: runs it in a namespace of its own
alone()
{
	# shellcheck disable=SC2016
	LD_LIBRARY_PATH=$ROOT/usr/local/lib unshare -n \
		sh -c 'ip link set lo up && exec "$0"' "$1" | grep -qx "$(flags --modversion) 42"
}

# shellcheck disable=SC2046
{
	tap_check "make install" make -s -C "$TAP_TOP" install DESTDIR="$ROOT"
	tap_check "a program with the shared library, strict C99" gcc -std=c99 -pedantic -Wall \
		-Wextra -Werror -o "$TAP_TMP/shared" "$TAP_TMP/alone.c" $(flags --cflags --libs)
	tap_check "it runs" alone "$TAP_TMP/shared"
	tap_check "a program with the static library" gcc -static -o "$TAP_TMP/static" \
		"$TAP_TMP/alone.c" $(flags --static --cflags --libs)
	tap_check "it runs" alone "$TAP_TMP/static"
	tap_check "a program in C++" g++ -x c++ -fsyntax-only -Wall -Wextra -Werror \
		"$TAP_TMP/alone.c" $(flags --cflags)
}
tap_is "only canary_ is exported" \
	"$(nm -D --defined-only "$ROOT/usr/local/lib/libcanary.so" |
		awk '$2 != "A" && $3 !~ /^canary_/')" ""
if command -v ompi_info >/dev/null && [ -e "$TAP_TOP/build/lib/openmpi/mca_coll_canary.so" ]; then
	export OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$ROOT/usr/local/lib/openmpi
	tap_check "Open MPI finds its component" sh -c "ompi_info --param coll canary --level 9 |
		grep -q coll_canary_enable"
else
	tap_skip "Open MPI finds its component" "no ompi_info, or no headers (libopenmpi-dev)"
fi
tap_check "the tool is there" "$ROOT/usr/local/sbin/canary" version
for page in man3/libcanary.3 man7/canary.7 man8/canary.8 man8/canary-allreduce.8; do
	tap_check "$page" [ -s "$ROOT/usr/local/share/man/$page" ]
done
echo mine > "$ROOT/usr/local/lib/other"
tap_check "make uninstall" make -s -C "$TAP_TOP" uninstall DESTDIR="$ROOT"
tap_is "only what is somebody else's stays" "$(cd "$ROOT" && find . ! -type d)" "./usr/local/lib/other"
tap_done
