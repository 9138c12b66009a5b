// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: encodings. They turn elements of a vector into words on the wire, and back. Only
 * this file knows which operators there are on which types.
 */
#include "floats.h"
#include "integers.h"
#include "located.h"

static const struct cnr_encoding *cnr_float_choose(const struct cnr_comm *c,
						   const struct cnr_op *op)
{
	switch (cnr_float_method(op)) {
	case CANARY_METHOD_EXACT:
		return &cnr_float_exact;
	case CANARY_METHOD_EACH:
		return &cnr_float_each;
	default:
		return &cnr_float_groups;
	}
}

/* The table, by type. An entry without functions uses the elements themselves as words. */
static const struct cnr_encoding cnr_of_8[] = { CNR_INTEGERS(8, 32, 0x8080808080808080ULL) };
static const struct cnr_encoding cnr_of_16[] = { CNR_INTEGERS(16, 32, 0x8000800080008000ULL) };
static const struct cnr_encoding cnr_of_32[] = { CNR_INTEGERS(32, 64, 0x8000000080000000ULL) };
static const struct cnr_encoding cnr_of_64[] = { CNR_INTEGERS(64, 128, 0x8000000000000000ULL) };
static const struct cnr_encoding cnr_of_float16[] = { CNR_FLOATS(CANARY_FLOAT16, 16) };
static const struct cnr_encoding cnr_of_bfloat16[] = { CNR_FLOATS(CANARY_BFLOAT16, 16) };
static const struct cnr_encoding cnr_of_float32[] = { CNR_FLOATS(CANARY_FLOAT32, 32) };
static const struct cnr_encoding cnr_of_float64[] = { CNR_FLOATS(CANARY_FLOAT64, 64) };
static const struct cnr_encoding cnr_of_int16_index[] = { CNR_LOCATED(CANARY_INT16_INDEX) };
static const struct cnr_encoding cnr_of_int32_index[] = { CNR_LOCATED(CANARY_INT32_INDEX) };
static const struct cnr_encoding cnr_of_int64_index[] = { CNR_STAGES(CANARY_INT64_INDEX) };
static const struct cnr_encoding cnr_of_float32_index[] = { CNR_LOCATED(CANARY_FLOAT32_INDEX) };
static const struct cnr_encoding cnr_of_float64_index[] = { CNR_STAGES(CANARY_FLOAT64_INDEX) };
static const struct cnr_encoding cnr_of_complex64[] = { CNR_COMPLEX(CANARY_COMPLEX64, 8) };
static const struct cnr_encoding cnr_of_complex128[] = { CNR_COMPLEX(CANARY_COMPLEX128, 16) };
static const struct cnr_encoding cnr_of_tests[] = { CNR_TEST_ENCODINGS };

struct cnr_encodings {
	const struct cnr_encoding *all;
	u32	n;
};

#define CNR_OF(type, encodings) \
	[CANARY_##type] = { encodings, ARRAY_SIZE(encodings) }

static const struct cnr_encodings cnr_encodings[] = {
	CNR_OF(INT8, cnr_of_8),
	CNR_OF(UINT8, cnr_of_8),
	CNR_OF(INT16, cnr_of_16),
	CNR_OF(UINT16, cnr_of_16),
	CNR_OF(INT32, cnr_of_32),
	CNR_OF(UINT32, cnr_of_32),
	CNR_OF(INT64, cnr_of_64),
	CNR_OF(UINT64, cnr_of_64),
	CNR_OF(FLOAT16, cnr_of_float16),
	CNR_OF(BFLOAT16, cnr_of_bfloat16),
	CNR_OF(FLOAT32, cnr_of_float32),
	CNR_OF(FLOAT64, cnr_of_float64),
	CNR_OF(INT16_INDEX, cnr_of_int16_index),
	CNR_OF(INT32_INDEX, cnr_of_int32_index),
	CNR_OF(INT64_INDEX, cnr_of_int64_index),
	CNR_OF(FLOAT32_INDEX, cnr_of_float32_index),
	CNR_OF(FLOAT64_INDEX, cnr_of_float64_index),
	CNR_OF(COMPLEX64, cnr_of_complex64),
	CNR_OF(COMPLEX128, cnr_of_complex128),
};

static const struct cnr_encoding *cnr_encoding_in(const struct cnr_encoding *all, u32 n, u8 op,
						  u8 dtype)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (all[i].op == op && all[i].dtype == dtype)
			return &all[i];
	return NULL;
}

/* Return: NULL if there is no such operator on that type */
const struct cnr_encoding *cnr_encoding(u8 op, u8 dtype)
{
	const struct cnr_encoding *e = NULL;

	if (dtype < ARRAY_SIZE(cnr_encodings))
		e = cnr_encoding_in(cnr_encodings[dtype].all, cnr_encodings[dtype].n, op, dtype);
	return e ? e : cnr_encoding_in(cnr_of_tests, ARRAY_SIZE(cnr_of_tests), op, dtype);
}

/* Return: the encoding of @op, which cnr_encoding() knows */
const struct cnr_encoding *cnr_encoding_of(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding(op->op, op->dtype);
	const struct cnr_encoding *chosen = e && e->choose ? e->choose(c, op) : NULL;

	return chosen ? chosen : e;
}

u32 cnr_how(u8 op, u8 dtype)
{
	const struct cnr_encoding *e = cnr_encoding(op, dtype);

	return e ? e->how : 0;
}

u32 cnr_element(u8 op, u8 dtype)
{
	const struct cnr_encoding *e = cnr_encoding(op, dtype);

	return e ? e->element : 0;
}

/* Return: bytes of an element in a contribution */
static u32 cnr_lane_of(const struct cnr_encoding *e)
{
	return e->lane ? e->lane : e->element;
}

u32 cnr_lane(u8 op, u8 dtype)
{
	const struct cnr_encoding *e = cnr_encoding(op, dtype);

	return e && e->kind && !e->blocks ? cnr_lane_of(e) : 0;
}

/* Return: elements of a full block */
static u32 cnr_each(const struct cnr_comm *c, const struct cnr_encoding *e)
{
	return c->length / cnr_lane_of(e);
}

/* Return: how many blocks @op has at first, at least 1 */
u64 cnr_blocks(const struct cnr_comm *c, const struct cnr_encoding *e, const struct cnr_op *op)
{
	return e->blocks ? e->blocks(c, e, op) : cnr_blocks_of(op->elements, cnr_each(c, e));
}

u64 cnr_op_blocks(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding_of(c, op);

	return cnr_blocks(c, e, op) + (e->most ? e->most(c, op) : 0);
}

/* Return: bytes of cnr_op.memory for the encoding itself; partial sums of rings follow */
static size_t cnr_memory_own(const struct cnr_comm *c, const struct cnr_encoding *e,
			     const struct cnr_op *op)
{
	size_t own = e->memory ? (e->memory(c, e, op) + 7) & ~(size_t)7 : 0;

	return own + cnr_addend_memory(c, op);
}

/* Return: how many partial sums of @op a ring may have at a time */
static u32 cnr_partial_rooms(const struct cnr_comm *c, const struct cnr_op *op)
{
	u64 blocks;

	if (c->algorithm == CANARY_ALG_TREE || c->algorithm == CANARY_ALG_STATIC)
		return 0;
	blocks = cnr_op_blocks(c, op);
	if (c->algorithm == CANARY_ALG_AUTO && cnr_is_short(c, blocks))
		return 0;
	return min_t(u64, blocks, c->block_mask + 1);
}

size_t cnr_memory(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_encoding *e = cnr_encoding_of(c, op);

	if (!e || !e->encode)
		return 0;
	return cnr_memory_own(c, e, op) + (size_t)cnr_partial_rooms(c, op) * c->length;
}

/* cnr_encoding.alike, for cnr_part_same() */
static void cnr_alike(const struct cnr_comm *c, struct cnr_operation *o)
{
	o->alike = o->op.elements / o->each;
	cnr_part_same(c, o, &o->full);
}

/* Prepare the new operation @o. */
void cnr_encoding_begin(const struct cnr_comm *c, struct cnr_operation *o)
{
	const struct cnr_encoding *e = o->encoding;

	o->element = cnr_element(o->op.op, o->op.dtype);
	if (e->numbers)
		o->element /= cnr_numbers_in(o->op.dtype);
	o->each = c->length / (e->lane ? e->lane : o->element);
	o->memory_own = cnr_memory_own(c, e, &o->op);
	o->plain = !e->part && !e->encode;
	if (e->alike)
		e->alike(c, o);
	else if (!e->part || e->part == cnr_part_same)
		cnr_alike(c, o);
}

/* cnr_part(), where the encoding has functions */
void cnr_part_cut(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	o->encoding->part(c, o, p);
}

bool cnr_part_after(const struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	struct cnr_part p = { .index = block - o->base };

	o->encoding->part(c, o, &p);
	return !p.after || !canary_before(c->una, o->base + p.after);
}

/* Copy elements that do not fill the last word, and pad it. Return: @words */
u32 *cnr_pad(const struct cnr_operation *o, const struct cnr_part *p, const void *elements,
	     u32 *words)
{
	words[p->length / sizeof(*words) - 1] = canary_kind_identity(p->kind);
	memcpy(words, elements, p->elements * o->element);
	return words;
}

/* cnr_words(), where they are not in the vector: make them at @at. Return: @at */
const u32 *cnr_words_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p, void *at)
{
	u32 *words = at;

	if (o->plain)
		return cnr_pad(o, p, cnr_vector_source(o, p), words);
	o->encoding->encode(c, o, p, words);
	if (o->op.mores)
		cnr_addends_encode(c, o, p, words);
	return words;
}

const u32 *cnr_serve_made(struct cnr_comm *c, const struct cnr_operation *o,
			  const struct cnr_part *p)
{
	u32 *words = (u32 *)c->scratch;

	if (o->plain)
		return cnr_pad(o, p, cnr_vector(o, p, CNR_USE_SERVE), words);
	o->encoding->serve(c, o, p, words);
	return words;
}
