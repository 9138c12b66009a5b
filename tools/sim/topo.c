// SPDX-License-Identifier: BSD-2-Clause
/* Shapes of networks, see topo.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo.h"
#include "util.h"

#define HOSTS_MAX	65536
#define LEAF_MAX	65536	/* ports of a leaf, as their numbers have 16 bits */
#define SWITCHES_MAX	8192
#define PORTS_MAX	64	/* most next hops and most children of a switch */

static const char *const kinds[] = { "star", "leaf_spine", "fat_tree", NULL };

#define AT(member)	offsetof(struct shape, member)
const struct config_key shape_keys[] = {
	{ "kind", CONFIG_WORD, AT(kind), 0, 0, kinds, "needed" },
	{ "hosts", CONFIG_NUMBER, AT(hosts), 1, HOSTS_MAX, NULL,
	  "hosts of the star, or of each leaf" },
	{ "leaves", CONFIG_NUMBER, AT(leaves), 1, SWITCHES_MAX, NULL, "leaf_spine: leaves" },
	{ "spines", CONFIG_NUMBER, AT(spines), 1, PORTS_MAX, NULL, "leaf_spine: spines" },
	{ "levels", CONFIG_NUMBER, AT(levels), 2, 3, NULL, "fat_tree: of switches" },
	{ "radix", CONFIG_NUMBER, AT(radix), 2, 2 * PORTS_MAX, NULL,
	  "fat_tree: ports of a switch" },
	{ "oversubscription", CONFIG_NUMBER, AT(oversubscription), 1, 63, NULL,
	  "fat_tree: host links for one uplink of an edge switch (1)" },
	{ "rate", CONFIG_RATE, AT(rate), 1000, 10000000000000ULL, NULL, "of host links; needed" },
	{ "uplink_rate", CONFIG_RATE, AT(uplink_rate), 1000, 10000000000000ULL, NULL,
	  "of links between switches (as rate)" },
	{ "latency", CONFIG_TIME, AT(latency), 0, 1000000000000ULL, NULL,
	  "of a link and the switch behind it (300ns)" },
	{ "queue", CONFIG_BYTES, AT(queue), 2048, 1ULL << 30, NULL,
	  "bytes that may wait at each port (128KiB)" },
	{ .name = NULL },
};

#undef AT

/* Name a switch PREFIXa, or PREFIXaxb if it is in a pod. */
static uint32_t add_switch(struct topo *t, uint32_t level, const char *prefix, uint32_t a,
			   uint32_t b)
{
	t->level[t->switches] = level;
	if (b)
		snprintf(t->name[t->switches], sizeof(t->name[0]), "%s%ux%u", prefix, a, b);
	else
		snprintf(t->name[t->switches], sizeof(t->name[0]), "%s%u", prefix, a);
	return t->switches++;
}

static void add_cable(struct topo *t, uint32_t a, uint32_t b)
{
	t->cable[t->cables].end[0] = a;
	t->cable[t->cables++].end[1] = b;
}

static void room(struct topo *t, uint32_t switches, uint32_t hosts, uint32_t cables)
{
	t->name = sim_zalloc(switches, sizeof(*t->name));
	t->level = sim_zalloc(switches, 1);
	t->cable = sim_zalloc(cables, sizeof(*t->cable));
	t->hosts = hosts;
}

static void build_star(struct topo *t)
{
	uint32_t i, s;

	room(t, 1, t->shape.hosts, t->shape.hosts);
	s = add_switch(t, 0, "s", 1, 0);
	for (i = 0; i < t->hosts; i++)
		add_cable(t, s, 1 + i);
}

/* Spines come first, then leaf after leaf: uplinks in the order of the spines, then hosts. */
static void build_two(struct topo *t, uint32_t spines, uint32_t leaves, uint32_t hosts,
		      const char *upper, const char *lower)
{
	uint32_t i, j, leaf, host = spines + leaves;

	room(t, spines + leaves, leaves * hosts, leaves * (spines + hosts));
	for (i = 0; i < spines; i++)
		add_switch(t, 1, upper, i + 1, 0);
	for (i = 0; i < leaves; i++) {
		leaf = add_switch(t, 0, lower, i + 1, 0);
		for (j = 0; j < spines; j++)
			add_cable(t, leaf, j);
		for (j = 0; j < hosts; j++)
			add_cable(t, leaf, host++);
	}
}

static void build_three(struct topo *t, uint32_t up, uint32_t down)
{
	uint32_t k = t->shape.radix, half = k / 2, cores = up * half;
	uint32_t agg[PORTS_MAX], pod, i, j, edge, host = cores + k * (up + half);

	room(t, host, k * half * down, k * up * half + k * half * (up + down));
	for (i = 0; i < cores; i++)
		add_switch(t, 2, "score", i + 1, 0);
	for (pod = 0; pod < k; pod++) {
		for (i = 0; i < up; i++) {
			agg[i] = add_switch(t, 1, "sagg", pod + 1, i + 1);
			for (j = 0; j < half; j++)
				add_cable(t, agg[i], i * half + j);
		}
		for (i = 0; i < half; i++) {
			edge = add_switch(t, 0, "sedge", pod + 1, i + 1);
			for (j = 0; j < up; j++)
				add_cable(t, edge, agg[j]);
			for (j = 0; j < down; j++)
				add_cable(t, edge, host++);
		}
	}
}

static bool build_fat_tree(struct topo *t, const char *path)
{
	const struct shape *s = &t->shape;
	uint32_t up, down;

	if (!s->radix || !s->levels)
		return refuse(path, "fat_tree needs radix and levels");
	if (s->hosts || s->leaves || s->spines)
		return refuse(path, "fat_tree: hosts, leaves and spines follow from radix");
	if (s->radix % 2)
		return refuse(path, "radix: a fat tree's switches have an even number of ports");
	if (s->radix % (s->oversubscription + 1))
		return refuse(path, "oversubscription: radix must be divisible by it plus 1");
	up = s->radix / (s->oversubscription + 1);
	down = s->radix - up;
	if (up > PORTS_MAX)
		return refuse(path, "radix: more than 64 uplinks of a switch");
	if ((uint64_t)s->radix * (s->levels == 2 ? 1 : s->radix / 2) * down > HOSTS_MAX)
		return refuse(path, "radix: more than 65536 hosts");
	if (s->levels == 2)
		build_two(t, up, s->radix, down, "score", "sedge");
	else
		build_three(t, up, down);
	return true;
}

static bool build(struct topo *t, const char *path)
{
	const struct shape *s = &t->shape;

	switch (s->kind) {
	case SHAPE_STAR:
		if (!s->hosts)
			return refuse(path, "star needs hosts");
		if (s->leaves || s->spines || s->levels || s->radix)
			return refuse(path, "star has hosts only");
		build_star(t);
		return true;
	case SHAPE_LEAF_SPINE:
		if (!s->hosts || !s->leaves || !s->spines)
			return refuse(path, "leaf_spine needs leaves, spines and hosts");
		if (s->levels || s->radix)
			return refuse(path, "leaf_spine has neither levels nor radix");
		if ((uint64_t)s->leaves * s->hosts > HOSTS_MAX)
			return refuse(path, "leaf_spine: more than 65536 hosts");
		if ((uint64_t)s->spines + s->hosts > LEAF_MAX)
			return refuse(path, "leaf_spine: more than 65536 ports of a leaf");
		build_two(t, s->spines, s->leaves, s->hosts, "sspine", "sleaf");
		return true;
	default:
		return build_fat_tree(t, path);
	}
}

bool topo_read(struct topo *t, const char *path)
{
	memset(t, 0, sizeof(*t));
	t->shape.kind = ~0U;
	t->shape.oversubscription = 1;
	t->shape.latency = 300000;
	t->shape.queue = 128 << 10;
	if (!config_file(shape_keys, &t->shape, path))
		return false;
	if (t->shape.kind == ~0U)
		return refuse(path, "no kind");
	if (!t->shape.rate)
		return refuse(path, "no rate");
	if (!t->shape.uplink_rate)
		t->shape.uplink_rate = t->shape.rate;
	return build(t, path);
}

void topo_free(struct topo *t)
{
	free(t->name);
	free(t->level);
	free(t->cable);
}

int topo_node(const struct topo *t, const char *name)
{
	unsigned int number;
	uint32_t i;
	char end;

	if (sscanf(name, "h%u%c", &number, &end) == 1 && number && number <= t->hosts)
		return t->switches + number - 1;
	for (i = 0; i < t->switches; i++)
		if (!strcmp(t->name[i], name))
			return i;
	return -1;
}
