/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a packet goes next: route, one of its next hops, port and neighbour. Routes are the
 * kernel's; only the choice among equal-cost next hops is ours.
 */
#ifndef CANARY_BPF_LIB_NEXTHOP_H
#define CANARY_BPF_LIB_NEXTHOP_H

/* What a choice may depend on */
struct csw_flow {
	__be32 dst;
	__u32 hash;		/* of the block: all switches send it the same way */
	__u8 path;		/* if pinned */
	bool pinned;
};

struct csw_egress {
	const struct csw_port *port;
	const struct csw_neigh *neigh;	/* NULL: the kernel has to find it */
	__u32 ifindex;
	__be32 gateway;
};

static __always_inline void csw_flow_of(struct csw_flow *f, __be32 dst, const struct canary_hdr *h)
{
	f->dst = dst;
	f->hash = csw_hash(h->comm, h->epoch, h->block);
	f->path = h->path;
	f->pinned = h->flags & CANARY_F_STATIC;
}

/*
 * The one place that chooses. Contributions of a block that enter different switches meet again
 * if those choose alike, so the choice hangs on the block and the order in which the routes list
 * their next hops.
 */
static __always_inline __u32 csw_choose(const void *ctx, const struct csw_route *r,
					const struct csw_flow *f)
{
	if (r->nexthops <= 1)
		return 0;
	return (f->pinned ? f->path : f->hash) % r->nexthops;
}

/*
 * Route, next hop and port; the neighbour is left out.
 * Return: false if the packet has to be left to the kernel, or can't be sent at all.
 */
static __always_inline bool csw_way(const void *ctx, const struct csw_flow *f,
				    struct csw_egress *e)
{
	const struct csw_route *r = csw_route(ctx, f->dst);
	const struct csw_nexthop *n;

	if (!r || r->kind != CSW_ROUTE_UNICAST || !r->nexthops)
		return false;
	n = &r->nexthop[csw_choose(ctx, r, f) & (CSW_NEXTHOPS_MAX - 1)];
	e->ifindex = n->ifindex;
	e->gateway = n->gateway ? n->gateway : f->dst;
	e->port = csw_port(ctx, e->ifindex);
	return e->port;
}

/* The neighbour too */
static __always_inline bool csw_reach(const void *ctx, const struct csw_flow *f,
				      struct csw_egress *e)
{
	if (!csw_way(ctx, f, e))
		return false;
	e->neigh = csw_neigh(ctx, e->ifindex, e->gateway);
	return true;
}

/* Can packets of @length bytes, Ethernet header included, be sent there? */
static __always_inline bool csw_fits(const struct csw_egress *e, __u32 length)
{
	return length - CSW_OFF_IP <= e->port->mtu;
}

#endif /* CANARY_BPF_LIB_NEXTHOP_H */
