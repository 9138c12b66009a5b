// SPDX-License-Identifier: BSD-2-Clause
/* A port: it is found by number or name, and a link message describes its device. */
#include <string.h>

#include <linux/rtnetlink.h>

#include "internal.h"

struct port *port_by_ifindex(struct switchd *sw, unsigned int ifindex)
{
	unsigned int i;

	for (i = 0; i < sw->ports; i++)
		if (sw->port[i].ifindex == ifindex)
			return &sw->port[i];
	return NULL;
}

struct port *port_by_name(struct switchd *sw, const char *name)
{
	unsigned int i;

	for (i = 0; i < sw->ports; i++)
		if (!strcmp(sw->port[i].option->name, name))
			return &sw->port[i];
	return NULL;
}

void port_learn(struct port *port, const struct nlmsghdr *nlh, const struct nlattr **tb)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *info[IFLA_INFO_MAX + 1];

	port->ifindex = ifi->ifi_index;
	port->flags = ifi->ifi_flags;
	port->type = ifi->ifi_type;
	if (tb[IFLA_MTU])
		port->mtu = mnl_attr_get_u32(tb[IFLA_MTU]);
	if (tb[IFLA_TXQLEN])
		port->txqlen = mnl_attr_get_u32(tb[IFLA_TXQLEN]);
	if (tb[IFLA_ADDRESS] && mnl_attr_get_payload_len(tb[IFLA_ADDRESS]) == ETH_ALEN)
		memcpy(port->mac, mnl_attr_get_payload(tb[IFLA_ADDRESS]), ETH_ALEN);
	port->master = tb[IFLA_MASTER] ? mnl_attr_get_u32(tb[IFLA_MASTER]) : 0;
	port->master_kind[0] = '\0';
	port->peer_ifindex = tb[IFLA_LINK] ? mnl_attr_get_u32(tb[IFLA_LINK]) : 0;
	port->peer_nsid = tb[IFLA_LINK_NETNSID] ?
			  (int)mnl_attr_get_u32(tb[IFLA_LINK_NETNSID]) : -1;
	if (!tb[IFLA_LINKINFO])
		return;
	rtnl_attrs_nested(tb[IFLA_LINKINFO], info, IFLA_INFO_MAX);
	if (info[IFLA_INFO_KIND])
		snprintf(port->kind, sizeof(port->kind), "%s",
			 mnl_attr_get_str(info[IFLA_INFO_KIND]));
	if (info[IFLA_INFO_SLAVE_KIND])
		snprintf(port->master_kind, sizeof(port->master_kind), "%s",
			 mnl_attr_get_str(info[IFLA_INFO_SLAVE_KIND]));
	port_vlan_learn(port, info[IFLA_INFO_DATA]);
}
