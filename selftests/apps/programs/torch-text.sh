# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# PyTorch: DistributedDataParallel of a small transformer, which learns this project's documents

APP_HOSTS=4
APP_WAYS=default	# it has no threshold
APP_WHAT="PyTorch DDP, a transformer of 120000 weights on docs/*.md, 100 steps"
APP_CHECK="all ranks have the same weights, the loss is less than that of guessing by frequency, and \
losses are those of Gloo to 1e-3"

# shellcheck source=selftests/apps/torch_app.sh
. "$APPS/torch_app.sh"

app_run()
{
	# All runs have the same text, whatever becomes of the documents.
	[ -d "$TAP_TMP/text" ] || { mkdir "$TAP_TMP/text" && cp "$TAP_TOP"/docs/*.md "$TAP_TMP/text"; }
	app_ranks "$APPS/text.py" "${TEXT_STEPS:-100}" "$TAP_TMP"/text/*.md
	grep "^step" said >numbers
}

app_right()
{
	grep -qx "weights 1" said || { echo "ranks have different weights"; return 1; }
	awk '$1 == "guessing" { guessed = $2 } $1 == "step" { last = $4 }
		END { exit !(last < guessed) }' said ||
		{ echo "it learns nothing"; return 1; }
	app_near 1e-3 "$1/numbers" numbers
}
