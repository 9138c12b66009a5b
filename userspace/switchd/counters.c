// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counters of the data plane. The map has them for each processor, and they are summed here. Names
 * and order come from the headers that the programs are compiled from.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

static const struct {
	const char *name, *help;
} counter_texts[] = {
#define X(name, text, help) { text, help },
	CSW_COUNTERS(X)
#undef X
}, drop_texts[] = {
#define X(name, text, help) { text, help },
	CANARY_DROP_REASONS(X)
#undef X
};

_Static_assert(CANARY_DROPS <= ARRAY_SIZE(((struct counters *)0)->drop), "room for all reasons");

const char *counter_name(unsigned int i)
{
	return counter_texts[i].name;
}

const char *counter_help(unsigned int i)
{
	return counter_texts[i].help;
}

const char *drop_name(unsigned int i)
{
	return drop_texts[i].name;
}

const char *drop_help(unsigned int i)
{
	return drop_texts[i].help;
}

static int read_one(int fd, uint32_t key, uint64_t *per_cpu, int cpus, uint64_t *sum)
{
	int ret, i;

	ret = bpf_map_lookup_elem(fd, &key, per_cpu);
	for (*sum = 0, i = 0; !ret && i < cpus; i++)
		*sum += per_cpu[i];
	return ret;
}

int counters_read(struct switchd *sw, struct counters *c)
{
	int cpus = libbpf_num_possible_cpus(), ret = 0;
	uint64_t *per_cpu, *sum;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->drops = CANARY_DROPS;
	per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	if (!per_cpu)
		return -1;
	for (i = 0; !ret && i < CSW_COUNTER_COUNT + CANARY_DROPS; i++) {
		sum = i < CSW_COUNTER_COUNT ? &c->counter[i] : &c->drop[i - CSW_COUNTER_COUNT];
		ret = read_one(sw->dp.counters_fd, i, per_cpu, cpus, sum);
	}
	free(per_cpu);
	return ret;
}

uint64_t counters_read_one(struct switchd *sw, enum csw_counter which)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *per_cpu, sum = 0;

	per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	if (per_cpu)
		read_one(sw->dp.counters_fd, which, per_cpu, cpus, &sum);
	free(per_cpu);
	return sum;
}
