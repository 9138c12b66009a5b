// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: silent blocks, whose result only the leader gets. No result tells the other
 * members that the leader has their contributions. So the leader says how far it is (ACK with
 * SILENT): all blocks that it leads before that are finished. It tells all members after some
 * blocks and at the end of an operation, and each member that asks (REQUEST). Until then it may ask
 * members to contribute again.
 *
 * No timers of its own: the timer of tree_member.c asks for blocks that were not heard of.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"
#include "tree.h"

#define CNR_TAKEN_PART		4	/* all are told after this part of CNR_CWND_FIRST */

static u32 cnr_taken_each(const struct cnr_comm *c)
{
	return max_t(u32, min_t(u32, c->window, CNR_CWND_FIRST) / CNR_TAKEN_PART, 1);
}

/* A silent block of @o, which is led here, is finished. */
void cnr_taken_finished(struct cnr_comm *c, const struct cnr_operation *o)
{
	c->tree.untold++;
	c->news |= 1U << CNR_TREE;
	c->tree.silent_end = o->base + o->blocks;
}

/*
 * Silent blocks were finished since all members were last told. Should they be told again? Another
 * block may hold up @una, so this is asked whenever packets are polled. Members that are still
 * being told get the latest news anyway.
 */
void cnr_taken_news(struct cnr_comm *c)
{
	bool all = !canary_before(c->una, c->tree.silent_end);

	if (c->una == c->tree.told || (c->tree.untold < cnr_taken_each(c) && !all) ||
	    c->broadcast & 1U << CNR_CAST_TAKEN)
		return;
	c->tree.told = c->una;
	c->tree.untold = 0;
	c->news &= ~(1U << CNR_TREE);
	cnr_cast(c, CNR_CAST_TAKEN);
}

/* Tell @rank, which asked. */
void cnr_taken_say(struct cnr_comm *c, u16 rank)
{
	struct cnr_control *m = cnr_control(c, CANARY_ACK, rank, 0);

	if (m)
		m->flags = CANARY_F_SILENT;
}

/*
 * The sender needs nothing of blocks before @acked. So it has taken our contributions to the silent
 * blocks among these that it leads. All members have contributed all of these, or the sender would
 * not be so far.
 */
enum canary_drop cnr_taken_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 acked = be32_to_cpu(h->ack.acked), block;
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_block *b;
	bool news = false;

	if (acked - c->una > c->next - c->una)
		return canary_before(acked, c->una) ? CANARY_DROP_DUPLICATE : CANARY_DROP_BLOCK;
	for (block = c->una; block != acked; block++) {
		b = cnr_block(c, block);
		if (b->state != CNR_B_SENT || b->roles.leader != rank || !cnr_is_silent(&b->roles))
			continue;
		news = true;
		cnr_block_done(c, now, block);
	}
	if (!news)
		return CANARY_DROP_DUPLICATE;
	cnr_heard(c, rank);
	cnr_all_sent(c, now, acked);
	cnr_fill(c, now);
	return CANARY_DROP_NONE;
}
