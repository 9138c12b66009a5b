/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a packet goes next: its route, a next hop, port and neighbour. The routes are the kernel's.
 * Only the choice among equal-cost next hops is made here.
 */
#ifndef CANARY_BPF_LIB_NEXTHOP_H
#define CANARY_BPF_LIB_NEXTHOP_H

/* What a choice may depend on */
struct csw_flow {
	struct canary_addr src;	/* source of the packet when it leaves */
	struct canary_peer dst;
	__u32 hash;		/* of the block: all switches choose alike */
	__u8 path;		/* pinned: the path; else: earlier tries */
	__u8 pinned;
};

struct csw_egress {
	const struct csw_port *port;
	const struct csw_neigh *neigh;	/* NULL: the kernel has to find it */
	__u32 ifindex;
	struct canary_addr gateway;
};

static __always_inline void csw_flow_of(struct csw_flow *f, const struct canary_addr *src,
					const struct canary_peer *dst, const struct canary_hdr *h)
{
	f->src = *src;
	f->dst = *dst;
	f->hash = csw_hash(h->comm, h->epoch, h->block);
	f->pinned = !!(h->flags & CANARY_F_STATIC);
	f->path = f->pinned ? h->contribution.path : h->attempt + h->contribution.path;
}

/* The flow of @p, if this switch sends it on */
static __always_inline void csw_flow_on(const void *ctx, struct csw_flow *f,
					const struct csw_packet *p)
{
	struct canary_peer to = csw_receiver(p);

	csw_flow_of(f, &csw_config(ctx)->addr, &to, p->h);
}

/* ---- how full is a port? ---- */

/* Return: fullness, by what waits there */
static __always_inline __u32 csw_waiting_of(const struct csw_port *port,
					    const struct csw_backlog *b, __u64 now)
{
	__u32 bytes = CSW_READ(b->bytes);

	/* Nothing is sent to a port that seems full, so nothing would correct an old entry. */
	if (!bytes || now - CSW_READ(b->changed) > CSW_BACKLOG_STALE_NS)
		return 0;
	return bytes >= port->queue ? CSW_FULL : (__u64)bytes * CSW_FULL / port->queue;
}

static __always_inline __u32 csw_fullness_of(const struct csw_port *port,
					     const struct csw_backlog *b, __u64 now)
{
	__u64 refused = CSW_READ(b->refused);

	if (refused && now - refused < CSW_BACKLOG_REFUSED_NS)
		return CSW_FULL;
	return csw_waiting_of(port, b, now);
}

/* Return: fullness of the egress queue of a port, from 0 (empty, or unknown) to CSW_FULL */
static __always_inline __u32 csw_fullness(const void *ctx, __u32 ifindex,
					  const struct csw_port *port)
{
	const struct csw_backlog *b;

	if (!port || !port->queue)
		return 0;
	b = csw_backlog(ctx, ifindex);
	return b && (b->bytes || b->refused) ? csw_fullness_of(port, b, csw_now(ctx)) : 0;
}

/*
 * Return: fullness of the queue at the other end of the port's link, through which results come
 * back
 *
 * A block's result takes the way of its contributions. Congestion there is not known here
 * otherwise.
 */
static __always_inline __u32 csw_fullness_back(const void *ctx, __u32 ifindex)
{
	const struct csw_backlog *b = csw_backlog(ctx, ifindex);

	return b && b->back && csw_now(ctx) < CSW_READ(b->back_until) ? CSW_READ(b->back) : 0;
}

/* Return: the fullness that choices compare. It is a function of its own, since loops call it. */
CSW_FUNC int csw_port_fullness(csw_any any, __u32 ifindex)
{
	const void *ctx = CSW_CTX(any);
	__u32 fullness = csw_fullness(ctx, ifindex, csw_port(ctx, ifindex)), back;

	if (csw_config(ctx)->choice != CSW_CHOOSE_BOTH)
		return fullness;
	back = csw_fullness_back(ctx, ifindex);
	return back > fullness ? back : fullness;
}

static __always_inline __u32 csw_nexthop_fullness(const void *ctx, const struct csw_route *r,
						  __u32 i)
{
	return csw_port_fullness(CSW_ANY(ctx), r->nexthop[i & (CSW_NEXTHOPS_MAX - 1)].ifindex);
}

/*
 * Return: the emptiest next hop; @home if no other one is better, else the first one behind @home
 */
CSW_FUNC int csw_emptiest(csw_any any, struct csw_route *r, __u32 home)
{
	const void *ctx = CSW_CTX(any);
	__u32 n, best = home, least, i, at = home, fullness;

	if (!r)
		return 0;
	n = r->nexthops;
	least = csw_nexthop_fullness(ctx, r, home);
	CSW_LOOP
	for (i = 1; i < CSW_NEXTHOPS_MAX && i < n && least; i++) {
		at = at + 1 < n ? at + 1 : 0;
		fullness = csw_nexthop_fullness(ctx, r, at);
		if (fullness < least) {
			least = fullness;
			best = at;
		}
	}
	return best;
}

/* ---- the choice ---- */

/* A hash of addresses and port, as routers make it */
static __always_inline __u32 csw_flow_hash(const struct csw_flow *f)
{
	__u32 hash = canary_addr_fold(&f->src) * 0x9e3779b1U ^ canary_addr_fold(&f->dst.addr) ^
		     (__u32)f->dst.port << 7;

	hash *= 0x85ebca6bU;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35U;
	return hash ^ hash >> 16;
}

/*
 * Return: the home hop
 *
 * Contributions of a block that enter different switches meet again if these switches choose alike.
 * So the home hop depends on the block, and on the order of the next hops in the routes. Systems
 * with static trees do the same with few numbers, wherever a block comes from. Where packets choose
 * twice on their way up, the second choice must not repeat the first (spread). A packet that is
 * tried again takes another next hop, since the last one may lead to a link that swallows packets.
 */
static __always_inline __u32 csw_home(const struct csw_config *c, const struct csw_route *r,
				      const struct csw_flow *f)
{
	__u32 number = f->pinned ? f->path : f->hash;

	if (r->nexthops <= 1)
		return 0;
	if (c->choice == CSW_CHOOSE_STATIC && !f->pinned)
		number = c->first_tree + (c->trees ? number % c->trees : number);
	if (c->spread > 1)
		number /= c->spread;
	if (!f->pinned)
		number += f->path;
	return number % r->nexthops;
}

static __always_inline __u32 csw_choose_flowlet(const void *ctx, struct csw_route *r,
						const struct csw_flow *f)
{
	__u32 hash = csw_flow_hash(f);
	struct csw_flowlet *flowlet = csw_flowlet(ctx, hash);
	__u64 now = csw_now(ctx);

	if (flowlet->flow != hash || flowlet->index >= r->nexthops ||
	    now - flowlet->last > csw_config(ctx)->flowlet_ns)
		flowlet->index = csw_emptiest(CSW_ANY(ctx), r, hash % r->nexthops);
	flowlet->flow = hash;
	flowlet->last = now;
	return flowlet->index;
}

static __always_inline __u32 csw_choose_two(const void *ctx, const struct csw_route *r)
{
	__u32 random = csw_random(ctx), n = r->nexthops, one, two;

	one = (random & 0xffff) % n;
	two = (one + 1 + (random >> 16) % (n - 1)) % n;
	return csw_nexthop_fullness(ctx, r, two) < csw_nexthop_fullness(ctx, r, one) ? two : one;
}

static __always_inline __u32 csw_choose_by(const void *ctx, struct csw_route *r,
					   const struct csw_flow *f, __u32 home)
{
	__u32 choice = csw_config(ctx)->choice, enough;

	switch (choice) {
	case CSW_CHOOSE_ADAPTIVE:
	case CSW_CHOOSE_BOTH:
	case CSW_CHOOSE_EARLY:
		enough = choice == CSW_CHOOSE_ADAPTIVE ? CSW_HALF_FULL : CSW_EIGHTH_FULL;
		if (csw_nexthop_fullness(ctx, r, home) <= enough)
			return home;
		return csw_emptiest(CSW_ANY(ctx), r, home);
	case CSW_CHOOSE_FLOW:
		return csw_flow_hash(f) % r->nexthops;
	case CSW_CHOOSE_FLOWLET:
		return csw_choose_flowlet(ctx, r, f);
	case CSW_CHOOSE_RANDOM:
		return csw_random(ctx) % r->nexthops;
	case CSW_CHOOSE_TWO:
		return csw_choose_two(ctx, r);
	default:
		return home;
	}
}

/* Choose a next hop; this is the only place. Return: its number in @r */
CSW_FUNC int csw_choose(csw_any any, struct csw_route *r, struct csw_flow *f)
{
	const void *ctx = CSW_CTX(any);
	struct csw_backlog *b;
	__u32 home, i;

	if (!r || !f || r->nexthops < 2)
		return 0;
	home = csw_home(csw_config(ctx), r, f);
	i = home;
	if (!f->pinned)
		i = csw_choose_by(ctx, r, f, home);
	b = csw_backlog(ctx, r->nexthop[i & (CSW_NEXTHOPS_MAX - 1)].ifindex);
	if (b) {
		__sync_fetch_and_add(&b->chosen, 1);
		if (i != home)
			__sync_fetch_and_add(&b->diverted, 1);
	}
	if (i != home)
		csw_count(ctx, CSW_DIVERTED, 1);
	return i;
}

/* ---- the way ---- */

static __always_inline bool csw_leave_by(const void *ctx, const struct csw_route *r, __u32 i,
					 const struct csw_flow *f, struct csw_egress *e)
{
	const struct csw_nexthop *n = &r->nexthop[i & (CSW_NEXTHOPS_MAX - 1)];

	e->ifindex = n->ifindex;
	e->gateway = canary_addr_is_zero(&n->gateway) ? f->dst.addr : n->gateway;
	e->port = csw_port(ctx, e->ifindex);
	return e->port;
}

static __always_inline struct csw_route *csw_route_of(const void *ctx, const struct csw_flow *f)
{
	struct csw_route *r = csw_route(ctx, &f->dst.addr);

	return r && r->kind == CSW_ROUTE_UNICAST && r->nexthops ? r : NULL;
}

/*
 * Is there a way, and by which port? Nothing is sent yet, so nothing is chosen, and no neighbour is
 * looked up. Return: false if the packet has to be left to the kernel, or cannot be sent at all
 */
static __always_inline bool csw_way(const void *ctx, const struct csw_flow *f,
				    struct csw_egress *e)
{
	const struct csw_route *r = csw_route_of(ctx, f);

	return r && csw_leave_by(ctx, r, csw_home(csw_config(ctx), r, f), f, e);
}

/*
 * Find route, next hop, port and neighbour of a packet that is sent now. Return: false if there is
 * no way
 */
static __always_inline bool csw_reach(const void *ctx, struct csw_flow *f, struct csw_egress *e)
{
	struct csw_route *r = csw_route_of(ctx, f);
	__u32 i = 0;

	if (!r)
		return false;
	if (r->nexthops > 1)
		i = csw_choose(CSW_ANY(ctx), r, f);
	if (!csw_leave_by(ctx, r, i, f, e))
		return false;
	e->neigh = csw_neigh(ctx, e->ifindex, &e->gateway);
	return true;
}

/* Can frames of @length bytes, with Ethernet header, be sent there? */
static __always_inline bool csw_fits(const struct csw_egress *e, __u32 length)
{
	return length - CSW_OFF_IP <= e->port->mtu;
}

/* Write the fullness of the port into a contribution, if this is the fullest queue that it met. */
static __always_inline void csw_mark_load(const void *ctx, const struct csw_egress *e,
					  struct canary_hdr *h)
{
	__u32 fullness = csw_fullness(ctx, e->ifindex, e->port);

	if (fullness > h->contribution.load)
		h->contribution.load = fullness;
}

/* Return: how full the queue is that a result waits in here. Its header tells the next switch */
static __always_inline __u32 csw_waited(const void *ctx, const struct csw_egress *e)
{
	const struct csw_backlog *b = NULL;

	/*
	 * Frames that the driver refused do not count: that is over before the other end knows of
	 * it.
	 */
	if (e->port->queue)
		b = csw_backlog(ctx, e->ifindex);
	return b && b->bytes ? csw_waiting_of(e->port, b, csw_now(ctx)) : 0;
}

static __always_inline void csw_mark_back(const void *ctx, const struct csw_egress *e,
					  struct canary_hdr *h)
{
	h->result.waited = csw_waited(ctx, e);
}

#define CSW_TTL_NEIGHBOUR	255	/* TTL of results: each router decrements it */

/*
 * A result came by @ifindex. @born: when the first contribution of its block came. Note how full
 * the queue at the other end of that link is. Only a neighbour can know that, and nobody further
 * away can send a packet with this TTL.
 */
static __always_inline void csw_note_back(const void *ctx, __u32 ifindex,
					  const struct csw_packet *p, __u64 born)
{
	__u32 waited = p->h->result.waited;
	struct csw_backlog *b;
	__u64 now, took;

	if (csw_config(ctx)->choice != CSW_CHOOSE_BOTH || p->ip->ttl != CSW_TTL_NEIGHBOUR)
		return;
	b = csw_backlog(ctx, ifindex);
	if (!b)
		return;
	now = csw_now(ctx);
	took = now - born;
	if (took > CSW_BACKLOG_STALE_NS / CSW_BACK_BELIEVED)
		took = CSW_BACKLOG_STALE_NS / CSW_BACK_BELIEVED;
	b->back = waited < CSW_FULL ? waited : CSW_FULL;
	b->back_until = now + took * CSW_BACK_BELIEVED;
}

#endif /* CANARY_BPF_LIB_NEXTHOP_H */
