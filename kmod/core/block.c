// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: a block begins, waits, and is done, and the window moves on. How it is summed up
 * is up to its algorithm (struct cnr_algorithm).
 *
 * States (enum cnr_block_state): IDLE -> SENT -> DONE -> out of the window. Timer:
 * cnr_block.deadline while SENT.
 */
#include "blocks.h"
#include "outbox.h"
#include "session.h"

#define CNR_REQUESTS		32	/* most REQUESTs at one timer */
#define CNR_EXPLICIT		64	/* an operation of so many blocks is released at once */

/* cnr_leader(), where leaders do not take turns in all operations */
u16 cnr_leader_found(struct cnr_comm *c, u32 block)
{
	const struct cnr_operation *o;
	struct cnr_roles r;

	if (cnr_is_begun(c, block))
		return cnr_block(c, block)->roles.leader;
	o = cnr_find_op(c, block);
	if (!o)
		return CNR_NONE;
	cnr_roles(c, o, block, &r);
	return r.leader;
}

/* Begin @block, the next one. Other algorithms forget what came for it. */
static void cnr_start(struct cnr_comm *c, u64 now, u32 block, struct cnr_operation *o)
{
	struct cnr_block *b = cnr_block(c, block);
	u32 i;

	b->state = CNR_B_SENT;
	b->op = o - c->ops;
	cnr_roles(c, o, block, &b->roles);
	b->sent_at = now;
	b->tries = 0;
	b->silent = 0;
	c->latest = o->run;
	for (i = 0; i < CNR_COLLECTIVES; i++)
		if (c->collectives[i] != o->run && c->collectives[i]->yield)
			c->collectives[i]->yield(c, block);
	o->run->start(c, now, block);
}

/* May @blocks more be begun? */
static bool cnr_room(struct cnr_comm *c, u32 blocks)
{
	u32 flight = c->next - c->una + blocks;

	if (flight > c->window)
		return false;
	if (c->latest && c->latest->in_flight)
		return flight <= c->latest->in_flight(c);
	return cnr_window_room(c, blocks);
}

/*
 * May @block, the next one of @o, begin, as far as others of its tree are concerned? The first one
 * waits until there is room for all, or nothing is in flight. At the leader the others wait for the
 * first one, as they go where its contributions come from.
 */
static bool cnr_together(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	struct cnr_roles r;
	u32 first;

	cnr_roles(c, o, block, &r);
	if (!r.tree)
		return !r.more || c->next == c->una ||
		       cnr_room(c, min_t(u32, o->shape->together, o->base + o->blocks - block));
	first = block - r.tree;
	return r.leader != c->cfg.rank || canary_before(first, c->una) ||
	       cnr_block(c, first)->state == CNR_B_DONE;
}

/* Begin the next block. Return: false if there is none, or if it cannot begin yet */
bool cnr_start_next(struct cnr_comm *c, u64 now)
{
	struct cnr_operation *o;
	u32 block = c->next;

	if (block == c->posted || c->waits)
		return false;
	o = cnr_find_op(c, block);
	if (!o->run || !cnr_may_begin(c, o) || !cnr_part_ready(c, o, block) ||
	    (o->shape->together && !cnr_together(c, o, block)) ||
	    (o->run->ready && !o->run->ready(c)))
		return false;
	c->next++;
	cnr_start(c, now, block, o);
	return true;
}

/*
 * Begin as many blocks as the window and the posted operations allow. A block that is led here may
 * be complete as soon as it is posted, and moves the window meanwhile.
 */
void cnr_fill(struct cnr_comm *c, u64 now)
{
	while ((c->state == CNR_CONNECTED || c->state == CNR_LINGERING) &&
	       cnr_room(c, 1) && cnr_start_next(c, now))
		;
}

/* Fail if @leader lives, but never sends what @b lacks: only small packets of it arrive here. */
bool cnr_path_fails(struct cnr_comm *c, u64 now, const struct cnr_block *b, u16 leader)
{
	if (b->silent < CNR_PATH_TRIES || now - b->asked_at < 2 * c->cfg.dead_after)
		return false;
	cnr_fail(c, now, CANARY_ABORT_PATH, &leader, 1, true);
	return true;
}

/* A question about @b goes out. cnr_path_fails() counts it until an answer comes. */
void cnr_block_asked(struct cnr_block *b, u64 now)
{
	if (!b->silent)
		b->asked_at = now;
	if (b->silent < 255)
		b->silent++;
}

/* Run the timers of all blocks that are not done. */
void cnr_block_timers(struct cnr_comm *c, u64 now)
{
	u32 block, budget = CNR_REQUESTS;
	struct cnr_block *b;

	for (block = c->una; block != c->next; block++) {
		b = cnr_block(c, block);
		if (b->state != CNR_B_SENT)
			continue;
		c->ops[b->op].run->timer(c, now, block, &budget);
		if (c->state == CNR_FAILED)
			return;
	}
}

/*
 * Nothing of @o is needed here any more. What follows tells whether anybody needs it; otherwise
 * that has to be asked. It is asked soon if the operation is large, since its memory is not worth
 * keeping, and if an application may be waiting for its buffer.
 */
static void cnr_op_passed(struct cnr_comm *c, u64 now, const struct cnr_operation *o)
{
	bool large = o->shape->kept && o->blocks >= CNR_EXPLICIT;
	bool at_once = c->state == CNR_LINGERING || large;
	u64 wait = o->op.hashes && o->shape->kept ? CNR_DONE_PINNED : CNR_DONE_FIRST;

	c->op_passed = o->seq + 1;
	cnr_done_wanted(c, o->base + o->blocks, now + (at_once ? 0 : wait));
}

/* Is @o complete with the block that is done now? It is not while it may grow. */
static void cnr_op_complete(struct cnr_comm *c, struct cnr_operation *o)
{
	if (o->settle_at || o->blocks_done != o->blocks)
		return;
	o->state = CNR_O_COMPLETE;
	cnr_count(c, CNR_C_operations);
}

/* @block is done: its result is in the vector, or its leader has taken our contribution. */
void cnr_block_done(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	bool asked = b->tries && block == c->una;
	u32 i, una = c->una;

	b->state = CNR_B_DONE;
	cnr_count(c, CNR_C_blocks_done);
	if (b->attempt)
		o->attempts++;
	for (i = 0; i < CNR_COLLECTIVES; i++)
		if (c->collectives[i]->done)
			c->collectives[i]->done(c, now, b);
	o->blocks_done++;
	cnr_op_complete(c, o);
	while (c->una != c->next && cnr_block(c, c->una)->state == CNR_B_DONE) {
		b = cnr_block(c, c->una);
		o = &c->ops[b->op];
		memset(b, 0, sizeof(*b));
		b->lead = CNR_NONE;
		cnr_refresh(c, c->una);
		c->una++;
		if (o->settle_at && c->una - o->base == o->settle_at) {
			cnr_op_settle(c, o);
			cnr_op_complete(c, o);
		}
		if (c->una - o->base == o->blocks)
			cnr_op_passed(c, now, o);
	}
	if (c->una != una && c->una != c->next) {
		b = cnr_block(c, c->una);
		o = &c->ops[b->op];
		if (o->run->earliest)
			o->run->earliest(c, now, b, asked);
		cnr_arm(c, b->deadline);
	}
}
