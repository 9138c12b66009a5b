// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sets of numbers, see values.h. They are computed in doubles by additions, multiplications,
 * divisions and roots alone, which IEEE 754 rounds the same way everywhere. So the compiler must not
 * fuse two of them, as it otherwise may.
 */
#include <math.h>

#include "tools/canary/reference_float.h"
#include "values.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#define ROW		64	/* elements of a row of embeddings */
#define LAYER		512	/* elements of a layer */
#define CHANNELS	1000

const char *const values_names[] = {
	[VALUES_GAUSS] = "gauss",
	[VALUES_HEAVY] = "heavy",
	[VALUES_EMBEDDINGS] = "embeddings",
	[VALUES_OUTLIERS] = "outliers",
	[VALUES_ADVERSARIAL] = "adversarial",
	[VALUES_FULL] = "full",
	[VALUES_CANCEL] = "cancel",
	[VALUES_SPECIAL] = "special",
	[VALUES_SETS] = NULL,
};

/* A source of random numbers (splitmix64) */
struct source {
	uint64_t state;
};

/* What is the same for all members has them as @member. */
#define ALL_MEMBERS	0xffffffffU

static uint64_t next(struct source *s)
{
	uint64_t z = s->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static struct source source(uint32_t seed, uint32_t member, uint64_t index)
{
	struct source s = { seed * 0xd1342543de82ef95ULL ^ member * 0xaf251af3b0f025b5ULL };

	s.state = next(&s) ^ index * 0xd6e8feb86659fd93ULL;
	s.state = next(&s);
	return s;
}

/* Return: a number from 0 up to 1, without 1 */
static double uniform(struct source *s)
{
	return (double)(next(s) >> 11) * 0x1p-53;
}

/* Return: a nearly Gaussian number. The sum of twelve uniform ones has deviation 1. */
static double gauss(struct source *s)
{
	int64_t sum = -6 * (1LL << 53);
	int i;

	for (i = 0; i < 12; i++)
		sum += next(s) >> 11;
	return (double)sum * 0x1p-53;
}

/* Return: e^@x. Functions of libm may round otherwise on another machine. */
static double exponential(double x)
{
	const double ln2 = 0.69314718055994530942;
	int whole = (int)(x / ln2 + 1000) - 1000, i;
	double rest = x - whole * ln2, sum = 1;

	for (i = 16; i; i--)
		sum = 1 + sum * rest / i;
	return ldexp(sum, whole);
}

static double heavy(uint32_t seed, struct source *own, size_t index)
{
	struct source element = source(seed, ALL_MEMBERS, index);
	struct source layer = source(seed, ALL_MEMBERS, index / LAYER | 1ULL << 62);
	double z = gauss(own), square = 0, one;
	int i;

	for (i = 0; i < 3; i++) {
		one = gauss(own);
		square += one * one;
	}
	return z / sqrt(square / 3) * exponential(1.5 * gauss(&element)) *
	       exponential(6.907755 * uniform(&layer));
}

static double embeddings(uint32_t seed, uint32_t member, struct source *own, size_t index)
{
	struct source row = source(seed, member, index / ROW | 1ULL << 62);

	return next(&row) % 20 ? 0 : gauss(own);
}

static double outliers(uint32_t seed, struct source *own, size_t index)
{
	struct source channel = source(seed, ALL_MEMBERS, index % CHANNELS | 1ULL << 62);

	return gauss(own) * (next(&channel) % 1000 < 3 ? 1000 : 1);
}

/* Return: a number with an exponent of @spread around that of 1 */
static double spread_out(struct source *s, int spread)
{
	int exponent = (int)(next(s) % spread) - spread / 2;

	return ldexp(1 + uniform(s), exponent) * (next(s) & 1 ? -1 : 1);
}

/* Two members have the same number with two signs, up to a small difference. */
static double cancel(uint32_t seed, uint32_t member, size_t index, int spread)
{
	struct source pair = source(seed, member / 2, index | 1ULL << 62);
	double x = spread_out(&pair, spread);

	if (member % 2)
		x = -x * (1 + ldexp(uniform(&pair), -20));
	return x;
}

/* Return: @x as a number of that format, the nearest one. What is too large becomes the largest. */
static uint64_t as_format(const struct format *f, double x)
{
	uint64_t sign = x < 0 ? sign_bit(f) : 0, bits;
	int exponent;

	if (!x)
		return 0;
	frexp(x, &exponent);
	exponent -= 1 + (int)f->fraction;	/* of a unit */
	if (exponent < f->least)
		exponent = f->least;
	/* Numbers of this format have no more bits than a double: the quotient is exact. */
	bits = (uint64_t)rint(ldexp(x < 0 ? -x : x, -exponent));
	bits += (uint64_t)(exponent - f->least) << f->fraction;
	return sign | (bits < infinity(f) ? bits : infinity(f) - 1);
}

/* Return: any finite number, each exponent as often as another */
static uint64_t full(const struct format *f, struct source *s)
{
	uint64_t field = next(s) % f->field_max;
	uint64_t bits = next(s);

	return (bits & (sign_bit(f) | ((1ULL << f->fraction) - 1))) | field << f->fraction;
}

static uint64_t special(const struct format *f, struct source *s)
{
	uint64_t kind = next(s) % 64, bits = next(s);
	uint64_t sign = bits & sign_bit(f), fraction = bits & ((1ULL << f->fraction) - 1);

	switch (kind) {
	case 0:
		return infinity(f) | sign;
	case 1:
		return infinity(f) | sign | (fraction ? fraction : 1);
	case 2 ... 7:
		return sign;
	case 8 ... 11:
		return sign | fraction;
	default:
		return as_format(f, gauss(s));
	}
}

uint64_t values_one(enum values_set set, enum canary_dtype dtype, uint32_t seed, uint32_t member,
		    size_t index)
{
	struct format f = reference_format(dtype);
	struct source own = source(seed, member, index);
	int spread = dtype == CANARY_FLOAT16 ? 24 : 60;

	switch (set) {
	case VALUES_HEAVY:
		return as_format(&f, heavy(seed, &own, index));
	case VALUES_EMBEDDINGS:
		return as_format(&f, embeddings(seed, member, &own, index));
	case VALUES_OUTLIERS:
		return as_format(&f, outliers(seed, &own, index));
	case VALUES_ADVERSARIAL:
		return as_format(&f, spread_out(&own, spread));
	case VALUES_FULL:
		return full(&f, &own);
	case VALUES_CANCEL:
		return as_format(&f, cancel(seed, member, index, spread / 2));
	case VALUES_SPECIAL:
		return special(&f, &own);
	default:
		return as_format(&f, gauss(&own));
	}
}

uint64_t values_hash(uint64_t hash, const void *data, size_t bytes)
{
	const unsigned char *at = data;
	size_t i;

	if (!hash)
		hash = 0xcbf29ce484222325ULL;
	for (i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ULL;
	return hash;
}
