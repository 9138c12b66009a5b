// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reference of operators (tools/canary/reference.c, reference_float.c), by which canary perf
 * and the table of kinds judge, against GMP and MPFR: integers of any length, and floating-point
 * numbers that are long enough to hold every sum exactly. Each type and operator that the core has
 * is tried, with vectors of 1 element up to groups with a shared exponent.
 */
#include <gmp.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "core/inside.h"
#include "selftests/tap.h"
#include "tools/canary/reference.h"

#define BITS		2400	/* hold a sum of 65535 numbers of any type exactly */

struct type {
	enum canary_dtype dtype;
	unsigned int bits;
	bool with_sign;
	unsigned int fraction, exponent;	/* bits; 0 of integers */
};

static const struct type types[] = {
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

static const struct shape {
	uint32_t members;
	uint32_t count;
	uint32_t how;
} shapes[] = {
	{ 1, 5 }, { 2, 1 }, { 3, 150 }, { 8, 256 }, { 4, 999, CANARY_HOW_EXACT },
	{ 5, 257 }, { 17, 300 }, { 130, 300 }, { 130, 260, CANARY_HOW_NARROW },
	{ 3, 4097 }, { 9, 4200 }, { 20, 4100 }, { 70, 4101 }, { 3, 4099, CANARY_HOW_ELEMENTWISE },
};

/* Which numbers vectors have; PERF: those of canary perf */
enum data { ANY, CANCEL, TINY, SPECIAL, PERF, DATA };

/* Of the trial that runs */
static const struct type *type;
static const struct shape *shape;
static enum canary_operator operator;
static uint64_t *values;	/* those of a rank are next to each other */

static uint64_t sign_bit(void)
{
	return 1ULL << (type->bits - 1);
}

static unsigned int field_max(void)
{
	return (1U << type->exponent) - 1;
}

static unsigned int field_of(uint64_t bits)
{
	return bits >> type->fraction & field_max();
}

static uint64_t fraction_of(uint64_t bits)
{
	return bits & ((1ULL << type->fraction) - 1);
}

static bool is_special(uint64_t bits)
{
	return field_of(bits) == field_max();
}

static bool is_nan(uint64_t bits)
{
	return is_special(bits) && fraction_of(bits);
}

static uint64_t infinity(void)
{
	return (uint64_t)field_max() << type->fraction;
}

static uint64_t the_nan(void)
{
	return infinity() | 1ULL << (type->fraction - 1);
}

/* Exponent of the least number */
static int least(void)
{
	return 1 - (int)(field_max() / 2) - (int)type->fraction;
}

/* ---- what ranks give ---- */

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

static uint64_t integer(uint64_t random)
{
	static const uint64_t edges[] = { 0, 1, ~0ULL, 1ULL << 63, ~0ULL >> 1, 2, 3, ~1ULL };

	return random >> 61 ? random >> (64 - type->bits) :
	       edges[random >> 8 & 7] >> (random >> 16 & 1 ? 64 - type->bits : 0) &
	       ~0ULL >> (64 - type->bits);
}

static uint64_t number(enum data data, uint32_t rank, size_t i)
{
	uint64_t random = random_bits(), bits = random >> (64 - type->bits);

	if (!type->fraction)
		return integer(random);
	switch (data) {
	case CANCEL:
		if (rank % 2 && random % 8)
			return values[(rank - 1) * shape->count + i] ^ sign_bit();
		break;
	case TINY:
		return (bits & (sign_bit() | ((1ULL << type->fraction) - 1))) |
		       (uint64_t)(random % 3 == 0) << type->fraction;
	case SPECIAL:
		if (i / 5 % 3 == 0 && random % 7 == 0)
			return random & 64 ? bits | infinity() : (bits & sign_bit()) | infinity();
		break;
	default:
		break;
	}
	return is_special(bits) ? bits & sign_bit() : bits;
}

static uint64_t give(const struct reference *r, uint32_t rank, size_t index)
{
	return values[rank * shape->count + index];
}

static void fill(enum data data, struct reference *r)
{
	unsigned int bytes = type->bits / 8;
	uint32_t rank;
	size_t i;
	char *own;

	values = calloc(shape->members * shape->count, sizeof(*values));
	own = calloc(shape->count, bytes);
	for (rank = 0; rank < shape->members; rank++) {
		reference_fill(r, rank, own, shape->count);
		for (i = 0; i < shape->count; i++) {
			if (data == PERF)
				memcpy(&values[rank * shape->count + i], own + i * bytes, bytes);
			else
				values[rank * shape->count + i] = number(data, rank, i);
		}
	}
	free(own);
	r->give = give;
}

/* ---- integers ---- */

static void integer_two(mpz_t all, const mpz_t one)
{
	switch (operator) {
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

static void integer_set(mpz_t to, uint64_t bits)
{
	mpz_set_ui(to, bits);
	if (type->with_sign && bits & sign_bit()) {
		mpz_set_ui(to, ~0ULL >> (64 - type->bits));
		mpz_sub_ui(to, to, bits);
		mpz_add_ui(to, to, 1);
		mpz_neg(to, to);
	}
}

/* Return: the lowest bits, in two's complement */
static uint64_t integer_bits(const mpz_t from)
{
	uint64_t bits;
	mpz_t low;

	mpz_init(low);
	mpz_fdiv_r_2exp(low, from, type->bits);
	bits = mpz_get_ui(low);
	mpz_clear(low);
	return bits;
}

static uint64_t integer_result(size_t i)
{
	uint64_t bits;
	mpz_t all, one;
	uint32_t rank;

	mpz_inits(all, one, NULL);
	integer_set(all, values[i]);
	for (rank = 1; rank < shape->members; rank++) {
		integer_set(one, values[rank * shape->count + i]);
		integer_two(all, one);
	}
	if (operator == CANARY_OP_AVG)
		mpz_tdiv_q_ui(all, all, shape->members);
	bits = integer_bits(all);
	mpz_clears(all, one, NULL);
	return bits;
}

/* ---- floating-point numbers ---- */

static void float_set(mpfr_t to, uint64_t bits)
{
	unsigned int field = field_of(bits);
	uint64_t m = fraction_of(bits) | (field ? 1ULL << type->fraction : 0);

	if (is_nan(bits))
		mpfr_set_nan(to);
	else if (is_special(bits))
		mpfr_set_inf(to, 1);
	else
		mpfr_set_ui_2exp(to, m, least() + (field ? (int)field - 1 : 0), MPFR_RNDN);
	mpfr_setsign(to, to, bits & sign_bit() ? 1 : 0, MPFR_RNDN);
}

/* Return: @from, which has no more bits than the type has */
static uint64_t float_bits(const mpfr_t from)
{
	uint64_t sign = mpfr_signbit(from) ? sign_bit() : 0, m;
	long exponent;
	mpz_t z;

	if (mpfr_nan_p(from))
		return the_nan();
	if (mpfr_inf_p(from))
		return sign | infinity();
	if (mpfr_zero_p(from))
		return sign;
	mpz_init(z);
	exponent = mpfr_get_z_2exp(z, from);
	mpz_abs(z, z);
	/* All digits, unless the exponent is the least one */
	for (; mpz_sizeinbase(z, 2) <= type->fraction && exponent > least(); exponent--)
		mpz_mul_2exp(z, z, 1);
	for (; exponent < least() || mpz_sizeinbase(z, 2) > type->fraction + 1; exponent++)
		mpz_tdiv_q_2exp(z, z, 1);
	m = mpz_get_ui(z);
	mpz_clear(z);
	return sign | (m + ((uint64_t)(exponent - least()) << type->fraction));
}

/* Round the exact @from once, to a number of the type. */
static uint64_t rounded(const mpfr_t from, uint32_t by)
{
	uint64_t bits;
	mpfr_t to;
	int more;

	mpfr_set_emin(least() + 1);
	mpfr_set_emax(field_max() / 2 + 1);
	mpfr_init2(to, type->fraction + 1);
	more = mpfr_div_ui(to, from, by, MPFR_RNDN);
	more = mpfr_check_range(to, more, MPFR_RNDN);
	mpfr_subnormalize(to, more, MPFR_RNDN);
	bits = float_bits(to);
	mpfr_clear(to);
	mpfr_set_emin(mpfr_get_emin_min());
	mpfr_set_emax(mpfr_get_emax_max());
	return bits;
}

static const struct lanes *lanes_of(void)
{
	const struct lanes *l = lanes;
	uint32_t members = shape->members;

	if (shape->how & CANARY_HOW_NARROW && type->dtype == CANARY_FLOAT32 && members > 128 &&
	    members <= NARROW)
		members = 128;
	while (l->dtype != type->dtype || l->members < members)
		l++;
	return l;
}

/* Return: bits that the integers of members have, with a shared exponent */
static int scale(void)
{
	unsigned int log = 0;

	while (1U << log < shape->members)
		log++;
	return lanes_of()->bits - 1 - log;
}

/* Return: the exponent of what integers of element @i count */
static int unit_of(size_t i)
{
	bool each = shape->count <= 4096 || shape->how & CANARY_HOW_ELEMENTWISE;
	size_t group = each ? 1 : lanes_of()->group;
	size_t first = i / group * group, end = first + group;
	unsigned int most = 1, field;
	uint32_t rank;
	int unit;

	for (i = first; i < end && i < shape->count; i++) {
		for (rank = 0; rank < shape->members; rank++) {
			field = field_of(values[rank * shape->count + i]);
			if (field < field_max() && field > most)
				most = field;
		}
	}
	unit = (int)most - (int)(field_max() / 2) + 1 - scale();
	return unit < least() ? least() : unit;
}

/* @x becomes the multiple of 2^@unit that a lane has. */
static void in_units(mpfr_t x, int unit)
{
	mpfr_t most;

	mpfr_init2(most, BITS);
	mpfr_mul_2si(x, x, -unit, MPFR_RNDN);
	mpfr_roundeven(x, x);
	mpfr_set_ui_2exp(most, 1, scale(), MPFR_RNDN);
	mpfr_sub_ui(most, most, 1, MPFR_RNDN);
	if (mpfr_cmpabs(x, most) > 0)
		mpfr_copysign(x, most, x, MPFR_RNDN);
	mpfr_mul_2si(x, x, unit, MPFR_RNDN);
	mpfr_clear(most);
}

static uint64_t sum(size_t i)
{
	bool exact = shape->count <= 256 || shape->how & CANARY_HOW_EXACT;
	bool special = false;
	int unit = exact ? 0 : unit_of(i);
	mpfr_t all, one;
	uint64_t bits;
	uint32_t rank;

	mpfr_inits2(BITS, all, one, NULL);
	mpfr_set_zero(all, 1);
	for (rank = 0; rank < shape->members; rank++) {
		bits = values[rank * shape->count + i];
		float_set(one, bits);
		special |= is_special(bits);
		if (!exact && !is_special(bits))
			in_units(one, unit);
		mpfr_add(all, all, one, MPFR_RNDN);
	}
	if (!special && mpfr_zero_p(all))
		bits = 0;
	else
		bits = rounded(all, operator == CANARY_OP_AVG ? shape->members : 1);
	mpfr_clears(all, one, NULL);
	return bits;
}

static void float_two(mpfr_t all, const mpfr_t one)
{
	if (operator == CANARY_OP_PROD)
		mpfr_mul(all, all, one, MPFR_RNDN);
	else if (mpfr_nan_p(all) || mpfr_nan_p(one))
		mpfr_set_nan(all);
	else if (operator == CANARY_OP_MIN)
		mpfr_min(all, all, one, MPFR_RNDN);
	else
		mpfr_max(all, all, one, MPFR_RNDN);
}

static uint64_t float_result(size_t i)
{
	mpfr_t all, one;
	uint32_t rank;
	uint64_t bits;

	if (operator == CANARY_OP_SUM || operator == CANARY_OP_AVG)
		return sum(i);
	mpfr_inits2(BITS, all, one, NULL);
	float_set(all, values[i]);
	for (rank = 1; rank < shape->members; rank++) {
		float_set(one, values[rank * shape->count + i]);
		float_two(all, one);
		/* Products are rounded after each rank. */
		if (!mpfr_nan_p(all))
			float_set(all, rounded(all, 1));
	}
	bits = float_bits(all);
	mpfr_clears(all, one, NULL);
	return bits;
}

/* ---- trials ---- */

static bool trial(enum data data)
{
	struct reference r = {
		.dtype = type->dtype, .op = operator, .members = shape->members, .how = shape->how,
		.seed = 1 + 100 * operator + type->dtype,
	};
	unsigned int bytes = type->bits / 8;
	char *want = calloc(shape->count, bytes);
	uint64_t bits, wrong, broken;
	size_t i;

	fill(data, &r);
	for (i = 0; i < shape->count; i++) {
		bits = shape->members == 1 ? values[i] :
		       type->fraction ? float_result(i) : integer_result(i);
		memcpy(want + i * bytes, &bits, bytes);
	}
	wrong = reference_wrong(&r, want, shape->count, true);
	/* It has to find one wrong bit, too. */
	i = random_bits() % shape->count;
	want[i * bytes + random_bits() % bytes] ^= 1 << random_bits() % 8;
	broken = reference_wrong(&r, want, shape->count, false);
	if (wrong || broken != 1)
		printf("# %u members, %u elements, how %u, data %u: %llu wrong; one changed: %llu\n",
		       shape->members, shape->count, shape->how, data, (unsigned long long)wrong,
		       (unsigned long long)broken);
	free(values);
	free(want);
	return !wrong && broken == 1;
}

static void trials(u32 dtype)
{
	u32 good = 0, all = 0, i, d;
	char name[64];

	snprintf(name, sizeof(name), "%s of %s", cnr_operator_name(operator),
		 cnr_dtype_name(dtype));
	for (i = 0; i < ARRAY_SIZE(types) && types[i].dtype != dtype; i++)
		;
	if (i == ARRAY_SIZE(types) || operator > CANARY_OP_AVG) {
		tap_skip(name, "there is no second reference");
		return;
	}
	type = &types[i];
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		shape = &shapes[i];
		for (d = 0; d < DATA; d++) {
			/* How long a vector is matters to floating-point numbers only. */
			if (!type->fraction && ((d != ANY && d != PERF) || shape->count > 1000))
				continue;
			all++;
			good += trial(d);
		}
	}
	tap(good == all, "%s: %u of %u trials as GMP and MPFR have it", name, good, all);
}

int main(void)
{
	u32 op, dtype;

	for (dtype = 1; cnr_dtype_name(dtype); dtype++) {
		for (op = 1; cnr_operator_name(op); op++) {
			operator = op;
			if (cnr_element(op, dtype))
				trials(dtype);
		}
	}
	return tap_done("kinds-reference");
}
