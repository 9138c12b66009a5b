// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, ring: the partial sum of a block, up to and with us, until its result is here. The
 * vector has it in place of our own elements. Where words are no elements, cnr_op.memory has it.
 */
#include "ring.h"

static u32 *cnr_partial_room(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p)
{
	u32 room = p->index & c->block_mask;	/* all in flight have different ones */

	return (u32 *)((u8 *)o->op.memory + o->memory_own + (size_t)room * c->length);
}

/* Is the partial sum in the vector? */
static bool cnr_partial_in_vector(const struct cnr_operation *o)
{
	return o->plain;
}

/*
 * @block begins here. @first: its partial sum starts with us. Return: then the checksum of our own
 * words
 */
u32 cnr_partial_begin(struct cnr_comm *c, struct cnr_operation *o, u32 block, bool first)
{
	struct cnr_part p;
	const u32 *words;

	cnr_part(c, o, block, &p);
	if (o->op.source && cnr_partial_in_vector(o))
		memcpy(cnr_vector(o, &p, CNR_USE_RESULT), cnr_vector_source(o, &p),
		       p.elements * o->element);
	if (!first)
		return 0;
	words = cnr_words(c, o, &p);
	if (!cnr_partial_in_vector(o))
		memcpy(cnr_partial_room(c, o, &p), words, p.length);
	return cnr_checksum(p.kind, words, p.length);
}

/*
 * Combine @payload with our own words of @block. Return: the checksum of the new partial sum. If
 * the application changes it meanwhile, that counts as another contribution of its own.
 */
u32 cnr_partial_add(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *payload)
{
	u32 *words = (u32 *)c->scratch, sum;
	struct cnr_part p;
	void *elements;

	cnr_part(c, o, block, &p);
	if (!cnr_partial_in_vector(o))
		return cnr_combine(p.kind, cnr_partial_room(c, o, &p), cnr_words(c, o, &p),
				   payload, p.length);
	elements = cnr_vector(o, &p, CNR_USE_BOTH);
	if (cnr_part_plain(o, &p))
		return cnr_combine(p.kind, elements, elements, payload, p.length);
	sum = cnr_combine(p.kind, words, cnr_pad(o, &p, elements, words), payload, p.length);
	memcpy(elements, words, p.elements * o->element);
	return sum;
}

/* Return: the partial sum, to be sent; good until the next call */
const u32 *cnr_partial_words(struct cnr_comm *c, struct cnr_operation *o, const struct cnr_part *p)
{
	void *elements;

	if (!cnr_partial_in_vector(o))
		return cnr_partial_room(c, o, p);
	elements = cnr_vector(o, p, CNR_USE_INPUT);
	return cnr_part_plain(o, p) ? elements : cnr_pad(o, p, elements, (u32 *)c->scratch);
}
