// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: packets that pass the network stack as one. Packets to one destination that are sent
 * together become one socket buffer with a list of the others (a fragment list, as GRO makes it).
 * Each is complete, with its own headers. So routing, netfilter and queues see a train once.
 * Virtual devices pass it on as it is, and the receiving engine takes it apart. Other devices get
 * single packets: the stack takes the list apart just before them, which costs little. What is sent
 * again goes alone, as something on the way may lose trains.
 *
 * On the wire only the ids of IP differ: they count the packets of a train.
 *
 * Two flags of segmentation offload tell the stack what a train is. SKB_GSO_FRAGLIST: a list of
 * complete packets. No hardware takes such lists. SKB_GSO_UDP_TUNNEL_CSUM: it may be given to the
 * socket of a tunnel as a whole (udp_unexpected_gso()), which ours is for UDP (port.c). Devices of
 * tunnels lack that feature, so the stack takes a train apart before one.
 */

#include <linux/module.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include "canary.h"

#define CANARY_TRAIN_TYPE	(SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST | SKB_GSO_UDP_TUNNEL_CSUM)
#define CANARY_TRAIN_BYTES	(IP_MAX_MTU - 1500)	/* of a train, with some room for headers */

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
 * sock_wfree() for a train; the same order as there pairs with canary_comm_blocked(). The first
 * packet of a train is charged for all of them, whether they are still together or not. Kernels
 * differ in what they make of skb->truesize when they take a list apart. A queue that takes trains
 * apart gives all of the charge back with the first packet.
 */
static void canary_train_free(struct sk_buff *skb)
{
	unsigned int charge = canary_train_charge(skb);
	struct sock *sk = skb->sk;

	/* All but one, so that the socket stays while it is woken. */
	WARN_ON_ONCE(refcount_sub_and_test(charge - 1, &sk->sk_wmem_alloc));
	sk->sk_write_space(sk);
	sk_free(sk);
	/* Engines may be gone. canary_exit() waits until this function has returned. */
	module_put(THIS_MODULE);
}

/* A round of sending begins. Context: canary_comm.lock is held; there is a core. */
void canary_trains_begin(struct canary_comm *comm, u64 now)
{
	comm->train_most = min_t(u32, READ_ONCE(canary_net(comm->net)->train_max),
				 cnr_host_burst(comm->core, now));
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

/*
 * Compute the checksum of @skb, whose data are at the IP header. To take a list apart computes
 * none, and the device behind that may not compute any either.
 */
static void canary_train_checksum(struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	struct udphdr *uh = udp_hdr(skb);
	unsigned int len = skb->len - skb_transport_offset(skb);

	uh->check = 0;
	uh->check = udp_v4_check(len, iph->saddr, iph->daddr, csum_partial(uh, len, 0));
	if (!uh->check)
		uh->check = CSUM_MANGLED_0;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/* @skb, complete from the IP header on, joins the train of @r, which takes it. */
void canary_train_add(struct canary_comm *comm, struct canary_route *r, struct sk_buff *skb)
{
	struct sk_buff *train = r->train;
	struct skb_shared_info *info = skb_shinfo(train);
	u32 size = skb->len - skb_transport_offset(skb) - sizeof(struct udphdr);

	if (!r->last) {
		info->gso_size = r->size;
		info->gso_type = CANARY_TRAIN_TYPE;
		info->gso_segs = 1;
		info->frag_list = skb;
		canary_train_checksum(train);
		canary_train_charge_set(train, train->truesize);
		train->destructor = canary_train_free;
		/* This cannot fail, since the engine holds a reference. */
		__module_get(THIS_MODULE);
	} else {
		r->last->next = skb;
	}
	r->last = skb;
	refcount_add(skb->truesize, &comm->usk->sk_wmem_alloc);
	canary_train_charge_set(train, canary_train_charge(train) + skb->truesize);
	canary_train_checksum(skb);
	ip_hdr(skb)->tot_len = htons(skb->len);
	ip_send_check(ip_hdr(skb));
	/* In a list, data begin behind the headers. */
	skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	train->len += skb->len;
	train->data_len += skb->len;
	train->truesize += skb->truesize;
	/* A shorter packet is the last one: who joins a train to one buffer needs that. */
	info->gso_segs++;
	if (size < r->size || info->gso_segs >= comm->train_most)
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
 * Take @skb, a reference to a packet in a list. Whoever captured the train may still look at that
 * list: then it stays as it is. Return: the packet, which nobody else has; NULL without memory
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
 * Some have joined the packets of a train to one buffer: generic XDP, for example. The stack cuts
 * it, as it does for ordinary sockets. Return: a list of packets; NULL: it was dropped and counted
 */
static struct sk_buff *canary_train_cut(struct sock *usk, struct sk_buff *skb)
{
	struct sk_buff *list, *one;

	__skb_push(skb, -skb_mac_offset(skb));
	list = udp_rcv_segment(usk, skb, true);
	if (!list)
		canary_count_stray(sock_net(usk), CANARY_DROP_LENGTH, 1);
	for (one = list; one; one = one->next) {
		__skb_pull(one, skb_transport_offset(one));
		udp_post_segment_fix_csum(one);
	}
	return list;
}

/* Take the list of the train @skb, which nobody else has, apart. */
static void canary_train_unlink(struct sk_buff *skb)
{
	struct sk_buff *one = skb_shinfo(skb)->frag_list, *next, *last = skb;

	skb_shinfo(skb)->frag_list = NULL;
	skb_gso_reset(skb);
	for (; one; one = next) {
		next = one->next;
		skb->len -= one->len;
		skb->data_len -= one->len;
		skb->truesize -= one->truesize;
		one = canary_train_own(one);
		if (!one) {
			canary_count_stray(dev_net(skb->dev), CANARY_DROP_NOMEM, 1);
			continue;
		}
		canary_train_like(one, skb);
		__skb_push(one, sizeof(struct udphdr));
		last->next = one;
		last = one;
	}
	udp_hdr(skb)->len = htons(skb->len);
	ip_hdr(skb)->tot_len = htons(skb->len + skb_network_header_len(skb));
	ip_send_check(ip_hdr(skb));
}

/**
 * canary_train_apart() - take a train apart
 * @usk:	the socket that it came to
 * @skb:	a packet or train, data at the UDP header
 *
 * Return: a list of packets, linked by skb->next, all with data at the UDP header. NULL: @skb was
 * dropped, and that was counted: it belongs to another protocol, or there is no memory
 */
struct sk_buff *canary_train_apart(struct sock *usk, struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	/* It may still be linked in a list of the stack. */
	skb_mark_not_on_list(skb);
	if (!skb_is_gso(skb))
		return skb;
	if ((info->gso_type & CANARY_TRAIN_TYPE) != CANARY_TRAIN_TYPE) {
		canary_count_stray(sock_net(usk), CANARY_DROP_LENGTH, 1);
		kfree_skb(skb);
		return NULL;
	}
	if (!skb_has_frag_list(skb) || skb_pagelen(skb) - sizeof(struct udphdr) != info->gso_size)
		return canary_train_cut(usk, skb);
	/* What is charged to the sender is that of all of them. */
	skb_orphan(skb);
	if (skb_unclone(skb, GFP_ATOMIC)) {
		canary_count_stray(sock_net(usk), CANARY_DROP_NOMEM, info->gso_segs);
		kfree_skb(skb);
		return NULL;
	}
	canary_train_unlink(skb);
	return skb;
}
