// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What takes long with many members, for drivers that must not be long at it (cnr_config.slice):
 * it is begun where it is wanted, and gone on with by cnr_work(), some members at a time.
 *  - what the tags of a block that is led here have to add up to. Mostly that is known before
 *    the contributions are there; if not, a complete block waits for it;
 *  - the order of a ring. What wants it waits, or is asked for again;
 *  - who has not said that it has the results, and owes an answer therefore.
 * Without slices all are done at once, where they are wanted.
 */
#include "message.h"
#include "session.h"

/* @l is posted, and its attempt is known: what will its contributions add up to? */
void cnr_tags_begin(struct cnr_comm *c, struct cnr_lead *l)
{
	if (!c->slice)
		return;
	l->flags &= ~CNR_L_EXPECTED;
	l->tagged = 0;
	l->expected = 0;
	c->work = true;
}

/* Is it known? */
bool cnr_tags_known(const struct cnr_comm *c, const struct cnr_lead *l)
{
	return !c->slice || l->tagged == c->cfg.members;
}

/* That of @rank. Context: cnr_tags_known() */
u64 cnr_tags_of(const struct cnr_comm *c, const struct cnr_lead *l, u16 rank)
{
	return c->slice ? l->tags[rank] : cnr_tag(c, rank, l->block, l->attempt, l->opsig);
}

static void cnr_tags_slice(struct cnr_comm *c, struct cnr_lead *l)
{
	u32 end = min_t(u32, l->tagged + c->slice, c->cfg.members);

	for (; l->tagged < end; l->tagged++) {
		l->tags[l->tagged] = cnr_tag(c, l->tagged, l->block, l->attempt, l->opsig);
		if (l->tagged != c->cfg.rank)
			l->expected += l->tags[l->tagged];
	}
	if (cnr_tags_known(c, l))
		l->flags |= CNR_L_EXPECTED;
}

/*
 * In a ring: is @block led here, with more members than two windows have blocks? So mostly one of
 * these is under way at a time. Otherwise the tags of all are not many.
 */
static bool cnr_ring_slices(const struct cnr_comm *c, u32 block)
{
	return c->slice && cnr_leader(c, block) == c->cfg.rank &&
	       c->cfg.members >= 2 * c->window;
}

/* Does a block before @block need what is known of its tags? So where serials wrap. */
static bool cnr_ring_tags_held(struct cnr_comm *c, u32 block)
{
	u32 led = c->ring.led;

	return led != block && cnr_ring_slices(c, led) && cnr_is_ring(c, led) &&
	       cnr_block(c, led)->state != CNR_B_DONE;
}

/* @block was begun, as a ring. */
void cnr_ring_tags_begin(struct cnr_comm *c, u32 block)
{
	if (!cnr_ring_slices(c, block) || cnr_ring_tags_held(c, block))
		return;
	c->ring.led = block;
	c->ring.tagged = 0;
	c->ring.expected = 0;
	c->work = true;
}

/* Is it @block that goes by slices? Any other one is computed at once. */
static bool cnr_ring_tags_kept(const struct cnr_comm *c, u32 block)
{
	return c->ring.led == block && cnr_ring_slices(c, block);
}

bool cnr_ring_tags_known(const struct cnr_comm *c, u32 block)
{
	return !cnr_ring_tags_kept(c, block) || c->ring.tagged == c->cfg.members;
}

/* Context: cnr_ring_tags_known() */
u64 cnr_ring_tags_sum(const struct cnr_comm *c, u32 block, u32 opsig)
{
	return cnr_ring_tags_kept(c, block) ? c->ring.expected :
	       cnr_expected_tag(c, block, 0, opsig);
}

/* Return: false if no block that was begun lacks its tags. */
static bool cnr_ring_tags_work(struct cnr_comm *c)
{
	struct cnr_ring *r = &c->ring;
	u32 opsig, end;

	if (!cnr_is_ring(c, r->led) || cnr_ring_tags_known(c, r->led))
		return false;
	opsig = c->ops[cnr_block(c, r->led)->op].opsig;
	end = min_t(u32, r->tagged + c->slice, c->cfg.members);
	for (; r->tagged < end; r->tagged++)
		if (r->tagged != c->cfg.rank)
			r->expected += cnr_tag(c, r->tagged, r->led, 0, opsig);
	return true;
}

/* Return: false if no block waits for tags. */
static bool cnr_tags_work(struct cnr_comm *c, u64 now)
{
	struct cnr_lead *l;
	u32 i;

	for (i = 0; i < c->leads; i++) {
		l = &c->lead[i];
		if (l->state != CNR_L_COLLECTING || !(l->flags & CNR_L_POSTED) ||
		    cnr_tags_known(c, l))
			continue;
		cnr_tags_slice(c, l);
		if (cnr_tags_known(c, l) && l->count == c->cfg.members - 1)
			cnr_lead_finish(c, now, l, l->acc);
		return true;
	}
	return false;
}

bool cnr_work(struct cnr_comm *c, u64 now)
{
	if (!c->work)
		return false;
	c->work = cnr_ring_work(c) || cnr_ring_tags_work(c) || cnr_tags_work(c, now) ||
		  cnr_done_work(c, now);
	if (c->work)
		cnr_fill(c, now);	/* what has waited for it */
	return c->work;
}
