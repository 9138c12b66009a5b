// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 6, plan: which algorithm runs an operation.
 *
 * Rank 0 decides for all. If it was told an algorithm, that travels in WELCOME. With AUTO, trees
 * run short operations, which all members know without a message. For other operations, rank 0
 * looks at what became of the blocks that it led, and tells all members by PLAN. Until then they
 * hold the operation.
 *
 * Timer: cnr_plan.ask_at while an operation is held; it asks rank 0 with PLAN.
 */
#include "blocks.h"
#include "message.h"
#include "outbox.h"
#include "plan.h"
#include "session.h"

#define CNR_PLAN_SAMPLE		4	/* least blocks led that tell something */
#define CNR_PLAN_LOOK		32	/* rings in a row before trees are looked at again */

/*
 * Return: why nothing has to be decided; CANARY_WHY_NONE if rank 0 has to decide. It only depends
 * on what all members agree on, so all know it.
 */
static u8 cnr_plan_clear(const struct cnr_comm *c, const struct cnr_operation *o)
{
	if (!o->shape->rings && (!c->algorithm || c->algorithm == CANARY_ALG_RING))
		return CANARY_WHY_SHAPE;
	if (c->algorithm)
		return CANARY_WHY_FIXED;
	if (c->cfg.members <= 2)
		return CANARY_WHY_MEMBERS;
	if (cnr_is_short(c, o->blocks))
		return CANARY_WHY_SMALL;
	return CANARY_WHY_NONE;
}

static void cnr_plan_take(struct cnr_comm *c, struct cnr_operation *o, u8 algorithm, u8 why)
{
	o->why = why;
	if (why != CANARY_WHY_SMALL || !c->plan.last_algorithm ||
	    c->plan.last_why == CANARY_WHY_SMALL) {
		c->plan.last = o->seq;
		c->plan.last_algorithm = algorithm;
		c->plan.last_why = why;
	}
	cnr_op_run(c, o, algorithm);
}

/* The algorithm of @o was known before. Now the reason is known, too. */
static void cnr_plan_why(struct cnr_comm *c, struct cnr_operation *o, u8 why)
{
	o->why = why;
	if (c->plan.last == o->seq)
		c->plan.last_why = why;
}

/* An operation that was held may begin. */
static void cnr_plan_release(struct cnr_comm *c, u64 now, struct cnr_operation *o, u8 algorithm,
			     u8 why)
{
	cnr_plan_take(c, o, algorithm, why);
	if (!--c->plan.held)
		c->plan.ask_at = CNR_NEVER;
	c->plan.tries = 0;
	cnr_fill(c, now);
}

/* Rank 0 chooses a ring where no switches avoid incast, or where trees fail. */
static void cnr_plan_choose(struct cnr_comm *c)
{
	struct cnr_observed *seen = &c->observed;
	struct cnr_plan *p = &c->plan;

	if (seen->again * 8 > seen->blocks) {
		p->algorithm = CANARY_ALG_RING;
		p->why = CANARY_WHY_LOSSES;
	} else if (seen->sources * 4 > seen->contributors * 3) {
		p->algorithm = CANARY_ALG_RING;
		p->why = CANARY_WHY_PLAIN;
	} else {
		p->algorithm = CANARY_ALG_TREE;
		p->why = CANARY_WHY_MERGED;
	}
	memset(seen, 0, sizeof(*seen));
	p->rings = 0;
}

static void cnr_plan_decide(struct cnr_comm *c, struct cnr_operation *o)
{
	struct cnr_plan *p = &c->plan;

	if (c->observed.blocks >= CNR_PLAN_SAMPLE)
		cnr_plan_choose(c);
	if (!p->algorithm) {
		cnr_plan_take(c, o, CANARY_ALG_TREE, CANARY_WHY_UNKNOWN);
	} else if (p->algorithm == CANARY_ALG_RING && p->rings == CNR_PLAN_LOOK) {
		cnr_plan_take(c, o, CANARY_ALG_TREE, CANARY_WHY_LOOK);
		p->rings = 0;
	} else {
		cnr_plan_take(c, o, p->algorithm, p->why);
		p->rings += p->algorithm == CANARY_ALG_RING;
	}
	if (p->tell == p->tell_end) {
		p->tell = o->seq;
		cnr_cast(c, CNR_CAST_PLAN);
	}
	p->tell_end = o->seq + 1;
}

/* @o was posted: decide, if it can be decided here and now. */
void cnr_plan_post(struct cnr_comm *c, u64 now, struct cnr_operation *o)
{
	const struct cnr_announced *a = &c->plan.announced[o->seq % CNR_OPS];
	u8 why = cnr_plan_clear(c, o);

	o->plansig = cnr_opsig(&o->op, o->seq, CANARY_ALG_AUTO);
	o->observed = !c->cfg.rank && !why;
	if (why == CANARY_WHY_FIXED) {
		cnr_plan_take(c, o, c->algorithm, why);
	} else if (why) {
		cnr_plan_take(c, o, CANARY_ALG_TREE, why);
	} else if (!c->cfg.rank) {
		cnr_plan_decide(c, o);
	} else if (a->valid && a->seq == o->seq && a->plansig == o->plansig) {
		cnr_plan_take(c, o, a->algorithm, a->why);
	} else {
		if (!c->plan.held++)
			c->plan.ask_at = now + c->net.rto;
		cnr_arm(c, c->plan.ask_at);
	}
}

/*
 * Another member runs @block by @algorithm, so rank 0 has told it. If that is our operation, we
 * need not wait for the message.
 */
void cnr_plan_heard(struct cnr_comm *c, u64 now, u32 block, u32 opsig, u8 algorithm)
{
	struct cnr_operation *o;

	if (!c->plan.held || canary_before(block, c->next))
		return;
	o = cnr_find_op(c, block);
	if (o && !o->algorithm && cnr_opsig(&o->op, o->seq, algorithm) == opsig)
		cnr_plan_release(c, now, o, algorithm, CANARY_WHY_NONE);
}

/* Return: the first operation that is held, or NULL */
static struct cnr_operation *cnr_plan_held(struct cnr_comm *c)
{
	struct cnr_operation *o;
	u32 seq;

	for (seq = c->op_report; seq != c->op_seq; seq++) {
		o = &c->ops[seq % CNR_OPS];
		if (!o->algorithm)
			return o;
	}
	return NULL;
}

void cnr_plan_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_operation *o = c->plan.held ? cnr_plan_held(c) : NULL;
	struct cnr_plan *p = &c->plan;
	static const u16 root;

	if (!o || c->state == CNR_FAILED)
		return;
	if (p->ask_at <= now) {
		if (c->member[0].flags & CNR_M_LEFT) {
			cnr_fail(c, now, CANARY_ABORT_LEFT, &root, 1, true);
			return;
		}
		cnr_control(c, CANARY_PLAN, 0, o->base);
		cnr_ask(c, now, 0);
		p->ask_at = now + min_t(u64, c->net.rto << min_t(u32, p->tries, 6),
					CNR_WAIT_MAX);
		p->tries++;
	}
	cnr_arm(c, p->ask_at);
}

/* A member asks rank 0. */
static enum canary_drop cnr_plan_asked(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_operation *o = cnr_find_op(c, block);

	if (!o) {
		/* not posted here yet */
		cnr_control(c, CANARY_ALIVE, rank, block);
		return CANARY_DROP_NONE;
	}
	if (o->base != block || be32_to_cpu(h->opsig) != o->plansig) {
		cnr_control(c, CANARY_ALIVE, rank, block);
		cnr_differs(c, now, block, rank, be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	cnr_control(c, CANARY_PLAN, rank, block);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_plan_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 seq = be32_to_cpu(h->plan.sequence);
	u8 why = h->plan.why;
	struct cnr_operation *o;
	struct cnr_announced *announced;

	cnr_count(c, CNR_C_plans_in);
	if (!c->cfg.rank)
		return h->plan.algorithm ? CANARY_DROP_STATE : cnr_plan_asked(c, now, h);
	if (h->rank || !h->plan.algorithm || h->plan.algorithm > CANARY_ALG_MAX ||
	    why > CANARY_WHY_MAX || seq - c->op_release >= 2 * CNR_OPS)
		return CANARY_DROP_STATE;
	if (seq - c->op_release >= c->op_number - c->op_release) {
		announced = &c->plan.announced[seq % CNR_OPS];
		announced->valid = true;
		announced->seq = seq;
		announced->plansig = be32_to_cpu(h->opsig);
		announced->algorithm = h->plan.algorithm;
		announced->why = why;
		return CANARY_DROP_NONE;
	}
	o = &c->ops[seq % CNR_OPS];
	if (o->plansig != be32_to_cpu(h->opsig)) {
		cnr_differs(c, now, o->base, 0, be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	if (!o->algorithm) {
		cnr_heard(c, 0);
		cnr_plan_release(c, now, o, h->plan.algorithm, why);
	} else if (!o->why) {
		cnr_plan_why(c, o, why);
	}
	return CANARY_DROP_NONE;
}

static void cnr_plan_fill(struct cnr_comm *c, const struct cnr_operation *o, struct cnr_out *out)
{
	cnr_header(c, out, CANARY_PLAN, o->base);
	out->hdr.opsig = cpu_to_be32(o->plansig);
	if (!c->cfg.rank)
		out->hdr.plan.algorithm = o->algorithm;
	out->hdr.plan.sequence = cpu_to_be32(o->seq);
	out->hdr.plan.why = o->why;
	cnr_count(c, CNR_C_plans_out);
}

/*
 * Make a question, or an answer, about the operation that begins with @block. Return: false if it
 * has become pointless
 */
bool cnr_plan_build(struct cnr_comm *c, u32 block, u16 rank, struct cnr_out *out)
{
	struct cnr_operation *o = cnr_find_op(c, block);

	if (!o || !o->plansig)
		return false;
	cnr_plan_fill(c, o, out);
	cnr_to_rank(c, out, rank);
	return true;
}

/*
 * Rank 0: make the message to all about the operation whose turn it is. Return: false if none is
 * due
 */
bool cnr_plan_announce(struct cnr_comm *c, struct cnr_out *out)
{
	const struct cnr_operation *o = &c->ops[c->plan.tell % CNR_OPS];

	if (c->plan.tell - c->op_release >= c->op_number - c->op_release || cnr_plan_clear(c, o))
		return false;
	cnr_plan_fill(c, o, out);
	return true;
}

/* All members were told about one operation. Return: true if there is another one to tell */
bool cnr_plan_announced(struct cnr_comm *c)
{
	if (++c->plan.tell == c->plan.tell_end)
		return false;
	cnr_cast(c, CNR_CAST_PLAN);
	return true;
}
