// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: exact sums of floating-point numbers, by integer additions alone.
 *
 * A number is a multiple of 2^low. With 2^(bits - 1) added, it is an unsigned integer of so many
 * bits. It is cut into digits, one in each lane. Lanes have room for the carries of all members.
 *
 * First blocks count in their first lane what they cannot hold: infinities and NaNs, and of 64-bit
 * numbers those out of a window. Such an escape contributes 0. If a block has escapes, its elements
 * are left alone, and added up again in appended blocks: in lanes for all numbers there are, and
 * one lane more for each element, which counts infinities and NaNs. So whether numbers fit the
 * window never shows in a sum.
 *
 * cnr_op.memory: struct cnr_exact, and which blocks have escapes. No timers.
 */
#include "floats.h"

/* Digits of 64-bit lanes leave room for all members that there may be. */
#define CNR_DIGIT_64	48
#define CNR_LIMBS	72	/* of 32 bits: the longest sum, two for averages, one for carries */

/* How numbers become digits */
struct cnr_digits {
	s32	low;		/* exponent of the lowest bit */
	u16	bits;
	u16	number;		/* of digits */
	u8	lane;		/* bytes of a lane */
	u8	width;		/* bits of a digit */
};

/**
 * struct cnr_exact - an operation
 * @f:		format of its numbers
 * @first:	how first blocks hold numbers
 * @again:	how appended blocks do
 * @each:	elements of a first block
 * @each_again:	of an appended block
 * @blocks:	first blocks
 * @per:	appended blocks for one with escapes
 *
 * It is at the beginning of cnr_op.memory. For each first block, whether it has escapes follows.
 */
struct cnr_exact {
	const struct cnr_format *f;
	struct cnr_digits first;
	struct cnr_digits again;
	u32	each;
	u32	each_again;
	u32	blocks;
	u32	per;
};

static void cnr_digits_init(struct cnr_digits *d, s32 low, u32 bits, u32 members)
{
	d->low = low;
	d->bits = bits;
	d->lane = 4;
	d->width = 32 - cnr_log2_up(members);
	d->number = cnr_div_up(bits, d->width);
}

/* Fill in all that follows from @op and the communicator. */
static void cnr_exact_of(const struct cnr_comm *c, const struct cnr_op *op, struct cnr_exact *x)
{
	u32 members = cnr_addends(c, op);

	x->f = cnr_format(op->dtype);
	if (x->f->bytes == 8) {
		cnr_digits_init(&x->first, -240, 400, members);
		cnr_digits_init(&x->again, -1074, 2099, members);
		if ((x->again.number + 1) * x->again.lane > c->length) {
			x->again.lane = 8;
			x->again.width = CNR_DIGIT_64;
			x->again.number = cnr_div_up(x->again.bits, CNR_DIGIT_64);
		}
	} else {
		cnr_digits_init(&x->first, -149, 278, members);
		x->again = x->first;
	}
	x->each = (c->length / x->first.lane - 1) / x->first.number;
	x->each_again = c->length / ((x->again.number + 1) * x->again.lane);
	x->blocks = max_t(u32, cnr_div_up(cnr_numbers(op), x->each), 1);
	x->per = cnr_div_up(min_t(u32, x->each, max_t(u32, cnr_numbers(op), 1)), x->each_again);
}

/* Return: what is kept of @op in its memory. It is filled in when it is first asked for. */
static const struct cnr_exact *cnr_exact_kept(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_exact *x = op->memory;

	if (!x->f)
		cnr_exact_of(c, op, x);
	return x;
}

/* The same of an operation that may have no memory yet. Then it is made in @room. */
static const struct cnr_exact *cnr_exact_in(const struct cnr_comm *c, const struct cnr_op *op,
					    struct cnr_exact *room)
{
	if (op->memory)
		return cnr_exact_kept(c, op);
	cnr_exact_of(c, op, room);
	return room;
}

static const struct cnr_exact *cnr_exact(const struct cnr_comm *c, const struct cnr_operation *o)
{
	return cnr_exact_kept(c, &o->op);
}

/* ---- what is kept: for each first block, whether it has escapes ---- */

static u32 *cnr_exact_marks(const struct cnr_operation *o)
{
	return (u32 *)((struct cnr_exact *)o->op.memory + 1);
}

static u8 *cnr_escaped(const struct cnr_operation *o, const struct cnr_exact *x)
{
	return (u8 *)cnr_exact_marks(o) + cnr_marks_bytes(x->blocks);
}

/* Return: the first block with this @number among those that have escapes */
static u32 cnr_escaped_block(const struct cnr_operation *o, const struct cnr_exact *x, u32 number)
{
	u32 block = cnr_marks_find(cnr_exact_marks(o), x->blocks, &number);
	const u8 *escaped = cnr_escaped(o, x);

	while (block + 1 < x->blocks && (!escaped[block] || number--))
		block++;
	return block;
}

static size_t cnr_exact_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
			       const struct cnr_op *op)
{
	const struct cnr_exact *x;
	struct cnr_exact room;

	x = cnr_exact_in(c, op, &room);
	return sizeof(*x) + cnr_marks_bytes(x->blocks) + x->blocks;
}

/* ---- blocks ---- */

static u64 cnr_exact_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
			    const struct cnr_op *op)
{
	struct cnr_exact room;

	return cnr_exact_in(c, op, &room)->blocks;
}

/* A barrier has no elements that could escape. */
static u32 cnr_exact_settles(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_exact room;

	return cnr_numbers(op) ? cnr_exact_in(c, op, &room)->blocks : 0;
}

static u64 cnr_exact_most(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_exact *x;
	struct cnr_exact room;

	x = cnr_exact_in(c, op, &room);
	return cnr_numbers(op) ? (u64)x->blocks * x->per : 0;
}

static u32 cnr_exact_more(const struct cnr_comm *c, const struct cnr_operation *o)
{
	const struct cnr_exact *x = cnr_exact(c, o);

	return x->per * cnr_marks_all(cnr_exact_marks(o), x->blocks);
}

static void cnr_exact_again(const struct cnr_operation *o, const struct cnr_exact *x,
			    struct cnr_part *p)
{
	u32 number = p->index - x->blocks, from = number % x->per * x->each_again, block, end;

	block = cnr_escaped_block(o, x, number / x->per);
	end = min_t(u32, x->each, cnr_numbers(&o->op) - block * x->each);
	p->first = block * x->each + from;
	p->elements = from < end ? min_t(u32, x->each_again, end - from) : 0;
	p->length = p->elements * (x->again.number + 1) * x->again.lane;
	p->result = (p->elements * x->f->bytes + x->again.lane - 1) & ~(x->again.lane - 1);
	p->kind = x->again.lane == 8 ? CANARY_KIND_ADD64 : CANARY_KIND_ADD32;
}

static void cnr_exact_part_of(const struct cnr_operation *o, const struct cnr_exact *x,
			      struct cnr_part *p)
{
	p->after = 0;
	if (p->index >= x->blocks) {
		cnr_exact_again(o, x, p);
		return;
	}
	p->first = p->index * x->each;
	p->elements = min_t(u32, x->each, cnr_numbers(&o->op) - p->first);
	p->length = (1 + p->elements * x->first.number) * x->first.lane;
	p->result = 4 + ((p->elements * x->f->bytes + 3) & ~3U);
	p->kind = CANARY_KIND_ADD32;
}

static void cnr_exact_part(const struct cnr_comm *c, const struct cnr_operation *o,
			   struct cnr_part *p)
{
	cnr_exact_part_of(o, cnr_exact(c, o), p);
}

/* ---- numbers become digits ---- */

static __always_inline u64 cnr_digit(const struct cnr_digits *d, const u8 *lanes, u32 i)
{
	return cnr_bytes_at(d->lane, lanes, i);
}

static __always_inline void cnr_digit_put(const struct cnr_digits *d, u8 *lanes, u32 i, u64 lane)
{
	cnr_bytes_put(d->lane, lanes, i, lane);
}

/* Write the digits of @n, which are 0 before. Return: false if it does not fit; it counts as 0 */
static bool cnr_digits_write(const struct cnr_digits *d, u8 *lanes, struct cnr_number n)
{
	u64 digit, carry = 0, mask = (1ULL << d->width) - 1;
	u32 i = (d->bits - 1) / d->width, at = 0, shift;

	cnr_digit_put(d, lanes, i, 1ULL << (d->bits - 1) % d->width);
	if (n.exponent < d->low) {
		shift = d->low - n.exponent;
		if (n.significand && (shift > 63 || n.significand & ((1ULL << shift) - 1)))
			return false;
		n.significand = n.significand ? n.significand >> shift : 0;
	} else {
		at = n.exponent - d->low;
	}
	if (n.significand && cnr_fls64(n.significand) + at > d->bits - 1)
		return false;
	shift = at % d->width;
	for (i = at / d->width; n.significand || carry; i++) {
		digit = (n.significand << shift) & mask;
		n.significand >>= d->width - shift;
		shift = 0;
		if (n.negative) {
			digit = cnr_digit(d, lanes, i) - digit - carry;
			carry = digit >> 63;
		} else {
			digit += cnr_digit(d, lanes, i) + carry;
			carry = digit >> d->width;
		}
		cnr_digit_put(d, lanes, i, digit & mask);
	}
	return true;
}

/* The low half counts ranks with +infinity or a NaN, the high half those with -infinity or one. */
static u32 cnr_special_count(enum cnr_special special)
{
	return (special & CNR_PLUS_INF ? 1 : 0) | (special & CNR_MINUS_INF ? 1 << 16 : 0);
}

static void cnr_exact_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, u32 *words)
{
	const struct cnr_exact *x = cnr_exact(c, o);
	static const struct cnr_number zero;
	enum cnr_special special;
	const void *from;
	bool first, fits;
	u64 bits;
	u8 *lanes;
	u32 i;

	first = p->index < x->blocks;
	memset(words, 0, p->length);
	from = p->elements ? cnr_vector_source(o, p) : NULL;
	for (i = 0; i < p->elements; i++) {
		bits = cnr_bits_at(x->f, from, i);
		special = cnr_special(x->f, bits);
		if (first) {
			lanes = (u8 *)(words + 1 + i * x->first.number);
			fits = cnr_digits_write(&x->first, lanes,
						special ? zero : cnr_number(x->f, bits));
			words[0] += special || !fits;
		} else {
			lanes = (u8 *)words + i * (x->again.number + 1) * x->again.lane;
			cnr_digits_write(&x->again, lanes,
					 special ? zero : cnr_number(x->f, bits));
			cnr_digit_put(&x->again, lanes, x->again.number,
				      cnr_special_count(special));
		}
	}
}

/* ---- digits become a number ---- */

/* Add @value * 2^@at. */
static void cnr_limbs_add(u32 *limbs, u64 value, u32 at)
{
	u32 i = at / 32, shift = at % 32;
	u64 sum = (value << shift & 0xffffffff) + limbs[i];

	limbs[i++] = sum;
	value >>= 32 - shift;
	for (sum >>= 32; value || sum; sum >>= 32, value >>= 32) {
		sum += (value & 0xffffffff) + limbs[i];
		limbs[i++] = sum;
	}
}

/* Subtract @value * 2^@at, modulo @n limbs. Return: whether the difference is negative */
static bool cnr_limbs_sub(u32 *limbs, u32 n, u64 value, u32 at)
{
	u32 i = at / 32, shift = at % 32;
	u64 less = value << shift & 0xffffffff;
	u64 borrow = 0, left;

	for (value >>= 32 - shift; i < n; i++) {
		left = (u64)limbs[i] - less - borrow;
		limbs[i] = left;
		borrow = left >> 63;
		less = value & 0xffffffff;
		value >>= 32;
	}
	return borrow;
}

static void cnr_limbs_negate(u32 *limbs, u32 n)
{
	u64 carry = 1;
	u32 i;

	for (i = 0; i < n; i++) {
		carry += (u32)~limbs[i];
		limbs[i] = carry;
		carry >>= 32;
	}
}

/* Return: whether there is a remainder */
static bool cnr_limbs_divide(u32 *limbs, u32 n, u32 by)
{
	u64 rest = 0, all;

	while (n--) {
		all = rest << 32 | limbs[n];
		limbs[n] = cnr_div64(all, by);
		rest = all - (u64)limbs[n] * by;
	}
	return rest;
}

/* Return: what the digits of all members add up to, by @by if that is not 0 */
static struct cnr_number cnr_digits_read(const struct cnr_digits *d, const u8 *lanes, u32 members,
					 u32 by)
{
	/* Two limbs below the number have what averages need for rounding. */
	struct cnr_number n = { .exponent = d->low - 64 };
	u32 limbs[CNR_LIMBS] = { 0 };
	u32 i, all = (64 + d->bits + 16) / 32 + 2;

	for (i = 0; i < d->number; i++)
		cnr_limbs_add(limbs, cnr_digit(d, lanes, i), 64 + i * d->width);
	n.negative = cnr_limbs_sub(limbs, all, members, 64 + d->bits - 1);
	if (n.negative)
		cnr_limbs_negate(limbs, all);
	if (by)
		n.sticky = cnr_limbs_divide(limbs, all, by);
	for (i = all - 1; i > 1 && !limbs[i]; i--)
		;
	n.significand = (u64)limbs[i] << 32 | limbs[i - 1];
	n.exponent += 32 * (i - 1);
	/* Below the highest limb there are at least 32 bits. That may be less than is needed. */
	if (i > 1 && limbs[i] >> 31 == 0) {
		all = 32 - cnr_fls64(limbs[i]);
		n.significand = n.significand << all | limbs[i - 2] >> (32 - all);
		n.exponent -= all;
		limbs[i - 2] &= (1U << (32 - all)) - 1;
	}
	while (i-- > 1)
		n.sticky |= limbs[i - 1] != 0;
	return n;
}

static void cnr_exact_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, u32 *words)
{
	const struct cnr_exact *x = cnr_exact(c, o);
	u32 i, count, members = cnr_addends(c, &o->op);
	u32 by = o->op.op == CANARY_OP_AVG ? members : 0;
	const u8 *lanes;
	u64 bits;
	u8 *to;

	to = (u8 *)words;
	if (p->index < x->blocks) {
		words[0] = words[0] != 0;
		to += sizeof(*words);
	}
	/* Numbers are shorter than their lanes, so they are written behind where lanes are read. */
	for (i = 0; i < p->elements; i++) {
		if (p->index < x->blocks) {
			lanes = (u8 *)(words + 1 + i * x->first.number);
			bits = words[0] ? 0 :
			       cnr_round(x->f, cnr_digits_read(&x->first, lanes, members, by));
		} else {
			lanes = (u8 *)words + i * (x->again.number + 1) * x->again.lane;
			count = cnr_digit(&x->again, lanes, x->again.number);
			bits = count ? cnr_special_bits(x->f, (count & 0xffff ? CNR_PLUS_INF : 0) |
							     (count >> 16 ? CNR_MINUS_INF : 0)) :
			       cnr_round(x->f, cnr_digits_read(&x->again, lanes, members, by));
		}
		cnr_bits_put(x->f, to, i, bits);
	}
}

/* ---- results ---- */

/* Behind an escape there is nothing. */
static void cnr_exact_tidy(const struct cnr_comm *c, const struct cnr_operation *o,
			   const struct cnr_part *p, u32 *words)
{
	const struct cnr_exact *x = cnr_exact(c, o);
	u32 end;

	end = p->elements * x->f->bytes;
	if (p->index < x->blocks) {
		words[0] = words[0] != 0;
		end = sizeof(*words) + (words[0] ? 0 : end);
	}
	memset((u8 *)words + end, 0, p->result - end);
}

static void cnr_exact_store(const struct cnr_comm *c, const struct cnr_operation *o,
			    const struct cnr_part *p, const u32 *words)
{
	const struct cnr_exact *x = cnr_exact(c, o);

	if (p->index < x->blocks) {
		if (words[0]) {
			if (!cnr_escaped(o, x)[p->index])
				cnr_marks_add(cnr_exact_marks(o), x->blocks, p->index, 1);
			cnr_escaped(o, x)[p->index] = 1;
			return;
		}
		words++;
	}
	if (p->elements)
		cnr_put(o, p, 0, words, p->elements * x->f->bytes);
}

static void cnr_exact_serve(const struct cnr_comm *c, const struct cnr_operation *o,
			    const struct cnr_part *p, u32 *words)
{
	const struct cnr_exact *x = cnr_exact(c, o);

	memset(words, 0, p->result);
	if (p->index < x->blocks) {
		words[0] = cnr_escaped(o, x)[p->index];
		if (words[0])
			return;
		words++;
	}
	if (p->elements)
		memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->elements * x->f->bytes);
}

#define CNR_EXACT									\
	{ .method = CANARY_METHOD_EXACT, .numbers = true,				\
	  .memory = cnr_exact_memory,							\
	  .blocks = cnr_exact_blocks, .settles = cnr_exact_settles,			\
	  .more = cnr_exact_more, .most = cnr_exact_most, .part = cnr_exact_part,	\
	  .encode = cnr_exact_encode, .finish = cnr_exact_finish,			\
	  .tidy = cnr_exact_tidy,							\
	  .store = cnr_exact_store, .serve = cnr_exact_serve }

const struct cnr_encoding cnr_float_exact = CNR_EXACT;
