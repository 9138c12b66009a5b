/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second reference of operators, for reference_test: what comes out by GMP and MPFR. Integers
 * have any length, and floating-point numbers are long enough to hold every sum exactly. It shares
 * no code and no table with what it checks.
 */
#ifndef SELFTESTS_SECOND_H
#define SELFTESTS_SECOND_H

#include <linux/canary_wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A type of numbers */
struct second_type {
	enum canary_dtype	dtype;
	unsigned int		bits;
	bool			with_sign;
	unsigned int		fraction, exponent;	/* bits; 0 of integers */
};

/* What is reduced. Elements of two numbers have these next to each other: 2 * i and 2 * i + 1. */
struct second {
	enum canary_operator	op;
	uint32_t		members;
	uint32_t		how;		/* CANARY_HOW_* */
	const struct second_type *type;		/* of numbers; where there are indices, of values */
	size_t			numbers;	/* that each rank gives */
	const uint64_t		*values;	/* number i of a rank: rank * numbers + i */
};

/* Which values of a pair were the same, as bits of what second_pair() returns */
#define SECOND_VALUES	1	/* several ranks had the value, with different indices */
#define SECOND_ZEROS	2	/* both zeros had the index */
#define SECOND_NANS	4	/* several NaNs, with different indices */

/* Return: the type of numbers, or NULL if @dtype is none */
const struct second_type *second_type(enum canary_dtype dtype);

/* Return: number @i of the result */
uint64_t second_number(const struct second *s, size_t i);

/* Write product @i of complex numbers to @result: the real part, then the imaginary part. */
void second_complex(const struct second *s, size_t i, uint64_t *result);

/* Write pair @i of MINLOC or MAXLOC to @result. Return: SECOND_* */
unsigned int second_pair(const struct second *s, size_t i, uint64_t *result);

/* What a floating-point type has: the bit of the sign, infinity, the NaN that comes out */
static inline uint64_t second_sign(const struct second_type *t)
{
	return 1ULL << (t->bits - 1);
}

static inline uint64_t second_infinity(const struct second_type *t)
{
	return ((1ULL << t->exponent) - 1) << t->fraction;
}

static inline uint64_t second_nan(const struct second_type *t)
{
	return second_infinity(t) | 1ULL << (t->fraction - 1);
}

/* Return: it is infinite or a NaN */
static inline bool second_is_special(const struct second_type *t, uint64_t bits)
{
	return (bits & second_infinity(t)) == second_infinity(t);
}

#endif /* SELFTESTS_SECOND_H */
