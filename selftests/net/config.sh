#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A switch that takes its settings from a file, its rules from another one, and tells a manager what
# it does: --config, --rules, set --save, SIGHUP, NOTIFY_SOCKET. A file that is missing admits
# nobody.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

begin net/config
CONF=$TAP_TMP/switch.conf
RULES=$TAP_TMP/switch.rules

# state: prints what a file can change while the switch runs
state()
{
	show '[.choice, .spread, .flowlet_us, .timeout_min_us, .fan_in.mode, .fan_in.told,
		.admission.on, (.admission.rules | sort)] | tojson'
}

# refused WHAT MESSAGES ARGUMENTS...: a switch does not start, says just these lines, and exits with
# the status of wrong usage
refused()
{
	local what=$1 messages=$2 out rc=0

	shift 2
	out=$(timeout 60 nsenter --net="/run/netns/$NAME" -- "$CANARY" switch run --name "$NAME" "$@" 2>&1) || rc=$?
	tap_is "refused: $what" "$rc ${out//canary switch run: /}" "2 $messages"
}

# said COUNT TEXT: the daemon has said that so often
said()
{
	[ "$(grep -cF -- "$2" "$ERR")" -ge "$1" ]
}

# hangup TEXT: sends SIGHUP, and waits until the daemon has said TEXT once more
hangup()
{
	local before

	before=$(grep -cF -- "$1" "$ERR")
	kill -HUP "$SW"
	wait_for 10 said $((before + 1)) "$1" || tap_not_ok "SIGHUP: $1" "$(cat "$ERR")"
}

test_mistakes()
{
	cat >"$CONF" <<-'END'
	# all of these are wrong but the first
	spread 4	# a comment
	colour red
	timeout 5
	verbose on
	choice

	  admit 9,1:any
	config /dev/null
	END
	refused "each wrong line is named" "$CONF:3: there is no setting 'colour'
$CONF:4: timeout: '5' is no duration: a number and ns, us, ms or s (10us to 1s)
$CONF:5: verbose: takes no value
$CONF:6: choice: to what?
$CONF:8: admit: '9' is neither everybody, nobody nor COMM[-COMM]:PREFIX[/LEN][%PORT]
$CONF:9: config: only an option, not in a file" --ports s1 --config "$CONF"
	tap_is "nothing is attached" "$(attached)" "0 0 0"
	for _ in {1..100}; do echo wrong; done >"$CONF"
	refused "not all of a hundred" "$(seq -f "$CONF:%.0f: there is no setting 'wrong'" 10)
$CONF: 90 more mistakes" --ports s1 --config "$CONF"
	printf 'ports s1\nspread 4\0\n' >"$CONF"
	refused "no text" "$CONF:2: a NUL character" --config "$CONF"
	refused "a folder" "$TAP_TMP: Is a directory" --config "$TAP_TMP"
	mkfifo "$TAP_TMP/fifo"
	refused "a FIFO" "$TAP_TMP/fifo: is no regular file" --config "$TAP_TMP/fifo"
	echo "ports s1" >"$TAP_TMP/others"
	chmod go+w "$TAP_TMP/others"
	refused "a file that others may write to" "$TAP_TMP/others: others may write to it: chmod go-w" \
		--config "$TAP_TMP/others"
	chmod go-w "$TAP_TMP/others"
	chown 65534 "$TAP_TMP/others"
	refused "a file of another user" "$TAP_TMP/others: belongs to another user" --config "$TAP_TMP/others"
	printf 'lifetime 10ms\ntimeout 1s' >"$CONF"
	refused "what does not go together" "--timeout: --lifetime must be at least (2 + root waits) timeouts" \
		--ports s1 --config "$CONF"
	echo "spread 4" >"$CONF"
	refused "no ports anywhere" "--ports: which devices belong to the switch?" --config "$CONF"
	refused "two files" "--config: /x: there is a file already, $CONF" --config "$CONF" --config /x
	echo 9 >"$RULES"
	refused "a rule that is none" "$RULES:1: admit: '9' is neither everybody, nobody nor COMM[-COMM]:PREFIX[/LEN][%PORT]" \
		--ports s1 --rules "$RULES"
	refused "rules in two places" "--rules: not together with --admit, as --save writes all rules there" \
		--ports s1 --rules "$RULES" --admit 1:any
}

test_file()
{
	printf 'ports s1,s2\nports s3,s4,s5:shaped\naddress %s\nslots 64\nlifetime 2s\nchoice two\r\nspread\t2\nflowlet 1ms\n' $ADDRESS >"$CONF"
	printf 'timeout 1ms..20ms\nfan-in off,10.0.0.1=3\nadmit 1-9:10.0.1.2%%s1\nadmit 7:any\n' >>"$CONF"
	start --config "$CONF" --spread 3
	tap_is "settings of a file, and options behind it" "$(state)" \
		'["two",3,1000,1000,"off",1,true,["1-9:10.0.1.2/32%s1","7:0.0.0.0/0"]]'
	tap_is "its ports" "$(attached | cut -d' ' -f1) $(grep -o "ports .*timeout" "$OUT")" \
		"5 ports s1:fast,s2:fast,s3:fast,s4:fast,s5:shaped timeout"
	printf 'ports s1,s2\nports s3,s4,s5:shaped\naddress %s\nslots 128\nchoice block\nlifetime 9s\n' $ADDRESS >"$CONF"
	echo "admit 5:any" >>"$CONF"
	hangup "settings are those of the files"
	tap_is "SIGHUP: what can change has" "$(state)" \
		'["block",3,5000,'"$(show .timeout_min_us)"',"learn",0,true,["5:0.0.0.0/0"]]'
	tap_check "what cannot is named" grep -q "only a new start changes: lifetime slots$" "$ERR"
	tap_is "and stays" "$(show .slots)" 64
	tap_check "a setting is changed by hand" "$CANARY" switch set --name "$NAME" --spread 9
	hangup "settings are those of the files"
	tap_is "SIGHUP: it is that of the files again" "$(show .spread)" 3
}

test_trouble()
{
	local before

	before=$(state)
	echo "chioce two" >>"$CONF"
	hangup "settings are as before"
	tap_is "a wrong line: nothing has changed" "$(state)" "$before"
	tap_check "it is named" grep -q "error: $CONF:8: there is no setting 'chioce'" "$ERR"
	# it would do with the lifetime of the file, which the switch does not have
	sed -i '$d' "$CONF"
	printf 'spread 7\ntimeout 1s\nroot-waits 5\n' >>"$CONF"
	hangup "settings are as before"
	tap_is "not with what stays: nothing has changed" "$(state)" "$before"
	printf 'ports s1,s2,s3,s4,s5,s6\naddress %s\nspread 7\nadmit 5:any%%s6\n' $ADDRESS >"$CONF"
	hangup "settings are as before"
	tap_is "a rule of a port that there is not yet: nothing has changed" "$(state)" "$before"
	rm "$CONF"
	hangup "$CONF is missing: nobody is admitted"
	hangup "settings are those of the files"
	tap_is "the file is missing: nobody is admitted, the rest stays" "$(state)" \
		"$(jq -c '.[-1] = []' <<<"$before")"
	stop
}

test_missing()
{
	start --config "$CONF" --ports $PORTS --timeout 1s --root-waits 0
	resolve_all
	tap_check "a file that is missing is named" grep -q "warning: $CONF is missing: nobody is admitted" "$ERR"
	traffic h1 h2 h3 h4
	traffic_is "and nobody is admitted: contributions arrive one by one" "$FORWARDED"
	tap_is "all have bypassed" "$(show '.counters | .new == 0 and .["bypass-admission"] > 0')" true
	echo "ports s1,s2,s3,s4,s5" >"$CONF"
	hangup "settings are as before"
	tap_check "ports of both: twice" grep -q "error: --ports: s1 is named twice" "$ERR"
	echo "admit everybody" >"$CONF"
	hangup "settings are those of the files"
	traffic h1 h2 h3 h4
	traffic_is "there it is: everybody is" "$MERGED"
	tap_refuse "no file of rules: they cannot be saved" "$CANARY" switch set --name "$NAME" --spread 2 --save
	tap_is "nor was anything set" "$(show .spread)" 1
	stop
}

test_rules()
{
	rm -f "$RULES"
	start --rules "$RULES" --ports $PORTS
	tap_check "rules that are missing are named" grep -q "warning: $RULES is missing: nobody is admitted" "$ERR"
	tap_is "nobody is admitted" "$(show '.admission | tojson')" \
		'{"on":true,"entries":0,"rules":[],"shares":[]}'
	tap_check "rules are set" "$CANARY" switch set --name "$NAME" --admit 1-9:10.0.0.0/8%s1,7:any
	tap_refuse "but not saved" test -e "$RULES"
	tap_check "rules are set and saved" "$CANARY" switch set --name "$NAME" --admit 8:any --revoke 7:any --save
	tap_is "the file has them" "$(grep -v '^#' "$RULES" | sort)" "1-9:10.0.0.0/8%s1
8:0.0.0.0/0"
	tap_check "one is set, not saved" "$CANARY" switch set --name "$NAME" --admit 11:any
	hangup "settings are those of the files"
	tap_is "SIGHUP: those of the file" "$(show '.admission.rules | sort | tojson')" '["1-9:10.0.0.0/8%s1","8:0.0.0.0/0"]'
	stop
	start --rules "$RULES" --ports $PORTS
	tap_is "a new start: those of the file" "$(show '.admission.rules | sort | tojson')" '["1-9:10.0.0.0/8%s1","8:0.0.0.0/0"]'
	mkdir "$RULES.new"
	tap_refuse "it cannot be written" "$CANARY" switch set --name "$NAME" --admit 12:any --save
	rmdir "$RULES.new"
	tap_is "then it is as it was" "$(grep -cv '^#' "$RULES")" 2
	tap_is "but the rule is set" "$(show '.admission.rules | length')" 3
	echo kept >"$TAP_TMP/other"
	ln -s other "$RULES.new"
	tap_check "a symbolic link is in the way" timeout 20 "$CANARY" switch set --name "$NAME" --save
	tap_is "what it names is not written to" "$(cat "$TAP_TMP/other") $(stat -c %F "$RULES")" "kept regular file"
	: >"$RULES.new"
	chown 65534 "$RULES.new"
	tap_check "a file of somebody else is" timeout 20 "$CANARY" switch set --name "$NAME" --save
	tap_is "the rules do not become theirs" "$(stat -c %u "$RULES")" 0
	mkfifo "$RULES.new"
	tap_check "a FIFO is, which nobody reads" timeout 20 "$CANARY" switch set --name "$NAME" --save
	tap_check "everybody" "$CANARY" switch set --name "$NAME" --admit everybody --save
	hangup "settings are those of the files"
	tap_is "is kept, too" "$(show .admission.on) $(grep -v '^#' "$RULES")" "false everybody"
	tap_check "saved without a change" "$CANARY" switch set --name "$NAME" --save
	: >"$RULES"
	hangup "settings are those of the files"
	tap_is "an empty file: nobody" "$(show '.admission | "\(.on) \(.rules | length)"')" "true 0"
	stop
}

# A manager: prints each datagram in one line, and what is attached when it comes
MANAGER='
import json, os, socket, subprocess, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.bind(sys.argv[1].replace("@", "\0", 1))
print("listening", flush=True)
while True:
    text = sock.recv(4096).decode()
    links = json.loads(subprocess.check_output(["nsenter", "--net=" + sys.argv[2], "--", "ip", "-j", "-d", "link"]))
    print(text.replace("\n", " "), "with", sum("xdp" in link for link in links), flush=True)
'

# told TEXT: the manager was told that
told()
{
	grep -q -- "$1" "$TAP_TMP/manager"
}

# managed SOCKET: starts a manager, then a switch
managed()
{
	# an abstract name belongs to a network namespace
	bg ns_exec sw /usr/bin/python3 -c "$MANAGER" "$1" "/run/netns/$NAME" >"$TAP_TMP/manager"
	MANAGER_PID=$!
	tap_check "a manager listens at $1" wait_for 5 told listening
	NOTIFY_SOCKET=$1 WATCHDOG_USEC=30000000 start --config "$CONF"
}

test_manager()
{
	printf 'ports %s\naddress %s\n' $PORTS $ADDRESS >"$CONF"
	managed "$TAP_TMP/notify"
	tap_check "it hears READY=1 when all ports are attached" wait_for 5 told "^READY=1 .* with 5$"
	tap_check "it hears from the main loop" wait_for 20 told "^WATCHDOG=1 with 5$"
	hangup "settings are those of the files"
	tap_check "SIGHUP: it hears RELOADING=1" wait_for 5 told "^RELOADING=1 MONOTONIC_USEC=[1-9]"
	tap_check "and READY=1 when that is done" wait_for 5 grep -Pzq 'RELOADING.*\n(WATCHDOG.*\n)*READY=1 with' "$TAP_TMP/manager"
	echo wrong >>"$CONF"
	hangup "settings are as before"
	tap_check "also after a mistake" wait_for 5 grep -Pzq '(RELOADING.*\n(WATCHDOG.*\n)*READY=1 with.*\n(WATCHDOG.*\n)*){2}' "$TAP_TMP/manager"
	stop
	tap_check "SIGTERM: it hears STOPPING=1" wait_for 5 told "^STOPPING=1"
	bg_stop "$MANAGER_PID"
	sed -i '$d' "$CONF"
	WATCHDOG_PID=1 managed "@$NAME"
	tap_check "an abstract name does, too" wait_for 5 told "^READY=1 .* with 5$"
	sleep 6
	tap_refuse "a watchdog for another process hears nothing" told "^WATCHDOG=1"
	bg_stop "$MANAGER_PID"
	hangup "settings are those of the files"
	hangup "settings are those of the files"
	tap_is "a manager that is gone does not matter" "$(show .name)" "$NAME"
	tap_is "and the log says so once" "$(grep -c "warning: NOTIFY_SOCKET: " "$ERR")" 1
	stop
}

test_mistakes
test_file
test_trouble
test_missing
test_rules
test_manager
tap_done
