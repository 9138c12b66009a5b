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
	if (r->op == CANARY_OP_AVG && n == 64)
		value = number((uint64_t)value, n, with_sign);
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

void reference_fill(const struct reference *r, uint32_t rank, void *to, size_t count)
{
	unsigned int bytes = reference_bits(r->dtype) / 8;
	uint64_t x;
	size_t i;

	/* The first bytes are the low ones, as the whole project relies on. */
	for (i = 0; i < count; i++) {
		x = reference_given(r, rank, i);
		memcpy((char *)to + i * bytes, &x, bytes);
	}
}

/* Return: element @i of the result of @count elements. @group: as reference_float() */
static uint64_t wanted(const struct reference *r, size_t count, size_t i,
		       struct reference_group *group)
{
	if (reference_is_float(r->dtype))
		return reference_float(r, count, i, group);
	return result(r, i, reference_bits(r->dtype), has_sign(r));
}

void reference_result(const struct reference *r, void *to, size_t count)
{
	unsigned int bytes = reference_bits(r->dtype) / 8;
	struct reference_group group = { 0 };
	uint64_t x;
	size_t i;

	for (i = 0; i < count; i++) {
		x = wanted(r, count, i, &group);
		memcpy((char *)to + i * bytes, &x, bytes);
	}
}

uint64_t reference_wrong(const struct reference *r, const void *got, size_t count, bool say)
{
	unsigned int n = reference_bits(r->dtype);
	struct reference_group group = { 0 };
	uint64_t x, want, wrong = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		x = 0;
		memcpy(&x, (const char *)got + i * n / 8, n / 8);
		want = wanted(r, count, i, &group);
		if (x == want)
			continue;
		if (!wrong++ && say)
			printf("# element %zu of %zu: %#llx, not %#llx\n", i, count,
			       (unsigned long long)x, (unsigned long long)want);
	}
	return wrong;
}
