// SPDX-License-Identifier: BSD-2-Clause
/*
 * VLANs of ports that are ports themselves. With rules, the program of a port drops what comes for
 * Canary in a VLAN, since the kernel may have a device for that VLAN and forward it. What comes in
 * the VLANs of this file is left to their own programs, while these are attached.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <linux/if_link.h>

#include "internal.h"

void port_vlan_learn(struct port *port, const struct nlattr *data)
{
	const struct nlattr *tb[IFLA_VLAN_MAX + 1];

	memset(&port->vlan, 0, sizeof(port->vlan));
	/*
	 * if the device below is in another namespace, its number may belong to another device here
	 */
	if (!data || strcmp(port->kind, "vlan") || port->peer_nsid >= 0)
		return;
	rtnl_attrs_nested(data, tb, IFLA_VLAN_MAX);
	if (!tb[IFLA_VLAN_ID])
		return;
	port->vlan.ifindex = port->peer_ifindex;
	port->vlan.vlan = htons(mnl_attr_get_u16(tb[IFLA_VLAN_ID]));
	port->vlan.type = tb[IFLA_VLAN_PROTOCOL] ? mnl_attr_get_u16(tb[IFLA_VLAN_PROTOCOL]) :
						   htons(ETH_P_8021Q);
}

static void forget(struct switchd *sw, struct port *port)
{
	int ret = 0;

	if (port->vlan_put.ifindex)
		ret = bpf_map_delete_elem(sw->dp.vlans_fd, &port->vlan_put);
	if (!ret || ret == -ENOENT) {
		memset(&port->vlan_put, 0, sizeof(port->vlan_put));
		return;
	}
	sw->map_errors++;
	sw_error(sw, "port %s: map of VLANs, will try again: %s", port->option->name,
		 strerror(-ret));
}

void port_vlan_sync(struct switchd *sw, struct port *port, bool attached)
{
	static const struct csw_vlan_key none;
	const struct csw_vlan_key *want = attached ? &port->vlan : &none;
	uint32_t ifindex = port->ifindex;
	int ret;

	if (!memcmp(&port->vlan_put, want, sizeof(*want)))
		return;
	forget(sw, port);
	if (!want->ifindex || port->vlan_put.ifindex)
		return;
	ret = bpf_map_update_elem(sw->dp.vlans_fd, want, &ifindex, BPF_ANY);
	if (!ret) {
		port->vlan_put = *want;
		return;
	}
	sw->map_errors++;
	sw_error(sw, "port %s: map of VLANs, will try again: %s", port->option->name,
		 strerror(-ret));
}
