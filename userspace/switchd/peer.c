// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trap of veth: a frame that XDP redirects into a veth is lost, without an error or a
 * counter, unless the other end has an XDP program or GRO switched on. The other end is
 * usually in another namespace, which has to be found among those of running processes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "internal.h"

#define NAMESPACES_MAX	1024

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

static int nsid_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[NETNSA_MAX + 1];

	rtnl_attrs(nlh, sizeof(struct rtgenmsg), tb, NETNSA_MAX);
	if (tb[NETNSA_NSID])
		*(int *)arg = mnl_attr_get_u32(tb[NETNSA_NSID]);
	return MNL_CB_OK;
}

/* The number by which this namespace knows the one that @fd is of, -1 if it does not */
static int nsid_of(struct switchd *sw, int fd)
{
	char buf[MNL_NLMSG_HDRLEN + 64] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int nsid = -1;

	nlh->nlmsg_type = RTM_GETNSID;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
	mnl_attr_put_u32(nlh, NETNSA_FD, fd);
	if (rtnl_talk(&sw->rtnl, nlh, nsid_cb, &nsid))
		return -1;
	return nsid;
}

/* A socket of the namespace of @ns */
static int socket_in(int ns)
{
	int own, fd = -1;

	own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -1;
	if (!setns(ns, CLONE_NEWNET)) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		/* the main thread cannot go on in a strange namespace */
		if (setns(own, CLONE_NEWNET))
			abort();
	}
	close(own);
	return fd;
}

struct search {
	ino_t seen[NAMESPACES_MAX];
	unsigned int n;
};

/* Open the namespace at @path if it is a new one and the one that @nsid stands for */
static int open_if(struct switchd *sw, struct search *s, const char *path, int nsid)
{
	unsigned int i;
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		goto no;
	for (i = 0; i < s->n; i++)
		if (s->seen[i] == st.st_ino)
			goto no;
	if (s->n == NAMESPACES_MAX)
		goto no;
	s->seen[s->n++] = st.st_ino;
	if (nsid_of(sw, fd) == nsid)
		return fd;
no:
	close(fd);
	return -1;
}

static int find_namespace(struct switchd *sw, int nsid)
{
	static const struct {
		const char *dir, *format;
	} places[] = {
		{ "/run/netns", "/run/netns/%s" },
		{ "/proc", "/proc/%s/ns/net" },
	};
	struct search s = { .n = 0 };
	struct dirent *e;
	char path[300];
	int fd = -1;
	size_t i;
	DIR *dir;

	for (i = 0; i < ARRAY_SIZE(places) && fd < 0; i++) {
		dir = opendir(places[i].dir);
		while (dir && fd < 0 && (e = readdir(dir))) {
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), places[i].format, e->d_name);
			fd = open_if(sw, &s, path, nsid);
		}
		if (dir)
			closedir(dir);
	}
	return fd;
}

static int socket_of_peer(struct switchd *sw, const struct port *port)
{
	int ns, fd;

	if (port->peer_nsid < 0)
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ns = find_namespace(sw, port->peer_nsid);
	if (ns < 0)
		return -1;
	fd = socket_in(ns);
	close(ns);
	return fd;
}

int peer_socket(struct switchd *sw, const struct port *port, char name[IFNAMSIZ])
{
	struct peer_link link;

	if (peer_link(sw, port, &link))
		return -1;
	memcpy(name, link.name, IFNAMSIZ);
	return socket_of_peer(sw, port);
}

static enum port_peer has_gro(struct switchd *sw, const struct port *port, const char *name)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GGRO };
	struct ifreq ifr = { .ifr_data = (void *)&value };
	enum port_peer peer = PEER_UNKNOWN;
	int fd = socket_of_peer(sw, port);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd >= 0 && !ioctl(fd, SIOCETHTOOL, &ifr))
		peer = value.data ? PEER_OK : PEER_DEAF;
	if (fd >= 0)
		close(fd);
	return peer;
}

/* A veth says that it can send redirected frames if its other end takes them. */
static enum port_peer peer_takes(struct switchd *sw, struct port *port, const struct peer_link *link)
{
	port->features_known = !driver_features(port, &port->features);
	if (port->features_known)
		return port->features & DRIVER_NDO_XMIT ? PEER_OK : PEER_DEAF;
	return link->xdp ? PEER_OK : has_gro(sw, port, link->name);
}

/* @all: or only those that were deaf, since somebody may have followed the warning */
void ports_check_peers(struct switchd *sw, bool all, bool warn)
{
	struct peer_link link;
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || port->mode != CSW_FAST || strcmp(port->kind, "veth"))
			continue;
		if (!all && port->peer != PEER_DEAF)
			continue;
		if (peer_link(sw, port, &link))
			port->peer = PEER_UNKNOWN;
		else
			port->peer = peer_takes(sw, port, &link);
		if (port->peer == PEER_DEAF && warn)
			sw_warn(sw, "port %s is fast, but its veth peer loses such frames (there: ethtool -K %s gro on)",
				port->option->name, link.name);
	}
}
