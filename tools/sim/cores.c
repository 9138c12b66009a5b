// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the cores' memory is. With thousands of members most of it are tables by rank, which are
 * hardly touched. So what packets touch lies in large pages, of all members side by side; the rest
 * lies where memory is only there when it is touched. Nothing but time and memory hangs on it.
 */
#include "host.h"
#include "util.h"

#define PAGE		4096

/* Of what size they are hangs on the rank: rank 0 has the most, and is the first. */
static void begin(struct cores *m, const struct cnr_config *cfg)
{
	struct cnr_config apart = *cfg;

	m->members = cfg->members;
	m->each_far = (cnr_seldom_size(cfg) + PAGE - 1) / PAGE * PAGE;
	m->far = sim_space(m->members * m->each_far);
	apart.seldom = m->far;
	/* Lines come in pairs; members shall not all want the same place in the cache. */
	m->each_near = ((cnr_size(&apart) / (2 * LINE) + 1) | 1) * 2 * LINE;
	m->near = sim_region(m->members * m->each_near);
}

struct cnr_comm *cores_member(struct cores *m, struct cnr_config *cfg)
{
	if (!m->near)
		begin(m, cfg);
	cfg->seldom = m->far + m->each_far * cfg->rank;
	return cnr_init(m->near + m->each_near * cfg->rank, cfg);
}

void cores_free(struct cores *m)
{
	sim_region_free(m->near, m->members * m->each_near);
	sim_region_free(m->far, m->members * m->each_far);
}
