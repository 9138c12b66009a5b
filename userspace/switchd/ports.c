// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ports: the devices of the switch, as rtnetlink describes them. A port may go away and come back
 * under its name. The switch goes on with the others meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include "internal.h"

#define BACKOFF_MAX	12	/* most ticks between two attempts to use a port that came back */
#define TAGS_TICKS	12	/* between looks at offloads, which may change unseen */
#define TAGS_LOOKS	8	/* looks in one tick that notifications may cause */

static int learn_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[IFLA_MAX + 1];
	struct switchd *sw = arg;
	struct port *port;

	rtnl_attrs(nlh, sizeof(struct ifinfomsg), tb, IFLA_MAX);
	if (!tb[IFLA_IFNAME])
		return MNL_CB_OK;
	port = port_by_name(sw, mnl_attr_get_str(tb[IFLA_IFNAME]));
	if (port)
		port_learn(port, nlh, tb);
	return MNL_CB_OK;
}

/*
 * Ask for one device. A dump of all is not enough: the kernel silently leaves out a device that is
 * too long for its buffer, for instance one with very many names.
 */
static int ask_link(struct switchd *sw, const char *name, mnl_cb_t cb, void *arg)
{
	char buf[MNL_NLMSG_HDRLEN + 128] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RTM_GETLINK;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return rtnl_talk(&sw->rtnl, nlh, cb, arg);
}

static int port_check(struct switchd *sw, const struct port *port)
{
	const char *name = port->option->name;

	if (!port->ifindex) {
		sw_error(sw, "port %s: there is no such device in this network namespace", name);
		return -ENODEV;
	}
	if (port->type != ARPHRD_ETHER) {
		sw_error(sw, "port %s: not an Ethernet device", name);
		return -EINVAL;
	}
	if (!(port->flags & IFF_UP)) {
		sw_error(sw, "port %s is down (ip link set %s up)", name, name);
		return -ENETDOWN;
	}
	if (!(port->flags & IFF_CARRIER))
		sw_warn(sw, "port %s has no carrier", name);
	if (device_refuse(sw, port))
		return -EINVAL;
	if (device_refuse_captive(sw, port))
		return -EBUSY;
	return port_refuse_taken(sw, port);
}

int ports_find(struct switchd *sw)
{
	unsigned int i;
	int ret = 0, err;

	sw->ports = sw->opt->ports;
	for (i = 0; i < sw->ports; i++) {
		sw->port[i].option = &sw->opt->port[i];
		sw->port[i].mode = sw->opt->port[i].mode;
		sw->port[i].xdp_link = -1;
		err = ask_link(sw, sw->port[i].option->name, learn_cb, sw);
		if (!err || err == -ENODEV)
			continue;
		sw_error(sw, "port %s: cannot be looked up: %s", sw->port[i].option->name,
			 strerror(-err));
		return err;
	}
	for (i = 0; i < sw->ports; i++) {
		err = port_check(sw, &sw->port[i]);
		if (!ret)
			ret = err;
	}
	return ret;
}

static void port_gone(struct switchd *sw, struct port *port)
{
	sw_warn(sw, "port %s is gone", port->option->name);
	/* the kernel removed qdisc and filter with the device */
	port->tc_attached = false;
	port->qdisc_ours = false;
	port->rx_was = 0;
	port->tx_was = 0;
	port_detach(sw, port);
	port_withdraw(sw, port);
	port->backoff = 0;
	admission_follow(sw);
	clock_choose_ingress(sw);
}

static int port_take(struct switchd *sw, struct port *port)
{
	int ret = port->stale ? port_number_withdraw(sw, port->stale) : 0;

	if (ret)
		return ret;
	port->stale = 0;
	ret = device_refuse(sw, port);
	if (!ret)
		ret = port_refuse_taken(sw, port);
	if (!ret)
		ret = port_publish(sw, port);
	if (!ret)
		ret = port_attach(sw, port);
	if (ret) {
		port_detach(sw, port);
		port_withdraw(sw, port);
	}
	return ret;
}

static void port_back(struct switchd *sw, struct port *port)
{
	int ret;

	port->mode = port->option->mode;
	admission_follow(sw);
	ret = port_take(sw, port);
	if (ret) {
		sw_warn(sw, "port %s came back, but cannot be used, will try again: %s",
			port->option->name, strerror(-ret));
		port->ifindex = 0;
		port->backoff = port->backoff ? port->backoff : 1;
		port->wait = port->backoff;
		admission_follow(sw);
		return;
	}
	port->backoff = 0;
	port->wait = 0;
	/* A device with a master is no port, but rules apply to what comes by it. */
	if (device_captive(port))
		device_tell_captive(sw, port);
	else
		sw_info(sw, "port %s is back", port->option->name);
	clock_choose_ingress(sw);
	check_sysctls(sw);
	neigh_sync(sw);
	if (sw->now.timeout_auto)
		qdiscs_rates(sw);
	timeout_tick(sw);
}

static void port_changed(struct switchd *sw, struct port *port, const struct port *old)
{
	bool captive = device_captive(port) != device_captive(old);

	if (port->mtu != old->mtu || memcmp(port->mac, old->mac, ETH_ALEN) || captive)
		port_publish(sw, port);
	if (port->mtu != old->mtu && port->xdp_link >= 0 && !port->xdp_native)
		sw_warn(sw, "port %s has MTU %u now, and stays in generic, slow mode until the switch starts anew",
			port->option->name, port->mtu);
	if (captive)
		device_tell_captive(sw, port);
	/* Its features may have changed. If they change all the time, the tick looks again. */
	if (port->xdp_link >= 0 && port->tags_looks < TAGS_LOOKS) {
		port->tags_looks++;
		port_want_tags(sw, port);
	}
	if ((port->flags ^ old->flags) & IFF_CARRIER)
		sw_info(sw, "port %s: carrier %s", port->option->name,
			port->flags & IFF_CARRIER ? "up" : "lost");
}

void ports_link_event(struct switchd *sw, const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[IFLA_MAX + 1];
	struct port *port, old;
	const char *name;

	if (ifi->ifi_family != AF_UNSPEC)
		return;
	rtnl_attrs(nlh, sizeof(*ifi), tb, IFLA_MAX);
	name = tb[IFLA_IFNAME] ? mnl_attr_get_str(tb[IFLA_IFNAME]) : "";
	port = port_by_ifindex(sw, ifi->ifi_index);
	if (nlh->nlmsg_type == RTM_DELLINK) {
		if (port)
			port_gone(sw, port);
		return;
	}
	if (port) {
		old = *port;
		port_learn(port, nlh, tb);
		port_changed(sw, port, &old);
		return;
	}
	port = port_by_name(sw, name);
	if (port && !port->ifindex) {
		port_learn(port, nlh, tb);
		port_back(sw, port);
	}
}

static int copy_cb(const struct nlmsghdr *nlh, void *arg)
{
	struct nlmsghdr **copy = arg;

	free(*copy);
	*copy = malloc(nlh->nlmsg_len);
	if (!*copy)
		return MNL_CB_ERROR;
	memcpy(*copy, nlh, nlh->nlmsg_len);
	return MNL_CB_OK;
}

/* Is the device another one than that of the port? It may have the same number. */
static bool is_other(const struct port *port, const struct ifinfomsg *ifi)
{
	return ifi->ifi_index != (int)port->ifindex || !port_is_attached(port);
}

static int port_resync(struct switchd *sw, struct port *port)
{
	const struct ifinfomsg *ifi;
	struct nlmsghdr *copy = NULL;
	int ret;

	ret = ask_link(sw, port->option->name, copy_cb, &copy);
	ifi = copy ? mnl_nlmsg_get_payload(copy) : NULL;
	if (port->ifindex && (ret == -ENODEV || (ifi && is_other(port, ifi))))
		port_gone(sw, port);
	/* This is outside of the callback, since attaching sends requests on the same socket. */
	if (!ret && copy)
		ports_link_event(sw, copy);
	free(copy);
	return ret == -ENODEV ? 0 : ret;
}

/* Notifications were lost: find out what happened to the ports. */
int ports_resync(struct switchd *sw)
{
	unsigned int i;
	int ret, err = 0;

	for (i = 0; i < sw->ports; i++) {
		ret = port_resync(sw, &sw->port[i]);
		if (!ret)
			continue;
		sw_warn(sw, "port %s: cannot be looked up, will try again: %s",
			sw->port[i].option->name, strerror(-ret));
		err = ret;
	}
	return err;
}

static void port_retry(struct switchd *sw, struct port *port)
{
	port->backoff = port->backoff < BACKOFF_MAX / 2 ? 2 * port->backoff : BACKOFF_MAX;
	if (port_resync(sw, port))
		port->wait = port->backoff;
}

/* Try again what failed. */
void ports_tick(struct switchd *sw)
{
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (port->stale && !port_number_withdraw(sw, port->stale))
			port->stale = 0;
		if (port->ifindex && port->dirty)
			port_publish(sw, port);
		port_vlan_sync(sw, port, port->ifindex && port->xdp_link >= 0);
		if (!port->ifindex && port->wait && !--port->wait)
			port_retry(sw, port);
		if (port->ifindex && port->xdp_link >= 0 &&
		    (sw->ticks % TAGS_TICKS == 0 || port->tags_looks == TAGS_LOOKS))
			port_want_tags(sw, port);
		port->tags_looks = 0;
	}
}
