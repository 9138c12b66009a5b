// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, ring: operations that hosts carry out alone. A ring does reduce-scatter and allgather, a
 * block at a time (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations").
 *
 * The partial sum of a block starts at the member after its leader in the order of the ring. Each
 * member adds its data, keeps the sum (ring_words.c), and sends it on. At the leader the sum is
 * complete, and the result goes around once more. Every hop goes from a member to the next one. It
 * is authenticated, and repeated on demand from what is kept. So nothing has to begin anew.
 *
 * A ring needs an allreduce (cnr_shape.rings). Leaders take turns, so that all links are busy, and
 * the next block with the same leader is @members blocks away. All members contribute and get
 * results.
 *
 * States: those of tree_member.c, and CNR_B_PARTIAL while SENT: own data are in the partial sum.
 * Timer: cnr_block.deadline while SENT; it asks the member before us with RING_REQUEST.
 */
#include "message.h"
#include "outbox.h"
#include "ring.h"
#include "session.h"

#ifndef CNR_CWND_RING
#define CNR_CWND_RING		8	/* blocks on each link; the simulator has faster links */
#endif

/* Return: how many members add to @block before us. The first one has 0, the leader members - 1 */
static u16 cnr_ring_hop(const struct cnr_comm *c, u32 block)
{
	u32 leader = c->ring.place[cnr_block(c, block)->roles.leader];

	return (c->ring.own + 2 * c->cfg.members - leader - 1) % c->cfg.members;
}

/* Queue @item for the next member. If there is no room, that member will ask. */
static void cnr_ring_push(struct cnr_comm *c, const struct cnr_ring_item *item)
{
	struct cnr_ring *r = &c->ring;

	if (r->head - r->tail > r->mask)
		cnr_count(c, CNR_C_control_lost);
	else
		r->queue[r->head++ & r->mask] = *item;
	c->answers |= 1U << CNR_RING;
}

static void cnr_ring_push_partial(struct cnr_comm *c, u32 block)
{
	cnr_ring_push(c, &(struct cnr_ring_item){ .block = block });
}

static void cnr_ring_push_result(struct cnr_comm *c, u32 block, u32 sum)
{
	cnr_ring_push(c, &(struct cnr_ring_item){ .block = block, .sum = sum, .result = true });
}

static void cnr_ring_push_again(struct cnr_comm *c, u32 block)
{
	cnr_ring_push(c, &(struct cnr_ring_item){ .block = block, .again = true });
}

static u64 cnr_ring_backoff(const struct cnr_comm *c, u8 tries)
{
	u64 least = min_t(u64, c->ring.rto << c->ring.shift, CNR_RTO_MAX);

	return max_t(u64, least, min_t(u64, c->ring.rto << min_t(u8, tries, 6), CNR_WAIT_MAX));
}

static void cnr_ring_rearm(struct cnr_comm *c, u64 now, struct cnr_block *b)
{
	b->deadline = now + cnr_ring_backoff(c, b->tries);
	cnr_arm(c, b->deadline);
}

/* Ask the member before us for what @block lacks: the partial sum, or the result. */
static void cnr_ring_ask(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_control *m = cnr_control(c, CANARY_RING_REQUEST, c->ring.prev, block);
	u16 hop = cnr_ring_hop(c, block);

	cnr_ask(c, now, c->ring.prev);
	if (!m)
		return;
	m->arg = b->flags & CNR_B_PARTIAL ? c->cfg.members : hop;
	cnr_count(c, CNR_C_requests_out);
}

/* Our application has posted @block, and its turn has come. */
static void cnr_ring_start(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	bool first = !cnr_ring_hop(c, block);

	b->asked_from = c->questions[c->ring.prev].question;
	cnr_ring_tags_begin(c, block);
	b->sum = cnr_partial_begin(c, o, block, first);
	b->attempt = 0;
	if (first) {
		b->flags |= CNR_B_PARTIAL;
		b->tag = cnr_tag(c, c->cfg.rank, block, 0, o->opsig);
		b->done = c->una;
		cnr_ring_push_partial(c, block);
	} else if (b->flags & CNR_B_EARLY) {
		b->flags |= CNR_B_AGAIN;
		cnr_ring_ask(c, now, block);
	}
	cnr_ring_rearm(c, now, b);
}

/* If round trips have become longer than the timer, double the timer. */
static void cnr_ring_slowed(struct cnr_comm *c, u64 now, const struct cnr_block *b)
{
	struct cnr_ring *r = &c->ring;

	if (b->tries || b->sent_at < r->slowed_at || now - b->sent_at < r->rto)
		return;
	r->slowed_at = now;
	if (r->shift < 6)
		r->shift++;
}

static void cnr_ring_overdue(struct cnr_comm *c, u64 now, u32 block, u32 *budget)
{
	struct cnr_block *b = cnr_block(c, block);

	if (c->member[c->ring.prev].flags & CNR_M_LEFT) {
		cnr_fail(c, now, CANARY_ABORT_LEFT, &c->ring.prev, 1, true);
		return;
	}
	if (cnr_path_fails(c, now, b, c->ring.prev))
		return;
	cnr_count(c, CNR_C_timeouts);
	cnr_ring_slowed(c, now, b);
	b->flags |= CNR_B_AGAIN;
	if (*budget) {
		(*budget)--;
		cnr_ring_ask(c, now, block);
		cnr_block_asked(b, now);
		if (b->tries < 255)
			b->tries++;
	}
	cnr_ring_rearm(c, now, b);
}

static void cnr_ring_timer(struct cnr_comm *c, u64 now, u32 block, u32 *budget)
{
	const struct cnr_block *b = cnr_block(c, block);

	if (b->deadline <= now)
		cnr_ring_overdue(c, now, block, budget);
	if (c->state != CNR_FAILED)
		cnr_arm(c, b->deadline);
}

/*
 * Blocks of one leader come over a hop in their order. So if the block before @block has not come,
 * it is probably lost here. Or it was lost further back, and a member nearer to that place asks
 * already: the time to wait grows by the time of a hop for each hop. A result may be late because
 * its partial sum was.
 * @have: CNR_B_PARTIAL if results come, 0 if partial sums do
 */
static void cnr_ring_hole(struct cnr_comm *c, u64 now, u32 block, u8 have)
{
	u32 hops = cnr_ring_hop(c, block);
	u32 last = block - c->cfg.members;
	struct cnr_block *b = cnr_block(c, last);
	u64 wait, again, srtt;

	if (!cnr_is_ring(c, last) || b->state != CNR_B_SENT || b->tries ||
	    (b->flags & CNR_B_PARTIAL) != have ||
	    b->roles.leader != cnr_block(c, block)->roles.leader)
		return;
	srtt = c->ring.srtt ? c->ring.srtt : c->cfg.rto_min;
	again = cnr_div64(2 * srtt, c->cfg.members);	/* more than 2 of 2 (N - 1) hops */
	wait = srtt / 4 + again * hops;
	if (have)
		wait += srtt / 4 + again;
	b->deadline = min_t(u64, b->deadline, now + wait);
	cnr_arm(c, b->deadline);
}

/* As cnr_rtt(), of the time for which a block is in flight here, led here or not */
static void cnr_ring_rtt(struct cnr_comm *c, u64 now, const struct cnr_block *b)
{
	struct cnr_ring *r = &c->ring;
	u64 diff, rtt = now - b->sent_at;

	if (b->flags & CNR_B_AGAIN)
		return;
	if (!r->srtt) {
		r->srtt = rtt;
		r->rttvar = rtt / 2;
	} else {
		diff = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
		r->rttvar += diff / 4 - r->rttvar / 4;
		r->srtt += rtt / 8 - r->srtt / 8;
	}
	r->rto = min_t(u64, r->srtt + max_t(u64, 4 * r->rttvar, c->cfg.rto_min), CNR_RTO_MAX);
	r->shift = 0;
}

/*
 * Check the data of a block in flight, or its @result. Fills in *@p. Return: why they are dropped
 */
static enum canary_drop cnr_ring_check(struct cnr_comm *c, u64 now, const struct cnr_in *in,
				       struct cnr_part *p, bool result)
{
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	struct cnr_operation *o = &c->ops[cnr_block(c, block)->op];

	if (be32_to_cpu(h->opsig) != o->opsig) {
		cnr_differs(c, now, block, be16_to_cpu(h->rank), be32_to_cpu(h->opsig),
			    h->type == CANARY_RING_SUM ? be16_to_cpu(h->contribution.count) :
							 c->cfg.members);
		return CANARY_DROP_OPSIG;
	}
	cnr_part(c, o, block, p);
	if (canary_length(h) != (result ? p->result : p->length) || canary_kind(h) != p->kind) {
		cnr_differs_inside(c, now, be16_to_cpu(h->rank));
		return CANARY_DROP_ELEMENTS;
	}
	return CANARY_DROP_NONE;
}

/* Add @payload to our data of @block. At the leader that makes the result. Return: its checksum */
static u32 cnr_ring_add(struct cnr_comm *c, u32 block, const u32 *payload)
{
	struct cnr_operation *o = &c->ops[cnr_block(c, block)->op];

	if (cnr_block(c, block)->roles.leader == c->cfg.rank)
		return cnr_result_make(c, o, block, payload, (u32 *)c->scratch);
	return cnr_partial_add(c, o, block, payload);
}

static void cnr_ring_finish(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	if (b->tag != cnr_ring_tags_sum(c, block, c->ops[b->op].opsig)) {
		/*
		 * Every hop was authenticated, so a member has made it up. Our own data are not
		 * there any more to begin anew.
		 */
		cnr_count(c, CNR_C_tag_mismatch);
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, &c->ring.prev, 1, true);
		return;
	}
	cnr_count(c, CNR_C_blocks_led);
	c->load = b->load;
	cnr_all_done(c, b->done);
	cnr_ring_rtt(c, now, b);
	cnr_ring_push_result(c, block, b->sum);
	cnr_block_done(c, now, block);
}

/*
 * The member before us may be ahead, as it has results that we still lack. Begin the blocks up to
 * @block, as far as there is room. That harms nobody: no member is more than a window from the one
 * that is furthest.
 */
static void cnr_ring_follow(struct cnr_comm *c, u64 now, u32 block)
{
	while (c->state == CNR_CONNECTED && !canary_before(block, c->next) &&
	       cnr_start_next(c, now))
		;
}

static enum canary_drop cnr_ring_partial(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	enum canary_drop drop;
	struct cnr_block *b;
	struct cnr_part p;

	if (!cnr_in_window(c, block))
		return canary_before(block, c->una) ? CANARY_DROP_DUPLICATE : CANARY_DROP_BLOCK;
	cnr_sent_by(c, be16_to_cpu(h->rank), block + 1);
	b = cnr_block(c, block);
	if (!cnr_in_flight(c, block))
		cnr_ring_follow(c, now, block);
	if (!cnr_in_flight(c, block)) {
		b->flags |= CNR_B_EARLY;
		return CANARY_DROP_EARLY;
	}
	if (b->state != CNR_B_SENT || (b->flags & CNR_B_PARTIAL))
		return CANARY_DROP_DUPLICATE;
	drop = cnr_ring_check(c, now, in, &p, false);
	if (drop != CANARY_DROP_NONE)
		return drop;
	if (be16_to_cpu(h->contribution.count) != cnr_ring_hop(c, block))
		return CANARY_DROP_COUNT;
	/* The tags take longer. Our timer asks for the partial sum again. */
	if (!cnr_ring_tags_known(c, block))
		return CANARY_DROP_EARLY;
	b->sum = cnr_ring_add(c, block, cnr_payload(in));
	b->flags |= CNR_B_PARTIAL;
	b->tag = be64_to_cpu(h->contribution.tag);
	b->done = canary_earlier(be32_to_cpu(h->contribution.acked), c->una);
	b->load = h->contribution.load;
	b->tries = 0;
	b->silent = 0;
	cnr_count(c, CNR_C_ring_in);
	cnr_ring_hole(c, now, block, 0);
	if (b->roles.leader == c->cfg.rank) {
		cnr_ring_finish(c, now, block);
	} else {
		b->tag += cnr_tag(c, c->cfg.rank, block, 0, c->ops[b->op].opsig);
		cnr_ring_push_partial(c, block);
		cnr_ring_rearm(c, now, b);
	}
	cnr_fill(c, now);
	return CANARY_DROP_NONE;
}

static enum canary_drop cnr_ring_result(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	struct cnr_operation *o;
	enum canary_drop drop;
	struct cnr_block *b;
	struct cnr_part p;

	cnr_all_done(c, be32_to_cpu(h->result.acked));
	if (!cnr_in_flight(c, block))
		return canary_before(block, c->una) ? CANARY_DROP_DUPLICATE : CANARY_DROP_BLOCK;
	b = cnr_block(c, block);
	if (b->state != CNR_B_SENT)
		return CANARY_DROP_DUPLICATE;
	if (b->roles.leader == c->cfg.rank)
		return CANARY_DROP_LEADER;
	drop = cnr_ring_check(c, now, in, &p, true);
	if (drop != CANARY_DROP_NONE)
		return drop;
	/* There is no result without our data. */
	if (!(b->flags & CNR_B_PARTIAL))
		return CANARY_DROP_STATE;
	o = &c->ops[b->op];
	if (!cnr_result_is_tidy(c, o, &p, cnr_payload(in))) {
		/* The member before us has looked, too. So it has made that up. */
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, &c->ring.prev, 1, true);
		return CANARY_DROP_SUM;
	}
	cnr_store(c, o, &p, cnr_payload(in));
	cnr_result_note(c, o, block, cnr_payload(in));
	c->load = h->result.load;
	cnr_count(c, CNR_C_results_in);
	cnr_ring_rtt(c, now, b);
	cnr_ring_hole(c, now, block, CNR_B_PARTIAL);
	if (c->ring.next != b->roles.leader)
		cnr_ring_push_result(c, block, be32_to_cpu(h->result.sum));
	cnr_block_done(c, now, block);
	cnr_fill(c, now);
	return CANARY_DROP_NONE;
}

/* Answer the RING_REQUEST @h: what it asks for is not here. */
static void cnr_ring_say_wait(struct cnr_comm *c, const struct canary_hdr *h)
{
	struct cnr_control *m = cnr_control(c, CANARY_RING_WAIT, be16_to_cpu(h->rank),
					    be32_to_cpu(h->block));

	if (m)
		m->arg = be32_to_cpu(h->ring_request.question);
}

/* The member after us lacks something. */
static enum canary_drop cnr_ring_request(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	bool result = h->ring_request.wanted == h->members;
	u32 block = be32_to_cpu(h->block);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_block *b = cnr_block(c, block);
	bool here;

	cnr_count(c, CNR_C_requests_in);
	cnr_sent_by(c, rank, block + 1);
	if (canary_before(block, c->una) && !cnr_find_op(c, block)) {
		cnr_control(c, CANARY_ALIVE, rank, block);
		return CANARY_DROP_BLOCK;
	}
	if (cnr_in_flight(c, block) && b->state != CNR_B_IDLE &&
	    be32_to_cpu(h->opsig) != c->ops[b->op].opsig) {
		cnr_control(c, CANARY_ALIVE, rank, block);
		cnr_ring_say_wait(c, h);	/* it waits until it is known who differs */
		cnr_differs(c, now, block, rank, be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	here = canary_before(block, c->una);
	if (cnr_is_ring(c, block))
		here = b->state == CNR_B_DONE || ((b->flags & CNR_B_PARTIAL) && !result);
	if (here) {
		cnr_ring_push_again(c, block);
		return CANARY_DROP_NONE;
	}
	cnr_ring_say_wait(c, h);
	return CANARY_DROP_NONE;
}

static enum canary_drop cnr_ring_wait(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	const struct cnr_questions *t = &c->questions[c->ring.prev];
	u32 block = be32_to_cpu(h->block);
	struct cnr_block *b = cnr_block(c, block);

	if (!cnr_is_ring(c, block) || b->state != CNR_B_SENT)
		return CANARY_DROP_STATE;
	if (!cnr_is_answer(t, b->asked_from, be32_to_cpu(h->ring_wait.answer)))
		return CANARY_DROP_DUPLICATE;
	b->asked_from = t->question;
	b->silent = 0;
	cnr_count(c, CNR_C_waits_in);
	cnr_ring_rearm(c, now, b);
	return CANARY_DROP_NONE;
}

/* A ring message. It has to come from the right neighbour. */
static enum canary_drop cnr_ring_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u16 rank = be16_to_cpu(h->rank);

	cnr_ring_begin(c);
	if (!c->ring.known)
		return CANARY_DROP_EARLY;
	if (rank != (h->type == CANARY_RING_REQUEST ? c->ring.next : c->ring.prev))
		return CANARY_DROP_STATE;
	switch (h->type) {
	case CANARY_RING_SUM:
		return cnr_ring_partial(c, now, in);
	case CANARY_RING_RESULT:
		return cnr_ring_result(c, now, in);
	case CANARY_RING_REQUEST:
		return cnr_ring_request(c, now, h);
	case CANARY_RING_WAIT:
		return cnr_ring_wait(c, now, h);
	default:
		return CANARY_DROP_TYPE;
	}
}

static void cnr_ring_partial_build(struct cnr_comm *c, u32 block, bool again,
				   struct cnr_out *out)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	struct canary_hdr *h = &out->hdr;
	struct cnr_part p;

	cnr_part(c, o, block, &p);
	cnr_header(c, out, CANARY_RING_SUM, block);
	h->opsig = cpu_to_be32(o->opsig);
	h->contribution.count = cpu_to_be16(cnr_ring_hop(c, block) + 1);
	cnr_data(out, p.kind, cnr_partial_words(c, o, &p), p.length);
	h->contribution.load = b->load;
	h->contribution.tag = cpu_to_be64(b->tag);
	h->contribution.sum = cpu_to_be32(b->sum);
	h->contribution.acked = cpu_to_be32(b->done);
	cnr_count(c, again ? CNR_C_ring_again : CNR_C_ring_out);
}

static bool cnr_ring_result_build(struct cnr_comm *c, const struct cnr_ring_item *item,
				  struct cnr_out *out)
{
	if (!cnr_result_build(c, item->block, 0, out))
		return false;
	out->hdr.type = CANARY_RING_RESULT;
	out->hdr.flags = 0;
	out->hdr.result.finished = 0;
	out->hdr.result.sum = cpu_to_be32(item->result ? item->sum : cnr_out_sum(out));
	cnr_count(c, item->again ? CNR_C_results_again : CNR_C_results_out);
	return true;
}

/* @out is sent again. Did somebody write to our vector meanwhile? Then what it had is lost. */
static bool cnr_ring_changed(struct cnr_comm *c, const struct cnr_out *out, u32 block)
{
	struct cnr_operation *o = cnr_find_op(c, block);

	if (out->hdr.type == CANARY_RING_RESULT)
		return cnr_result_changed(c, o, block, out->payload);
	return o->op.hashes && cnr_out_sum(out) != cnr_block(c, block)->sum;
}

/* Make the next partial sum or result for the member after us. Return: false if there is none */
static bool cnr_ring_build(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	struct cnr_ring *r = &c->ring;
	struct cnr_ring_item *item;
	struct cnr_block *b;

	while (r->tail != r->head) {
		item = &r->queue[r->tail++ & r->mask];
		b = cnr_block(c, item->block);
		if (canary_before(item->block, c->una) ||
		    (cnr_is_ring(c, item->block) && b->state == CNR_B_DONE)) {
			if (!cnr_ring_result_build(c, item, out))
				continue;
		} else if (cnr_is_ring(c, item->block) && (b->flags & CNR_B_PARTIAL)) {
			cnr_ring_partial_build(c, item->block, item->again, out);
		} else {
			continue;
		}
		if (item->again && cnr_ring_changed(c, out, item->block)) {
			cnr_fail(c, now, CANARY_ABORT_LEFT, &c->cfg.rank, 1, true);
			return false;
		}
		out->again = item->again;
		cnr_to_rank(c, out, r->next);
		return true;
	}
	return false;
}

/*
 * A ring has one sender on each link, and no signal but results. So the limit is a constant for
 * each link.
 */
static u32 cnr_ring_in_flight(const struct cnr_comm *c)
{
	return max_t(u32, CNR_CWND_FIRST, CNR_CWND_RING * c->cfg.members);
}

static bool cnr_ring_ready(const struct cnr_comm *c)
{
	return c->ring.known;
}

/* A ring is going to run an operation. */
static void cnr_ring_wanted(struct cnr_comm *c)
{
	cnr_ring_begin(c);
	cnr_count(c, CNR_C_operations_ring);
}

/* Is @h a partial sum from our neighbour, for a block that we have not begun? */
static bool cnr_ring_expects(struct cnr_comm *c, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);

	cnr_ring_begin(c);
	return c->ring.known && be16_to_cpu(h->rank) == c->ring.prev && cnr_in_window(c, block) &&
	       !cnr_in_flight(c, block);
}

/* Long work: the order, and the tags of a block that is led here */
static bool cnr_ring_work(struct cnr_comm *c, u64 now)
{
	return cnr_ring_order_work(c) || cnr_ring_tags_work(c);
}

static void cnr_ring_drop(struct cnr_comm *c)
{
	c->ring.tail = c->ring.head;
}

const struct cnr_algorithm cnr_ring = {
	.collective = CNR_RING,
	.algorithm = CANARY_ALG_RING,
	.follows = true,
	.keeps = true,		/* who passes a result on reads it again */
	.wanted = cnr_ring_wanted,
	.ready = cnr_ring_ready,
	.in_flight = cnr_ring_in_flight,
	.start = cnr_ring_start,
	.timer = cnr_ring_timer,
	.expects = cnr_ring_expects,
	.input = cnr_ring_input,
	.answer = cnr_ring_build,
	.work = cnr_ring_work,
	.drop = cnr_ring_drop,
};
