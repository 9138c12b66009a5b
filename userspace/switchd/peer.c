// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trap of veth: a frame that XDP redirects into a veth is lost without an error or a counter,
 * unless the other end has an XDP program, or GRO is switched on there.
 */
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "internal.h"

struct peer_link {
	char name[IFNAMSIZ];
	bool xdp;
};

static int peer_link_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[IFLA_MAX + 1], *xdp[IFLA_XDP_MAX + 1];
	struct peer_link *link = arg;

	rtnl_attrs(nlh, sizeof(struct ifinfomsg), tb, IFLA_MAX);
	if (tb[IFLA_IFNAME])
		snprintf(link->name, sizeof(link->name), "%s", mnl_attr_get_str(tb[IFLA_IFNAME]));
	if (!tb[IFLA_XDP])
		return MNL_CB_OK;
	rtnl_attrs_nested(tb[IFLA_XDP], xdp, IFLA_XDP_MAX);
	link->xdp = xdp[IFLA_XDP_ATTACHED] &&
		    (mnl_attr_get_u8(xdp[IFLA_XDP_ATTACHED]) == XDP_ATTACHED_DRV ||
		     mnl_attr_get_u8(xdp[IFLA_XDP_ATTACHED]) == XDP_ATTACHED_MULTI);
	return MNL_CB_OK;
}

static int peer_link(struct switchd *sw, const struct port *port, struct peer_link *link)
{
	char buf[MNL_NLMSG_HDRLEN + 128] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	memset(link, 0, sizeof(*link));
	nlh->nlmsg_type = RTM_GETLINK;
	ifi->ifi_index = port->peer_ifindex;
	if (port->peer_nsid >= 0)
		mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, port->peer_nsid);
	return rtnl_talk(&sw->rtnl, nlh, peer_link_cb, link);
}

int peer_socket(struct switchd *sw, const struct port *port, char name[IFNAMSIZ])
{
	struct peer_link link;

	if (peer_link(sw, port, &link))
		return -1;
	memcpy(name, link.name, IFNAMSIZ);
	return namespace_socket(sw, port->peer_nsid);
}

static enum port_peer has_gro(struct switchd *sw, const struct port *port, const char *name)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GGRO };
	struct ifreq ifr = { .ifr_data = (void *)&value };
	enum port_peer peer = PEER_UNKNOWN;
	int fd = namespace_socket(sw, port->peer_nsid);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd >= 0 && !ioctl(fd, SIOCETHTOOL, &ifr))
		peer = value.data ? PEER_OK : PEER_DEAF;
	if (fd >= 0)
		close(fd);
	return peer;
}

/* According to its features, a veth can send redirected frames if its other end takes them. */
static enum port_peer peer_takes(struct switchd *sw, struct port *port, const struct peer_link *link)
{
	port->features_known = !driver_features(port, &port->features);
	if (port->features_known)
		return port->features & DRIVER_NDO_XMIT ? PEER_OK : PEER_DEAF;
	return link->xdp ? PEER_OK : has_gro(sw, port, link->name);
}

/*
 * Does the port have to be looked at again? A deaf one may have followed the warning. One to which
 * results are broadcast must not become deaf unseen. One that came back is not known.
 */
static bool look_again(const struct port *port)
{
	return port->peer != PEER_OK || port->key;
}

/* @warn: of all that are deaf. Else only of those that have become deaf */
void ports_check_peers(struct switchd *sw, bool all, bool warn)
{
	enum port_peer before;
	struct peer_link link;
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || port->mode != CSW_FAST || strcmp(port->kind, "veth"))
			continue;
		if (!all && !look_again(port))
			continue;
		before = port->peer;
		if (peer_link(sw, port, &link))
			port->peer = PEER_UNKNOWN;
		else
			port->peer = peer_takes(sw, port, &link);
		if (port->peer == PEER_DEAF && (warn || before == PEER_OK))
			sw_warn(sw, "port %s is fast, but its veth peer loses such frames (there: ethtool -K %s gro on)",
				port->option->name, link.name);
	}
}
