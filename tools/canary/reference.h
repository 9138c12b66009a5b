/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What operators do, for canary perf and for tests: what has to come out of collectives, and what
 * canary perf gives to them. It shares no code and no table with what it checks: operators are
 * computed here in integers of 128 bits, sums of floating-point numbers in longer ones.
 */
#ifndef CANARY_REFERENCE_H
#define CANARY_REFERENCE_H

#include <linux/canary_wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference {
	enum canary_dtype	dtype;
	enum canary_operator	op;
	uint32_t		members;
	uint32_t		seed;	/* another vector for another one */
	uint32_t		how;	/* CANARY_HOW_* */
	/*
	 * Return: number @index of @rank, in the low bits. Elements that have two numbers each are
	 * 2 * i and 2 * i + 1; @r then has the type of the number. NULL: those of canary perf
	 */
	uint64_t		(*give)(const struct reference *r, uint32_t rank, size_t index);
	const void		*giver;	/* for @give alone */
};

/* Return: bits of an element, with what C leaves unused */
unsigned int reference_bits(enum canary_dtype dtype);

/* Return: how many numbers an element has: 1, or 2, of which the second one begins half-way */
unsigned int reference_numbers(enum canary_dtype dtype);

/* Return: the type of number @k of an element: @dtype itself if it has only one */
enum canary_dtype reference_number(enum canary_dtype dtype, unsigned int k);

/*
 * Return: what has to come out of the integers @given, one of each rank, in the low bits. Their
 * other bits are 0, and so are those of the result
 */
uint64_t reference_reduce(const struct reference *r, const uint64_t *given);

/* Write the @count elements of @rank to @to. */
void reference_fill(const struct reference *r, uint32_t rank, void *to, size_t count);

/* Write what has to come out of all ranks' elements to @to, @count elements. */
void reference_result(const struct reference *r, void *to, size_t count);

/*
 * Return: how many of the @count elements at @got are not the result of all ranks' elements
 * @say:	print the first one of them
 */
uint64_t reference_wrong(const struct reference *r, const void *got, size_t count, bool say);

#endif /* CANARY_REFERENCE_H */
