#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Static checks of the whole tree: checkpatch --strict, sparse, both compilers with all warnings as
# errors, cppcheck, shellcheck, options in manual pages, layers and circles of files, documents,
# licence lines. `make check` calls it, after it has set up what is needed. Checks run beside each
# other, one for each processor. It prints one line for each check, and what is wrong.

set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
cd "$TOP" || exit 1
. build/guest/config.mk
PARTS=build/linux-parts
OUT=build/check
JOBS=${CHECK_JOBS:-$(nproc)}
STARTED=0
mkdir -p "$OUT"

# Checks of checkpatch that are wrong here, and why:
#  COMPLEX_MACRO MACRO_ARG_REUSE BRACKET_SPACE	lists of counters and reasons are X-macros
#  PREFER_KERNEL_TYPES PREFER_DEFINED_ATTRIBUTE_MACRO NEW_TYPEDEFS
#						user space compiles these headers, too
#  VOLATILE GLOBAL_INITIALISERS			BPF: the loader sets constants; READ_ONCE()
#  PARENTHESIS_ALIGNMENT OPEN_ENDED_LINE		tracepoints look as in include/trace/events
#  FUNCTION_ARGUMENTS SPACING			checkpatch takes macros for declarations
#  OPEN_BRACE MACRO_WITH_FLOW_CONTROL CAMELCASE	BPF: guards and unrolled loops
#  MACRO_WITH_FLOW_CONTROL MULTISTATEMENT_MACRO_USE_DO_WHILE TRAILING_SEMICOLON SPACING
#						vector code: a case for each kind of lanes
IGNORE=COMPLEX_MACRO,MACRO_ARG_REUSE,BRACKET_SPACE,PREFER_KERNEL_TYPES
IGNORE+=,PREFER_DEFINED_ATTRIBUTE_MACRO,NEW_TYPEDEFS,SPDX_LICENSE_TAG
IGNORE+=,VOLATILE
IGNORE_TRACE=$IGNORE,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
IGNORE_VECTOR=$IGNORE,MACRO_WITH_FLOW_CONTROL,MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_SEMICOLON,SPACING
IGNORE_BPF=$IGNORE,GLOBAL_INITIALISERS,OPEN_BRACE,MACRO_WITH_FLOW_CONTROL,CAMELCASE,BIT_MACRO,FUNCTION_ARGUMENTS,SPACING

files()
{
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u
}

# verdict NAME STATUS LOG
verdict()
{
	if [ "$2" -eq 0 ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		sed 's/^/# /' "$3" | head -n 60
	fi
}

# start CHECK ARGUMENT...: runs a check in the background, once a processor is free for it
start()
{
	while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
		wait -n
	done
	STARTED=$((STARTED + 1))
	"$@" >"$OUT/verdict.$STARTED" 2>&1 &
}

# finish: waits for all checks, prints their verdicts in the order of start, and counts them. A
# check without a verdict has failed.
finish()
{
	local i passed=0 failed=0

	wait
	for ((i = 1; i <= STARTED; i++)); do
		cat "$OUT/verdict.$i"
		if grep -q '^ok - ' "$OUT/verdict.$i" && ! grep -q '^not ok - ' "$OUT/verdict.$i"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ]
}

check_patch()
{
	local name=$1 ignore=$2
	shift 2
	perl $PARTS/scripts/checkpatch.pl --no-tree --strict --terse --show-types --quiet \
		--no-summary --max-line-length=100 --ignore "$ignore" -f "$@" >"$OUT/$name" 2>&1
	local status=$?
	rm -f .checkpatch-camelcase.*
	verdict "$name: checkpatch --strict, $# files" $status "$OUT/$name"
}

check_sparse()
{
	# With the caller's -s, make would not print the CHECK lines that are counted.
	MAKEFLAGS='' make module-sparse >"$OUT/sparse" 2>&1
	local status=$? count
	count=$(grep -c '^  CHECK ' "$OUT/sparse")
	grep -E '(warning|error):' "$OUT/sparse" >"$OUT/sparse.found" && status=1
	[ "$count" -gt 0 ] || status=1
	[ $status -eq 0 ] || [ -s "$OUT/sparse.found" ] || cp "$OUT/sparse" "$OUT/sparse.found"
	verdict "sparse: canary.ko, $count files" $status "$OUT/sparse.found"
}

# Compiles every C file of user space with one compiler, and makes no files.
check_compiler()
{
	local cc=$1 status=0 file flags openmpi mpich
	shift
	: >"$OUT/$cc"
	openmpi=$(make -s print-flags 2>/dev/null)
	mpich=$(make -s print-flags MPICH=1 2>/dev/null)
	for file in "$@"; do
		# Both have a header mpi.h.
		flags=$openmpi
		[[ $file != userspace/mpich/* ]] || flags=$mpich
		# The flags are quoted for a shell.
		eval "$cc $flags -fsyntax-only '$file'" >>"$OUT/$cc" 2>&1 || status=1
	done
	verdict "$cc: -Wall -Wextra -Werror, $# files" $status "$OUT/$cc"
}

# cppcheck does not see that list_for_each_entry() and LIST_FOREACH() set the variable. Vector code
# takes the same bits for floats and integers, on processors of one kind only.
check_cppcheck()
{
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --language=c -j 2 \
		--enable=warning,performance,portability --suppress=missingInclude \
		--suppress=uninitvar:kmod/proc.c --suppress=uninitvar:kmod/netlink.c \
		--suppress=uninitvar:userspace/mpich/comm.c \
		--suppress='arithOperationsOnVoidPointer:bpf/*' \
		--suppress='invalidPointerCast:kmod/core/float_*' \
		--suppress=normalCheckLevelMaxBranches --suppress=unknownMacro \
		-Ikmod/uapi -Ikmod -Iuserspace/include -I. "$@" >"$OUT/cppcheck" 2>&1
	verdict "cppcheck: $# files" $? "$OUT/cppcheck"
}

check_shell()
{
	shellcheck -x -P SCRIPTDIR --severity=style "$@" >"$OUT/shellcheck" 2>&1
	verdict "shellcheck: $# scripts" $? "$OUT/shellcheck"
}

# Compares the options of --help with those of the manual pages.
check_man()
{
	local status=0

	tools/man/check.py build/bin/canary >"$OUT/man" 2>&1 || status=1
	verdict "manual pages: $(tail -n 1 "$OUT/man")" $status "$OUT/man"
}

# The objects come from `make check`.
check_layers()
{
	local status=0

	tools/layers.py >"$OUT/layers" 2>&1 || status=1
	verdict "layers: $(tail -n 1 "$OUT/layers")" $status "$OUT/layers"
}

# Checks documents and manual pages, and that the drawings match their source.
check_docs()
{
	local status=0

	tools/docs.py >"$OUT/docs" 2>&1 || status=1
	tools/drawings.py --check >>"$OUT/docs" 2>&1 || status=1
	verdict "documents: sentences, links, names, drawings" $status "$OUT/docs"
}

check_spdx()
{
	local file status=0
	: >"$OUT/spdx"
	for file in "$@"; do
		head -n 3 "$file" | grep -q SPDX-License-Identifier || {
			echo "$file: no SPDX line" >>"$OUT/spdx"
			status=1
		}
	done
	verdict "licences: SPDX line in $# files" $status "$OUT/spdx"
}

# Checks in the background would not hear of an interrupt.
# shellcheck disable=SC2046 # process numbers
trap 'kill $(jobs -rp) 2>/dev/null; exit 130' INT TERM HUP

mapfile -t trace < <(files kmod/trace.h)
mapfile -t kernel < <(files 'kmod/*.c' 'kmod/*.h' ':!kmod/trace.h' ':!kmod/core/float_*.h' ':!kmod/core/float_avx2.c')
mapfile -t vector < <(files 'kmod/core/float_*.h' kmod/core/float_avx2.c)
mapfile -t bpf < <(files 'bpf/*.c' 'bpf/*.h')
mapfile -t user < <(files 'userspace/*.c' 'tools/*.c' 'examples/*.c' 'kmod/core/*.c')
mapfile -t scripts < <(files '*.sh' .ci/run; git grep -lE '^#!/bin/(ba)?sh' -- ':!*.sh' | sort -u)
mapfile -t scripts < <(printf '%s\n' "${scripts[@]}" | sort -u)
mapfile -t sources < <(files '*.c' '*.h' '*.cpp' '*.hpp' '*.py' '*.sh' '*.mk' Makefile Kbuild)

# The longest first, so that none is left alone at the end
start check_cppcheck "${user[@]}" "${kernel[@]}"
start check_compiler gcc "${user[@]}"
start check_compiler clang-14 "${user[@]}"
start check_patch checkpatch.kmod $IGNORE "${kernel[@]}"
start check_sparse
start check_shell "${scripts[@]}"
start check_patch checkpatch.bpf $IGNORE_BPF "${bpf[@]}"
start check_docs
start check_patch checkpatch.vector $IGNORE_VECTOR "${vector[@]}"
start check_patch checkpatch.trace $IGNORE_TRACE "${trace[@]}"
start check_man
start check_layers
start check_spdx "${sources[@]}"
finish
