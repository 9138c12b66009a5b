// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: switches add up what members contribute, a leader adds up what arrives, and the
 * result goes the same way back. This file has what the layers around see of it.
 */
#include "message.h"
#include "tree.h"

static void cnr_tree_begin(struct cnr_comm *c)
{
	c->led = c->first;
	c->tree.leads = cnr_shapes_leads(&c->cfg, c->window, cnr_led_run(c));
	c->tree.told = c->first;
	cnr_trust_begin(c);
	cnr_around_begin(c);
}

/*
 * Another algorithm begins @block. Forget contributions that came for it. Members that sent them
 * are found when they ask for the result.
 */
static void cnr_tree_yield(struct cnr_comm *c, u32 block)
{
	if (cnr_block(c, block)->lead != CNR_NONE)
		cnr_lead_forget(c, block);
}

/* Is @h a contribution to a block that is led here and in the window? */
static bool cnr_tree_expects(struct cnr_comm *c, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);

	return cnr_may_lead(c, block, c->cfg.rank) && cnr_in_window(c, block);
}

static enum canary_drop cnr_tree_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	switch (in->hdr->type) {
	case CANARY_CONTRIBUTION:
		return cnr_contribution_input(c, now, in);
	case CANARY_RESULT:
		return cnr_result_input(c, now, in);
	case CANARY_REQUEST:
		return cnr_request_input(c, now, in->hdr);
	case CANARY_FAILURE:
		return cnr_failure_input(c, now, in->hdr);
	case CANARY_WAIT:
		return cnr_wait_input(c, now, in->hdr);
	case CANARY_ACK:
		return cnr_taken_input(c, now, in->hdr);
	default:
		return CANARY_DROP_TYPE;
	}
}

static void cnr_tree_drop(struct cnr_comm *c)
{
	cnr_lead_drop_all(c);
	c->tree.tx_tail = c->tree.tx_head;
	c->tree.untold = 0;
	c->news &= ~(1U << CNR_TREE);
}

const struct cnr_algorithm cnr_tree = {
	.collective = CNR_TREE,
	.algorithm = CANARY_ALG_TREE,
	.begin = cnr_tree_begin,
	.start = cnr_member_start,
	.yield = cnr_tree_yield,
	.timer = cnr_member_timer,
	.timers = cnr_lead_timers,
	.done = cnr_around_done,
	.earliest = cnr_member_earliest,
	.expects = cnr_tree_expects,
	.input = cnr_tree_input,
	.alive = cnr_lead_alive,
	.news = cnr_taken_news,
	.answer = cnr_lead_build,
	.contribute = cnr_contribution_build,
	.work = cnr_lead_work,
	.drop = cnr_tree_drop,
};
