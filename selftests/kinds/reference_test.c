// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reference of operators (tools/canary/reference.c and the files beside it), by which canary
 * perf and the table of kinds judge, against a second one by GMP and MPFR (second.c). Each type and
 * operator that the core has is tried, with vectors of 1 element up to groups of one exponent.
 */
#include <stdlib.h>
#include <string.h>

#include "core/inside.h"
#include "selftests/kinds/second.h"
#include "selftests/tap.h"
#include "tools/canary/reference.h"

#define LAYOUT(type, member)	sizeof(type), offsetof(type, member)

struct short_int { int16_t value; int32_t index; };
struct two_int { int32_t value, index; };
struct long_int { int64_t value; int32_t index; };
struct float_int { float value; int32_t index; };
struct double_int { double value; int32_t index; };
struct complex_float { float re, im; };
struct complex_double { double re, im; };

/* A type: the numbers of an element, its bytes, and where the second number is, if there is one */
struct element {
	enum canary_dtype dtype, number[2];
	size_t bytes, behind;
};

/* Those of two numbers, as C lays them out */
static const struct element pairs[] = {
	{ CANARY_INT16_INDEX, { CANARY_INT16, CANARY_INT32 }, LAYOUT(struct short_int, index) },
	{ CANARY_INT32_INDEX, { CANARY_INT32, CANARY_INT32 }, LAYOUT(struct two_int, index) },
	{ CANARY_INT64_INDEX, { CANARY_INT64, CANARY_INT32 }, LAYOUT(struct long_int, index) },
	{ CANARY_FLOAT32_INDEX, { CANARY_FLOAT32, CANARY_INT32 },
	  LAYOUT(struct float_int, index) },
	{ CANARY_FLOAT64_INDEX, { CANARY_FLOAT64, CANARY_INT32 },
	  LAYOUT(struct double_int, index) },
	{ CANARY_COMPLEX64, { CANARY_FLOAT32, CANARY_FLOAT32 }, LAYOUT(struct complex_float, im) },
	{ CANARY_COMPLEX128, { CANARY_FLOAT64, CANARY_FLOAT64 },
	  LAYOUT(struct complex_double, im) },
};

/* @count: numbers. Elements of two numbers are half as many. */
static const struct shape {
	uint32_t members;
	uint32_t count;
	uint32_t how;
} shapes[] = {
	{ 1, 5 }, { 2, 1 }, { 3, 150 }, { 8, 256 }, { 4, 999, CANARY_HOW_EXACT },
	{ 5, 257 }, { 17, 300 }, { 130, 300 }, { 130, 260, CANARY_HOW_NARROW },
	{ 2, 300, CANARY_HOW_SATURATE }, { 130, 257, CANARY_HOW_SATURATE },
	{ 3, 4097 }, { 9, 4200 }, { 20, 4100 }, { 70, 4101 }, { 3, 4099, CANARY_HOW_ELEMENTWISE },
};

/* Which numbers vectors have; FEW: few different ones; PERF: those of canary perf */
enum data { ANY, CANCEL, TINY, SPECIAL, FEW, PERF, DATA };

/* Of the trial that runs */
static const struct shape *shape;
static struct element element;
static struct second second;
static uint64_t *values;	/* those of a rank are next to each other */

/* Pairs of all trials that were the same in some way: SECOND_* */
static u64 same_values, same_zeros, same_nans;

static unsigned int numbers_of_element(void)
{
	return element.behind ? 2 : 1;
}

static size_t elements(void)
{
	return second.numbers / numbers_of_element();
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

static uint64_t integer(const struct second_type *t, enum data data, uint64_t random)
{
	static const uint64_t edges[] = { 0, 1, ~0ULL, 1ULL << 63, ~0ULL >> 1, 2, 3, ~1ULL };

	return data != FEW && random >> 61 ? random >> (64 - t->bits) :
	       edges[random >> 8 & 7] >> (random >> 16 & 1 ? 64 - t->bits : 0) &
	       ~0ULL >> (64 - t->bits);
}

/* Of four elements, one has zeros only, and one may have infinities and NaNs. */
static uint64_t few(const struct second_type *t, uint64_t random, size_t i)
{
	uint64_t one = second_infinity(t) >> 1 & second_infinity(t);
	const uint64_t some[] = {
		0, one, one + (1ULL << t->fraction), one - (1ULL << t->fraction), 1,
		second_infinity(t) - 1, second_infinity(t), second_nan(t) | random >> 60,
		second_infinity(t) + 1,
	};
	size_t kinds = i / 2 % 4 == 0 ? 1 : i / 2 % 4 < 3 ? 6 : sizeof(some) / sizeof(some[0]);

	return some[(random >> 32) % kinds] | (random & second_sign(t));
}

static uint64_t number(const struct second_type *t, enum data data, uint32_t rank, size_t i)
{
	uint64_t random = random_bits(), bits = random >> (64 - t->bits), sign = second_sign(t);

	if (!t->fraction)
		return integer(t, data, random);
	switch (data) {
	case CANCEL:
		if (rank % 2 && random % 8)
			return values[(rank - 1) * second.numbers + i] ^ sign;
		break;
	case TINY:
		return (bits & (sign | ((1ULL << t->fraction) - 1))) |
		       (uint64_t)(random % 3 == 0) << t->fraction;
	case SPECIAL:
		if (i / 5 % 3 == 0 && random % 7 == 0)
			return (random & 64 ? bits : bits & sign) | second_infinity(t);
		break;
	case FEW:
		return few(t, random, i);
	default:
		break;
	}
	return second_is_special(t, bits) ? bits & sign : bits;
}

static uint64_t give(const struct reference *r, uint32_t rank, size_t index)
{
	return values[rank * second.numbers + index];
}

static void fill(enum data data, struct reference *r)
{
	const struct second_type *t;
	unsigned int n = numbers_of_element();
	uint64_t *to;
	uint32_t rank;
	size_t i;
	char *own;

	values = calloc(second.members * second.numbers, sizeof(*values));
	own = calloc(elements(), element.bytes);
	for (rank = 0; rank < second.members; rank++) {
		reference_fill(r, rank, own, elements());
		for (i = 0; i < second.numbers; i++) {
			t = second_type(element.number[i % n]);
			to = &values[rank * second.numbers + i];
			if (data == PERF)
				memcpy(to, own + i / n * element.bytes + i % n * element.behind,
				       t->bits / 8);
			else
				*to = number(t, data, rank, i);
		}
	}
	free(own);
	second.values = values;
	r->give = give;
}

/* ---- trials ---- */

/* Write element @i of the result to @to. */
static void result(size_t i, char *to)
{
	unsigned int n = numbers_of_element(), same = 0, k;
	uint64_t bits[2];

	if (second.op == CANARY_OP_MINLOC || second.op == CANARY_OP_MAXLOC)
		same = second_pair(&second, i, bits);
	else if (n == 2 && second.op == CANARY_OP_PROD)
		second_complex(&second, i, bits);
	else
		for (k = 0; k < n; k++)
			bits[k] = second_number(&second, n * i + k);
	same_values += !!(same & SECOND_VALUES);
	same_zeros += !!(same & SECOND_ZEROS);
	same_nans += !!(same & SECOND_NANS);
	for (k = 0; k < n; k++)
		memcpy(to + k * element.behind, &bits[k], second_type(element.number[k])->bits / 8);
}

static bool trial(enum data data)
{
	struct reference r = {
		.dtype = element.dtype, .op = second.op, .members = second.members,
		.how = second.how, .seed = 1 + 100 * second.op + element.dtype,
	};
	size_t bytes = element.bytes, i;
	uint64_t wrong, broken;
	char *want;

	fill(data, &r);
	want = calloc(elements(), bytes);
	/* A single member gets back what it gave, with what C leaves unused. */
	if (second.members == 1)
		reference_fill(&r, 0, want, elements());
	for (i = 0; i < elements(); i++)
		result(i, want + i * bytes);
	wrong = reference_wrong(&r, want, elements(), true);
	/* It has to find one wrong bit, too. */
	i = random_bits() % elements();
	want[i * bytes + random_bits() % bytes] ^= 1 << random_bits() % 8;
	broken = reference_wrong(&r, want, elements(), false);
	if (wrong || broken != 1)
		printf("# %u members, %zu elements, how %u, data %d: %llu wrong; one changed: %llu\n",
		       second.members, elements(), second.how, (int)data,
		       (unsigned long long)wrong, (unsigned long long)broken);
	free(values);
	free(want);
	return !wrong && broken == 1;
}

/* Return: it is a type that the second reference knows */
static bool element_of(u32 dtype)
{
	const struct second_type *t = second_type(dtype);
	u32 i;

	if (t) {
		element = (struct element){ dtype, { dtype }, t->bits / 8 };
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(pairs) && pairs[i].dtype != dtype; i++)
		;
	if (i < ARRAY_SIZE(pairs))
		element = pairs[i];
	return i < ARRAY_SIZE(pairs);
}

/* How long a vector is matters to sums of floating-point numbers only. */
static bool is_worth_it(enum data data)
{
	bool sums = second.op == CANARY_OP_SUM || second.op == CANARY_OP_AVG;

	/* Only sums of integers saturate. */
	if (shape->how == CANARY_HOW_SATURATE && (second.op != CANARY_OP_SUM || second.type->fraction))
		return false;
	if (!second.type->fraction && data != ANY && data != FEW && data != PERF)
		return false;
	return (sums && second.type->fraction) || shape->count <= 1000;
}

static void trials(u32 op, u32 dtype)
{
	u32 good = 0, all = 0, i, d;
	char name[64];

	snprintf(name, sizeof(name), "%s of %s", cnr_operator_name(op), cnr_dtype_name(dtype));
	if (!element_of(dtype) || op > CANARY_OP_MAXLOC) {
		tap_skip(name, "there is no second reference");
		return;
	}
	second.op = op;
	second.type = second_type(element.number[0]);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		shape = &shapes[i];
		second.members = shape->members;
		second.how = shape->how;
		second.numbers = shape->count;
		/* Twice as many numbers, or the even number next to it if numbers are added up */
		if (numbers_of_element() == 2)
			second.numbers += op == CANARY_OP_SUM || op == CANARY_OP_AVG ?
					  shape->count % 2 : shape->count;
		for (d = 0; d < DATA; d++) {
			if (!is_worth_it(d))
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

	for (dtype = 1; cnr_dtype_name(dtype); dtype++)
		for (op = 1; cnr_operator_name(op); op++)
			if (cnr_element(op, dtype))
				trials(op, dtype);
	tap(same_values && same_zeros && same_nans,
	    "among pairs, %llu had equal values, %llu zeros of one index, %llu NaNs",
	    (unsigned long long)same_values, (unsigned long long)same_zeros,
	    (unsigned long long)same_nans);
	return tap_done("kinds-reference");
}
