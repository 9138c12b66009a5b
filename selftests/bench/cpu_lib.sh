# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the benchmarks that compare sums with those of Open MPI on the same hosts. Over lib.sh and
# openmpi_lib.sh. HOSTS, MTU and ROUNDS are set; CALLS, ENGINE (user) and ALGORITHM (tree) may be.

# shellcheck disable=SC2034
ALGORITHMS=(0 3 4 5 6)	# coll_tuned_allreduce_algorithm; 0: Open MPI chooses

# network: hosts around a switch. It can do without shaped links.
# shellcheck disable=SC2034
network()
{
	local i

	SWITCH=$(ns_name sw)
	topology
	for ((i = 0; i < HOSTS; i++)); do
		ns_ip "h$i" link set eth0 mtu "$MTU"
		ns_ip sw link set "s$i" mtu "$MTU"
	done
	launcher
	SWITCH_OPTIONS=(--mode fast)
	start_switch
}

# calls_of BYTES: prints how many operations take about a second
calls_of()
{
	local calls=$((134217728 / $1))

	echo $((calls > 500 ? 500 : calls))
}

# canary BYTES [OPTION...]: prints microseconds of a sum
canary()
{
	local i pids=() calls bytes=$1

	shift
	calls=${CALLS:-$(calls_of "$bytes")}
	for ((i = 0; i < HOSTS; i++)); do
		bg ns_exec "h$i" timeout 300 "$CANARY" perf allreduce -b "$bytes" -e "$bytes" -w 2 -n "$calls" \
			-c 1 -J "$TAP_TMP/perf.json" --engine "${ENGINE:-user}" --comm 7 --rank "$i" \
			--members "$HOSTS" --root 10.77.0.2 --bind "10.77.$i.2" --algorithm "${ALGORITHM:-tree}" "$@" \
			>"$TAP_TMP/perf.$i" 2>&1
		pids+=($!)
	done
	for ((i = 0; i < HOSTS; i++)); do
		wait "${pids[i]}" || bench_die "rank $i: $(tail -n 5 "$TAP_TMP/perf.$i")"
	done
	[ -z "${VERBOSE:-}" ] || jq -c '.results, .stats' "$TAP_TMP/perf.json" >&2
	jq '[.results[0] | .out_of_place.time_us, .in_place.time_us] | add / 2' "$TAP_TMP/perf.json"
}

# openmpi BYTES ALGORITHM: prints microseconds of a sum
openmpi()
{
	MPI_LIMIT=300 mpi --mca coll_tuned_use_dynamic_rules 1 \
		--mca coll_tuned_allreduce_algorithm "$2" -- "$PROGRAMS/columns" float "$1" "$1" 200 ||
		bench_die "Open MPI $2: $(tail -n 5 "$TAP_TMP/complaints")"
	cut -d' ' -f2 "$TAP_TMP/said"
}

# batch COMMAND...: runs it with the policy SCHED_BATCH: who wakes up does not push others off a processor
batch()
(
	chrt --batch --pid 0 "$BASHPID" && "$@"
)

# timed FILE COMMAND...: appends its microseconds, and how many processors were busy meanwhile
timed()
{
	local file=$TAP_TMP/$1 before us

	shift
	before=$(bench_idle)
	us=$("$@")
	echo "$before $(bench_idle) $us" | awk -v processors="$(nproc)" \
		'{ print $5, (1 - ($3 - $1) / ($4 - $2)) * processors }' >>"$file"
}

# median FILE: prints the line in the middle
median()
{
	sort -n "$TAP_TMP/$1" | sed -n "$(((ROUNDS + 1) / 2))p"
}

# best PREFIX: prints the least median of the files PREFIX.*
best()
{
	local file

	for file in "$TAP_TMP/$1".*; do
		median "${file#"$TAP_TMP/"}"
	done | sort -n | head -n 1
}
