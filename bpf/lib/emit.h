/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Frames that leave the switch: they get a header from a descriptor, and new addresses, and go out
 * of a port.
 */
#ifndef CANARY_BPF_LIB_EMIT_H
#define CANARY_BPF_LIB_EMIT_H

#define CSW_TTL		64

static __always_inline void csw_copy_mac(__u8 *to, const __u8 *from)
{
	__u16 *t = (__u16 *)to;
	const __u16 *f = (const __u16 *)from;

	t[0] = f[0];
	t[1] = f[1];
	t[2] = f[2];
}

/* Address the frame @p of @length bytes from this switch to @to. */
static __always_inline void csw_address(const struct csw_config *c, const struct csw_packet *p,
					__u32 length, __u8 ttl, const struct canary_peer *to)
{
	p->eth->h_proto = csw_be16(CSW_ETH_IP);
	*(__u8 *)p->ip = CSW_IP_START;
	p->ip->tos = 0;
	p->ip->tot_len = csw_be16(length - CSW_OFF_IP);
	p->ip->id = 0;
	p->ip->frag_off = csw_be16(CSW_IP_DF);
	p->ip->ttl = ttl;
	p->ip->protocol = CSW_UDP;
	p->ip->saddr = canary_addr_ip4(&c->addr);
	p->ip->daddr = canary_addr_ip4(&to->addr);
	csw_ip_checksum(p->ip);
	p->udp->source = c->port;
	p->udp->dest = to->port;
	p->udp->len = csw_be16(length - CSW_OFF_UDP);
}

/* Make the Canary header for what @d has collected. */
static __always_inline void csw_build(const struct csw_config *c, const struct csw_descriptor *d,
				      struct canary_hdr *h)
{
	h->version = CANARY_VERSION;
	h->type = CANARY_CONTRIBUTION;
	h->flags = d->flags;
	h->attempt = d->attempt;
	h->comm = d->comm;
	h->epoch = d->epoch;
	h->block = d->block;
	h->opsig = d->opsig;
	h->members = csw_be16(d->members);
	h->rank = csw_is_single(d) ? d->rank : 0;
	h->mac = csw_is_single(d) ? d->mac : 0;
	h->contribution.tag = csw_be64(d->tag);
	h->contribution.sum = csw_be32(d->sum);
	h->contribution.acked = csw_be32(d->done);
	h->contribution.count = csw_be16(d->count);
	h->contribution.length = csw_be16(d->length);
	h->contribution.kind = d->kind;
	h->contribution.load = d->load;
	h->contribution.path = d->path;
	h->contribution.shard = csw_shard(d);
	h->contribution.switch_id = c->id;
	h->contribution.cookie = 0;
}

static __always_inline int csw_send_meta(csw_xdp *ctx, struct csw_meta *m)
{
	if (csw_put_meta(ctx, m)) {
		csw_drop(ctx, CANARY_DROP_XMIT);
		return CSW_XDP_DROP;
	}
	return CSW_XDP_PASS;
}

static __always_inline int csw_hand_over(csw_xdp *ctx, const struct csw_packet *p, __u32 length,
					 const struct csw_egress *e)
{
	struct csw_meta m = { .ifindex = e->ifindex, .gateway = e->gateway };
	int action;

	if (!csw_fits(e, length)) {
		csw_drop(ctx, CANARY_DROP_MTU);
		return CSW_XDP_DROP;
	}
	csw_count(ctx, CSW_TX_BYTES, length);
	if (!e->neigh) {
		csw_count(ctx, CSW_TO_KERNEL, 1);
		csw_check_passed(p);
		m.kind = CSW_META_NEIGH;
		return csw_send_meta(ctx, &m);
	}
	csw_copy_mac(p->eth->h_dest, e->neigh->mac);
	csw_copy_mac(p->eth->h_source, e->port->mac);
	if (e->port->mode == CSW_SHAPED) {
		csw_check_passed(p);
		m.kind = CSW_META_EMIT;
		return csw_send_meta(ctx, &m);
	}
	csw_check_redirected(ctx, p);
	action = csw_redirect(ctx, e->ifindex);
	if (action == CSW_XDP_DROP)
		csw_drop(ctx, CANARY_DROP_XMIT);
	return action;
}

/* Send the finished frame @p of @length bytes to its next hop, and count it as @counter. */
static __always_inline int csw_send(csw_xdp *ctx, const struct csw_packet *p, __u32 length,
				    const struct csw_egress *e, __u32 counter)
{
	int action = csw_hand_over(ctx, p, length, e);

	if (action != CSW_XDP_DROP)
		csw_count(ctx, counter, 1);
	return action;
}

static __always_inline int csw_to_kernel(csw_xdp *ctx)
{
	csw_count(ctx, CSW_TO_KERNEL, 1);
	return CSW_XDP_PASS;
}

/*
 * Forward a contribution as a router does, and keep its source. If a router would have to answer
 * (no route, no neighbour, too large), the kernel gets the packet. It gets all of them if that is
 * configured.
 */
CSW_FUNC int csw_forward(csw_xdp *ctx)
{
	struct csw_packet p;
	struct csw_egress e;
	struct csw_flow f;
	struct canary_peer to;
	struct canary_addr from;
	__u32 length;
	__u8 load;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	if (csw_config(ctx)->forward == CSW_FORWARD_STACK)
		return csw_to_kernel(ctx);
	length = csw_length(&p);
	from = csw_source(&p);
	to = csw_receiver(&p);
	csw_flow_of(&f, &from, &to, p.h);
	if (!csw_reach(ctx, &f, &e) || !e.neigh || !csw_fits(&e, length))
		return csw_to_kernel(ctx);
	p.ip->ttl--;
	csw_ip_checksum(p.ip);
	csw_check_look(&p);
	load = p.h->contribution.load;
	csw_mark_load(ctx, &e, p.h);
	csw_check_loaded(&p, load);
	return csw_hand_over(ctx, &p, length, &e);
}

#endif /* CANARY_BPF_LIB_EMIT_H */
