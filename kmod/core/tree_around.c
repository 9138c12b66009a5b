// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: when to go around switches. Where many packets are lost, aggregates are, too, and
 * blocks are begun anew. Everything collected is thrown away, and all members contribute again. So
 * the same data arrive over and over. Hosts alone would be faster.
 *
 * A leader begins a block anew through switches at most once, and only where that usually ends
 * well. Otherwise hosts do it. Members count which of their blocks were begun anew. If these are
 * more than a quarter, members contribute around switches from the start, and try switches again
 * some hundred blocks later. Each time that this fails soon, they wait for twice as many blocks.
 * All members are told of blocks that are begun anew, so all count about the same. They try
 * switches again at the same block. After some seconds they do so in any case, since the cause may
 * be over.
 *
 * Shares are of CNR_WHOLE. Each block moves a share by a fixed part of the distance to 0 or to
 * CNR_WHOLE.
 */
#include "tree.h"

#define CNR_WHOLE		65536
#define CNR_ANEW_MOST		(CNR_WHOLE / 4)	/* begun anew: with more, go around switches */
#define CNR_ANEW_PART		64	/* a block moves the share by 1 / this */
#define CNR_AGAIN_LEAST		(CNR_WHOLE / 2)	/* this share has to end well */
#define CNR_AGAIN_PART		8
#define CNR_AGAIN_RETRY		1024	/* the share grows by this when none is tried */
#define CNR_AROUND_FIRST	512	/* blocks around switches, at least; a power of two */
#define CNR_AROUND_MOST		8192	/* the same, at most */
#define CNR_AROUND_FOR		(4 * CNR_SEC)	/* and no longer than this */

static void cnr_average(u32 *share, bool one, u32 part)
{
	if (one)
		*share += (CNR_WHOLE - *share) / part;
	else
		*share -= *share / part;
}

void cnr_around_begin(struct cnr_comm *c)
{
	c->around.again = CNR_WHOLE;
	c->around.blocks = CNR_AROUND_FIRST / 2;
}

/* @block is begun now. Return: true if it is to be contributed around switches */
bool cnr_around(struct cnr_comm *c, u64 now, u32 block)
{
	if (c->around.now && (!canary_before(block, c->around.until) || now >= c->around.end)) {
		c->around.now = false;
		c->around.anew = 0;
		c->around.tried = 0;
	}
	return c->around.now;
}

static void cnr_around_shun(struct cnr_comm *c, u64 now)
{
	struct cnr_around *a = &c->around;
	bool soon = a->tried < a->blocks;

	a->blocks = soon ? min_t(u32, 2 * a->blocks, CNR_AROUND_MOST) : CNR_AROUND_FIRST;
	a->until = (c->next + 2 * a->blocks - 1) & ~(a->blocks - 1);
	a->end = now + CNR_AROUND_FOR;
	a->now = true;
}

/* @b is done here. */
void cnr_around_done(struct cnr_comm *c, u64 now, const struct cnr_block *b)
{
	if (c->around.now || (b->flags & CNR_B_AROUND))
		return;
	cnr_average(&c->around.anew, b->attempt, CNR_ANEW_PART);
	if (c->around.tried < CNR_AROUND_MOST)
		c->around.tried++;
	if (c->around.anew > CNR_ANEW_MOST)
		cnr_around_shun(c, now);
}

/* A block that is led here was begun anew once, through switches. @good: it ended well. */
void cnr_around_learn(struct cnr_comm *c, bool good)
{
	cnr_average(&c->around.again, good, CNR_AGAIN_PART);
}

/* A block that is led here, at @attempt, is begun anew. Return: its next attempt. */
u8 cnr_around_attempt(struct cnr_comm *c, u8 attempt)
{
	if (attempt >= CNR_BYPASS_ATTEMPT)
		return attempt < 255 ? attempt + 1 : attempt;
	if (attempt) {
		cnr_around_learn(c, false);
		return CNR_BYPASS_ATTEMPT;
	}
	if (c->around.again >= CNR_AGAIN_LEAST)
		return 1;
	c->around.again += CNR_AGAIN_RETRY;
	return CNR_BYPASS_ATTEMPT;
}
