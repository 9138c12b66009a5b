/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named sets of floating-point numbers, for tests of sums. What a member gives depends on the set,
 * the seed, the member, and the index alone: not on where the member runs.
 *
 * There are no vectors here. Numbers are made one by one, and are the same on each machine.
 */
#ifndef CANARY_VALUES_H
#define CANARY_VALUES_H

#include "tools/canary/reference.h"

enum values_set {
	VALUES_GAUSS,		/* mean 0, deviation 1 */
	VALUES_HEAVY,		/* as gradients: heavy tails; elements and layers differ in scale */
	VALUES_EMBEDDINGS,	/* a member has one row in 20; the rest is 0 */
	VALUES_OUTLIERS,	/* three channels in 1000 are 1000 times as large */
	VALUES_ADVERSARIAL,	/* neighbours differ by up to 2^60 */
	VALUES_FULL,		/* all exponents alike, subnormal numbers among them */
	VALUES_CANCEL,		/* members in pairs that nearly cancel */
	VALUES_SPECIAL,	/* Gaussian; some are infinities, NaNs, zeros, or subnormal */
	VALUES_SETS
};

/* By enum values_set; ends with NULL */
extern const char *const values_names[];

/*
 * values_one() - element @index of @member, in the low bits
 * @dtype:	of floating point
 * @seed:	another vector for another one
 */
uint64_t values_one(enum values_set set, enum canary_dtype dtype, uint32_t seed, uint32_t member,
		    size_t index);

/* values_hash() - a number that differs for vectors that differ (FNV-1a). @hash: 0, or so far */
uint64_t values_hash(uint64_t hash, const void *data, size_t bytes);

#endif /* CANARY_VALUES_H */
