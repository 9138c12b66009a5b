// SPDX-License-Identifier: BSD-2-Clause
/*
 * Network namespaces at the other ends of veths. The kernel gives their numbers. They are searched
 * for among namespaces with names and those of running processes. One search finds all that ports
 * lead to, and its result is valid until the main loop turns. So no namespace is kept alive for
 * long, and none is used that is gone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "internal.h"

#define NAMESPACES_MAX	1024

struct search {
	ino_t seen[NAMESPACES_MAX];
	unsigned int n;
};

static int nsid_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[NETNSA_MAX + 1];

	rtnl_attrs(nlh, sizeof(struct rtgenmsg), tb, NETNSA_MAX);
	if (tb[NETNSA_NSID])
		*(int *)arg = mnl_attr_get_u32(tb[NETNSA_NSID]);
	return MNL_CB_OK;
}

/* The number by which this namespace knows the one of @fd; -1 if it does not know it */
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

static int fd_of(const struct namespaces *ns, int nsid)
{
	unsigned int i;

	for (i = 0; i < ns->n; i++)
		if (ns->found[i].nsid == nsid)
			return ns->found[i].fd;
	return -1;
}

static bool is_wanted(const struct switchd *sw, int nsid)
{
	unsigned int i;

	if (nsid < 0 || fd_of(&sw->namespaces, nsid) >= 0)
		return false;
	for (i = 0; i < sw->ports; i++)
		if (sw->port[i].ifindex && sw->port[i].peer_nsid == nsid)
			return true;
	return false;
}

/* Are all namespaces found that ports lead to? */
static bool are_all_found(const struct switchd *sw)
{
	unsigned int i;

	for (i = 0; i < sw->ports; i++)
		if (is_wanted(sw, sw->port[i].peer_nsid))
			return false;
	return true;
}

static bool is_new(struct search *s, ino_t inode)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		if (s->seen[i] == inode)
			return false;
	if (s->n == NAMESPACES_MAX)
		return false;
	s->seen[s->n++] = inode;
	return true;
}

/* Keep the namespace at @path if a port leads to it. */
static void look_at(struct switchd *sw, struct search *s, const char *path)
{
	struct namespaces *ns = &sw->namespaces;
	struct stat st;
	int fd, nsid;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && is_new(s, st.st_ino)) {
		nsid = nsid_of(sw, fd);
		if (is_wanted(sw, nsid)) {
			ns->found[ns->n].nsid = nsid;
			ns->found[ns->n++].fd = fd;
			return;
		}
	}
	close(fd);
}

static void look_in(struct switchd *sw, struct search *s, const char *dirname, const char *format)
{
	DIR *dir = opendir(dirname);
	struct dirent *e;
	char path[300];

	while (dir && (e = readdir(dir)) && !are_all_found(sw)) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), format, e->d_name);
		look_at(sw, s, path);
	}
	if (dir)
		closedir(dir);
}

static void search(struct switchd *sw)
{
	struct search s = { .n = 0 };

	sw->namespaces.searched = true;
	look_in(sw, &s, "/run/netns", "/run/netns/%s");
	if (!are_all_found(sw))
		look_in(sw, &s, "/proc", "/proc/%s/ns/net");
}

/* Open a socket in the namespace @ns. */
static int socket_in(int ns)
{
	int own, fd = -1;

	own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -1;
	if (!setns(ns, CLONE_NEWNET)) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		/* The main thread cannot go on in another namespace. */
		if (setns(own, CLONE_NEWNET))
			abort();
	}
	close(own);
	return fd;
}

int namespace_socket(struct switchd *sw, int nsid)
{
	int fd;

	if (nsid < 0)
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!sw->namespaces.searched)
		search(sw);
	fd = fd_of(&sw->namespaces, nsid);
	return fd < 0 ? -1 : socket_in(fd);
}

void namespaces_forget(struct switchd *sw)
{
	struct namespaces *ns = &sw->namespaces;

	while (ns->n)
		close(ns->found[--ns->n].fd);
	ns->searched = false;
}

uint64_t switchd_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}
