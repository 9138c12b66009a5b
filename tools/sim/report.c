// SPDX-License-Identifier: BSD-2-Clause
/*
 * What came out, as JSON and CSV. Integers only, so that the same scenario gives the same bytes
 * however it was compiled; what hangs on the machine (speed) is apart and only told if asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "host.h"

/* Mbit/s of vector per time, for one member */
static uint64_t goodput(const struct sim *s, uint64_t end)
{
	uint64_t ns = (end - s->begin) / PS_PER_NS;

	return ns ? s->cfg.bytes * 8 * s->cfg.operations * 1000 / ns : 0;
}

static uint64_t link_ppm(const struct sim *s, const struct link *l)
{
	uint64_t us = (s->end - s->begin) / PS_PER_US;

	return us ? l->bytes * 8 * 1000000 / (l->rate / 1000000) / us : 0;
}

static void report_jobs(struct sim *s, FILE *to)
{
	uint64_t sum = 0;
	uint32_t i;

	fputs("  \"jobs\": [", to);
	for (i = 0; i < s->cfg.jobs; i++) {
		uint64_t end = s->job[i].running ? s->end : s->job[i].end;

		sum += goodput(s, end);
		fprintf(to, "%s{\"members\": %u, \"ns\": %" PRIu64 ", \"goodput_mbit\": %" PRIu64
			"}", i ? ", " : "", s->job[i].members, (end - s->begin) / PS_PER_NS,
			goodput(s, end));
	}
	fprintf(to, "],\n  \"goodput_mbit\": %" PRIu64 ",\n", sum / s->cfg.jobs);
}

/* From posting to completion, the mean of all members of all jobs */
static void report_operations(const struct sim *s, FILE *to)
{
	uint32_t i, members = s->cfg.members ? s->cfg.members : s->topo.hosts;

	if (s->cfg.operations == 1)
		return;
	fputs("  \"operations_ns\": [", to);
	for (i = 0; i < s->cfg.operations; i++)
		fprintf(to, "%s%" PRIu64, i ? ", " : "", s->op_time[i] / members / PS_PER_NS);
	fputs("],\n", to);
}

static void counters(FILE *to, const char *name, const uint64_t *value, uint32_t n,
		     const char *(*name_of)(uint32_t))
{
	bool first = true;
	uint32_t i;

	fprintf(to, "  \"%s\": {", name);
	for (i = 0; i < n; i++) {
		if (!value[i])
			continue;
		fprintf(to, "%s\"%s\": %" PRIu64, first ? "" : ", ", name_of(i), value[i]);
		first = false;
	}
	fputs("},\n", to);
}

static const char *core_counter(uint32_t i)
{
	return i < CNR_COUNTER_COUNT ? cnr_counter_name(i) :
	       cnr_drop_name(i - CNR_COUNTER_COUNT);
}

static const char *switch_counter(uint32_t i)
{
	return i < switch_counter_count() ? switch_counter_name(i) :
	       cnr_drop_name(i - switch_counter_count());
}

static void report_all_links(const struct sim *s, FILE *to)
{
	uint64_t ppm = 0, longest = 0, bytes = 0;
	uint32_t i;

	for (i = 0; i < s->links; i++) {
		ppm += link_ppm(s, &s->link[i]);
		bytes += s->link[i].bytes;
		if (s->link[i].longest > longest)
			longest = s->link[i].longest;
	}
	fprintf(to, "  \"links\": {\"n\": %u, \"utilisation_ppm\": %" PRIu64 ", \"bytes\": %" PRIu64
		", \"longest_queue\": %" PRIu64 "},\n", s->links, s->links ? ppm / s->links : 0,
		bytes, longest);
}

void report_json(struct sim *s, FILE *to, bool speed)
{
	uint64_t value[4096 / sizeof(uint64_t)];
	struct rusage usage;

	fprintf(to, "{\n  \"hosts\": %u,\n  \"switches\": %u,\n  \"seed\": %u,\n", s->topo.hosts,
		s->topo.switches, s->cfg.seed);
	fprintf(to, "  \"right\": %s,\n", s->wrong || s->failed || s->running ? "false" : "true");
	fprintf(to, "  \"wrong\": %" PRIu64 ",\n  \"failed\": %u,\n  \"unfinished\": %u,\n",
		s->wrong, s->failed, s->running);
	fprintf(to, "  \"ns\": %" PRIu64 ",\n", (s->end - s->begin) / PS_PER_NS);
	report_jobs(s, to);
	report_operations(s, to);
	fprintf(to, "  \"hops\": %" PRIu64 ",\n  \"data_hops\": %" PRIu64 ",\n", s->hops,
		s->data_hops);
	fprintf(to, "  \"events\": %" PRIu64 ",\n", s->engine.executed);
	fprintf(to, "  \"elements_checked\": %" PRIu64 ",\n  \"lost\": %" PRIu64 ",\n", s->checked,
		s->lost);
	report_all_links(s, to);
	host_counters(s, value);
	counters(to, "core", value, CNR_COUNTER_COUNT + CANARY_DROPS, core_counter);
	switch_counters(s, value);
	counters(to, "switch", value, switch_counter_count() + CANARY_DROPS, switch_counter);
	if (speed) {
		getrusage(RUSAGE_SELF, &usage);
		fprintf(to, "  \"wall_ms\": %" PRIu64 ",\n  \"processor_ms\": %" PRIu64 ",\n",
			s->wall / 1000000, s->processor / 1000000);
		fprintf(to, "  \"hops_per_second\": %" PRIu64 ",\n  \"memory_kib\": %ld,\n",
			s->processor ? s->hops * 1000000 / (s->processor / 1000) : 0,
			usage.ru_maxrss);
	}
	fprintf(to, "  \"descriptors_most\": %" PRIu64 "\n}\n", switch_busiest(s));
}

static void name(const struct sim *s, uint32_t node, FILE *to)
{
	if (node < s->topo.switches)
		fputs(s->topo.name[node], to);
	else
		fprintf(to, "h%u", node - s->topo.switches + 1);
}

/* One line a link and direction */
void report_links(const struct sim *s, FILE *to)
{
	uint32_t i;

	fputs("from,to,packets,bytes,utilisation_ppm,longest_queue,drops\n", to);
	for (i = 0; i < s->links; i++) {
		const struct link *l = &s->link[i];

		name(s, l->from, to);
		fputc(',', to);
		name(s, l->to, to);
		fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			(uint64_t)l->packets, l->bytes, link_ppm(s, l), (uint64_t)l->longest, l->drops);
	}
}
