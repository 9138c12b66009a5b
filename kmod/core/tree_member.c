// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: a block at a member that does not lead it. Its contribution goes out, the result
 * comes in.
 *
 * The leader looks after lost contributions, and the member after lost results. Later results of
 * the same leader say up to where it has finished, so they show that an earlier result is lost, or
 * late. (Silent blocks have no results: tree_taken.c.) A timer also asks for the earliest block
 * without result, since there may be no later result. It asks for all blocks that all ranks have
 * contributed, too, since no later result may tell of them. Timer: cnr_block.deadline while SENT.
 * It asks the leader with REQUEST, and backs off.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"
#include "tree.h"

#define CNR_REQUEST_PAUSE	(100 * CNR_USEC) /* pause after CNR_REQUESTS, if more are due */

static void cnr_tx_queue(struct cnr_comm *c, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	b->shard = 0;
	if (b->flags & CNR_B_QUEUED)
		return;
	b->flags |= CNR_B_QUEUED;
	c->tree.txq[c->tree.tx_head++ & c->block_mask] = block;
	c->contributes |= 1U << CNR_TREE;
}

/* Our application has posted @block, and its turn has come. Contribute it. */
void cnr_member_start(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	if (b->roles.tree) {
		cnr_kept_start(c, now, block);
		return;
	}
	if (cnr_around(c, now, block)) {
		b->flags |= CNR_B_AROUND | CNR_B_BYPASS;
		cnr_count(c, CNR_C_around);
	}
	if (b->roles.leader == c->cfg.rank) {
		cnr_lead_posted(c, now, block);
		return;
	}
	if (b->lead != CNR_NONE)
		cnr_lead_forget(c, block);
	b->deadline = now + c->net.rto;
	cnr_arm(c, b->deadline);
	cnr_tx_queue(c, block);
}

/*
 * How long to wait until the next REQUEST after a WAIT. It backs off while ranks may be computing.
 */
static u64 cnr_request_interval(const struct cnr_comm *c, u32 block, const struct cnr_block *b)
{
	if (canary_before(block, c->all_sent))
		return min_t(u64, 2 * c->net.rto, CNR_WAIT_MAX);
	return min_t(u64, c->net.rto << min_t(u8, b->tries, 6), CNR_WAIT_MAX);
}

/* Ask the leader for the result of @block. */
static void cnr_request(struct cnr_comm *c, u64 now, u32 block, u16 leader)
{
	struct cnr_block *b = cnr_block(c, block);

	b->flags |= CNR_B_AGAIN;
	if (!b->silent)
		b->asked_from = c->questions[leader].question;
	cnr_block_asked(b, now);
	if (cnr_control(c, CANARY_REQUEST, leader, block))
		cnr_count(c, CNR_C_requests_out);
	cnr_ask(c, now, leader);
	c->net.asked_at = now;
	/*
	 * Earlier questions that WAIT answered are no reason to ask slowly for a lost result now.
	 */
	b->deadline = now + cnr_answer_time(c, b->silent - 1);
	if (b->tries < 255)
		b->tries++;
}

/* May a REQUEST be sent for @block, which is not done, once its deadline is over? */
static bool cnr_member_asks(const struct cnr_comm *c, u32 block, const struct cnr_block *b)
{
	if (block == c->una)
		return true;
	/* What the leader says of the earliest block holds for all silent ones. */
	if (cnr_is_silent(&b->roles))
		return false;
	return (b->flags & CNR_B_LOST) || canary_before(block, c->all_sent);
}

/* If the deadline of @block is over, its result may be lost: ask the leader for it. */
void cnr_member_timer(struct cnr_comm *c, u64 now, u32 block, u32 *budget)
{
	struct cnr_block *b = cnr_block(c, block);
	u16 leader = b->roles.leader;

	if (leader == c->cfg.rank || !cnr_member_asks(c, block, b))
		return;
	if (b->deadline <= now && !*budget) {
		cnr_arm(c, now + CNR_REQUEST_PAUSE);
		return;
	}
	if (b->deadline <= now) {
		(*budget)--;
		if (c->member[leader].flags & CNR_M_LEFT) {
			cnr_fail(c, now, CANARY_ABORT_LEFT, &leader, 1, true);
			return;
		}
		if (cnr_path_fails(c, now, b, leader))
			return;
		cnr_count(c, CNR_C_timeouts);
		/* Until now, it might just have been late. See cnr_finished(), too. */
		if ((b->flags & CNR_B_LOST) && !b->tries)
			cnr_window_loss(c);
		cnr_request(c, now, block, leader);
	}
	cnr_arm(c, b->deadline);
}

/*
 * @b is now the earliest block without result, and holds up the window. Wait a little before asking
 * for it. If the block before had to wait for a rank that computes, the result of @b may be on its
 * way. If the result before was lost, that of @b may be lost, too. @asked: the block before had
 * been asked for.
 */
void cnr_member_earliest(struct cnr_comm *c, u64 now, struct cnr_block *b, bool asked)
{
	u64 grace = now + (asked ? cnr_reordering(c) : cnr_answer_time(c, 0));

	if (!b->tries && !(b->flags & CNR_B_LOST))
		b->deadline = max_t(u64, b->sent_at + c->net.rto, grace);
}

/*
 * The leader of @block tells which blocks that it led before are finished. The lowest bit stands
 * for the latest one. If one is missing here, its result is lost, or late; a silent one is done.
 */
static void cnr_finished(struct cnr_comm *c, u64 now, const struct cnr_operation *o, u32 block,
			 u32 bits)
{
	u16 leader = cnr_leader(c, block);
	struct cnr_block *b;

	for (; bits; bits >>= 1) {
		block = cnr_led_before(c, o, block);
		if (canary_before(block, c->una))
			break;
		b = cnr_block(c, block);
		if (!(bits & 1) || b->state != CNR_B_SENT || b->roles.leader != leader ||
		    (b->flags & CNR_B_LOST) || cnr_is_others(c, block))
			continue;
		if (cnr_is_silent(&b->roles)) {
			cnr_block_done(c, now, block);
			continue;
		}
		b->flags |= CNR_B_LOST;
		/*
		 * The deadline may be over because others computed, or far away because the leader
		 * said WAIT.
		 */
		if (!b->tries)
			b->deadline = now + cnr_reordering(c);
		else if (!b->silent)
			b->deadline = min_t(u64, b->deadline, now + cnr_reordering(c));
		cnr_arm(c, b->deadline);
		cnr_count(c, CNR_C_losses_told);
		if (b->tries)
			cnr_window_loss(c);	/* it has been asked for */
	}
}

/*
 * Measure the round trip of a block that was not asked for. @held_us: for how many us the leader
 * had the first contribution. If ours was a later one, the leader had it for less. So the round
 * trip is between @held_us less and the whole time. If these are far apart, nothing is learned,
 * unless even the whole time is short.
 */
static void cnr_sample(struct cnr_comm *c, u64 now, u32 block, u32 held_us, u8 load)
{
	u64 rtt = now - cnr_block(c, block)->sent_at;
	u64 held = held_us * CNR_USEC;

	if (held <= rtt / 2)
		rtt -= held / 2;
	else if (!c->net.srtt)
		rtt -= min_t(u64, held, rtt / 2);
	else if (rtt > 2 * c->net.srtt)
		return;
	cnr_rtt(c, rtt);
	cnr_window_result(c, now, block, rtt, load);
}

static enum canary_drop cnr_result_early(struct cnr_comm *c, u64 now, u32 block)
{
	if (!canary_before(block, c->next))
		return CANARY_DROP_BLOCK;
	cnr_asked_early(c, now);
	return CANARY_DROP_DUPLICATE;
}

/*
 * Does a result use trees as the shape says? Who asked for it gets it by itself: it uses none, and
 * is the last one.
 */
static bool cnr_result_fits(const struct cnr_roles *r, const struct canary_hdr *h)
{
	bool last = h->flags & CANARY_F_LAST;
	u32 tree = be32_to_cpu(h->result.tree);

	return !canary_is_kept(h) || (last != r->more && tree == r->tree);
}

enum canary_drop cnr_result_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_operation *o;
	struct cnr_block *b;
	struct cnr_part p;

	cnr_all_done(c, be32_to_cpu(h->result.acked));
	if (block - c->una >= c->next - c->una)
		return cnr_result_early(c, now, block);
	b = cnr_block(c, block);
	if (b->state != CNR_B_SENT)
		return cnr_result_early(c, now, block);
	if (cnr_is_silent(&b->roles))
		return CANARY_DROP_STATE;
	if (b->roles.leader == c->cfg.rank || rank != b->roles.leader)
		return CANARY_DROP_LEADER;
	o = &c->ops[b->op];
	if (be32_to_cpu(h->opsig) != o->opsig)
		return CANARY_DROP_OPSIG;
	cnr_part(c, o, block, &p);
	if (canary_length(h) != p.result || canary_kind(h) != p.kind) {
		cnr_differs_inside(c, now, rank);
		return CANARY_DROP_ELEMENTS;
	}
	if (!cnr_result_fits(&b->roles, h))
		return CANARY_DROP_FLAGS;
	cnr_store(c, o, &p, cnr_payload(in));
	c->load = h->result.load;
	if (!(b->flags & CNR_B_AGAIN) && !b->attempt && !b->roles.tree)
		cnr_sample(c, now, block, be32_to_cpu(h->result.held), h->result.load);
	if (!canary_addr_equal(&in->addr, &c->peer[rank].addr)) {
		c->first_aggregator = h->result.switch_id;
		c->tree.merges = true;
	}
	cnr_count(c, CNR_C_results_in);
	cnr_block_done(c, now, block);
	cnr_all_sent(c, now, block + 1);
	cnr_finished(c, now, o, block, be32_to_cpu(h->result.finished));
	cnr_fill(c, now);
	return CANARY_DROP_NONE;
}

/*
 * The leader wants our contribution (again). If we have not posted the block, note only the
 * attempt, and tell the leader that we live.
 */
enum canary_drop cnr_failure_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct cnr_block *b;

	if (!cnr_may_lead(c, block, be16_to_cpu(h->rank)))
		return CANARY_DROP_LEADER;
	b = cnr_block(c, block);
	if (cnr_is_others(c, block)) {
		cnr_differs(c, now, block, be16_to_cpu(h->rank), be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	if (!cnr_in_window(c, block) || b->state == CNR_B_DONE) {
		/* The leader may be counting the time until we answer. */
		cnr_control(c, CANARY_ALIVE, be16_to_cpu(h->rank), block);
		return CANARY_DROP_BLOCK;
	}
	if (b->state == CNR_B_SENT && b->roles.tree)
		return CANARY_DROP_STATE;
	if (h->attempt < b->attempt)
		return CANARY_DROP_ATTEMPT;
	if (h->attempt == b->attempt && !(h->flags & CANARY_F_BYPASS))
		return CANARY_DROP_DUPLICATE;
	cnr_count(c, CNR_C_failures_in);
	if (b->state == CNR_B_IDLE) {
		/* To be late is no reason to bypass. */
		b->attempt = h->attempt;
		if (h->attempt >= CNR_BYPASS_ATTEMPT)
			b->flags |= CNR_B_BYPASS;
		cnr_control(c, CANARY_ALIVE, be16_to_cpu(h->rank), block);
		return CANARY_DROP_NONE;
	}
	if (h->attempt != b->attempt)
		b->again = 0;
	else if (b->again < 255)
		b->again++;
	b->attempt = h->attempt;
	if (h->flags & CANARY_F_BYPASS)
		b->flags |= CNR_B_BYPASS;
	b->flags |= CNR_B_AGAIN;
	b->silent = 0;
	b->deadline = now + c->net.rto;
	cnr_arm(c, b->deadline);
	cnr_tx_queue(c, block);
	cnr_window_loss(c);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_wait_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_block *b;

	if (!cnr_may_lead(c, block, rank))
		return CANARY_DROP_LEADER;
	if (block - c->una >= c->next - c->una)
		return CANARY_DROP_BLOCK;
	b = cnr_block(c, block);
	if (b->state != CNR_B_SENT || cnr_is_others(c, block))
		return CANARY_DROP_STATE;
	if (!b->silent ||
	    !cnr_is_answer(&c->questions[rank], b->asked_from, be32_to_cpu(h->wait.answer)))
		return CANARY_DROP_DUPLICATE;
	cnr_count(c, CNR_C_waits_in);
	cnr_answered(c, now - b->asked_at);
	if (b->silent == 1)
		cnr_rtt(c, now - b->asked_at);
	b->silent = 0;
	b->deadline = now + cnr_request_interval(c, block, b);
	cnr_arm(c, b->deadline);
	cnr_all_sent(c, now, be32_to_cpu(h->wait.sent));
	return CANARY_DROP_NONE;
}

/*
 * Return: the static tree of @block; blocks take the trees in turn. What is sent again uses no
 * tree, since its tree may have a link that swallows packets.
 */
static u8 cnr_path(const struct cnr_comm *c, u32 block)
{
	u32 tree = block % c->trees;

	return tree < c->cfg.trees ? c->cfg.tree[tree] : tree;
}

/* Give @out words that have to be made. The driver may have a place for them in the packet. */
static void cnr_contribution_made(struct cnr_comm *c, const struct cnr_operation *o,
				  const struct cnr_part *p, struct cnr_out *out)
{
	void *place = NULL;
	bool held;

	out->len = p->length;
	if (c->cfg.place)
		place = c->cfg.place(c->cfg.driver, out);
	held = cnr_vector_hold(p->length / sizeof(u32));
	cnr_data(out, p->kind, cnr_words_made(c, o, p, place ? place : c->scratch), p->length);
	cnr_data_sum(c, out);
	if (held)
		cnr_vector_release();
}

/*
 * Give @out the words of our contribution, or of its next shard. Return: false if other shards
 * follow
 */
static bool cnr_contribution_data(struct cnr_comm *c, const struct cnr_operation *o,
				  const struct cnr_block *b, const struct cnr_part *p,
				  struct cnr_out *out)
{
	struct canary_hdr *h = &out->hdr;
	u32 *list = (u32 *)c->scratch;
	bool last = true;
	u16 length;

	if (p->list) {
		length = o->encoding->shard(c, o, p, b->shard, list, &last);
		cnr_data(out, p->list, list, length);
		cnr_data_sum(c, out);
		h->contribution.shard = b->shard;
	} else if (cnr_part_plain(o, p)) {
		cnr_data(out, p->kind, cnr_vector_source(o, p), p->length);
		cnr_data_sum(c, out);
	} else {
		cnr_contribution_made(c, o, p, out);
	}
	h->flags |= last ? CANARY_F_LAST : 0;
	h->contribution.count = cpu_to_be16(last);
	h->contribution.tag = cpu_to_be64(cnr_shard_tag(c, be32_to_cpu(h->block), b->attempt,
							o->opsig, b->shard, last));
	return last;
}

/* Make the next contribution to send. Return: false if there is none */
bool cnr_contribution_build(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	struct canary_hdr *h = &out->hdr;
	struct cnr_operation *o;
	struct cnr_block *b;
	struct cnr_part p;
	u32 block;

	while (c->tree.tx_tail != c->tree.tx_head) {
		block = c->tree.txq[c->tree.tx_tail++ & c->block_mask];
		if (block - c->una >= c->next - c->una)
			continue;
		b = cnr_block(c, block);
		b->flags &= ~CNR_B_QUEUED;
		if (b->state != CNR_B_SENT)
			continue;
		o = &c->ops[b->op];
		cnr_part(c, o, block, &p);
		cnr_header(c, out, CANARY_CONTRIBUTION, block);
		h->attempt = b->attempt;
		h->flags = (b->flags & CNR_B_BYPASS ? CANARY_F_BYPASS : 0) |
			   (cnr_is_silent(&b->roles) ? CANARY_F_SILENT : 0);
		h->contribution.path = b->again;
		if (o->algorithm == CANARY_ALG_STATIC && c->trees && !b->attempt && !b->again &&
		    !(b->flags & CNR_B_BYPASS)) {
			h->flags |= CANARY_F_STATIC;
			h->contribution.path = cnr_path(c, block);
		}
		h->opsig = cpu_to_be32(o->opsig);
		cnr_to_rank(c, out, b->roles.leader);
		if (!cnr_contribution_data(c, o, b, &p, out)) {
			/* It stays first in the queue. */
			b->shard++;
			b->flags |= CNR_B_QUEUED;
			c->tree.tx_tail--;
		}
		h->contribution.acked = cpu_to_be32(c->una);
		out->again = b->flags & CNR_B_AGAIN;
		cnr_count(c, out->again ? CNR_C_retransmissions : CNR_C_contributions_out);
		return true;
	}
	return false;
}
