// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the cores' memory is. cnr_init() takes one piece, in which what each packet touches lies
 * among tables by rank that are hardly touched: with thousands of members those are most of it.
 * So a member is made in one place, and its parts are moved from there: what packets touch goes to
 * large pages, of all members side by side; the rest goes where memory is only there when it is
 * touched. This file alone knows the core from inside; nothing but time and memory hangs on it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/inside.h"
#include "host.h"
#include "util.h"

#define PAGE		4096

/* Room at *@at, which is then behind it, with what is at @from */
static void *move(char **at, const void *from, size_t size)
{
	void *to = *at;

	*at += lines(size);
	return memcpy(to, from, size);
}

/* The same for what is hardly touched: zeros are there already. */
static void *move_far(char **at, const void *from, size_t size)
{
	static const char zeros[PAGE];
	size_t done, n;
	char *to = *at;

	*at += lines(size);
	for (done = 0; done < size; done += n) {
		n = size - done < PAGE ? size - done : PAGE;
		if (memcmp((const char *)from + done, zeros, n))
			memcpy(to + done, (const char *)from + done, n);
	}
	return to;
}

/* What packets touch; in a ring its queue, too. */
static struct cnr_comm *move_near(const struct cnr_comm *from, char **at)
{
	struct cnr_comm *c = move(at, from, sizeof(*from));
	size_t bits = (from->cfg.members + 63) / 64 * sizeof(u64);
	size_t window = from->block_mask + 1;
	u32 i;

	if (from->data_key == from->own_key)
		c->data_key = c->own_key;
	c->tree.txq = move(at, from->tree.txq, window * sizeof(*from->tree.txq));
	c->tree.lead = move(at, from->tree.lead, from->tree.leads * sizeof(*from->tree.lead));
	for (i = 0; i < from->tree.leads; i++) {
		c->tree.lead[i].seen = move(at, from->tree.lead[i].seen, bits);
		c->tree.lead[i].want = move(at, from->tree.lead[i].want, bits);
		c->tree.lead[i].acc = move(at, from->tree.lead[i].acc, from->length);
	}
	c->block = move(at, from->block, window * sizeof(*from->block));
	if (from->cfg.algorithm == CANARY_ALG_RING)
		c->ring.queue = move(at, from->ring.queue,
				     (from->ring.mask + 1) * sizeof(*from->ring.queue));
	return c;
}

/*
 * And what they do not. Each member asks rank 0 in the end what all have: better that the kernel
 * clears those pages before it starts.
 */
static void move_rest(struct cnr_comm *c, const struct cnr_comm *from, char **at)
{
	u32 members = from->cfg.members;

	memset(*at, 0, sizeof(*from->member));
	c->member = move_far(at, from->member, members * sizeof(*from->member));
	memset(*at, 0, sizeof(*from->questions));
	c->questions = move_far(at, from->questions, members * sizeof(*from->questions));
	c->ring.at = move_far(at, from->ring.at, members * sizeof(*from->ring.at));
	c->ring.place = move_far(at, from->ring.place, members * sizeof(*from->ring.place));
	if (from->cfg.algorithm != CANARY_ALG_RING)
		c->ring.queue = move_far(at, from->ring.queue,
					 (from->ring.mask + 1) * sizeof(*from->ring.queue));
	if (from->join.joiner)
		c->join.joiner = move_far(at, from->join.joiner, members * sizeof(*from->join.joiner));
}

/* Rank 0 has the most, and is the first. */
static void begin(struct cores *m, struct cnr_config *cfg)
{
	m->members = cfg->members;
	m->each_sources = cnr_sources_size(cfg);
	m->sources = sim_zalloc(cfg->members, m->each_sources);
	cfg->sources = m->sources;	/* so they are not in the size */
	m->size = cnr_size(cfg);
	m->made = sim_lines(m->size);
}

/* How much is near of each? */
static void begin_near(struct cores *m, const struct cnr_comm *c)
{
	char *trial = sim_alloc(m->size + (8 + 3 * c->tree.leads) * LINE), *at = trial;

	move_near(c, &at);
	/* Lines come in pairs; members shall not all want the same place in the cache. */
	m->each_near = (((at - trial) / (2 * LINE) + 1) | 1) * 2 * LINE;
	free(trial);
	m->near = sim_region(m->members * m->each_near);
	m->each_far = (m->size + 8 * LINE + PAGE - 1) / PAGE * PAGE;
	m->far = sim_space(m->members * m->each_far);
}

struct cnr_comm *cores_member(struct cores *m, struct cnr_config *cfg)
{
	struct cnr_comm *made, *c;
	char *near, *far;

	if (!m->made)
		begin(m, cfg);
	cfg->sources = m->sources + m->each_sources * cfg->rank;
	memset(m->made, 0, m->size);
	made = cnr_init(m->made, cfg);
	if (!m->near)
		begin_near(m, made);
	near = m->near + m->each_near * cfg->rank;
	far = m->far + m->each_far * cfg->rank;
	c = move_near(made, &near);
	move_rest(c, made, &far);
	return c;
}

void cores_free(struct cores *m)
{
	sim_region_free(m->near, m->members * m->each_near);
	sim_region_free(m->far, m->members * m->each_far);
	free(m->sources);
	free(m->made);
}
