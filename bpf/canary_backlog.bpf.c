// SPDX-License-Identifier: GPL-2.0
/*
 * What waits at the egress of the switches' ports. The tracepoints fire for all devices of the
 * machine, so one set of these programs serves all its switches. A device that is no port of a
 * switch costs one failed lookup. userspace/switchd/backlog.c loads the programs.
 */
#include "ctx/bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

#define TCQ_F_CPUSTATS	0x20	/* its counters are per processor; not in BTF */
#define BULK_MAX	64	/* most packets of one dequeue event */

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

/*
 * If the device got another queueing discipline, forget what the old one held. That has gone
 * without an event.
 */
static __always_inline void backlog_begin(struct csw_backlog *b, const struct net_device *dev)
{
	const struct Qdisc *root = dev->qdisc;
	__u32 handle = root->handle, i;

	/* A new discipline may be at the same address, so compare the handle, too. */
	if (b->root == (__u64)root && b->handle == handle)
		return;
	b->root = (__u64)root;
	b->handle = handle;
	for (i = 0; i < CSW_BACKLOG_QUEUES; i++) {
		b->queue[i] = 0;
		b->dropped[i] = 0;
	}
}

/*
 * The discipline of transmit queue @queue now has @bytes waiting, and has dropped @drops.
 *
 * Several processors may be here at the same time: for other queues, for queues that share this
 * entry, and for this queue if its discipline has no lock. Then a change may get lost. So the
 * totals are always added up anew, and are right again after the next event. An entry is right
 * again when its queue gets empty, at the latest. If several queues share an entry, the last event
 * counts.
 *
 * A packet that a device refuses goes back to the queue without an event, and is subtracted twice.
 * So a queue without a lock looks shorter than it is, behind a device that is often busy. A queue
 * that is emptied without an event (link down, a child of mq replaced) is counted until its next
 * event.
 */
static __always_inline void backlog_set(struct csw_backlog *b, __u32 queue, __u32 bytes,
					__u32 drops)
{
	__u32 i;

	b->queue[queue] = bytes;
	b->dropped[queue] = drops;
	bytes = 0;
	drops = 0;
	for (i = 0; i < CSW_BACKLOG_QUEUES; i++) {
		bytes += b->queue[i];
		if (b->dropped[i] == CSW_DROPS_UNKNOWN || drops == CSW_DROPS_UNKNOWN)
			drops = CSW_DROPS_UNKNOWN;
		else
			drops += b->dropped[i];
	}
	b->bytes = bytes;
	b->drops = drops;
	if (bytes > b->peak)
		b->peak = bytes;
	b->changed = bpf_ktime_get_ns();
}

/*
 * Return: the transmit queue of a discipline; the first one if it serves several
 *
 * The queue that a packet is meant for may be another one.
 */
static __always_inline __u32 queue_index(const struct Qdisc *q)
{
	const struct netdev_queue *txq = q->dev_queue;
	__u64 offset = (const char *)txq - (const char *)txq->dev->_tx;

	return offset / bpf_core_type_size(struct netdev_queue) % CSW_BACKLOG_QUEUES;
}

/*
 * Use the counters of a discipline that has a lock. It knows its backlog, and what its children
 * dropped. To add up events is worse: those before the first switch are missing. Return: false if
 * it has no lock
 */
static __always_inline bool take_its_word(struct csw_backlog *b, const struct Qdisc *q)
{
	if (q->flags & TCQ_F_CPUSTATS)
		return false;
	backlog_set(b, queue_index(q), q->qstats.backlog, q->qstats.drops);
	return true;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(backlog_enqueue, struct Qdisc *q, const struct netdev_queue *txq,
	     struct sk_buff *skb)
{
	struct csw_backlog *b = backlog_of(txq->dev);
	__u32 i;

	if (!b)
		return 0;
	backlog_begin(b, txq->dev);
	if (take_its_word(b, q))
		return 0;
	i = queue_index(q);
	backlog_set(b, i, b->queue[i] + skb->len, CSW_DROPS_UNKNOWN);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(backlog_dequeue, struct Qdisc *q, const struct netdev_queue *txq, int packets,
	     struct sk_buff *skb)
{
	struct csw_backlog *b = backlog_of(txq->dev);
	__u32 i, n, left;

	if (!b)
		return 0;
	backlog_begin(b, txq->dev);
	if (take_its_word(b, q))
		return 0;
	i = queue_index(q);
	/*
	 * If no packet came out, the queue is empty, unless an earlier packet waits for the device.
	 */
	left = skb || q->gso_skb.qlen ? b->queue[i] : 0;
	for (n = 0; n < BULK_MAX && skb; n++) {
		left -= skb->len < left ? skb->len : left;
		skb = skb->next;
	}
	backlog_set(b, i, left, CSW_DROPS_UNKNOWN);
	return 0;
}

/* Redirected frames pass by the queue. All that can be known is that the driver refused some. */
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
