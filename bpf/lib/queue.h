/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The deadline queue: blocks in the order in which they fall due. Blocks that were sent on earlier
 * leave their entry behind; it is recognised as stale (the slot's generation or state has moved
 * on) when it comes to the head.
 */
#ifndef CANARY_BPF_LIB_QUEUE_H
#define CANARY_BPF_LIB_QUEUE_H

/* Stale entries that one packet clears away */
#define CSW_QUEUE_SKIP	8

/* The slot that @e still stands for, else NULL. Sure only under the bucket's lock. */
static __always_inline struct csw_descriptor *csw_queued(const void *ctx,
							 const struct csw_queue_entry *e)
{
	struct csw_descriptor *d = csw_descriptor_at(ctx, e->slot);

	if (!d || CSW_READ(d->generation) != e->generation ||
	    CSW_READ(d->state) != CSW_COLLECTING)
		return NULL;
	return d;
}

/*
 * Make room when more than half of the queue is used: blocks that complete long before their
 * deadline would otherwise fill it. Called with the queue's lock held.
 */
static __always_inline void csw_queue_clear(const void *ctx, struct csw_queue_ctl *q, __u32 mask)
{
	struct csw_queue_entry *e;
	int i;

	CSW_LOOP
	for (i = 0; i < CSW_QUEUE_SKIP; i++) {
		if (q->tail - q->head <= mask / 2)
			return;
		e = csw_queue_at(ctx, q->head & mask);
		if (!e || csw_queued(ctx, e))
			return;
		q->head++;
	}
}

/*
 * Append. The descriptor must already have this generation and be collecting.
 * Return: 0, or what to count if it is not on the queue.
 */
CSW_FUNC int csw_enqueue(csw_xdp *ctx, __u32 slot, __u32 generation, __u64 deadline)
{
	struct csw_queue_ctl *q = csw_queue_ctl(ctx);
	__u32 mask = csw_config(ctx)->queue_mask;
	struct csw_queue_entry *e = NULL;

	if (!csw_lock(&q->lock))
		return CSW_BYPASS_QUEUE_LOCK;
	csw_queue_clear(ctx, q, mask);
	if (q->tail - q->head <= mask)
		e = csw_queue_at(ctx, q->tail & mask);
	if (e) {
		if ((__s64)(q->last - deadline) > 0)
			deadline = q->last;
		q->last = deadline;
		e->deadline = deadline;
		e->slot = slot;
		e->generation = generation;
		q->tail++;
	}
	/* A full barrier: either we see the sleeper, or it sees the entry. */
	__sync_lock_test_and_set(&q->lock, 0);
	if (e && CSW_READ(q->sleeping) && __sync_lock_test_and_set(&q->sleeping, 0))
		csw_wake(ctx);
	return e ? 0 : CSW_BYPASS_QUEUE;
}

/* Is the head due at @now? Without lock, so only a hint. */
static __always_inline bool csw_queue_is_due(const void *ctx, __u64 now)
{
	struct csw_queue_ctl *q = csw_queue_ctl(ctx);
	__u32 head = CSW_READ(q->head);
	struct csw_queue_entry *e;

	if (head == CSW_READ(q->tail))
		return false;
	e = csw_queue_at(ctx, head & csw_config(ctx)->queue_mask);
	return e && (__s64)(CSW_READ(e->deadline) - now) <= 0;
}

/* Give the due block at the head another timeout. Both locks are held. */
static __always_inline bool csw_queue_again(const void *ctx, struct csw_queue_ctl *q,
					    const struct csw_queue_entry *head,
					    struct csw_descriptor *d, __u64 now)
{
	struct csw_queue_entry *e = csw_queue_at(ctx, q->tail & csw_config(ctx)->queue_mask);

	if (!d->patience || !e)
		return false;
	d->patience--;
	d->deadline = now + csw_timeout(ctx);
	if ((__s64)(q->last - d->deadline) > 0)
		d->deadline = q->last;
	q->last = d->deadline;
	e->slot = head->slot;
	e->generation = head->generation;
	e->deadline = d->deadline;
	q->head++;
	q->tail++;
	return true;
}

/*
 * Take the first block that is due off the queue, if @ctx can be made long enough for it.
 * Return: its descriptor, with its bucket's lock held (*lock), or NULL. Pointers into the frame
 * are void. A block whose bucket is busy stays at the head.
 */
static __always_inline struct csw_descriptor *csw_dequeue(csw_xdp *ctx, __u32 **lock)
{
	struct csw_queue_ctl *q = csw_queue_ctl(ctx);
	__u32 mask = csw_config(ctx)->queue_mask;
	struct csw_descriptor *first, *d = NULL;
	__u64 now = csw_now(ctx);
	struct csw_queue_entry *e;
	int i;

	q->seen = now;
	if (!csw_trylock(&q->lock))
		return NULL;
	CSW_LOOP
	for (i = 0; i < CSW_QUEUE_SKIP && q->head != q->tail; i++) {
		e = csw_queue_at(ctx, q->head & mask);
		if (!e || (__s64)(e->deadline - now) > 0)
			break;
		d = csw_queued(ctx, e);
		if (!d) {
			q->head++;
			continue;
		}
		first = csw_descriptor_at(ctx, e->slot & ~(CSW_WAYS - 1U));
		if (!first || !csw_trylock(&first->lock)) {
			d = NULL;
			break;
		}
		if (csw_queued(ctx, e) && csw_queue_again(ctx, q, e, d, now)) {
			csw_unlock(&first->lock);
			d = NULL;
			continue;
		}
		if (!csw_queued(ctx, e) || csw_resize(ctx, csw_frame_length(d->elements))) {
			csw_unlock(&first->lock);
			d = NULL;
			break;
		}
		*lock = &first->lock;
		q->head++;
		break;
	}
	csw_unlock(&q->lock);
	return d;
}

#endif /* CANARY_BPF_LIB_QUEUE_H */
