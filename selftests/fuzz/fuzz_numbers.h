/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the members of fuzz_core.c reduce, and what is right. Floating-point numbers are small whole
 * numbers, of which sums, products and averages are exact in every type and by every method. So any
 * order of double additions tells what is right. Some are infinite, or no numbers, or so small that
 * they count for nothing beside the others. Complex numbers are two of them.
 */
#ifndef SELFTESTS_FUZZ_NUMBERS_H
#define SELFTESTS_FUZZ_NUMBERS_H

#include <math.h>
#include <string.h>

#include "core/core.h"

/* A type, an operator, a way, and the least number of elements */
struct numbers {
	u8	dtype;
	u8	op;
	u8	how;
	u8	size;
	u32	least;
};

static const struct numbers numbers_all[] = {
	{ CANARY_FLOAT32, CANARY_OP_SUM, 0, 4, 0 },		/* exact */
	{ CANARY_FLOAT64, CANARY_OP_SUM, 0, 8, 0 },
	{ CANARY_FLOAT64, CANARY_OP_SUM, CANARY_HOW_EXACT, 8, 30 },
	{ CANARY_BFLOAT16, CANARY_OP_AVG, 0, 2, 0 },
	{ CANARY_FLOAT32, CANARY_OP_SUM, 0, 4, 257 },		/* each */
	{ CANARY_FLOAT64, CANARY_OP_AVG, 0, 8, 257 },
	{ CANARY_FLOAT16, CANARY_OP_SUM, 0, 2, 257 },
	{ CANARY_BFLOAT16, CANARY_OP_SUM, 0, 2, 4097 },		/* groups */
	{ CANARY_FLOAT32, CANARY_OP_SUM, CANARY_HOW_NARROW, 4, 4097 },
	{ CANARY_FLOAT16, CANARY_OP_SUM, 0, 2, 4097 },
	{ CANARY_FLOAT64, CANARY_OP_PROD, 0, 8, 0 },		/* ranks */
	{ CANARY_BFLOAT16, CANARY_OP_PROD, 0, 2, 90 },
	{ CANARY_FLOAT16, CANARY_OP_MAX, 0, 2, 0 },
	{ CANARY_FLOAT64, CANARY_OP_MIN, 0, 8, 50 },
	{ CANARY_INT16, CANARY_OP_MIN, 0, 2, 0 },
	{ CANARY_UINT8, CANARY_OP_SUM, 0, 1, 3 },
	{ CANARY_INT64, CANARY_OP_SUM, CANARY_HOW_SATURATE, 8, 5 },	/* wide */
	{ CANARY_INT64, CANARY_OP_AVG, 0, 8, 5 },
	{ CANARY_INT16_INDEX, CANARY_OP_MAXLOC, 0, 8, 5 },	/* pairs */
	{ CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC, 0, 16, 95 },
	{ CANARY_COMPLEX64, CANARY_OP_SUM, 0, 8, 129 },		/* each */
	{ CANARY_COMPLEX128, CANARY_OP_AVG, 0, 16, 0 },		/* exact */
};

/* Return: what operation @seq is; @choice 0: all are sums of int32 */
static const struct numbers *numbers_of(u8 choice, u32 seq)
{
	static const struct numbers usual = { CANARY_INT32, CANARY_OP_SUM, 0, 4, 0 };

	if (!choice)
		return &usual;
	return &numbers_all[(choice + seq * (1 + choice / 16)) % ARRAY_SIZE(numbers_all)];
}

static u32 numbers_value(u32 rank, u32 run, u32 seq, u32 i)
{
	return (rank + 1) * 0x01000193u + run * (0x3a7b1u << rank) + seq * 7919 + i;
}

/* Element @i of @rank, as a number */
static double numbers_float(const struct numbers *n, u32 members, u32 rank, u32 run, u32 seq, u32 i)
{
	u32 any = numbers_value(rank, run, seq, i) * 0x9e3779b1u >> 8;

	/* Some stretches of vectors have special numbers, and most have none. */
	if (i / 64 % 4 == 1 && any % 31 == 0)
		return any & 1 << 20 ? NAN : any & 1 << 21 ? INFINITY : -INFINITY;
	if (n->dtype == CANARY_FLOAT64 && n->op == CANARY_OP_SUM && any % 37 == 0)
		return 0x1p-300;
	switch (n->op) {
	case CANARY_OP_PROD:
		return 1 + any % 2;
	case CANARY_OP_AVG:
		return (double)members * (any % 3);
	default:
		return 1 + any % 15;
	}
}

/* All numbers here are exact in all types, so nothing is rounded. */
static u64 numbers_bits(const struct numbers *n, double value)
{
	float single = value;
	u64 bits = 0;
	u32 half;

	if (isnan(value))
		return n->dtype == CANARY_FLOAT64 ? 0x7ff8000000000000ULL :
		       n->dtype == CANARY_FLOAT32 ? 0x7fc00000 :
		       n->dtype == CANARY_BFLOAT16 ? 0x7fc0 : 0x7e00;
	if (n->dtype == CANARY_FLOAT64) {
		memcpy(&bits, &value, sizeof(value));
		return bits;
	}
	memcpy(&half, &single, sizeof(half));
	if (n->dtype == CANARY_FLOAT32)
		return half;
	if (n->dtype == CANARY_BFLOAT16)
		return half >> 16;
	bits = half >> 31 << 15;
	if (isinf(value))
		return bits | 0x7c00;
	return value == 0 ? bits : bits | ((half >> 23 & 0xff) - 112) << 10 | (half >> 13 & 0x3ff);
}

static bool numbers_are_floats(const struct numbers *n)
{
	return n->dtype >= CANARY_FLOAT16 && n->dtype <= CANARY_FLOAT64;
}

/* Return: the numbers of which elements of complex types have two; or @n */
static struct numbers numbers_of_complex(const struct numbers *n)
{
	struct numbers one = *n;

	if (n->dtype == CANARY_COMPLEX64 || n->dtype == CANARY_COMPLEX128) {
		one.dtype = n->dtype == CANARY_COMPLEX64 ? CANARY_FLOAT32 : CANARY_FLOAT64;
		one.size /= 2;
	}
	return one;
}

/* Integers of 64 bits whose sum may be too large */
static s64 numbers_large(u32 rank, u32 run, u32 seq, u32 i)
{
	return (s64)((u64)numbers_value(rank, run, seq, i) * 0x9e3779b97f4a7c15ULL);
}

/* A value that several ranks have, and its index */
static int numbers_pair(u32 rank, u32 run, u32 seq, u32 i, s32 *index)
{
	u32 any = numbers_value(rank, run, seq, i) * 0x9e3779b1u >> 8;

	*index = (s32)any % 50 - 20;
	return (int)(any >> 8) % 3 - 1;
}

/* The pair, as C lays it out */
static void numbers_pair_put(const struct numbers *n, u8 *to, int value, s32 index)
{
	double number = value;
	int16_t integer = value;

	memset(to, 0, n->size);
	if (n->dtype == CANARY_FLOAT64_INDEX)
		memcpy(to, &number, sizeof(number));
	else
		memcpy(to, &integer, sizeof(integer));
	memcpy(to + n->size / 2, &index, sizeof(index));
}

static bool numbers_are_pairs(const struct numbers *n)
{
	return n->op == CANARY_OP_MINLOC || n->op == CANARY_OP_MAXLOC;
}

static bool numbers_are_large(const struct numbers *n)
{
	return n->dtype == CANARY_INT64;
}

/* Element @i of @rank goes to @data; of complex types the number @i. */
static void numbers_give_one(const struct numbers *n, void *data, u32 members, u32 rank, u32 run,
			     u32 seq, u32 i)
{
	u64 bits = numbers_value(rank, run, seq, i);
	s32 index;
	int value;

	if (numbers_are_pairs(n)) {
		value = numbers_pair(rank, run, seq, i, &index);
		numbers_pair_put(n, (u8 *)data + i * n->size, value, index);
		return;
	}
	if (numbers_are_large(n))
		bits = numbers_large(rank, run, seq, i);
	if (numbers_are_floats(n))
		bits = numbers_bits(n, numbers_float(n, members, rank, run, seq, i));
	memcpy((u8 *)data + i * n->size, &bits, n->size);
}

/* Element @i of @rank goes to @data. */
static void numbers_give(const struct numbers *n, void *data, u32 members, u32 rank, u32 run,
			 u32 seq, u32 i)
{
	struct numbers one = numbers_of_complex(n);
	u32 k, parts = n->size / one.size;

	for (k = 0; k < parts; k++)
		numbers_give_one(&one, data, members, rank, run, seq, i * parts + k);
}

/* Return: what element @i of floats has to be, with data of the process @run[r] of each rank r */
static u64 numbers_float_want(const struct numbers *n, u32 members, const u8 *run, u32 seq, u32 i)
{
	double all = numbers_float(n, members, 0, run[0], seq, i), one;
	u32 r;

	for (r = 1; r < members; r++) {
		one = numbers_float(n, members, r, run[r], seq, i);
		if (n->op == CANARY_OP_PROD)
			all *= one;
		else if (n->op == CANARY_OP_MAX)
			all = isnan(all) || isnan(one) ? NAN : fmax(all, one);
		else if (n->op == CANARY_OP_MIN)
			all = isnan(all) || isnan(one) ? NAN : fmin(all, one);
		else
			all += one;
	}
	return numbers_bits(n, n->op == CANARY_OP_AVG ? all / members : all);
}

static bool numbers_right_pair(const struct numbers *n, const u8 *got, u32 members,
			       const u8 *run, u32 seq, u32 i)
{
	int sign = n->op == CANARY_OP_MINLOC ? 1 : -1, value, least = 0;
	s32 index, lowest = 0;
	u8 want[16];
	u32 r;

	for (r = 0; r < members; r++) {
		value = sign * numbers_pair(r, run[r], seq, i, &index);
		if (!r || value < least || (value == least && index < lowest)) {
			least = value;
			lowest = index;
		}
	}
	numbers_pair_put(n, want, sign * least, lowest);
	return !memcmp(got, want, n->size);
}

static bool numbers_right_large(const struct numbers *n, const u8 *got, u32 members,
				const u8 *run, u32 seq, u32 i)
{
	__int128 sum = 0;
	s64 want;
	u32 r;

	for (r = 0; r < members; r++)
		sum += numbers_large(r, run[r], seq, i);
	if (n->op == CANARY_OP_AVG)
		sum /= members;
	want = sum < INT64_MIN ? INT64_MIN : sum > INT64_MAX ? INT64_MAX : (s64)sum;
	return !memcmp(got, &want, sizeof(want));
}

/* Is element @i of @data right; of complex types the number @i? */
static bool numbers_right_one(const struct numbers *n, const void *data, u32 members,
			      const u8 *run, u32 seq, u32 i)
{
	u64 got = 0, want = 0;
	s64 one, least = INT64_MAX;
	u32 r;

	if (numbers_are_pairs(n))
		return numbers_right_pair(n, (const u8 *)data + i * n->size, members, run, seq, i);
	if (numbers_are_large(n))
		return numbers_right_large(n, (const u8 *)data + i * n->size, members, run, seq,
					   i);
	memcpy(&got, (const u8 *)data + i * n->size, n->size);
	if (numbers_are_floats(n))
		return got == numbers_float_want(n, members, run, seq, i);
	for (r = 0; r < members; r++) {
		one = numbers_value(r, run[r], seq, i);
		want += one;
		least = min_t(s64, least, (int16_t)one);
	}
	if (n->op == CANARY_OP_MIN)
		want = least;
	return !memcmp(&got, &want, n->size);
}

/* Is element @i of @data right? */
static bool numbers_right(const struct numbers *n, const void *data, u32 members, const u8 *run,
			  u32 seq, u32 i)
{
	struct numbers one = numbers_of_complex(n);
	u32 k, parts = n->size / one.size;

	for (k = 0; k < parts; k++)
		if (!numbers_right_one(&one, data, members, run, seq, i * parts + k))
			return false;
	return true;
}

#endif /* SELFTESTS_FUZZ_NUMBERS_H */
