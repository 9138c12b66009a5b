# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Workers of XGBoost, one in each of the namespaces h0 .. hN of a test, and their tracker.

WORKERS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LIBRARY=${LIBRARY:-$TAP_TOP/build/lib/canary/libcanary_xgboost.so}
WORKERS=4
ROUNDS=10
METHOD=hist
PROGRAM=train.py
TRACKER_IN=sw	# the namespace that has 10.9.0.1

# xgboost_missing: prints what is missing for XGBoost with Canary, or nothing
xgboost_missing()
{
	if ! /usr/bin/python3 -c 'import xgboost; assert xgboost.__version__.startswith("1.7.")' \
		2> /dev/null; then
		echo "needs XGBoost 1.7 (package python3-xgboost)"
	elif [ ! -e "$LIBRARY" ]; then
		echo "no $LIBRARY"
	fi
}

# start MODEL [VARIABLE=VALUE...]: starts a tracker and workers, each on a host of its own. The
# variables are all workers'; OF_1 has further ones of worker 1. Their pids are PIDS.
start()
{
	local model=$1 i own

	shift
	rm -f port
	bg ns_exec "$TRACKER_IN" /usr/bin/python3 "$WORKERS_DIR/tracker.py" 10.9.0.1 "$WORKERS" port > tracker 2>&1
	wait_for 10 test -e port || return 1
	PIDS=()
	for ((i = 0; i < WORKERS; i++)); do
		own=()
		[ "$i" != 1 ] || read -ra own <<< "${OF_1:-}"
		nsenter --net="/run/netns/$(ns_name "h$i")" env "$@" "${own[@]}" DMLC_TRACKER_URI=10.9.0.1 \
			DMLC_TRACKER_PORT="$(cat port)" DMLC_NUM_WORKER="$WORKERS" DMLC_TASK_ID="$i" \
			timeout -k 5 "${MPI_LIMIT:-240}" /usr/bin/python3 "$WORKERS_DIR/$PROGRAM" "$METHOD" "$ROUNDS" \
			"$model" > "said.$i" 2> "complaints.$i" &
		PIDS+=("$!")
		TAP_PIDS+=("$!")
	done
}

# finish: waits for the workers. STATUS has their exit statuses.
finish()
{
	local pid

	STATUS=()
	for pid in "${PIDS[@]}"; do
		wait "$pid" 2> /dev/null
		STATUS+=("$?")
	done
	cat complaints.* > complaints
	[[ "${STATUS[*]}" =~ ^[0\ ]+$ ]]
}
