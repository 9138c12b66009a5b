// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, ring: what the tags of a block have to add up to at its leader. With slices
 * (cnr_config.slice), of one block at a time, some members at a time by cnr_work(); as for trees.
 */
#include "message.h"
#include "ring.h"

/*
 * In a ring: is @block led here, with more members than two windows have blocks? So mostly one of
 * these is under way at a time. Otherwise the tags of all are not many.
 */
static bool cnr_ring_slices(const struct cnr_comm *c, u32 block)
{
	return c->slice && cnr_block(c, block)->roles.leader == c->cfg.rank &&
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
