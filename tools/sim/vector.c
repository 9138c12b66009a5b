// SPDX-License-Identifier: BSD-2-Clause
/*
 * The vectors. An element is mix(index) + add(rank). It is cheap to make at any time, and the sum
 * over all ranks is known without adding. A rank that is missing, counted twice, or has another
 * block changes the sum. So no host has to hold its vector: 1024 vectors of 4 MiB would be 4 GiB.
 *
 * What the core has written is compared at once. If somebody wants it later, it is made again. It
 * is the same, or the whole run is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "util.h"

#define MIX	0x9e3779b1U
#define CACHED	256	/* blocks whose elements are remembered; a power of two */

/*
 * The common part of all members' elements of a block, and their sum. It is made once for all
 * members, as they handle a block at about the same time.
 */
struct block {
	struct job *job;
	uint32_t index;		/* from first_index() */
	uint32_t n;
	uint32_t *base;
	uint32_t *sum;
};

struct vector_cache {
	struct block block[CACHED];
	uint32_t *memory;
};

static uint32_t mix(uint32_t x)
{
	x *= MIX;
	return x ^ x >> 15;
}

static uint32_t first_index(uint32_t seq, uint32_t first)
{
	return first + seq * 0x01234567U;
}

/* If these were inlined, the compiler would forget that the arrays do not overlap. */
static __attribute__((noinline)) void plus(uint32_t *restrict to, const uint32_t *restrict from,
					   uint32_t add, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = from[i] + add;
}

static __attribute__((noinline)) void scaled(uint32_t *restrict to, const uint32_t *restrict from,
					     uint32_t times, uint32_t add, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = from[i] * times + add;
}

static const struct block *block_of(struct sim *s, struct job *j, uint32_t index, uint32_t n)
{
	uint32_t number = index / s->cfg.elements + (j - s->job) * 37;
	struct block *b = &s->vectors->block[number & (CACHED - 1)];
	uint32_t i;

	if (b->job == j && b->index == index && b->n == n)
		return b;
	b->job = j;
	b->index = index;
	b->n = n;
	for (i = 0; i < n; i++)
		b->base[i] = mix(index + i);
	scaled(b->sum, b->base, j->members, j->add_all, n);
	return b;
}

static void make(struct sim *s, uint32_t *to, struct sim_host *h, uint32_t index, uint32_t n)
{
	plus(to, block_of(s, h->job, index, n)->base, h->job->add[h->rank], n);
}

/* Make the elements of @p, which are the input of its maker. */
void host_make(struct sim *s, const struct packet *p, uint32_t *to)
{
	make(s, to, p->maker, p->index, (p->length - FRAME_HEADERS) / sizeof(*to));
}

/*
 * A ring's partial sum at @h. It includes the members from behind the leader of the block up to @h,
 * in the order of the ring. Return: their number; *@add is the sum of their own parts.
 */
static uint32_t partial(const struct sim *s, const struct sim_host *h, uint32_t block,
			uint32_t *add)
{
	const struct job *j = h->job;
	uint32_t leader = j->place[(FIRST_BLOCK + block) % j->members];
	uint32_t own = j->place[h->rank];
	uint32_t hops = (own + j->members - leader - 1) % j->members + 1;

	*add = j->before[own + 1] - j->before[leader + 1];
	if (own <= leader)
		*add += j->before[j->members];
	return hops;
}

static bool differs(struct sim *s, struct sim_host *h)
{
	const struct block *b = block_of(s, h->job, h->check_index, h->check_n);
	uint32_t i, add, members, bad = 0;

	members = h->check_partial ? partial(s, h, h->check_block, &add) : h->job->members;
	if (members == h->job->members)
		return memcmp(s->scratch, b->sum, h->check_n * sizeof(*b->sum));
	for (i = 0; i < h->check_n; i++)
		bad |= s->scratch[i] ^ (b->base[i] * members + add);
	return bad;
}

/* If something was written to the scratch block, check that it is right. */
void vector_check(struct sim *s, struct sim_host *h)
{
	if (!h->check_n)
		return;
	s->checked += h->check_n;
	if (differs(s, h))
		s->wrong++;
	h->check_n = 0;
}

static bool is_partial(const struct sim_host *h, uint32_t block)
{
	return h->partial && h->partial[block / 64] >> (block % 64) & 1;
}

static void to_be_checked(struct sim_host *h, uint32_t index, uint32_t n, uint32_t block,
			  bool is_partial)
{
	h->check_index = index;
	h->check_n = n;
	h->check_block = block;
	h->check_partial = is_partial;
}

/* Make the partial sum that the core has computed here before. */
static void make_partial(struct sim *s, struct sim_host *h, uint32_t index, uint32_t n,
			 uint32_t block)
{
	uint32_t add, members = partial(s, h, block, &add);

	scaled(s->scratch, block_of(s, h->job, index, n)->base, members, add, n);
}

/* cnr_op.at, see enum cnr_use. */
void *vector_at(const struct cnr_op *o, u32 first, u32 n, enum cnr_use use)
{
	const struct host_op *op = (const struct host_op *)(uintptr_t)o->cookie;
	struct sim_host *h = op->host;
	struct sim *s = op->sim;
	uint32_t index = first_index(op->seq, first);
	uint32_t block = op->seq * s->blocks + first / s->cfg.elements;

	vector_check(s, h);
	s->maker = NULL;
	switch (use) {
	case CNR_USE_INPUT:
		if (is_partial(h, block)) {
			make_partial(s, h, index, n, block);
			return s->scratch;
		}
		make(s, s->scratch, h, index, n);
		s->maker = h;
		s->made = index;
		return s->scratch;
	case CNR_USE_RESULT:
		to_be_checked(h, index, n, block, false);
		return s->scratch;
	case CNR_USE_BOTH:
		make(s, s->scratch, h, index, n);
		to_be_checked(h, index, n, block, h->partial);
		if (h->partial)
			h->partial[block / 64] |= 1ULL << (block % 64);
		return s->scratch;
	case CNR_USE_SERVE:
		break;
	}
	return block_of(s, h->job, index, n)->sum;
}

void vector_free(struct sim *s)
{
	if (s->vectors)
		free(s->vectors->memory);
	free(s->vectors);
}

void vector_build(struct sim *s)
{
	uint32_t i, *memory;

	s->vectors = sim_zalloc(1, sizeof(*s->vectors));
	memory = sim_zalloc(2 * CACHED, s->cfg.elements * sizeof(*memory));
	s->vectors->memory = memory;
	for (i = 0; i < CACHED; i++) {
		s->vectors->block[i].base = memory + 2 * i * s->cfg.elements;
		s->vectors->block[i].sum = memory + (2 * i + 1) * s->cfg.elements;
	}
}

/* Order the ring by addresses, which is the order of the hosts. */
static void order_ring(struct sim *s, struct job *j)
{
	uint32_t *rank_of = sim_alloc(s->topo.hosts * sizeof(*rank_of));
	uint32_t i, n = 0;

	for (i = 0; i < s->topo.hosts; i++)
		rank_of[i] = ~0U;
	for (i = 0; i < j->members; i++)
		rank_of[j->host[i]] = i;
	for (i = 0; i < s->topo.hosts; i++) {
		if (rank_of[i] == ~0U)
			continue;
		j->place[rank_of[i]] = n;
		j->before[n + 1] = j->before[n] + j->add[rank_of[i]];
		n++;
	}
	free(rank_of);
}

void vector_job(struct sim *s, struct job *j, uint32_t number)
{
	uint64_t random = random_stream(s->cfg.seed, 5, number);
	uint32_t i;

	j->add = sim_zalloc(j->members, sizeof(*j->add));
	j->place = sim_zalloc(j->members, sizeof(*j->place));
	j->before = sim_zalloc(j->members + 1, sizeof(*j->before));
	for (i = 0; i < j->members; i++) {
		j->add[i] = random_next(&random);
		j->add_all += j->add[i];
	}
	order_ring(s, j);
}
