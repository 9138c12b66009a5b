// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the results as JSON and CSV. All numbers are integers, so that a scenario gives the same
 * bytes however it was compiled. What depends on the machine (speed) is apart, and only written if
 * asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "host.h"
#include "userspace/common/json.h"

/* Mbit/s of vector of one member */
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

/*
 * What came out where hosts hold their vectors. @digest is that of the results of rank 0. Results are
 * reproducible if it is the same in two runs.
 */
static void report_results(const struct job *job, struct json *j)
{
	char digest[32];

	if (!job->held)
		return;
	snprintf(digest, sizeof(digest), "%016" PRIx64, held_hash(job));
	json_string(j, "digest", digest);
	json_u64(j, "distinct", held_distinct(job));
	json_string(j, "method", cnr_method_name(held_method(job)));
}

static void report_jobs(struct sim *s, struct json *j)
{
	uint64_t sum = 0;
	uint32_t i;

	json_array(j, "jobs");
	for (i = 0; i < s->cfg.jobs; i++) {
		uint64_t end = s->job[i].running ? s->end : s->job[i].end;

		sum += goodput(s, end);
		json_object(j, NULL);
		json_u64(j, "members", s->job[i].members);
		json_u64(j, "ns", (end - s->begin) / PS_PER_NS);
		json_u64(j, "goodput_mbit", goodput(s, end));
		report_results(&s->job[i], j);
		json_end(j);
	}
	json_end(j);
	json_u64(j, "goodput_mbit", sum / s->cfg.jobs);
}

/* Time from posting to completion, mean over all members of all jobs */
static void report_operations(const struct sim *s, struct json *j)
{
	uint32_t i, members = s->cfg.members ? s->cfg.members : s->topo.hosts;

	if (s->cfg.operations == 1)
		return;
	json_array(j, "operations_ns");
	for (i = 0; i < s->cfg.operations; i++)
		json_u64(j, NULL, s->op_time[i] / members / PS_PER_NS);
	json_end(j);
}

static void counters(struct json *j, const char *name, const uint64_t *value, uint32_t n,
		     const char *(*name_of)(uint32_t))
{
	uint32_t i;

	json_object(j, name);
	for (i = 0; i < n; i++)
		if (value[i])
			json_u64(j, name_of(i), value[i]);
	json_end(j);
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

static void report_all_links(const struct sim *s, struct json *j)
{
	uint64_t ppm = 0, longest = 0, bytes = 0;
	uint32_t i;

	for (i = 0; i < s->links; i++) {
		ppm += link_ppm(s, &s->link[i]);
		bytes += s->link[i].bytes;
		if (s->link[i].longest > longest)
			longest = s->link[i].longest;
	}
	json_object(j, "links");
	json_u64(j, "n", s->links);
	json_u64(j, "utilisation_ppm", s->links ? ppm / s->links : 0);
	json_u64(j, "bytes", bytes);
	json_u64(j, "longest_queue", longest);
	json_end(j);
}

static void report_speed(const struct sim *s, struct json *j)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	json_u64(j, "wall_ms", s->wall / 1000000);
	json_u64(j, "processor_ms", s->processor / 1000000);
	json_u64(j, "hops_per_second",
		 s->processor ? s->hops * 1000000 / (s->processor / 1000) : 0);
	json_u64(j, "memory_kib", usage.ru_maxrss);
}

void report_json(struct sim *s, FILE *to, bool speed)
{
	uint64_t value[4096 / sizeof(uint64_t)];
	struct json j;

	json_begin(&j, to, JSON_LINES);
	json_object(&j, NULL);
	json_u64(&j, "hosts", s->topo.hosts);
	json_u64(&j, "switches", s->topo.switches);
	json_u64(&j, "seed", s->cfg.seed);
	json_bool(&j, "right", !s->wrong && !s->failed && !s->running);
	json_u64(&j, "wrong", s->wrong);
	json_u64(&j, "failed", s->failed);
	json_u64(&j, "unfinished", s->running);
	json_u64(&j, "ns", (s->end - s->begin) / PS_PER_NS);
	report_jobs(s, &j);
	report_operations(s, &j);
	json_u64(&j, "hops", s->hops);
	json_u64(&j, "data_hops", s->data_hops);
	json_u64(&j, "events", s->engine.executed);
	json_u64(&j, "elements_checked", s->checked);
	json_u64(&j, "lost", s->lost);
	report_all_links(s, &j);
	host_counters(s, value);
	counters(&j, "core", value, CNR_COUNTER_COUNT + CANARY_DROPS, core_counter);
	switch_counters(s, value);
	counters(&j, "switch", value, switch_counter_count() + CANARY_DROPS, switch_counter);
	if (speed)
		report_speed(s, &j);
	json_u64(&j, "descriptors_most", switch_busiest(s));
	json_end(&j);
}

static void name(const struct sim *s, uint32_t node, FILE *to)
{
	if (node < s->topo.switches)
		fputs(s->topo.name[node], to);
	else
		fprintf(to, "h%u", node - s->topo.switches + 1);
}

/* One line for each link and direction */
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
