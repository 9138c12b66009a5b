// SPDX-License-Identifier: GPL-2.0
/* Outgoing packets: socket buffers for what the core wants sent, and their routes. */

#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/route.h>
#include <net/tcp.h>
#include <net/udp.h>
#include "canary.h"
#include "trace.h"

/* Headers before the Canary header */
#define CANARY_SEND_HEADERS	(sizeof(struct iphdr) + sizeof(struct udphdr))
/*
 * Room in front of those, as much as TCP leaves. A tunnel on the way may need it: it does not make
 * room in each packet of a train. And an XDP program on the other end of a veth wants 256 bytes, or
 * the packet is copied.
 */
#define CANARY_SEND_ROOM	MAX_TCP_HEADER

/* Find the route to a member or switch. Return: the route; or an error pointer */
static struct canary_route *canary_send_route(struct canary_comm *comm,
					      const struct canary_addr *addr, __be16 port)
{
	u32 key = canary_addr_fold(addr) ^ (__force u32)port << 16;
	struct canary_route *r = &comm->routes[hash_32(key, ilog2(CANARY_ROUTES))];
	struct canary_addr from = comm->addr;
	struct rtable *rt;

	if (r->rt) {
		if (canary_addr_equal(&r->addr, addr) && r->port == port &&
		    dst_check(&r->rt->dst, 0))
			return r;
		canary_train_end(comm, r);
		ip_rt_put(r->rt);
		r->rt = NULL;
	}
	rt = canary_route_lookup(comm, &from, addr, port);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	r->addr = *addr;
	r->port = port;
	r->rt = rt;
	return r;
}

/* Context: canary_comm.lock is held. */
void canary_send_forget_routes(struct canary_comm *comm)
{
	u32 i;

	BUILD_BUG_ON(BITS_PER_TYPE(comm->trains) < CANARY_ROUTES);
	lockdep_assert_held(&comm->lock);
	canary_trains_end(comm);
	for (i = 0; i < CANARY_ROUTES; i++) {
		if (comm->routes[i].rt)
			ip_rt_put(comm->routes[i].rt);
		comm->routes[i].rt = NULL;
	}
}

static void canary_send_headers(struct canary_comm *comm, struct sk_buff *skb,
				const struct cnr_out *out, int ttl)
{
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	struct iphdr *iph;

	skb_reset_transport_header(skb);
	uh->source = comm->port;
	uh->dest = out->port;
	uh->len = htons(skb->len);

	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = 0;
	/* A packet that is never fragmented needs no identification (RFC 6864). */
	iph->id = 0;
	iph->frag_off = htons(IP_DF);
	iph->ttl = ttl;
	iph->protocol = IPPROTO_UDP;
	iph->saddr = canary_addr_ip4(&comm->addr);
	iph->daddr = canary_addr_ip4(&out->addr);
	/* The device makes the checksum, or the kernel if the device cannot. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	udp4_hwcsum(skb, iph->saddr, iph->daddr);
}

static struct sk_buff *canary_send_drop(struct canary_comm *comm, const struct cnr_out *out,
					enum canary_drop why)
{
	canary_count_drop(comm, why, 1);
	trace_drop(comm, why, out->hdr.type, &out->addr, out->port, true);
	return NULL;
}

static void canary_send_trace(const struct cnr_out *out)
{
	if (out->again)
		trace_retransmission(&out->hdr, &out->addr, out->port, true);
	else if (out->hdr.type == CANARY_CONTRIBUTION)
		trace_contribution(&out->hdr, &out->addr, out->port, true);
	else if (out->hdr.type == CANARY_RESULT)
		trace_result(&out->hdr, &out->addr, out->port, true);
}

/*
 * Allocate @size bytes behind @headroom, cut from pages at hand. This costs half of what slabs
 * cost. Context: softirqs are off.
 */
static struct sk_buff *canary_send_alloc(unsigned int headroom, unsigned int size)
{
	unsigned int total = SKB_DATA_ALIGN(headroom + size) +
			     SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *data = canary_pages_cut(total);
	struct sk_buff *skb;

	if (!data)
		return NULL;
	skb = napi_build_skb(data, total);
	if (skb)
		skb_reserve(skb, headroom);
	else
		skb_free_frag(data);
	return skb;
}

/*
 * Begin the socket buffer of @out for @r, whose header and data need not be there yet. There is
 * room for both. Return: NULL, and *@why
 */
static __always_inline struct sk_buff *canary_send_begin(const struct canary_route *r,
							 const struct cnr_out *out,
							 enum canary_drop *why)
{
	const struct dst_entry *dst = &r->rt->dst;
	unsigned int size = sizeof(out->hdr) + out->len, room;
	struct sk_buff *skb;

	*why = CANARY_DROP_MTU;
	if (CANARY_SEND_HEADERS + size > canary_route_mtu(r->rt))
		return NULL;
	/* A multiple of 4 keeps the data aligned for a receiver that gets this very buffer. */
	room = ALIGN(max_t(u32, LL_RESERVED_SPACE(dst->dev), CANARY_SEND_ROOM), 16);
	*why = CANARY_DROP_NOMEM;
	skb = canary_send_alloc(room + dst->header_len + CANARY_SEND_HEADERS,
				size + dst->trailer_len);
	if (skb)
		skb_put(skb, size);
	return skb;
}

/* Return: where the data of @skb are, which was just begun */
static void *canary_send_data(const struct sk_buff *skb)
{
	return skb->data + sizeof(struct canary_hdr);
}

/*
 * cnr_config.place: the core makes data where they are sent from. Nobody else sees that memory
 * before canary_send_add() has taken the packet. Why there is no place is counted there, too.
 */
void *canary_send_place(void *driver, const struct cnr_out *out)
{
	struct canary_comm *comm = driver;
	struct canary_route *r;
	enum canary_drop why;

	canary_send_unplace(comm);
	r = canary_send_route(comm, &out->addr, out->port);
	if (IS_ERR(r))
		return NULL;
	comm->placed = canary_send_begin(r, out, &why);
	return comm->placed ? canary_send_data(comm->placed) : NULL;
}

/* The core has made data, but no packet of them. Context: canary_comm.lock is held. */
void canary_send_unplace(struct canary_comm *comm)
{
	if (comm->placed)
		kfree_skb(comm->placed);
	comm->placed = NULL;
}

/*
 * Make a socket buffer of @out for @r, complete from the IP header on.
 *
 * A packet is a copy of its part of the vector, even if that is in the application's pages. It may
 * stay in a queue after the vector has been given back, and must not show what the application
 * writes later. To carry the pages (struct ubuf_info) costs more than to copy so few bytes, which
 * the checksum has just brought into the cache. It takes a reference for each packet. And the
 * kernel copies the pages anyway if it delivers the packet on this machine (skb_orphan_frags_rx()).
 * Context: canary_comm.lock is held. Return: NULL if it was dropped, which is counted.
 */
static struct sk_buff *canary_send_build(struct canary_comm *comm, const struct canary_route *r,
					 const struct cnr_out *out)
{
	struct sk_buff *skb = comm->placed;
	enum canary_drop why;

	if (skb && out->payload == canary_send_data(skb)) {
		comm->placed = NULL;
	} else {
		skb = canary_send_begin(r, out, &why);
		if (!skb)
			return canary_send_drop(comm, out, why);
		if (out->len)
			memcpy(canary_send_data(skb), out->payload, out->len);
	}
	memcpy(skb->data, &out->hdr, sizeof(out->hdr));
	canary_send_headers(comm, skb, out, ip4_dst_hoplimit(&r->rt->dst));
	return skb;
}

/*
 * @out is to be sent: it joins the last packet to its destination, or is a packet of its own in
 * @queue. It is charged to the UDP socket until it has left the machine. Context: canary_comm.lock
 * is held; canary_trains_end() has to follow before @queue is sent.
 */
void canary_send_add(struct canary_comm *comm, const struct cnr_out *out,
		     struct sk_buff_head *queue)
{
	struct canary_route *r = canary_send_route(comm, &out->addr, out->port);
	struct sk_buff *skb;

	if (IS_ERR(r)) {
		canary_send_drop(comm, out, CANARY_DROP_NOROUTE);
		return;
	}
	skb = canary_send_build(comm, r, out);
	if (!skb)
		return;
	if (!out->again && canary_train_takes(r, sizeof(out->hdr) + out->len)) {
		canary_train_add(comm, r, skb);
	} else {
		dst_hold(&r->rt->dst);
		skb_dst_set(skb, &r->rt->dst);
		skb->priority = READ_ONCE(comm->usk->sk_priority);
		skb->mark = READ_ONCE(comm->usk->sk_mark);
		skb_set_owner_w(skb, comm->usk);
		__skb_queue_tail(queue, skb);
		if (!out->again)
			canary_train_begin(comm, r, skb);
	}
	canary_send_trace(out);
}

/*
 * @failed packets were not taken, @refused of them by a full queue. They are lost: to keep each
 * packet until it was taken would cost more. So there have to be few of them. Context: softirqs are
 * off, canary_comm.lock is not held.
 */
static void canary_send_failed(struct canary_comm *comm, u32 failed, u32 refused)
{
	spin_lock(&comm->lock);
	canary_count_drop(comm, CANARY_DROP_XMIT, failed);
	if (refused && comm->core)
		cnr_host_refused(comm->core, ktime_get_ns(), sk_wmem_alloc_get(comm->usk));
	spin_unlock(&comm->lock);
}

/*
 * Hand packets to IP. Softirqs are off meanwhile, so that packets that come back are handled as a
 * batch. Context: softirq or process, canary_comm.lock is not held.
 */
void canary_send_queue(struct canary_comm *comm, struct sk_buff_head *queue)
{
	struct sk_buff *skb;
	u32 failed = 0, refused = 0, n;
	int err;

	local_bh_disable();
	while ((skb = __skb_dequeue(queue))) {
		n = canary_train_close(skb);
		memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
		err = ip_local_out(comm->net, skb->sk, skb);
		if (net_xmit_eval(err))
			failed += n;
		if (err == NET_XMIT_DROP || err == NET_XMIT_CN)
			refused += n;
	}
	if (failed || refused)
		canary_send_failed(comm, failed, refused);
	local_bh_enable();
}
