// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: what follows from the news that all ranks have contributed. No timers of its own.
 */
#include "tree.h"

/*
 * All ranks have contributed @block. So its result is due from now on, not from when we
 * contributed.
 */
static void cnr_block_all_sent(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	if (block == c->una || b->state != CNR_B_SENT || b->tries || cnr_is_others(c, block))
		return;
	b->deadline = max_t(u64, b->deadline, now + cnr_answer_time(c, 0));
	cnr_arm(c, b->deadline);
}

/*
 * All ranks have contributed all blocks before @sent. A result of a block proves that, as
 * contributions go out in order. What is still missing of these blocks is lost, or about to come.
 */
void cnr_all_sent(struct cnr_comm *c, u64 now, u32 sent)
{
	struct cnr_block *b = cnr_block(c, c->una);
	u32 block;

	if (!canary_before(c->all_sent, sent) || canary_before(c->next, sent))
		return;
	block = canary_before(c->all_sent, c->una) ? c->una : c->all_sent;
	/* A block that we lead ourselves has no deadline. */
	if (block == c->una && b->state == CNR_B_SENT && block != sent &&
	    b->roles.leader != c->cfg.rank && !cnr_is_others(c, block)) {
		b->tries = 0;
		b->deadline = min_t(u64, b->deadline, now + c->net.rto);
		cnr_arm(c, b->deadline);
	}
	c->all_sent = sent;
	for (; canary_before(block, sent); block++) {
		if (cnr_block(c, block)->roles.leader == c->cfg.rank)
			cnr_lead_all_sent(c, now, block);
		else
			cnr_block_all_sent(c, now, block);
	}
}
