/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What happens to contributions, and how blocks leave: PROTOCOL.md, "A switch". */
#ifndef CANARY_BPF_LIB_CONTRIBUTION_H
#define CANARY_BPF_LIB_CONTRIBUTION_H

/*
 * Bypass the contribution: no switch touches it any more, and the leader learns which switch gave
 * up.
 */
CSW_FUNC int csw_bypass(csw_xdp *ctx, __u32 counter)
{
	struct csw_packet p;
	__u32 before;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	csw_count(ctx, counter, 1);
	csw_check_look(&p);
	before = csw_headers(ctx);
	p.h->flags |= CANARY_F_BYPASS;
	p.h->contribution.switch_id = csw_config(ctx)->id;
	p.h->contribution.cookie = csw_give_cookie(ctx, &p);
	csw_check_after(&p, before, csw_headers(ctx));
	return csw_forward(ctx);
}

/*
 * Return: the state of a descriptor that was sent on. A silent block needs none, as no result
 * comes.
 */
static __always_inline enum csw_state csw_sent(__u8 flags)
{
	return flags & CANARY_F_SILENT ? CSW_FREE : CSW_SENT;
}

/*
 * Send on the block of @d, in this frame. The frame has the right length and the data already. The
 * caller holds the lock; this unlocks it.
 */
static __always_inline int csw_send_on(csw_xdp *ctx, struct csw_descriptor *d, __u32 *lock,
				       __u32 counter)
{
	__u32 length = csw_frame_length(d->length);
	struct csw_packet p;
	struct csw_egress e;
	struct csw_flow f;
	__u64 out = d->out;

	d->state = csw_sent(d->flags);
	if (csw_packet_at(ctx, &p)) {
		csw_unlock(lock);
		csw_drop(ctx, CANARY_DROP_XMIT);
		return CSW_XDP_DROP;
	}
	csw_check_look(&p);
	csw_build(csw_config(ctx), d, p.h);
	csw_address(csw_config(ctx), &p, length, CSW_TTL, &d->leader);
	csw_unlock(lock);
	csw_flow_on(ctx, &f, &p);
	if (!csw_reach(ctx, &f, &e)) {
		/*
		 * The route was lost after the block began. The kernel takes no packet that has
		 * this machine's address, so the block is lost, and its leader begins it anew.
		 */
		csw_drop(ctx, CANARY_DROP_NOROUTE);
		return CSW_XDP_DROP;
	}
	csw_mark_load(ctx, &e, p.h);
	csw_check_set(&p, csw_headers(ctx), out);
	return csw_send(ctx, &p, length, &e, counter);
}

/* Let the frame carry away the block at the head of that queue, if it is still due. */
CSW_FUNC int csw_carry(csw_xdp *ctx, __u32 number, __u32 counter)
{
	struct csw_descriptor *d;
	__u32 *lock = NULL;

	d = csw_dequeue(ctx, number, &lock);
	if (!d || !lock)
		return CSW_XDP_DROP;
	csw_data_out(ctx, d);
	return csw_send_on(ctx, d, lock, counter);
}

/* The frame is consumed. If a block is due, the frame carries it away; else it is dropped. */
static __always_inline int csw_consume(csw_xdp *ctx, __u64 now)
{
	if (csw_queue_is_due(ctx, now))
		return csw_carry(ctx, csw_queue_here(ctx), CSW_SENT_CARRIER);
	return CSW_XDP_DROP;
}

static __always_inline int csw_refuse(csw_xdp *ctx, enum canary_drop reason)
{
	csw_drop(ctx, reason);
	return csw_consume(ctx, csw_now(ctx));
}

/*
 * Forward the contribution with the switch's address as source, so that the result comes back this
 * way. The TTL is not renewed: nothing else would end a loop of switches.
 */
static __always_inline int csw_relay(csw_xdp *ctx, struct csw_packet *p,
				     const struct csw_egress *e, __u32 counter)
{
	struct canary_peer to = csw_receiver(p);
	__u32 length = csw_length(p);
	__u32 before;

	csw_check_look(p);
	before = csw_headers(ctx);
	csw_address(csw_config(ctx), p, length, p->ip->ttl - 1, &to);
	p->h->contribution.switch_id = csw_config(ctx)->id;
	csw_mark_load(ctx, e, p->h);
	csw_check_after(p, before, csw_headers(ctx));
	return csw_send(ctx, p, length, e, counter);
}

/*
 * What a function leaves to its caller, if it does not return an action of XDP. It cannot call
 * other functions itself, as the stack of BPF is too small for such a chain.
 */
enum csw_left {
	CSW_STAYS	= -1,	/* no frame takes the sum: add to the descriptor */
	CSW_CONSUMES	= -2,
	CSW_FORWARDS	= -3,
	CSW_QUEUE_BUSY	= -4,	/* bypass */
	CSW_COPIES	= -5,	/* a result has several: csw_replicate() sends them */
};

static __always_inline int csw_refuse_left(csw_xdp *ctx, enum canary_drop reason)
{
	csw_drop(ctx, reason);
	return CSW_CONSUMES;
}

/* How a block begins */
struct csw_start {
	struct csw_flow flow;
	struct csw_egress egress;
	__u64 now;
	__u32 slot;
	__u32 holder;
	__u32 displaced;	/* the slot is taken from an entry above its share */
	__u32 expect;
};

/*
 * May the switch take this contribution? If it could not be sent on (no route, too large for the
 * next hop), the kernel gets it, and can answer its sender.
 */
static __always_inline bool csw_may_begin(csw_xdp *ctx, const struct csw_packet *p,
					  struct csw_start *s)
{
	csw_flow_on(ctx, &s->flow, p);
	return csw_own_mac_again(ctx, p) && csw_way(ctx, &s->flow, &s->egress) &&
	       csw_fits(&s->egress, csw_frame_length(canary_length(p->h)));
}

/* Count a block whose descriptor is given up. */
static __always_inline void csw_give_up(csw_xdp *ctx, const struct csw_descriptor *d,
					const struct canary_hdr *h, __u32 displaced)
{
	if (d->state == CSW_FREE)
		return;
	csw_count(ctx, csw_is_block(d, h, h->block) ? CSW_RESTARTED : CSW_EVICTED, 1);
	if (displaced)
		csw_count(ctx, CSW_DISPLACED, 1);
}

/* Return: bytes of data that a packet to @e may have */
static __always_inline __u32 csw_data_room(const struct csw_egress *e)
{
	__u32 room = e->port->mtu - (CSW_OFF_DATA - CSW_OFF_IP);

	return room < CANARY_PAYLOAD_MAX ? room : CANARY_PAYLOAD_MAX;
}

/* Make @d the descriptor of the block of @p. Unlocks. */
static __always_inline void csw_occupy(csw_xdp *ctx, struct csw_descriptor *d,
				       const struct csw_packet *p, const struct csw_start *s,
				       __u64 deadline, __u8 waits, enum csw_state state)
{
	csw_give_up(ctx, d, p->h, s->displaced);
	csw_start_descriptor(d, p, s->now, deadline);
	d->generation++;
	d->holder = s->holder;
	d->expect = s->expect;
	if (csw_merges_lists(d->kind))
		d->room = csw_data_room(&s->egress);
	d->port = s->egress.ifindex;
	d->waits_left = waits;
	d->waits = waits;
	d->state = state;
	csw_unlock_slot(ctx, s->slot);
	csw_count(ctx, CSW_NEW, 1);
}

/*
 * Nothing else is expected of this block: send it on at once. It is remembered, in case more comes.
 */
static __always_inline int csw_begin_alone(csw_xdp *ctx, struct csw_descriptor *d,
					   struct csw_packet *p, struct csw_start *s)
{
	csw_occupy(ctx, d, p, s, s->now, 0, csw_sent(p->h->flags));
	if (!csw_reach(ctx, &s->flow, &s->egress))
		return csw_refuse_left(ctx, CANARY_DROP_NOROUTE);
	return csw_relay(ctx, p, &s->egress, CSW_SENT_EXPECTED);
}

/*
 * Copy the first data of a block. If they are damaged, @d keeps its block, unless that is still
 * collecting: then its data are overwritten, and it is given up.
 */
static __always_inline int csw_first_data(csw_xdp *ctx, struct csw_descriptor *d,
					  const struct csw_packet *p)
{
	__u16 length = d->length;
	__u8 kind = d->kind;
	int is;

	d->length = canary_length(p->h);
	d->kind = canary_kind(p->h);
	is = csw_data_in(ctx, d);
	if (is == CSW_DATA_GOOD)
		return is;
	d->length = length;
	d->kind = kind;
	if (d->state == CSW_COLLECTING) {
		csw_give_up(ctx, d, p->h, false);
		csw_free(d);
	}
	return is;
}

static __always_inline int csw_begin_collecting(csw_xdp *ctx, struct csw_descriptor *d,
						const struct csw_packet *p, struct csw_start *s)
{
	__u64 deadline = s->now + csw_timeout(ctx);
	int is, queued = CSW_QUEUED;
	__u8 waits = 0;

	if (!d->queued)
		queued = csw_enqueue(ctx, s->slot, deadline);
	if (queued == CSW_QUEUE_FULL) {
		csw_unlock_slot(ctx, s->slot);
		return CSW_QUEUE_BUSY;
	}
	d->queued = 1;
	is = csw_first_data(ctx, d, p);
	if (is != CSW_DATA_GOOD) {
		csw_unlock_slot(ctx, s->slot);
		if (queued == CSW_QUEUED_WAKE)
			csw_wake(ctx);
		return csw_refuse_left(ctx, csw_data_drop(is));
	}
	/* The leader is on link, so nobody behind us can add anything: this is the root switch. */
	if (canary_addr_equal(&s->egress.gateway, &s->flow.dst.addr))
		waits = csw_config(ctx)->root_waits;
	csw_occupy(ctx, d, p, s, deadline, waits, CSW_COLLECTING);
	if (queued == CSW_QUEUED_WAKE)
		csw_wake(ctx);
	return CSW_CONSUMES;
}

/*
 * Take the slot for the contribution. If that is impossible, its content stays. Without a clock
 * nothing is taken, and the switch acts as a router. Unlocks.
 */
CSW_FUNC int csw_begin(csw_xdp *ctx, struct csw_descriptor *d, __u32 slot, __u32 holder,
		       __u32 displaced)
{
	struct csw_start s = { .slot = slot, .holder = holder, .displaced = displaced };
	struct csw_packet p;

	if (!d || csw_packet_at(ctx, &p)) {
		csw_unlock_slot(ctx, slot);
		return CSW_XDP_PASS;
	}
	if (!csw_may_begin(ctx, &p, &s)) {
		csw_unlock_slot(ctx, slot);
		return csw_to_kernel(ctx);
	}
	s.now = csw_now(ctx);
	if (s.now >= CSW_READ(csw_queue_ctl(ctx)->open_until)) {
		csw_unlock_slot(ctx, slot);
		csw_count(ctx, CSW_UNATTENDED, 1);
		return CSW_FORWARDS;
	}
	csw_saw(ctx, s.now);
	s.expect = csw_expect(ctx, &p, s.egress.ifindex);
	return cnr_be16(p.h->contribution.count) >= s.expect ? csw_begin_alone(ctx, d, &p, &s) :
						  csw_begin_collecting(ctx, d, &p, &s);
}

/*
 * A straggler comes too late to be added. Remember its source, so that the result reaches it.
 * Unlocks.
 */
CSW_FUNC int csw_straggle(csw_xdp *ctx, struct csw_descriptor *d, __u32 slot, __u32 child)
{
	struct csw_packet p;
	struct csw_egress e;
	struct csw_flow f;

	if (!d || csw_packet_at(ctx, &p)) {
		csw_unlock_slot(ctx, slot);
		return CSW_XDP_PASS;
	}
	csw_flow_on(ctx, &f, &p);
	if (!csw_reach(ctx, &f, &e)) {
		csw_unlock_slot(ctx, slot);
		return csw_to_kernel(ctx);
	}
	csw_remember(d, child, &p);
	d->stragglers += cnr_be16(p.h->contribution.count);
	/* A list that did not fit was not late. */
	if (!csw_merges_lists(d->kind) || d->state == CSW_SENT)
		csw_learn_skew(ctx, d);
	csw_unlock_slot(ctx, slot);
	return csw_relay(ctx, &p, &e, CSW_STRAGGLER);
}

static __always_inline void csw_account(csw_xdp *ctx, struct csw_descriptor *d, __u32 child,
					const struct csw_packet *p)
{
	csw_remember(d, child, p);
	csw_merge(d, p->h);
	csw_count(ctx, CSW_MERGED, 1);
}

/*
 * Add the contribution to the descriptor, which waits for more. A list that does not fit goes on as
 * a straggler does. Unlocks.
 */
static __always_inline int csw_keep(csw_xdp *ctx, const struct csw_packet *p,
				    struct csw_descriptor *d, __u32 slot, __u32 child, __u32 *lock)
{
	int is = csw_data_add_in(ctx, d);

	if (csw_merges_lists(d->kind) && is == CSW_DATA_FULL)
		return csw_straggle(ctx, d, slot, child);
	if (is != CSW_DATA_GOOD) {
		csw_unlock(lock);
		return csw_refuse(ctx, csw_data_drop(is));
	}
	csw_account(ctx, d, child, p);
	csw_unlock(lock);
	/* The last reading of the clock is good enough: to read it costs a third of adding. */
	return csw_consume(ctx, CSW_READ(csw_queue_ctl(ctx)->seen));
}

/*
 * The last expected contribution is a list, which may make that of @d longer or not. If the frame
 * has no room for it, the clock sends it. Unlocks.
 */
static __always_inline int csw_complete_list(csw_xdp *ctx, struct csw_descriptor *d, __u32 slot,
					     __u32 child)
{
	__u32 *lock = csw_lock_of(ctx, slot);
	int is = csw_data_add_in(ctx, d);
	struct csw_packet p;

	if (is == CSW_DATA_FULL)
		return csw_straggle(ctx, d, slot, child);
	if (is != CSW_DATA_GOOD || csw_packet_at(ctx, &p)) {
		csw_unlock(lock);
		return csw_refuse_left(ctx, csw_data_drop(is));
	}
	csw_account(ctx, d, child, &p);
	if (csw_resize(ctx, csw_frame_length(d->length))) {
		csw_unlock(lock);
		return CSW_CONSUMES;
	}
	csw_data_out(ctx, d);
	return csw_send_on(ctx, d, lock, d->count == d->members - 1U ? CSW_SENT_COMPLETE :
			   CSW_SENT_EXPECTED);
}

/* The last expected contribution: its frame carries the sum away. Unlocks, except for CSW_STAYS. */
CSW_FUNC int csw_complete(csw_xdp *ctx, struct csw_descriptor *d, __u32 slot, __u32 child)
{
	__u32 *lock = csw_lock_of(ctx, slot);
	struct csw_packet p;
	bool whole;
	int is;

	if (!lock)
		return CSW_XDP_PASS;
	if (!d) {
		csw_unlock(lock);
		return CSW_XDP_PASS;
	}
	if (csw_merges_lists(d->kind))
		return csw_complete_list(ctx, d, slot, child);
	whole = csw_resize(ctx, csw_frame_length(d->length)) == 0;
	if (csw_packet_at(ctx, &p)) {
		csw_unlock(lock);
		return csw_refuse_left(ctx, CANARY_DROP_XMIT);
	}
	if (!whole)
		return CSW_STAYS;
	is = csw_data_add_out(ctx, d);
	if (is != CSW_DATA_GOOD) {
		csw_unlock(lock);
		return csw_refuse_left(ctx, csw_data_drop(is));
	}
	csw_account(ctx, d, child, &p);
	if (csw_config(ctx)->timeout_max)
		csw_learn_skew(ctx, d);
	return csw_send_on(ctx, d, lock, d->count == d->members - 1U ? CSW_SENT_COMPLETE :
			   CSW_SENT_EXPECTED);
}

/* Do what such a function has left to do. */
static __always_inline int csw_finish(csw_xdp *ctx, int action)
{
	switch (action) {
	case CSW_CONSUMES:
		return csw_consume(ctx, csw_now(ctx));
	case CSW_FORWARDS:
		return csw_forward(ctx);
	case CSW_QUEUE_BUSY:
		return csw_bypass(ctx, CSW_BYPASS_QUEUE_LOCK);
	default:
		return action;
	}
}

/* Collect a contribution that switches may add. The bucket's lock is held; this unlocks it. */
static __always_inline int csw_collect(csw_xdp *ctx, const struct csw_packet *p,
				       const struct csw_found *f, __u32 *lock, __u32 holder)
{
	struct csw_packet again = *p;
	enum csw_meeting meeting;
	__u32 child = 0;
	int action;

	meeting = f->is_block ? csw_meet(csw_config(ctx), f->d, p, &child) : CSW_MEET_NEW;
	if (meeting == CSW_MEET_COMPLETE) {
		action = csw_complete(ctx, f->d, f->slot, child);
		if (action != CSW_STAYS)
			return csw_finish(ctx, action);
		/* Its block stays in the queue. */
		meeting = CSW_MEET_ADD;
		if (csw_packet_at(ctx, &again))
			meeting = CSW_MEET_REPEAT;
	}
	if (meeting == CSW_MEET_ADD)
		return csw_keep(ctx, &again, f->d, f->slot, child, lock);
	if (meeting == CSW_MEET_NEW)
		return csw_finish(ctx, csw_begin(ctx, f->d, f->slot, holder, f->displaced));
	if (meeting == CSW_MEET_STRAGGLER)
		return csw_straggle(ctx, f->d, f->slot, child);
	csw_unlock(lock);
	switch (meeting) {
	case CSW_MEET_OTHER:
		return csw_bypass(ctx, CSW_BYPASS_OPSIG);
	case CSW_MEET_CROWDED:
		return csw_bypass(ctx, CSW_BYPASS_CHILDREN);
	case CSW_MEET_STALE:
		return csw_refuse(ctx, CANARY_DROP_STALE);
	case CSW_MEET_OVERCOUNT:
		return csw_refuse(ctx, CANARY_DROP_COUNT);
	default:
		return csw_refuse(ctx, CANARY_DROP_DUPLICATE);
	}
}

/*
 * No slot is free. Try to take one that is above another entry's share. Return: true if that worked
 */
static __always_inline bool csw_make_room(csw_xdp *ctx, __u32 bucket, __u32 holder,
					  struct csw_found *f)
{
	if (!holder)
		return false;
	f->slot = csw_displace(ctx, bucket, holder);
	if (f->slot == CSW_NO_SLOT)
		return false;
	f->d = csw_descriptor_at(ctx, f->slot);
	f->displaced = true;
	return f->d;
}

/*
 * Does this switch combine contributions of @kind? The results of lists are longer than these, so
 * that takes rules: see csw_may_spend().
 */
static __always_inline bool csw_combines(const void *ctx, __u8 kind)
{
	return (canary_kind_flags(kind) & CANARY_K_SWITCHES) &&
	       (!csw_merges_lists(kind) || csw_config(ctx)->admit);
}

/* @holder: the admission entry of its source, 0 if everybody is admitted */
static __always_inline int csw_contribution(csw_xdp *ctx, const struct csw_packet *p, __u32 holder)
{
	const struct csw_config *c = csw_config(ctx);
	struct csw_descriptor *first;
	struct csw_found f;
	__u32 bucket;

	csw_count(ctx, CSW_RX_CONTRIBUTION, 1);
	csw_count(ctx, CSW_RX_BYTES, csw_length(p));
	if (p->ip->ttl <= 1) {
		csw_drop(ctx, CANARY_DROP_TTL);
		return CSW_XDP_PASS;
	}
	if (p->h->flags & CANARY_F_BYPASS) {
		csw_count(ctx, CSW_BYPASSED, 1);
		return csw_forward(ctx);
	}
	/* Of lists, others may follow. */
	if (cnr_be16(p->h->contribution.count) == cnr_be16(p->h->members) - 1 &&
	    !canary_is_list(p->h)) {
		csw_count(ctx, CSW_PASSED, 1);
		return csw_forward(ctx);
	}
	if (!csw_combines(ctx, canary_kind(p->h)))
		return csw_bypass(ctx, CSW_BYPASS_OPERATOR);
	bucket = csw_bucket(c, p->h, p->h->block);
	first = csw_descriptor_at(ctx, bucket);
	if (!first)
		return csw_to_kernel(ctx);
	if (!csw_lock(ctx, &first->lock))
		return csw_bypass(ctx, CSW_BYPASS_LOCK);
	csw_find(ctx, c, bucket, p->h, p->h->block, &f);
	if (!f.d && !csw_make_room(ctx, bucket, holder, &f)) {
		csw_unlock(&first->lock);
		return csw_bypass(ctx, CSW_BYPASS_COLLISION);
	}
	return csw_collect(ctx, p, &f, &first->lock, holder);
}

#endif /* CANARY_BPF_LIB_CONTRIBUTION_H */
