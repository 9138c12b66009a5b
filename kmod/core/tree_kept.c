// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: kept trees. Only the first block of such a tree has contributions. Nobody
 * contributes to the blocks after it. Their results go to the sources of the first one, down the
 * descriptors that it left in switches.
 *
 * So the slot of the first block stays until the results of all these blocks went out, one block
 * after the other. The last result has LAST, which frees the descriptors. If the slot is gone
 * before, members ask.
 */
#include "tree.h"

/* The block of @l is finished, and its results go out. @more: so will those of later blocks. */
void cnr_kept_begin(struct cnr_comm *c, struct cnr_lead *l, bool more)
{
	l->turn = 0;
	l->finished = 1;
	l->more = more;
	if (more)
		c->tree.kept = l - c->tree.lead;
}

/*
 * @block, which is led here, needs nothing of others, so it is finished. The tree's first block is
 * finished, too (cnr_together()). No block of another tree began since, so its slot is that of the
 * latest kept tree.
 */
static void cnr_kept_finish(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_lead *l = &c->tree.lead[c->tree.kept];
	struct cnr_block *b = cnr_block(c, block);

	cnr_result_own(c, &c->ops[b->op], block);
	if (l->more && l->block + l->finished == block) {
		l->finished++;
		l->more = b->roles.more;
		if (l->state == CNR_L_KEPT && cnr_lead_turn(l))
			cnr_lead_send(c, l, CNR_L_RESULT, 0);
	}
	cnr_count(c, CNR_C_blocks_led);
	cnr_block_done(c, now, block);
	cnr_all_sent(c, now, block + 1);
	cnr_lead_next(c, now);
}

/* The turn of @block has come. It is not the first one of its tree, so nobody contributes. */
void cnr_kept_start(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	if (b->lead != CNR_NONE)
		cnr_lead_forget(c, block);
	if (b->roles.leader == c->cfg.rank) {
		cnr_kept_finish(c, now, block);
		return;
	}
	b->deadline = now + c->net.rto;
	cnr_arm(c, b->deadline);
}
