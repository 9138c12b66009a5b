# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What programs of PyTorch have in common

MASTER=10.77.0.2
# shellcheck source=selftests/torch/torch_lib.sh
. "$TAP_TOP/selftests/torch/torch_lib.sh"

app_missing()
{
	torch_missing
}

app_prepare()
{
	:
}

# app_ranks SCRIPT WORDS...: runs a script for Gloo at all ranks, with Canary unless HOW is without
app_ranks()
{
	local with=(-m canary_torch)
	local RANKS=$HOSTS

	[ "$HOW" != without ] || with=()
	ranks env "${ON_ENV[@]}" $PYTHON "${with[@]}" "$@"
	cat "$TAP_TMP"/out.? >said
	cat "$TAP_TMP"/err.? >complaints
	[[ "$STATUS" =~ ^[0\ ]+$ ]]
}
