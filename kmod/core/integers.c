// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: how operators reduce integers, where words are not the elements themselves. The
 * rows of the table are in integers.h. No state, no timers.
 */
#include "integers.h"

/* Pad the elements of @p up to @length bytes. */
static void cnr_pad_bytes(const struct cnr_operation *o, const struct cnr_part *p, u32 *words,
			  u32 length)
{
	u32 bytes = p->elements * o->element;

	memset((u8 *)words + bytes, 0, length - bytes);
}

/* Results are elements, and what pads them is nobody's business. */
void cnr_elements_store(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, const u32 *words)
{
	cnr_put(o, p, 0, words, p->elements * o->element);
}

void cnr_elements_serve(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->elements * o->element);
	cnr_pad_bytes(o, p, words, p->result);
}

/* ---- masked ---- */

static void cnr_mask(const struct cnr_operation *o, u32 *words, u32 length)
{
	const u64 mask = o->encoding->mask;
	u32 i;

	/* Lanes of 64 bits have masks whose halves differ. */
	for (i = 0; i < length / sizeof(*words); i++)
		words[i] ^= (u32)(mask >> (i % 2 * 32));
}

void cnr_masked_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector_source(o, p), p->elements * o->element);
	cnr_mask(o, words, p->length);
	cnr_pad_bytes(o, p, words, p->length);
}

void cnr_masked_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words)
{
	cnr_mask(o, words, p->length);
}

/* ---- truth ---- */

/* Return: element @i of @bytes, without a sign. Applications may align vectors as they like. */
static __always_inline u64 cnr_element_at(const void *from, u32 i, u32 bytes)
{
	u64 element = 0;

	memcpy(&element, (const u8 *)from + i * bytes, bytes);
	return element;
}

/* @bytes is a constant. */
static __always_inline void cnr_truth_of(void *words, const void *from, u32 n, u32 bytes,
					 bool invert)
{
	u64 lane;
	u32 i;

	for (i = 0; i < n; i++) {
		lane = !!cnr_element_at(from, i, bytes) ^ invert;
		memcpy((u8 *)words + i * bytes, &lane, bytes);
	}
}

/* Lanes say whether elements are not 0; with a mask, whether they are. */
void cnr_truth_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	const void *from = cnr_vector_source(o, p);
	const bool invert = o->encoding->mask;

	switch (o->element) {
	case 1:
		cnr_truth_of(words, from, p->elements, 1, invert);
		break;
	case 2:
		cnr_truth_of(words, from, p->elements, 2, invert);
		break;
	case 4:
		cnr_truth_of(words, from, p->elements, 4, invert);
		break;
	default:
		cnr_truth_of(words, from, p->elements, 8, invert);
		break;
	}
	cnr_pad_bytes(o, p, words, p->length);
}

void cnr_truth_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	u32 i, step = o->element;

	if (!o->encoding->mask)
		return;
	for (i = 0; i < p->elements * step; i += step)
		((u8 *)words)[i] ^= 1;
}

/* ---- averages and saturated sums: wide lanes ---- */

void cnr_wide_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	u32 lane = o->encoding->lane;

	cnr_part_same(c, o, p);
	p->length = p->elements * lane;
	p->result = (p->elements * o->element + lane - 1) & ~(lane - 1);
}

/* Return: whether elements of @dtype have a sign */
static bool cnr_is_signed(u8 dtype)
{
	return dtype == CANARY_INT8 || dtype == CANARY_INT16 || dtype == CANARY_INT32 ||
	       dtype == CANARY_INT64;
}

/* Return: @value, whose sign is the highest bit of @bytes, as 64 bits */
static u64 cnr_extend(u64 value, u32 bytes)
{
	u64 sign = 1ULL << (8 * bytes - 1);

	return (value ^ sign) - sign;
}

void cnr_wide_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words)
{
	u32 i, lane = o->encoding->lane, bytes = o->element;
	const void *from = cnr_vector_source(o, p);
	bool with_sign = cnr_is_signed(o->op.dtype);
	u64 element[2];

	for (i = 0; i < p->elements; i++) {
		element[0] = cnr_element_at(from, i, bytes);
		if (with_sign)
			element[0] = cnr_extend(element[0], bytes);
		if (lane == sizeof(element)) {
			element[1] = element[0] >> 32;
			if (with_sign)
				element[1] = cnr_extend(element[1], 4);
			element[0] = (u32)element[0];
		}
		memcpy((u8 *)words + i * lane, element, lane);
	}
}

/* struct cnr_sum - what the elements of all members add up to: @high * 2^32 + @low */
struct cnr_sum {
	s64	high;
	u32	low;
};

static struct cnr_sum cnr_sum_at(const u32 *words, u32 i, u32 lane, bool with_sign)
{
	struct cnr_sum sum;
	u64 low;

	if (lane == 16) {
		low = cnr_element_at(words, 2 * i, 8);
		sum.high = cnr_element_at(words, 2 * i + 1, 8) + (low >> 32);
	} else {
		low = cnr_element_at(words, i, lane);
		if (with_sign)
			low = cnr_extend(low, lane);
		sum.high = (s64)low >> 32;
	}
	sum.low = low;
	return sum;
}

/* Return: @sum / @n, towards 0 */
static u64 cnr_sum_divide(struct cnr_sum sum, u32 n)
{
	bool negative = sum.high < 0;
	u64 high, low;

	if (negative) {
		/* Lanes that somebody made up may be the least integer, which has no opposite. */
		sum.high = -(u64)sum.high - !!sum.low;
		sum.low = -sum.low;
	}
	high = cnr_div64(sum.high, n);
	low = cnr_div64((sum.high - high * n) << 32 | sum.low, n);
	low |= high << 32;
	return negative ? -low : low;
}

/* Return: @sum, or the end of the type of @bytes that is next to it */
static u64 cnr_sum_clamp(struct cnr_sum sum, u32 bytes, bool with_sign)
{
	u64 most = ~0ULL >> (64 - 8 * bytes + with_sign);
	s64 high = most >> 32;

	if (sum.high > high || (sum.high == high && sum.low > (u32)most))
		return most;
	/* The least one is -most - 1. Without a sign, no sum is below 0. */
	high = ~high;
	if (sum.high < high || (sum.high == high && sum.low < (u32)~most))
		return ~most;
	return (u64)sum.high << 32 | sum.low;
}

/* An element is never longer than its lane, so elements are written behind where lanes are read. */
static __always_inline void cnr_wide_finish(const struct cnr_comm *c,
					    const struct cnr_operation *o,
					    const struct cnr_part *p, u32 *words, bool average)
{
	bool with_sign = cnr_is_signed(o->op.dtype);
	struct cnr_sum sum;
	u64 element;
	u32 i;

	for (i = 0; i < p->elements; i++) {
		sum = cnr_sum_at(words, i, o->encoding->lane, with_sign);
		element = average ? cnr_sum_divide(sum, cnr_addends(c, &o->op)) :
				    cnr_sum_clamp(sum, o->element, with_sign);
		memcpy((u8 *)words + i * o->element, &element, o->element);
	}
}

void cnr_average_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words)
{
	cnr_wide_finish(c, o, p, words, true);
}

void cnr_saturate_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u32 *words)
{
	cnr_wide_finish(c, o, p, words, false);
}

/* Return: how the sum @op is made; NULL: words are elements, and wrap around */
const struct cnr_encoding *cnr_sum_choose(const struct cnr_comm *c, const struct cnr_op *op)
{
	static const struct cnr_encoding saturate_32 = {
		CNR_WIDE(32), .finish = cnr_saturate_finish,
	};
	static const struct cnr_encoding saturate_64 = {
		CNR_WIDE(64), .finish = cnr_saturate_finish,
	};
	static const struct cnr_encoding saturate_128 = {
		CNR_WIDE(128), .finish = cnr_saturate_finish,
	};

	if (!(op->how & CANARY_HOW_SATURATE))
		return NULL;
	switch (op->dtype) {
	case CANARY_INT64:
	case CANARY_UINT64:
		return &saturate_128;
	case CANARY_INT32:
	case CANARY_UINT32:
		return &saturate_64;
	default:
		return &saturate_32;
	}
}
