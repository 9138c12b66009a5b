// SPDX-License-Identifier: BSD-2-Clause
/*
 * Routes: all shortest paths from each switch to each other one, as a routing protocol would find
 * them. Next hops are in the order of the ports. A host is reached by its switch.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "util.h"

static uint16_t find_set(struct routes *r, const struct port_set *want)
{
	uint32_t i;

	for (i = 0; i < r->sets; i++)
		if (r->set[i].n == want->n &&
		    !memcmp(r->set[i].port, want->port, want->n * sizeof(want->port[0])))
			return i;
	if (!(r->sets & (r->sets - 1)))
		r->set = sim_realloc(r->set, (r->sets ? 2 * r->sets : 1) * sizeof(*r->set));
	r->set[r->sets] = *want;
	return r->sets++;
}

static void distances(const struct sim *s, uint32_t target, uint32_t *distance, uint32_t *queue)
{
	uint32_t i, node, head = 0, tail = 0;

	for (i = 0; i < s->topo.switches; i++)
		distance[i] = ~0U;
	distance[target] = 0;
	queue[tail++] = target;
	while (head < tail) {
		node = queue[head++];
		for (i = 0; i < s->ports[node].n; i++) {
			const struct link *l = &s->link[s->ports[node].link[i]];

			if (l->to >= s->topo.switches || s->link[l->reverse].down ||
			    distance[l->to] != ~0U)
				continue;
			distance[l->to] = distance[node] + 1;
			queue[tail++] = l->to;
		}
	}
}

static void towards(struct sim *s, uint32_t target, const uint32_t *distance)
{
	struct port_set set;
	uint32_t i, node;

	for (node = 0; node < s->topo.switches; node++) {
		struct routes *r = &s->routes[node];

		r->towards[target] = NO_SET;
		if (!distance[node] || distance[node] == ~0U)
			continue;
		set.n = 0;
		for (i = 0; i < s->ports[node].n && set.n < PORT_SET_MAX; i++) {
			const struct link *l = &s->link[s->ports[node].link[i]];

			if (l->to < s->topo.switches && !l->down &&
			    distance[l->to] == distance[node] - 1)
				set.port[set.n++] = i;
		}
		if (set.n)
			r->towards[target] = find_set(r, &set);
	}
}

/* Compute all routes over links that are up. This is called again after failures. */
void route_build(struct sim *s)
{
	uint32_t n = s->topo.switches, i;
	uint32_t *distance = sim_zalloc(n, sizeof(*distance));
	uint32_t *queue = sim_zalloc(n, sizeof(*queue));

	if (!s->routes) {
		s->routes = sim_zalloc(n, sizeof(*s->routes));
		for (i = 0; i < n; i++)
			s->routes[i].towards = sim_zalloc(n, sizeof(uint16_t));
	}
	for (i = 0; i < n; i++)
		s->routes[i].sets = 0;
	for (i = 0; i < n; i++) {
		distances(s, i, distance, queue);
		towards(s, i, distance);
	}
	free(distance);
	free(queue);
}

void route_free(struct sim *s)
{
	uint32_t i;

	for (i = 0; s->routes && i < s->topo.switches; i++) {
		free(s->routes[i].set);
		free(s->routes[i].towards);
	}
	free(s->routes);
}

/*
 * Number of static trees: a path (canary_hdr.path) chooses an uplink at a leaf and, divided, one a
 * level higher.
 */
uint32_t route_roots(const struct sim *s)
{
	uint32_t uplinks = route_uplinks(s), roots = uplinks, i;

	for (i = 0; i < s->topo.switches; i++)
		if (s->topo.level[i] == 2)
			roots = uplinks * uplinks;
	return roots < 256 ? roots : 256;
}

/* Uplinks of a switch that has hosts */
uint32_t route_uplinks(const struct sim *s)
{
	uint32_t edge = s->edge[0], i, n = 0;

	for (i = 0; i < s->ports[edge].n; i++)
		n += s->link[s->ports[edge].link[i]].to < s->topo.switches;
	return n ? n : 1;
}
