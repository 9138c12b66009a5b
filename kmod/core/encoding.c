// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: encodings. From elements of a vector to words on the wire, and back. Here alone
 * is known which operators there are on which types.
 */
#include "blocks.h"

/* Where no functions are given, words are the elements themselves. */
static const struct cnr_encoding cnr_encodings[] = {
	{
		.op = CANARY_OP_SUM,
		.dtype = CANARY_INT32,
		.kind = CANARY_KIND_ADD32,
		.element = sizeof(u32),
	},
};

/* Return: NULL if there is no such operator on that type */
const struct cnr_encoding *cnr_encoding(u8 op, u8 dtype)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cnr_encodings); i++)
		if (cnr_encodings[i].op == op && cnr_encodings[i].dtype == dtype)
			return &cnr_encodings[i];
	return NULL;
}

u32 cnr_element(u8 op, u8 dtype)
{
	const struct cnr_encoding *e = cnr_encoding(op, dtype);

	return e ? e->element : 0;
}

/* Bytes of cnr_op.memory that the encoding has for itself; partial words of rings are behind. */
static size_t cnr_memory_own(const struct cnr_comm *c, const struct cnr_encoding *e,
			     const struct cnr_op *op)
{
	return e->memory ? (e->memory(c, op) + 7) & ~(size_t)7 : 0;
}

size_t cnr_memory(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding(op->op, op->dtype);

	if (!e || !e->encode)
		return 0;
	return cnr_memory_own(c, e, op) + (size_t)cnr_blocks(c, e, op) * c->length;
}

/* Elements of a block, where words are elements */
static u32 cnr_each(const struct cnr_comm *c, const struct cnr_encoding *e)
{
	return c->length / e->element;
}

/* Blocks of @op: 1 at least, for a barrier has no elements. */
u32 cnr_blocks(const struct cnr_comm *c, const struct cnr_encoding *e, const struct cnr_op *op)
{
	u32 each, blocks;

	if (e->blocks)
		return e->blocks(c, op);
	each = cnr_each(c, e);
	blocks = op->elements / each + (op->elements % each ? 1 : 0);
	return blocks ? blocks : 1;
}

/* @o is new. */
void cnr_encoding_begin(const struct cnr_comm *c, struct cnr_operation *o)
{
	o->each = cnr_each(c, o->encoding);
	o->memory_own = cnr_memory_own(c, o->encoding, &o->op);
}

/* What is @block of @o? */
void cnr_part(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
	      struct cnr_part *p)
{
	const struct cnr_encoding *e = o->encoding;

	p->index = block - o->base;
	if (e->part) {
		e->part(c, o, p);
		return;
	}
	p->after = 0;
	p->first = p->index * o->each;
	p->elements = min_t(u32, o->each, o->op.elements - p->first);
	p->length = (p->elements * e->element + 3) & ~3U;
	p->result = p->length;
	p->kind = e->kind;
}

/* Are the results here that @block of @o, the next one, is encoded by? */
bool cnr_part_ready(const struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	struct cnr_part p;

	if (!o->encoding->part)
		return true;
	cnr_part(c, o, block, &p);
	return !canary_before(c->una, o->base + p.after);
}

/* Are its words just what is in the vector? */
bool cnr_part_plain(const struct cnr_operation *o, const struct cnr_part *p)
{
	return !o->encoding->encode && p->length == p->elements * o->encoding->element;
}

void *cnr_vector(const struct cnr_operation *o, const struct cnr_part *p, enum cnr_use use)
{
	if (o->op.at)
		return o->op.at(&o->op, p->first, p->elements, use);
	return (u8 *)o->op.data + (size_t)p->first * o->encoding->element;
}

const void *cnr_vector_source(const struct cnr_operation *o, const struct cnr_part *p)
{
	if (o->op.source)
		return (const u8 *)o->op.source + (size_t)p->first * o->encoding->element;
	return cnr_vector(o, p, CNR_USE_INPUT);
}

/* Elements that do not fill the last word. Return: @words */
u32 *cnr_pad(const struct cnr_operation *o, const struct cnr_part *p, const void *elements,
	     u32 *words)
{
	words[p->length / sizeof(*words) - 1] = canary_kind_identity(p->kind);
	memcpy(words, elements, p->elements * o->encoding->element);
	return words;
}

/* Words in the vector, or in @c->scratch */
static const u32 *cnr_words_at(struct cnr_comm *c, const struct cnr_operation *o,
			       const struct cnr_part *p, const void *elements)
{
	if (cnr_part_plain(o, p))
		return elements;
	return cnr_pad(o, p, elements, (u32 *)c->scratch);
}

/* Our own contribution; good until the next call. */
const u32 *cnr_words(struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p)
{
	if (!o->encoding->encode)
		return cnr_words_at(c, o, p, cnr_vector_source(o, p));
	o->encoding->encode(c, o, p, (u32 *)c->scratch);
	return (u32 *)c->scratch;
}

/* The result is @words. */
void cnr_store(const struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p,
	       const u32 *words)
{
	if (o->encoding->store)
		o->encoding->store(c, o, p, words);
	else
		memcpy(cnr_vector(o, p, CNR_USE_RESULT), words,
		       p->elements * o->encoding->element);
}

/* The result as it was stored; good until the next call. */
const u32 *cnr_serve(struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p)
{
	if (!o->encoding->serve)
		return cnr_words_at(c, o, p, cnr_vector(o, p, CNR_USE_SERVE));
	o->encoding->serve(c, o, p, (u32 *)c->scratch);
	return (u32 *)c->scratch;
}
