# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# XGBoost: histograms of a distributed training

APP_HOSTS=4
APP_WHAT="XGBoost hist, 8000 rows, 20 columns, 40 rounds"
APP_CHECK="all workers have one model; its trees are those of the run without Canary, its numbers to \
1e-5, gains to 1e-4"

# shellcheck source=selftests/xgboost/workers_lib.sh
. "$TAP_TOP/selftests/xgboost/workers_lib.sh"
ROUNDS=40 TRACKER_IN=l0

app_missing()
{
	xgboost_missing
}

app_prepare()
{
	:
}

app_run()
{
	WORKERS=$HOSTS
	[ "$HOW" = without ] || ON_ENV+=("LD_PRELOAD=$LIBRARY")
	start model "${ON_ENV[@]}" && finish
}

app_right()
{
	local i

	for ((i = 1; i < WORKERS; i++)); do
		cmp model.0.json "model.$i.json" || return 1
	done
	"$WORKERS_DIR/alike.py" "$1/model.0.json" model.0.json
}
