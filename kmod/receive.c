// SPDX-License-Identifier: GPL-2.0
/* Incoming packets, in softirq. The core looks into them. */

#include <linux/filter.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/udp.h>
#include "canary.h"
#include "trace.h"

#define CANARY_RECEIVE_HEADERS	(sizeof(struct udphdr) + sizeof(struct canary_hdr))

static bool canary_receive_aligned(const void *p)
{
	return IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || !((unsigned long)p & 3);
}

/*
 * Prepare a packet for the core. The core needs the header, and what follows it, each in one piece
 * and aligned. The header may be copied to @hdr. What follows is at offset @off of @skb. It is used
 * in place if all of it is in the linear part, or all of it in one page; else it is copied to
 * canary_comm.flat. Context: canary_comm.lock is held. Return: false if it is too long
 */
static bool canary_receive_gather(struct canary_comm *comm, struct sk_buff *skb,
				  struct canary_hdr *hdr, struct cnr_in *in)
{
	const unsigned int off = CANARY_RECEIVE_HEADERS;
	const skb_frag_t *frag = skb_shinfo(skb)->frags;

	in->len = skb->len - sizeof(struct udphdr);
	in->payload = NULL;
	in->hdr = (const struct canary_hdr *)(skb->data + sizeof(struct udphdr));
	if (!canary_receive_aligned(in->hdr)) {
		memcpy(hdr, in->hdr, min_t(u32, in->len, sizeof(*hdr)));
		in->hdr = hdr;
	} else if (skb->len == skb_headlen(skb)) {
		return true;
	}
	if (skb->len <= off)
		return true;
	if (skb_headlen(skb) == off && skb_shinfo(skb)->nr_frags == 1 && !skb_has_frag_list(skb) &&
	    !PageHighMem(skb_frag_page(frag))) {
		/* NULL: the memory of a device, which cannot be read. To copy it fails, too. */
		in->payload = skb_frag_address(frag);
		if (in->payload && canary_receive_aligned(in->payload))
			return true;
	}
	in->payload = comm->flat;
	return skb->len - off <= sizeof(comm->flat) &&
	       !skb_copy_bits(skb, off, comm->flat, skb->len - off);
}

static void canary_receive_trace(struct canary_comm *comm, const struct cnr_in *in,
				 enum canary_drop why)
{
	const struct canary_hdr *hdr = in->hdr;

	if (why != CANARY_DROP_NONE)
		trace_drop(comm, why, in->len >= sizeof(*hdr) ? hdr->type : 0, &in->addr, in->port,
			   false);
	else if (hdr->type == CANARY_CONTRIBUTION)
		trace_contribution(hdr, &in->addr, in->port, false);
	else if (hdr->type == CANARY_RESULT)
		trace_result(hdr, &in->addr, in->port, false);
}

/* The core takes a packet. Return: why it was dropped, which is counted. */
static enum canary_drop canary_receive_input(struct canary_comm *comm, u64 now,
					     const struct cnr_in *in)
{
	enum canary_drop why;

	if (comm->core) {
		why = cnr_input(comm->core, now, in);
	} else {
		why = comm->dead ? CANARY_DROP_ENDED : CANARY_DROP_COMM;
		canary_count_drop(comm, why, 1);
	}
	canary_receive_trace(comm, in, why);
	return why;
}

/* What canary_receive() notes of a packet */
struct canary_receive_cb {
	enum canary_drop	why;	/* why it is dropped */
};

#define CANARY_RECEIVE_CB(skb)	((struct canary_receive_cb *)(skb)->cb)

/*
 * What of a packet the module looks at itself. UDP runs the filter for ordinary sockets, but not
 * for tunnels. Here it is that of the engine's own socket.
 */
static enum canary_drop canary_receive_check(struct canary_comm *comm, struct sk_buff *skb,
					     bool checksum)
{
	if (sk_filter_trim_cap(READ_ONCE(comm->usk), skb, sizeof(struct udphdr)))
		return CANARY_DROP_FILTER;
	if (!pskb_may_pull(skb, min_t(u32, skb->len, CANARY_RECEIVE_HEADERS)))
		return CANARY_DROP_NOMEM;
	return checksum ? CANARY_DROP_NONE : CANARY_DROP_CHECKSUM;
}

/* Hand one packet to the core. @in: where it came from. Context: canary_comm.lock is held. */
static enum canary_drop canary_receive_one(struct canary_comm *comm, struct sk_buff *skb, u64 now,
					   struct cnr_in *in)
{
	enum canary_drop why = CANARY_RECEIVE_CB(skb)->why;
	struct canary_hdr hdr;

	if (why == CANARY_DROP_NONE && canary_receive_gather(comm, skb, &hdr, in))
		return canary_receive_input(comm, now, in);
	if (why == CANARY_DROP_NONE)
		why = CANARY_DROP_LENGTH;
	in->len = 0;
	canary_count_drop(comm, why, 1);
	canary_receive_trace(comm, in, why);
	return why;
}

/*
 * @list, linked by skb->next, is for @comm. It takes all of them before it answers.
 * @in:		where all of them came from; the rest is filled in for each
 * @checksum:	they have one; in a train all do, or none
 */
static void canary_receive_list(struct canary_comm *comm, struct sk_buff *list, struct cnr_in *in,
				bool checksum)
{
	enum canary_drop why = CANARY_DROP_NONE;
	struct sk_buff *skb, *next;
	bool late, held;
	u32 n = 0;
	u64 now;

	for (skb = list; skb; skb = skb->next)
		CANARY_RECEIVE_CB(skb)->why = canary_receive_check(comm, skb, checksum);
	spin_lock_bh(&comm->lock);
	now = ktime_get_ns();
	late = canary_turn_begin(CANARY_TURN_PACKET, comm, now);
	held = list->next && cnr_vector_hold(CANARY_PAYLOAD_MAX / sizeof(u32));
	for (skb = list; skb; skb = skb->next) {
		why = canary_receive_one(comm, skb, now, in);
		CANARY_RECEIVE_CB(skb)->why = why;
		n++;
	}
	if (held)
		cnr_vector_release();
	canary_comm_answer(comm, now, late, n, why == CANARY_DROP_NONE);
	canary_turn_end(CANARY_TURN_PACKET);
	skb_list_walk_safe(list, skb, next) {
		skb_mark_not_on_list(skb);
		if (CANARY_RECEIVE_CB(skb)->why == CANARY_DROP_NONE)
			consume_skb(skb);
		else
			kfree_skb(skb);
	}
}

/*
 * A packet or a train came to the UDP port of one or more engines. A train may have packets for
 * several of them. Packets for nobody are dropped, and canary_endpoint_find() counts each.
 * @skb:	data at the UDP header. The checksum was verified if there is one, and there has to
 *		be one Context: softirq, in an RCU read section. Return: 0, @skb was consumed.
 */
int canary_receive(struct sock *usk, struct sk_buff *skb)
{
	struct canary_endpoint *ep = rcu_dereference_sk_user_data(usk);
	struct cnr_in from = {
		.addr = canary_addr_of_ip4(ip_hdr(skb)->saddr),
		.port = udp_hdr(skb)->source,
	};
	bool checksum = udp_hdr(skb)->check;
	struct canary_comm *comm, *next;
	struct sk_buff *list, *its;

	if (!ep) {
		canary_count_stray(sock_net(usk), CANARY_DROP_ENDED, 1);
		kfree_skb(skb);
		return 0;
	}
	list = canary_train_apart(usk, skb);
	for (next = list ? canary_endpoint_find(ep, list) : NULL; list;) {
		comm = next;
		its = list;
		while (list->next) {
			next = canary_endpoint_find(ep, list->next);
			if (next != comm)
				break;
			list = list->next;
		}
		skb = list->next;
		list->next = NULL;
		list = skb;
		if (comm)
			canary_receive_list(comm, its, &from, checksum);
		else
			kfree_skb_list(its);
	}
	return 0;
}
