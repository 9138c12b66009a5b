// SPDX-License-Identifier: GPL-2.0
/*
 * What waits at the egress of the switches' ports. The tracepoints fire for all devices of the
 * machine, so one set of these programs serves all its switches; devices that are no port of
 * theirs cost one failed lookup. See userspace/switchd/backlog.c for who loads them.
 */
#include "ctx/bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

#define TCQ_F_CPUSTATS	0x20	/* counts on each processor; not in BTF */
#define BULK_MAX	64	/* packets that one dequeue event may stand for */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CSW_BACKLOG_PORTS);
	__type(key, struct csw_backlog_key);
	__type(value, struct csw_backlog);
} canary_backlog SEC(".maps");

static __always_inline struct csw_backlog *backlog_of(const struct net_device *dev)
{
	struct csw_backlog_key key = {
		.netns = dev->nd_net.net->net_cookie,
		.ifindex = dev->ifindex,
	};

	return bpf_map_lookup_elem(&canary_backlog, &key);
}

/* A transmit queue now has @bytes waiting; its lock is held, other queues have their own. */
static __always_inline void backlog_set(struct csw_backlog *b, __u32 queue, __u32 bytes)
{
	__u32 old = b->queue[queue], now;

	b->queue[queue] = bytes;
	now = __sync_fetch_and_add(&b->bytes, bytes - old) + bytes - old;
	if (now > b->peak)
		b->peak = now;
	b->changed = bpf_ktime_get_ns();
}

static __always_inline __u32 queue_index(const struct netdev_queue *txq)
{
	__u64 offset = (const char *)txq - (const char *)txq->dev->_tx;

	return offset / bpf_core_type_size(struct netdev_queue) % CSW_BACKLOG_QUEUES;
}

/*
 * A discipline with a lock knows its backlog, and what its children dropped: better than adding up
 * events, of which those before the first switch are missing.
 */
static __always_inline bool take_its_word(struct csw_backlog *b, struct Qdisc *q,
					  const struct netdev_queue *txq)
{
	if (q->flags & TCQ_F_CPUSTATS)
		return false;
	backlog_set(b, queue_index(txq), q->qstats.backlog);
	b->drops = q->qstats.drops;
	return true;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(backlog_enqueue, struct Qdisc *q, const struct netdev_queue *txq,
	     struct sk_buff *skb)
{
	struct csw_backlog *b = backlog_of(txq->dev);
	__u32 i;

	if (!b || take_its_word(b, q, txq))
		return 0;
	i = queue_index(txq);
	backlog_set(b, i, b->queue[i] + skb->len);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(backlog_dequeue, struct Qdisc *q, const struct netdev_queue *txq, int packets,
	     struct sk_buff *skb)
{
	struct csw_backlog *b = backlog_of(txq->dev);
	__u32 i, n, left;

	if (!b || take_its_word(b, q, txq))
		return 0;
	i = queue_index(txq);
	left = skb ? b->queue[i] : 0;	/* nothing came out of it: it is empty */
	for (n = 0; n < BULK_MAX && skb; n++) {
		left -= skb->len < left ? skb->len : left;
		skb = skb->next;
	}
	backlog_set(b, i, left);
	return 0;
}

/* Redirected frames pass the queue by. That the driver refused some is all that can be known. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(backlog_refused, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int err)
{
	struct csw_backlog *b = drops > 0 ? backlog_of(to) : NULL;

	if (!b)
		return 0;
	b->refused = bpf_ktime_get_ns();
	__sync_fetch_and_add(&b->refusals, drops);
	return 0;
}
