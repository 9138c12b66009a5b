#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/docs.py and tools/drawings.py find what they have to find: each mistake is made in a copy of
# the tree, and has to be reported.

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

tap_start user/docs
need_program git python3
git -C "$TAP_TOP" rev-parse >/dev/null 2>&1 || tap_skip_all "no git repository"
tmp_dir
git -C "$TAP_TOP" ls-files -z | (cd "$TAP_TOP" && xargs -0 tar c --ignore-failed-read 2>/dev/null) |
	tar x -C "$TAP_TMP"
cd "$TAP_TMP" || exit 1
git init -q . && git add -A

# mistake WHAT FILE TEXT: a paragraph with TEXT at the end of FILE is reported with WHAT
mistake()
{
	local what=$1 file=$2 out

	cp "$file" "$TAP_TMP.saved"
	printf '\n%b\n' "$3" >>"$file"
	out=$(tools/docs.py)
	tap_check "$what" grep -q "$what" <<<"$out"
	mv "$TAP_TMP.saved" "$file"
}

words()
{
	local i

	for ((i = 0; i < $1; i++)); do
		printf 'word '
	done
	echo end.
}

tap_check "the tree as it is" tools/docs.py
mistake "README.md:.*: 41 words" README.md "$(words 39) Then\n$(words 39)"
mistake "canary.8:.*: 45 words" tools/man/canary.8 ".PP\n$(words 20 | tr -d .)\n.B bold\n$(words 22)"
mistake "README.md:.*: 120 columns" README.md "$(printf '%0120d' 0)"
mistake "canary.8:.*: 120 columns" tools/man/canary.8 "$(printf '%0120d' 0)"
mistake "link to docs/nowhere.md" README.md "See [this](docs/nowhere.md)."
mistake "link to docs/limits.md#nowhere: no such heading" README.md "See [this](docs/limits.md#nowhere)."
mistake "kmod/nowhere.c.: no such file" README.md "See \`kmod/nowhere.c\`."
mistake "nowhere.c.: no such file" README.md "See \`nowhere.c\`."
# This script is a source, too, so the name is split.
mistake "cnr_no""where().: not in the sources" README.md "See \`cnr_no""where()\`."
mistake "make nowhere: no such target" README.md "Run \`make nowhere\`."
sed -i 's/connect(comm, 30000);/connect(comm, 3000);/' README.md
tap_check "README.md:.*: not in examples/library.c" grep -q "not in examples/library.c: canary_connect(comm, 3000);" \
	<<<"$(tools/docs.py)"
git checkout -q README.md

# block FILE: the statements behind the link to FILE in README.md, as a function
block()
{
	awk -v file="($1)" 'index($0, file) { found = 1 } found && /^\t/ { in_code = 1; print }
		found && in_code && /^[A-Z]/ { exit }' README.md
}

# compiles FILE HEADERS PARAMETERS [DECLARATIONS]: as a function with such parameters
compiles()
{
	local given=$3 outside=${4:-}
	local -a headers

	read -ra headers <<<"$2"

	{
		printf '#include <%s>\n' "${headers[@]}"
		echo "$outside"
		printf 'void of_readme(%s);\nvoid of_readme(%s)\n{\n' "$given" "$given"
		block "$1"
		echo '}'
	} | gcc -Wall -Werror -fsyntax-only -D_GNU_SOURCE -I kmod/uapi -I userspace/include -x c -
}

tap_check "README.md: the example of the library compiles" compiles examples/library.c "canary.h" \
	"const char *rank, const char *members, const char *root"
tap_check "README.md: the example of the socket compiles" compiles examples/socket.c \
	"linux/canary.h sys/socket.h" "int fd, int send_operation(int, struct canary_operation *, float *, int)" \
	"float vector[4];"
mistake "no section .Nowhere." kmod/core/core.h "/* PROTOCOL.md, \"Nowhere\" */"
sed -i 's#>roof.h #>nowhere.h #' docs/layers.svg
tap_check "docs/layers.svg: nowhere.h: no such file" grep -q "layers.svg: nowhere.h: no such file" \
	<<<"$(tools/docs.py)"
git checkout -q docs/layers.svg
touch kmod/nowhere.c && git add kmod/nowhere.c
tap_check "kmod/README.md: .nowhere.c. is not in its table" grep -q "is not in its table" \
	<<<"$(tools/docs.py)"
git rm -qf kmod/nowhere.c
tap_check "drawings as they are" tools/drawings.py --check

# arrow WHAT FILE INCLUDES SAYS
arrow()
{
	sed -i "0,/^#include/s##\#include \"$3\"\n\#include#" "$2"
	tap_check "layers: $1" grep -qF "$4" <<<"$(tools/layers.py)"
	git checkout -q "$2"
}

arrow "a circle of headers" tools/sim/util.h sim.h "tools/sim/util.h -> tools/sim/sim.h: includes it"
arrow "an arrow that goes up in the core" kmod/core/message.c tree.h \
	"kmod/core/message.c (messages) -> kmod/core/tree.h (tree): includes it"
arrow "an arrow that goes up between parts" userspace/common/json.c userspace/switchd/switchd.h \
	"userspace/common/json.c (common) -> userspace/switchd/switchd.h (daemon): includes it"
arrow "the core's own headers are private" tools/sim/sim.h core/inside.h \
	"tools/sim/sim.h -> kmod/core/inside.h: is private to kmod/core/"
mkdir -p objects/userspace/common
as -o objects/userspace/common/json.o <<<".globl to; to: call fro"
as -o objects/userspace/common/parse.o <<<".globl fro; fro: call to"
tap_check "layers: a circle of sources" \
	grep -qF "userspace/common/json.c -> userspace/common/parse.c: fro" <<<"$(tools/layers.py . objects)"
rm -r objects
sed -i 's/| 3 | session |/| 3 | sitting |/' kmod/core/README.md
tap_refuse "a drawing that the table of layers disagrees with" tools/drawings.py --check
git checkout -q kmod/core/README.md
sed -i 's/| 5 | daemon |/| 5 | demon |/' docs/architecture.md
tap_refuse "a drawing that the table of parts disagrees with" tools/drawings.py --check
tap_done
