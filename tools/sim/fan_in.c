// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fan-in of static trees. Who builds such trees configures at every switch how many members'
 * contributions to the blocks of a leader come by. A switch then waits for just those.
 */
#include <stdlib.h>

#include "host.h"
#include "util.h"

/* @count: by job, switch, and the leader's switch */
struct fan_ins {
	uint32_t switches;
	uint16_t *count;
};

static uint16_t *at(const struct fan_ins *t, uint32_t job, uint32_t node, uint32_t edge)
{
	return &t->count[((size_t)job * t->switches + node) * t->switches + edge];
}

/* Count @n members at switch @from, which send to a leader at switch @edge over the tree @path. */
static void walk(struct sim *s, uint32_t job, uint32_t from, uint32_t edge, uint8_t path,
		 uint16_t n, uint16_t *sum)
{
	const struct port_set *set;
	uint32_t node = from;
	uint32_t way;
	uint16_t number;

	while (node != edge) {
		sum[node] += n;
		number = s->routes[node].towards[edge];
		if (number == NO_SET)
			return;
		set = &s->routes[node].set[number];
		way = s->topo.level[node] ? path / route_uplinks(s) : path;
		node = s->link[s->ports[node].link[set->port[way % set->n]]].to;
	}
}

static void tell_job(struct sim *s, uint32_t job)
{
	const struct job *j = &s->job[job];
	uint32_t n = s->topo.switches, edge, from, tree, i;
	uint16_t *members = sim_zalloc(n, sizeof(*members));
	uint16_t *sum = sim_zalloc(n, sizeof(*sum));

	for (i = 0; i < j->members; i++)
		members[s->edge[j->host[i]]]++;
	for (edge = 0; edge < n; edge++) {
		if (!members[edge])
			continue;
		for (tree = 0; tree < s->cfg.trees; tree++) {
			for (i = 0; i < n; i++)
				sum[i] = 0;
			for (from = 0; from < n; from++)
				if (members[from])
					walk(s, job, from, edge, j->tree[tree], members[from], sum);
			for (i = 0; i < n; i++)
				if (sum[i])
					*at(s->configured, job, i, edge) = sum[i];
		}
	}
	free(members);
	free(sum);
}

void fan_in_build(struct sim *s)
{
	uint32_t job;

	if (s->cfg.algorithm != ALGORITHM_STATIC)
		return;
	s->configured = sim_zalloc(1, sizeof(*s->configured));
	s->configured->switches = s->topo.switches;
	s->configured->count = sim_zalloc((size_t)s->cfg.jobs * s->topo.switches * s->topo.switches,
				    sizeof(*s->configured->count));
	for (job = 0; job < s->cfg.jobs; job++)
		tell_job(s, job);
}

void fan_in_free(struct sim *s)
{
	if (s->configured)
		free(s->configured->count);
	free(s->configured);
}

/* Fan-in of switch @node for blocks of the leader at node @leader. 0: members - 1, as usual */
uint32_t fan_in_of(const struct sim *s, uint32_t node, uint32_t leader)
{
	uint32_t host = leader - s->topo.switches;

	if (leader < s->topo.switches || host >= s->topo.hosts || !s->host[host].job)
		return 0;
	return *at(s->configured, s->host[host].job - s->job, node, s->edge[host]);
}
