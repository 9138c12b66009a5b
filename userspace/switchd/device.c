// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a device is, and whether it can be a port. XDP has to see all that comes by it, unchanged,
 * and nobody else may take it first.
 */
#include <errno.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "internal.h"

/* Devices whose packets XDP sees at other devices, or that share those of another one */
static const struct {
	const char *kind, *what, *instead;
} uppers[] = {
	{ "bond", "a bond", "take it apart, name its members and route over all of them" },
	{ "team", "a team", "take it apart, name its members and route over all of them" },
	{ "bridge", "a bridge", "take devices out of it, name them and route between them" },
	{ "openvswitch", "a bridge", "take devices out of it, name them and route between them" },
	{ "vrf", "a VRF", "its routes are not followed; take devices out of it" },
	{ "macvlan", "a part of another device", "name that device" },
	{ "macvtap", "a part of another device", "name that device" },
	{ "ipvlan", "a part of another device", "name that device" },
	{ "ipvtap", "a part of another device", "name that device" },
};

static int upper_of(const char *kind)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(uppers); i++)
		if (!strcmp(kind, uppers[i].kind))
			return i;
	return -1;
}

static int kind_cb(const struct nlmsghdr *nlh, void *kind)
{
	const struct nlattr *tb[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];

	rtnl_attrs(nlh, sizeof(struct ifinfomsg), tb, IFLA_MAX);
	if (!tb[IFLA_LINKINFO])
		return MNL_CB_OK;
	rtnl_attrs_nested(tb[IFLA_LINKINFO], info, IFLA_INFO_MAX);
	if (info[IFLA_INFO_KIND])
		snprintf(kind, DEVICE_KIND, "%s", mnl_attr_get_str(info[IFLA_INFO_KIND]));
	return MNL_CB_OK;
}

/*
 * Describe the device below @port. It is in this namespace unless the kernel gives the number of
 * another one.
 */
static void lower_kind(struct switchd *sw, const struct port *port, char kind[DEVICE_KIND])
{
	char buf[MNL_NLMSG_HDRLEN + 128] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	kind[0] = '\0';
	nlh->nlmsg_type = RTM_GETLINK;
	ifi->ifi_index = port->peer_ifindex;
	if (port->peer_nsid >= 0)
		mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, port->peer_nsid);
	rtnl_talk(&sw->rtnl, nlh, kind_cb, kind);
}

int device_refuse(struct switchd *sw, const struct port *port)
{
	const char *name = port->option->name;
	char kind[DEVICE_KIND];
	int upper = upper_of(port->kind);

	if (upper >= 0) {
		sw_error(sw, "port %s is %s, which is no port: %s", name, uppers[upper].what,
			 uppers[upper].instead);
		return -EINVAL;
	}
	if (strcmp(port->kind, "vlan") || !port->peer_ifindex)
		return 0;
	lower_kind(sw, port, kind);
	upper = upper_of(kind);
	if (upper < 0)
		return 0;
	sw_error(sw, "port %s is a VLAN of %s, which is no port: %s", name, uppers[upper].what,
		 uppers[upper].instead);
	return -EINVAL;
}

/*
 * Packets of such a port go to its master, or by the routes of a VRF. The switch only follows those
 * of the main table.
 */
bool device_captive(const struct port *port)
{
	return port->master;
}

static const char *captor_does(const struct port *port)
{
	return strcmp(port->master_kind, "vrf") ? "takes its packets" :
						  "has routes of its own, which are not followed";
}

static const char *master_name(const struct port *port, char name[IFNAMSIZ])
{
	return if_indextoname(port->master, name) ? name : "?";
}

int device_refuse_captive(struct switchd *sw, const struct port *port)
{
	char name[IFNAMSIZ];

	if (!device_captive(port))
		return 0;
	sw_error(sw, "port %s belongs to %s (%s), which %s: ip link set %s nomaster",
		 port->option->name, master_name(port, name), port->master_kind,
		 captor_does(port), port->option->name);
	return -EBUSY;
}

void device_tell_captive(struct switchd *sw, const struct port *port)
{
	char name[IFNAMSIZ];

	if (!device_captive(port)) {
		sw_warn(sw, "port %s has no master any more: it works again", port->option->name);
		return;
	}
	sw_error(sw, "port %s was given to %s (%s), which %s: nothing is merged there%s",
		 port->option->name, master_name(port, name), port->master_kind,
		 captor_does(port),
		 sw->admission.on ? ", and what comes for Canary's ports is dropped" : "");
}
