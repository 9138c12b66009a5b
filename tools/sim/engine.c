// SPDX-License-Identifier: BSD-2-Clause
/* The event queue, see engine.h. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "util.h"

#define LANE_FIRST	1024

void engine_init(struct engine *e)
{
	int i;

	memset(e, 0, sizeof(*e));
	for (i = 0; i < ENGINE_LANES; i++)
		e->head_at[i] = ~0ULL;
}

void engine_free(struct engine *e)
{
	int i;

	for (i = 0; i < e->lanes; i++)
		free(e->lane[i].ring);
	free(e->heap);
}

int engine_lane(struct engine *e, uint64_t delay)
{
	struct lane *l;
	int i;

	for (i = 0; i < e->lanes; i++)
		if (e->lane[i].delay == delay)
			return i;
	if (e->lanes == ENGINE_LANES)
		return ENGINE_HEAP;
	l = &e->lane[e->lanes];
	l->delay = delay;
	l->mask = LANE_FIRST - 1;
	l->ring = sim_alloc(LANE_FIRST * sizeof(*l->ring));
	return e->lanes++;
}

void engine_lane_grow(struct lane *l)
{
	uint32_t i, n = l->tail - l->head, size = (l->mask + 1) * 2;
	struct event *ring = sim_alloc((size_t)size * sizeof(*ring));

	for (i = 0; i < n; i++)
		ring[i] = l->ring[(l->head + i) & l->mask];
	free(l->ring);
	l->ring = ring;
	l->mask = size - 1;
	l->head = 0;
	l->tail = n;
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

void engine_heap_push(struct engine *e, struct event ev)
{
	uint32_t i, up;

	if (e->heap_count == e->heap_room) {
		e->heap_room = e->heap_room ? 2 * e->heap_room : 256;
		e->heap = sim_realloc(e->heap, e->heap_room * sizeof(*e->heap));
	}
	for (i = e->heap_count++; i; i = up) {
		up = (i - 1) / 2;
		if (earlier(&e->heap[up], &ev))
			break;
		e->heap[i] = e->heap[up];
	}
	e->heap[i] = ev;
}

static void heap_pop(struct engine *e, struct event *ev)
{
	struct event last = e->heap[--e->heap_count];
	uint32_t i = 0, down;

	*ev = e->heap[0];
	while ((down = 2 * i + 1) < e->heap_count) {
		if (down + 1 < e->heap_count && earlier(&e->heap[down + 1], &e->heap[down]))
			down++;
		if (earlier(&last, &e->heap[down]))
			break;
		e->heap[i] = e->heap[down];
		i = down;
	}
	e->heap[i] = last;
}

bool engine_next(struct engine *e, struct event *ev)
{
	uint64_t at = e->head_at[0], seq = e->head_seq[0];
	struct lane *l;
	int i, best = 0;

	for (i = 1; i < e->lanes; i++) {
		if (e->head_at[i] > at || (e->head_at[i] == at && e->head_seq[i] > seq))
			continue;
		at = e->head_at[i];
		seq = e->head_seq[i];
		best = i;
	}
	e->executed++;
	if (e->heap_count &&
	    (e->heap[0].at < at || (e->heap[0].at == at && e->heap[0].seq < seq))) {
		heap_pop(e, ev);
		e->last = ENGINE_HEAP;
		e->now = ev->at;
		return true;
	}
	if (at == ~0ULL)
		return false;
	l = &e->lane[best];
	e->last = best;
	*ev = l->ring[l->head++ & l->mask];
	if (l->head == l->tail) {
		e->head_at[best] = ~0ULL;
	} else {
		e->head_at[best] = l->ring[l->head & l->mask].at;
		e->head_seq[best] = l->ring[l->head & l->mask].seq;
	}
	e->now = at;
	return true;
}
