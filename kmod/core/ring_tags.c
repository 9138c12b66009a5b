// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, ring: what the tags of a block have to add up to at its leader. With slices
 * (cnr_config.slice), cnr_work() adds up those of one block at a time, some members at a time, as
 * in trees.
 */
#include "message.h"
#include "ring.h"

/*
 * Is @block led here, and are there at least as many members as two windows have blocks? Then
 * usually one of its blocks is under way at a time. With fewer members the tags are few.
 */
static bool cnr_ring_slices(const struct cnr_comm *c, u32 block)
{
	return c->slice && cnr_block(c, block)->roles.leader == c->cfg.rank &&
	       c->cfg.members >= 2 * c->window;
}

/*
 * Does an earlier block still need the tags that are kept? That happens where serial numbers wrap.
 */
static bool cnr_ring_tags_held(struct cnr_comm *c, u32 block)
{
	u32 led = c->ring.led;

	return led != block && cnr_ring_slices(c, led) && cnr_is_ring(c, led) &&
	       cnr_block(c, led)->state != CNR_B_DONE;
}

/* @block was begun, as a ring. Begin to add up its tags. */
void cnr_ring_tags_begin(struct cnr_comm *c, u32 block)
{
	if (!cnr_ring_slices(c, block) || cnr_ring_tags_held(c, block))
		return;
	c->ring.led = block;
	c->ring.tagged = 0;
	c->ring.expected = 0;
	c->work = true;
}

/* Is @block the one whose tags are kept? Those of any other block are computed at once. */
static bool cnr_ring_tags_kept(const struct cnr_comm *c, u32 block)
{
	return c->ring.led == block && cnr_ring_slices(c, block);
}

bool cnr_ring_tags_known(const struct cnr_comm *c, u32 block)
{
	return !cnr_ring_tags_kept(c, block) || c->ring.tagged == c->cfg.members;
}

/* Return: what the tags of @block have to add up to. Context: cnr_ring_tags_known() */
u64 cnr_ring_tags_sum(const struct cnr_comm *c, u32 block, u32 opsig)
{
	return cnr_ring_tags_kept(c, block) ? c->ring.expected :
	       cnr_expected_tag(c, block, 0, opsig);
}

/* Do a slice of the tags. Return: false if no block that was begun lacks its tags */
bool cnr_ring_tags_work(struct cnr_comm *c)
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
