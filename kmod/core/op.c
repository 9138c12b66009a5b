// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Operations: vectors cut into blocks, completed in the order of posting, kept until
 * everybody has their results.
 *
 * ops[] is a ring by sequence number: [op_release, op_report) were reported and are kept for
 * others, [op_report, op_seq) are to be reported.
 */
#include "comm.h"

static struct cnr_operation *cnr_op_at(struct cnr_comm *c, u32 seq)
{
	return &c->ops[seq % CNR_OPS];
}

bool cnr_can_post(const struct cnr_comm *c)
{
	return c->op_seq - c->op_release < CNR_OPS;
}

/* Blocks in serial space must stay comparable: half of it, less what a window can reach. */
static bool cnr_serial_room(const struct cnr_comm *c, u32 blocks)
{
	return (u64)(c->posted - c->all_done) + blocks < (1ULL << 31) - 4 * CNR_WINDOW_MAX;
}

/* A communicator of one has nobody to talk to. */
static void cnr_op_alone(struct cnr_comm *c, struct cnr_operation *o)
{
	if (o->op.source)
		memcpy(o->op.data, o->op.source, (size_t)o->op.elements * sizeof(u32));
	o->blocks_done = o->blocks;
	o->state = CNR_O_COMPLETE;
	c->una = c->posted;
	c->next = c->posted;
	c->all_done = c->posted;
	cnr_count(c, CNR_C_operations);
}

static void cnr_fail_left(struct cnr_comm *c, u64 now)
{
	u16 rank[CNR_FAULTS];
	u32 i, n = 0;

	for (i = 0; i < c->cfg.members; i++) {
		if (!(c->member[i].flags & CNR_M_LEFT))
			continue;
		if (n < CNR_FAULTS)
			rank[n] = i;
		n++;
	}
	cnr_fail(c, now, CANARY_ABORT_LEFT, rank, n, true);
}

int cnr_post(struct cnr_comm *c, u64 now, const struct cnr_op *op)
{
	struct cnr_operation *o;
	u32 blocks;

	if (op->op != CANARY_OP_SUM || op->dtype != CANARY_INT32 || op->root)
		return -EINVAL;
	if (c->state == CNR_FAILED)
		return c->error;
	if (c->state != CNR_CONNECTED)
		return -ENOTCONN;
	if (c->left) {
		cnr_fail_left(c, now);
		return c->error;
	}
	blocks = op->elements / c->elements + (op->elements % c->elements ? 1 : 0);
	if (!blocks)
		blocks = 1;
	if (!cnr_can_post(c) || !cnr_serial_room(c, blocks))
		return -EAGAIN;
	o = cnr_op_at(c, c->op_seq);
	memset(o, 0, sizeof(*o));
	o->op = *op;
	o->base = c->posted;
	o->blocks = blocks;
	o->seq = c->op_seq++;
	c->posted += blocks;
	cnr_plan_post(c, now, o);
	if (c->cfg.members == 1)
		cnr_op_alone(c, o);
	else
		cnr_fill(c, now);
	return 0;
}

struct cnr_operation *cnr_find_op(struct cnr_comm *c, u32 block)
{
	struct cnr_operation *o;
	u32 seq;

	for (seq = c->op_release; seq != c->op_seq; seq++) {
		o = cnr_op_at(c, seq);
		if (block - o->base < o->blocks)
			return o;
	}
	return NULL;
}

u16 cnr_block_elements(struct cnr_comm *c, const struct cnr_operation *op, u32 block)
{
	return min_t(u32, c->elements, op->op.elements - (block - op->base) * c->elements);
}

u32 *cnr_block_data(struct cnr_comm *c, const struct cnr_operation *op, u32 block, u16 *elements,
		    enum cnr_use use)
{
	u32 at = (block - op->base) * c->elements;

	*elements = cnr_block_elements(c, op, block);
	return op->op.at ? op->op.at(&op->op, at, *elements, use) : op->op.data + at;
}

/* Our own contribution to @block. */
const u32 *cnr_block_source(struct cnr_comm *c, const struct cnr_operation *op, u32 block,
			    u16 *elements)
{
	if (!op->op.source)
		return cnr_block_data(c, op, block, elements, CNR_USE_INPUT);
	*elements = cnr_block_elements(c, op, block);
	return op->op.source + (block - op->base) * c->elements;
}

/*
 * What was heard of a member long ago must not become the future of a serial number. Now and
 * then a block that goes brings one member up to what all have, and the next such one the next:
 * with 65535 members each has its turn in an eighth of the half round that there is.
 */
static void cnr_refresh(struct cnr_comm *c, u32 block)
{
	struct cnr_member *m;

	if (block % CNR_REFRESH)
		return;
	m = &c->member[block / CNR_REFRESH % c->cfg.members];
	if (canary_before(cnr_sent(c, m), c->all_done))
		m->sent = c->all_done - c->first;
	if (canary_before(cnr_done(c, m), c->all_done))
		m->done = c->all_done - c->first;
}

/*
 * All results of @o are here. That everybody has them is told by what follows, or has to be told:
 * soon, if somebody may wait for his buffer, as large ones are not worth keeping longer.
 */
static void cnr_op_passed(struct cnr_comm *c, u64 now, const struct cnr_operation *o)
{
	bool at_once = c->state == CNR_LINGERING || o->blocks >= CNR_EXPLICIT;

	c->done_goal = o->base + o->blocks;
	c->done_tries = 0;
	c->done_at = now + (at_once ? 0 : CNR_DONE_FIRST);
	cnr_arm(c, c->done_at);
}

/* The result of @block is in the vector. */
void cnr_block_done(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	bool asked = b->tries && block == c->una;
	u64 grace;

	b->state = CNR_B_DONE;
	cnr_count(c, CNR_C_blocks_done);
	if (b->attempt)
		o->attempts++;
	if (++o->blocks_done == o->blocks) {
		o->state = CNR_O_COMPLETE;
		cnr_count(c, CNR_C_operations);
	}
	while (c->una != c->next && cnr_block(c, c->una)->state == CNR_B_DONE) {
		b = cnr_block(c, c->una);
		o = &c->ops[b->op];
		memset(b, 0, sizeof(*b));
		b->lead = CNR_NONE;
		cnr_refresh(c, c->una);
		if (++c->una - o->base == o->blocks)
			cnr_op_passed(c, now, o);
	}
	if (c->una != c->next) {
		/*
		 * This one now holds up the window. If others waited for somebody to compute, its
		 * result is on its way; if one that was lost, it may be, too.
		 */
		b = cnr_block(c, c->una);
		grace = now + (asked ? cnr_reordering(c) : cnr_answer_time(c, 0));
		if (!b->tries && !(b->flags & CNR_B_LOST) && !cnr_is_ring(c, c->una))
			b->deadline = max_t(u64, b->sent_at + c->rto, grace);
		cnr_arm(c, b->deadline);
	}
}

/* Somebody knows that all members have all results before @done. */
void cnr_all_done(struct cnr_comm *c, u32 done)
{
	if (canary_before(c->all_done, done) && !canary_before(c->una, done))
		c->all_done = done;
}

static void cnr_tell(const struct cnr_operation *o, struct cnr_done *done)
{
	done->cookie = o->op.cookie;
	done->data = o->op.data;
	done->elements = o->op.elements;
	done->error = o->error;
	done->seq = o->seq;
	done->attempts = o->attempts;
}

bool cnr_completion(struct cnr_comm *c, struct cnr_done *done)
{
	struct cnr_operation *o = cnr_op_at(c, c->op_report);

	if (c->op_report == c->op_seq || o->state != CNR_O_COMPLETE)
		return false;
	o->state = CNR_O_REPORTED;
	c->op_report++;
	cnr_tell(o, done);
	return true;
}

bool cnr_released(struct cnr_comm *c, struct cnr_done *done)
{
	struct cnr_operation *o = cnr_op_at(c, c->op_release);

	if (c->op_release == c->op_report)
		return false;
	if (c->state != CNR_FAILED && c->state != CNR_CLOSED &&
	    canary_before(c->all_done, o->base + o->blocks))
		return false;
	c->op_release++;
	if (o->algorithm == CANARY_ALG_RING)
		c->ring.ops--;
	cnr_tell(o, done);
	return true;
}

/* The communicator is over: what is not complete never will be. */
void cnr_fail_ops(struct cnr_comm *c, int error)
{
	struct cnr_operation *o;
	u32 seq;

	for (seq = c->op_report; seq != c->op_seq; seq++) {
		o = cnr_op_at(c, seq);
		if (o->state != CNR_O_ACTIVE)
			continue;
		o->state = CNR_O_COMPLETE;
		o->error = error;
		cnr_count(c, CNR_C_operations_failed);
	}
}

/*
 * Results of an operation are kept because it is not known that all have them: nothing follows
 * that would tell, or what follows waits for somebody who waits for that. Members tell rank 0
 * what they have; it answers what all have. If it has left, who lacks something has as long to
 * ask as a closed member lingers.
 */
void cnr_done_timer(struct cnr_comm *c, u64 now)
{
	u64 wait;

	if (c->done_at > now || !canary_before(c->all_done, c->done_goal) ||
	    c->cfg.members == 1) {
		if (c->done_at > now)
			cnr_arm(c, c->done_at);
		return;
	}
	wait = min_t(u64, CNR_DONE_FIRST << min_t(u32, c->done_tries, 8), CNR_DONE_LAST);
	c->done_tries++;
	c->done_at = now + wait;
	cnr_arm(c, c->done_at);
	if (c->cfg.rank) {
		if (!(c->member[0].flags & CNR_M_LEFT)) {
			cnr_control(c, CANARY_DONE, 0, 0);
			cnr_ask(c, now, 0);
		} else if (now >= c->done_until) {
			cnr_all_done(c, c->una);
		}
	} else {
		cnr_done_input(c, now, NULL);
	}
}

/*
 * What all members have, as far as it is known to rank 0. Looks at all of them only if the one
 * that held it up the last time does not any more.
 */
static u32 cnr_done_by_all(struct cnr_comm *c)
{
	const struct cnr_member *m = &c->member[c->behind];
	u32 rank, all = c->una;

	if (c->behind && !(m->flags & CNR_M_LEFT) && !canary_before(c->all_done, cnr_done(c, m)))
		return c->all_done;
	c->behind = 0;
	for (rank = 1; rank < c->cfg.members && canary_before(c->all_done, all); rank++) {
		m = &c->member[rank];
		if (m->flags & CNR_M_LEFT)
			continue;
		all = canary_earlier(all, cnr_done(c, m));
		c->behind = rank;
	}
	return all;
}

/* DONE came (or, at rank 0, without @h: own progress may have been what was missing). */
enum canary_drop cnr_done_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 done, rank, all;

	if (c->cfg.rank) {
		if (h->rank)
			return CANARY_DROP_STATE;	/* what one has, not what all have */
		all = c->all_done;
		cnr_all_done(c, be32_to_cpu(h->done));
		if (all != c->all_done)
			cnr_heard(c, 0);
		return CANARY_DROP_NONE;
	}
	if (h) {
		rank = be16_to_cpu(h->rank);
		done = be32_to_cpu(h->done);
		if (canary_before(c->next, done))
			return CANARY_DROP_BLOCK;	/* we did not contribute to that yet */
		if (canary_before(cnr_done(c, &c->member[rank]), done)) {
			c->member[rank].done = done - c->first;
			cnr_heard(c, rank);
		}
		cnr_control(c, CANARY_DONE, rank, 0);
	}
	all = cnr_done_by_all(c);
	if (canary_before(c->all_done, all)) {
		c->all_done = all;
		cnr_cast(c, CNR_CAST_DONE);
	}
	return CANARY_DROP_NONE;
}
