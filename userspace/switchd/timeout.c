// SPDX-License-Identifier: BSD-2-Clause
/*
 * The timeout of a switch that was told none: it adapts between what one and some more packets take
 * on its links. How fast they are say queueing disciplines that shape, or the device; of a port that
 * nobody knows, what does for most is taken.
 */
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "internal.h"

#define FRAMES_MAX	40		/* that may wait before one that is not lost */
#define UNKNOWN_NS	1000000ULL	/* MIN of a port whose rate nobody knows */
#define LATE_NS		1000000ULL	/* hosts are late by that, however fast the links: least MAX */
#define WORDS_MAX	127		/* of a mask of link modes, there are three */

struct shaper {
	const struct port *port;
	uint64_t rate;			/* bytes a second, 0: none */
};

static uint64_t rate_of(const struct nlattr *parms, size_t offset, const struct nlattr *rate64)
{
	uint32_t rate;

	if (rate64 && mnl_attr_get_payload_len(rate64) == sizeof(uint64_t))
		return mnl_attr_get_u64(rate64);
	if (!parms || mnl_attr_get_payload_len(parms) < offset + sizeof(rate))
		return 0;
	memcpy(&rate, (const char *)mnl_attr_get_payload(parms) + offset, sizeof(rate));
	return rate;
}

/* Disciplines and classes: the fastest of them is the port's */
static int shaper_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[TCA_MAX + 1], *option[TCA_HTB_MAX + 1];
	struct shaper *s = arg;
	uint64_t rate = 0;

	rtnl_attrs(nlh, sizeof(*tcm), tb, TCA_MAX);
	if (tcm->tcm_ifindex != (int)s->port->ifindex || !tb[TCA_KIND] || !tb[TCA_OPTIONS])
		return MNL_CB_OK;
	rtnl_attrs_nested(tb[TCA_OPTIONS], option, TCA_HTB_MAX);
	if (!strcmp(mnl_attr_get_str(tb[TCA_KIND]), "tbf"))
		rate = rate_of(option[TCA_TBF_PARMS], offsetof(struct tc_tbf_qopt, rate.rate),
			       option[TCA_TBF_RATE64]);
	else if (!strcmp(mnl_attr_get_str(tb[TCA_KIND]), "htb"))
		rate = rate_of(option[TCA_HTB_PARMS], offsetof(struct tc_htb_opt, ceil.rate),
			       option[TCA_HTB_CEIL64]);
	if (rate > s->rate)
		s->rate = rate;
	return MNL_CB_OK;
}

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

static uint64_t port_rate(struct switchd *sw, const struct port *port)
{
	struct tcmsg tcm = { .tcm_ifindex = port->ifindex };
	struct shaper s = { .port = port };
	uint64_t device;

	if (!port->ifindex)
		return 0;
	rtnl_dump(&sw->rtnl, RTM_GETQDISC, &tcm, sizeof(tcm), shaper_cb, &s);
	rtnl_dump(&sw->rtnl, RTM_GETTCLASS, &tcm, sizeof(tcm), shaper_cb, &s);
	device = device_rate(port);
	return s.rate && (s.rate < device || !device) ? s.rate : device;
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
	struct port *port;
	unsigned int i;

	if (!o->timeout_auto)
		return false;
	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		port->rate = port_rate(sw, port);
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
