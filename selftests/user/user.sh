#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The tool, the library and the user engine between network namespaces behind a plain router:
# results, errors, `show`. No switch takes part.
#	CANARY, DIGITS and DATA name the programs and the handwritten digits.

# Variables in single quotes belong to jq. Options of a rank are split into words.
# shellcheck disable=SC2016,SC2046

# shellcheck source=ranks_lib.sh
. "$(dirname "$0")/ranks_lib.sh"

DIGITS=${DIGITS:-$TAP_TOP/build/bin/digits}
DATA=${DATA:-$TAP_TOP/build/data/digits.csv.gz}
VECTOR=$TAP_TOP/selftests/user/vector.py

begin user/user setpriv /usr/bin/python3

# sums MEMBERS COUNT: all ranks add up, all have the right sum
sums()
{
	local members=$1 count=$2 r

	for ((r = 0; r < members; r++)); do
		"$VECTOR" make "$r" "$count" > "in.$r"
	done
	ranks "$members" "$CANARY" allreduce --in in.%R --out sum.%R -j || return 1
	for ((r = 0; r < members; r++)); do
		if [ "$r" -gt 0 ]; then
			cmp sum.0 "sum.$r" || return 1
		fi
		jq -e ".elements == $count and .members == $members and .rank == $r and
			.engine == \"user\" and (.engine_reason | length) > 5 and
			.stats.operations == 1 and .stats.drops.mac == 0" "err.$r" || return 1
	done
	"$VECTOR" check "$members" "$count" sum.0
}

test_sums()
{
	local members count

	for members in 1 2 3 8 16; do
		for count in 1 353 10007; do
			tap_check "$members ranks on up to $HOSTS hosts, $count elements" sums \
				"$members" "$count"
		done
	done
	tap_check "no elements" sums 3 0
	tap_check "in place" in_place
	tap_check "output: kept on failure, else all of it replaced" output_kept
	tap_check "output: no file where there is nothing to write" output_unmade
	tap_check "output: kept if the disk is full" full_disk
	test_full_ext4
	tap_check "output: mode, links, what is no file" output_as_it_was
	tap_check "output: a mount point is written to" output_mounted
	tap_check "output: no permissions for another group" output_group
	sums 3 0 > /dev/null
	tap_is "empty output" "$(stat -c %s sum.0)" 0
	jq -e '.block_elements == 352' err.1 > /dev/null || sums 2 704 > /dev/null
	tap_is "352 elements a block at an MTU of 1500" "$(jq .block_elements err.1)" 352
}

# The file that is read is the one that is written.
in_place()
{
	local r

	for r in 0 1 2; do
		"$VECTOR" make "$r" 1000 > "in.$r"
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out in.%R || return 1
	"$VECTOR" check 3 1000 in.1
}

# Where no sum comes, what was there stays; where it is shorter, nothing of it.
output_kept()
{
	echo precious > kept
	"$VECTOR" make 0 1 > short
	new_comm
	on 0 "$CANARY" allreduce $(as 0 2) --timeout 300ms --in short --out kept 2> /dev/null && return 1
	[ "$(cat kept)" = precious ] || return 1
	new_comm
	on 0 "$CANARY" allreduce $(as 0 1) --in short --out kept && cmp short kept
}

# Where no sum comes, and who waits for one is ended, no file comes.
output_unmade()
{
	mkdir -p unmade
	new_comm
	on 0 "$CANARY" allreduce $(as 0 2) --timeout 300ms --in short --out unmade/sum 2> /dev/null && return 1
	on 0 "$CANARY" perf allreduce $(as 0 2) --timeout 300ms -J unmade/json 2> /dev/null && return 1
	ns_exec h0 timeout 1 "$CANARY" allreduce $(as 0 2) --timeout 60s --in short --out unmade/sum 2> /dev/null
	[ $? -eq 124 ] && [ -z "$(ls -A unmade)" ]
}

# A disk of 16 pages: what does not fit costs nothing of what is there, one name or two.
full_disk()
{
	head -c 131072 /dev/zero > long
	mkdir -p disk
	unshare -m sh -c 'mount -t tmpfs -o size=64k none disk && cd disk || exit 1
		echo precious > one
		echo precious > two
		ln two three
		for f in one two new; do
			"$0" allreduce --comm 1 --rank 0 --members 1 --engine user --in ../long --out $f 2> ../err
			[ $? -eq 1 ] && grep -q "No space" ../err || exit 1
		done
		[ "$(cat one two three)" = "$(printf "%s\n" precious precious precious)" ] &&
			[ "$(ls -A | tr "\n" " ")" = "one three two " ]' "$CANARY"
}

# A file system that leaves a file longer if there is no room for all of it.
test_full_ext4()
{
	local what="output: as long as it was if the disk is full"

	truncate -s 1M image
	if ! mkfs.ext4 -q image 2> /dev/null || ! unshare -m mount -o loop image disk 2> /dev/null; then
		tap_skip "$what" "no ext4 in a file here"
		return
	fi
	head -c 4M /dev/zero > long
	tap_check "$what" unshare -m sh -c 'mount -o loop image disk && cd disk || exit 1
		echo precious > one
		ln one two
		"$0" allreduce --comm 1 --rank 0 --members 1 --engine user --in ../long --out one 2> ../err
		[ $? -eq 1 ] && grep -q "No space" ../err && [ "$(stat -c %s one)" = 9 ] &&
			[ "$(cat one)" = precious ]' "$CANARY"
}

# It cannot be renamed to; nothing stays beside it.
output_mounted()
{
	mkdir -p mounted
	echo precious > mounted/sum
	unshare -m sh -c 'mount --bind mounted/sum mounted/sum &&
		"$0" allreduce --comm 1 --rank 0 --members 1 --engine user --in short --out mounted/sum &&
		cmp mounted/sum short && [ "$(ls -A mounted)" = sum ]' "$CANARY"
}

# Its group is not one of the caller's.
output_group()
{
	mkdir -p grouped
	echo old > grouped/sum
	chmod 664 grouped/sum
	chmod 755 .
	chown 65534:65534 grouped
	chown 65534:0 grouped/sum
	on 0 env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$CANARY" allreduce --comm 1 --rank 0 --members 1 --engine user --in short --out grouped/sum &&
		cmp grouped/sum short && [ "$(stat -c %a:%g grouped/sum)" = 604:65534 ]
}

# As what is replaced was: mode, links to it; and what is no file is written to.
output_as_it_was()
{
	rm -f link hard
	echo old > target
	chmod 640 target
	ln -s target link
	local one=(on 0 "$CANARY" allreduce --comm 1 --rank 0 --members 1 --in short)
	"${one[@]}" --out link && [ -L link ] && cmp target short &&
		[ "$(stat -c %a target)" = 640 ] || return 1
	ln target hard
	echo longer-than-before > hard
	"${one[@]}" --out hard && cmp target short || return 1
	"${one[@]}" --out /dev/stdout | cmp - short
}

pipes()
{
	local r

	for r in 0 1 2; do
		"$VECTOR" make "$r" 1000 > "in.$r"
	done
	new_comm
	for r in 0 1 2; do
		on "$r" "$CANARY" allreduce $(as "$r" 3) < "in.$r" > "sum.$r" &
	done
	wait
	"$VECTOR" check 3 1000 sum.2
}

members_file()
{
	local r

	printf '%s\n' "# ranks in any order" "2 10.77.1.2:22663" "0 10.77.0.2:22610" \
		"1 10.77.1.2" > members
	new_comm
	for r in 0 1 2; do
		"$VECTOR" make "$r" 777 > "in.$r"
		on "$(((r + 1) / 2))" "$CANARY" allreduce --comm "$COMM" --rank "$r" \
			--members-file members --in "in.$r" --out "sum.$r" &
	done
	wait
	"$VECTOR" check 3 777 sum.1
}

# The same ranks, one after the other and without rendezvous
table()
{
	local r

	new_comm
	for r in 2 0 1; do
		sleep 0.3
		on "$(((r + 1) / 2))" "$CANARY" allreduce --comm "$COMM" --rank "$r" --epoch 77 \
			--members-file members --in "in.$r" --out "sum.$r" &
	done
	wait
	"$VECTOR" check 3 777 sum.1 && "$VECTOR" check 3 777 sum.0
}

two_communicators()
{
	local r

	for r in 0 1 2; do
		"$VECTOR" make "$r" 5000 > "in.$r"
	done
	for r in 0 1 2; do
		on "$r" "$CANARY" allreduce --comm 1 --rank "$r" --members 3 \
			--root 10.77.0.2:22600 --in "in.$r" --out "sum.a.$r" &
		on "$r" "$CANARY" allreduce --comm 2 --rank "$((2 - r))" --members 3 \
			--root 10.77.2.2:22620 --in "in.$((2 - r))" --out "sum.b.$r" &
	done
	wait
	"$VECTOR" check 3 5000 sum.a.1 && "$VECTOR" check 3 5000 sum.b.1
}

test_ways()
{
	tap_check "standard input and output" pipes
	tap_check "members file, several ranks a host, chosen ports" members_file
	tap_check "the same without rendezvous" table
	tap_check "two communicators at the same time" two_communicators
	for mtu in 9000 1400; do
		ns_ip h1 link set eth0 mtu "$mtu"
		ns_ip router link set p1 mtu "$mtu"
		if [ "$mtu" = 9000 ]; then
			ns_ip h2 link set eth0 mtu 9000
			ns_ip h0 link set eth0 mtu 9000
			ns_ip router link set p0 mtu 9000
			ns_ip router link set p2 mtu 9000
		fi
		tap_check "MTU of $mtu at one host" sums 3 5000
		tap_diag "$(jq .block_elements err.0) elements a block"
		[ "$mtu" = 9000 ] || tap_is "the smallest MTU counts" \
			"$(jq .block_elements err.0)" 327
	done
}

# fails TEXT ARGUMENTS...: ends with status 1 and a message that has TEXT, in namespace h0
fails()
{
	local text=$1 rc=0

	shift
	ns_exec h0 timeout 120 "$@" > out 2> err || rc=$?
	if [ "$rc" -eq 1 ] && grep -qF -- "$text" err; then
		tap_ok "$(head -n 1 err)"
	else
		tap_not_ok "a message with '$text'" "status $rc: $(head -n 3 err)"
	fi
}

test_failures()
{
	local alone=(--comm 1 --rank 0 --members 1)
	local two=(--comm 1 --rank 0 --members 2 --root 10.77.0.2 --timeout 300ms)

	head -c 7 /dev/zero > odd
	fails "7 bytes" "$CANARY" allreduce "${alone[@]}" --in odd
	fails "No such file" "$CANARY" allreduce "${alone[@]}" --in /nowhere
	fails "No such file" "$CANARY" allreduce "${alone[@]}" --in odd --out /nowhere/x
	fails "kernel's is not there" "$CANARY" allreduce "${alone[@]}" --engine kernel --in /dev/null
	fails "Cannot assign requested address" "$CANARY" allreduce "${two[@]}" --bind 10.77.0.2 \
		--root 10.77.0.2 --rank 1 --bind 10.77.3.2 --in /dev/null
	ns_ip h3 route del default
	fails "rank 1 of 2 is missing" "$CANARY" allreduce "${two[@]}" --in /dev/null
	ns_exec h3 "$CANARY" allreduce "${two[@]}" --rank 1 --in /dev/null 2> err
	tap_is "no route" "$(cat err)" "canary: root: 10.77.0.2:22600: Network is unreachable"
	ns_ip h3 route add default via 10.77.3.1
	ns_exec h0 "$CANARY" allreduce "${two[@]}" --members 5 -j --in /dev/null 2> err
	tap_check "missing ranks in JSON" jq -e \
		'.errno == "ETIMEDOUT" and .ranks == [1, 2, 3, 4] and (.error | length) > 10' err
}

# heard COMM DROP: rank 0 has refused somebody for that reason, and rank 2 knows whom it misses
heard()
{
	"$CANARY" stats -j > counters
	"$CANARY" comm show -j > shown
	jq -e --argjson c "$1" ".user[] | select(.comm == \$c and .rank == 0).stats.drops[\"$2\"] > 0" counters &&
		jq -e --argjson c "$1" '.[] | select(.comm == $c and .rank == 0).trouble != ""' shown &&
		jq -e --argjson c "$1" '.[] | select(.comm == $c and .rank == 2)' shown
}

# stranger DROP OPTION...: rank 0 of 3 waits in the background, rank 2 a little shorter, and rank 1
# with other OPTIONs, for which it is refused.
stranger()
{
	local drop=$1

	shift
	new_comm
	on 0 "$CANARY" allreduce $(as 0 3) --timeout 4s --in /dev/null -j 2> err.0 &
	on 2 "$CANARY" allreduce $(as 2 3) --timeout 3s --in /dev/null -j 2> err.2 &
	on 1 "$CANARY" allreduce $(as 1 3) --timeout 3s --in /dev/null -j "$@" 2> err.1 &
	TAP_PATIENCE=4 wait_for 3 heard "$COMM" "$drop"
	wait
}

test_strangers()
{
	local drop

	drop=".user[] | select(.comm == \$c and .rank == 0).stats.drops"
	stranger mac --key 000102030405060708090a0b0c0d0e0f
	tap_is "wrong key: rank 0 misses rank 1" "$(jq -c .ranks err.0)" "[1]"
	tap_is "wrong key: rank 2 is told" "$(jq -c .ranks err.2)" "[1]"
	tap_is "wrong key: rank 1 is not let in" "$(jq -c .ranks err.1)" "[0]"
	tap_check "wrong key: rank 0 says who" jq -e \
		'.error | test("10.77.1.2:[0-9]+ wants to join as rank 1 with another key")' err.0
	tap_check "wrong key: rank 1 knows" jq -e '.error | test("; rank 0 has another key")' err.1
	tap_check "wrong key: shown" jq -e --argjson c "$COMM" \
		'.[] | select(.comm == $c and .rank == 0).trouble | test("^key@10.77.1.2:")' shown
	tap_check "wrong key: counted as such" jq -e --argjson c "$COMM" "$drop.mac > 0" counters
	stranger members --members 4
	tap_is "wrong members: rank 0 misses rank 1" "$(jq -c .ranks err.0)" "[1]"
	tap_is "wrong members: rank 1 is told" "$(jq -r .error err.1)" \
		"rank 0 refuses: rank 0 counts 3 members"
	tap_check "wrong members: counted as such" jq -e --argjson c "$COMM" "$drop.members > 0" \
		counters
	stranger communicator --comm 0
	tap_is "wrong communicator: rank 0 misses rank 1" "$(jq -c .ranks err.0)" "[1]"
	tap_check "wrong communicator: rank 0 says who" jq -e \
		'.error | test("10.77.1.2:[0-9]+ wants to join communicator 0")' err.0
	tap_is "wrong communicator: rank 1 knows" "$(jq -r .error err.1)" \
		"rendezvous is not complete: rank 0 of 3 is missing at 10.77.0.2:22600; who answers there is rank 0 of communicator $COMM"
	tap_check "wrong communicator: counted as such" jq -e --argjson c "$COMM" \
		"$drop.communicator > 0" counters
}

same_key()
{
	local r

	(umask 077 && printf '%s\n' 00112233445566778899aabbccddeeff > key)
	for r in 0 1 2; do
		"$VECTOR" make "$r" 2000 > "in.$r"
	done
	ranks 3 "$CANARY" allreduce --in in.%R --out sum.%R --key-file key &&
		"$VECTOR" check 3 2000 sum.1
}

# The administrator's table instead
key_table()
{
	local r

	(umask 077 && printf '# keys\n%s-4294967295 %s # all\n' 1 00112233445566778899AABBCCDDEEFF > table)
	for r in 0 1 2; do
		"$VECTOR" make "$r" 2000 > "in.$r"
	done
	CANARY_KEYS=table ranks 3 "$CANARY" allreduce --in in.%R --out sum.%R &&
		"$VECTOR" check 3 2000 sum.1
}

# Two processes claim rank 1: one of them is let in.
twice()
{
	local r first second

	new_comm
	for r in 0 1 2; do
		"$VECTOR" make "$r" 100 > "in.$r"
	done
	on 1 "$CANARY" allreduce $(as 1 3) --timeout 6s --in in.1 --out sum.1 2> err.1 & first=$!
	on 1 "$CANARY" allreduce $(as 1 3) --timeout 6s --in in.1 --out sum.1b 2> err.1b & second=$!
	on 0 "$CANARY" allreduce $(as 0 3) --timeout 60s --in in.0 --out sum.0 &
	wait_joined "$COMM" 3 joining
	on 2 "$CANARY" allreduce $(as 2 3) --timeout 60s --in in.2 --out sum.2 &
	r=0
	wait "$first" || r=$((r + 1))
	wait "$second" || r=$((r + 1))
	wait
	"$VECTOR" check 3 100 sum.0 && "$VECTOR" check 3 100 sum.2 && [ "$r" -eq 1 ]
}

# wait_joined COMM N STATE: N members of it are shown in that state
wait_joined()
{
	wait_for 10 eval "[ \$(\"$CANARY\" comm show -j | jq '[.[] | select(.comm == $1 and
		.state == \"$3\")] | length') -eq $2 ]"
}

# long_job ALGORITHM: a job of 3 ranks that goes on for long; PERF has their pids
long_job()
{
	local r algorithm=$1

	new_comm
	PERF=()
	for r in 0 1 2; do
		bg ns_exec "h$r" "$CANARY" perf allreduce $(as "$r" 3) -b 64K -e 64K -n 1000000 \
			--dead-after 2s --algorithm "$algorithm" > "out.$r" 2> "err.$r"
		PERF+=("$!")
	done
	wait_joined "$COMM" 3 connected
}

ended()
{
	! kill -0 "$1"
}

test_kill()
{
	local r rc dir=/run/canary

	if long_job tree:8; then
		tap_ok "a job of ${#PERF[@]} ranks runs"
	else
		tap_not_ok "a job runs" "$(cat err.0 err.1 err.2)"
		return
	fi
	"$CANARY" comm show > table
	tap_is "comm show lists its ranks" "$(awk -v c="$COMM" '$1 == c {print $2}' table |
		sort | tr '\n' ' ')" "0 1 2 "
	tap_check "comm show -j" jq -e --argjson c "$COMM" --argjson p "${PERF[1]}" \
		'.[] | select(.comm == $c and .rank == 1) | .engine == "user" and
		.members == 3 and .pid == $p and .local == "10.77.1.2:22601" and
		.root == "10.77.0.2:22600" and .epoch > 0 and .elements > 0 and
		.algorithm == "tree:8" and (.last | length) > 0 and (.why | length) > 0 and
		.operation == "sum:int32" and (.switches | IN("combine", "pass"))' \
		<("$CANARY" comm show -j)
	tap_check "stats -j" jq -e --argjson c "$COMM" '.kernel == null and
		([.user[] | select(.comm == $c and .stats.blocks_done > 0 and
			(.stats | has("trains_out")))] | length == 3)' \
		<("$CANARY" stats -j)
	tap_check "stats" grep -q "^user communicator $COMM rank 2 pid ${PERF[2]}" \
		<("$CANARY" stats)
	tap_check "stats -z" grep -q "drop-version *0" <("$CANARY" stats -z)
	tap_is "a socket is for nobody else" "$(stat -c %a "$dir/comm-${PERF[2]}-0.sock")" 600
	kill -KILL "${PERF[2]}"
	for r in 0 1; do
		rc=0
		wait_for 10 ended "${PERF[r]}" || kill -KILL "${PERF[r]}"
		wait "${PERF[r]}" || rc=$?
		tap_is "rank $r ends with status 1" "$rc" 1
		tap_check "rank $r names rank 2: $(cat "err.$r")" grep -q "rank 2 answers nothing" \
			"err.$r"
	done
	wait "${PERF[2]}"
	# Whatever looks for communicators removes it: here, and in a test that runs beside this one
	"$CANARY" comm show -j > shown
	tap_check "it is not shown" jq -e --argjson c "$COMM" '[.[] | select(.comm == $c)] == []' \
		shown
	tap_check "the socket of the killed rank is gone" [ ! -e "$dir/comm-${PERF[2]}-0.sock" ]
}

test_unprivileged()
{
	local r

	new_comm
	chmod 755 .
	for r in 0 1; do
		"$VECTOR" make "$r" 3000 > "in.$r"
		on "$r" env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$CANARY" allreduce $(as "$r" 3) --in "in.$r" > "sum.$r" 2> "err.$r" &
	done
	"$VECTOR" make 2 3000 > in.2
	tap_check "engines without privilege are shown" wait_joined "$COMM" 2 joining
	on 2 "$CANARY" allreduce $(as 2 3) < in.2 > sum.2
	wait
	tap_check "ranks without privilege" "$VECTOR" check 3 3000 sum.1
	tap_check "their sockets are gone" [ -z "$(ls -A /tmp/canary-65534)" ]
	rmdir /tmp/canary-65534
}

perf()
{
	ranks 4 "$CANARY" perf allreduce -b 4 -e 64K -f 4 -n 3 -w 1 -c 1 --spin 50us -J perf.json \
		|| return 1
	grep -q '# Out of bounds values : 0 OK' out.0 || return 1
	grep -q '# Avg bus bandwidth    : ' out.0 || return 1
	[ ! -s out.1 ] || return 1
	awk '$1 ~ /^[0-9]+$/ && NF == 13 && $3 == "int32" && $4 == "sum" && $5 == -1 &&
		$9 == 0 && $13 == 0 {n++} END {exit n != 8}' out.0 || return 1
	jq -e '(.results | length) == 8 and .results[7].size == 65536 and
		.results[7].count == 16384 and .ranks == 4 and .out_of_bounds == 0 and
		([.results[] | .out_of_place.wrong, .in_place.wrong] | add) == 0 and
		(.results | all(.in_place.median_us > 0 and .in_place.p99_us >= .in_place.median_us)) and
		(.results | all(.in_place.time_us > 0 and .in_place.busbw >= .in_place.algbw)) and
		.avg_busbw > 0 and .stats.operations > 0' perf.json
}

# ring_sums MEMBERS COUNT: what rank 0 is told holds for all, and all can say so
ring_sums()
{
	local members=$1 count=$2 r

	for ((r = 0; r < members; r++)); do
		"$VECTOR" make "$r" "$count" > "in.$r"
	done
	new_comm
	for ((r = 0; r < members; r++)); do
		on "$r" "$CANARY" allreduce $(as "$r" "$members") --in "in.$r" --out "sum.$r" -j \
			--algorithm "$([ "$r" -eq 0 ] && echo ring || echo tree)" 2> "err.$r" &
	done
	wait
	for ((r = 0; r < members; r++)); do
		cmp sum.0 "sum.$r" || return 1
		jq -e '.algorithm == "ring" and .why == "rank-0-was-told" and
			.stats.operations_ring == 1 and .stats.contributions_out == 0' "err.$r" ||
			return 1
	done
	"$VECTOR" check "$members" "$count" sum.0
}

# decided: behind a router, rank 0 finds that nobody adds up, and rings follow
decided()
{
	ranks 4 "$CANARY" perf allreduce -b 256K -e 256K -n 4 -w 0 -c 2 -J perf.json || return 1
	jq -e '.algorithm == "auto" and .last_algorithm == "ring" and
		.why == "no-switch-adds-up" and .out_of_bounds == 0 and
		.stats.operations_ring > 0' perf.json
}

test_ring()
{
	local members count

	for members in 1 2 3 8; do
		for count in 1 10007; do
			tap_check "ring: $members ranks, $count elements" ring_sums "$members" "$count"
		done
	done
	tap_check "ring: rank 0 decides for it" decided
	tap_refuse "allreduce: no such algorithm" "$CANARY" allreduce --comm 1 --rank 0 \
		--members 1 --algorithm star
}

perf_flight()
{
	ranks 3 "$CANARY" perf allreduce -b 1000 -e 3000 -i 1000 -n 10 -m 5 -c 2 -J perf.json &&
		jq -e '[.results[].size] == [1000, 2000, 3000] and .agg_iters == 5' perf.json
}

# digits MEMBERS GRADIENTS: all ranks end with the weights of a process alone
digits()
{
	local members=$1 gradients=$2 r reference

	reference=$("$DIGITS" --reference --members "$members" --gradients "$gradients" --data "$DATA" \
		--epochs 12 --json - | tail -n 1 | jq -r .weights_hash)
	ranks "$members" "$DIGITS" --gradients "$gradients" --data "$DATA" --epochs 12 \
		--json result.%R || return 1
	for ((r = 0; r < members; r++)); do
		jq -e --arg h "$reference" --argjson n "$members" '.accuracy >= 0.9 and
			.weights_hash == $h and .ranks == $n and .shard == .rank and .ranks_identical and
			.engine == "user" and .stats.operations > 0' "result.$r" || return 1
	done
	grep -c '^epoch' out.0 | grep -qx 12
}

# learnt GRADIENTS...: with each type, all of the test is learnt as well as with the first one, within
# half a percent; but the weights are others
learnt()
{
	local gradients

	for gradients in "$@"; do
		"$DIGITS" --reference --members 8 --gradients "$gradients" --data "$DATA" --json - | tail -n 1
	done | jq -se --argjson n $# '.[0].accuracy as $first | length == $n and
		all(.[]; .accuracy > 0.94 and (.accuracy - $first | fabs) <= 0.005) and
		([.[].weights_hash] | unique | length) == $n'
}

test_digits()
{
	local n gradients

	if [ ! -x "$DIGITS" ] || [ ! -e "$DATA" ]; then
		tap_skip "handwritten digits" "not built, or no data"
		return
	fi
	for gradients in float32 bfloat16 int32; do
		for n in 1 5 8 9; do
			tap_check "digits: $n ranks learn the same as a process alone, $gradients" \
				digits "$n" "$gradients"
		done
	done
	tap_check "digits: as well with float32 and bfloat16 gradients as with int32" \
		learnt int32 float32 bfloat16
	tap_refuse "digits: --rank is needed" "$DIGITS" --comm 1 --members 2 --root 10.77.0.2
	tap_refuse "digits: no such type" "$DIGITS" --reference --gradients float8 --data "$DATA"
	tap_refuse "digits: no such shard" "$DIGITS" --reference --members 2 --shard 2 --data "$DATA"
	tap_refuse "digits: more members than a reference knows" "$DIGITS" --reference --members 65 \
		--gradients bfloat16 --data "$DATA"
	tap_refuse "digits: no data" "$DIGITS" --reference --data /nowhere
	echo 1,2,3 > bad.csv
	tap_refuse "digits: other data" "$DIGITS" --reference --data bad.csv
}

test_sums
test_failures
test_strangers
tap_check "all ranks with the key" same_key
tap_check "all ranks with the key of a table" key_table
tap_check "two processes claim a rank: one is let in" twice
tap_check "perf: columns, JSON, nothing wrong" perf
tap_check "perf: several operations in flight, steps of bytes" perf_flight
test_ring
test_digits
test_kill
test_unprivileged
test_ways
tap_done
