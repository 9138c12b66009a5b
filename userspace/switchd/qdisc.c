// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queueing disciplines of the ports: how much may wait there, and how fast it leaves. The kernel
 * lists the disciplines of all devices of the namespace at once, so one list serves all ports.
 */
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "internal.h"

struct reading {
	struct switchd *sw;
	struct qdisc *qdisc;
};

struct classes {
	const struct port *port;
	uint64_t rate;			/* of the fastest one */
};

static uint32_t option_u32(const struct nlattr *attr, size_t offset)
{
	uint32_t value = 0;

	if (attr && mnl_attr_get_payload_len(attr) >= offset + sizeof(value))
		memcpy(&value, (const char *)mnl_attr_get_payload(attr) + offset, sizeof(value));
	return value;
}

static uint64_t option_rate(const struct nlattr *parms, size_t offset, const struct nlattr *rate64)
{
	if (rate64 && mnl_attr_get_payload_len(rate64) == sizeof(uint64_t))
		return mnl_attr_get_u64(rate64);
	return option_u32(parms, offset);
}

/* Bytes that a discipline with @options holds; 0 if it has no queue of its own */
static uint64_t discipline_bytes(const char *kind, const struct nlattr *options, uint64_t frame)
{
	const struct nlattr *tb[32];

	if (!strcmp(kind, "bfifo"))
		return option_u32(options, 0);
	if (!strcmp(kind, "pfifo") || !strcmp(kind, "pfifo_head_drop"))
		return option_u32(options, 0) * frame;
	if (!strcmp(kind, "netem"))
		return option_u32(options, offsetof(struct tc_netem_qopt, limit)) * frame;
	if (!options)
		return 0;
	rtnl_attrs_nested(options, tb, ARRAY_SIZE(tb) - 1);
	if (!strcmp(kind, "tbf"))
		return option_u32(tb[TCA_TBF_PARMS], offsetof(struct tc_tbf_qopt, limit));
	if (!strcmp(kind, "fq_codel"))
		return option_u32(tb[TCA_FQ_CODEL_LIMIT], 0) * frame;
	if (!strcmp(kind, "fq"))
		return option_u32(tb[TCA_FQ_PLIMIT], 0) * frame;
	return 0;
}

static uint64_t discipline_rate(const char *kind, const struct nlattr *options)
{
	const struct nlattr *tb[TCA_TBF_MAX + 1];

	if (!options || strcmp(kind, "tbf"))
		return 0;
	rtnl_attrs_nested(options, tb, TCA_TBF_MAX);
	return option_rate(tb[TCA_TBF_PARMS], offsetof(struct tc_tbf_qopt, rate.rate),
			   tb[TCA_TBF_RATE64]);
}

/* What waits in a discipline and in all that are inside it, as it says itself */
static uint32_t discipline_waiting(const struct nlattr *stats)
{
	const struct nlattr *tb[TCA_STATS_MAX + 1];

	if (!stats)
		return 0;
	rtnl_attrs_nested(stats, tb, TCA_STATS_MAX);
	return option_u32(tb[TCA_STATS_QUEUE], offsetof(struct gnet_stats_queue, backlog));
}

/* A port may have nested disciplines. The largest queue and the fastest rate count. */
static int qdisc_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[TCA_MAX + 1];
	const struct reading *r = arg;
	const struct port *port;
	uint64_t bytes, rate;
	struct qdisc *q;
	const char *kind;

	port = tcm->tcm_ifindex > 0 ? port_by_ifindex(r->sw, tcm->tcm_ifindex) : NULL;
	if (!port || tcm->tcm_parent == TC_H_CLSACT)
		return MNL_CB_OK;
	rtnl_attrs(nlh, sizeof(*tcm), tb, TCA_MAX);
	kind = tb[TCA_KIND] ? mnl_attr_get_str(tb[TCA_KIND]) : "noqueue";
	if (!strcmp(kind, "noqueue"))
		return MNL_CB_OK;
	q = &r->qdisc[port - r->sw->port];
	q->queues = true;
	if (tcm->tcm_parent == TC_H_ROOT)
		q->waiting = discipline_waiting(tb[TCA_STATS2]);
	q->classes |= !strcmp(kind, "htb");
	bytes = discipline_bytes(kind, tb[TCA_OPTIONS], port->mtu + ETH_HLEN);
	rate = discipline_rate(kind, tb[TCA_OPTIONS]);
	q->bytes = bytes > q->bytes ? bytes : q->bytes;
	q->rate = rate > q->rate ? rate : q->rate;
	return MNL_CB_OK;
}

int qdiscs_read(struct switchd *sw, struct qdisc *qdisc)
{
	struct reading r = { .sw = sw, .qdisc = qdisc };
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC };

	memset(qdisc, 0, SWITCHD_PORTS_MAX * sizeof(*qdisc));
	return rtnl_dump(&sw->rtnl, RTM_GETQDISC, &tcm, sizeof(tcm), qdisc_cb, &r);
}

static int class_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[TCA_MAX + 1], *option[TCA_HTB_MAX + 1];
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	struct classes *c = arg;
	uint64_t rate;

	rtnl_attrs(nlh, sizeof(*tcm), tb, TCA_MAX);
	if (tcm->tcm_ifindex != (int)c->port->ifindex || !tb[TCA_KIND] || !tb[TCA_OPTIONS] ||
	    strcmp(mnl_attr_get_str(tb[TCA_KIND]), "htb"))
		return MNL_CB_OK;
	rtnl_attrs_nested(tb[TCA_OPTIONS], option, TCA_HTB_MAX);
	rate = option_rate(option[TCA_HTB_PARMS], offsetof(struct tc_htb_opt, ceil.rate),
			   option[TCA_HTB_CEIL64]);
	c->rate = rate > c->rate ? rate : c->rate;
	return MNL_CB_OK;
}

int qdisc_rate(struct switchd *sw, const struct port *port, const struct qdisc *qdisc,
	       uint64_t *rate)
{
	struct classes c = { .port = port, .rate = qdisc->rate };
	struct tcmsg tcm = { .tcm_ifindex = port->ifindex };
	int ret = 0;

	if (qdisc->classes)
		ret = rtnl_dump(&sw->rtnl, RTM_GETTCLASS, &tcm, sizeof(tcm), class_cb, &c);
	if (!ret)
		*rate = c.rate;
	return ret;
}

