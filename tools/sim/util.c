// SPDX-License-Identifier: BSD-2-Clause
/* See util.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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

void *sim_lines(size_t size)
{
	return there(aligned_alloc(LINE, lines(size)));
}

#define LARGE_PAGE	(2UL << 20)

static size_t region_size(size_t size)
{
	return (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

/* Align to a large page, and give back what was mapped too much. */
void *sim_space(size_t size)
{
	size_t want = region_size(size), before;
	char *p = mmap(NULL, want + LARGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	there(p == MAP_FAILED ? NULL : p);
	before = -(uintptr_t)p & (LARGE_PAGE - 1);
	if (before)
		munmap(p, before);
	munmap(p + before + want, LARGE_PAGE - before);
	return p + before;
}

void sim_large_pages(void *p, size_t size)
{
	size_t before = -(uintptr_t)p & (LARGE_PAGE - 1);

	if (size > before)
		madvise((char *)p + before, (size - before) & ~(LARGE_PAGE - 1), MADV_HUGEPAGE);
}

void *sim_region(size_t size)
{
	void *p = sim_space(size);

	sim_large_pages(p, region_size(size));
	return p;
}

void sim_region_free(void *p, size_t size)
{
	if (p)
		munmap(p, region_size(size));
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
