#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The systemd unit of canary-switch under systemd: ready, saved rules, reload, watchdog, a wrong
# configuration, stop. It runs in the guest, as it starts a systemd there:
#	selftests/vm/run.sh -- selftests/packages/unit_guest.sh
#	h1, h2: namespaces with the other ends of the ports

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CANARY=${CANARY:-$TAP_TOP/build/bin/canary}
DEBIAN=$TAP_TOP/tools/packages/debian
UNITS=/run/systemd/system

tap_start packages/unit
need_root
need_program ip jq /lib/systemd/systemd "$CANARY"
[ ! -e "$UNITS" ] || tap_skip_all "a systemd runs here already: only in the guest"
tmp_dir
STEPS=$TAP_TMP/steps

# What systemd runs beside the switch. It prints "NAME: VALUE" for each step.
cat >"$TAP_TMP/steps.sh" <<'END'
say()
{
	echo "$1: $(shift; "$@" 2>&1 | xargs)"
}
of()
{
	systemctl show canary-switch --value -p "$1"
}
answers()
{
	canary switch show -j | jq -c "$1"
}
reloaded()
{
	systemctl reload canary-switch
	for _ in {1..600}; do
		[ "$(answers "$1")" != "$2" ] || break
		sleep 0.1
	done
	answers "$1"
}
say state of ActiveState
say status of StatusText
say privileges sed -n 's/^CapPrm:\t//p' "/proc/$(of MainPID)/status"
say queues answers .backlog_seen
say admitted answers .admission.rules
say saved canary switch set --admit any:any --save
say file grep -v '^#' /var/lib/canary/switch.rules
echo "spread 7" >>/etc/canary/switch.conf
say reloaded reloaded .spread 7
first=$(of WatchdogTimestampMonotonic)
for _ in {1..600}; do
	[ "$(of WatchdogTimestampMonotonic)" = "$first" ] || break
	sleep 0.1
done
echo "watchdog-heard: $(("$(of WatchdogTimestampMonotonic)" > first))"
echo wrong >>/etc/canary/switch.conf
say wrong-restart sh -c 'systemctl restart canary-switch >/dev/null 2>&1; echo $?'
say wrong-result of ExecMainStatus
say wrong-restarts of NRestarts
sed -i '$d' /etc/canary/switch.conf
systemctl reset-failed canary-switch
say again sh -c 'systemctl start canary-switch; echo $?'
say again-admitted answers .admission.rules
systemctl stop canary-switch
say stopped of Result
say sockets sh -c 'ls /run/canary | grep sock'
systemctl exit 0
END

ns_add h1 h2
ip link set lo up
ip addr add 10.9.0.1/32 dev lo
for i in 1 2; do
	ip link add "s$i" type veth peer name eth0 netns "$(ns_name "h$i")"
	ip addr add "10.0.$i.1/24" dev "s$i"
	ip link set "s$i" up
	ns_ip "h$i" link set eth0 up
done
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
mkdir -p "$UNITS" /etc/canary
cp "$CANARY" /usr/sbin/canary
# the target starts nothing that the unit would wait for
sed -e '/^Wants=/d; /^After=/d' -e 's/^\[Unit\]/&\nDefaultDependencies=no/' "$DEBIAN/canary-switch.service" \
	>"$UNITS/canary-switch.service"
sed 's/^#ports .*/ports s1,s2/' "$DEBIAN/switch.conf" >/etc/canary/switch.conf
cat >"$UNITS/steps.service" <<END
[Unit]
DefaultDependencies=no
After=canary-switch.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/bash $TAP_TMP/steps.sh
StandardOutput=file:$STEPS
END
cat >"$UNITS/steps.target" <<END
[Unit]
DefaultDependencies=no
Wants=canary-switch.service steps.service
END
container=other timeout 900 unshare --fork --pid --mount-proc --kill-child /lib/systemd/systemd \
	--system --unit=steps.target --log-target=console --show-status=0 >"$TAP_TMP/log" 2>&1

# is NAME VALUE DESCRIPTION
is()
{
	tap_is "$3" "$(sed -n "s/^$1: //p" "$STEPS")" "$2"
}

is state active "systemd hears that the switch is ready"
is status "switch $(uname -n), 2 ports" "and what it is"
is privileges 000000c000001000 "it has CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON"
is queues true "it sees what waits in queues"
is admitted "[]" "nobody is admitted"
is saved "" "rules can be saved"
is file any:0.0.0.0/0 "in the file of the configuration"
is reloaded 7 "systemctl reload reads the configuration"
is watchdog-heard 1 "the watchdog hears from it"
is wrong-restart 1 "a wrong line: it does not start"
is wrong-result 2 "by the exit status of wrong usage"
is wrong-restarts 0 "and is not tried again and again"
is again 0 "without it, it starts"
is again-admitted "[any:0.0.0.0/0]" "with the rules that were saved"
is stopped success "systemctl stop ends it"
is sockets "" "and leaves no socket"
[ "$TAP_FAILED" -eq 0 ] || tap_diag <"$TAP_TMP/log"
tap_done
