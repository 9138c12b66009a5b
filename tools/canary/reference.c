// SPDX-License-Identifier: BSD-2-Clause
/* What operators do, for canary perf and for tests, see reference.h. */
#include <stdio.h>
#include <string.h>

#include "reference.h"
#include "reference_float.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

static bool has_sign(const struct reference *r)
{
	switch (r->dtype) {
	case CANARY_INT8:
	case CANARY_INT16:
	case CANARY_INT32:
	case CANARY_INT64:
		return true;
	default:
		return false;
	}
}

/* The number that @n bits say */
static wide number(uint64_t x, unsigned int n, bool with_sign)
{
	return (wide)x - (with_sign && x >> (n - 1) & 1 ? (wide)1 << n : 0);
}

static wide two(enum canary_operator op, wide a, wide b)
{
	switch (op) {
	case CANARY_OP_PROD:
		return (wide)((uwide)a * (uwide)b);
	case CANARY_OP_MIN:
		return a < b ? a : b;
	case CANARY_OP_MAX:
		return a > b ? a : b;
	case CANARY_OP_AND:
		return a & b;
	case CANARY_OP_OR:
		return a | b;
	case CANARY_OP_XOR:
		return a ^ b;
	case CANARY_OP_LAND:
		return a && b;
	case CANARY_OP_LOR:
		return a || b;
	case CANARY_OP_LXOR:
		return !a != !b;
	default:
		return a + b;
	}
}

/* What is left to do when @value is that of all ranks. Return: the result, as @n bits */
static uint64_t finish(const struct reference *r, wide value, unsigned int n, bool with_sign)
{
	const wide most = ((wide)1 << (n - with_sign)) - 1, least = with_sign ? -most - 1 : 0;

	if (r->op == CANARY_OP_SUM && r->how & CANARY_HOW_SATURATE)
		value = value > most ? most : value < least ? least : value;
	if (r->op == CANARY_OP_AVG)
		value /= r->members;
	return (uint64_t)value & ~0ULL >> (64 - n);
}

uint64_t reference_reduce(const struct reference *r, const uint64_t *given)
{
	unsigned int n = reference_bits(r->dtype);
	bool with_sign = has_sign(r);
	wide value = number(given[0], n, with_sign);
	uint32_t rank;

	for (rank = 1; rank < r->members; rank++)
		value = two(r->op, value, number(given[rank], n, with_sign));
	return finish(r, value, n, with_sign);
}

/* Element @index of the result, of integers of @n bits */
static uint64_t result(const struct reference *r, size_t index, unsigned int n, bool with_sign)
{
	wide value = number(reference_given(r, 0, index), n, with_sign);
	uint32_t rank;

	for (rank = 1; rank < r->members; rank++)
		value = two(r->op, value, number(reference_given(r, rank, index), n, with_sign));
	return finish(r, value, n, with_sign);
}

/* Write element @i of @rank to @to. The first bytes are the low ones, as the project relies on. */
static void fill_one(const struct reference *r, uint32_t rank, size_t i, char *to)
{
	unsigned int k, bytes = reference_bits(r->dtype) / 8, n = reference_numbers(r->dtype);
	struct reference number = *r;
	uint64_t x;

	memset(to, 0x5a, bytes);
	for (k = 0; k < n; k++) {
		number.dtype = reference_number(r->dtype, k);
		x = reference_given(&number, rank, n * i + k);
		memcpy(to + k * bytes / n, &x, reference_bits(number.dtype) / 8);
	}
}

void reference_fill(const struct reference *r, uint32_t rank, void *to, size_t count)
{
	unsigned int bytes = reference_bits(r->dtype) / 8;
	size_t i;

	for (i = 0; i < count; i++)
		fill_one(r, rank, i, (char *)to + i * bytes);
}

/* Write element @i of the result of @count elements to @to. */
static void result_of(const struct reference *r, size_t count, size_t i,
		      struct reference_group *group, char *to)
{
	unsigned int k, bytes = reference_bits(r->dtype) / 8, n = reference_numbers(r->dtype);
	struct reference part = *r;
	uint64_t number[2];

	if (r->op == CANARY_OP_MINLOC || r->op == CANARY_OP_MAXLOC) {
		reference_pair(r, i, number);
	} else if (n == 2 && r->op == CANARY_OP_PROD) {
		reference_complex(r, i, number);
	} else if (reference_is_float(reference_number(r->dtype, 0))) {
		part.dtype = reference_number(r->dtype, 0);
		for (k = 0; k < n; k++)
			number[k] = reference_float(&part, n * count, n * i + k, group);
	} else {
		number[0] = result(r, i, 8 * bytes, has_sign(r));
	}
	memset(to, 0, bytes);
	for (k = 0; k < n; k++)
		memcpy(to + k * bytes / n, &number[k],
		       reference_bits(reference_number(r->dtype, k)) / 8);
}

/* Likewise. With one member, nothing is done to elements. */
static void wanted(const struct reference *r, size_t count, size_t i,
		   struct reference_group *group, char *to)
{
	if (r->members == 1)
		fill_one(r, 0, i, to);
	else
		result_of(r, count, i, group, to);
}

void reference_result(const struct reference *r, void *to, size_t count)
{
	unsigned int bytes = reference_bits(r->dtype) / 8;
	struct reference_group group = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		wanted(r, count, i, &group, (char *)to + i * bytes);
}

uint64_t reference_wrong(const struct reference *r, const void *got, size_t count, bool say)
{
	unsigned int bytes = reference_bits(r->dtype) / 8;
	struct reference_group group = { 0 };
	uint64_t x[2] = { 0 }, want[2] = { 0 }, wrong = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		memcpy(x, (const char *)got + i * bytes, bytes);
		wanted(r, count, i, &group, (char *)want);
		if (!memcmp(x, want, sizeof(x)))
			continue;
		if (!wrong++ && say)
			printf("# element %zu of %zu: %#llx %#llx, not %#llx %#llx\n", i, count,
			       (unsigned long long)x[0], (unsigned long long)x[1],
			       (unsigned long long)want[0], (unsigned long long)want[1]);
	}
	return wrong;
}
