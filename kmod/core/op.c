// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Operations: vectors cut into blocks, completed in the order of posting, kept until
 * everybody has their results.
 *
 * ops[] is a ring by sequence number: [op_release, op_report) were reported and are kept for
 * others, [op_report, op_seq) are to be reported.
 */
#include "comm.h"
#include "session.h"

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
	c->op_passed = o->seq + 1;
	c->una = c->posted;
	c->next = c->posted;
	c->all_done = c->posted;
	cnr_count(c, CNR_C_operations);
}

int cnr_op_post(struct cnr_comm *c, u64 now, const struct cnr_op *op)
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

static struct cnr_operation *cnr_find_among(struct cnr_comm *c, u32 block, u32 seq, u32 end)
{
	struct cnr_operation *o;

	for (; seq != end; seq++) {
		o = cnr_op_at(c, seq);
		if (block - o->base < o->blocks)
			return o;
	}
	return NULL;
}

/* Those that are under way are asked for more often than those that are kept. */
struct cnr_operation *cnr_find_op(struct cnr_comm *c, u32 block)
{
	struct cnr_operation *o = cnr_find_among(c, block, c->op_passed, c->op_seq);

	return o ? o : cnr_find_among(c, block, c->op_release, c->op_passed);
}

/*
 * What a contribution says of its sender: it has all results of operations CNR_OPS_BEGUN before,
 * and those a window before. Whoever wants to begin @o keeps to that.
 */
bool cnr_may_begin(const struct cnr_comm *c, const struct cnr_operation *o)
{
	return o->seq - c->op_passed < CNR_OPS_BEGUN &&
	       (o->algorithm == CANARY_ALG_RING || c->next - c->una < c->window);
}

/* So, all have contributed @block of @o: all have all results before the one returned. */
u32 cnr_proven_done(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	u32 done = block + 1 - c->window, seq = o->seq - (CNR_OPS_BEGUN - 1);

	if (seq - c->op_release < c->op_seq - c->op_release &&
	    canary_before(done, cnr_op_at(c, seq)->base))
		done = cnr_op_at(c, seq)->base;
	return done;
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
	u64 wait = o->op.hashes ? CNR_DONE_PINNED : CNR_DONE_FIRST;

	c->op_passed = o->seq + 1;
	c->done_goal = o->base + o->blocks;
	c->done_tries = 0;
	c->done_at = now + (at_once ? 0 : wait);
	cnr_arm(c, c->done_at);
}

/* The result of @block is in the vector. */
void cnr_block_done(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	bool asked = b->tries && block == c->una;
	u32 una = c->una;
	u64 grace;

	b->state = CNR_B_DONE;
	cnr_count(c, CNR_C_blocks_done);
	if (b->attempt)
		o->attempts++;
	cnr_around_done(c, now, b);
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
	if (c->una != una && c->una != c->next) {
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
	/* Those that ended with an error never passed. */
	if (canary_before(c->op_passed, c->op_release))
		c->op_passed = c->op_release;
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
