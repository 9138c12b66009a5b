#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rules of a network namespace, set by canary comm allow: who may be a member of which communicator,
# and keys that members use without knowing them. It runs where the module is loaded: in the guest.

. "$(dirname "$0")/../lib.sh"

CANARY=$TAP_TOP/build/bin/canary
ALICE=12345
BOB=12346
STAFF=4321
KEY=000102030405060708090a0b0c0d0e0f
OTHER_KEY=ff0102030405060708090a0b0c0d0e0f

# alone HOST USER COMM [OPTION...]: USER is the only member of COMM on HOST
alone()
{
	local host=$1 user=$2 comm=$3

	shift 3
	ns_exec "$host" setpriv --reuid "$user" --regid "$user" --clear-groups \
		"$CANARY" allreduce --engine kernel --comm "$comm" --rank 0 --members 1 \
		--root 127.0.0.1 --linger 0s --in "$TAP_TMP/in" --out - "$@" \
		>"$TAP_TMP/out" 2>"$TAP_TMP/err"
}

# refused WHAT TEXT HOST USER COMM [OPTION...]: `alone` fails and its message has TEXT
refused()
{
	local what=$1 text=$2

	shift 2
	if alone "$@"; then
		tap_not_ok "$what: was let in"
	elif grep -q "$text" "$TAP_TMP/err"; then
		tap_ok "$what"
	else
		tap_diag <"$TAP_TMP/err"
		tap_not_ok "$what: says something else"
	fi
}

# hold HOST USER: prints what bind() returns for a socket of USER that belongs to no communicator
# yet
hold()
{
	ns_exec "$1" setpriv --reuid "$2" --regid "$2" --clear-groups /usr/bin/python3 -c '
import ctypes, errno, socket, struct
with open("/sys/module/canary/parameters/family") as file:
	family = int(file.read())
face = socket.socket(family, socket.SOCK_SEQPACKET)
libc = ctypes.CDLL(None, use_errno=True)
address = struct.pack("=HHI16xI", family, socket.htons(22610), 0, 0)
failed = libc.bind(face.fileno(), address, len(address))
print(errno.errorcode[ctypes.get_errno()] if failed else "good")'
}

comm()
{
	local host=$1

	shift
	ns_exec "$host" "$CANARY" comm "$@"
}

# pair ENGINE TIMEOUT: rank 0 at a, by the kernel, and rank 1 at b, by ENGINE, get the right sum
pair()
{
	local one two

	ns_exec a "$CANARY" allreduce --comm 500 --rank 0 --members 2 --root 10.9.0.1 \
		--engine kernel --linger 0s --timeout "$2" --in "$TAP_TMP/in" \
		--out "$TAP_TMP/out0" 2>"$TAP_TMP/err0" &
	one=$!
	ns_exec b env CANARY_KEYS="$TAP_TMP/table" "$CANARY" allreduce --comm 500 --rank 1 \
		--members 2 --root 10.9.0.1 --engine "$1" --timeout "$2" --in "$TAP_TMP/in" \
		--out "$TAP_TMP/out1" 2>"$TAP_TMP/err1" &
	two=$!
	wait "$one"
	one=$?
	wait "$two" && [ "$one" -eq 0 ] && cmp -s "$TAP_TMP/out0" "$TAP_TMP/sum" &&
		cmp -s "$TAP_TMP/out1" "$TAP_TMP/sum"
}

tap_start kmod/rules
[ -r /proc/net/canary ] || tap_skip_all "module canary is not loaded"
ns_add a b
ns_link a eth0 10.9.0.1/24 b eth0 10.9.0.2/24
tmp_dir
umask 022
chmod 755 "$TAP_TMP"
# 1, 2, 3 and their doubles, as int32
printf '\1\0\0\0\2\0\0\0\3\0\0\0' >"$TAP_TMP/in"
printf '\2\0\0\0\4\0\0\0\6\0\0\0' >"$TAP_TMP/sum"
: >"$TAP_TMP/table"
chmod 600 "$TAP_TMP/table"
(umask 077 && echo $KEY >"$TAP_TMP/key")
echo $KEY >"$TAP_TMP/open-key"

tap_check "without rules: anybody, any communicator" alone a $ALICE 150
tap_is "without rules: any port" "$(hold a $BOB)" good
tap_check "allow: root" comm a allow 100-199 --uid $ALICE
tap_check "the user of the rule is let in" alone a $ALICE 150
tap_check "the first of its communicators" alone a $ALICE 100
tap_check "the last of them" alone a $ALICE 199
refused "not the one before" "no rule" a $ALICE 99
refused "not the one behind" "no rule" a $ALICE 200
refused "not another user" "no rule" a $BOB 150
refused "not root either" "no rule" a 0 150
tap_check "not in another namespace" alone b $BOB 150
tap_is "who may be a member of something may hold a port" "$(hold a $ALICE)" good
tap_is "who may not be a member of anything may not" "$(hold a $BOB)" EACCES
tap_is "where there are no rules anybody may" "$(hold b $BOB)" good
tap_is "who was not let in is counted" "$(ns_exec a sed -n 's/^rules-refused //p' /proc/net/canary_stats)" 5

as_alice()
{
	ns_exec a setpriv --reuid "$ALICE" --regid "$ALICE" --clear-groups "$CANARY" comm "$@" 2>&1
}

tap_is "allow needs CAP_NET_ADMIN" "$(as_alice allow 1)" "canary: allow: Operation not permitted"
tap_is "so does revoke" "$(as_alice revoke 100-199 --uid $ALICE)" \
	"canary: revoke: Operation not permitted"
tap_check "everybody may read them" as_alice rules

tap_check "allow: group" comm a allow 300 --gid $STAFF
as_staff()
{
	ns_exec a setpriv --reuid "$BOB" --regid "$BOB" --groups "$STAFF" "$CANARY" allreduce \
		--engine kernel --comm 300 --rank 0 --members 1 --root 127.0.0.1 --linger 0s \
		--in "$TAP_TMP/in" --out /dev/null
}
tap_check "a supplementary group counts" as_staff
refused "who is not in the group is not let in" "no rule" a $BOB 300

tap_is "allow: range the wrong way round" "$(comm a allow 9-3 2>&1)" \
	"canary: communicators: '9-3' is no number or range FIRST-LAST, 0 to 4294967295"
tap_refuse "allow: a key that others can read" comm a allow 500 --key-file "$TAP_TMP/open-key"
tap_check "allow: with a key" comm a allow 500-501 --key-file "$TAP_TMP/key"
tap_check "the same at the other host" comm b allow 500-501 --key-file "$TAP_TMP/key"
tap_is "rules, as JSON" "$(comm a rules -j | jq -c '[.[] | [.first, .last, .uid, .gid, .key]]')" \
	"[[100,199,$ALICE,null,false],[300,300,null,$STAFF,false],[500,501,null,null,true]]"
tap_check "allow: aggregates" comm a allow 600 --aggregates 10.255.0.0/16,10.254.0.1
tap_is "aggregates, as JSON" "$(comm a rules -j | jq -c '[.[].aggregates]')" \
	'[[],[],[],["10.255.0.0/16","10.254.0.1/32"]]'
tap_is "allow: what is no prefix" "$(comm a allow 601 --aggregates 10.255.0.1/16 2>&1)" \
	"canary: aggregates: '10.255.0.1/16': there are ones behind the prefix"
tap_check "revoke: aggregates" comm a revoke 600
tap_check "members use a key that they do not know" pair kernel 120s
echo "500 $KEY" >"$TAP_TMP/table"
tap_check "the user engine has it from its table" pair user 120s
: >"$TAP_TMP/table"
tap_refuse "who does not have it is not let in" pair user 3s
refused "members cannot set another key" "administrator has set" a $BOB 501 --key $OTHER_KEY
tap_check "but the same" alone a $BOB 501 --key $KEY

tap_is "revoke: no such rule" "$(comm a revoke 100-198 --uid $ALICE 2>&1)" \
	"canary: revoke: no rule has this range and user"
tap_refuse "stats: packets that were taken are no drops" grep drop-none \
	<(ns_exec a "$CANARY" stats -z)
tap_check "revoke" comm a revoke 100-199 --uid $ALICE
refused "a rule that is gone lets nobody in" "no rule" a $ALICE 150
tap_check "revoke: group" comm a revoke 300 --gid $STAFF
tap_check "revoke: anybody" comm a revoke 500-501
tap_check "without rules again: anybody" alone a $BOB 150

own_namespace()
{
	setpriv --reuid "$ALICE" --regid "$ALICE" --clear-groups unshare -Urn sh -c \
		"'$CANARY' comm allow 7 --uid 0 && '$CANARY' comm rules -j" | grep -q '"uid":0'
}
if setpriv --reuid "$ALICE" --regid "$ALICE" --clear-groups unshare -Urn true 2>/dev/null; then
	tap_check "who owns a namespace sets its rules" own_namespace
else
	tap_skip "who owns a namespace sets its rules" "users may not make namespaces here"
fi
tap_done
