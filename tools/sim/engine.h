/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event queue: what happens next in simulated time (picoseconds). Events are ordered by (time,
 * sequence number of scheduling), so that ties are decided in the same way on every machine.
 *
 * Nearly all delays are one of a few constants: a packet's time on a link, a link's latency, a
 * switch's timeout. Events with the same delay fall due in the order in which they were scheduled.
 * So each such delay has a lane, which is a FIFO, and the next event is the earliest head of all
 * lanes. That costs the same for 64 hosts and for 8192. Events with other delays go to a heap.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_LANES	24
#define ENGINE_HEAP	(-1)	/* returned instead of a lane's number */

#define PS_PER_NS	UINT64_C(1000)
#define PS_PER_US	UINT64_C(1000000)
#define PS_PER_S	UINT64_C(1000000000000)

struct event {
	uint64_t at;
	uint64_t seq;
	void *ptr;
	uint32_t kind;
	uint32_t arg;
};

struct lane {
	struct event *ring;
	uint32_t mask;
	uint32_t head;
	uint32_t tail;
	uint64_t delay;
};

struct engine {
	uint64_t now;
	uint64_t seq;
	uint64_t executed;
	int lanes;
	int last;				/* lane of the event taken last */
	uint64_t head_at[ENGINE_LANES];		/* ~0: empty */
	uint64_t head_seq[ENGINE_LANES];
	struct lane lane[ENGINE_LANES];
	struct event *heap;
	uint32_t heap_count;
	uint32_t heap_room;
};

void engine_init(struct engine *e);
void engine_free(struct engine *e);

/* Return: the lane of this delay, which is made if there is room for one; or ENGINE_HEAP */
int engine_lane(struct engine *e, uint64_t delay);

void engine_lane_grow(struct lane *l);
void engine_heap_push(struct engine *e, struct event ev);

/* Schedule an event after the constant delay of @lane. */
static inline void engine_after(struct engine *e, int lane, uint32_t kind, uint32_t arg, void *ptr)
{
	struct lane *l = &e->lane[lane];
	struct event *ev;

	if (l->tail - l->head > l->mask)
		engine_lane_grow(l);
	ev = &l->ring[l->tail & l->mask];
	ev->at = e->now + l->delay;
	ev->seq = e->seq++;
	ev->ptr = ptr;
	ev->kind = kind;
	ev->arg = arg;
	if (l->tail++ == l->head) {
		e->head_at[lane] = ev->at;
		e->head_seq[lane] = ev->seq;
	}
}

/* Schedule an event for any time from now on. */
static inline void engine_at(struct engine *e, uint64_t at, uint32_t kind, uint32_t arg, void *ptr)
{
	struct event ev = { .at = at, .seq = e->seq++, .ptr = ptr, .kind = kind, .arg = arg };

	engine_heap_push(e, ev);
}

/*
 * A later event of the lane whose event was taken last. What it will need can be fetched into the
 * cache in time. Return: NULL if there is none.
 */
static inline const struct event *engine_ahead(const struct engine *e, uint32_t distance)
{
	const struct lane *l;

	if (e->last == ENGINE_HEAP)
		return NULL;
	l = &e->lane[e->last];
	return l->tail - l->head > distance ? &l->ring[(l->head + distance) & l->mask] : NULL;
}

/* Take the next event and set the time to it. Return: false if there is none. */
bool engine_next(struct engine *e, struct event *ev);

#endif /* SIM_ENGINE_H */
