// SPDX-License-Identifier: BSD-2-Clause
/*
 * Floating-point operators, in trees and rings, with loss. docs/floating-point.md says what is
 * right. It is computed here once more, with rational numbers of any length.
 */
#include <gmp.h>

#include "core/inside.h"
#include "trial.h"

#define NAN_ONLY	3	/* of both signs of infinity */

struct type {
	const char *name;
	u8	dtype;
	u8	bytes;
	u8	fraction;
	u8	exponent;
};

static const struct type types[] = {
	{ "float16", CANARY_FLOAT16, 2, 10, 5 },
	{ "bfloat16", CANARY_BFLOAT16, 2, 7, 8 },
	{ "float32", CANARY_FLOAT32, 4, 23, 8 },
	{ "float64", CANARY_FLOAT64, 8, 52, 11 },
};

static const struct {
	const char *name;
	u8	op;
} operators[] = {
	{ "sum", CANARY_OP_SUM }, { "avg", CANARY_OP_AVG }, { "prod", CANARY_OP_PROD },
	{ "min", CANARY_OP_MIN }, { "max", CANARY_OP_MAX },
};

/* Which numbers vectors have */
enum data {
	NEAR,			/* of like size */
	ALL,			/* any finite bits */
	CANCEL,			/* most of it cancels out */
	TINY,			/* subnormal, or next to that */
	SPECIAL,		/* some are infinite, or no numbers */
	DATA
};

static const char *const data_name[] = { "near", "all", "cancel", "tiny", "special" };

static const struct shape {
	u32	members;
	u32	elements;
	u8	how;
	u8	algorithm;
	bool	aggregate;
	bool	pinned;
	u32	drop;
	u32	mtu;
} shapes[] = {
	{ 2, 0, 0, CANARY_ALG_TREE },
	{ 3, 1, 0, CANARY_ALG_TREE },
	{ 8, 1, 0, CANARY_ALG_TREE, .aggregate = true },
	{ 5, 150, 0, CANARY_ALG_TREE, .aggregate = true, .drop = 20000 },
	{ 4, 256, 0, CANARY_ALG_RING },
	{ 4, 999, CANARY_HOW_EXACT, CANARY_ALG_TREE, .pinned = true, .drop = 20000 },
	{ 4, 257, 0, CANARY_ALG_TREE, .aggregate = true },
	{ 9, 4096, 0, CANARY_ALG_TREE, .drop = 10000 },
	{ 3, 4097, 0, CANARY_ALG_TREE, .aggregate = true, .pinned = true, .drop = 20000 },
	{ 7, 5003, 0, CANARY_ALG_RING, .drop = 10000 },
	{ 9, 4500, 0, CANARY_ALG_TREE, .aggregate = true },
	{ 17, 4999, 0, CANARY_ALG_TREE, .aggregate = true, .mtu = 600 },
	{ 4, 4999, CANARY_HOW_ELEMENTWISE, CANARY_ALG_RING, .pinned = true, .drop = 20000 },
};

/* Of the trial that runs */
static const struct type *type;
static const struct shape *shape;
static u8 operator;
static enum data data;
static u64 seed;

static u64 any(u64 a, u64 b)
{
	u64 x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + seed;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static u64 sign_bit(void)
{
	return 1ULL << (8 * type->bytes - 1);
}

static u32 field_max(void)
{
	return (1U << type->exponent) - 1;
}

static u32 field_of(u64 bits)
{
	return bits >> type->fraction & field_max();
}

static u64 bits_of(u64 random, u32 field)
{
	u64 fraction = random & ((1ULL << type->fraction) - 1);

	return (random & sign_bit()) | (u64)field << type->fraction | fraction;
}

static u64 give(u32 rank, u32 i)
{
	u64 random = any(rank, i), common = any(99, i / 40);
	u32 middle = field_max() / 2;

	switch (data) {
	case NEAR:
		return random % 16 ? bits_of(random, middle - random % 5) : random % 32 ? 0 : sign_bit();
	case CANCEL:
		if (rank < shape->members / 2 * 2 && random % 8)
			return bits_of(any(rank / 2, i), any(rank / 2, i + 7) % field_max()) ^
			       (rank % 2 ? sign_bit() : 0);
		return bits_of(random, random % middle);
	case TINY:
		return bits_of(random, random % 3 ? 0 : 1 + random % 2);
	case SPECIAL:
		if (common % 3 == 0 && random % 9 == 0)
			return bits_of(random % 2 ? random & sign_bit() : random, field_max());
		/* fall through */
	default:
		return bits_of(random, random >> 20 & field_max() ? random % field_max() : 0);
	}
}

/* ---- numbers ---- */

/* @to = the finite number @bits */
static void value_of(mpq_t to, u64 bits)
{
	u32 field = field_of(bits);
	s32 exponent = (s32)(field ? field : 1) - (s32)(field_max() / 2) - type->fraction;
	u64 m = bits & ((1ULL << type->fraction) - 1);

	if (field)
		m |= 1ULL << type->fraction;
	mpq_set_ui(to, m, 1);
	if (exponent >= 0)
		mpq_mul_2exp(to, to, exponent);
	else
		mpq_div_2exp(to, to, -exponent);
	if (bits & sign_bit())
		mpq_neg(to, to);
}

/* Round @x, which is positive, to the nearest integer; of two, the even one. */
static void nearest(mpz_t to, const mpq_t x)
{
	mpz_t rest;
	int half;

	mpz_init(rest);
	mpz_fdiv_qr(to, rest, mpq_numref(x), mpq_denref(x));
	mpz_mul_2exp(rest, rest, 1);
	half = mpz_cmp(rest, mpq_denref(x));
	if (half > 0 || (!half && mpz_odd_p(to)))
		mpz_add_ui(to, to, 1);
	mpz_clear(rest);
}

/* Return: the number nearest to @x */
static u64 rounded(const mpq_t x)
{
	s32 bias = field_max() / 2, field, low;
	u64 bits, sign = mpq_sgn(x) < 0 ? sign_bit() : 0;
	mpq_t scaled;
	mpz_t k;

	if (!mpq_sgn(x))
		return 0;
	mpq_init(scaled);
	mpz_init(k);
	mpq_abs(scaled, x);
	/* The exponent of the highest bit, or one more */
	field = (s32)mpz_sizeinbase(mpq_numref(scaled), 2) -
		(s32)mpz_sizeinbase(mpq_denref(scaled), 2) + bias;
	for (;; field--) {
		low = (field < 1 ? 1 : field) - bias - type->fraction;
		mpq_abs(scaled, x);
		if (low >= 0)
			mpq_div_2exp(scaled, scaled, low);
		else
			mpq_mul_2exp(scaled, scaled, -low);
		if (field <= 1 || mpq_cmp_ui(scaled, 1UL << type->fraction, 1) >= 0)
			break;
	}
	nearest(k, scaled);
	bits = mpz_get_ui(k) + ((u64)((field < 1 ? 1 : field) - 1) << type->fraction);
	if (field > (s32)field_max() || bits >> type->fraction >= field_max())
		bits = (u64)field_max() << type->fraction;
	mpz_clear(k);
	mpq_clear(scaled);
	return bits | sign;
}

static bool is_special(u64 bits)
{
	return field_of(bits) == field_max();
}

static bool is_nan(u64 bits)
{
	return is_special(bits) && bits & ((1ULL << type->fraction) - 1);
}

static u64 the_nan(void)
{
	return (2ULL * field_max() + 1) << (type->fraction - 1);
}

/* Return: what the numbers add up to that are not finite; 0: all are */
static u64 specials(u32 i)
{
	u32 r, found = 0;
	u64 bits;

	for (r = 0; r < shape->members; r++) {
		bits = give(r, i);
		if (is_special(bits))
			found |= is_nan(bits) ? NAN_ONLY : bits & sign_bit() ? 2 : 1;
	}
	return found == NAN_ONLY ? the_nan() :
	       found ? (u64)field_max() << type->fraction | (found == 2 ? sign_bit() : 0) : 0;
}

/* ---- sums ---- */

static bool is_exact(void)
{
	return shape->elements <= 256 || shape->how & CANARY_HOW_EXACT;
}

static u32 lane_bits(void)
{
	u32 n = shape->members;

	if (type->dtype == CANARY_FLOAT16)
		return n <= 16 ? 21 : 32;
	if (type->dtype == CANARY_BFLOAT16)
		return n <= 8 ? 16 : n <= 64 ? 21 : 32;
	return type->dtype == CANARY_FLOAT64 || n > 128 ? 64 : 32;
}

/* Return: elements that share an exponent */
static u32 group_size(void)
{
	u32 n = shape->members;

	if (shape->elements <= 4096 || shape->how & CANARY_HOW_ELEMENTWISE)
		return 1;
	switch (type->dtype) {
	case CANARY_FLOAT16:
		return n <= 16 ? 8 : 32;
	case CANARY_BFLOAT16:
		return n <= 8 ? 8 : n <= 64 ? 16 : 32;
	case CANARY_FLOAT32:
		return n <= 8 || n > 128 ? 16 : n <= 16 ? 8 : 4;
	default:
		return n <= 64 ? 16 : n <= 128 ? 8 : 4;
	}
}

/* Return: the exponent of what integers of element @i count; @of: what its group's is */
static s32 unit_exponent(u32 i)
{
	u32 group = group_size(), first = i / group * group, end = first + group;
	u32 r, field, most = 1, log = 0;
	s32 bias = field_max() / 2, scale, least = 1 - bias - type->fraction;

	end = end < shape->elements ? end : shape->elements;
	for (i = first; i < end; i++)
		for (r = 0; r < shape->members; r++) {
			field = field_of(give(r, i));
			if (field < field_max() && field > most)
				most = field;
		}
	while (1U << log < shape->members)
		log++;
	scale = lane_bits() - 1 - log;
	return (s32)most - bias + 1 - scale < least ? least : (s32)most - bias + 1 - scale;
}

/* @x = @x in units of 2^@unit, rounded to an integer that lanes hold, and back */
static void in_units(mpq_t x, s32 unit)
{
	int sign = mpq_sgn(x);
	u32 log = 0;
	mpz_t k, most;

	while (1U << log < shape->members)
		log++;
	mpz_init(k);
	mpz_init(most);
	mpq_abs(x, x);
	if (unit >= 0)
		mpq_div_2exp(x, x, unit);
	else
		mpq_mul_2exp(x, x, -unit);
	nearest(k, x);
	mpz_ui_pow_ui(most, 2, lane_bits() - 1 - log);
	if (mpz_cmp(k, most) >= 0)
		mpz_sub_ui(k, most, 1);
	mpq_set_z(x, k);
	if (unit >= 0)
		mpq_mul_2exp(x, x, unit);
	else
		mpq_div_2exp(x, x, -unit);
	if (sign < 0)
		mpq_neg(x, x);
	mpz_clear(k);
	mpz_clear(most);
}

static u64 sum(u32 i)
{
	u64 bits = specials(i);
	s32 unit = 0;
	mpq_t all, one;
	u32 r;

	if (bits)
		return bits;
	mpq_init(all);
	mpq_init(one);
	if (!is_exact())
		unit = unit_exponent(i);
	for (r = 0; r < shape->members; r++) {
		value_of(one, give(r, i));
		if (!is_exact())
			in_units(one, unit);
		mpq_add(all, all, one);
	}
	if (operator == CANARY_OP_AVG) {
		mpq_set_ui(one, shape->members, 1);
		mpq_div(all, all, one);
	}
	bits = rounded(all);
	mpq_clear(all);
	mpq_clear(one);
	return bits;
}

/* ---- other operators ---- */

static u64 product_of(u64 a, u64 b)
{
	u64 sign = (a ^ b) & sign_bit(), bits;
	mpq_t x, y;

	if (is_nan(a) || is_nan(b))
		return the_nan();
	a &= ~sign_bit();
	b &= ~sign_bit();
	if (is_special(a) || is_special(b))
		return a && b ? sign | (u64)field_max() << type->fraction : the_nan();
	mpq_init(x);
	mpq_init(y);
	value_of(x, a);
	value_of(y, b);
	mpq_mul(x, x, y);
	bits = rounded(x) | sign;
	mpq_clear(x);
	mpq_clear(y);
	return bits;
}

/* Does @a come before @b? */
static bool is_less(u64 a, u64 b)
{
	if ((a ^ b) & sign_bit())
		return a & sign_bit();
	return a & sign_bit() ? a > b : a < b;
}

static u64 wanted(u32 i)
{
	u64 all = give(0, i), one;
	u32 r;

	if (operator == CANARY_OP_SUM || operator == CANARY_OP_AVG)
		return sum(i);
	if (is_nan(all))
		all = the_nan();
	for (r = 1; r < shape->members; r++) {
		one = give(r, i);
		if (operator == CANARY_OP_PROD)
			all = product_of(all, one);
		else if (is_nan(one) || is_nan(all))
			all = the_nan();
		else if (operator == CANARY_OP_MIN ? is_less(one, all) : is_less(all, one))
			all = one;
	}
	return all;
}

static u64 *want;

static bool right(u32 op, const void *got, u32 elements)
{
	u64 bits;
	u32 i;

	for (i = 0; i < elements; i++) {
		bits = 0;
		memcpy(&bits, (const u8 *)got + i * type->bytes, type->bytes);
		if (bits != want[i]) {
			printf("# %s, %u members, element %u of %u: %#llx, not %#llx\n", type->name,
			       shape->members, i, elements, (unsigned long long)bits,
			       (unsigned long long)want[i]);
			return false;
		}
	}
	return true;
}

static bool trial(void)
{
	struct tnet_config cfg = {
		.members = shape->members, .aggregate = shape->aggregate, .seed = seed,
		.key = seed & 1, .algorithm = shape->algorithm, .pinned = shape->pinned,
		.faults.drop = shape->drop, .mtu = shape->mtu, .dtype = type->dtype,
		.op = operator, .how = shape->how, .element = type->bytes, .give = give,
		.right = right,
	};
	struct tnet *s = tnet_new(&cfg);
	u32 i, good = 0;

	want = calloc(shape->elements + 1, sizeof(*want));
	for (i = 0; i < shape->elements; i++)
		want[i] = wanted(i);
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 0; i < shape->members; i++)
		if (tnet_post(s, i, shape->elements) || tnet_post(s, i, shape->elements) ||
		    tnet_post(s, i, shape->elements))
			abort();
	tnet_wait_completed(s, 3, 20 * S);
	for (i = 0; i < shape->members; i++)
		good += tnet_completed(s, i) == 3 && !tnet_last_error(s, i);
	good = good == shape->members && !tnet_wrong(s);
	tnet_free(s);
	free(want);
	return good;
}

/*
 * Exact sums and products may take many blocks for an element. So many that serial numbers would
 * not tell them apart are refused. Nobody reads these vectors.
 */
static void too_many_blocks(void)
{
	static const struct {
		u32	elements;
		u8	op;
		u8	how;
	} posts[] = {
		{ 0xffffffff, CANARY_OP_SUM, CANARY_HOW_EXACT },
		{ 0xffffffff, CANARY_OP_PROD, 0 },
		{ 3U << 29, CANARY_OP_PROD, 0 },
	};
	struct tnet_config cfg = { .members = 96, .seed = 1, .mtu = 576 };
	struct tnet *s = tnet_new(&cfg);
	u64 data = 0, memory[64] = { 0 };
	u32 i, good = 0;

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 0; i < ARRAY_SIZE(posts); i++) {
		struct cnr_op op = {
			.data = &data, .memory = memory, .elements = posts[i].elements,
			.dtype = CANARY_FLOAT64, .op = posts[i].op, .how = posts[i].how,
		};

		good += cnr_post(tnet_comm(s, 0), 0, &op) == -EMSGSIZE;
	}
	tnet_free(s);
	tap(good == i, "operations of too many blocks are refused: %u of %u", good, i);
}

int main(void)
{
	u32 o, t, i, good, all = ARRAY_SIZE(shapes) * DATA;

	too_many_blocks();
	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		operator = operators[o].op;
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			type = &types[t];
			for (good = 0, i = 0; i < all; i++) {
				shape = &shapes[i / DATA];
				data = i % DATA;
				seed = 1000 * o + 100 * t + i;
				if (trial())
					good++;
				else
					printf("# %s of %s: shape %u, %s\n", operators[o].name,
					       type->name, i / DATA, data_name[data]);
			}
			tap(good == all, "%s of %s: %u of %u trials", operators[o].name,
			    type->name, good, all);
		}
	}
	return tap_done("core-floats");
}
