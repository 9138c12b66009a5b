/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Results that are copied by broadcast: see struct csw_spread. csw_spread() finds the way of each
 * copy, and sends the frame to the group of their ports. csw_copy() addresses each copy.
 */
#ifndef CANARY_BPF_LIB_SPREAD_H
#define CANARY_BPF_LIB_SPREAD_H

#define CSW_NO_SPREAD	(-1)	/* only clones can do it */

/* Return: the place of the next result */
static __always_inline struct csw_spread *csw_spread_next(const void *ctx, __u32 *place)
{
	struct csw_spread *first = csw_spread_at(ctx, 0), *s;
	__u32 serial;

	if (!first)
		return NULL;
	/* The first place is for the counting, and holds no result. */
	serial = ++first->serial;
	*place = 1 + serial % (CSW_SPREADS - 1);
	s = csw_spread_at(ctx, *place);
	if (!s)
		return NULL;
	if (s->left)
		csw_drops(ctx, CANARY_DROP_XMIT, s->left);
	s->serial = serial;
	s->left = 0;
	return s;
}

/* Collect the children of the descriptor. Return: how many; 0 if it is locked, or another one */
CSW_FUNC int csw_spread_begin(csw_xdp *ctx, struct csw_spread *s, __u32 slot, __u32 generation)
{
	struct csw_descriptor *first = csw_descriptor_at(ctx, slot & ~(CSW_WAYS - 1U));
	struct csw_descriptor *d = csw_descriptor_at(ctx, slot);
	__u32 i = 0;

	if (!s || !first || !d || !csw_lock(ctx, &first->lock))
		return 0;
	if (d->state != CSW_FREE && d->generation == generation) {
		CSW_LOOP
		for (i = 0; i < CSW_CHILDREN_MAX && i < d->children; i++)
			s->child[i].at = d->child[i].at;
	}
	csw_unlock(&first->lock);
	s->key = 0;
	s->group.count = 1;
	s->group.n = i;
	return i;
}

/*
 * Free the descriptor. Return: nonzero if it is locked, another one, or has more than @children
 * now, as a straggler came meanwhile
 */
CSW_FUNC int csw_spread_end(csw_xdp *ctx, __u32 slot, __u32 generation, __u32 children)
{
	struct csw_descriptor *first = csw_descriptor_at(ctx, slot & ~(CSW_WAYS - 1U));
	struct csw_descriptor *d = csw_descriptor_at(ctx, slot);
	int ret = -1;

	if (!first || !d || !csw_lock(ctx, &first->lock))
		return -1;
	if (d->state != CSW_FREE && d->generation == generation && d->children == children) {
		csw_free(d);
		ret = 0;
	}
	csw_unlock(&first->lock);
	return ret;
}

/* Find the way of copy number @i. Return: nonzero if only a clone can take it */
CSW_FUNC int csw_spread_way(csw_xdp *ctx, struct csw_spread *s, __u32 i)
{
	struct csw_spread_to *child;
	struct csw_packet p;
	struct csw_egress e;
	struct csw_flow f;

	if (!s || i >= CSW_CHILDREN_MAX || csw_packet_at(ctx, &p))
		return -1;
	child = &s->child[i];
	csw_flow_of(&f, &csw_config(ctx)->addr, &child->at, p.h);
	if (!csw_reach(ctx, &f, &e) || !e.neigh || !e.port->key || e.port->mode != CSW_FAST ||
	    !csw_fits(&e, csw_length(&p)))
		return -1;
	csw_copy_mac(child->to, e.neigh->mac);
	csw_copy_mac(child->from, e.port->mac);
	child->waited = csw_waited(ctx, &e);
	s->group.ifindex[i] = e.ifindex;
	s->key += e.port->key;
	return 0;
}

/* Find the ways of all copies. Return: how many; 0 if it cannot be done */
static __always_inline int csw_spread_ways(csw_xdp *ctx, struct csw_spread *s,
					   const struct csw_meta *m)
{
	__u32 n = csw_spread_begin(ctx, s, m->copy.slot, m->copy.generation), i;

	CSW_LOOP
	for (i = 0; i < CSW_CHILDREN_MAX && i < n; i++) {
		if (csw_spread_way(ctx, s, i))
			return 0;
	}
	return i;
}

/* A result for the children of the descriptor in @m. Return: the action, or CSW_NO_SPREAD */
static __always_inline int csw_spread(csw_xdp *ctx, const struct csw_meta *m)
{
	const struct csw_port *in = csw_port(ctx, csw_ingress_ifindex(ctx));
	struct csw_meta say = { .kind = CSW_META_SPREAD };
	struct csw_spread *s;
	struct csw_packet p;
	void *group;

	if (!in || !in->key)
		return CSW_NO_SPREAD;
	s = csw_spread_next(ctx, &say.spread.place);
	if (!s || !csw_spread_ways(ctx, s, m))
		return CSW_NO_SPREAD;
	group = csw_group(ctx, s->key);
	if (!group) {
		csw_want(ctx, s);
		return CSW_NO_SPREAD;
	}
	say.spread.serial = s->serial;
	say.spread.key = s->key;
	if (csw_put_meta_in_front(ctx, &say) || csw_packet_at(ctx, &p) ||
	    (m->copy.last &&
	     csw_spread_end(ctx, m->copy.slot, m->copy.generation, s->group.n)))
		return CSW_NO_SPREAD;
	csw_check_look(&p);
	csw_check_redirected(ctx, &p);
	csw_count(ctx, CSW_RESULTS, 1);
	csw_count(ctx, CSW_SPREAD, 1);
	s->left = s->group.n;
	return csw_broadcast(ctx, group);
}

/* ---- copies, at the egress of a port ---- */

/* Return: the next child behind the port @ifindex; CSW_CHILDREN_MAX if there is none */
CSW_FUNC int csw_spread_child(struct csw_spread *s, __u32 ifindex)
{
	__u32 i;

	if (!s)
		return CSW_CHILDREN_MAX;
	CSW_LOOP
	for (i = 0; i < CSW_CHILDREN_MAX && i < s->group.n; i++) {
		if (s->group.ifindex[i] == ifindex) {
			s->group.ifindex[i] = 0;
			s->left--;
			return i;
		}
	}
	return CSW_CHILDREN_MAX;
}

/* Address the copy to the child. Its checksum is a whole one. */
static __always_inline int csw_copy_for(csw_xdp *ctx, const struct csw_spread_to *child)
{
	struct csw_packet p = { .whole = true };
	__u32 before, length;

	if (csw_packet_at(ctx, &p))
		return -1;
	length = csw_length(&p);
	before = csw_headers(ctx);
	csw_address(csw_config(ctx), &p, length, CSW_TTL_NEIGHBOUR, &child->at);
	p.h->result.switch_id = csw_config(ctx)->id;
	p.h->result.waited = child->waited;
	csw_check_after(&p, before, csw_headers(ctx));
	csw_copy_mac(p.eth->h_dest, child->to);
	csw_copy_mac(p.eth->h_source, child->from);
	csw_count(ctx, CSW_TX_BYTES, length);
	csw_count(ctx, CSW_REPLICATED, 1);
	return 0;
}

/* What canary_copy does with a frame that leaves */
static __always_inline int csw_copy(csw_xdp *ctx)
{
	__u32 ifindex = csw_egress_ifindex(ctx), i = CSW_CHILDREN_MAX;
	struct csw_spread *s;
	struct csw_meta m;

	if (csw_take_meta_in_front(ctx, &m))
		return CSW_XDP_PASS;
	s = csw_spread_at(ctx, m.spread.place);
	if (s && m.kind == CSW_META_SPREAD && s->serial == m.spread.serial)
		i = csw_spread_child(s, ifindex);
	if (!s || i >= CSW_CHILDREN_MAX || csw_copy_for(ctx, &s->child[i])) {
		csw_drop(ctx, CANARY_DROP_XMIT);
		return CSW_XDP_DROP;
	}
	return CSW_XDP_PASS;
}

#endif /* CANARY_BPF_LIB_SPREAD_H */
