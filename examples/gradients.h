/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types that gradients are added up in. A process computes its gradient in float, and turns it
 * into numbers of such a type. The network adds up those of all processes.
 */
#ifndef EXAMPLE_GRADIENTS_H
#define EXAMPLE_GRADIENTS_H

#include <canary.h>
#include <stddef.h>

/* An element is at most 1 for each sample, and an int32 has 20 bits after the point. */
#define SAMPLES_MOST	2000

/**
 * struct gradients - a type
 * @name:	as people write it
 * @dtype:	as libcanary knows it
 * @size:	bytes of a number
 * @members:	most processes whose sum gradients_alone() knows
 */
struct gradients {
	const char		*name;
	enum canary_dtype	dtype;
	size_t			size;
	int			members;
};

/* gradients_find() - Return: the type with this name, or NULL */
const struct gradients *gradients_find(const char *name);

/* gradients_round() - turn @n numbers into numbers of the type @g, rounded to nearest */
void gradients_round(const struct gradients *g, const float *from, size_t n, void *to);

/* gradients_read() - and back */
void gradients_read(const struct gradients *g, const void *from, size_t n, float *to);

/*
 * gradients_alone() - what the network makes of the vectors of @members processes, each of @n
 * numbers of the type @g. They are in @vectors, one behind the other. The sum replaces the first.
 *
 * This is docs/floating-point.md once more, for vectors of 257 to 4096 elements: a process that has
 * all vectors comes to the same bits. So the demonstration can tell that the network is right.
 */
void gradients_alone(const struct gradients *g, void *vectors, int members, size_t n);

#endif /* EXAMPLE_GRADIENTS_H */
