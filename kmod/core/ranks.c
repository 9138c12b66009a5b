// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: operators for which order matters. Leaders apply them in the order of ranks, one
 * after the other (cnr_encoding.step). A contribution has a slot for each rank, of which it fills
 * its own one. If a block does not have room for all ranks, some ranks follow in a later block of
 * the same elements, which needs what came out so far.
 *
 * cnr_op.memory: what came out so far, which are results, too. No timers.
 */
#include "floats.h"

/**
 * struct cnr_ranks - an operation
 * @bytes:	of an element
 * @all:	ranks; or vectors, if members contribute several, whose places then count
 * @ranks:	slots of an element in a block
 * @each:	elements of a block
 * @per:	blocks for all elements
 * @rounds:	how many blocks an element needs
 */
struct cnr_ranks {
	u32	bytes;
	u32	all;
	u32	ranks;
	u32	each;
	u32	per;
	u32	rounds;
};

static void cnr_ranks_of(const struct cnr_comm *c, const struct cnr_encoding *e,
			 const struct cnr_op *op, struct cnr_ranks *x)
{
	u32 members = cnr_addends(c, op);

	x->bytes = e->element;
	x->all = members;
	x->ranks = min_t(u32, members, c->length / x->bytes);
	x->each = max_t(u32, c->length / (x->ranks * x->bytes), 1);
	x->per = max_t(u32, cnr_div_up(op->elements, x->each), 1);
	x->rounds = cnr_div_up(members, x->ranks);
}

size_t cnr_ranks_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
			const struct cnr_op *op)
{
	struct cnr_ranks x;
	u64 bytes;

	cnr_ranks_of(c, e, op, &x);
	bytes = (u64)(x.rounds - 1) * op->elements * x.bytes;
	/* Nobody can allocate so much. */
	return min_t(u64, bytes, SIZE_MAX / 2);
}

u64 cnr_ranks_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
		     const struct cnr_op *op)
{
	struct cnr_ranks x;

	cnr_ranks_of(c, e, op, &x);
	return (u64)x.per * x.rounds;
}

/* Return: slots of an element in @round; the last one may have fewer */
static u32 cnr_ranks_in(const struct cnr_ranks *x, u32 round)
{
	return min_t(u32, x->ranks, x->all - round * x->ranks);
}

void cnr_ranks_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	struct cnr_ranks x;
	u32 round, at;

	cnr_ranks_of(c, o->encoding, &o->op, &x);
	round = p->index / x.per;
	at = p->index % x.per;
	p->after = round ? p->index - x.per + 1 : 0;
	p->first = at * x.each;
	p->elements = min_t(u32, x.each, o->op.elements - p->first);
	p->length = (p->elements * cnr_ranks_in(&x, round) * x.bytes + 3) & ~3U;
	p->result = (p->elements * x.bytes + 3) & ~3U;
	p->kind = CANARY_KIND_ADD32;
}

void cnr_ranks_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	struct cnr_ranks x;
	u32 i, round, slots, slot;
	const u8 *from;

	cnr_ranks_of(c, o->encoding, &o->op, &x);
	round = p->index / x.per;
	slots = cnr_ranks_in(&x, round);
	slot = (o->op.places ? o->op.places[0] : c->cfg.rank) - round * x.ranks;
	memset(words, 0, p->length);
	if (slot >= slots || !p->elements)
		return;
	from = cnr_vector_source(o, p);
	for (i = 0; i < p->elements; i++)
		memcpy((u8 *)words + (i * slots + slot) * x.bytes, from + i * x.bytes, x.bytes);
}

static u8 *cnr_ranks_room(const struct cnr_operation *o, const struct cnr_ranks *x,
			  const struct cnr_part *p, u32 round)
{
	return (u8 *)o->op.memory +
	       ((size_t)round * o->op.elements + p->first) * x->bytes;
}

void cnr_ranks_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	u8 all[CNR_RANKS_ELEMENT], *at = (u8 *)words, *to = at;
	u32 i, k, round, slots;
	struct cnr_ranks x;
	const u8 *before;

	cnr_ranks_of(c, o->encoding, &o->op, &x);
	round = p->index / x.per;
	slots = cnr_ranks_in(&x, round);
	before = round ? cnr_ranks_room(o, &x, p, round - 1) : NULL;
	for (i = 0; i < p->elements; i++) {
		memcpy(all, round ? before + i * x.bytes : at, x.bytes);
		for (k = round ? 0 : 1; k < slots; k++)
			o->encoding->step(&o->op, all, at + k * x.bytes);
		memcpy(to, all, x.bytes);
		at += slots * x.bytes;
		to += x.bytes;
	}
}

void cnr_ranks_store(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, const u32 *words)
{
	struct cnr_ranks x;
	u32 round;

	cnr_ranks_of(c, o->encoding, &o->op, &x);
	round = p->index / x.per;
	if (!p->elements)
		return;
	if (round + 1 < x.rounds)
		memcpy(cnr_ranks_room(o, &x, p, round), words, p->elements * x.bytes);
	else
		cnr_put(o, p, 0, words, p->elements * x.bytes);
}

void cnr_ranks_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words)
{
	struct cnr_ranks x;
	u32 round;

	cnr_ranks_of(c, o->encoding, &o->op, &x);
	round = p->index / x.per;
	memset(words, 0, p->result);
	if (p->elements)
		memcpy(words, round + 1 < x.rounds ? (void *)cnr_ranks_room(o, &x, p, round) :
		       cnr_vector(o, p, CNR_USE_SERVE), p->elements * x.bytes);
}
