// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: floating-point numbers and how they are rounded; which method adds them up;
 * minima and maxima. No state, no timers.
 */
#include "floats.h"

#define CNR_EXACT_MOST		256	/* longest vectors that are added up exactly */
#define CNR_EACH_MOST		4096	/* longest ones with an exponent for each element */

/* Return: how the sum @op is made */
enum canary_method cnr_float_method(const struct cnr_op *op)
{
	if (cnr_numbers(op) <= CNR_EXACT_MOST || op->how & CANARY_HOW_EXACT)
		return CANARY_METHOD_EXACT;
	if (cnr_numbers(op) <= CNR_EACH_MOST || op->how & CANARY_HOW_ELEMENTWISE)
		return CANARY_METHOD_EACH;
	return CANARY_METHOD_GROUPS;
}

/* Infinities, and the only NaN that comes out */
u64 cnr_special_bits(const struct cnr_format *f, enum cnr_special special)
{
	u64 bits = (u64)cnr_exponent_max(f) << f->fraction;

	if (special == CNR_NAN)
		bits |= 1ULL << (f->fraction - 1);
	if (special == CNR_MINUS_INF)
		bits |= 1ULL << (f->fraction + f->exponent);
	return bits;
}

/*
 * Return: the number of format @f that is nearest to @n; of two, the even one. A significand of 0
 * is +0
 */
u64 cnr_round(const struct cnr_format *f, struct cnr_number n)
{
	u64 bits, half, rest, max = (u64)cnr_exponent_max(f) << f->fraction;
	s32 field, drop;

	if (!n.significand)
		return 0;
	drop = 64 - (s32)cnr_fls64(n.significand);
	n.significand <<= drop;
	n.exponent -= drop;
	/* The highest bit has this exponent field. Subnormal numbers have fewer bits. */
	field = n.exponent + 63 + cnr_bias(f);
	drop = 63 - f->fraction;
	if (field < 1) {
		drop += 1 - field;
		field = 1;
	}
	if (drop > 64)
		return (u64)n.negative << (f->fraction + f->exponent);
	half = 1ULL << (drop - 1);
	rest = drop < 64 ? n.significand & ((1ULL << drop) - 1) : n.significand;
	bits = drop < 64 ? n.significand >> drop : 0;
	if (rest > half || (rest == half && (n.sticky || bits & 1)))
		bits++;
	/* The bit above the fraction, if it is set, adds 1 to the exponent field. */
	bits += (u64)(field - 1) << f->fraction;
	if (field >= (s32)cnr_exponent_max(f) || bits > max)
		bits = max;
	return bits | (u64)n.negative << (f->fraction + f->exponent);
}

/* Divide @n by @by, 1 .. 65535. What does not fit makes it sticky. */
void cnr_number_divide(struct cnr_number *n, u32 by)
{
	u64 part, quotient = cnr_div64(n->significand, by);
	u64 rest = n->significand - quotient * by;

	while (rest && quotient < 1ULL << 55) {
		part = cnr_div64(rest << 8, by);
		quotient = quotient << 8 | part;
		rest = (rest << 8) - part * by;
		n->exponent -= 8;
	}
	n->significand = quotient;
	n->sticky |= rest != 0;
}

/* ---- marks ---- */

/* So many of the CNR_MARKS things around thing @i of @n are marked now. */
void cnr_marks_add(u32 *counts, u32 n, u32 i, u32 marks)
{
	const u32 end = cnr_div_up(n, CNR_MARKS);

	for (i = i / CNR_MARKS + 1; i <= end; i += i & -i)
		counts[i - 1] += marks;
}

/* Return: how many of @n things are marked */
u32 cnr_marks_all(const u32 *counts, u32 n)
{
	u32 i, all = 0;

	for (i = cnr_div_up(n, CNR_MARKS); i; i &= i - 1)
		all += counts[i - 1];
	return all;
}

/*
 * Return: a thing from which on, among the next CNR_MARKS, there is the marked one with *@number.
 * *@number becomes its number among these
 */
u32 cnr_marks_find(const u32 *counts, u32 n, u32 *number)
{
	const u32 end = cnr_div_up(n, CNR_MARKS);
	u32 i = 0, step;

	for (step = ~0U / CNR_MARKS + 1; step; step /= 2) {
		if (i + step > end || counts[i + step - 1] > *number)
			continue;
		i += step;
		*number -= counts[i - 1];
	}
	return i * CNR_MARKS;
}

/* ---- minima and maxima ---- */

/*
 * Keys are unsigned, and have the order of numbers: -0 is before +0, and a NaN comes out if there
 * is one. Minima are maxima of complements.
 */
u64 cnr_order_key(const struct cnr_format *f, u64 bits, bool least)
{
	const u64 sign = 1ULL << (f->fraction + f->exponent), all = sign | (sign - 1);
	u64 key;

	if (cnr_special(f, bits) == CNR_NAN)
		return all;
	key = bits & sign ? ~bits & all : bits | sign;
	return least ? ~key & all : key;
}

u64 cnr_order_number(const struct cnr_format *f, u64 key, bool least)
{
	const u64 sign = 1ULL << (f->fraction + f->exponent), all = sign | (sign - 1);

	if (key == all)
		return cnr_special_bits(f, CNR_NAN);
	if (least)
		key = ~key & all;
	return key & sign ? key ^ sign : ~key & all;
}

void cnr_order_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	const struct cnr_format *f = cnr_format(o->op.dtype);
	const bool least = o->op.op == CANARY_OP_MIN;
	const void *from = cnr_vector_source(o, p);
	u32 i;

	if (p->length)
		words[p->length / sizeof(*words) - 1] = 0;
	for (i = 0; i < p->elements; i++)
		cnr_bits_put(f, words, i, cnr_order_key(f, cnr_bits_at(f, from, i), least));
}

void cnr_order_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words)
{
	const struct cnr_format *f = cnr_format(o->op.dtype);
	const bool least = o->op.op == CANARY_OP_MIN;
	u32 i;

	for (i = 0; i < p->elements; i++)
		cnr_bits_put(f, words, i,
			     cnr_order_number(f, cnr_bits_at(f, words, i), least));
}
