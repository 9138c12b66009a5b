/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Descriptors: where that of a block is, and what happens to a contribution that meets it. The
 * caller of all these functions holds the bucket's lock.
 */
#ifndef CANARY_BPF_LIB_DESCRIPTOR_H
#define CANARY_BPF_LIB_DESCRIPTOR_H

#define CSW_NO_SLOT	(~0U)

/*
 * Consecutive blocks of a communicator are in consecutive buckets. While the window is smaller than
 * the number of buckets, they never collide with each other.
 */
static __always_inline __u32 csw_hash(__be32 comm, __be32 epoch, __be32 block)
{
	__u32 hash = comm * 0x9e3779b1U ^ epoch;

	hash *= 0x85ebca6bU;
	hash ^= hash >> 15;
	return hash + cnr_be32(block);
}

/* Return: the first slot of the bucket of @block, which has the communicator and epoch of @h */
static __always_inline __u32 csw_bucket(const struct csw_config *c, const struct canary_hdr *h,
					__be32 block)
{
	return csw_hash(h->comm ^ c->seed, h->epoch, block) * CSW_WAYS & c->slot_mask;
}

/* Return: the lock that covers a slot */
static __always_inline __u32 *csw_lock_of(const void *ctx, __u32 slot)
{
	struct csw_descriptor *first = csw_descriptor_at(ctx, slot & ~(CSW_WAYS - 1U));

	return first ? &first->lock : NULL;
}

static __always_inline void csw_unlock_slot(const void *ctx, __u32 slot)
{
	__u32 *lock = csw_lock_of(ctx, slot);

	if (lock)
		csw_unlock(lock);
}

/* Is @d the descriptor of @block, which has the communicator and epoch of @h? */
static __always_inline bool csw_is_block(const struct csw_descriptor *d,
					 const struct canary_hdr *h, __be32 block)
{
	return d->state != CSW_FREE && d->block == block && d->comm == h->comm &&
	       d->epoch == h->epoch;
}

/*
 * Return: the block whose result is the last one that may go down the tree of @d. A tree that was
 * kept once may be used to its end: the switch does not know where that is.
 */
static __always_inline __u32 csw_last_block(const struct csw_descriptor *d)
{
	return cnr_be32(d->block) + (d->kept_for ? CANARY_TREE_MAX - 1 : 0);
}

/*
 * Is the tree of @d over, as the header @h shows? Its sender has all results before `acked`. So the
 * leader has sent the results that @d waits for, and a result comes only once: it was lost, or what
 * was sent on came too late to be answered.
 */
static __always_inline bool csw_is_over(const struct csw_descriptor *d, const struct canary_hdr *h)
{
	return d->state == CSW_SENT && d->comm == h->comm && d->epoch == h->epoch &&
	       canary_before(csw_last_block(d), cnr_be32(h->contribution.acked));
}

/*
 * Where @h belongs: the descriptor of @block, or a slot that may be taken for it. That is a free
 * slot, one whose block is over, or the oldest one that has outlived @lifetime. A free slot that is
 * not queued is better: in a queued one the new block may wait longer than its timeout.
 */
struct csw_found {
	struct csw_descriptor *d;	/* NULL: the bucket is full of other blocks */
	__u32 slot;
	bool is_block;
	bool displaced;		/* taken from an entry that is above its share */
};

static __always_inline void csw_find(csw_xdp *ctx, const struct csw_config *c, __u32 bucket,
				     const struct canary_hdr *h, __be32 block,
				     struct csw_found *f)
{
	__u64 oldest, now = 0;
	__u32 way;

	f->d = NULL;
	f->slot = CSW_NO_SLOT;
	f->is_block = false;
	f->displaced = false;
	CSW_LOOP
	for (way = 0; way < CSW_WAYS; way++) {
		struct csw_descriptor *d = csw_descriptor_at(ctx, bucket + way);

		if (!d)
			return;
		if (csw_is_block(d, h, block)) {
			f->d = d;
			f->slot = bucket + way;
			f->is_block = true;
			return;
		}
		if (d->state == CSW_FREE && (!f->d || (f->d->queued && !d->queued))) {
			f->d = d;
			f->slot = bucket + way;
		}
	}
	if (f->d)
		return;
	now = csw_now(ctx);
	oldest = now - c->lifetime_ns;
	CSW_LOOP
	for (way = 0; way < CSW_WAYS; way++) {
		struct csw_descriptor *d = csw_descriptor_at(ctx, bucket + way);

		if (!d)
			return;
		if (csw_is_over(d, h)) {
			f->d = d;
			f->slot = bucket + way;
			return;
		}
		if ((__s64)(d->born - oldest) < 0) {
			f->d = d;
			f->slot = bucket + way;
			oldest = d->born;
		}
	}
}

/* Return: how many slots of the bucket @holder has */
static __always_inline __u32 csw_held(const void *ctx, __u32 bucket, __u32 holder)
{
	const struct csw_descriptor *d;
	__u32 way, n = 0;

	CSW_LOOP
	for (way = 0; way < CSW_WAYS; way++) {
		d = csw_descriptor_at(ctx, bucket + way);
		n += d && d->holder == holder;
	}
	return n;
}

/*
 * The bucket is full, and nothing in it is over. Each admission entry has its share. @holder takes
 * the oldest slot of the entry that holds most, if that entry holds at least two more than @holder.
 * Only blocks that were sent on give way, since a block that is collecting would lose
 * contributions. The slots of a bucket are counted each time, so there is no counter that could be
 * wrong. Return: the slot, or CSW_NO_SLOT
 */
CSW_FUNC __u32 csw_displace(csw_xdp *ctx, __u32 bucket, __u32 holder)
{
	__u32 least = csw_held(ctx, bucket, holder) + 2, slot = CSW_NO_SLOT, way, held;
	const struct csw_descriptor *d;
	__u64 oldest = 0;

	CSW_LOOP
	for (way = 0; way < CSW_WAYS; way++) {
		d = csw_descriptor_at(ctx, bucket + way);
		if (!d || d->state != CSW_SENT || d->holder == holder)
			continue;
		held = csw_held(ctx, bucket, d->holder);
		if (held < least || (held == least && slot != CSW_NO_SLOT &&
				     (__s64)(d->born - oldest) >= 0))
			continue;
		least = held;
		oldest = d->born;
		slot = bucket + way;
	}
	return slot;
}

static __always_inline __u64 csw_child_bit(const struct canary_peer *at)
{
	return 1ULL << ((canary_addr_fold(&at->addr) ^ (__u32)at->port << 16) * 0x9e3779b1U >> 26);
}

/* What a list adds to csw_start_descriptor() */
static __always_inline void csw_start_list(struct csw_descriptor *d, const struct canary_hdr *h)
{
	if (csw_merges_lists(d->kind))
		d->shard = h->contribution.shard;
}

/* Begin @d anew with the contribution @p, except its data. */
static __always_inline void csw_start_descriptor(struct csw_descriptor *d,
						 const struct csw_packet *p, __u64 now,
						 __u64 deadline)
{
	const struct canary_hdr *h = p->h;
	struct canary_peer from = csw_sender(p);

	d->born = now;
	d->deadline = deadline;
	d->comm = h->comm;
	d->epoch = h->epoch;
	d->block = h->block;
	d->opsig = h->opsig;
	d->attempt = h->attempt;
	d->kind = canary_kind(h);
	d->load = h->contribution.load;
	d->path = h->contribution.path;
	d->flags = h->flags;
	d->kept_for = 0;
	d->members = cnr_be16(h->members);
	d->count = cnr_be16(h->contribution.count);
	d->length = canary_length(h);
	csw_start_list(d, h);
	d->stragglers = 0;
	d->leader = csw_receiver(p);
	d->rank = h->rank;
	d->mac = h->mac;
	d->tag = csw_cpu64(h->contribution.tag);
	d->sum = cnr_be32(h->contribution.sum);
	d->done = cnr_be32(h->contribution.acked);
	d->children = 1;
	d->child_bits = csw_child_bit(&from);
	d->child[0].at = from;
	d->child[0].reserved = 0;
	d->child[0].tag = h->contribution.tag;
}

/* Does the descriptor hold one contribution only, as its member sent it? */
static __always_inline bool csw_is_single(const struct csw_descriptor *d)
{
	if (csw_merges_lists(d->kind))
		return d->shard != CSW_NO_SHARD && d->mac;
	return d->count == 1;
}

/* Return: the number of the shard in it, if it has only that */
static __always_inline __u8 csw_shard(const struct csw_descriptor *d)
{
	return csw_merges_lists(d->kind) && csw_is_single(d) ? d->shard : 0;
}

/* Free @d. A result that still waits for its copies does not find it any more. */
static __always_inline void csw_free(struct csw_descriptor *d)
{
	d->state = CSW_FREE;
	d->generation++;
}

/* Does @p belong to the same operation? The opsig says that; the rest makes sure. */
static __always_inline bool csw_same_operation(const struct csw_descriptor *d,
					       const struct csw_packet *p)
{
	const struct canary_hdr *h = p->h;
	struct canary_peer to = csw_receiver(p);

	return d->opsig == h->opsig && d->kind == canary_kind(h) &&
	       (csw_merges_lists(d->kind) || d->length == canary_length(h)) &&
	       d->members == cnr_be16(h->members) &&
	       canary_peer_equal(&d->leader, &to);
}

/* Return: the index of this child; d->children if it is a new one */
CSW_FUNC int csw_search_child(struct csw_descriptor *d, struct canary_peer *at)
{
	__u32 i;

	if (!d || !at)
		return CSW_CHILDREN_MAX;
	CSW_LOOP
	for (i = 0; i < CSW_CHILDREN_MAX && i < d->children; i++) {
		if (canary_peer_equal(&d->child[i].at, at))
			break;
	}
	return i;
}

static __always_inline __u32 csw_child(struct csw_descriptor *d, const struct csw_packet *p)
{
	struct canary_peer from = csw_sender(p);

	if (!(d->child_bits & csw_child_bit(&from)))
		return d->children;
	return csw_search_child(d, &from);
}

/* Remember that @p came from child @i. */
static __always_inline void csw_remember(struct csw_descriptor *d, __u32 i,
					 const struct csw_packet *p)
{
	struct canary_peer from = csw_sender(p);
	struct csw_child *child;
	__u32 at = i;

	if (i >= CSW_CHILDREN_MAX)
		return;
	/* The verifier forgets what it was compared with. */
	CSW_OPAQUE(at);
	child = &d->child[at % CSW_CHILDREN_MAX];
	child->at = from;
	child->reserved = 0;
	child->tag = p->h->contribution.tag;
	d->child_bits |= csw_child_bit(&from);
	if (i == d->children)
		d->children = i + 1;
}

/* Merge the header @h into the descriptor. */
static __always_inline void csw_merge(struct csw_descriptor *d, const struct canary_hdr *h)
{
	d->count += cnr_be16(h->contribution.count);
	if (csw_merges_lists(d->kind))
		d->shard = CSW_NO_SHARD;
	d->tag += csw_cpu64(h->contribution.tag);
	if (canary_kind_flags(d->kind) & CANARY_K_LINEAR)
		d->sum = canary_check_join(canary_kind_check(d->kind), d->sum,
					   cnr_be32(h->contribution.sum));
	d->done = canary_earlier(d->done, cnr_be32(h->contribution.acked));
	if (h->contribution.load > d->load)
		d->load = h->contribution.load;
}

/* What a contribution is to its block's descriptor */
enum csw_meeting {
	CSW_MEET_STALE,		/* older attempt: drop */
	CSW_MEET_REPEAT,	/* the same once more: drop */
	CSW_MEET_OVERCOUNT,	/* more contributions than members: drop */
	CSW_MEET_OTHER,		/* another operation: bypass */
	CSW_MEET_CROWDED,	/* no room for its source: bypass */
	CSW_MEET_NEW,		/* the first, or a newer attempt: take the slot */
	CSW_MEET_STRAGGLER,	/* sent on already: forward */
	CSW_MEET_ADD,		/* add it */
	CSW_MEET_COMPLETE,	/* add it and send on: that is all */
};

static __always_inline enum csw_meeting csw_meet(const struct csw_config *c,
						 struct csw_descriptor *d,
						 const struct csw_packet *p, __u32 *child)
{
	__u32 children_max = c->children_max;
	__u32 count, i;

	if (!csw_same_operation(d, p))
		return CSW_MEET_OTHER;
	if (p->h->attempt < d->attempt)
		return CSW_MEET_STALE;
	if (p->h->attempt > d->attempt)
		return CSW_MEET_NEW;
	*child = csw_child(d, p);
	if (*child < d->children) {
		i = *child;
		/* The verifier forgets what it was compared with. */
		CSW_OPAQUE(i);
		if (d->child[i % CSW_CHILDREN_MAX].tag == p->h->contribution.tag)
			return CSW_MEET_REPEAT;
	} else if (*child >= children_max || *child >= CSW_CHILDREN_MAX) {
		return CSW_MEET_CROWDED;
	}
	if (d->state == CSW_SENT)
		return CSW_MEET_STRAGGLER;
	count = d->count + cnr_be16(p->h->contribution.count);
	if (count > d->members - 1U)
		return CSW_MEET_OVERCOUNT;
	/* Lists that did not fit went on without being added. */
	if (csw_merges_lists(d->kind))
		count += d->stragglers;
	return count >= d->expect ? CSW_MEET_COMPLETE : CSW_MEET_ADD;
}

#endif /* CANARY_BPF_LIB_DESCRIPTOR_H */
