/* SPDX-License-Identifier: BSD-2-Clause */
/* Floating-point numbers, for reference.c */
#ifndef CANARY_REFERENCE_FLOAT_H
#define CANARY_REFERENCE_FLOAT_H

#include <stdbool.h>

#include "reference.h"

/* A group of elements that share an exponent, from @first up to @end; none if they are the same */
struct reference_group {
	size_t	first, end;
	int	unit;
};

bool reference_is_float(enum canary_dtype dtype);

/* Return: element @index of @rank */
uint64_t reference_given(const struct reference *r, uint32_t rank, size_t index);

/*
 * Return: element @i of a result of @count elements
 * @g:		zeros at first; keeps what elements that follow need, too
 */
uint64_t reference_float(const struct reference *r, size_t count, size_t i,
			 struct reference_group *g);

/* Return: a number made of @random, 64 bits that are mixed well */
uint64_t reference_float_input(const struct reference *r, uint64_t random);

#endif /* CANARY_REFERENCE_FLOAT_H */
