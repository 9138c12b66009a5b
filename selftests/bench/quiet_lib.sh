# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Is this machine quiet? Where processors are the limit, a measurement waits until it is. If others used
# processors meanwhile, it is made again. What a measurement starts has BENCH_RUN in its environment.
# All other processes are others.

BENCH_QUIET=${BENCH_QUIET:-5}	# percent of all processors that others may use

# bench_idle: prints the ticks for which processors were idle, and all ticks
bench_idle()
{
	awk '/^cpu / { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat
}

# bench_own: prints the processes of this measurement
bench_own()
{
	{ grep -lszx "BENCH_RUN=$BENCH_RUN" /proc/[0-9]*/environ || true; } | cut -d/ -f3
}

# bench_others: prints the ticks that all others have used so far, and those that this machine has not got from
# its host. Of a process that ended, its parent has them.
bench_others()
{
	# A process may end before it is read.
	{ cat /proc/stat /proc/[0-9]*/stat 2>/dev/null || true; } | awk -v own="$$ $(bench_own | tr '\n' ' ')" '
		BEGIN { split(own, list, " "); for (i in list) skip[list[i]] }
		/^cpu / { sum += $9 }
		/^[0-9]+ \(/ {
			pid = $1
			sub(/.*\) /, "")
			# Of the kernel are 2 and its children. A zombie has no environment.
			if (!(pid in skip) && pid != 2 && $2 != 2 && $1 != "Z")
				sum += $12 + $13 + $14 + $15
		}
		END { print sum }'
}

# bench_share BEFORE AFTER TICKS: prints what percentage of TICKS others had between two bench_others
bench_share()
{
	awk -v before="$1" -v after="$2" -v ticks="$3" 'BEGIN {
		share = ticks > 0 ? (after - before) * 100 / ticks : 0
		printf "%.0f", (share > 0 ? share : 0) }'
}

# bench_quiet: waits until others leave the processors alone, BENCH_PATIENCE times 2 seconds at most. With
# BENCH_BUSY it goes on even so.
bench_quiet()
{
	local i before used=some

	[ -z "${BENCH_BUSY:-}" ] || return 0
	for ((i = 0; i < ${BENCH_PATIENCE:-60}; i++)); do
		before=$(bench_idle)
		sleep 2
		used=$(echo "$before $(bench_idle)" | awk '{ print int(100 - ($3 - $1) / ($4 - $2) * 100) }')
		[ "$used" -gt "$BENCH_QUIET" ] || return 0
	done
	echo "bench: others use $used % of the processors (BENCH_BUSY=1 measures even so)" >&2
	return 1
}
