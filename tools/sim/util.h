/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is there or ends the program, and random numbers with a seed */
#ifndef SIM_UTIL_H
#define SIM_UTIL_H

#include <stddef.h>
#include <stdint.h>

void *sim_alloc(size_t size);
void *sim_zalloc(size_t n, size_t size);
void *sim_realloc(void *p, size_t size);

#define LINE	64	/* of the cache */

/* Allocate whole cache lines. */
void *sim_lines(size_t size);

static inline size_t lines(size_t size)
{
	return (size + LINE - 1) / LINE * LINE;
}

/* Zeroed memory in large pages, if the machine has any, for data that are touched all the time */
void *sim_region(size_t size);
void sim_region_free(void *p, size_t size);

/* Zeroed memory in small pages; sim_large_pages() makes a part of it large ones. */
void *sim_space(size_t size);
void sim_large_pages(void *p, size_t size);

/* splitmix64. The initial state is the seed. Streams of different seeds are independent. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Return: a number below @n */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint64_t)(uint32_t)random_next(state) * n >> 32;
}

/* The seed of one of many streams */
static inline uint64_t random_stream(uint64_t seed, uint64_t purpose, uint64_t number)
{
	uint64_t state = seed ^ purpose * 0xd1342543de82ef95ULL ^ number * 0xaf251af3b0f025b5ULL;

	return random_next(&state);
}

/* A random order of 0 .. @n - 1 */
void random_order(uint64_t *state, uint32_t *order, uint32_t n);

#endif /* SIM_UTIL_H */
