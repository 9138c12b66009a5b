/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Results: they come from a leader or another switch, and leave as one copy for each child. Several
 * children may be behind one port, so copies are not per port. A single copy leaves at once. More
 * are broadcast if that is possible (spread.h). Otherwise they are made in tc, where frames can be
 * cloned.
 */
#ifndef CANARY_BPF_LIB_REPLICATE_H
#define CANARY_BPF_LIB_REPLICATE_H

/* ---- restorations: children without data, kept for the result that follows ---- */

/* Return: the number of the list that @h has, or that the result @h belongs to */
static __always_inline __u32 csw_list_number(const struct canary_hdr *h)
{
	return cnr_be16(h->type == CANARY_RESTORATION ? h->restoration.list : h->result.list);
}

static __always_inline struct csw_restoration *csw_restoration_of(const void *ctx,
								  const struct canary_hdr *h)
{
	__u32 block = csw_hash(h->comm, h->epoch, h->block) & (CSW_RESTORE_BLOCKS - 1);
	__u32 list = csw_list_number(h) & (CSW_RESTORE_LISTS - 1);

	return csw_restoration_at(ctx, list * CSW_RESTORE_BLOCKS + block);
}

static __always_inline bool csw_restores(const void *ctx, const struct csw_restoration *r,
					 const struct canary_hdr *h)
{
	return r->children && r->block == h->block && r->comm == h->comm &&
	       r->epoch == h->epoch && r->opsig == h->opsig && r->attempt == h->attempt &&
	       canary_length(h) <= r->length && r->number == csw_list_number(h) &&
	       csw_now(ctx) - r->born <= csw_config(ctx)->lifetime_ns;
}

/* Copy the list from the frame. Return: how many children; 0 if the frame is too short */
CSW_FUNC int csw_restoration_in(csw_xdp *ctx, struct csw_restoration *r, __u32 children)
{
	struct canary_restored *from = csw_data(ctx) + CSW_OFF_DATA;
	void *end = csw_end(ctx);
	__u32 i;

	if (!r)
		return 0;
	CSW_LOOP
	for (i = 0; i < CSW_RESTORE_MAX && i < children; i++) {
		if ((void *)(from + i + 1) > end)
			return 0;
		r->child[i].addr = from[i].addr;
		r->child[i].port = from[i].port;
		r->child[i].zero = 0;
	}
	return i;
}

/*
 * Did this switch bypass all children of the list? Each child has to be in it once, with the cookie
 * that its contribution got here. Return: enum canary_drop
 */
CSW_FUNC int csw_restoration_check(csw_xdp *ctx, __u32 children)
{
	const struct canary_restored *c = csw_data(ctx) + CSW_OFF_DATA;
	const struct csw_config *config = csw_config(ctx);
	struct canary_peer last = {}, child;
	struct csw_claim claim;
	struct csw_packet p;
	__u32 i, now;

	if (csw_packet_at(ctx, &p))
		return CANARY_DROP_SHORT;
	now = config->secret_now & 1;
	CSW_LOOP
	for (i = 0; i < CSW_RESTORE_MAX && i < children; i++) {
		if ((void *)(c + i + 1) > csw_end(ctx))
			return CANARY_DROP_LENGTH;
		child = (struct canary_peer){ .addr = c[i].addr, .port = c[i].port };
		/* A switch cannot reach IPv6 addresses yet. */
		if (!canary_addr_is_ip4(&child.addr))
			return CANARY_DROP_PEER;
		if (canary_peer_compare(&child, &last) <= 0)
			return CANARY_DROP_DUPLICATE;
		last = child;
		csw_claim_of(&claim, p.h, &child.addr, child.port);
		if (c[i].cookie != csw_cookie(&claim, config->secret[now][0],
					      config->secret[now][1]) &&
		    c[i].cookie != csw_cookie(&claim, config->secret[!now][0],
					      config->secret[!now][1]))
			return CANARY_DROP_MAC;
	}
	return CANARY_DROP_NONE;
}

/*
 * Anybody can send a restoration, and can show a cookie again. So all copies together have no more
 * bytes than the contributions that were bypassed, and nobody gains by making us send them. @cost:
 * bytes of the copies, at most
 */
static __always_inline bool csw_restoration_credit(const void *ctx, __u32 cost)
{
	__u32 *credit = csw_credit(ctx);

	if (CSW_READ(*credit) < cost)
		return false;
	if ((__s32)(__sync_fetch_and_add(credit, -cost) - cost) >= 0)
		return true;
	__sync_fetch_and_add(credit, cost);
	return false;
}

CSW_FUNC int csw_restoration(csw_xdp *ctx)
{
	struct csw_restoration *r;
	struct csw_packet p;
	__u32 children;
	int drop;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	children = cnr_be16(p.h->restoration.entries);
	csw_count(ctx, CSW_RX_RESTORATION, 1);
	if (p.h->flags & CANARY_F_BYPASS)
		return csw_refuse(ctx, CANARY_DROP_ADMISSION);
	if (!csw_config(ctx)->restore)
		return csw_refuse(ctx, CANARY_DROP_STATE);
	if (children > CSW_RESTORE_MAX)
		return csw_refuse(ctx, CANARY_DROP_FULL);
	drop = csw_restoration_check(ctx, children);
	if (drop != CANARY_DROP_NONE)
		return csw_refuse(ctx, drop);
	r = csw_restoration_of(ctx, p.h);
	if (!r || !csw_lock(ctx, &r->lock))
		return csw_refuse(ctx, CANARY_DROP_BUSY);
	if (!csw_restoration_credit(ctx, children * csw_frame_length(canary_length(p.h)))) {
		csw_unlock(&r->lock);
		return csw_refuse(ctx, CANARY_DROP_FULL);
	}
	r->comm = p.h->comm;
	r->epoch = p.h->epoch;
	r->block = p.h->block;
	r->opsig = p.h->opsig;
	r->attempt = p.h->attempt;
	r->length = canary_length(p.h);
	r->number = csw_list_number(p.h);
	r->born = csw_now(ctx);
	r->generation++;
	r->children = csw_restoration_in(ctx, r, children);
	csw_unlock(&r->lock);
	csw_count(ctx, CSW_RESTORATIONS, 1);
	return csw_consume(ctx, csw_now(ctx));
}

/* ---- a result, in XDP ---- */

/* Return: the block down whose tree the result @h goes */
static __always_inline __be32 csw_tree_block(const struct canary_hdr *h)
{
	return csw_be32(cnr_be32(h->block) - cnr_be32(h->result.tree));
}

/* The bit of the result @h in csw_descriptor.kept_for */
static __always_inline __u32 csw_kept_bit(const struct canary_hdr *h)
{
	return 1U << (cnr_be32(h->result.tree) & (CANARY_TREE_MAX - 1));
}

/*
 * Are there no more copies of the result @h than there were contributions, and none that is longer?
 * A list in a descriptor is longer than the ones that it was made of.
 */
static __always_inline bool csw_is_frugal(const struct csw_descriptor *d,
					  const struct canary_hdr *h)
{
	return canary_length(h) <= d->length && !canary_is_kept(h) && !csw_merges_lists(d->kind);
}

/*
 * Other results make more of less: those that go down a kept tree, or are longer than contributions
 * without data, or than lists. Anybody can send results and contributions, with made-up addresses.
 * So only a switch that knows its members by rules sends such copies.
 */
static __always_inline bool csw_may_spend(const void *ctx, const struct csw_descriptor *d,
					  const struct canary_hdr *h)
{
	return csw_config(ctx)->admit &&
	       (!d->length || (csw_merges_lists(d->kind) && !canary_is_kept(h)));
}

/*
 * Does @d wait for the result @h, whose tree it is? Each result goes down it once, so that nobody
 * gets more than CANARY_TREE_MAX copies out of it for each child.
 */
static __always_inline bool csw_expects(const void *ctx, const struct csw_descriptor *d,
					const struct canary_hdr *h)
{
	return d->opsig == h->opsig && d->attempt == h->attempt &&
	       !(d->kept_for & csw_kept_bit(h)) &&
	       (csw_is_frugal(d, h) || csw_may_spend(ctx, d, h));
}

/*
 * @h goes down the tree of @d, and others will follow. What comes for the block from now on is a
 * straggler, which the next results reach.
 */
static __always_inline void csw_keep_tree(struct csw_descriptor *d, const struct canary_hdr *h)
{
	d->kept_for |= csw_kept_bit(h);
	d->state = CSW_SENT;
}

/* Send the frame to the only child. */
static __always_inline int csw_result_to(csw_xdp *ctx, struct csw_packet *p,
					 const struct canary_peer *to)
{
	__u32 length = csw_length(p);
	struct csw_egress e;
	struct csw_flow f;
	__u32 before;

	csw_flow_of(&f, &csw_config(ctx)->addr, to, p->h);
	if (!csw_reach(ctx, &f, &e)) {
		csw_drop(ctx, CANARY_DROP_NOROUTE);
		return CSW_XDP_DROP;
	}
	csw_check_look(p);
	before = csw_headers(ctx);
	csw_address(csw_config(ctx), p, length, CSW_TTL_NEIGHBOUR, to);
	p->h->result.switch_id = csw_config(ctx)->id;
	csw_mark_back(ctx, &e, p->h);
	csw_check_after(p, before, csw_headers(ctx));
	return csw_send(ctx, p, length, &e, CSW_REPLICATED);
}

/* Return: the action, or enum csw_left */
CSW_FUNC int csw_result(csw_xdp *ctx)
{
	struct csw_copies *copies = csw_copies(ctx);
	const struct csw_config *c = csw_config(ctx);
	struct csw_meta m = { .kind = CSW_META_COPY, .copy.slot = CSW_NO_SLOT };
	struct csw_descriptor *first;
	struct csw_restoration *r;
	struct csw_packet p;
	struct csw_found f;
	struct canary_peer to;
	__u32 bucket;
	__be32 tree;

	if (!copies || csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	csw_count(ctx, CSW_RX_RESULT, 1);
	csw_count(ctx, CSW_RX_BYTES, csw_length(&p));
	if (p.h->flags & CANARY_F_BYPASS)
		return csw_refuse_left(ctx, CANARY_DROP_ADMISSION);
	r = csw_restoration_of(ctx, p.h);
	tree = csw_tree_block(p.h);
	bucket = csw_bucket(c, p.h, tree);
	m.copy.last = !!(p.h->flags & CANARY_F_LAST);
	m.copy.restoration = r && csw_restores(ctx, r, p.h);
	first = csw_descriptor_at(ctx, bucket);
	if (!first || !csw_lock(ctx, &first->lock))
		return csw_refuse_left(ctx, CANARY_DROP_BUSY);
	csw_find(ctx, c, bucket, p.h, tree, &f);
	if (f.d && f.is_block && csw_expects(ctx, f.d, p.h)) {
		/* The first result tells how long the block took, and who contributed in time. */
		if (!f.d->kept_for) {
			csw_learn(ctx, f.d);
			csw_note_back(ctx, csw_ingress_ifindex(ctx), &p, f.d->born);
		}
		if (!m.copy.last)
			csw_keep_tree(f.d, p.h);
		if (f.d->children == 1 && !m.copy.restoration) {
			to = f.d->child[0].at;
			if (m.copy.last)
				csw_free(f.d);
			csw_unlock(&first->lock);
			csw_count(ctx, CSW_RESULTS, 1);
			return csw_result_to(ctx, &p, &to);
		}
		m.copy.slot = f.slot;
		m.copy.generation = f.d->generation;
	}
	csw_unlock(&first->lock);
	if (m.copy.slot == CSW_NO_SLOT && !m.copy.restoration)
		return csw_refuse_left(ctx, CANARY_DROP_DESCRIPTOR);
	/* What is behind the IP packet is not copied: it would become part of the copies. */
	if (csw_trim(ctx, csw_length(&p)))
		return csw_refuse_left(ctx, CANARY_DROP_SHORT);
	copies->meta = m;
	return CSW_COPIES;
}

/* Send the copies of the result that csw_result() has looked at. */
CSW_FUNC int csw_replicate(csw_xdp *ctx)
{
	struct csw_copies *copies = csw_copies(ctx);
	int action = CSW_NO_SPREAD;

	if (!copies)
		return CSW_XDP_DROP;
	if (!copies->meta.copy.restoration)
		action = csw_spread(ctx, &copies->meta);
	return action == CSW_NO_SPREAD ? csw_send_meta(ctx, &copies->meta) : action;
}

/* ---- copies, in tc ---- */

/*
 * Collect the children of the descriptor. @last: free it. Return: how many; -1 if it is locked
 */
CSW_FUNC int csw_copies_of(csw_skb *skb, struct csw_copies *to, __u32 slot, __u32 generation,
			   __u32 last)
{
	struct csw_descriptor *first = csw_descriptor_at(skb, slot & ~(CSW_WAYS - 1U));
	struct csw_descriptor *d = csw_descriptor_at(skb, slot);
	__u32 i = 0;

	if (!to || !first || !d)
		return 0;
	if (!csw_lock(skb, &first->lock))
		return -1;
	if (d->state != CSW_FREE && d->generation == generation) {
		CSW_LOOP
		for (i = 0; i < CSW_CHILDREN_MAX && i < d->children; i++)
			to->peer[i] = d->child[i].at;
		if (last)
			csw_free(d);
	}
	csw_unlock(&first->lock);
	return i;
}

/*
 * Collect the children of the restoration that belongs to the result, behind the first @n. Return:
 * how many
 */
CSW_FUNC int csw_copies_restored(csw_skb *skb, struct csw_copies *to, __u32 n)
{
	const struct canary_hdr *h = csw_skb_data(skb) + CSW_OFF_CANARY;
	struct csw_restoration *r;
	__u32 i = 0;

	if (!to || n > CSW_CHILDREN_MAX || (void *)(h + 1) > csw_skb_end(skb))
		return 0;
	r = csw_restoration_of(skb, h);
	if (!r || !csw_lock(skb, &r->lock))
		return 0;
	if (csw_restores(skb, r, h)) {
		CSW_LOOP
		for (i = 0; i < CSW_RESTORE_MAX && i < r->children; i++)
			to->peer[n + i] = r->child[i];
		r->children = 0;
	}
	csw_unlock(&r->lock);
	return i;
}

enum csw_copied {
	CSW_COPIED	= -10,
	CSW_LOST	= -11,	/* lost, and counted */
	CSW_NO_NEIGH	= -12,	/* only the frame itself can wait for a neighbour */
	CSW_MORE	= -13,
};

/*
 * Send a copy of the frame to @peer; if it is the last one, the frame itself. Return: enum
 * csw_copied; for the last one the action of tc
 */
CSW_FUNC int csw_copy_to(csw_skb *skb, struct canary_peer *peer, int last)
{
	__u32 length = csw_skb_length(skb);
	void *data = csw_skb_data(skb);
	struct csw_packet p = {
		.eth = data,
		.ip = data + CSW_OFF_IP,
		.udp = data + CSW_OFF_UDP,
		.h = data + CSW_OFF_CANARY,
	};
	struct csw_egress e;
	struct csw_flow f;
	__u32 before;

	if (!peer || data + CSW_OFF_DATA > csw_skb_end(skb))
		return CSW_LOST;
	csw_flow_of(&f, &csw_config(skb)->addr, peer, p.h);
	if (!csw_reach(skb, &f, &e)) {
		csw_drop(skb, CANARY_DROP_NOROUTE);
		return last ? CSW_TC_DROP : CSW_LOST;
	}
	if (!csw_fits(&e, length)) {
		csw_drop(skb, CANARY_DROP_MTU);
		return last ? CSW_TC_DROP : CSW_LOST;
	}
	if (!e.neigh && !last)
		return CSW_NO_NEIGH;
	csw_check_look(&p);
	before = csw_skb_headers(skb);
	csw_address(csw_config(skb), &p, length, CSW_TTL_NEIGHBOUR, peer);
	p.h->result.switch_id = csw_config(skb)->id;
	csw_mark_back(skb, &e, p.h);
	csw_check_after(&p, before, csw_skb_headers(skb));
	csw_count(skb, CSW_TX_BYTES, length);
	if (!e.neigh) {
		csw_count(skb, CSW_TO_KERNEL, 1);
		return csw_skb_send_neigh(skb, e.ifindex, &e.gateway);
	}
	csw_copy_mac(p.eth->h_dest, e.neigh->mac);
	csw_copy_mac(p.eth->h_source, e.port->mac);
	if (last)
		return csw_skb_send(skb, e.ifindex);
	if (csw_skb_copy_to(skb, e.ifindex)) {
		csw_drop(skb, CANARY_DROP_XMIT);
		return CSW_LOST;
	}
	return CSW_COPIED;
}

static __always_inline int csw_copy_index(csw_skb *skb, struct csw_copies *to, __u32 i, int last)
{
	int ret;

	if (i >= CSW_COPIES_MAX)
		return CSW_LOST;
	ret = csw_copy_to(skb, &to->peer[i], last);
	if (ret != CSW_LOST && ret != CSW_NO_NEIGH && ret != CSW_TC_DROP)
		csw_count(skb, i < to->own ? CSW_REPLICATED : CSW_RESTORED, 1);
	return ret;
}

/*
 * Make copy number @i. A child whose neighbour is unknown waits for the end, since only the frame
 * itself can be left to the kernel. A second such child gets none. Return: CSW_MORE, or the action
 * of tc that ends the loop
 */
CSW_FUNC int csw_copy_number(csw_skb *skb, struct csw_copies *to, __u32 i)
{
	int ret;

	if (!to)
		return CSW_TC_DROP;
	if (i >= to->n)
		return to->waiting < to->n ? csw_copy_index(skb, to, to->waiting, true) :
		       CSW_TC_DROP;
	if (i + 1 == to->n && to->waiting == to->n)
		return csw_copy_index(skb, to, i, true);
	ret = csw_copy_index(skb, to, i, false);
	if (ret == CSW_NO_NEIGH && to->waiting == to->n)
		to->waiting = i;
	else if (ret == CSW_NO_NEIGH)
		csw_drop(skb, CANARY_DROP_NOROUTE);
	return CSW_MORE;
}

static __always_inline int csw_copy_all(csw_skb *skb, const struct csw_meta *m)
{
	struct csw_copies *to = csw_copies(skb);
	int ret = CSW_TC_DROP, own = 0;
	__u32 i;

	if (!to)
		return CSW_TC_DROP;
	if (m->copy.slot != CSW_NO_SLOT)
		own = csw_copies_of(skb, to, m->copy.slot, m->copy.generation, m->copy.last);
	if (own < 0)
		csw_drop(skb, CANARY_DROP_BUSY);
	to->own = own > 0 ? own : 0;
	to->n = to->own;
	if (m->copy.restoration)
		to->n += csw_copies_restored(skb, to, to->own);
	to->waiting = to->n;
	if (!to->n) {
		if (!own)
			csw_drop(skb, CANARY_DROP_DESCRIPTOR);
		return CSW_TC_DROP;
	}
	if (to->own)
		csw_count(skb, CSW_RESULTS, 1);
	CSW_LOOP
	for (i = 0; i <= CSW_COPIES_MAX; i++) {
		ret = csw_copy_number(skb, to, i);
		if (ret != CSW_MORE)
			break;
	}
	return ret;
}

/* canary_tc does what canary_xdp left to it. Anything else passes untouched. */
static __always_inline int csw_tc(csw_skb *skb)
{
	struct csw_meta m;

	if (csw_take_meta(skb, &m))
		return CSW_TC_NEXT;
	switch (m.kind) {
	case CSW_META_EMIT:
		return csw_skb_send(skb, m.ifindex);
	case CSW_META_NEIGH:
		return csw_skb_send_neigh(skb, m.ifindex, &m.gateway);
	case CSW_META_COPY:
		return csw_copy_all(skb, &m);
	}
	return CSW_TC_DROP;
}

#endif /* CANARY_BPF_LIB_REPLICATE_H */
