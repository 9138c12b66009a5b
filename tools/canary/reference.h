/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What canary perf gives to collectives, and what has to come out. It shares no code with what it
 * checks: operators are computed here in integers of 128 bits.
 */
#ifndef CANARY_REFERENCE_H
#define CANARY_REFERENCE_H

#include <canary.h>
#include <stddef.h>
#include <stdint.h>

struct reference {
	enum canary_dtype	dtype;
	enum canary_operator	op;
	uint32_t		members;
	uint32_t		seed;	/* another vector for another one */
};

/* Write the @count elements of @rank to @to. */
void reference_fill(const struct reference *r, uint32_t rank, void *to, size_t count);

/* Return: how many of the @count elements at @got are not the result of all ranks' elements */
uint64_t reference_wrong(const struct reference *r, const void *got, size_t count);

#endif /* CANARY_REFERENCE_H */
