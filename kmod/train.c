// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: packets that pass the network stack as one. Successive packets to one destination, of one
 * length but for the last, become one socket buffer for UDP segmentation (GSO). Device or stack cut
 * it up just before it is sent. So routing, netfilter and queues see a train once. There is no
 * other way round: the stack cuts up joined packets (GRO) before a tunnel's socket sees them.
 *
 * On the wire only the ids of IP differ: they count the packets of a train. The first packet of a
 * train is in the linear part of its buffer, the others are in its fragments, each in one.
 */

#include <linux/udp.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include "canary.h"

#define CANARY_TRAIN_BYTES	(IP_MAX_MTU - 1500)	/* of a train, with some room for headers */
/* What a packet is charged besides its bytes, as if it had a socket buffer of its own */
#define CANARY_TRAIN_CHARGE	SKB_TRUESIZE(0)

/* Others may join @skb, which was just built of @out, and is the last one to be sent. */
void canary_train_begin(struct canary_comm *comm, struct sk_buff *skb, const struct cnr_out *out)
{
	struct canary_train *t = &comm->train;
	const struct dst_entry *dst = skb_dst(skb);

	lockdep_assert_held(&comm->lock);
	t->skb = NULL;
	t->most = READ_ONCE(canary_net(comm->net)->train_max);
	/* IPsec and other tunnels of routes look at each packet. */
	if (t->most < 2 || dst_xfrm(dst) || dst->lwtstate)
		return;
	t->skb = skb;
	t->addr = out->addr;
	t->port = out->port;
	t->size = sizeof(out->hdr) + out->len;
}

/* Nobody may join the last packet any more. Context: canary_comm.lock is held. */
void canary_train_end(struct canary_comm *comm)
{
	comm->train.skb = NULL;
}

/* May @out join the last packet? Its data need not be there yet. */
bool canary_train_takes(const struct canary_comm *comm, const struct cnr_out *out)
{
	const struct canary_train *t = &comm->train;
	u32 size = sizeof(out->hdr) + out->len;

	return t->skb && size <= t->size && t->port == out->port &&
	       canary_addr_equal(&t->addr, &out->addr) &&
	       t->skb->len + size <= CANARY_TRAIN_BYTES;
}

/* Return: memory for header and data of @out; NULL: there is none */
void *canary_train_room(const struct cnr_out *out)
{
	return canary_pages_cut(SKB_DATA_ALIGN(sizeof(out->hdr) + out->len));
}

/*
 * @out joins the last packet, which takes it. @data are of canary_train_room(), and belong to the
 * train now.
 */
void canary_train_add(struct canary_comm *comm, const struct cnr_out *out, u8 *data)
{
	struct canary_train *t = &comm->train;
	struct skb_shared_info *info = skb_shinfo(t->skb);
	struct page *page = virt_to_head_page(data);
	u32 size = sizeof(out->hdr) + out->len;
	u32 charge = SKB_DATA_ALIGN(size) + CANARY_TRAIN_CHARGE;

	if (!info->gso_size) {
		info->gso_size = t->size;
		info->gso_type = SKB_GSO_UDP_L4;
		info->gso_segs = 1;
	}
	memcpy(data, &out->hdr, sizeof(out->hdr));
	skb_fill_page_desc(t->skb, info->nr_frags, page, data - (u8 *)page_address(page), size);
	t->skb->len += size;
	t->skb->data_len += size;
	t->skb->truesize += charge;
	refcount_add(charge, &comm->usk->sk_wmem_alloc);
	info->gso_segs++;
	/* A shorter packet is the last one. */
	if (size < t->size || info->gso_segs >= t->most || info->nr_frags == MAX_SKB_FRAGS)
		canary_train_end(comm);
}

/* Complete the headers of @skb, if it is a train. Return: how many packets it is */
u32 canary_train_close(struct sk_buff *skb)
{
	struct udphdr *uh = udp_hdr(skb);

	if (!skb_is_gso(skb))
		return 1;
	uh->len = htons(skb->len - skb_transport_offset(skb));
	udp4_hwcsum(skb, ip_hdr(skb)->saddr, ip_hdr(skb)->daddr);
	return skb_shinfo(skb)->gso_segs;
}
