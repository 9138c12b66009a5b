// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that come in, in softirq. Looking into them is the core's.
 */

#include <linux/ip.h>
#include <linux/udp.h>
#include <net/udp.h>
#include "canary.h"
#include "trace.h"

/*
 * One contiguous piece of memory, the Canary header 4-byte aligned where the processor cares.
 * Return: @skb or a copy of it; NULL (and @skb is freed) without memory.
 */
static struct sk_buff *canary_receive_flatten(struct sk_buff *skb)
{
	struct sk_buff *copy;
	unsigned int off;

	if (skb_linearize(skb)) {
		kfree_skb(skb);
		return NULL;
	}
	off = (unsigned long)skb->data & 3;
	if (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || !off)
		return skb;
	copy = skb_copy_expand(skb, skb_headroom(skb) + 4 - off, 0, GFP_ATOMIC);
	consume_skb(skb);
	return copy;
}

static void canary_receive_trace(struct canary_comm *comm, const struct cnr_in *in,
				 enum canary_drop why)
{
	const struct canary_hdr *hdr = in->hdr;

	if (why != CANARY_DROP_NONE)
		trace_drop(comm, why, in->len >= sizeof(*hdr) ? hdr->type : 0, in->addr, in->port,
			   false);
	else if (hdr->type == CANARY_CONTRIBUTION)
		trace_contribution(hdr, in->addr, in->port, false);
	else if (hdr->type == CANARY_RESULT)
		trace_result(hdr, in->addr, in->port, false);
}

/*
 * A packet came to the UDP socket of an engine
 * @skb:	data at the UDP header, its checksum verified if it has one
 * Context: softirq, in an RCU read section. Return: 0, @skb was consumed.
 */
int canary_receive(struct sock *usk, struct sk_buff *skb)
{
	struct canary_comm *comm = rcu_dereference_sk_user_data(usk);
	enum canary_drop why;
	struct cnr_in in;

	if (!comm) {
		kfree_skb(skb);
		return 0;
	}
	skb = canary_receive_flatten(skb);
	spin_lock_bh(&comm->lock);
	if (!skb) {
		canary_count_drop(comm, CANARY_DROP_NOMEM, 1);
		spin_unlock_bh(&comm->lock);
		return 0;
	}
	in.hdr = (const struct canary_hdr *)(skb->data + sizeof(struct udphdr));
	in.len = skb->len - sizeof(struct udphdr);
	in.addr = ip_hdr(skb)->saddr;
	in.port = udp_hdr(skb)->source;
	if (comm->core) {
		why = cnr_input(comm->core, ktime_get_ns(), &in);
	} else {
		why = comm->dead ? CANARY_DROP_ENDED : CANARY_DROP_COMM;
		canary_count_drop(comm, why, 1);
	}
	canary_receive_trace(comm, &in, why);
	canary_comm_pump(comm);
	if (why == CANARY_DROP_NONE)
		consume_skb(skb);
	else
		kfree_skb(skb);
	return 0;
}
