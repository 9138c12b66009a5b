// SPDX-License-Identifier: BSD-2-Clause
/*
 * What drivers say about XDP. It comes from generic netlink, family "netdev", in Linux 6.3 and
 * later. The numbers are defined here, as headers of older systems lack them.
 */
#include <errno.h>

#include <linux/genetlink.h>

#include "internal.h"

#define CMD_DEV_GET	1	/* enum netdev-cmd */
#define DEV_IFINDEX	1	/* enum dev */
#define DEV_FEATURES	3
#define DEV_ATTRS	8

static int ask(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	char buf[8192] __attribute__((aligned(8)));
	unsigned int port = mnl_socket_get_portid(nl);
	ssize_t n;
	int ret = MNL_CB_OK;

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = 1;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (ret > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0)
			return rtnl_why();
		ret = mnl_cb_run(buf, n, 1, port, cb, arg);
	}
	return ret < 0 ? -errno : 0;
}

static int family_cb(const struct nlmsghdr *nlh, void *id)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1];

	rtnl_attrs(nlh, sizeof(struct genlmsghdr), tb, CTRL_ATTR_MAX);
	if (tb[CTRL_ATTR_FAMILY_ID])
		*(uint16_t *)id = mnl_attr_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	return MNL_CB_OK;
}

static int features_cb(const struct nlmsghdr *nlh, void *features)
{
	const struct nlattr *tb[DEV_ATTRS + 1];

	rtnl_attrs(nlh, sizeof(struct genlmsghdr), tb, DEV_ATTRS);
	if (tb[DEV_FEATURES])
		*(uint64_t *)features = mnl_attr_get_u64(tb[DEV_FEATURES]);
	return MNL_CB_OK;
}

static struct nlmsghdr *request(char *buf, uint16_t type, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = type;
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

static int features_of(struct mnl_socket *nl, unsigned int ifindex, uint64_t *features)
{
	char buf[MNL_NLMSG_HDRLEN + 128] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	uint16_t family = 0;
	int ret;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	ret = ask(nl, nlh, family_cb, &family);
	if (ret || !family)
		return ret ? ret : -ENOENT;
	nlh = request(buf, family, CMD_DEV_GET);
	mnl_attr_put_u32(nlh, DEV_IFINDEX, ifindex);
	return ask(nl, nlh, features_cb, features);
}

int driver_features(const struct port *port, uint64_t *features)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	int ret = -errno;

	*features = 0;
	if (!nl)
		return ret;
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) || rtnl_limit(nl) ? -errno :
	      features_of(nl, port->ifindex, features);
	mnl_socket_close(nl);
	return ret;
}
