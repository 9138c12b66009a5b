#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The testbeds of topology/: everything is reachable, links have their rate, wrong results are
# reported, and nothing outside the testbed's namespaces is touched or left.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
export CANARY
RUN=$TAP_TOP/topology/run.py
CHECK=("/usr/bin/python3" "$TAP_TOP/selftests/net/topology_check.py")

tap_start net/topology
need_root
need_program ip tc jq sysctl mnexec iperf3 ping /usr/bin/python3 "$CANARY"
tmp_dir

# machine: prints what a testbed might have changed on the machine: addresses, devices, sysctls
machine()
{
	ip -o addr | grep -E ' 10\.(64|255)\.'
	ip route show table all | grep -E '10\.(64|255)\.'
	ip -o link | grep -E ': (s[a-z0-9]*|r1|h[0-9]+)-eth[0-9]+'
	sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter net.ipv4.fib_multipath_hash_policy \
		net.ipv6.conf.all.disable_ipv6 net.core.rmem_max net.core.netdev_max_backlog
}

machine >"$TAP_TMP/before"

tap_check "address plan and routes" "${CHECK[@]}" plan
tap_check "names that mean nothing are refused" "${CHECK[@]}" names
tap_check "arguments: numbers" "${CHECK[@]}" arguments
tap_check "arguments: files are not made, nor waited for" timeout 120 "${CHECK[@]}" writable
tap_check "arguments: the switch program is asked" "${CHECK[@]}" asked
tap_check "all hosts reach all hosts and switches" "${CHECK[@]}" reach
tap_check "flows part at each level, and go the same way again" "${CHECK[@]}" paths
tap_check "a link has its rate and a bounded queue" "${CHECK[@]}" rate
tap_check "a switch starts, answers, stops" "${CHECK[@]}" switch
tap_check "a switch that does not start is an error" "${CHECK[@]}" failed_switch
tap_check "signals end processes, whatever they are at; no wait is for ever" "${CHECK[@]}" ends
tap_check "leftovers of dead testbeds are found by name" "${CHECK[@]}" sweep

# The runner believes no result: a program that lies takes the tool's place.
cat >"$TAP_TMP/liar" <<'END'
#!/bin/bash
[ "$1" = allreduce ] || exit 0
shift
while [ $# -gt 0 ]; do
	case $1 in
	--out) out=$2 ;;
	--in) in=$2 ;;
	esac
	shift
done
cp "$in" "$out"
END
chmod 755 "$TAP_TMP/liar"
small=(--topology star:2 --switches none)
said=$(CANARY=$TAP_TMP/liar "$RUN" "${small[@]}" allreduce --elements 100)
tap_is "a wrong result: exit status 1" $? 1
tap_check "a wrong result: said so" grep -q 'rank 1: .* of 100 elements are wrong' <<<"$said"
"$RUN" "${small[@]}" command -- sh -c 'exit {rank}' >"$TAP_TMP/said"
tap_is "a rank that fails: exit status 1" $? 1
tap_check "a rank that fails: named" grep -q 'rank 1 on h2 ended with status 1' "$TAP_TMP/said"
timeout 300 "$RUN" "${small[@]}" --patience 1 command -- sleep 600 >"$TAP_TMP/said"
tap_is "a rank that hangs: exit status 1" $? 1
tap_check "a rank that hangs: said so" grep -q 'not done after 1.0 s' "$TAP_TMP/said"
"$RUN" "${small[@]}" --json "$TAP_TMP/json" command -- sh -c 'echo {rank}/{members} {root} {bind} {host} >{work}/seen.{rank}' >"$TAP_TMP/said"
tap_is "a command: exit status 0" $? 0
tap_is "a command: in the JSON" "$(jq -c '[.right, .members, (.ranks | length)]' "$TAP_TMP/json")" "[true,2,2]"
for bad in "--switches nosuch" "--topology ring" "--rate fast" "--faults what=1%" "--faults drop=200%" "--hosts 9" \
	"--per-host 65" "--engine fpga"; do
	# shellcheck disable=SC2086 # words
	"$RUN" "${small[@]}" $bad command -- true >"$TAP_TMP/said" 2>&1
	tap_is "refuses $bad" $? 2
done

# What refused() would see: files, and a program that tells whether a node was started
mkdir "$TAP_TMP/path"
cat >"$TAP_TMP/path/mnexec" <<END
#!/bin/sh
touch "$TAP_TMP/begun"
exec "$(command -v mnexec)" "\$@"
END
chmod 755 "$TAP_TMP/path/mnexec"
files()
{
	find "$TAP_TMP" ! -name said -printf '%p %s\n' | sort
}

# refused TEXT COMMAND...: fails with one line that has TEXT, before a testbed is begun or a file is
# made
refused()
{
	local text=$1 rc=0 before

	shift
	before=$(files)
	PATH=$TAP_TMP/path:$PATH "$@" >"$TAP_TMP/said" 2>&1 || rc=$?
	if [ $rc -eq 2 ] && [ "$(wc -l <"$TAP_TMP/said")" -eq 1 ] && grep -qF -- "$text" "$TAP_TMP/said" &&
		[ "$(files)" = "$before" ]; then
		tap_ok "refused: $(cat "$TAP_TMP/said")"
	else
		tap_not_ok "refused: $*" "status $rc: $(cat "$TAP_TMP/said")
$(diff <(echo "$before") <(files))"
	fi
	rm -f "$TAP_TMP/begun"
}

HERE=$TAP_TOP/topology
: >"$TAP_TMP/file"
refused "run.py: --json: '$TAP_TMP/file/x.json': Not a directory" "$RUN" --json "$TAP_TMP/file/x.json" command -- true
refused "run.py: --json: '$TAP_TMP': Is a directory" "$RUN" --json "$TAP_TMP" command -- true
refused "--patience: '-3' is not a number from" "$RUN" --patience -3 command -- true
refused "--per-host: '65' is not a whole number from 1 to 64" "$RUN" --per-host 65 command -- true
refused "--json: '$TAP_TMP/file/a/b': Not a directory" "$RUN" --json "$TAP_TMP/file/a/b" command -- true
refused "--hosts: '9' is not a number from 1 to 2" "$RUN" --json "$TAP_TMP/new" "${small[@]}" --hosts 9 command -- true
refused "--json: '$TAP_TMP/new/json': No such file or directory" "$RUN" --json "$TAP_TMP/new/json" command -- true
refused "--hosts: '9' is not a number from 1 to 2" "$RUN" "${small[@]}" --hosts 9 command -- true
refused "--switches: '2' is not a number from 0 to 1" "$RUN" --topology star:2 --switches 2 command -- true
refused "Not a directory" "$RUN" --work "$TAP_TMP/file/work" command -- true
# What is behind -- is checked by the job, when the testbed is up.
"$RUN" "${small[@]}" digits -- --epochs 0 >"$TAP_TMP/said" 2>&1
tap_is "digits refuses its option: exit status 2" $? 2
tap_is "and is heard" "$(cut -c -46 "$TAP_TMP/said")" "run.py: digits: epochs: has to be 1 to 10000"
refused "--hosts: '99' is not a number from 1 to 4" "$HERE/fault.py" slow --hosts 99
refused "--operations: '0' is not" "$HERE/fault.py" slow --operations 0
refused "--operations: restart needs 3 or more, not 2" "$HERE/fault.py" restart --operations 2
refused "--per-host: '0' is not" "$HERE/fault.py" slow --per-host 0
refused "--topology: 'star:2*99': '99' is not a number of ranks" "$HERE/fault_matrix.py" --topology "star:2*99"
refused "--faults: invalid choice: 'rain'" "$HERE/fault_matrix.py" --faults rain
refused "--minutes: 'nan' is not a number" "$HERE/soak.py" --minutes nan
refused "--operations: '2' is not a whole number from 3" "$HERE/tenants.py" --operations 2
# The demonstration: before a guest boots
refused "--rate: 'fast' is no rate such as 100mbit" "$HERE/demo.py" --rate fast
refused "--rate: '1bit' is no rate" "$HERE/demo.py" --rate 1bit
refused "--epochs: '0' is not a whole number from 1 to 10000" "$HERE/demo.py" --epochs 0
refused "--gradients: invalid choice: 'float8'" "$HERE/demo.py" --gradients float8
refused "--shuffle: '-1' is not a whole number from 0" "$RUN" --shuffle -1 command -- true
refused "--switch-timeout: '5' is no duration" "$HERE/demo.py" --switch-timeout 5
refused "--json: '$TAP_TMP/file/x.json': Not a directory" "$HERE/demo.py" --json "$TAP_TMP/file/x.json"
tap_check "soak.py has a help of its own" sh -c "'$HERE/soak.py' --help | grep -q 'nothing may be' && ! '$HERE/soak.py' --help | grep -q -- --blocks"

# Two at the same time, and their counters
for i in 1 2; do
	"$RUN" --engine user --topology leaf_spine:2,2,1 --json "$TAP_TMP/json$i" allreduce --elements 3000 \
		>"$TAP_TMP/said$i" 2>&1 &
	pids[i]=$!
done
for i in 1 2; do
	wait "${pids[i]}"
	tap_is "two testbeds at a time: $i is right" $? 0
	tap_is "its switches counted" "$(jq '[.switches[] | .counters["rx-contribution"]] | add > 0' "$TAP_TMP/json$i")" true
	tap_is "its links counted" "$(jq '[.links[] | .tx_packets] | add > 0' "$TAP_TMP/json$i")" true
done

# Ended in the middle, by TERM and by KILL
for signal in TERM KILL; do
	"$RUN" --topology star:2 command -- sleep 600 >"$TAP_TMP/said" 2>&1 &
	pid=$!
	tap_check "$signal: the testbed is up" wait_for 20 pgrep -P "$pid" -f 'sleep 600'
	kill -"$signal" "$pid"
	wait "$pid" 2>/dev/null
	tap_check "$signal: nothing of it is left" "${CHECK[@]}" killed "$pid"
done

machine >"$TAP_TMP/after"
tap_check "the machine is as before" diff "$TAP_TMP/before" "$TAP_TMP/after"
tap_done
