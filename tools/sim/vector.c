// SPDX-License-Identifier: BSD-2-Clause
/*
 * The vectors. An element is mix(index) + add(rank): cheap to make again at any time, the sum
 * over all ranks is known without adding, and a rank that is missing, there twice, or there with
 * another block changes it. So no host holds its vector: 1024 of 4 MiB would be 4 GiB.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "util.h"

#define MIX	0x9e3779b1U
#define CACHED	256	/* blocks whose elements are at hand; a power of two */

/*
 * What all members' elements of a block have in common, and what their sum is: made once for all
 * members, since they handle a block at about the same time.
 */
struct block {
	struct job *job;
	uint32_t index;		/* first_index() */
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
	for (i = 0; i < n; i++) {
		b->base[i] = mix(index + i);
		b->sum[i] = b->base[i] * j->members + j->add_all;
	}
	return b;
}

static void make(struct sim *s, uint32_t *to, struct sim_host *h, uint32_t index, uint32_t n)
{
	const uint32_t *base = block_of(s, h->job, index, n)->base;
	uint32_t i, add = h->job->add[h->rank];

	for (i = 0; i < n; i++)
		to[i] = base[i] + add;
}

static void check(struct sim *s, struct job *j, const uint32_t *data, uint32_t seq,
		  uint32_t first, uint32_t n)
{
	const struct block *b = block_of(s, j, first_index(seq, first), n);

	s->checked += n;
	if (memcmp(data, b->sum, n * sizeof(*data)))
		s->wrong++;
}

void vector_check(struct sim *s, struct sim_host *h)
{
	if (!h->check_n)
		return;
	check(s, h->job, s->scratch, h->check_seq, h->check_first, h->check_n);
	h->check_n = 0;
}

static struct led *led_at(struct sim *s, const struct host_op *op, uint32_t first, bool take)
{
	struct sim_host *h = op->host;
	uint64_t per_op = s->cfg.bytes / 4 / s->cfg.elements / h->job->members + 2;
	uint64_t number = op->seq * per_op + first / s->cfg.elements / h->job->members + 1;
	struct led *l = &h->led[number & (h->leds - 1)];

	if (take) {
		if (!l->data)
			l->data = sim_alloc(s->cfg.elements * sizeof(*l->data));
		l->number = number;
		l->checked = false;
	}
	return l->number == number ? l : NULL;
}

/* cnr_op.at: see enum cnr_use. */
u32 *vector_at(const struct cnr_op *o, u32 first, u32 n, enum cnr_use use)
{
	const struct host_op *op = (const struct host_op *)(uintptr_t)o->cookie;
	struct sim_host *h = op->host;
	struct sim *s = op->sim;
	struct led *l;

	switch (use) {
	case CNR_USE_INPUT:
		make(s, s->scratch, h, first_index(op->seq, first), n);
		return s->scratch;
	case CNR_USE_RESULT:
		h->check_first = first;
		h->check_seq = op->seq;
		h->check_n = n;
		return s->scratch;
	case CNR_USE_BOTH:
		l = led_at(s, op, first, true);
		make(s, l->data, h, first_index(op->seq, first), n);
		return l->data;
	case CNR_USE_SERVE:
		break;
	}
	l = led_at(s, op, first, false);
	if (!l) {
		/* A result that nobody should want any more; wrong, and told as such. */
		s->wrong++;
		return s->scratch;
	}
	if (!l->checked) {
		check(s, h->job, l->data, op->seq, first, n);
		l->checked = true;
	}
	return l->data;
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

void vector_job(struct sim *s, struct job *j, uint32_t number)
{
	uint64_t random = random_stream(s->cfg.seed, 5, number);
	uint32_t i;

	j->add = sim_zalloc(j->members, sizeof(*j->add));
	for (i = 0; i < j->members; i++) {
		j->add[i] = random_next(&random);
		j->add_all += j->add[i];
	}
}
