// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of the cores. With thousands of members most of it are tables by rank, which are hardly
 * touched. So the data that packets touch lie in large pages, those of all members side by side.
 * The rest lies in small pages, which exist only when they are touched. This saves time and memory,
 * and changes nothing else.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host.h"
#include "util.h"

#define PAGE		4096

/* The size of a core depends on its rank. Rank 0 comes first and has the largest one. */
static void begin(struct cores *m, const struct cnr_config *cfg)
{
	struct cnr_config apart = *cfg;

	m->members = cfg->members;
	m->each_far = (cnr_seldom_size(cfg) + PAGE - 1) / PAGE * PAGE;
	m->far = sim_space(m->members * m->each_far);
	apart.seldom = m->far;
	/*
	 * The processor fetches pairs of lines. An odd number of pairs spreads the members over the
	 * cache.
	 */
	m->each_near = ((cnr_size(&apart) / (2 * LINE) + 1) | 1) * 2 * LINE;
	m->near = sim_region(m->members * m->each_near);
}

/* End the program if a member needs more than there is for each. */
static void fits(const struct cnr_config *cfg, size_t need, size_t each)
{
	if (need <= each)
		return;
	fprintf(stderr, "canary-sim: rank %u needs more memory than rank 0\n", cfg->rank);
	exit(1);
}

struct cnr_comm *cores_member(struct cores *m, struct cnr_config *cfg)
{
	if (!m->near)
		begin(m, cfg);
	fits(cfg, cnr_seldom_size(cfg), m->each_far);
	cfg->seldom = m->far + m->each_far * cfg->rank;
	fits(cfg, cnr_size(cfg), m->each_near);
	return cnr_init(m->near + m->each_near * cfg->rank, cfg);
}

void cores_free(struct cores *m)
{
	sim_region_free(m->near, m->members * m->each_near);
	sim_region_free(m->far, m->members * m->each_far);
}
