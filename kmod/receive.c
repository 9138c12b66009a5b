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

/* Count a packet that is dropped before the core sees it. */
static void canary_receive_drop(struct canary_comm *comm, struct sk_buff *skb, enum canary_drop why)
{
	spin_lock_bh(&comm->lock);
	canary_count_drop(comm, why, 1);
	spin_unlock_bh(&comm->lock);
	kfree_skb(skb);
}

static void canary_receive_one(struct canary_comm *comm, struct sk_buff *skb)
{
	struct canary_hdr hdr;
	enum canary_drop why;
	struct cnr_in in;
	bool late;
	u64 now;

	if (!pskb_may_pull(skb, min_t(u32, skb->len, CANARY_RECEIVE_HEADERS))) {
		canary_receive_drop(comm, skb, CANARY_DROP_NOMEM);
		return;
	}
	spin_lock_bh(&comm->lock);
	now = ktime_get_ns();
	late = canary_turn_begin(CANARY_TURN_PACKET, comm, now);
	in.addr = canary_addr_of_ip4(ip_hdr(skb)->saddr);
	in.port = udp_hdr(skb)->source;
	if (udp_hdr(skb)->check && canary_receive_gather(comm, skb, &hdr, &in)) {
		why = canary_receive_input(comm, now, &in);
	} else {
		why = udp_hdr(skb)->check ? CANARY_DROP_LENGTH : CANARY_DROP_CHECKSUM;
		in.len = 0;
		canary_count_drop(comm, why, 1);
		canary_receive_trace(comm, &in, why);
	}
	canary_comm_answer(comm, now, late, why == CANARY_DROP_NONE);
	canary_turn_end(CANARY_TURN_PACKET);
	if (why == CANARY_DROP_NONE)
		consume_skb(skb);
	else
		kfree_skb(skb);
}

/*
 * A packet came to the UDP port of one or more engines. The stack has cut up trains of UDP packets.
 * What is still one (GSO) belongs to another protocol, which a tunnel carries to our port.
 * @skb:	data at the UDP header. The checksum was verified if there is one, and there has to
 *		be one Context: softirq, in an RCU read section. Return: 0, @skb was consumed.
 */
int canary_receive(struct sock *usk, struct sk_buff *skb)
{
	struct canary_endpoint *ep = rcu_dereference_sk_user_data(usk);
	struct canary_comm *comm = ep ? canary_endpoint_find(ep, skb) : NULL;

	if (!comm) {
		/* canary_endpoint_find() has counted it, unless the port has just been closed. */
		if (!ep)
			canary_count_stray(sock_net(usk), CANARY_DROP_ENDED, 1);
		kfree_skb(skb);
		return 0;
	}
	/*
	 * UDP runs this filter for ordinary sockets, but not for tunnels. Here it is that of the
	 * engine's own socket.
	 */
	if (sk_filter_trim_cap(READ_ONCE(comm->usk), skb, sizeof(struct udphdr)))
		canary_receive_drop(comm, skb, CANARY_DROP_FILTER);
	else if (skb_is_gso(skb))
		canary_receive_drop(comm, skb, CANARY_DROP_LENGTH);
	else
		canary_receive_one(comm, skb);
	return 0;
}
