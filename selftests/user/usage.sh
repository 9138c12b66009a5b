#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the tool refuses: wrong arguments, keys that are not kept secret. It says what is wrong, ends
# with status 2, and writes nothing.

. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}

tap_start user/usage
[ -x "$CANARY" ] || tap_skip_all "no $CANARY"
tmp_dir
cd "$TAP_TMP" || exit 1

# usage TEXT ARGUMENTS...: is refused with status 2 and a message that has TEXT; writes nothing else
usage()
{
	local text=$1 rc=0 before

	shift
	: > out
	: > err
	before=$(ls -A)
	"$CANARY" "$@" < /dev/null > out 2> err || rc=$?
	if [ "$rc" -eq 2 ] && grep -qF -- "$text" err && [ ! -s out ] && [ "$(ls -A)" = "$before" ]; then
		tap_ok "usage: canary $*: $(head -n 1 err)"
	else
		tap_not_ok "usage: canary $*" "status $rc: $(head -n 3 err out)"
	fi
}

a=(allreduce --comm 1 --rank 0 --members 2 --root 10.77.0.2)

usage "--comm and --rank are needed" allreduce
usage "--members" allreduce --comm 1 --rank 0
usage "--root is needed" allreduce --comm 1 --rank 0 --members 2
usage "0 to 1" allreduce --comm 1 --rank 2 --members 2 --root 10.77.0.2
usage "1 to 65535" allreduce --comm 1 --rank 0 --members 65536
usage "0 to 4294967295" allreduce --comm 4294967296
usage "22600 to 22663" allreduce --root 10.77.0.2:80
usage "IPv4" allreduce --root myhost
usage "32 hexadecimal" allreduce --key abc
usage "auto, kernel, user" allreduce --engine fast
usage "power of two" allreduce --window 3
usage "0ms to 3600s" allreduce --timeout 30
usage "max-vector: 1G is not a multiple of 4 from 4 to 268435456" allreduce --max-vector 1G
usage "max-vector: 5G is not a multiple of 4 from 4 to 268435456" allreduce --max-vector 5G
usage "max-vector: 0 is not a multiple of 4 from 4 to 268435456" allreduce --max-vector 0
usage "max-vector: 'x' is not" allreduce --max-vector x
usage "max-vector: 10 is not a multiple of 4" allreduce --max-vector 10
usage "type: 'real' is none of int32, uint32, int8" allreduce --type real
usage "type: 'all' is none of" "${a[@]}" -d all
usage "operator: 'mean' is none of sum, prod, min, max" "${a[@]}" --op mean
usage "requires an argument" allreduce --op
usage "not wanted" "${a[@]}" extra
usage "unrecognized option" "${a[@]}" --colour
usage "requires an argument" allreduce --comm
usage "No such file" allreduce --comm 1 --rank 0 --members-file /nowhere
usage "No such file" allreduce --key-file /nowhere
usage "epoch: has to be a number from 1 to" allreduce --epoch x
usage "epoch: has to be a number from 1 to" allreduce --epoch 0
usage "epoch: has to be a number from 1 to" perf allreduce --epoch 0
usage "salt: has to be 32 hexadecimal digits" allreduce --salt 12
usage "--epoch wants --members-file" allreduce --comm 1 --rank 0 --members 2 --root 10.0.0.1 --epoch 1
usage "canary allreduce: unrecognized option '--colour'" allreduce --colour
usage "which collective? allreduce" perf
usage "'broadcast' is not a collective" perf broadcast
usage "canary perf allreduce: unrecognized option '--colour'" perf "${a[@]}" --colour
usage "requires an argument -- 'b'" perf allreduce -b
usage "'x' is not wanted" perf allreduce x
usage "more than maxbytes" perf allreduce -b 8 -e 4
usage "no factor leads from 0" perf "${a[@]}" -b 0
usage "'some' is not a number, K, M or G" perf allreduce -b some
usage "'5T' is not a number" perf allreduce -e 5T
usage "'4G' is out of range, 0 to 4294967292" perf allreduce -e 4G
usage "'-1' is not a number" perf allreduce -e -1
usage "2 to 1024" perf allreduce -f 1
usage "4 to 4294967292" perf allreduce -i 3
usage "stepfactor, stepbytes: only one of them" perf "${a[@]}" -f 2 -i 4
usage "1 to 1000000" perf allreduce -n 0
usage "'1K' is not a number" perf allreduce -n 1K
usage "0 to 1000000" perf allreduce -w 1000001
usage "0 to 1000" perf allreduce -c 1001
usage "1 to 32" perf allreduce -m 33
usage "datatype: 'real' is none of int32, uint32, int8" perf allreduce -d real
usage "complex128, or all" perf allreduce --datatype ""
usage "operator: 'SUM' is none of sum, prod" perf allreduce -o SUM
usage "maxloc, or all" perf allreduce --op mean
usage "requires an argument -- 'o'" perf allreduce -o
usage "--comm and --rank are needed" perf allreduce -b 4
usage "--comm is needed" perf allreduce --rank 0 --members 2
usage "--rank is needed" perf allreduce --comm 1 --members 2
usage "--members and --root" perf allreduce --comm 1 --rank 0
usage "--root is needed" perf allreduce --comm 1 --rank 1 --members 2
usage "0 to 1" perf allreduce --comm 1 --rank 2 --members 2 --root 10.77.0.2
usage "output_file: /nowhere/x: No such file" perf "${a[@]}" -J /nowhere/x
usage "usage:" comm
usage "usage:" comm list
usage "usage:" stats extra
usage "canary: unknown command 'nothing'" nothing
usage "canary: unknown command 'nothing'" help nothing
usage "canary comm: unrecognized option '--colour'" comm --colour
usage "canary comm rules: unrecognized option '--colour'" comm rules --colour
usage "canary comm allow: unrecognized option '--colour'" comm allow --colour
usage "canary comm revoke: which communicators?" comm revoke
usage "uid, gid: only one of them" comm allow 1 --uid 0 --gid 0
usage "canary stats: unrecognized option '--colour'" stats --colour
usage "canary switch: unknown verb '--colour'" switch --colour
usage "canary fault: unknown verb '--colour'" fault --colour
usage "canary fault: show: which device?" fault show

rc=0
"$CANARY" switch run "-$(printf 'S%.0s' {1..3000})" 2> err || rc=$?
tap_is "usage: thousands of letters in one argument" "$rc $(cat err)" \
	"2 canary switch run: --ports: which devices belong to the switch?"
# The help is long and would push the message off the screen.
for command in allreduce "perf allreduce" "switch run" "switch"; do
	# shellcheck disable=SC2086
	"$CANARY" $command --colour >out 2>err
	tap_check "$command --colour: at most 3 lines" test "$(wc -l <err)" -le 3
done
for command in allreduce perf switch comm stats fault; do
	tap_is "canary help $command" "$("$CANARY" help $command)" "$("$CANARY" $command --help)"
done
tap_is "fault add --help" "$("$CANARY" fault add --help 2>&1)" "$("$CANARY" fault --help)"

# Only root sees counters. For others there would seem to be no faults.
cp "$CANARY" tool
chmod 755 . tool
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups test -x "$PWD/tool"; then
	for verb in "add lo --drop 1%" "show lo -j" "del lo"; do
		# shellcheck disable=SC2086
		tap_is "fault ${verb%% *}, not root" \
			"$(setpriv --reuid 65534 --clear-groups ./tool fault $verb 2>&1)" \
			"canary fault: it needs root"
	done
fi

# Communicators formed from a table
key=00112233445566778899aabbccddeeff
printf '%s\n' "0 127.0.0.1:22601" "1 127.0.0.1:22602" > two
printf '%s\n' "0 127.0.0.1:22601" "1 127.0.0.1:22602" "2 127.0.0.1:22603" > three
mkfifo changing
table=(allreduce --comm 1 --rank 0 --epoch 5 --engine user --members-file)
usage "--salt wants --epoch" "${a[@]}" --salt "$key"
for then in two three; do
	now=two
	[ "$then" = three ] || now=three
	(cat "$now" > changing && sleep 1 && cat "$then" > changing) &
	usage "changing: has been changed meanwhile" "${table[@]}" changing
	wait
done
head -c 4 /dev/zero > four
begin=$SECONDS
timeout 50 "$CANARY" "${table[@]}" two --timeout 1s --dead-after 100ms --linger 0s \
	< four > out 2> err
tap_is "--timeout bounds how long others may come late" "$?" 1
tap_check "at once, not after 60 s: $((SECONDS - begin)) s" test "$((SECONDS - begin))" -lt 20
(umask 077 && echo "1 $key" > keys)
CANARY_KEYS=keys "$CANARY" "${table[@]}" two < four > out 2> err
tap_is "a key of the table of keys wants a salt" "$(head -c 40 err)" \
	"canary: table: a key needs a salt, drawn"
"$CANARY" "${table[@]}" two --key "$key" --salt 00000000000000000000000000000000 \
	< four > out 2> err
tap_is "so does a given one, and zeros are none" "$?:$(head -c 40 err)" \
	"1:canary: table: a key needs a salt, drawn"

printf '%s\n' "$key" > open-key
chmod 644 open-key
usage "others can read it" allreduce --key-file open-key
chmod 620 open-key
usage "group can write it" allreduce --key-file open-key
(umask 077 && echo "7-3 00112233445566778899aabbccddeeff" > bad-table)
tap_is "table of keys: a bad line" "$(CANARY_KEYS=bad-table "$CANARY" allreduce --comm 5 --rank 0 \
	--members 1 --root 127.0.0.1 --engine user --in /dev/null --out /dev/null 2>&1)" \
	"canary: bad-table:1: not of the form FIRST[-LAST] KEY, with a key of 32 hexadecimal digits"
printf '\001\200\003' > three-bytes
one=(allreduce --comm 5 --rank 0 --members 1 --root 127.0.0.1 --engine user --in three-bytes)
tap_is "three bytes are no vector of int16" "$("$CANARY" "${one[@]}" --type int16 2>&1)" \
	"canary: three-bytes: 3 bytes: has to be a multiple of 2, up to 4294967292"
tap_check "but one of int8" cmp three-bytes <("$CANARY" "${one[@]}" -d int8 --op min)
tap_is "what ran" "$("$CANARY" "${one[@]}" -d int8 --op min -j 2>&1 >out |
	jq -c '[.type, .redop, .elements]')" '["int8","min",3]'
tap_is "standard output is closed" "$("$CANARY" allreduce --comm 5 --rank 0 --members 1 \
	--root 127.0.0.1 --engine user <four 2>&1 >&-)" "canary: -: Bad file descriptor"
tap_done
