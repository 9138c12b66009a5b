// SPDX-License-Identifier: BSD-2-Clause
/*
 * The timeout of a switch that was told none: it adapts between what one and some more packets take
 * on its links. How fast they are say queueing disciplines that shape, or the device; of a port that
 * nobody knows, what does for most is taken.
 */
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "internal.h"

#define FRAMES_MAX	40		/* that may wait before one that is not lost */
#define UNKNOWN_NS	1000000ULL	/* MIN of a port whose rate nobody knows */
#define LATE_NS		1000000ULL	/* hosts are late by that, however fast the links: least MAX */
#define WORDS_MAX	127		/* of a mask of link modes, there are three */

/* Bytes a second that the device says it has, 0: it does not, or makes it up */
static uint64_t device_rate(const struct port *port)
{
	/* the masks come behind it */
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
	/* it answers how long its masks are, as a negative number, and wants to hear that */
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
 * Ports without a carrier do not count: nobody knows how fast they would be, and nothing goes that
 * way. Without any other one the bounds stay what they are.
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
	last = limit(o->lifetime_ns / (2 + o->root_patience), 0, SWITCHD_TIMEOUT_MAX);
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
