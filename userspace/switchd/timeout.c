// SPDX-License-Identifier: BSD-2-Clause
/*
 * The timeout of a switch without a timeout setting. It adapts between what one packet and what
 * some packets take on its links. The rate of a link comes from queueing disciplines that shape, or
 * from the device. For a port with an unknown rate, a usual value is taken.
 */
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "internal.h"

#define FRAMES_MAX	40		/* frames that may wait before one that is not lost */
#define UNKNOWN_NS	1000000ULL	/* MIN for a port with an unknown rate */
#define LATE_NS		1000000ULL	/* least MAX: hosts may be that late on any link */
#define WORDS_MAX	127		/* of a link mode mask; there are three masks */

/* Bytes per second that the device claims; 0 if it does not, or invents them */
static uint64_t device_rate(const struct port *port)
{
	/* the masks follow the structure */
	char room[sizeof(struct ethtool_link_settings) + 3 * WORDS_MAX * sizeof(uint32_t)]
		__attribute__((aligned(8))) = { 0 };
	struct ethtool_link_settings *settings = (void *)room;
	struct ifreq ifr = { .ifr_data = room };
	int fd, ret;

	if (!strcmp(port->kind, "veth") || !strcmp(port->kind, "tun"))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	memcpy(ifr.ifr_name, port->option->name, sizeof(ifr.ifr_name));
	settings->cmd = ETHTOOL_GLINKSETTINGS;
	ret = ioctl(fd, SIOCETHTOOL, &ifr);
	/*
	 * First the device returns the length of its masks as a negative number. It has to be asked
	 * again with that length.
	 */
	if (!ret && settings->link_mode_masks_nwords < 0) {
		settings->cmd = ETHTOOL_GLINKSETTINGS;
		settings->link_mode_masks_nwords = -settings->link_mode_masks_nwords;
		ret = ioctl(fd, SIOCETHTOOL, &ifr);
	}
	close(fd);
	return ret || settings->speed == (uint32_t)SPEED_UNKNOWN ? 0 : settings->speed * 125000ULL;
}

void timeout_rates(struct switchd *sw, const struct qdisc *qdisc)
{
	uint64_t shaped, device;
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || qdisc_rate(sw, port, &qdisc[i], &shaped))
			continue;
		device = device_rate(port);
		port->rate = shaped && (shaped < device || !device) ? shaped : device;
	}
}

static uint64_t limit(uint64_t ns, uint64_t min, uint64_t max)
{
	return ns < min ? min : ns > max ? max : ns;
}

/*
 * Ports without carrier do not count: their rate is unknown, and nothing is sent there. If no port
 * has a carrier, the bounds stay as they are. At first they are those of an unknown rate.
 */
bool timeout_follow(struct switchd *sw)
{
	struct switchd_options *o = &sw->now;
	uint64_t frame, least = UINT64_MAX, most = 0, last;
	const struct port *port;
	unsigned int i;

	if (!o->timeout_auto)
		return false;
	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || !(port->flags & IFF_CARRIER))
			continue;
		frame = port->rate ? (port->mtu + ETH_HLEN) * 1000000000ULL / port->rate : UNKNOWN_NS;
		least = frame < least ? frame : least;
		most = FRAMES_MAX * frame > most ? FRAMES_MAX * frame : most;
	}
	if (least > most) {
		if (o->timeout_max)
			return false;
		least = UNKNOWN_NS;
		most = FRAMES_MAX * UNKNOWN_NS;
	}
	last = limit(o->lifetime_ns / (2 + o->root_waits), 0, SWITCHD_TIMEOUT_MAX);
	least = limit(least, SWITCHD_TIMEOUT_MIN, last / 2);
	most = limit(most > LATE_NS ? most : LATE_NS, 2 * least, last);
	if (o->timeout_min == least && o->timeout_max == most)
		return false;
	o->timeout_min = least;
	o->timeout_max = most;
	switchd_timeout_begin(o);
	return true;
}

void timeout_tick(struct switchd *sw)
{
	if (!timeout_follow(sw))
		return;
	sw_info(sw, "timeout: between %gus and %gus now", sw->now.timeout_min / 1e3,
		sw->now.timeout_max / 1e3);
	dataplane_set(sw);
}
