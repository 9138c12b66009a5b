// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: products of floating-point numbers, multiplied and rounded by leaders in the
 * order of ranks. A contribution has a slot for each rank, of which it fills its own one. If a
 * block does not have room for all ranks, some ranks follow in a later block of the same elements,
 * which needs the product so far.
 *
 * cnr_op.memory: the products so far, which are results, too. No timers.
 */
#include "floats.h"

/**
 * struct cnr_ranks - an operation
 * @f:		format of its numbers
 * @ranks:	slots of an element in a block
 * @each:	elements of a block
 * @per:	blocks for all elements
 * @rounds:	how many blocks an element needs
 */
struct cnr_ranks {
	const struct cnr_format *f;
	u32	ranks;
	u32	each;
	u32	per;
	u32	rounds;
};

static void cnr_ranks_of(const struct cnr_comm *c, const struct cnr_op *op, struct cnr_ranks *x)
{
	u32 members = c->cfg.members;

	x->f = cnr_format(op->dtype);
	x->ranks = min_t(u32, members, c->length / x->f->bytes);
	x->each = max_t(u32, c->length / (x->ranks * x->f->bytes), 1);
	x->per = max_t(u32, cnr_div_up(op->elements, x->each), 1);
	x->rounds = cnr_div_up(members, x->ranks);
}

size_t cnr_ranks_memory(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_ranks x;

	cnr_ranks_of(c, op, &x);
	return (size_t)(x.rounds - 1) * op->elements * x.f->bytes;
}

u64 cnr_ranks_blocks(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_ranks x;

	cnr_ranks_of(c, op, &x);
	return (u64)x.per * x.rounds;
}

/* Return: slots of an element in @round; the last one may have fewer */
static u32 cnr_ranks_in(const struct cnr_comm *c, const struct cnr_ranks *x, u32 round)
{
	return min_t(u32, x->ranks, c->cfg.members - round * x->ranks);
}

void cnr_ranks_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	struct cnr_ranks x;
	u32 round, at;

	cnr_ranks_of(c, &o->op, &x);
	round = p->index / x.per;
	at = p->index % x.per;
	p->after = round ? p->index - x.per + 1 : 0;
	p->first = at * x.each;
	p->elements = min_t(u32, x.each, o->op.elements - p->first);
	p->length = (p->elements * cnr_ranks_in(c, &x, round) * x.f->bytes + 3) & ~3U;
	p->result = (p->elements * x.f->bytes + 3) & ~3U;
	p->kind = CANARY_KIND_ADD32;
}

void cnr_ranks_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	struct cnr_ranks x;
	u32 i, round, slots, slot;
	const void *from;

	cnr_ranks_of(c, &o->op, &x);
	round = p->index / x.per;
	slots = cnr_ranks_in(c, &x, round);
	slot = c->cfg.rank - round * x.ranks;
	memset(words, 0, p->length);
	if (slot >= slots || !p->elements)
		return;
	from = cnr_vector_source(o, p);
	for (i = 0; i < p->elements; i++)
		cnr_bits_put(x.f, words, i * slots + slot, cnr_bits_at(x.f, from, i));
}

/* Return: the product of the finite numbers @a and @b */
static u64 cnr_multiply_finite(const struct cnr_format *f, u64 a, u64 b)
{
	struct cnr_number m = cnr_number(f, a), n = cnr_number(f, b);
	u64 low, middle, high, al = (u32)m.significand, ah = m.significand >> 32;
	u64 bl = (u32)n.significand, bh = n.significand >> 32;
	u32 up;

	low = al * bl;
	middle = ah * bl + (low >> 32);		/* significands have 53 bits, so nothing wraps */
	high = ah * bh + (middle >> 32);
	middle = (u32)middle + al * bh;
	high += middle >> 32;
	low = middle << 32 | (u32)low;
	n.exponent += m.exponent;
	n.negative ^= m.negative;
	if (high) {
		up = 64 - cnr_fls64(high);
		n.significand = up ? high << up | low >> (64 - up) : high;
		n.sticky = low << up != 0;
		n.exponent += 64 - up;
	} else {
		n.significand = low;
	}
	return cnr_round(f, n) | (u64)n.negative << (f->fraction + f->exponent);
}

static u64 cnr_multiply(const struct cnr_format *f, u64 a, u64 b)
{
	const u64 sign = 1ULL << (f->fraction + f->exponent);
	enum cnr_special sa = cnr_special(f, a), sb = cnr_special(f, b);

	if (!sa && !sb)
		return cnr_multiply_finite(f, a, b);
	if (sa == CNR_NAN || sb == CNR_NAN || !(a & ~sign) || !(b & ~sign))
		return cnr_special_bits(f, CNR_NAN);
	return cnr_special_bits(f, (a ^ b) & sign ? CNR_MINUS_INF : CNR_PLUS_INF);
}

static u8 *cnr_product_room(const struct cnr_operation *o, const struct cnr_ranks *x,
			    const struct cnr_part *p, u32 round)
{
	return (u8 *)o->op.memory +
	       ((size_t)round * o->op.elements + p->first) * x->f->bytes;
}

void cnr_ranks_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	u32 i, k, round, slots, bytes;
	struct cnr_ranks x;
	const u8 *before;
	u64 product;

	cnr_ranks_of(c, &o->op, &x);
	round = p->index / x.per;
	slots = cnr_ranks_in(c, &x, round);
	before = round ? cnr_product_room(o, &x, p, round - 1) : NULL;
	for (i = 0; i < p->elements; i++) {
		product = cnr_bits_at(x.f, words, i * slots);
		if (round)
			product = cnr_multiply(x.f, cnr_bits_at(x.f, before, i), product);
		for (k = 1; k < slots; k++)
			product = cnr_multiply(x.f, product,
					       cnr_bits_at(x.f, words, i * slots + k));
		cnr_bits_put(x.f, words, i, product);
	}
	bytes = p->elements * x.f->bytes;
	memset((u8 *)words + bytes, 0, p->result - bytes);
}

void cnr_ranks_store(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, const u32 *words)
{
	struct cnr_ranks x;
	u32 round;

	cnr_ranks_of(c, &o->op, &x);
	round = p->index / x.per;
	if (p->elements)
		memcpy(round + 1 < x.rounds ? (void *)cnr_product_room(o, &x, p, round) :
		       cnr_vector(o, p, CNR_USE_RESULT), words, p->elements * x.f->bytes);
}

void cnr_ranks_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words)
{
	struct cnr_ranks x;
	u32 round;

	cnr_ranks_of(c, &o->op, &x);
	round = p->index / x.per;
	memset(words, 0, p->result);
	if (p->elements)
		memcpy(words, round + 1 < x.rounds ? (void *)cnr_product_room(o, &x, p, round) :
		       cnr_vector(o, p, CNR_USE_SERVE), p->elements * x.f->bytes);
}
