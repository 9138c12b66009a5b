// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A block at a member that does not lead it, and the window that all its blocks move through.
 *
 * States (enum cnr_block_state): IDLE -> SENT -> DONE -> out of the window.
 * Timer: cnr_block.deadline while SENT; it asks the leader with REQUEST, with back-off.
 */
#include "comm.h"

static void cnr_tx_queue(struct cnr_comm *c, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	if (b->flags & CNR_B_QUEUED)
		return;
	b->flags |= CNR_B_QUEUED;
	c->txq[c->tx_head++ & c->block_mask] = block;
}

/* A block that was not asked for yet waits as long as those before it had to, see cnr_late(). */
static u64 cnr_backoff(const struct cnr_comm *c, u8 tries)
{
	u64 least = min_t(u64, c->rto << c->rto_shift, CNR_RTO_MAX);

	return max_t(u64, least, min_t(u64, c->rto << min_t(u8, tries, 6), CNR_PATIENCE_MAX));
}

/* Contribute @block, the next one. */
static void cnr_start(struct cnr_comm *c, u64 now, u32 block, struct cnr_operation *o)
{
	struct cnr_block *b = cnr_block(c, block);

	b->state = CNR_B_SENT;
	b->op = o - c->ops;
	b->sent_at = now;
	b->tries = 0;
	if (o->algorithm == CANARY_ALG_RING) {
		cnr_ring_start(c, now, block);
		return;
	}
	if (cnr_leader(c, block) == c->cfg.rank) {
		cnr_lead_posted(c, now, block);
		return;
	}
	b->deadline = now + cnr_backoff(c, 0);
	cnr_arm(c, b->deadline);
	cnr_tx_queue(c, block);
}

/* Contribute the next block. Return: false if there is none, or it is not known how. */
bool cnr_start_next(struct cnr_comm *c, u64 now)
{
	struct cnr_operation *o;
	u32 block = c->next;

	if (block == c->posted)
		return false;
	o = cnr_find_op(c, block);
	if (!o->algorithm)
		return false;
	c->next++;
	cnr_start(c, now, block, o);
	return true;
}

/*
 * Contribute as many blocks as window and posted operations allow. A led block may be
 * complete as soon as it is posted, which moves the window while we are here.
 */
void cnr_fill(struct cnr_comm *c, u64 now)
{
	while ((c->state == CNR_CONNECTED || c->state == CNR_LINGERING) &&
	       c->next - c->una < c->window && cnr_start_next(c, now))
		;
}

/*
 * A block is overdue for the first time. If round trips have become longer than the timer, all
 * blocks are asked for, and none of those gives a sample: so new ones, too, get more time,
 * until one of them does (RFC 6298, 5.5 to 5.7). One doubling a window.
 */
static void cnr_late(struct cnr_comm *c, u64 now, const struct cnr_block *b)
{
	if (b->tries || b->sent_at < c->late_at)
		return;
	c->late_at = now;
	if (c->rto_shift < 6)
		c->rto_shift++;
}

void cnr_block_timers(struct cnr_comm *c, u64 now)
{
	u32 budget = CNR_REQUESTS;
	struct cnr_block *b;
	u32 block;
	u16 leader;

	for (block = c->una; block != c->next; block++) {
		b = cnr_block(c, block);
		leader = cnr_leader(c, block);
		if (b->state == CNR_B_SENT && cnr_is_ring(c, block)) {
			if (b->deadline <= now)
				cnr_ring_overdue(c, now, block, &budget);
			if (c->state == CNR_FAILED)
				return;
			cnr_arm(c, b->deadline);
			continue;
		}
		if (b->state != CNR_B_SENT || leader == c->cfg.rank)
			continue;
		if (b->deadline <= now && (c->member[leader].flags & CNR_M_LEFT)) {
			cnr_fail(c, now, CANARY_ABORT_LEFT, &leader, 1, true);
			return;
		}
		if (b->deadline <= now) {
			cnr_count(c, CNR_C_timeouts);
			b->flags |= CNR_B_AGAIN;
			cnr_late(c, now, b);
			if (budget) {
				budget--;
				if (cnr_control(c, CANARY_REQUEST, leader, block))
					cnr_count(c, CNR_C_requests_out);
				cnr_ask(c, now, leader);
				if (b->tries < 255)
					b->tries++;
			}
			b->deadline = now + cnr_backoff(c, b->tries);
		}
		cnr_arm(c, b->deadline);
	}
}

/*
 * RFC 6298, in ns; only blocks that were contributed once give samples (Karn). In a queue that
 * stands there is next to no variance: rto_min is what has to be left for jitter.
 */
static void cnr_rtt(struct cnr_comm *c, u64 rtt)
{
	u64 diff;

	if (!c->srtt) {
		c->srtt = rtt;
		c->rttvar = rtt / 2;
	} else {
		diff = rtt > c->srtt ? rtt - c->srtt : c->srtt - rtt;
		c->rttvar += diff / 4 - c->rttvar / 4;
		c->srtt += rtt / 8 - c->srtt / 8;
	}
	c->rto = c->srtt + max_t(u64, 4 * c->rttvar, c->cfg.rto_min);
	c->rto = min_t(u64, c->rto, CNR_RTO_MAX);
	c->rto_shift = 0;
}

enum canary_drop cnr_result_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const u32 *payload = (const u32 *)(in->hdr + 1);
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	struct cnr_operation *o;
	struct cnr_block *b;
	u16 elements;
	u32 *data;

	cnr_all_done(c, be32_to_cpu(h->done));
	if (block - c->una >= c->next - c->una)
		return canary_before(block, c->una) ? CANARY_DROP_DUPLICATE : CANARY_DROP_BLOCK;
	b = cnr_block(c, block);
	if (b->state != CNR_B_SENT)
		return CANARY_DROP_DUPLICATE;
	if (cnr_leader(c, block) == c->cfg.rank || be16_to_cpu(h->rank) != cnr_leader(c, block))
		return CANARY_DROP_LEADER;
	o = &c->ops[b->op];
	if (be32_to_cpu(h->opsig) != o->opsig)
		return CANARY_DROP_OPSIG;
	elements = cnr_block_elements(c, o, block);
	if (be16_to_cpu(h->elements) != elements)
		return CANARY_DROP_ELEMENTS;
	if (cnr_checksum(payload, elements) != be32_to_cpu(h->sum))
		return CANARY_DROP_SUM;
	data = cnr_block_data(c, o, block, &elements, CNR_USE_RESULT);
	memcpy(data, payload, elements * sizeof(*data));
	c->load = h->load;
	if (!(b->flags & CNR_B_AGAIN) && !b->attempt)
		cnr_rtt(c, now - b->sent_at);
	cnr_count(c, CNR_C_results_in);
	cnr_block_done(c, now, block);
	cnr_fill(c, now);
	return CANARY_DROP_NONE;
}

/*
 * The leader wants our contribution (again). Before we have posted the block, only the
 * attempt is noted, and the leader is told that we live.
 */
enum canary_drop cnr_failure_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct cnr_block *b;

	if (be16_to_cpu(h->rank) != cnr_leader(c, block))
		return CANARY_DROP_LEADER;
	b = cnr_block(c, block);
	if (cnr_is_ring(c, block)) {
		cnr_differs(c, now, block, be16_to_cpu(h->rank), be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	if (!cnr_in_window(c, block) || b->state == CNR_B_DONE) {
		/* Who asks may count the time until we answer. */
		cnr_control(c, CANARY_ALIVE, be16_to_cpu(h->rank), block);
		return CANARY_DROP_BLOCK;
	}
	if (h->attempt < b->attempt)
		return CANARY_DROP_ATTEMPT;
	if (h->attempt == b->attempt && !(h->flags & CANARY_F_BYPASS))
		return CANARY_DROP_DUPLICATE;
	cnr_count(c, CNR_C_failures_in);
	if (b->state == CNR_B_IDLE) {
		/* Being late is no reason to bypass. */
		b->attempt = h->attempt;
		if (h->attempt >= CNR_BYPASS_ATTEMPT)
			b->flags |= CNR_B_BYPASS;
		cnr_control(c, CANARY_ALIVE, be16_to_cpu(h->rank), block);
		return CANARY_DROP_NONE;
	}
	b->attempt = h->attempt;
	if (h->flags & CANARY_F_BYPASS)
		b->flags |= CNR_B_BYPASS;
	b->flags |= CNR_B_AGAIN;
	b->deadline = now + cnr_backoff(c, b->tries);
	cnr_arm(c, b->deadline);
	cnr_tx_queue(c, block);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_wait_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct cnr_block *b;

	if (be16_to_cpu(h->rank) != cnr_leader(c, block))
		return CANARY_DROP_LEADER;
	if (block - c->una >= c->next - c->una)
		return CANARY_DROP_BLOCK;
	b = cnr_block(c, block);
	if (b->state != CNR_B_SENT || cnr_is_ring(c, block))
		return CANARY_DROP_STATE;
	cnr_count(c, CNR_C_waits_in);
	b->deadline = now + min_t(u64, cnr_backoff(c, b->tries), CNR_PATIENCE_MAX);
	cnr_arm(c, b->deadline);
	return CANARY_DROP_NONE;
}

/* Next contribution to send. */
bool cnr_contribution_build(struct cnr_comm *c, struct cnr_out *out)
{
	struct canary_hdr *h = &out->hdr;
	struct cnr_operation *o;
	struct cnr_block *b;
	u32 block, *data;
	u16 elements;

	while (c->tx_tail != c->tx_head) {
		block = c->txq[c->tx_tail++ & c->block_mask];
		if (block - c->una >= c->next - c->una)
			continue;
		b = cnr_block(c, block);
		b->flags &= ~CNR_B_QUEUED;
		if (b->state != CNR_B_SENT)
			continue;
		o = &c->ops[b->op];
		data = cnr_block_data(c, o, block, &elements, CNR_USE_INPUT);
		cnr_header(c, out, CANARY_CONTRIBUTION, block);
		h->attempt = b->attempt;
		h->flags = b->flags & CNR_B_BYPASS ? CANARY_F_BYPASS : 0;
		if (c->cfg.trees) {
			h->flags |= CANARY_F_STATIC;
			h->path = c->cfg.tree[block % c->cfg.trees];
		}
		h->opsig = cpu_to_be32(o->opsig);
		h->count = cpu_to_be16(1);
		h->op = o->op.op;
		h->dtype = o->op.dtype;
		h->elements = cpu_to_be16(elements);
		h->tag = cpu_to_be64(cnr_tag(c, c->cfg.rank, block, b->attempt, o->opsig));
		h->sum = cpu_to_be32(cnr_checksum(data, elements));
		out->payload = data;
		out->len = elements * sizeof(*data);
		out->again = b->flags & CNR_B_AGAIN;
		cnr_count(c, out->again ? CNR_C_retransmissions : CNR_C_contributions_out);
		cnr_to_rank(c, out, cnr_leader(c, block));
		return true;
	}
	return false;
}
