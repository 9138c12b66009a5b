/* SPDX-License-Identifier: BSD-2-Clause */
/* Floating-point numbers, and what ranks give, for reference.c */
#ifndef CANARY_REFERENCE_FLOAT_H
#define CANARY_REFERENCE_FLOAT_H

#include <stdbool.h>

#include "reference.h"

struct format {
	unsigned int	bytes, fraction, field_max;
	int		bias, least;	/* @least: exponent of the least number */
};

static inline uint64_t sign_bit(const struct format *f)
{
	return 1ULL << (8 * f->bytes - 1);
}

static inline uint64_t infinity(const struct format *f)
{
	return (uint64_t)f->field_max << f->fraction;
}

static inline uint64_t quiet_nan(const struct format *f)
{
	return infinity(f) | 1ULL << (f->fraction - 1);
}

/* A group of elements that share an exponent, from @first up to @end; none if they are the same */
struct reference_group {
	size_t	first, end;
	int	unit;
};

/* reference_input.c: types, and what ranks give */

bool reference_is_float(enum canary_dtype dtype);

struct format reference_format(enum canary_dtype dtype);

/* Return: number @index of @rank */
uint64_t reference_given(const struct reference *r, uint32_t rank, size_t index);

/* reference_float.c: results */

/*
 * Return: element @i of a result of @count elements
 * @g:		zeros at first; keeps what elements that follow need, too
 */
uint64_t reference_float(const struct reference *r, size_t count, size_t i,
			 struct reference_group *g);

/* reference_pair.c: @result receives value and index of element @i */
void reference_pair(const struct reference *r, size_t i, uint64_t *result);

/* reference_float.c: @result receives both parts of element @i of a complex product */
void reference_complex(const struct reference *r, size_t i, uint64_t *result);

#endif /* CANARY_REFERENCE_FLOAT_H */
