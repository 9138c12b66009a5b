// SPDX-License-Identifier: BSD-2-Clause
/* See util.h. */
#include <stdio.h>
#include <stdlib.h>

#include "util.h"

static void *there(void *p)
{
	if (p)
		return p;
	fputs("canary-sim: out of memory\n", stderr);
	exit(1);
}

void *sim_alloc(size_t size)
{
	return there(malloc(size));
}

void *sim_zalloc(size_t n, size_t size)
{
	return there(calloc(n ? n : 1, size));
}

void *sim_realloc(void *p, size_t size)
{
	return there(realloc(p, size));
}

void random_order(uint64_t *state, uint32_t *order, uint32_t n)
{
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		k = random_below(state, i + 1);
		order[i] = order[k];
		order[k] = i;
	}
}
