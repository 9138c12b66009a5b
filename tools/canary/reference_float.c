// SPDX-License-Identifier: BSD-2-Clause
/*
 * What operators do with floating-point numbers, see reference.h and docs/floating-point.md. Sums
 * are made in integers of 2304 bits, which hold any sum of 65535 numbers exactly.
 */
#include <stdbool.h>
#include <string.h>

#include "reference.h"
#include "reference_float.h"

__extension__ typedef unsigned __int128 uwide;

#define LOW	(-1140)		/* exponent of the lowest bit; an average needs some below -1074 */
#define LIMBS	36

/* A sum in units of 2^LOW, in two's complement */
struct total {
	uint64_t limb[LIMBS];
};

static bool is_finite(const struct format *f, uint64_t bits)
{
	return (bits & infinity(f)) != infinity(f);
}

static bool is_nan(const struct format *f, uint64_t bits)
{
	return (bits & ~sign_bit(f)) > infinity(f);
}

/* Split a finite number. Return: its significand, in units of 2^*@exponent */
static uint64_t split(const struct format *f, uint64_t bits, int *exponent)
{
	unsigned int field = bits >> f->fraction & f->field_max;
	uint64_t fraction = bits & ((1ULL << f->fraction) - 1);

	*exponent = f->least + (field ? (int)field - 1 : 0);
	return field ? fraction | 1ULL << f->fraction : fraction;
}

/*
 * Return: @m in units of 2^@shift, rounded to nearest; of two, to the even one
 * @more:	@m lacks a bit below its lowest one
 */
static uwide nearest(uwide m, int shift, bool more)
{
	uwide half, whole;

	if (shift <= 0)
		return m << -shift;
	if (shift > 128)
		return 0;
	half = (uwide)1 << (shift - 1);
	whole = shift < 128 ? m >> shift : 0;
	return whole + ((m & half) && ((m & (half - 1)) || more || whole & 1));
}

/* Return: the number nearest to @m * 2^@exponent, without a sign */
static uint64_t rounded(const struct format *f, uwide m, int exponent, bool more)
{
	uint64_t bits, high = m >> 64;
	int width, unit;

	if (!m)
		return 0;
	width = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)m);
	unit = exponent + width - 1 - (int)f->fraction;
	if (unit < f->least)
		unit = f->least;
	bits = (uint64_t)nearest(m, unit - exponent, more);
	if (unit - f->least > (int)f->field_max)
		return infinity(f);
	bits += (uint64_t)(unit - f->least) << f->fraction;
	return bits < infinity(f) ? bits : infinity(f);
}

/* ---- totals ---- */

static void add(struct total *t, bool negative, uint64_t m, int exponent)
{
	unsigned int at = exponent - LOW, i = at / 64;
	uwide carry = (uwide)m << at % 64, limb;

	for (; carry && i < LIMBS; i++) {
		limb = t->limb[i];
		limb = negative ? limb - (uint64_t)carry : limb + (uint64_t)carry;
		t->limb[i] = (uint64_t)limb;
		carry = (carry >> 64) + (limb >> 64 & 1);
	}
}

static bool make_positive(struct total *t)
{
	bool negative = t->limb[LIMBS - 1] >> 63, carry = true;
	unsigned int i;

	for (i = 0; negative && i < LIMBS; i++) {
		t->limb[i] = ~t->limb[i] + carry;
		carry = carry && !t->limb[i];
	}
	return negative;
}

/* Return: the number nearest to @t divided by @by */
static uint64_t quotient(const struct format *f, struct total *t, uint32_t by)
{
	bool negative = make_positive(t), more;
	uint64_t rest = 0, bits;
	int i, top;
	uwide part;

	for (top = LIMBS - 1; top > 1 && !t->limb[top]; top--)
		;
	for (i = top; by > 1 && i >= 0; i--) {
		part = (uwide)rest << 64 | t->limb[i];
		t->limb[i] = (uint64_t)(part / by);
		rest = (uint64_t)(part % by);
	}
	while (top > 1 && !t->limb[top])
		top--;
	more = rest;
	for (i = 0; i < top - 1; i++)
		more |= t->limb[i] != 0;
	part = (uwide)t->limb[top] << 64 | t->limb[top - 1];
	bits = rounded(f, part, LOW + 64 * (top - 1), more);
	return negative ? bits | sign_bit(f) : bits;
}

/* ---- sums ---- */

static unsigned int log2_up(uint32_t n)
{
	unsigned int log = 0;

	while (1ULL << log < n)
		log++;
	return log;
}

/* Return: bits of a lane */
static unsigned int lane_bits(const struct reference *r)
{
	switch (r->dtype) {
	case CANARY_FLOAT16:
		return r->members <= 16 ? 21 : 32;
	case CANARY_BFLOAT16:
		return r->members <= 8 ? 16 : r->members <= 64 ? 21 : 32;
	case CANARY_FLOAT32:
		return r->members <= (r->how & CANARY_HOW_NARROW ? 1024 : 128) ? 32 : 64;
	default:
		return 64;
	}
}

/* Return: bits of the largest integer of a member, without its sign */
static unsigned int scale(const struct reference *r)
{
	return lane_bits(r) - 1 - log2_up(r->members);
}

/* Return: elements that share an exponent; 0: sums are exact */
static size_t group_size(const struct reference *r, size_t count)
{
	int spare;

	if (count <= 256 || r->how & CANARY_HOW_EXACT)
		return 0;
	if (count <= 4096 || r->how & CANARY_HOW_ELEMENTWISE)
		return 1;
	if (reference_bits(r->dtype) == 16)
		return lane_bits(r) == 16 ? 8 : lane_bits(r) == 32 ? 32 :
		       r->dtype == CANARY_FLOAT16 ? 8 : 16;
	if (r->dtype == CANARY_FLOAT32 && lane_bits(r) == 64)
		return 16;
	/* Bits of a lane that the most precise number of one member leaves free */
	spare = (int)scale(r) - (r->dtype == CANARY_FLOAT32 ? 24 : 53);
	return spare >= 4 ? 16 : spare == 3 ? 8 : 4;
}

/* Return: the exponent of the unit of the group of elements from @first on */
static int unit_of(const struct reference *r, const struct format *f, size_t first, size_t end)
{
	unsigned int field, most = 1;
	uint32_t rank;
	uint64_t bits;
	int unit;

	for (; first < end; first++) {
		for (rank = 0; rank < r->members; rank++) {
			bits = reference_given(r, rank, first);
			field = bits >> f->fraction & f->field_max;
			if (field < f->field_max && field > most)
				most = field;
		}
	}
	unit = (int)most - f->bias + 1 - (int)scale(r);
	return unit < f->least ? f->least : unit;
}

static void find_group(const struct reference *r, const struct format *f, size_t count, size_t i,
		       struct reference_group *g)
{
	size_t size = group_size(r, count);

	if (!size || (i >= g->first && i < g->end))
		return;
	g->first = i / size * size;
	g->end = g->first + size < count ? g->first + size : count;
	g->unit = unit_of(r, f, g->first, g->end);
}

/* Add a finite number: as it is, or as the integer that a lane has. */
static void add_number(const struct reference *r, const struct format *f, struct total *t,
		       uint64_t bits, const struct reference_group *g)
{
	uint64_t most = (1ULL << scale(r)) - 1, k;
	bool negative = bits & sign_bit(f);
	int exponent;
	uint64_t m = split(f, bits, &exponent);

	if (g->first == g->end) {
		add(t, negative, m, exponent);
		return;
	}
	k = (uint64_t)nearest(m, g->unit - exponent, false);
	add(t, negative, k < most ? k : most, g->unit);
}

static uint64_t sum(const struct reference *r, const struct format *f, size_t count, size_t i,
		    struct reference_group *g)
{
	bool plus = false, minus = false;
	struct total t = { 0 };
	uint32_t rank;
	uint64_t bits;

	find_group(r, f, count, i, g);
	for (rank = 0; rank < r->members; rank++) {
		bits = reference_given(r, rank, i);
		if (is_finite(f, bits)) {
			add_number(r, f, &t, bits, g);
			continue;
		}
		plus |= is_nan(f, bits) || !(bits & sign_bit(f));
		minus |= is_nan(f, bits) || bits & sign_bit(f);
	}
	if (plus || minus)
		return plus && minus ? quiet_nan(f) : infinity(f) | (minus ? sign_bit(f) : 0);
	return quotient(f, &t, r->op == CANARY_OP_AVG ? r->members : 1);
}

/* ---- other operators ---- */

static uint64_t product(const struct format *f, uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & sign_bit(f), m, n;
	int ea, eb;

	if (is_nan(f, a) || is_nan(f, b))
		return quiet_nan(f);
	a &= ~sign_bit(f);
	b &= ~sign_bit(f);
	if (!is_finite(f, a) || !is_finite(f, b))
		return a && b ? infinity(f) | sign : quiet_nan(f);
	m = split(f, a, &ea);
	n = split(f, b, &eb);
	return rounded(f, (uwide)m * n, ea + eb, false) | sign;
}

static bool is_less(const struct format *f, uint64_t a, uint64_t b)
{
	if ((a ^ b) & sign_bit(f))
		return a & sign_bit(f);
	return a & sign_bit(f) ? a > b : a < b;
}

static uint64_t two(enum canary_operator op, const struct format *f, uint64_t a, uint64_t b)
{
	if (op == CANARY_OP_PROD)
		return product(f, a, b);
	if (is_nan(f, a) || is_nan(f, b))
		return quiet_nan(f);
	return is_less(f, a, b) == (op == CANARY_OP_MIN) ? a : b;
}

uint64_t reference_float(const struct reference *r, size_t count, size_t i,
			 struct reference_group *g)
{
	struct format f = reference_format(r->dtype);
	uint64_t all = reference_given(r, 0, i);
	uint32_t rank;

	if (r->members == 1)
		return all;
	if (r->op == CANARY_OP_SUM || r->op == CANARY_OP_AVG)
		return sum(r, &f, count, i, g);
	for (rank = 1; rank < r->members; rank++)
		all = two(r->op, &f, all, reference_given(r, rank, i));
	return all;
}

static uint64_t plus(const struct format *f, uint64_t a, uint64_t b)
{
	const uint64_t both[] = { a, b };
	struct total t = { 0 };
	uint64_t m, bits;
	int i, exponent;

	if (is_nan(f, a) || is_nan(f, b))
		return quiet_nan(f);
	if (!is_finite(f, a) || !is_finite(f, b))
		return is_finite(f, b) ? a : is_finite(f, a) || a == b ? b : quiet_nan(f);
	for (i = 0; i < 2; i++) {
		m = split(f, both[i], &exponent);
		add(&t, both[i] & sign_bit(f), m, exponent);
	}
	bits = quotient(f, &t, 1);
	return bits ? bits : a & b & sign_bit(f);
}

/* (a + bi) (c + di), each operation rounded */
static void complex_product(const struct format *f, uint64_t *x, const uint64_t *y)
{
	uint64_t re = plus(f, product(f, x[0], y[0]), product(f, x[1], y[1]) ^ sign_bit(f));

	x[1] = plus(f, product(f, x[0], y[1]), product(f, x[1], y[0]));
	x[0] = re;
}

void reference_complex(const struct reference *r, size_t i, uint64_t *result)
{
	struct reference part = *r;
	uint64_t next[2];
	struct format f;
	uint32_t rank;

	part.dtype = reference_number(r->dtype, 0);
	f = reference_format(part.dtype);
	result[0] = reference_given(&part, 0, 2 * i);
	result[1] = reference_given(&part, 0, 2 * i + 1);
	for (rank = 1; rank < r->members; rank++) {
		next[0] = reference_given(&part, rank, 2 * i);
		next[1] = reference_given(&part, rank, 2 * i + 1);
		complex_product(&f, result, next);
	}
}
