// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that a device brought together, and that come from one port to one of ours, are joined to
 * a train (GRO). The stack then looks at them once. The list is the one that train.c makes.
 *
 * The stack has verified the checksums of all of them before it asks here.
 */

#include <net/gro.h>
#include <net/udp.h>
#include "canary.h"

/*
 * Packets of a virtual device may still be charged to their sender, whom @p stands for then. So they
 * have to be charged in the same way.
 */
static bool canary_gro_charged_alike(const struct sk_buff *p, const struct sk_buff *skb)
{
	return p->destructor != sock_wfree ||
	       (skb->destructor == sock_wfree && p->sk == skb->sk);
}

/* May @skb join the train @p? */
static bool canary_gro_takes(const struct sock *sk, struct sk_buff *p, struct sk_buff *skb)
{
	const struct canary_net *cn = canary_net(sock_net(sk));
	u32 len = skb_gro_len(skb);

	return !NAPI_GRO_CB(p)->flush && !NAPI_GRO_CB(skb)->flush &&
	       len <= skb_shinfo(p)->gso_size &&
	       NAPI_GRO_CB(p)->count < READ_ONCE(cn->train_max) &&
	       p->len + len <= CANARY_TRAIN_BYTES && p->ip_summed == skb->ip_summed &&
	       canary_gro_charged_alike(p, skb) && pskb_may_pull(skb, skb_gro_offset(skb));
}

/* @skb joins the train @p, which takes it. */
static void canary_gro_join(struct sk_buff *p, struct sk_buff *skb)
{
	if (NAPI_GRO_CB(p)->last == p)
		skb_shinfo(p)->frag_list = skb;
	else
		NAPI_GRO_CB(p)->last->next = skb;
	NAPI_GRO_CB(p)->last = skb;
	NAPI_GRO_CB(p)->count++;
	/* In a list, data begin behind the headers. */
	skb_pull(skb, skb_gro_offset(skb));
	if (p->destructor == sock_wfree) {
		/* @p is charged for both now. */
		skb->destructor = NULL;
		skb->sk = NULL;
	} else {
		skb_orphan(skb);
	}
	p->len += skb->len;
	p->data_len += skb->len;
	p->truesize += skb->truesize;
	NAPI_GRO_CB(skb)->same_flow = 1;
}

/*
 * A packet came to a port of ours. @head: packets that wait; those of its flow are marked. Context:
 * softirq, in an RCU read section. Return: NULL, or a packet that does not wait any longer
 */
struct sk_buff *canary_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb)
{
	struct sk_buff *p;
	bool last;

	/* Then it need not wait for others. */
	if (READ_ONCE(canary_net(sock_net(sk))->train_max) < 2) {
		NAPI_GRO_CB(skb)->flush = 1;
		return NULL;
	}
	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow)
			continue;
		if (!canary_gro_takes(sk, p, skb))
			return p;
		last = skb_gro_len(skb) < skb_shinfo(p)->gso_size;
		canary_gro_join(p, skb);
		/* A shorter packet is the last one, as in train.c. */
		return last ? p : NULL;
	}
	return NULL;
}

/* @skb is a train of several packets, and goes up. Return: 0 */
int canary_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_type |= CANARY_TRAIN_TYPE;
	info->gso_segs = NAPI_GRO_CB(skb)->count;
	/* It carries no packets of another protocol. */
	skb->encapsulation = 0;
	if (skb->ip_summed != CHECKSUM_PARTIAL) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = 0;
	}
	return 0;
}
