// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: what the tags of a block that is led here have to add up to.
 *
 * With many members the sum takes long. With slices (cnr_config.slice), it begins when the block is
 * posted, and cnr_work() goes on with it, some members at a time. Usually the sum is known before
 * all contributions are there; if not, the complete block waits for it. Without slices the sum is
 * computed at once, when it is needed.
 */
#include "message.h"
#include "tree.h"

/* @l is posted, and its attempt is known. Begin to add up the tags. */
void cnr_tags_begin(struct cnr_comm *c, struct cnr_lead *l)
{
	if (!c->slice)
		return;
	l->flags &= ~CNR_L_EXPECTED;
	l->tagged = 0;
	l->expected = 0;
	c->work = true;
}

/* Are the tags of the block of @l known? */
bool cnr_tags_known(const struct cnr_comm *c, const struct cnr_lead *l)
{
	return !c->slice || l->tagged == c->cfg.members;
}

/* Return: the tag of @rank. Context: cnr_tags_known() */
u64 cnr_tags_of(const struct cnr_comm *c, const struct cnr_lead *l, u16 rank)
{
	return c->slice ? l->tags[rank] : cnr_tag(c, rank, l->block, l->attempt, l->opsig);
}

void cnr_tags_slice(struct cnr_comm *c, struct cnr_lead *l)
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

/* Return: what the tags of all others have to add up to. The block of @l is posted here. */
u64 cnr_lead_expected(struct cnr_comm *c, struct cnr_lead *l)
{
	if (!(l->flags & CNR_L_EXPECTED)) {
		l->expected = cnr_expected_tag(c, l->block, l->attempt, l->opsig);
		l->flags |= CNR_L_EXPECTED;
	}
	return l->expected;
}
