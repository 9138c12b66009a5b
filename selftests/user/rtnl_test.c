// SPDX-License-Identifier: BSD-2-Clause
/* Made-up answers of rtnetlink: what the daemon takes for an error, and what for the end */
#include <errno.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "selftests/tap.h"
#include "userspace/switchd/internal.h"

static char reply[256] __attribute__((aligned(8)));
static size_t reply_len;
static unsigned int seq;

/* Replaces libmnl's function. */
ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *buf, size_t len)
{
	seq = ((const struct nlmsghdr *)buf)->nlmsg_seq;
	return len;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t len)
{
	size_t n = reply_len;
	struct nlmsghdr *nlh = buf;
	int left = n;

	if (!n) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(buf, reply, n);
	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		nlh->nlmsg_seq = seq;
	reply_len = 0;
	return n;
}

static void add(uint16_t type, uint16_t flags, const void *data, size_t len)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(reply + reply_len);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags | NLM_F_MULTI;
	if (len)
		memcpy(mnl_nlmsg_put_extra_header(nlh, len), data, len);
	reply_len += nlh->nlmsg_len;
}

static int count(const struct nlmsghdr *nlh, void *arg)
{
	++*(int *)arg;
	return MNL_CB_OK;
}

/* @flags: of the one message before the end; @end: length of the end message */
static void dump(const char *what, uint16_t flags, int end, size_t len, int want)
{
	struct ndmsg ndm = { .ndm_family = AF_INET };
	struct rtnl nl = { .ask = NULL };
	int ret, n = 0;

	reply_len = 0;
	add(RTM_NEWNEIGH, flags, &ndm, sizeof(ndm));
	add(NLMSG_DONE, 0, &end, len);
	ret = rtnl_dump(&nl, RTM_GETNEIGH, &ndm, sizeof(ndm), count, &n);
	tap(ret == want && n == 1, "%s: %d", what, ret);
}

int main(void)
{
	dump("a dump that ended well", 0, 0, sizeof(int), 0);
	dump("one whose end says nothing", 0, 0, 0, 0);
	dump("one that the kernel gave up", 0, -ENOMEM, sizeof(int), -ENOMEM);
	dump("one that a change interrupted", NLM_F_DUMP_INTR, 0, sizeof(int), -EINTR);
	return tap_done("rtnl");
}
