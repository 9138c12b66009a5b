// SPDX-License-Identifier: BSD-2-Clause
/*
 * rtnetlink: one socket for requests, one for notifications. If the kernel says that a change
 * interrupted a dump, the result is -EINTR, and the caller asks again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <sys/time.h>

#include "internal.h"

#define RTNL_BUFFER	(1 << 17)	/* links may need more than the 32 KiB of others */
#define RTNL_HEAR_QUEUE	(1 << 20)
#define RTNL_WAIT_S	1	/* the kernel answers at once or not at all */

static const int groups[] = {
	RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_NEXTHOP,
	RTNLGRP_IPV4_RULE,
};

int rtnl_limit(struct mnl_socket *nl)
{
	struct timeval limit = { .tv_sec = RTNL_WAIT_S };

	return setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Return: why nothing was received */
int rtnl_why(void)
{
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

int rtnl_open(struct rtnl *nl)
{
	int queue = RTNL_HEAR_QUEUE, fd, group;
	size_t i;

	nl->ask = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	nl->hear = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!nl->ask || !nl->hear ||
	    mnl_socket_bind(nl->ask, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_bind(nl->hear, 0, MNL_SOCKET_AUTOPID) || rtnl_limit(nl->ask))
		return -errno;
	fd = mnl_socket_get_fd(nl->hear);
	/* This may fail: what does not fit is found by another dump. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof(queue)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof(queue));
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		group = groups[i];
		if (mnl_socket_setsockopt(nl->hear, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
			return -errno;
	}
	return 0;
}

void rtnl_close(struct rtnl *nl)
{
	if (nl->ask)
		mnl_socket_close(nl->ask);
	if (nl->hear)
		mnl_socket_close(nl->hear);
	nl->ask = NULL;
	nl->hear = NULL;
}

/* A dump that failed ends like others, but has an error in its last message. */
static int end_of_dump(const struct nlmsghdr *nlh)
{
	int error;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(error))
		return 0;
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	return error < 0 ? error : 0;
}

/* Handle one message of an answer. Return: 1 if there are more, 0 if that was all, or -errno */
static int answer(const struct nlmsghdr *nlh, bool *interrupted, mnl_cb_t cb, void *arg)
{
	const struct nlmsgerr *err;

	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		*interrupted = true;
	switch (nlh->nlmsg_type) {
	case NLMSG_ERROR:
		err = mnl_nlmsg_get_payload(nlh);
		return err->error;
	case NLMSG_DONE:
		return end_of_dump(nlh);
	}
	if (cb && cb(nlh, arg) < 0)
		return -EBADMSG;
	return 1;
}

int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	char buf[RTNL_BUFFER] __attribute__((aligned(8)));
	bool interrupted = false;
	const struct nlmsghdr *in;
	int ret = 1, len;
	ssize_t n;

	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		nlh->nlmsg_flags |= NLM_F_ACK;
	nlh->nlmsg_flags |= NLM_F_REQUEST;
	nlh->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->ask, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (ret > 0) {
		n = mnl_socket_recvfrom(nl->ask, buf, sizeof(buf));
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return rtnl_why();
		}
		len = n;
		for (in = (void *)buf; ret > 0 && mnl_nlmsg_ok(in, len);
		     in = mnl_nlmsg_next(in, &len)) {
			/* it belongs to an earlier request that was given up */
			if (in->nlmsg_seq != nl->seq)
				continue;
			ret = answer(in, &interrupted, cb, arg);
		}
	}
	return ret ? ret : interrupted ? -EINTR : 0;
}

int rtnl_dump(struct rtnl *nl, uint16_t type, const void *header, size_t size, mnl_cb_t cb,
	      void *arg)
{
	char buf[MNL_NLMSG_HDRLEN + 64] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(nlh, size), header, size);
	return rtnl_talk(nl, nlh, cb, arg);
}

void rtnl_attrs(const struct nlmsghdr *nlh, size_t offset, const struct nlattr **tb, int max)
{
	const struct nlattr *attr;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	mnl_attr_for_each(attr, nlh, offset)
		if (mnl_attr_get_type(attr) <= max)
			tb[mnl_attr_get_type(attr)] = attr;
}

void rtnl_attrs_nested(const struct nlattr *nest, const struct nlattr **tb, int max)
{
	const struct nlattr *attr;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	mnl_attr_for_each_nested(attr, nest)
		if (mnl_attr_get_type(attr) <= max)
			tb[mnl_attr_get_type(attr)] = attr;
}
