// SPDX-License-Identifier: BSD-2-Clause
/* Results that are broadcast to groups of ports: what is missed, and what is lost */
#include "backend.h"

static struct outputs outs;

const struct setting with_groups = {
	.slots = 16, .queue = 32, .children = 8, .timeout = MSEC, .lifetime = 5000 * MSEC,
	.groups = true,
};

static void run_groups(const struct backend *b)
{
	enum who who[] = { H1, H1B, H2, H4, H3, SWITCH2 };
	struct frame f;
	int i;

	b->reset(&with_groups);
	for (i = 0; i < 6; i++) {
		frame_in(&f, people[who[i]].port,
			 &(struct msg) { .from = who[i], .ranks = R(i + 1), .members = 8 });
		b->receive(&f, &outs);
	}
	frame_in(&f, 4, &(struct msg) { .type = CANARY_RESULT, .members = 8 });
	b->receive(&f, &outs);
	check(outs.n == 6 && b->wanted() == 1, "%s: a group that is missed is wanted", b->name);
}

/* A block of two children, whose result is broadcast */
static void broadcast_one(const struct backend *b, uint32_t block)
{
	const enum who child[] = { H1, H4 };
	struct frame f;
	int i;

	for (i = 0; i < 2; i++) {
		frame_in(&f, people[child[i]].port,
			 &(struct msg) { .from = child[i], .ranks = R(i + 1), .members = 6,
					 .block = block });
		b->receive(&f, &outs);
	}
	frame_in(&f, 4, &(struct msg) { .type = CANARY_RESULT, .members = 6, .block = block });
	b->receive(&f, &outs);
}

/* The kernel may lose copies that are broadcast, without a word. */
static void run_lost_copies(const struct backend *b)
{
	const uint32_t dropped = CSW_COUNTER_COUNT + CANARY_DROP_XMIT;
	uint64_t early, late;
	uint32_t block;

	b->reset(&with_groups);
	b->lose_copies();
	for (block = 1; block < CSW_SPREADS; block++)
		broadcast_one(b, block);
	early = b->counter(dropped);
	for (; block < CSW_SPREADS + 3; block++)
		broadcast_one(b, block);
	late = b->counter(dropped);
	check(b->counter(CSW_SPREAD) == CSW_SPREADS + 2 && !early && late == 3,
	      "%s: copies that were lost are counted when their place is used again", b->name);
}

void copies_run(const struct backend *b)
{
	run_groups(b);
	if (b->lose_copies)
		run_lost_copies(b);
}
