# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The network of the goodput measurements: hosts around one switch, each link shaped at both ends.
#	h0 .. hN --- sw (lo 10.9.0.1)
# The caller sets what hosts.sh asks for, and sources lib.sh. The operations always run as trees.

# shellcheck source=hosts.sh
. "$(dirname "${BASH_SOURCE[0]}")/hosts.sh"

PORTS=
OPTIONS=()	# of the switch

star_topology()
{
	local i

	ns_add sw
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for ((i = 0; i < HOSTS; i++)); do
		host_link "$i" sw
		PORTS=${PORTS:+$PORTS,}s$i
	done
}

star_switch()
{
	host_switch sw "$PORTS" "${OPTIONS[@]}"
}

star_switch_stop()
{
	"$CANARY" switch show -j --name "$(ns_name sw)" >"$TAP_TMP/switch.json"
	bg_stop "$SWITCH" || :
	[ -z "${VERBOSE:-}" ] || jq -c '.counters, .drops | with_entries(select(.value != 0))' \
		"$TAP_TMP/switch.json" >&2
}

# star_measure NAME: as host_measure
star_measure()
{
	host_measure "$1" tree -w 0 ${WINDOW:+--window "$WINDOW"}
}
