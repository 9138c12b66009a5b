// SPDX-License-Identifier: BSD-2-Clause
/* What operators do, by GMP and MPFR, see second.h and docs/floating-point.md. */
#include <gmp.h>
#include <mpfr.h>

#include "second.h"

#define BITS		2400	/* hold a sum of 65535 numbers of any type exactly */

static const struct second_type types[] = {
	{ CANARY_INT8, 8, true }, { CANARY_UINT8, 8 }, { CANARY_INT16, 16, true },
	{ CANARY_UINT16, 16 }, { CANARY_INT32, 32, true }, { CANARY_UINT32, 32 },
	{ CANARY_INT64, 64, true }, { CANARY_UINT64, 64 },
	{ CANARY_FLOAT16, 16, true, 10, 5 }, { CANARY_BFLOAT16, 16, true, 7, 8 },
	{ CANARY_FLOAT32, 32, true, 23, 8 }, { CANARY_FLOAT64, 64, true, 52, 11 },
};

/* docs/floating-point.md: up to so many members, bits of a lane, elements with one exponent */
static const struct lanes {
	enum canary_dtype dtype;
	uint32_t members;
	int bits;
	unsigned int group;
} lanes[] = {
	{ CANARY_FLOAT16, 16, 21, 8 }, { CANARY_FLOAT16, 65535, 32, 32 },
	{ CANARY_BFLOAT16, 8, 16, 8 }, { CANARY_BFLOAT16, 64, 21, 16 },
	{ CANARY_BFLOAT16, 65535, 32, 32 },
	{ CANARY_FLOAT32, 8, 32, 16 }, { CANARY_FLOAT32, 16, 32, 8 },
	{ CANARY_FLOAT32, 128, 32, 4 }, { CANARY_FLOAT32, 65535, 64, 16 },
	{ CANARY_FLOAT64, 64, 64, 16 }, { CANARY_FLOAT64, 128, 64, 8 },
	{ CANARY_FLOAT64, 65535, 64, 4 },
};

#define NARROW	1024	/* members that have lanes of 128, if that was asked for */

const struct second_type *second_type(enum canary_dtype dtype)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].dtype == dtype)
			return &types[i];
	return NULL;
}

static uint64_t given(const struct second *s, uint32_t rank, size_t i)
{
	return s->values[rank * s->numbers + i];
}

/* ---- integers ---- */

static void integer_two(enum canary_operator op, mpz_t all, const mpz_t one)
{
	switch (op) {
	case CANARY_OP_PROD:
		mpz_mul(all, all, one);
		break;
	case CANARY_OP_MIN:
		if (mpz_cmp(one, all) < 0)
			mpz_set(all, one);
		break;
	case CANARY_OP_MAX:
		if (mpz_cmp(one, all) > 0)
			mpz_set(all, one);
		break;
	case CANARY_OP_AND:
		mpz_and(all, all, one);
		break;
	case CANARY_OP_OR:
		mpz_ior(all, all, one);
		break;
	case CANARY_OP_XOR:
		mpz_xor(all, all, one);
		break;
	case CANARY_OP_LAND:
		mpz_set_ui(all, mpz_sgn(all) && mpz_sgn(one));
		break;
	case CANARY_OP_LOR:
		mpz_set_ui(all, mpz_sgn(all) || mpz_sgn(one));
		break;
	case CANARY_OP_LXOR:
		mpz_set_ui(all, !mpz_sgn(all) != !mpz_sgn(one));
		break;
	default:
		mpz_add(all, all, one);
	}
}

static void integer_set(const struct second_type *t, mpz_t to, uint64_t bits)
{
	mpz_set_ui(to, bits);
	if (t->with_sign && bits & second_sign(t)) {
		mpz_set_ui(to, ~0ULL >> (64 - t->bits));
		mpz_sub_ui(to, to, bits);
		mpz_add_ui(to, to, 1);
		mpz_neg(to, to);
	}
}

/* Return: the lowest bits, in two's complement */
static uint64_t integer_bits(const struct second_type *t, const mpz_t from)
{
	uint64_t bits;
	mpz_t low;

	mpz_init(low);
	mpz_fdiv_r_2exp(low, from, t->bits);
	bits = mpz_get_ui(low);
	mpz_clear(low);
	return bits;
}

/* The nearest number that the type has */
static void saturate(const struct second_type *t, mpz_t all)
{
	mpz_t most, least;

	mpz_inits(most, least, NULL);
	mpz_setbit(most, t->bits - t->with_sign);
	if (t->with_sign)
		mpz_neg(least, most);
	mpz_sub_ui(most, most, 1);
	if (mpz_cmp(all, most) > 0)
		mpz_set(all, most);
	if (mpz_cmp(all, least) < 0)
		mpz_set(all, least);
	mpz_clears(most, least, NULL);
}

static uint64_t integer_result(const struct second *s, size_t i)
{
	uint64_t bits;
	mpz_t all, one;
	uint32_t rank;

	mpz_inits(all, one, NULL);
	integer_set(s->type, all, given(s, 0, i));
	for (rank = 1; rank < s->members; rank++) {
		integer_set(s->type, one, given(s, rank, i));
		integer_two(s->op, all, one);
	}
	if (s->op == CANARY_OP_AVG)
		mpz_tdiv_q_ui(all, all, s->members);
	if (s->op == CANARY_OP_SUM && s->how & CANARY_HOW_SATURATE)
		saturate(s->type, all);
	bits = integer_bits(s->type, all);
	mpz_clears(all, one, NULL);
	return bits;
}

/* ---- floating-point numbers ---- */

static unsigned int field_max(const struct second_type *t)
{
	return (1U << t->exponent) - 1;
}

static unsigned int field_of(const struct second_type *t, uint64_t bits)
{
	return bits >> t->fraction & field_max(t);
}

static uint64_t fraction_of(const struct second_type *t, uint64_t bits)
{
	return bits & ((1ULL << t->fraction) - 1);
}

/* Exponent of the least number */
static int least(const struct second_type *t)
{
	return 1 - (int)(field_max(t) / 2) - (int)t->fraction;
}

static void float_set(const struct second_type *t, mpfr_t to, uint64_t bits)
{
	unsigned int field = field_of(t, bits);
	uint64_t m = fraction_of(t, bits) | (field ? 1ULL << t->fraction : 0);

	if (second_is_special(t, bits) && fraction_of(t, bits))
		mpfr_set_nan(to);
	else if (second_is_special(t, bits))
		mpfr_set_inf(to, 1);
	else
		mpfr_set_ui_2exp(to, m, least(t) + (field ? (int)field - 1 : 0), MPFR_RNDN);
	mpfr_setsign(to, to, bits & second_sign(t) ? 1 : 0, MPFR_RNDN);
}

/* Return: @from, which has no more bits than the type has */
static uint64_t float_bits(const struct second_type *t, const mpfr_t from)
{
	uint64_t sign = mpfr_signbit(from) ? second_sign(t) : 0, m;
	long exponent;
	mpz_t z;

	if (mpfr_nan_p(from))
		return second_nan(t);
	if (mpfr_inf_p(from))
		return sign | second_infinity(t);
	if (mpfr_zero_p(from))
		return sign;
	mpz_init(z);
	exponent = mpfr_get_z_2exp(z, from);
	mpz_abs(z, z);
	/* All digits, unless the exponent is the least one */
	for (; mpz_sizeinbase(z, 2) <= t->fraction && exponent > least(t); exponent--)
		mpz_mul_2exp(z, z, 1);
	for (; exponent < least(t) || mpz_sizeinbase(z, 2) > t->fraction + 1; exponent++)
		mpz_tdiv_q_2exp(z, z, 1);
	m = mpz_get_ui(z);
	mpz_clear(z);
	return sign | (m + ((uint64_t)(exponent - least(t)) << t->fraction));
}

/* Round the exact @from once, to a number of the type. */
static uint64_t rounded(const struct second_type *t, const mpfr_t from, uint32_t by)
{
	uint64_t bits;
	mpfr_t to;
	int more;

	mpfr_set_emin(least(t) + 1);
	mpfr_set_emax(field_max(t) / 2 + 1);
	mpfr_init2(to, t->fraction + 1);
	more = mpfr_div_ui(to, from, by, MPFR_RNDN);
	more = mpfr_check_range(to, more, MPFR_RNDN);
	mpfr_subnormalize(to, more, MPFR_RNDN);
	bits = float_bits(t, to);
	mpfr_clear(to);
	mpfr_set_emin(mpfr_get_emin_min());
	mpfr_set_emax(mpfr_get_emax_max());
	return bits;
}

static const struct lanes *lanes_of(const struct second *s)
{
	const struct lanes *l = lanes;
	uint32_t members = s->members;

	if (s->how & CANARY_HOW_NARROW && s->type->dtype == CANARY_FLOAT32 && members > 128 &&
	    members <= NARROW)
		members = 128;
	while (l->dtype != s->type->dtype || l->members < members)
		l++;
	return l;
}

/* Return: bits that the integers of members have, with a shared exponent */
static int scale(const struct second *s)
{
	unsigned int log = 0;

	while (1U << log < s->members)
		log++;
	return lanes_of(s)->bits - 1 - log;
}

/* Return: the exponent of what integers of number @i count */
static int unit_of(const struct second *s, size_t i)
{
	bool each = s->numbers <= 4096 || s->how & CANARY_HOW_ELEMENTWISE;
	size_t group = each ? 1 : lanes_of(s)->group;
	size_t first = i / group * group, end = first + group;
	unsigned int most = 1, field;
	uint32_t rank;
	int unit;

	for (i = first; i < end && i < s->numbers; i++) {
		for (rank = 0; rank < s->members; rank++) {
			field = field_of(s->type, given(s, rank, i));
			if (field < field_max(s->type) && field > most)
				most = field;
		}
	}
	unit = (int)most - (int)(field_max(s->type) / 2) + 1 - scale(s);
	return unit < least(s->type) ? least(s->type) : unit;
}

/* @x becomes the multiple of 2^@unit that a lane has. */
static void in_units(const struct second *s, mpfr_t x, int unit)
{
	mpfr_t most;

	mpfr_init2(most, BITS);
	mpfr_mul_2si(x, x, -unit, MPFR_RNDN);
	mpfr_roundeven(x, x);
	mpfr_set_ui_2exp(most, 1, scale(s), MPFR_RNDN);
	mpfr_sub_ui(most, most, 1, MPFR_RNDN);
	if (mpfr_cmpabs(x, most) > 0)
		mpfr_copysign(x, most, x, MPFR_RNDN);
	mpfr_mul_2si(x, x, unit, MPFR_RNDN);
	mpfr_clear(most);
}

static uint64_t sum(const struct second *s, size_t i)
{
	bool exact = s->numbers <= 256 || s->how & CANARY_HOW_EXACT;
	bool special = false;
	int unit = exact ? 0 : unit_of(s, i);
	mpfr_t all, one;
	uint64_t bits;
	uint32_t rank;

	mpfr_inits2(BITS, all, one, NULL);
	mpfr_set_zero(all, 1);
	for (rank = 0; rank < s->members; rank++) {
		bits = given(s, rank, i);
		float_set(s->type, one, bits);
		special |= second_is_special(s->type, bits);
		if (!exact && !second_is_special(s->type, bits))
			in_units(s, one, unit);
		mpfr_add(all, all, one, MPFR_RNDN);
	}
	if (!special && mpfr_zero_p(all))
		bits = 0;
	else
		bits = rounded(s->type, all, s->op == CANARY_OP_AVG ? s->members : 1);
	mpfr_clears(all, one, NULL);
	return bits;
}

static void float_two(enum canary_operator op, mpfr_t all, const mpfr_t one)
{
	if (op == CANARY_OP_PROD)
		mpfr_mul(all, all, one, MPFR_RNDN);
	else if (mpfr_nan_p(all) || mpfr_nan_p(one))
		mpfr_set_nan(all);
	else if (op == CANARY_OP_MIN || op == CANARY_OP_MINLOC)
		mpfr_min(all, all, one, MPFR_RNDN);
	else
		mpfr_max(all, all, one, MPFR_RNDN);
}

static uint64_t float_result(const struct second *s, size_t i)
{
	mpfr_t all, one;
	uint32_t rank;
	uint64_t bits;

	if (s->op == CANARY_OP_SUM || s->op == CANARY_OP_AVG)
		return sum(s, i);
	mpfr_inits2(BITS, all, one, NULL);
	float_set(s->type, all, given(s, 0, i));
	for (rank = 1; rank < s->members; rank++) {
		float_set(s->type, one, given(s, rank, i));
		float_two(s->op, all, one);
		/* Products are rounded after each rank. */
		if (!mpfr_nan_p(all))
			float_set(s->type, all, rounded(s->type, all, 1));
	}
	bits = float_bits(s->type, all);
	mpfr_clears(all, one, NULL);
	return bits;
}

uint64_t second_number(const struct second *s, size_t i)
{
	if (s->members == 1)
		return given(s, 0, i);
	return s->type->fraction ? float_result(s, i) : integer_result(s, i);
}

/* ---- complex numbers ---- */

/* Return: what @f makes of two numbers, rounded once */
static uint64_t step(const struct second_type *t,
		     int (*f)(mpfr_ptr to, mpfr_srcptr a, mpfr_srcptr b, mpfr_rnd_t round),
		     uint64_t a, uint64_t b)
{
	uint64_t bits;
	mpfr_t x, y;

	mpfr_inits2(BITS, x, y, NULL);
	float_set(t, x, a);
	float_set(t, y, b);
	f(x, x, y, MPFR_RNDN);
	bits = rounded(t, x, 1);
	mpfr_clears(x, y, NULL);
	return bits;
}

void second_complex(const struct second *s, size_t i, uint64_t *result)
{
	uint64_t re = given(s, 0, 2 * i), im = given(s, 0, 2 * i + 1), a, b, c, d;
	const struct second_type *t = s->type;
	uint32_t rank;

	for (rank = 1; rank < s->members; rank++) {
		a = re;
		b = im;
		c = given(s, rank, 2 * i);
		d = given(s, rank, 2 * i + 1);
		re = step(t, mpfr_sub, step(t, mpfr_mul, a, c), step(t, mpfr_mul, b, d));
		im = step(t, mpfr_add, step(t, mpfr_mul, a, d), step(t, mpfr_mul, b, c));
	}
	result[0] = re;
	result[1] = im;
}

/* ---- pairs of a value and an index ---- */

static void value_set(const struct second_type *t, mpfr_t to, uint64_t bits)
{
	mpz_t z;

	if (t->fraction) {
		float_set(t, to, bits);
		return;
	}
	mpz_init(z);
	integer_set(t, z, bits);
	mpfr_set_z(to, z, MPFR_RNDN);
	mpz_clear(z);
}

static uint64_t value_bits(const struct second_type *t, const mpfr_t from)
{
	uint64_t bits;
	mpz_t z;

	if (t->fraction)
		return float_bits(t, from);
	mpz_init(z);
	mpfr_get_z(z, from, MPFR_RNDN);
	bits = integer_bits(t, z);
	mpz_clear(z);
	return bits;
}

static int32_t index_of(const struct second *s, uint32_t rank, size_t i)
{
	return (int32_t)given(s, rank, 2 * i + 1);
}

/* Zeros are equal, and so are NaNs. */
static bool has_value(const struct second *s, uint32_t rank, size_t i, const mpfr_t value)
{
	mpfr_t own;
	bool has;

	mpfr_init2(own, BITS);
	value_set(s->type, own, given(s, rank, 2 * i));
	has = mpfr_nan_p(value) ? mpfr_nan_p(own) : mpfr_equal_p(own, value);
	mpfr_clear(own);
	return has;
}

/*
 * @all becomes the least or largest value.
 * @index:	among ranks that have this one; NULL: among all
 *
 * Return: SECOND_ZEROS or 0
 */
static unsigned int extreme(const struct second *s, size_t i, const int32_t *index, mpfr_t all)
{
	unsigned int zeros = 0;
	bool first = true;
	uint32_t rank;
	mpfr_t own;

	mpfr_init2(own, BITS);
	for (rank = 0; rank < s->members; rank++) {
		if (index && index_of(s, rank, i) != *index)
			continue;
		value_set(s->type, own, given(s, rank, 2 * i));
		if (s->type->fraction && mpfr_zero_p(own))
			zeros |= mpfr_signbit(own) ? 1 : 2;
		if (first)
			mpfr_set(all, own, MPFR_RNDN);
		else
			float_two(s->op, all, own);
		first = false;
	}
	mpfr_clear(own);
	return zeros == 3 && mpfr_zero_p(all) ? SECOND_ZEROS : 0;
}

/* The value first, then its lowest index, and then which zero it is. */
unsigned int second_pair(const struct second *s, size_t i, uint64_t *result)
{
	bool found = false, other = false;
	unsigned int same;
	int32_t index = 0;
	uint32_t rank;
	mpfr_t value;

	mpfr_init2(value, BITS);
	extreme(s, i, NULL, value);
	for (rank = 0; rank < s->members; rank++) {
		if (!has_value(s, rank, i, value))
			continue;
		other |= found && index_of(s, rank, i) != index;
		if (!found || index_of(s, rank, i) < index)
			index = index_of(s, rank, i);
		found = true;
	}
	same = extreme(s, i, &index, value);
	if (other)
		same |= mpfr_nan_p(value) ? SECOND_NANS : SECOND_VALUES;
	result[0] = s->members == 1 ? given(s, 0, 2 * i) : value_bits(s->type, value);
	result[1] = (uint32_t)index;
	mpfr_clear(value);
	return same;
}
