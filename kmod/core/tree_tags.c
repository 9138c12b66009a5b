// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: what the tags of a block that is led here have to add up to.
 *
 * With many members that takes long. So with slices (cnr_config.slice) it is begun when the block
 * is posted, and gone on with by cnr_work(), some members at a time. Mostly it is known before the
 * contributions are there; if not, a complete block waits for it. Without slices it is done at
 * once, where it is wanted.
 */
#include "message.h"
#include "tree.h"

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

/* What contributions of all others to the block of @l, which is posted here, have to add up to */
u64 cnr_lead_expected(struct cnr_comm *c, struct cnr_lead *l)
{
	if (!(l->flags & CNR_L_EXPECTED)) {
		l->expected = cnr_expected_tag(c, l->block, l->attempt, l->opsig);
		l->flags |= CNR_L_EXPECTED;
	}
	return l->expected;
}
