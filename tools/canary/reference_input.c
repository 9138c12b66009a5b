// SPDX-License-Identifier: BSD-2-Clause
/* What types are, and what ranks give, see reference.h. */
#include "reference_float.h"

unsigned int reference_bits(enum canary_dtype dtype)
{
	switch (dtype) {
	case CANARY_INT8:
	case CANARY_UINT8:
		return 8;
	case CANARY_INT16:
	case CANARY_UINT16:
	case CANARY_FLOAT16:
	case CANARY_BFLOAT16:
		return 16;
	case CANARY_INT64:
	case CANARY_UINT64:
	case CANARY_FLOAT64:
	case CANARY_INT16_INDEX:
	case CANARY_INT32_INDEX:
	case CANARY_FLOAT32_INDEX:
	case CANARY_COMPLEX64:
		return 64;
	case CANARY_INT64_INDEX:
	case CANARY_FLOAT64_INDEX:
	case CANARY_COMPLEX128:
		return 128;
	default:
		return 32;
	}
}

enum canary_dtype reference_number(enum canary_dtype dtype, unsigned int k)
{
	switch (dtype) {
	case CANARY_INT16_INDEX:
		return k ? CANARY_INT32 : CANARY_INT16;
	case CANARY_INT32_INDEX:
		return CANARY_INT32;
	case CANARY_INT64_INDEX:
		return k ? CANARY_INT32 : CANARY_INT64;
	case CANARY_FLOAT32_INDEX:
		return k ? CANARY_INT32 : CANARY_FLOAT32;
	case CANARY_FLOAT64_INDEX:
		return k ? CANARY_INT32 : CANARY_FLOAT64;
	case CANARY_COMPLEX64:
		return CANARY_FLOAT32;
	case CANARY_COMPLEX128:
		return CANARY_FLOAT64;
	default:
		return dtype;
	}
}

unsigned int reference_numbers(enum canary_dtype dtype)
{
	return reference_number(dtype, 0) == dtype ? 1 : 2;
}

bool reference_is_float(enum canary_dtype dtype)
{
	return dtype == CANARY_FLOAT16 || dtype == CANARY_BFLOAT16 || dtype == CANARY_FLOAT32 ||
	       dtype == CANARY_FLOAT64;
}

struct format reference_format(enum canary_dtype dtype)
{
	struct format f = { .fraction = 23, .field_max = 255 };

	f.bytes = reference_bits(dtype) / 8;
	if (dtype == CANARY_FLOAT16) {
		f.fraction = 10;
		f.field_max = 31;
	} else if (dtype == CANARY_BFLOAT16) {
		f.fraction = 7;
	} else if (dtype == CANARY_FLOAT64) {
		f.fraction = 52;
		f.field_max = 2047;
	}
	f.bias = f.field_max / 2;
	f.least = 1 - f.bias - (int)f.fraction;
	return f;
}

/*
 * Return: a number made of @random. Most are about 1. Some have any exponent, and one in 256 is
 * infinite or a NaN, unless the seed is 0
 */
static uint64_t float_input(const struct reference *r, uint64_t random)
{
	struct format f = reference_format(r->dtype);
	uint64_t bits = random & (sign_bit(&f) | ((1ULL << f.fraction) - 1));
	unsigned int field = f.bias - 2 + (random >> 53) % 4, kind = (random >> 55) % 512;

	if (r->seed && kind == 0)
		return infinity(&f) | (random & sign_bit(&f));
	if (r->seed && kind == 1)
		return quiet_nan(&f) | bits;
	if (r->seed && kind == 2)
		return random & sign_bit(&f);
	if (r->seed && kind < 32)
		field = (random >> 40) % f.field_max;
	return bits | (uint64_t)field << f.fraction;
}

/*
 * Element @index of @rank, as @n bits. Any function that mixes well will do. One in six integers is
 * where operators may go wrong: 0, all ones, or next to the sign.
 */
static uint64_t input(const struct reference *r, uint32_t rank, size_t index, unsigned int n)
{
	const uint64_t sign = 1ULL << (n - 1), all = ~0ULL >> (64 - n);
	const uint64_t edge[] = { 0, all, sign, sign - 1, 1 };
	uint64_t x = index * 0x9e3779b97f4a7c15ULL + rank * 0xd6e8feb86659fd93ULL +
		     r->seed * 0xc2b2ae3d27d4eb4fULL + 0x27d4eb2f165667c5ULL;
	unsigned int kind;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	if (reference_is_float(r->dtype))
		return float_input(r, x);
	kind = x >> 59;
	return kind < sizeof(edge) / sizeof(edge[0]) ? edge[kind] : x & all;
}

uint64_t reference_given(const struct reference *r, uint32_t rank, size_t index)
{
	return r->give ? r->give(r, rank, index) :
	       input(r, rank, index, reference_bits(r->dtype));
}
