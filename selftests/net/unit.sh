#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The systemd unit of the package canary-switch: its command line works with the privileges that it
# leaves, and with one less it does not.

# shellcheck source=switch_lib.sh
. "$(dirname "$0")/switch_lib.sh"

UNIT=${UNIT:-$TAP_TOP/tools/packages/debian/canary-switch.service}

begin net/unit
[ -e "$UNIT" ] || tap_skip_all "needs $UNIT"
CONF=$TAP_TMP/switch.conf
RULES=$TAP_TMP/switch.rules

# value KEY: prints what the unit has for it
value()
{
	sed -n "s/^$1=//p" "$UNIT"
}

# as_unit CAPABILITIES: runs the command line of the unit, with other paths, in namespace sw. All
# other capabilities are gone for good, as with CapabilityBoundingSet=.
as_unit()
{
	local sets line

	sets=$(tr ' ' '\n' <<<"$1" | sed -n 's/^CAP_/,+/p' | tr -d '\n' | tr '[:upper:]' '[:lower:]')
	read -ra line <<<"$(value ExecStart | sed -e "s|/usr/sbin/canary|$CANARY|" -e "s|/etc/canary/switch.conf|$CONF|")"
	exec nsenter --net="/run/netns/$NAME" -- setpriv --no-new-privs --inh-caps=-all \
		--bounding-set="-all$sets" -- "${line[@]}"
}

# bits HEX: prints how many bits of the number are set
bits()
{
	local n=$((16#$1)) count=0

	for (( ; n; n >>= 1)); do
		count=$((count + (n & 1)))
	done
	echo $count
}

CAPABILITIES=$(value CapabilityBoundingSet)
printf 'name %s\nports %s\naddress %s\ntimeout 1s\nroot-waits 0\nrules %s\n' "$NAME" $PORTS $ADDRESS "$RULES" >"$CONF"
echo any:any >"$RULES"
tap_is "the unit reads the file of the package" "$(value ExecStart)" \
	"/usr/sbin/canary switch run --config /etc/canary/switch.conf"
tap_is "it has no ambient capabilities, which would last" "$(value AmbientCapabilities)" ""
# every capability of the unit is needed
for one in $CAPABILITIES; do
	rc=0
	out=$(timeout 60 bash -c "$(declare -f value as_unit); UNIT=$UNIT CANARY=$CANARY CONF=$CONF NAME=$NAME; as_unit '${CAPABILITIES/$one/}'" 2>&1) || rc=$?
	tap_is "without $one it does not start, and says so" "$rc $(grep -c "missing privilege $one: " <<<"$out")" "1 1"
done
bg as_unit "$CAPABILITIES" >"$OUT" 2>"$ERR"
SW=$!
tap_check "with all of them it starts" wait_for 20 grep -q "^canary switch $NAME ready: " "$OUT"
tap_is "it has as many privileges as the unit names" \
	"$(bits "$(sed -n 's/^CapEff:\t//p' "/proc/$SW/status")")" "$(wc -w <<<"$CAPABILITIES")"
tap_is "nothing was denied" "$(grep -ciE 'not permitted|denied' "$ERR")" 0
resolve_all
traffic h1 h2 h3 h4
traffic_is "it adds up" "$MERGED"
tap_is "queues are seen" "$(show .backlog_seen)" true
tap_check "rules are set and saved" "$CANARY" switch set --name "$NAME" --admit nobody --save
tap_is "in the file" "$(grep -vc '^#' "$RULES")" 0
echo any:any >"$RULES"
kill -HUP "$SW"
tap_check "SIGHUP reads them again" wait_for 10 shows '.admission.rules == ["any:0.0.0.0/0"]'
stop
tap_is "SIGTERM: exit status" $? 0
tap_is "nothing left" "$(attached)" "0 0 0"
tap_done
