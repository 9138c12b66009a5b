// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: operations. They are cut into blocks, complete in the order of posting, and are
 * kept as long as others may ask for their results.
 *
 * ops[] is a ring by sequence number. Operations in [op_release, op_report) were reported, and are
 * kept for others. Those in [op_report, op_seq) are still to be reported. Those in [op_number,
 * op_seq) have no serial numbers yet, since one before them has not settled: its results tell how
 * many blocks it has (cnr_encoding.settles).
 */
#include "blocks.h"
#include "message.h"

static struct cnr_operation *cnr_op_at(struct cnr_comm *c, u32 seq)
{
	return &c->ops[seq % CNR_OPS];
}

/* Are there serial numbers for @blocks more blocks? */
static bool cnr_serial_room(const struct cnr_comm *c, u64 blocks)
{
	return (u64)(c->posted - c->all_done) + c->reserved + blocks < CNR_SERIALS;
}

bool cnr_can_post(const struct cnr_comm *c)
{
	return c->op_seq - c->op_release < CNR_OPS && cnr_serial_room(c, c->wanted);
}

/* May an operation have so many blocks? */
bool cnr_blocks_fit(u64 blocks)
{
	return blocks < CNR_SERIALS;
}

bool cnr_op_fits(const struct cnr_comm *c, const struct cnr_op *op)
{
	return cnr_blocks_fit(cnr_op_blocks(c, op));
}

/*
 * Make a new operation for @op, without serial numbers.
 * @e:		its encoding
 * @most:	how many blocks it may have
 * Return: NULL if there are too many operations or blocks
 */
struct cnr_operation *cnr_op_new(struct cnr_comm *c, const struct cnr_op *op,
				 const struct cnr_encoding *e, u64 most)
{
	struct cnr_operation *o;

	if (!cnr_serial_room(c, most))
		c->wanted = most;
	if (c->op_seq - c->op_release >= CNR_OPS || !cnr_serial_room(c, most))
		return NULL;
	c->wanted = 0;
	o = cnr_op_at(c, c->op_seq);
	memset(o, 0, sizeof(*o));
	o->op = *op;
	o->encoding = e;
	o->shape = cnr_shape_of(c, op);
	o->reserved = most;
	o->seq = c->op_seq++;
	c->reserved += most;
	return o;
}

/* The number of blocks of @o is known. It takes no more serial numbers. */
static void cnr_op_unreserve(struct cnr_comm *c, struct cnr_operation *o)
{
	c->reserved -= o->reserved;
	o->reserved = 0;
}

/*
 * Give serial numbers to the next operation, if those before it have settled. Return: NULL if there
 * is none
 */
struct cnr_operation *cnr_op_number(struct cnr_comm *c)
{
	const struct cnr_encoding *e;
	struct cnr_operation *o;
	struct cnr_part p;

	if (c->op_number == c->op_seq || c->unsettled)
		return NULL;
	o = cnr_op_at(c, c->op_number++);
	e = o->encoding;
	cnr_encoding_begin(c, o);
	o->base = c->posted;
	o->blocks = cnr_blocks(c, e, &o->op);
	o->settle_at = e->settles && c->cfg.members > 1 ? e->settles(c, &o->op) : 0;
	c->unsettled = o->settle_at;
	c->posted += o->blocks;
	o->reserved -= o->blocks;
	c->reserved -= o->blocks;
	if (!o->settle_at)
		cnr_op_unreserve(c, o);
	cnr_part(c, o, o->base, &p);
	o->switches = canary_kind_flags(p.list ? p.list : p.kind) & CANARY_K_SWITCHES;
	return o;
}

/* The results that settle @o are here. */
void cnr_op_settle(struct cnr_comm *c, struct cnr_operation *o)
{
	u32 more = o->encoding->more(c, o);

	o->settle_at = 0;
	o->ready = o->blocks;
	o->blocks += more;
	c->posted += more;
	cnr_op_unreserve(c, o);
	c->unsettled = false;
	c->settled = true;
}

/* The only member of a communicator is done at once. */
void cnr_op_alone(struct cnr_comm *c, struct cnr_operation *o)
{
	o->op.target = NULL;
	if (o->op.source)
		memcpy(o->op.data, o->op.source,
		       (size_t)o->op.elements * cnr_element(o->op.op, o->op.dtype));
	o->blocks_done = o->blocks;
	o->state = CNR_O_COMPLETE;
	c->op_passed = o->seq + 1;
	c->una = c->posted;
	c->next = c->posted;
	c->all_done = c->posted;
	cnr_count(c, CNR_C_operations);
}

/* It is known now that @algorithm runs @o. */
void cnr_op_run(struct cnr_comm *c, struct cnr_operation *o, u8 algorithm)
{
	o->algorithm = algorithm;
	o->opsig = cnr_opsig(&o->op, o->seq, algorithm);
	o->run = cnr_algorithm(c, algorithm);
	if (o->run->keeps)
		o->op.target = NULL;
	c->ops_run++;
	c->ops_run_by[o->run->collective]++;
	if (o->run->wanted)
		o->run->wanted(c);
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

/* Operations that are under way are looked up more often than those that are kept. */
struct cnr_operation *cnr_find_op(struct cnr_comm *c, u32 block)
{
	struct cnr_operation *o = cnr_find_among(c, block, c->op_passed, c->op_number);

	return o ? o : cnr_find_among(c, block, c->op_release, c->op_passed);
}

/*
 * May a block of @o begin? A contribution proves two things about its sender: it has all results of
 * the operation CNR_OPS_BEGUN before, and all results a window before. So no member begins a block
 * earlier.
 */
bool cnr_may_begin(const struct cnr_comm *c, const struct cnr_operation *o)
{
	return o->seq - c->op_passed < CNR_OPS_BEGUN &&
	       (o->run->follows || c->next - c->una < c->window);
}

/*
 * All have contributed @block of @o. Return: the block before which all then have all results (see
 * cnr_may_begin())
 */
u32 cnr_proven_done(struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	u32 done = block + 1 - c->window, seq = o->seq - (CNR_OPS_BEGUN - 1);

	if (seq - c->op_release < c->op_number - c->op_release &&
	    canary_before(done, cnr_op_at(c, seq)->base))
		done = cnr_op_at(c, seq)->base;
	return done;
}

/* Fill in what @info says of the operation that runs, or ran last. */
void cnr_op_info(const struct cnr_comm *c, struct cnr_info *info)
{
	u32 seq = c->op_passed == c->op_number ? c->op_number - 1 : c->op_passed, i;
	const struct cnr_operation *o;

	info->op = 0;
	info->dtype = 0;
	info->switches = false;
	for (i = 0; i < CNR_OPS; i++) {
		o = &c->ops[(seq - i) % CNR_OPS];
		if (!o->encoding || o->seq != seq - i)
			return;
		if (!o->op.elements)
			continue;
		info->op = o->op.op;
		info->dtype = o->op.dtype;
		info->switches = o->switches && o->algorithm != CANARY_ALG_RING;
		return;
	}
}

static void cnr_report(const struct cnr_operation *o, struct cnr_done *done)
{
	done->cookie = o->op.cookie;
	done->data = o->op.data;
	done->elements = o->op.elements;
	done->error = o->error;
	done->seq = o->seq;
	done->attempts = o->attempts;
	done->method = o->encoding->method;
	done->in_target = o->op.target;
}

bool cnr_completion(struct cnr_comm *c, struct cnr_done *done)
{
	struct cnr_operation *o = cnr_op_at(c, c->op_report);

	if (c->op_report == c->op_seq || o->state != CNR_O_COMPLETE)
		return false;
	o->state = CNR_O_REPORTED;
	c->op_report++;
	cnr_report(o, done);
	return true;
}

bool cnr_released(struct cnr_comm *c, struct cnr_done *done)
{
	struct cnr_operation *o = cnr_op_at(c, c->op_release);

	if (c->op_release == c->op_report)
		return false;
	if (c->state != CNR_FAILED && c->state != CNR_CLOSED && cnr_op_asked_for(c, o))
		return false;
	c->op_release++;
	/* Operations that ended with an error were never passed. They may have got no numbers. */
	if (canary_before(c->op_passed, c->op_release))
		c->op_passed = c->op_release;
	if (canary_before(c->op_number, c->op_release))
		c->op_number = c->op_release;
	if (o->run) {
		c->ops_run--;
		c->ops_run_by[o->run->collective]--;
	}
	cnr_report(o, done);
	return true;
}

/* The communicator is over: end all operations that are not complete. */
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
