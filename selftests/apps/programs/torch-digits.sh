# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# PyTorch: DistributedDataParallel on handwritten digits, a script for Gloo

APP_HOSTS=4
APP_WAYS=default	# it has no threshold
APP_WHAT="PyTorch DDP, three layers on the digits, 4 epochs"
APP_CHECK="all ranks have the same weights, more than 80 % of digits are recognised, and losses are \
those of Gloo to 1e-3"

# shellcheck source=selftests/apps/torch_app.sh
. "$APPS/torch_app.sh"

app_run()
{
	app_ranks "$TAP_TOP/selftests/torch/digits.py" "$TAP_TOP/build/data/digits.csv.gz"
	grep "^loss" said >numbers
}

app_right()
{
	grep -qx "ranks 1" said || { echo "ranks have different weights"; return 1; }
	awk '$1 == "accuracy" { found = $2 } END { exit !(found > 0.8) }' said ||
		{ grep accuracy said; return 1; }
	app_near 1e-3 "$1/numbers" numbers
}
