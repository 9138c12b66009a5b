// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: packets that pass the network stack as one. Packets to one destination that are sent
 * together become one socket buffer with a list of the others (a fragment list, as GRO makes it).
 * Each is complete, with its own headers. So routing, netfilter and queues see a train once. Virtual
 * devices pass it on as it is, and the receiving engine takes it apart. Other devices get single
 * packets: the stack takes the list apart just before them, which costs little.
 *
 * On the wire only the ids of IP differ: they count the packets of a train.
 *
 * Two flags of segmentation offload tell the stack what a train is. SKB_GSO_FRAGLIST: a list of
 * complete packets. No hardware takes such lists. SKB_GSO_UDP_TUNNEL_CSUM: it may be given to the
 * socket of a tunnel as a whole (udp_unexpected_gso()), which ours is for UDP (port.c).
 */

#include <linux/udp.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include "canary.h"

/* What the UDP socket of the train @skb was charged for all of its packets */
static unsigned int canary_train_charge(const struct sk_buff *skb)
{
	return (unsigned long)skb_shinfo(skb)->destructor_arg;
}

static void canary_train_charge_set(struct sk_buff *skb, unsigned long bytes)
{
	skb_shinfo(skb)->destructor_arg = (void *)bytes;
}

/*
 * sock_wfree() for a train. Its first packet is charged for all of them, whether they are still
 * together or not. Kernels differ in what they make of skb->truesize when they take a list apart.
 */
static void canary_train_free(struct sk_buff *skb)
{
	unsigned int charge = canary_train_charge(skb);
	struct sock *sk = skb->sk;

	/* All but one, so that the socket stays while it is woken. */
	WARN_ON_ONCE(refcount_sub_and_test(charge - 1, &sk->sk_wmem_alloc));
	sk->sk_write_space(sk);
	sk_free(sk);
}

/* A round of sending begins. Context: canary_comm.lock is held; there is a core. */
void canary_trains_begin(struct canary_comm *comm)
{
	comm->train_most = min_t(u32, READ_ONCE(canary_net(comm->net)->train_max),
				 cnr_host_burst(comm->core));
}

/* Others may join @skb, which was just built for @r, and is the last one to there. */
void canary_train_begin(struct canary_comm *comm, struct canary_route *r, struct sk_buff *skb)
{
	const struct dst_entry *dst = &r->rt->dst;

	lockdep_assert_held(&comm->lock);
	canary_train_end(comm, r);
	/* IPsec and other tunnels of routes look at each packet. */
	if (comm->train_most < 2 || dst_xfrm(dst) || dst->lwtstate)
		return;
	r->train = skb;
	r->last = NULL;
	r->size = skb->len - skb_transport_offset(skb) - sizeof(struct udphdr);
	comm->trains |= 1U << (r - comm->routes);
}

/* Nobody may join the last packet for @r any more. Context: canary_comm.lock is held. */
void canary_train_end(struct canary_comm *comm, struct canary_route *r)
{
	r->train = NULL;
	comm->trains &= ~(1U << (r - comm->routes));
}

/* The same for all routes */
void canary_trains_end(struct canary_comm *comm)
{
	while (comm->trains)
		canary_train_end(comm, &comm->routes[__ffs(comm->trains)]);
}

/* May a packet of @size bytes from the Canary header on join the train of @r? */
bool canary_train_takes(const struct canary_route *r, u32 size)
{
	return r->train && size <= r->size && r->train->len + size <= CANARY_TRAIN_BYTES;
}

/* @skb, complete from the IP header on, joins the train of @r, which takes it. */
void canary_train_add(struct canary_comm *comm, struct canary_route *r, struct sk_buff *skb)
{
	struct sk_buff *train = r->train;
	struct skb_shared_info *info = skb_shinfo(train);

	if (!r->last) {
		info->gso_size = r->size;
		info->gso_type = CANARY_TRAIN_TYPE;
		info->gso_segs = 1;
		info->frag_list = skb;
		canary_train_charge_set(train, train->truesize);
		train->destructor = canary_train_free;
	} else {
		r->last->next = skb;
	}
	r->last = skb;
	refcount_add(skb->truesize, &comm->usk->sk_wmem_alloc);
	canary_train_charge_set(train, canary_train_charge(train) + skb->truesize);
	/* In a list, data begin behind the headers. */
	skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	train->len += skb->len;
	train->data_len += skb->len;
	train->truesize += skb->truesize;
	if (++info->gso_segs >= comm->train_most)
		canary_train_end(comm, r);
}

/* Complete the headers of @skb, if it is a train. Return: how many packets it is */
u32 canary_train_close(struct sk_buff *skb)
{
	if (!skb_is_gso(skb))
		return 1;
	udp_hdr(skb)->len = htons(skb->len - skb_transport_offset(skb));
	return skb_shinfo(skb)->gso_segs;
}

/* @skb came in the list of the train @head. Give it what the stack has noted of the whole. */
static void canary_train_like(struct sk_buff *skb, const struct sk_buff *head)
{
	skb->dev = head->dev;
	skb->skb_iif = head->skb_iif;
	skb->protocol = head->protocol;
	skb->pkt_type = head->pkt_type;
	skb->mark = head->mark;
	skb->ip_summed = head->ip_summed;
	skb_copy_secmark(skb, head);
}

/*
 * Take @skb, a reference to a packet in a list. Others may look at that list, who captured the
 * train: then it stays as it is. Return: the packet, which nobody else has; NULL without memory
 */
static struct sk_buff *canary_train_own(struct sk_buff *skb)
{
	struct sk_buff *own = skb;

	if (skb_shared(skb)) {
		own = skb_clone(skb, GFP_ATOMIC);
		consume_skb(skb);
	}
	if (own)
		skb_mark_not_on_list(own);
	return own;
}

/*
 * Take a train apart.
 * @skb:	a packet or train that came, data at the UDP header
 *
 * Return: a list of packets, linked by skb->next, all with data at the UDP header. NULL: @skb is
 * joined in another way, and belongs to another protocol
 */
struct sk_buff *canary_train_apart(struct sk_buff *skb)
{
	struct sk_buff *list, *next, *last = skb;

	/* The stack may hand over one of several, and not have cleared this. */
	skb_mark_not_on_list(skb);
	if (!skb_is_gso(skb))
		return skb;
	if ((skb_shinfo(skb)->gso_type & CANARY_TRAIN_TYPE) != CANARY_TRAIN_TYPE ||
	    !skb_has_frag_list(skb) || skb_unclone(skb, GFP_ATOMIC))
		return NULL;
	list = skb_shinfo(skb)->frag_list;
	skb_shinfo(skb)->frag_list = NULL;
	skb_gso_reset(skb);
	for (; list; list = next) {
		next = list->next;
		skb->len -= list->len;
		skb->data_len -= list->len;
		skb->truesize -= list->truesize;
		list = canary_train_own(list);
		if (!list) {
			canary_count_stray(dev_net(skb->dev), CANARY_DROP_NOMEM, 1);
			continue;
		}
		canary_train_like(list, skb);
		__skb_push(list, sizeof(struct udphdr));
		last->next = list;
		last = list;
	}
	udp_hdr(skb)->len = htons(skb->len);
	return skb;
}
