# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Ranks of PyTorch, one in each of the namespaces h0 .. hN of a test. MASTER is the address of h0.

# shellcheck disable=SC2034
PYTHON=/usr/bin/python3
RANKS=${RANKS:-4}
export PYTHONPATH=$TAP_TOP/build/lib/python OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore

# torch_missing: prints what is missing for PyTorch with Canary, or nothing
torch_missing()
{
	if ! $PYTHON -c 'import torch.distributed; torch.distributed.ProcessGroupGloo' 2>/dev/null; then
		echo "needs PyTorch: tools/setup/setup.sh list torch"
	elif [ ! -e "$PYTHONPATH/canary_torch/_C.so" ]; then
		echo "needs the module: make torch"
	fi
}

# begin_rank N WORDS...: starts a rank in hN; $! is its pid
begin_rank()
{
	local rank=$1

	shift
	bg ns_exec "h$rank" env RANK="$rank" WORLD_SIZE="$RANKS" MASTER_ADDR="$MASTER" \
		MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 timeout 600 "$@" \
		>"$TAP_TMP/out.$rank" 2>"$TAP_TMP/err.$rank"
}

# each_rank FUNCTION WORDS...: runs all ranks; FUNCTION N WORDS... begins one. STATUS has their exit
# statuses
each_rank()
{
	local begin=$1 rank pids=()

	shift
	STATUS=
	for ((rank = 0; rank < RANKS; rank++)); do
		"$begin" "$rank" "$@"
		pids+=($!)
	done
	for ((rank = 0; rank < RANKS; rank++)); do
		wait "${pids[rank]}"
		STATUS+=${STATUS:+ }$?
	done
}

# ranks WORDS...: runs all ranks alike
ranks()
{
	each_rank begin_rank "$@"
}
