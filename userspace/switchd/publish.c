// SPDX-License-Identifier: BSD-2-Clause
/* What the data plane knows of a port */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"

/* The next tick tries again what the maps refuse. */
static int put(struct switchd *sw, int fd, uint32_t key, const void *value)
{
	int ret = bpf_map_update_elem(fd, &key, value, BPF_ANY);

	sw->map_errors += !!ret;
	return ret;
}

static int delete(struct switchd *sw, int fd, uint32_t key)
{
	int ret = bpf_map_delete_elem(fd, &key);

	if (ret == -ENOENT)
		return 0;
	sw->map_errors += !!ret;
	return ret;
}

int port_publish(struct switchd *sw, struct port *port)
{
	struct csw_port value = {
		.mode = port->mode,
		.mtu = port->mtu,
		.captive = device_captive(port),
		.key = port->key,
	};
	struct bpf_devmap_val device = { .ifindex = port->ifindex };
	int ret = 0;

	port->queue = backlog_limit(sw, port);
	value.queue = port->queue;
	backlog_watch(sw, port);
	memcpy(value.mac, port->mac, ETH_ALEN);
	if (port->copies)
		device.bpf_prog.fd = sw->dp.copy_fd;
	if (port->mode == CSW_FAST)
		ret = put(sw, sw->dp.devmap_fd, port->ifindex, &device);
	if (!ret)
		ret = put(sw, sw->dp.ports_fd, port->ifindex, &value);
	port->dirty = ret;
	if (ret)
		sw_error(sw, "port %s: map of ports: %s", port->option->name, strerror(-ret));
	return ret;
}

int port_number_withdraw(struct switchd *sw, unsigned int ifindex)
{
	int ret = delete(sw, sw->dp.ports_fd, ifindex), err;

	err = delete(sw, sw->dp.devmap_fd, ifindex);
	return ret ? ret : err;
}

void port_withdraw(struct switchd *sw, struct port *port)
{
	int ret = port_number_withdraw(sw, port->ifindex);

	if (ret) {
		port->stale = port->ifindex;
		sw_error(sw, "port %s: map of ports, will try again: %s", port->option->name,
			 strerror(-ret));
	}
	backlog_forget(sw, port);
	port->dirty = false;
	port->key = 0;
	port->copies = false;
	port->peer = PEER_NONE;		/* another device may come back */
	port->ifindex = 0;
	port->queue = 0;
	port->rate = 0;
}
