// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: pairs of a value and an index, as C lays them out. The least or largest value
 * comes out, with the lowest index among those that have it.
 *
 * Values become keys: unsigned, with the order of values, or the opposite one for minima. A NaN has
 * the largest key. Places are what indices become: unsigned, and the lowest index has the largest
 * one. Both zeros are equal. So their difference is in the lowest bit, behind the place, and the
 * zero comes out that belongs to the index.
 *
 * cnr_op.memory, with values of 64 bits: the largest keys, which are results of the first blocks.
 * No timers.
 */
#include "located.h"

/**
 * struct cnr_located - a type of pairs
 * @value:	enum canary_dtype of values
 * @bytes:	of a value
 * @behind:	where the index is in an element, which is twice as long
 */
struct cnr_located {
	u8	value;
	u8	bytes;
	u8	behind;
};

#define CNR_LOCATED_MAX	16	/* bytes of the longest element */

static const struct cnr_located cnr_located_types[] = {
	[CANARY_INT16_INDEX] = { CANARY_INT16, 2, 4 },
	[CANARY_INT32_INDEX] = { CANARY_INT32, 4, 4 },
	[CANARY_INT64_INDEX] = { CANARY_INT64, 8, 8 },
	[CANARY_FLOAT32_INDEX] = { CANARY_FLOAT32, 4, 4 },
	[CANARY_FLOAT64_INDEX] = { CANARY_FLOAT64, 8, 8 },
};

/* What is done with elements. @all: all bits of a key are set. @f: NULL if values are integers */
struct cnr_order {
	const struct cnr_located *t;
	const struct cnr_format *f;
	u64	all;
	bool	least;
};

static void cnr_order_of(const struct cnr_op *op, struct cnr_order *x)
{
	x->t = &cnr_located_types[op->dtype];
	x->f = cnr_format(x->t->value);
	x->all = ~0ULL >> (64 - 8 * x->t->bytes);
	x->least = op->op == CANARY_OP_MINLOC;
}

/* The keys of the zeros are next to each other, in the middle. */
static bool cnr_is_zero(const struct cnr_order *x, u64 key)
{
	return x->f && (key == x->all >> 1 || key == (x->all >> 1) + 1);
}

/* Return: the key of the value of @element */
static u64 cnr_key_of(const struct cnr_order *x, const u8 *element)
{
	u64 value = 0;

	memcpy(&value, element, x->t->bytes);
	if (x->f)
		return cnr_order_key(x->f, value, x->least);
	value ^= (x->all >> 1) + 1;
	return x->least ? ~value & x->all : value;
}

/* Return: the place of an index, or the index of a place */
static u32 cnr_place(u32 index)
{
	return ~(index ^ 1U << 31);
}

static u32 cnr_place_of(const struct cnr_order *x, const u8 *element)
{
	u32 index;

	memcpy(&index, element + x->t->behind, sizeof(index));
	return cnr_place(index);
}

static void cnr_element_put(const struct cnr_order *x, u8 *element, u64 key, u32 place)
{
	u32 index = cnr_place(place);
	u64 value;

	if (x->f)
		value = cnr_order_number(x->f, key, x->least);
	else
		value = (x->least ? ~key : key) ^ ((x->all >> 1) + 1);
	memset(element, 0, 2 * x->t->behind);
	memcpy(element, &value, x->t->bytes);
	memcpy(element + x->t->behind, &index, sizeof(index));
}

/* ---- values of up to 32 bits: key and place are one lane ---- */

/* Zeros use the lanes of both of their keys: twice the place, and which zero it is. */
void cnr_located_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words)
{
	const u8 *from = cnr_vector_source(o, p);
	struct cnr_order x;
	u64 key, lane;
	u32 i, place;

	cnr_order_of(&o->op, &x);
	for (i = 0; i < p->elements; i++, from += sizeof(lane)) {
		key = cnr_key_of(&x, from);
		place = cnr_place_of(&x, from);
		if (cnr_is_zero(&x, key))
			lane = ((x.all >> 1) << 32) + 2 * (u64)place + (key > x.all >> 1);
		else
			lane = key << 32 | place;
		memcpy((u8 *)words + i * sizeof(lane), &lane, sizeof(lane));
	}
}

void cnr_located_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words)
{
	u8 *at = (u8 *)words;
	struct cnr_order x;
	u64 key, lane;
	u32 i;

	cnr_order_of(&o->op, &x);
	for (i = 0; i < p->elements; i++, at += sizeof(lane)) {
		memcpy(&lane, at, sizeof(lane));
		key = lane >> 32;
		if (cnr_is_zero(&x, key)) {
			lane -= (x.all >> 1) << 32;
			key = (x.all >> 1) + (lane & 1);
			lane >>= 1;
		}
		cnr_element_put(&x, at, key, lane);
	}
}

/* ---- values of 64 bits: keys first, then the places of those that have the largest one ---- */

/**
 * struct cnr_stages - an operation
 * @x:		its order
 * @lane:	bytes of a lane of the second stage; where there are two zeros, its lowest bit tells
 * @each:	lanes of a block of the first stage
 * @places:	of the second one
 * @first:	blocks of the first stage
 */
struct cnr_stages {
	struct cnr_order x;
	u32	lane;
	u32	each;
	u32	places;
	u32	first;
};

static void cnr_stages_of(const struct cnr_comm *c, const struct cnr_op *op, struct cnr_stages *s)
{
	cnr_order_of(op, &s->x);
	s->lane = s->x.f ? 8 : 4;
	s->each = c->length / sizeof(u64);
	s->places = c->length / s->lane;
	s->first = max_t(u32, cnr_div_up(op->elements, s->each), 1);
}

size_t cnr_stages_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
			 const struct cnr_op *op)
{
	return op->elements * sizeof(u64);
}

u64 cnr_stages_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
		      const struct cnr_op *op)
{
	struct cnr_stages s;

	cnr_stages_of(c, op, &s);
	return s.first + cnr_div_up(op->elements, s.places);
}

void cnr_stages_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	struct cnr_stages s;
	bool second;
	u32 each;

	cnr_stages_of(c, &o->op, &s);
	second = p->index >= s.first;
	each = second ? s.places : s.each;
	p->first = (second ? p->index - s.first : p->index) * each;
	p->elements = min_t(u32, each, o->op.elements - p->first);
	p->after = second ? cnr_div_up(p->first + p->elements, s.each) : 0;
	p->length = p->elements * (second ? s.lane : sizeof(u64));
	p->result = p->length;
	p->kind = second && s.lane == 4 ? CANARY_KIND_MAX32 : CANARY_KIND_MAX64;
}

static u64 cnr_place_lane_at(const struct cnr_stages *s, const void *words, u32 i)
{
	u64 lane = 0;

	memcpy(&lane, (const u8 *)words + i * s->lane, s->lane);
	return lane;
}

/* Keys of both zeros become one. */
static u64 cnr_largest(const struct cnr_order *x, u64 key)
{
	return cnr_is_zero(x, key) ? x->all >> 1 : key;
}

/* Return: what @element is in the second stage, if its key is the largest one */
static u64 cnr_place_lane(const struct cnr_stages *s, const u8 *element)
{
	u64 place = cnr_place_of(&s->x, element), key;

	if (!s->x.f)
		return place;
	key = cnr_key_of(&s->x, element);
	return 2 * place + (cnr_is_zero(&s->x, key) && key > s->x.all >> 1);
}

/*
 * The elements of a block of the second stage may be longer than a packet. Return: some of them,
 * from the one on that is number @i of @p
 */
static struct cnr_part cnr_some_of(const struct cnr_comm *c, const struct cnr_operation *o,
				   const struct cnr_part *p, u32 i)
{
	struct cnr_part some = { .first = p->first + i, .led = p->led };

	some.elements = min_t(u32, p->elements - i, c->length / o->element);
	return some;
}

void cnr_stages_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words)
{
	const u64 *largest = (const u64 *)o->op.memory + p->first;
	struct cnr_part some;
	struct cnr_stages s;
	const u8 *from;
	u64 key, lane;
	u32 i, k;

	cnr_stages_of(c, &o->op, &s);
	for (i = 0; i < p->elements; i += some.elements) {
		some = cnr_some_of(c, o, p, i);
		from = cnr_vector_source(o, &some);
		for (k = i; k < i + some.elements; k++, from += o->element) {
			key = cnr_largest(&s.x, cnr_key_of(&s.x, from));
			if (p->index < s.first) {
				memcpy((u8 *)words + k * sizeof(key), &key, sizeof(key));
				continue;
			}
			lane = key == largest[k] ? cnr_place_lane(&s, from) : 0;
			memcpy((u8 *)words + k * s.lane, &lane, s.lane);
		}
	}
}

void cnr_stages_store(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, const u32 *words)
{
	u64 *largest = (u64 *)o->op.memory + p->first;
	struct cnr_part some;
	struct cnr_stages s;
	u64 key, lane;
	u8 element[CNR_LOCATED_MAX];
	u32 i, k;

	cnr_stages_of(c, &o->op, &s);
	if (p->index < s.first) {
		if (p->length)
			memcpy(largest, words, p->length);
		return;
	}
	for (i = 0; i < p->elements; i += some.elements) {
		some = cnr_some_of(c, o, p, i);
		for (k = i; k < i + some.elements; k++) {
			key = largest[k];
			lane = cnr_place_lane_at(&s, words, k);
			if (cnr_is_zero(&s.x, key))
				key = (s.x.all >> 1) + (lane & 1);
			cnr_element_put(&s.x, element, key, s.x.f ? lane >> 1 : lane);
			cnr_put(o, &some, (k - i) * o->element, element, o->element);
		}
	}
}

/* Lanes of 64 bits hold more than is stored: a place, and for zeros which one it is. */
void cnr_stages_tidy(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words)
{
	const u64 *largest = (const u64 *)o->op.memory + p->first;
	struct cnr_stages s;
	u64 lane;
	u32 k;

	cnr_stages_of(c, &o->op, &s);
	if (p->index < s.first || s.lane == sizeof(u32))
		return;
	for (k = 0; k < p->elements; k++) {
		lane = cnr_place_lane_at(&s, words, k) & ((2ULL << 32) - 1);
		if (!cnr_is_zero(&s.x, largest[k]))
			lane &= ~1ULL;
		memcpy((u8 *)words + k * s.lane, &lane, s.lane);
	}
}

void cnr_stages_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	struct cnr_part some;
	struct cnr_stages s;
	const u8 *from;
	u64 lane;
	u32 i, k;

	cnr_stages_of(c, &o->op, &s);
	if (p->index < s.first) {
		if (p->length)
			memcpy(words, (const u64 *)o->op.memory + p->first, p->length);
		return;
	}
	for (i = 0; i < p->elements; i += some.elements) {
		some = cnr_some_of(c, o, p, i);
		from = cnr_vector(o, &some, CNR_USE_SERVE);
		for (k = i; k < i + some.elements; k++, from += o->element) {
			lane = cnr_place_lane(&s, from);
			memcpy((u8 *)words + k * s.lane, &lane, s.lane);
		}
	}
}
