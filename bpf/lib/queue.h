/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The deadline queue: slots in the order of their deadlines. A block that was sent on early leaves
 * its slot in the queue, and a slot is in it at most once. When a slot comes to the head, its block
 * is sent on or waits for the rest of its own time, or there is no block. So no number of blocks
 * fills the queue. Processors have queues of their own: see struct csw_queue.
 */
#ifndef CANARY_BPF_LIB_QUEUE_H
#define CANARY_BPF_LIB_QUEUE_H

/* How many entries without a block one packet may remove */
#define CSW_QUEUE_SKIP	8

/* Later than all deadlines */
#define CSW_QUEUE_END	(1ULL << 62)

/* Return: the number of this processor's queue */
static __always_inline __u32 csw_queue_here(const void *ctx)
{
	return csw_processor(ctx) & csw_config(ctx)->queues_mask;
}

static __always_inline struct csw_queue *csw_queue_of(const void *ctx, __u32 number)
{
	return &csw_queue_ctl(ctx)->queue[number & (CSW_QUEUES - 1)];
}

/* Return: the entry at @position of that queue */
static __always_inline struct csw_queue_entry *csw_entry_at(const void *ctx, __u32 number,
							    __u32 position)
{
	__u32 mask = csw_config(ctx)->queue_mask;

	return csw_queue_at(ctx, number * (mask + 1) + (position & mask));
}

/* A program has read the clock. */
static __always_inline void csw_saw(const void *ctx, __u64 now)
{
	struct csw_queue_ctl *c = csw_queue_ctl(ctx);

	if ((__s64)(now - CSW_READ(c->seen)) >= CSW_SEEN_NS)
		c->seen = now;
}

/*
 * Write an entry at the tail, with a deadline no earlier than the last one. The queue's lock is
 * held.
 */
static __always_inline bool csw_queue_put(const void *ctx, __u32 number, __u32 slot,
					  __u64 deadline)
{
	struct csw_queue *q = csw_queue_of(ctx, number);
	struct csw_queue_entry *e = csw_entry_at(ctx, number, q->tail);

	if (!e)
		return false;
	if ((__s64)(q->last - deadline) > 0)
		deadline = q->last;
	q->last = deadline;
	e->deadline = deadline;
	e->slot = slot;
	csw_release(&q->tail, q->tail + 1);
	return true;
}

/* What csw_enqueue() did */
#define CSW_QUEUE_FULL	0	/* or somebody else has it */
#define CSW_QUEUED	1
#define CSW_QUEUED_WAKE	2	/* and the clock sleeps: call csw_wake() when nothing is locked */

/*
 * Append a slot that is not in the queue. The bucket's lock is held. To wake the clock interrupts
 * this processor. Others that wait for the lock would give up meanwhile.
 */
CSW_FUNC int csw_enqueue(csw_xdp *ctx, __u32 slot, __u64 deadline)
{
	struct csw_queue_ctl *c = csw_queue_ctl(ctx);
	__u32 number = csw_queue_here(ctx);
	struct csw_queue *q = csw_queue_of(ctx, number);
	bool done;

	if (!csw_lock(ctx, &q->lock))
		return CSW_QUEUE_FULL;
	done = csw_queue_put(ctx, number, slot, deadline);
	/* A full barrier: either we see the sleeper, or it sees the entry. */
	__sync_lock_test_and_set(&q->lock, 0);
	if (done && CSW_READ(c->sleeping) && __sync_lock_test_and_set(&c->sleeping, 0))
		return CSW_QUEUED_WAKE;
	return done ? CSW_QUEUED : CSW_QUEUE_FULL;
}

/* Return: the deadline of the head, or CSW_QUEUE_END. This takes no lock, so it is only a hint. */
static __always_inline __u64 csw_queue_deadline(const void *ctx, __u32 number)
{
	struct csw_queue *q = csw_queue_of(ctx, number);
	__u32 head = CSW_READ(q->head);
	struct csw_queue_entry *e;

	if (head == CSW_READ(q->tail))
		return CSW_QUEUE_END;
	e = csw_entry_at(ctx, number, head);
	return e ? CSW_READ(e->deadline) : CSW_QUEUE_END;
}

/* Is the head of this processor's queue due at @now? */
static __always_inline bool csw_queue_is_due(const void *ctx, __u64 now)
{
	return (__s64)(csw_queue_deadline(ctx, csw_queue_here(ctx)) - now) <= 0;
}

/* Return: the number of the queue whose head is due first */
static __always_inline __u32 csw_queue_first(const void *ctx)
{
	__u64 first = CSW_QUEUE_END, deadline;
	__u32 number, best = 0;

	CSW_LOOP
	for (number = 0; number < CSW_QUEUES && number <= csw_config(ctx)->queues_mask; number++) {
		deadline = csw_queue_deadline(ctx, number);
		if ((__s64)(deadline - first) < 0) {
			first = deadline;
			best = number;
		}
	}
	return best;
}

/*
 * @d is due. Move its deadline as far as its extra timeouts go, or until it is not due any more.
 * Nobody may have looked for several of them.
 */
static __always_inline void csw_queue_wait(const void *ctx, struct csw_descriptor *d, __u64 now)
{
	__u64 timeout = csw_timeout(ctx), waits;

	if (!d->waits_left || !timeout || now == CSW_QUEUE_END)
		return;
	waits = (now - d->deadline) / timeout + 1;
	if (waits > d->waits_left)
		waits = d->waits_left;
	d->waits_left -= waits;
	d->deadline += waits * timeout;
}

/*
 * The head of the queue is due. If its block @d is not, put the slot back to the end. That happens
 * if the block has extra timeouts left, or if it took the slot while an earlier block's entry was
 * still queued. Both locks are held. Return: true if it was put back
 */
static __always_inline bool csw_queue_again(const void *ctx, __u32 number, __u32 slot,
					    struct csw_descriptor *d, __u64 now)
{
	if ((__s64)(d->deadline - now) <= 0)
		csw_queue_wait(ctx, d, now);
	if ((__s64)(d->deadline - now) <= 0)
		return false;
	return csw_queue_put(ctx, number, slot, d->deadline);
}

/* What becomes of the slot at the head, which is due */
enum csw_turn {
	CSW_TURN_NEXT,		/* it was taken off the head */
	CSW_TURN_EMIT,		/* the same; send it on, its bucket is locked */
	CSW_TURN_WAIT,		/* it stays at the head */
};

/*
 * Decide about the slot at the head. The queue's lock is held. The clock thread must never find the
 * queue empty while something is in it.
 */
static __always_inline enum csw_turn csw_queue_turn(csw_xdp *ctx, __u32 number, __u32 slot,
						    struct csw_descriptor *d, __u32 *lock,
						    __u64 now)
{
	struct csw_queue *q = csw_queue_of(ctx, number);
	enum csw_turn turn = CSW_TURN_NEXT;

	if (!csw_trylock(lock))
		return CSW_TURN_WAIT;
	if (d->state != CSW_COLLECTING)
		d->queued = 0;
	else if (!csw_queue_again(ctx, number, slot, d, now))
		turn = CSW_TURN_EMIT;
	if (turn == CSW_TURN_EMIT) {
		if (csw_resize(ctx, csw_frame_length(d->length))) {
			csw_unlock(lock);
			return CSW_TURN_WAIT;
		}
		d->queued = 0;
	}
	csw_release(&q->head, q->head + 1);
	if (turn == CSW_TURN_NEXT)
		csw_unlock(lock);
	return turn;
}

/*
 * Take the first block that is due off that queue, if @ctx can be made long enough for it. A slot
 * whose bucket is busy stays at the head. Pointers into the frame become invalid. Return: its
 * descriptor, with its bucket's lock held (*lock), or NULL
 */
static __always_inline struct csw_descriptor *csw_dequeue(csw_xdp *ctx, __u32 number,
							  __u32 **lock)
{
	struct csw_queue *q = csw_queue_of(ctx, number);
	enum csw_turn turn = CSW_TURN_NEXT;
	struct csw_descriptor *d = NULL;
	__u64 now = csw_now(ctx);
	struct csw_queue_entry *e;
	int i;

	csw_saw(ctx, now);
	if (!csw_trylock(&q->lock))
		return NULL;
	if (!CSW_READ(csw_queue_ctl(ctx)->open_until))
		now = CSW_QUEUE_END;
	CSW_LOOP
	for (i = 0; i < CSW_QUEUE_SKIP && turn == CSW_TURN_NEXT && q->head != q->tail; i++) {
		e = csw_entry_at(ctx, number, q->head);
		if (!e || (__s64)(e->deadline - now) > 0)
			break;
		d = csw_descriptor_at(ctx, e->slot);
		*lock = csw_lock_of(ctx, e->slot);
		if (!d || !*lock)
			break;
		turn = csw_queue_turn(ctx, number, e->slot, d, *lock, now);
	}
	csw_unlock(&q->lock);
	return turn == CSW_TURN_EMIT ? d : NULL;
}

#endif /* CANARY_BPF_LIB_QUEUE_H */
