/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Learned fan-in: how many members' contributions come by here for the blocks of a leader. With it,
 * a block leaves when they have come, and not when its timeout is over. No sum depends on it: a
 * number that is too small costs stragglers, one that is too large costs the timeout.
 *
 * If nothing is known of a leader, other leaders that are reached by the same port tell. Usually as
 * many contributions come by for them. The switch remembers that as the fan-in of the "leader"
 * 0.x.x.x, which is nobody's address, with the number of the port.
 */
#ifndef CANARY_BPF_LIB_FAN_IN_H
#define CANARY_BPF_LIB_FAN_IN_H

/* Return: the first of the CSW_FAN_IN_WAYS places for a leader */
static __always_inline __u32 csw_fan_in_index(__be32 comm, __be32 epoch,
					      const struct canary_peer *leader)
{
	__u32 hash = csw_hash(comm, epoch,
			      canary_addr_fold(&leader->addr) ^ (__u32)leader->port << 16);

	return (hash ^ hash >> 16) * 0x9e3779b1U >> 12 & (CSW_FAN_INS - CSW_FAN_IN_WAYS);
}

static __always_inline bool csw_fan_in_is(const struct csw_fan_in *e, __be32 comm, __be32 epoch,
					  const struct canary_peer *leader)
{
	return CSW_READ(e->expect) && e->comm == comm && e->epoch == epoch &&
	       canary_peer_equal(&e->leader, leader);
}

static __always_inline struct canary_peer csw_fan_in_port(__u16 port)
{
	return (struct canary_peer){ .addr = canary_addr_of_ip4(csw_be32((__u32)port)) };
}

/* Return: what was learned for a leader; 0: nothing */
static __always_inline __u32 csw_learned(const void *ctx, const struct canary_hdr *h,
					 struct canary_peer leader)
{
	__u32 index = csw_fan_in_index(h->comm, h->epoch, &leader), expect = 0, way;
	const struct csw_fan_in *e;

	CSW_LOOP
	for (way = 0; way < CSW_FAN_IN_WAYS; way++) {
		e = csw_fan_in_at(ctx, index + way);
		if (e && csw_fan_in_is(e, h->comm, h->epoch, &leader))
			expect = CSW_READ(e->expect);
	}
	return expect;
}

/*
 * Return: how many contributions complete the block of @p here, which leaves by @port; at most
 * members - 1
 */
static __always_inline __u32 csw_expect(const void *ctx, const struct csw_packet *p, __u16 port)
{
	const struct csw_config *c = csw_config(ctx);
	__u32 most = cnr_be16(p->h->members) - 1, expect = 0;
	struct canary_peer leader = csw_receiver(p);

	if (c->fan_ins_configured)
		expect = csw_configured_fan_in(ctx, &leader.addr);
	if (!expect && c->fan_in == CSW_FAN_IN_LEARN) {
		expect = csw_learned(ctx, p->h, leader);
		if (!expect)
			expect = csw_learned(ctx, p->h, csw_fan_in_port(port));
	}
	return expect && expect < most ? expect : most;
}

/*
 * Contributions that were sent on too early may still be on their way. So a smaller number is
 * believed slowly.
 */
static __always_inline void csw_fan_in_update(const void *ctx, struct csw_fan_in *e, __u32 came)
{
	e->blocks++;
	if (came < e->expect) {
		e->lower_blocks = e->lower == came ? e->lower_blocks + 1 : 1;
		e->lower = came;
		if (e->lower_blocks < CSW_FAN_IN_LOWER)
			return;
	}
	e->lower_blocks = 0;
	if (came == e->expect)
		return;
	e->expect = came;
	if (e->leader.port)
		csw_count(ctx, CSW_LEARNED, 1);
}

static __always_inline void csw_fan_in_start(const void *ctx, struct csw_fan_in *e,
					     const struct csw_descriptor *d,
					     const struct canary_peer *leader, __u32 came)
{
	e->comm = d->comm;
	e->epoch = d->epoch;
	e->leader = *leader;
	e->lower = 0;
	e->lower_blocks = 0;
	e->blocks = 1;
	e->expect = came;
	if (e->leader.port)
		csw_count(ctx, CSW_LEARNED, 1);
}

/*
 * Learn from @d how many contributions come by for its leader, or (@by_port) for any leader behind
 * its port.
 */
CSW_FUNC int csw_learn_of(csw_xdp *ctx, struct csw_descriptor *d, __u32 by_port)
{
	struct csw_fan_in *e, *to = NULL;
	struct canary_peer leader;
	__u32 came, index, way;
	bool known = false;

	if (!d)
		return 0;
	came = d->count + d->stragglers;
	if (came >= d->members)
		came = d->members - 1;
	leader = by_port ? csw_fan_in_port(d->port) : d->leader;
	index = csw_fan_in_index(d->comm, d->epoch, &leader);
	CSW_LOOP
	for (way = 0; way < CSW_FAN_IN_WAYS && !known; way++) {
		e = csw_fan_in_at(ctx, index + way);
		if (!e)
			return 0;
		known = csw_fan_in_is(e, d->comm, d->epoch, &leader);
		if (known || !to || (__s64)(e->used - to->used) < 0)
			to = e;
	}
	if (!to || !csw_trylock(&to->lock))
		return 0;
	to->used = CSW_READ(csw_queue_ctl(ctx)->seen);
	if (known)
		csw_fan_in_update(ctx, to, came);
	else
		csw_fan_in_start(ctx, to, d, &leader, came);
	csw_unlock(&to->lock);
	return 0;
}

/*
 * The result of the block of @d is here, so all its contributions have come by, stragglers
 * included. Learn from that. The bucket's lock is held.
 */
static __always_inline void csw_learn(csw_xdp *ctx, struct csw_descriptor *d)
{
	if (csw_config(ctx)->fan_in != CSW_FAN_IN_LEARN || d->state != CSW_SENT)
		return;
	csw_learn_of(ctx, d, false);
	csw_learn_of(ctx, d, true);
}

#endif /* CANARY_BPF_LIB_FAN_IN_H */
