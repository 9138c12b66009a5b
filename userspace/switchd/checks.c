// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a switch needs from its machine: privileges, an address, and a kernel that forwards what the
 * data plane leaves to it
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/capability.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "internal.h"

#ifndef CAP_BPF
#define CAP_BPF		39
#define CAP_PERFMON	38
#endif

int check_privileges(struct switchd *sw)
{
	static const struct {
		int cap, instead;
		const char *name;
	} need[] = {
		{ CAP_NET_ADMIN, CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF" },
		/* the programs compute with pointers, and follow tracepoints */
		{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON" },
	};
	unsigned long long caps = 0;
	char line[256];
	FILE *f;
	size_t i;

	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	for (i = 0; i < ARRAY_SIZE(need); i++) {
		if (caps & (1ULL << need[i].cap | 1ULL << need[i].instead))
			continue;
		sw_error(sw, "missing privilege %s: run it as root", need[i].name);
		return -EPERM;
	}
	return 0;
}

struct address_search {
	struct canary_addr want;	/* zeros: any global /32 of lo */
	struct canary_addr found;
};

static int address_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[IFA_MAX + 1];
	struct address_search *s = arg;
	struct canary_addr addr;
	bool fits;
	__be32 ip;

	rtnl_attrs(nlh, sizeof(*ifa), tb, IFA_MAX);
	if (!tb[IFA_LOCAL] || !canary_addr_is_any(&s->found))
		return MNL_CB_OK;
	ip = mnl_attr_get_u32(tb[IFA_LOCAL]);
	addr = canary_addr_of_ip4(ip);
	if (!canary_addr_is_any(&s->want))
		fits = canary_addr_equal(&addr, &s->want);
	else
		fits = ifa->ifa_index == if_nametoindex("lo") && ifa->ifa_prefixlen == 32 &&
		       ifa->ifa_scope == RT_SCOPE_UNIVERSE && ntohl(ip) >> 24 != 127;
	if (fits)
		s->found = addr;
	return MNL_CB_OK;
}

/* The address of the switch has to belong to this machine. */
int check_address(struct switchd *sw)
{
	struct ifaddrmsg ifa = { .ifa_family = AF_INET };
	struct address_search s = { .want = sw->opt->address };
	char text[ADDRESS_TEXT];
	int ret;

	ret = rtnl_dump(&sw->rtnl, RTM_GETADDR, &ifa, sizeof(ifa), address_cb, &s);
	if (ret && ret != -EINTR) {
		sw_error(sw, "cannot list addresses: %s", strerror(-ret));
		return ret;
	}
	if (canary_addr_is_any(&s.found) && !canary_addr_is_any(&s.want)) {
		address_text(&s.want, text);
		sw_error(sw, "address %s is not on any device here (ip addr add %s/32 dev lo)",
			 text, text);
		return -EADDRNOTAVAIL;
	}
	if (canary_addr_is_any(&s.found)) {
		sw_error(sw, "lo has no global /32 address (ip addr add A.B.C.D/32 dev lo), no --address");
		return -EADDRNOTAVAIL;
	}
	sw->address = s.found;
	return 0;
}

static int sysctl_read(const char *path)
{
	FILE *f = fopen(path, "re");
	int value = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

static int sysctl_write(const char *path, int value)
{
	FILE *f = fopen(path, "we");
	int ret = 0;

	if (!f)
		return -errno;
	if (fprintf(f, "%d\n", value) < 0)
		ret = -errno;
	if (fclose(f) && !ret)
		ret = -errno;
	return ret;
}

/* If @path has the value @bad, set it to @good if that is allowed, or say what it means. */
static void sysctl_want(struct switchd *sw, const char *dev, const char *what, int bad, int good,
			const char *meaning)
{
	char path[128];
	int ret;

	if (dev)
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/%s", dev, what);
	else
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", what);
	if (sysctl_read(path) != bad)
		return;
	if (!sw->opt->sysctl) {
		sw_warn(sw, "%s%s%s is %d: %s (--sysctl sets it to %d)", dev ? dev : "",
			dev ? ": " : "", what, bad, meaning, good);
		return;
	}
	ret = sysctl_write(path, good);
	if (ret)
		sw_warn(sw, "%s: %s", path, strerror(-ret));
	else
		sw_info(sw, "%s%s%s set to %d", dev ? dev : "", dev ? ": " : "", what, good);
}

void check_sysctls(struct switchd *sw)
{
	bool strict = sysctl_read("/proc/sys/net/ipv4/conf/all/rp_filter") == 1;
	const char *dev;
	unsigned int i;

	sysctl_want(sw, NULL, "ip_forward", 0, 1,
		    "the kernel does not forward what the switch leaves to it");
	for (i = 0; i < sw->ports; i++) {
		dev = sw->port[i].option->name;
		if (strchr(dev, '/'))
			continue;
		/* the kernel uses the larger one of "all" and the device's value */
		sysctl_want(sw, dev, "rp_filter", 1, 2,
			    "packets that come by another path than answers take are dropped");
		if (strict)
			sysctl_want(sw, dev, "rp_filter", 0, 2, "(all is 1) "
				    "packets that come by another path than answers take are dropped");
	}
}

static int rule_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[FRA_MAX + 1];
	unsigned int *others = arg;
	uint32_t priority;

	rtnl_attrs(nlh, sizeof(struct fib_rule_hdr), tb, FRA_MAX);
	priority = tb[FRA_PRIORITY] ? mnl_attr_get_u32(tb[FRA_PRIORITY]) : 0;
	if (priority != 0 && priority != 32766 && priority != 32767)
		(*others)++;
	return MNL_CB_OK;
}

void check_rules(struct switchd *sw)
{
	struct fib_rule_hdr hdr = { .family = AF_INET };
	unsigned int others = 0;

	if (!rtnl_dump(&sw->rtnl, RTM_GETRULE, &hdr, sizeof(hdr), rule_cb, &others) && others)
		sw_warn(sw, "%u policy routing rules: Canary packets only follow the tables local, main and default",
			others);
}
