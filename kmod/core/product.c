// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: products of floating-point and of complex numbers, for the order of ranks
 * (ranks.c). Each multiplication, addition and subtraction is rounded to nearest, of two numbers to
 * the even one, as C does it without contraction. The only NaN that comes out is the quiet one. No
 * state, no timers.
 */
#include "floats.h"

#define CNR_PLUS_BITS	10	/* room above significands of 53 bits, and one for the carry */

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

/*
 * Return: the sum of the finite numbers @a and @b. A bit that is lost is noted far below the last
 * one that is kept: numbers that are so far apart leave at least 9 bits in between.
 */
static u64 cnr_plus_finite(const struct cnr_format *f, u64 a, u64 b)
{
	struct cnr_number m = cnr_number(f, a), n = cnr_number(f, b), swap = m;
	u32 apart;

	if (m.exponent < n.exponent) {
		m = n;
		n = swap;
	}
	apart = m.exponent - n.exponent;
	m.significand <<= min_t(u32, apart, CNR_PLUS_BITS);
	m.exponent -= min_t(u32, apart, CNR_PLUS_BITS);
	apart -= min_t(u32, apart, CNR_PLUS_BITS);
	m.sticky = apart > 63 ? n.significand : n.significand & ((1ULL << apart) - 1);
	n.significand = apart > 63 ? 0 : n.significand >> apart;
	if (m.negative == n.negative) {
		m.significand += n.significand;
	} else if (m.significand >= n.significand + m.sticky) {
		m.significand -= n.significand + m.sticky;
	} else {
		m.significand = n.significand - m.significand;
		m.negative = n.negative;
	}
	/* What is 0 after that has no sign, unless both are -0. */
	if (!m.significand)
		return a & b & 1ULL << (f->fraction + f->exponent);
	return cnr_round(f, m);
}

static u64 cnr_plus(const struct cnr_format *f, u64 a, u64 b)
{
	enum cnr_special special = cnr_special(f, a) | cnr_special(f, b);

	return special ? cnr_special_bits(f, special) : cnr_plus_finite(f, a, b);
}

void cnr_product_step(const struct cnr_op *op, void *to, const void *by)
{
	const struct cnr_format *f = cnr_format(op->dtype);

	cnr_bits_put(f, to, 0, cnr_multiply(f, cnr_bits_at(f, to, 0), cnr_bits_at(f, by, 0)));
}

/* (a + bi) (c + di) = (ac - bd) + (ad + bc) i. Infinities are not recovered from NaNs. */
void cnr_complex_step(const struct cnr_op *op, void *to, const void *by)
{
	const struct cnr_format *f = cnr_format(op->dtype);
	const u64 sign = 1ULL << (f->fraction + f->exponent);
	u64 a = cnr_bits_at(f, to, 0), b = cnr_bits_at(f, to, 1);
	u64 c = cnr_bits_at(f, by, 0), d = cnr_bits_at(f, by, 1);

	cnr_bits_put(f, to, 0, cnr_plus(f, cnr_multiply(f, a, c), cnr_multiply(f, b, d) ^ sign));
	cnr_bits_put(f, to, 1, cnr_plus(f, cnr_multiply(f, a, d), cnr_multiply(f, b, c)));
}
