// SPDX-License-Identifier: BSD-2-Clause
/*
 * What comes out of pairs of a value and an index, see reference.h. Values are compared as C does
 * it, one rank after the other.
 */
#include <math.h>
#include <string.h>

#include "reference_float.h"

/* A value, as a number that C compares */
struct value {
	uint64_t bits;
	int64_t integer;
	double number;	/* if it is not an integer */
};

static struct value value_of(enum canary_dtype dtype, uint64_t bits)
{
	struct value v = { .bits = bits };
	float number;

	switch (dtype) {
	case CANARY_FLOAT32:
		memcpy(&number, &bits, sizeof(number));
		v.number = number;
		break;
	case CANARY_FLOAT64:
		memcpy(&v.number, &bits, sizeof(v.number));
		break;
	case CANARY_INT16:
		v.integer = (int16_t)bits;
		break;
	case CANARY_INT32:
		v.integer = (int32_t)bits;
		break;
	default:
		v.integer = (int64_t)bits;
		break;
	}
	return v;
}

/* Return: more than 0 if @a is before @b as an operator has it, 0 if they are equal, else less */
static int before(enum canary_operator op, const struct value *a, const struct value *b)
{
	int more = (a->integer > b->integer) - (a->integer < b->integer) +
		   (a->number > b->number) - (a->number < b->number);

	if (isnan(a->number) || isnan(b->number))
		return !!isnan(a->number) - !!isnan(b->number);
	return op == CANARY_OP_MAXLOC ? more : -more;
}

/* Of zeros with one index, the one comes out that a minimum or maximum has. */
static bool replaces(enum canary_operator op, const struct value *v, int32_t index,
		     const struct value *best, int32_t best_index)
{
	int first = before(op, v, best);

	if (first || index != best_index)
		return first > 0 || (!first && index < best_index);
	return !signbit(v->number) == (op == CANARY_OP_MAXLOC);
}

void reference_pair(const struct reference *r, size_t i, uint64_t *result)
{
	struct reference values = *r, indices = *r;
	struct value best, v;
	int32_t index, at;
	struct format f;
	uint32_t rank;

	values.dtype = reference_number(r->dtype, 0);
	indices.dtype = reference_number(r->dtype, 1);
	best = value_of(values.dtype, reference_given(&values, 0, 2 * i));
	at = (int32_t)reference_given(&indices, 0, 2 * i + 1);
	for (rank = 1; rank < r->members; rank++) {
		v = value_of(values.dtype, reference_given(&values, rank, 2 * i));
		index = (int32_t)reference_given(&indices, rank, 2 * i + 1);
		if (!replaces(r->op, &v, index, &best, at))
			continue;
		best = v;
		at = index;
	}
	result[0] = best.bits;
	if (r->members > 1 && isnan(best.number)) {
		f = reference_format(values.dtype);
		result[0] = quiet_nan(&f);
	}
	result[1] = (uint32_t)at;
}
