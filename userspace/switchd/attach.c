// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs on ports. XDP is attached by bpf_link, which the kernel removes with the process however
 * that ends. The clsact filter outlives a killed daemon. That is harmless: without the XDP program
 * nothing is marked for it. The next daemon recognises it by its handle and program name. The
 * handle also says whether the qdisc is ours to delete.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "internal.h"

#define TC_PRIORITY	1
#define TC_HANDLE_FOUND	0xca0	/* the qdisc was there before us */
#define TC_HANDLE_OURS	0xca1	/* we made the qdisc */
#define TC_PROGRAM	"canary_tc"
#define XDP_PROGRAM	"canary_xdp"	/* and canary_xdp_long */

static int program_name(uint32_t id, char *name, size_t len)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd, ret;

	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return -errno;
	ret = bpf_obj_get_info_by_fd(fd, &info, &size);
	close(fd);
	if (!ret)
		snprintf(name, len, "%s", info.name);
	return ret;
}

/* Refuse a port that has an XDP program already. Programs of others are never replaced. */
int port_refuse_taken(struct switchd *sw, const struct port *port)
{
	char name[BPF_OBJ_NAME_LEN] = "?";
	uint32_t id = 0;

	if (bpf_xdp_query_id(port->ifindex, 0, &id) || !id)
		return 0;
	program_name(id, name, sizeof(name));
	if (!strncmp(name, XDP_PROGRAM, strlen(XDP_PROGRAM)))
		sw_error(sw, "port %s belongs to another canary switch that runs (program %u)",
			 port->option->name, id);
	else
		sw_error(sw, "port %s has an XDP program of somebody else: %s (program %u)",
			 port->option->name, name, id);
	return -EBUSY;
}

/*
 * A driver may run XDP programs and yet take no frames that others redirect to it. Such frames
 * vanish.
 */
static void check_redirects(struct switchd *sw, struct port *port)
{
	port->features_known = !driver_features(port, &port->features);
	/* the features of a veth depend on its other end, which is checked later */
	if (!port->features_known || port->features & DRIVER_NDO_XMIT ||
	    port->mode == CSW_SHAPED || !strcmp(port->kind, "veth"))
		return;
	sw_warn(sw, "port %s: its driver takes no redirected frames: output shaped",
		port->option->name);
	port->mode = CSW_SHAPED;
	port_publish(sw, port);
}

static int xdp_attach(struct switchd *sw, struct port *port)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	const char *name = port->option->name;
	int fd, more;

	fd = bpf_link_create(sw->dp.xdp_fd, port->ifindex, BPF_XDP, &opts);
	if (fd < 0 && fd != -EBUSY && port->mtu > ETH_DATA_LEN) {
		more = dataplane_long(sw);
		if (more >= 0)
			fd = bpf_link_create(more, port->ifindex, BPF_XDP, &opts);
	}
	port->xdp_native = fd >= 0;
	if (fd < 0 && fd != -EBUSY) {
		sw_warn(sw, "port %s: its driver refuses XDP at MTU %u (%s): generic, slow mode%s",
			name, port->mtu, strerror(-fd),
			port->mode == CSW_FAST ? ", output shaped" : "");
		/* a driver without XDP does not take redirected frames either */
		if (port->mode != CSW_SHAPED) {
			port->mode = CSW_SHAPED;
			port_publish(sw, port);
		}
		opts.flags = XDP_FLAGS_SKB_MODE;
		fd = bpf_link_create(sw->dp.xdp_fd, port->ifindex, BPF_XDP, &opts);
	}
	if (fd < 0) {
		sw_error(sw, "port %s: cannot attach XDP: %s", name, strerror(-fd));
		return fd;
	}
	port->xdp_link = fd;
	check_redirects(sw, port);
	return 0;
}

static bool tc_find(const struct port *port, uint32_t handle, uint32_t *id)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = port->ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = handle, .priority = TC_PRIORITY);

	if (bpf_tc_query(&hook, &opts))
		return false;
	*id = opts.prog_id;
	return true;
}

/* What did an earlier daemon leave here? Return: its handle, 0 if nothing, or -errno */
static int tc_leftover(struct switchd *sw, const struct port *port)
{
	static const uint32_t handles[] = { TC_HANDLE_OURS, TC_HANDLE_FOUND };
	char name[BPF_OBJ_NAME_LEN] = "?";
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		if (!tc_find(port, handles[i], &id))
			continue;
		program_name(id, name, sizeof(name));
		if (strcmp(name, TC_PROGRAM)) {
			sw_error(sw, "port %s: %s, not ours, is tc filter priority %d handle %#x",
				 port->option->name, name, TC_PRIORITY, handles[i]);
			return -EBUSY;
		}
		sw_info(sw, "port %s: replacing the tc filter that a killed switch left",
			port->option->name);
		return handles[i];
	}
	return 0;
}

static int tc_attach(struct switchd *sw, struct port *port)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = port->ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = sw->dp.tc_fd, .priority = TC_PRIORITY);
	int ret, left;

	ret = bpf_tc_hook_create(&hook);
	if (ret && ret != -EEXIST) {
		sw_error(sw, "port %s: cannot add a clsact qdisc: %s", port->option->name,
			 strerror(-ret));
		return ret;
	}
	port->qdisc_ours = !ret;
	left = ret ? tc_leftover(sw, port) : 0;
	if (left < 0)
		return left;
	if (left == TC_HANDLE_OURS)
		port->qdisc_ours = true;
	opts.handle = port->qdisc_ours ? TC_HANDLE_OURS : TC_HANDLE_FOUND;
	opts.flags = left ? BPF_TC_F_REPLACE : 0;
	ret = bpf_tc_attach(&hook, &opts);
	if (ret) {
		sw_error(sw, "port %s: cannot add a tc filter at priority %d: %s",
			 port->option->name, TC_PRIORITY, strerror(-ret));
		return ret;
	}
	port->tc_attached = true;
	return 0;
}

int port_attach(struct switchd *sw, struct port *port)
{
	int ret;

	ret = port_want_tags(sw, port);
	if (ret)
		return ret;
	ret = tc_attach(sw, port);
	if (!ret)
		ret = xdp_attach(sw, port);
	if (!ret)
		port_vlan_sync(sw, port, true);
	return ret;
}

/* Of a device that has gone, nothing is left, even if one with the same number has come. */
bool port_is_attached(const struct port *port)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info), id;

	return !bpf_obj_get_info_by_fd(port->xdp_link, &info, &len) &&
	       info.xdp.ifindex == port->ifindex &&
	       tc_find(port, port->qdisc_ours ? TC_HANDLE_OURS : TC_HANDLE_FOUND, &id);
}

static int count_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	unsigned int *n = arg;

	/* the head of a chain is listed without a handle */
	if (tcm->tcm_handle)
		(*n)++;
	return MNL_CB_OK;
}

/* Somebody else, such as a fault injector, may have put filters on the qdisc that we made. */
static bool qdisc_used(struct switchd *sw, const struct port *port)
{
	static const uint32_t parents[] = {
		TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
	};
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parents); i++) {
		struct tcmsg tcm = { .tcm_ifindex = port->ifindex, .tcm_parent = parents[i] };

		if (rtnl_dump(&sw->rtnl, RTM_GETTFILTER, &tcm, sizeof(tcm), count_cb, &n))
			return true;
	}
	return n > 0;
}

static void tc_detach(struct switchd *sw, struct port *port)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = port->ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .priority = TC_PRIORITY);
	int ret;

	if (port->tc_attached) {
		opts.handle = port->qdisc_ours ? TC_HANDLE_OURS : TC_HANDLE_FOUND;
		ret = bpf_tc_detach(&hook, &opts);
		if (ret)
			sw_warn(sw, "port %s: tc filter stays: %s", port->option->name,
				strerror(-ret));
		port->tc_attached = false;
	}
	if (port->qdisc_ours && qdisc_used(sw, port)) {
		sw_info(sw, "port %s: others use the clsact qdisc, it stays", port->option->name);
	} else if (port->qdisc_ours) {
		hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
		ret = bpf_tc_hook_destroy(&hook);
		if (ret)
			sw_warn(sw, "port %s: clsact qdisc stays: %s", port->option->name,
				strerror(-ret));
	}
	port->qdisc_ours = false;
}

void port_detach(struct switchd *sw, struct port *port)
{
	port_vlan_sync(sw, port, false);
	if (port->xdp_link >= 0)
		close(port->xdp_link);
	port->xdp_link = -1;
	tc_detach(sw, port);
	port_leave_tags(sw, port);
}
