#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Settings of running switches. A request is taken completely or not at all, by one switch or by
# all, and only from who may change them.
#	h --- a, h --- b: two switches that share nothing but the machine
#	h --- c: one that shares its namespace with a

# Its own /run/canary, so that "all switches of this machine" are those of this test
[ -n "${CANARY_OWN_RUN:-}" ] ||
	CANARY_OWN_RUN=1 exec unshare --mount --propagation private -- "$0" "$@"

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
SHIM=$TAP_TOP/build/selftests/net/fail_maps.so

tap_start net/settings
need_root
need_program ip jq unshare /usr/bin/python3 "$CANARY"
[ -e "$SHIM" ] || tap_skip_all "needs $SHIM"
tmp_dir
mkdir -p /run/canary
mount -t tmpfs none /run/canary || tap_skip_all "needs mounts of its own"

# start SWITCH NAMESPACE OPTIONS...: starts a switch; its pid is PID[SWITCH]
declare -A PID
start()
{
	local n=$1 ns=$2

	shift 2
	bg ns_exec "$ns" "$CANARY" switch run --name "$n" --ports "to-h-$n" --address 10.9.0.1 \
		--slots 64 --timeout 1ms "$@" >"$TAP_TMP/$n" 2>&1
	PID[$n]=$!
	wait_for 20 grep -q " ready: " "$TAP_TMP/$n" && return
	tap_not_ok "switch $n starts" "$(cat "$TAP_TMP/$n")"
	tap_done
}

# state SWITCH: prints all that can be set
state()
{
	"$CANARY" switch show -j --name "$1" | jq -c '[.choice, .flowlet_us, .spread, .trees,
		.first_tree, .timeout_us, .timeout_min_us, .timeout_max_us, .fan_in.mode, .fan_in.told,
		.admission.on, .admission.rules]'
}

# set_here ARGUMENTS...: runs `set` in the namespace of a
set_here()
{
	ns_exec a "$CANARY" switch set "$@"
}

# refused WHAT STATUS MESSAGE ARGUMENTS...: `set` in the namespace of a fails, and changes nothing
# anywhere
refused()
{
	local what=$1 status=$2 message=$3 before after out rc=0

	shift 3
	before=$(state a)$(state b 2>&1)
	out=$(set_here "$@" 2>&1) || rc=$?
	after=$(state a)$(state b 2>&1)
	if [ $rc -eq "$status" ] && grep -qF -- "$message" <<<"$out" && [ "$before" = "$after" ]; then
		tap_ok "refused: $what"
	else
		tap_not_ok "refused: $what" "exit status $rc, expected $status and '$message' in: $out
before $before
after  $after"
	fi
}

# ask TEXT: sends TEXT to the socket of a, as no client of this project would
ask()
{
	/usr/bin/python3 - "$1" <<'END'
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect("/run/canary/switch-a.sock")
sock.send(sys.argv[1].encode().decode("unicode_escape").encode())
print(sock.recv(4096).decode(), end="")
END
}

ns_add h a b
for n in a b; do
	ns_link h to-$n - $n to-h-$n -
	ns_ip $n addr add 10.9.0.1/32 dev lo
done
start a a --lifetime 1s

tap_check "the only switch needs no name" set_here --choice two --spread 3
tap_is "is set" "$(state a | jq -c '.[0,2]' | tr '\n' ' ')" '"two" 3 '
refused "the second one is wrong" 2 "--spread: '0' is not a number from 1 to 256" \
	--choice block --spread 0 --timeout 2ms
refused "the last one is wrong" 2 "--timeout: '5' is no duration" \
	--admit 7:any --fan-in off,10.0.0.1=2 --choice static --trees 3+1 --timeout 5
refused "rules are wrong after values" 1 "--revoke: there is no rule 9:10.0.0.1/32" \
	--spread 7 --fan-in 10.0.0.1=2 --revoke 9:10.0.0.1
refused "rule to take back is none" 2 "--revoke: '9' is neither everybody" --spread 7 --revoke 9
refused "rules at nobody's port" 1 "--admit: s9 is no port of this switch" --spread 7 --admit 1:any%s9
refused "timeout beyond the lifetime" 1 "--lifetime must be at least" --choice block --timeout 900ms
refused "more than a request may have" 2 "--admit: 1 to 16384 characters" --spread 7 \
	--admit "$(seq -s, -f "%.0f:any" 1500)" --admit "$(seq -s, -f "%.0f:any" 1500)"
refused "more fan-ins than there is room for" 2 "--fan-in: more than" --spread 7 \
	--fan-in "$(seq -s, -f "10.0.0.%.0f=2" 1 200),$(seq -s, -f "10.0.1.%.0f=2" 1 200)"
refused "a rule that is none" 2 "--admit: '9' is neither everybody" --spread 7 --admit 9
refused "trees that are not chosen" 2 "--trees: only with --choice static, the choice is flow" --spread 7 --trees 2 --choice flow
refused "trees where the choice is another" 1 "--trees: only with --choice static, the choice is two" --spread 7 --trees 2
refused "unknown option" 2 "unrecognized option" --spread 7 --colour red
before=$(state a)
tap_is "half a request" "$(ask 'set\nspread 9\nchoice bl')" "the end is missing"
tap_is "a request without its end" "$(ask 'set\nspread 9\n')" "the end is missing"
tap_is "an empty request" "$(ask 'set\n\n')" "nothing to set"
tap_is "unknown setting" "$(ask 'set\nspread 9\ncolour red\n\n')" "there is no setting 'colour'"
tap_is "setting without a value" "$(ask 'set\nspread 9\nchoice\n\n')" "which setting, to what?"
tap_is "only tried" "$(ask 'try\nspread 9\nadmit 7:any\n\n')" "ok"
tap_is "all that changed nothing" "$(state a)" "$before"
tap_check "all at once" set_here --choice static --trees 3+1 --flowlet 2ms --spread 4 \
	--timeout 2ms..80ms --fan-in off --fan-in 10.0.0.1=2,10.0.0.2=3 --admit 7:any --revoke 7:any --admit 8:any
tap_is "all are set" "$(state a | jq -c 'del(.[5])')" \
	'["static",2000,4,3,1,2000,80000,"off",2,true,["8:0.0.0.0/0"]]'
tap_check "as many rules as there may be, one gone for another" set_here --admit nobody \
	--admit "$(seq -s, -f "%.0f:any" 256)" --revoke 256:any --admit 257:any
tap_is "these are" "$(state a | jq -c '.[-1] | [length, .[-1]]')" '[256,"257:0.0.0.0/0"]'
refused "one rule more" 1 "--admit: more than 256 rules" --admit 259:any
tap_check "and as before" set_here --admit nobody --admit 8:any

tap_check "other trees where they are chosen" set_here --trees 2
tap_check "another choice where trees are known" set_here --choice block
tap_check "and back" set_here --choice static --trees 3+1

LD_PRELOAD=$SHIM FAIL_MAPS=$TAP_TMP/fail start b b
before=$(state a)
tap_check "each namespace has its own" ns_exec b "$CANARY" switch set --spread 9
tap_is "that of the other one is as it was" "$(state a) $(state b | jq '.[2]')" "$before 9"
tap_is "show: the own one" "$(ns_exec b "$CANARY" switch show -j | jq -r '"\(.name) \(.netns)"')" \
	"b $(ns_exec b stat -Lc %i /proc/self/ns/net)"
tap_is "set: none of this namespace" "$(ns_exec h "$CANARY" switch set --spread 2 2>&1)" \
	"canary switch set: no switch is running in this network namespace; in others (--name NAME, or --all): a b"
tap_is "show: none of this namespace" "$(ns_exec h "$CANARY" switch show 2>&1)" \
	"canary switch show: no switch is running in this network namespace; in others (--name NAME, or --all): a b"
ns_link h to-c - a to-h-c -
start c a
refused "which one?" 1 "2 switches run in this network namespace, which one? --name NAME, or --all of this machine: a c" --spread 2
tap_is "show: both of this namespace" "$(ns_exec a "$CANARY" switch show -j | jq -r .name | tr '\n' ' ')" "a c "
bg_stop "${PID[c]}"
tap_refuse "show: a name and all" "$CANARY" switch show --name a --all
refused "a name and all" 2 "either --name or --all" --name a --all --spread 2
refused "no name of a switch" 2 "is no name of a switch" --name ../a --spread 2
refused "not by this one" 1 "a: --admit: to-h-b is no port" --name a --spread 2 --admit 1:any%to-h-b
refused "by one of all" 1 "a: --admit: to-h-b is no port" --all --spread 2 --admit 1:any%to-h-b
refused "by the last of all" 1 "b: --revoke: there is no rule 8:0.0.0.0/0" --all --spread 2 --revoke 8:any
tap_check "one of them" "$CANARY" switch set --name b --spread 5
tap_is "that one alone" "$(state a | jq '.[2]') $(state b | jq '.[2]')" "4 5"
tap_check "all of them" "$CANARY" switch set --all --spread 6 --choice block
tap_is "both" "$(state a | jq -c '.[0,2]' | tr '\n' ' ')$(state b | jq -c '.[0,2]' | tr '\n' ' ')" \
	'"block" 6 "block" 6 '
tap_is "show: all" "$("$CANARY" switch show -j --all | jq -r .name | tr '\n' ' ')" "a b "
# said WHAT STATUS MESSAGE: checks the last `set`, in $out and $rc
said()
{
	if [ $rc -eq "$2" ] && grep -qF -- "$3" <<<"$out"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "exit status $rc, expected $2 and '$3' in: $out"
	fi
}

before=$(state b)
touch "$TAP_TMP/fail"
rc=0
out=$("$CANARY" switch set --all --spread 8 --fan-in 10.0.0.9=9 2>&1) || rc=$?
rm "$TAP_TMP/fail"
said "the kernel refuses at the last of all" 1 "b: --fan-in: the kernel does not take that"
said "the others are named" 1 "changed already: a"
tap_is "they are changed" "$(state a | jq '.[2]')" 8
tap_is "that one is not" "$(state b)" "$before"
# A switch that says ok to "try", and is gone when it has to do it
cat >"$TAP_TMP/gone.py" <<'END'
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("/run/canary/switch-gone.sock")
server.listen()
print("ready", flush=True)
while True:
    client = server.accept()[0]
    request = client.recv(4096)
    if request.startswith(b"try"):
        server.close()
        os.unlink("/run/canary/switch-gone.sock")
        client.send(b"ok\n")
        break
    client.close()
END
bg /usr/bin/python3 "$TAP_TMP/gone.py" >"$TAP_TMP/gone"
tap_check "a switch that ends in between" wait_for 5 grep -q ready "$TAP_TMP/gone"
rc=0
out=$("$CANARY" switch set --all --spread 6 2>&1) || rc=$?
said "it is said" 1 "gone: has ended meanwhile"
said "and who was changed" 1 "changed already: a b"
# Switches of other versions: they take settings, but do not answer in which namespace they are
cat >"$TAP_TMP/fake.py" <<'END'
import os, signal, socket, sys
answer, log = sys.argv[1], sys.argv[2]
path = "/run/canary/switch-fake.sock"
server = socket.socket(socket.AF_UNIX)
server.bind(path)
if answer == "deaf":        # a queue of one, which is full
    server.listen(0)
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
else:
    server.listen()
print("ready", flush=True)
while answer == "deaf":
    signal.pause()
while True:
    client = server.accept()[0]
    if answer == "full":    # no slot for a client
        client.close()
        continue
    request = client.recv(4096)
    with open(log, "ab") as file:
        file.write(request)
    client.send(b"ok\n" if request.startswith((b"set", b"try")) else answer.encode().decode("unicode_escape").encode())
    client.close()
END
# fake ANSWER: runs such a switch with the name "fake"; its pid is $fake
fake()
{
	rm -f /run/canary/switch-fake.sock "$TAP_TMP/request"
	bg /usr/bin/python3 "$TAP_TMP/fake.py" "$1" "$TAP_TMP/request" >"$TAP_TMP/fake"
	fake=$!
	wait_for 5 grep -q ready "$TAP_TMP/fake" || tap_not_ok "a fake that is $1"
}

# doubt WHAT: it is the only switch that could be in namespace h, and is not set
doubt()
{
	rc=0
	out=$(ns_exec h timeout 30 "$CANARY" switch set --spread 6 2>&1) || rc=$?
	said "not set: $1" 1 "do not say whether they are in this network namespace, which switch? --name NAME, or --all of this machine: fake"
	tap_is "nor asked to" "$(grep -aE 'set|try' "$TAP_TMP/request" 2>&1 | grep -v 'No such')" ""
}

for answer in 'unknown request\n' '0\n' '' 4 'full'; do
	fake "$answer"
	doubt "one that says '$answer'"
	[ "$answer" != '0\n' ] || {
		rc=0
		out=$(ns_exec h "$CANARY" switch show 2>&1) || rc=$?
		said "shown: one in doubt, and no other" 0 0
		tap_is "shown: nothing more" "$out" 0
		tap_check "set: by its name" ns_exec h "$CANARY" switch set --name fake --spread 6
		tap_is "it is asked to" "$(tail -n 3 "$TAP_TMP/request" | tr '\n' ' ')" "set spread 6  "
	}
	bg_stop "$fake"
done
fake deaf
doubt "one whose queue is full"
bg_stop "$fake"
rm /run/canary/switch-fake.sock
rc=0
# shellcheck disable=SC2016 # the inner shell's
out=$(ns_exec b unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$CANARY" switch set --spread 3 2>&1) || rc=$?
said "not set: without /proc" 1 "without /proc nobody knows whether they are in this network namespace, which switch? --name NAME, or --all of this machine: a b"
tap_is "each is as it was" "$(state a | jq '.[2]') $(state b | jq '.[2]')" "6 6"
kill -KILL "${PID[b]}"
wait "${PID[b]}" 2>/dev/null
tap_check "a killed one does not count" set_here --spread 7
tap_is "nor does it hinder" "$(state a | jq '.[2]')" 7
bg_stop "${PID[a]}"
tap_is "none runs" "$("$CANARY" switch set --spread 2 2>&1)" "canary switch set: no switch is running on this machine"
tap_done
