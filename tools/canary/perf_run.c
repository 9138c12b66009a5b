// SPDX-License-Identifier: BSD-2-Clause
/* canary perf: runs operations and checks their results, see perf.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engines.h"
#include "perf.h"
#include "userspace/common/complain.h"

#define PARTS_APART	64	/* bytes; vectors of operations in flight share no cache line */

uint64_t perf_together(const struct perf *p)
{
	uint64_t n = p->check < p->aggregate ? p->check : p->aggregate;

	return n ?: 1;
}

/* Return: bytes from one vector to the next of those that are checked together */
static size_t stride(const struct perf *p)
{
	return (p->max / PARTS_APART + 1) * PARTS_APART;
}

size_t perf_room(const struct perf *p)
{
	return perf_together(p) * stride(p);
}

int perf_fail(const struct perf *p)
{
	return complain("canary", "rank %u: %s", p->comm.params.rank, canary_errmsg());
}

/* The operation that is measured */
static struct canary_call call_of(const struct perf *p, const void *in, void *out, size_t count)
{
	return (struct canary_call){
		.sendbuf = in, .recvbuf = out, .count = count, .dtype = p->reference.dtype,
		.op = p->reference.op,
		.how = p->reference.how &
		       canary_how_supported(p->reference.dtype, p->reference.op),
	};
}

int perf_reduce(struct perf *p, const void *in, void *out, size_t count)
{
	struct canary_call call = call_of(p, in, out, count);
	struct canary_outcome outcome;

	if (canary_allreduce_call(p->c, &call, sizeof(call), &outcome, sizeof(outcome)))
		return perf_fail(p);
	if (count)
		p->method = outcome.method;
	return 0;
}

/* Run @n operations, all in flight. Their vectors are @apart bytes from each other. */
static int together(struct perf *p, const char *in, char *out, size_t count, uint64_t n,
		    size_t apart)
{
	struct canary_outcome outcome = { 0 };
	uint64_t request[PERF_FLIGHT], i;
	struct canary_call call;

	if (n == 1)
		return perf_reduce(p, in, out, count);
	for (i = 0; i < n; i++) {
		call = call_of(p, in + i * apart, out + i * apart, count);
		if (canary_room(p->c, CANARY_FOREVER) ||
		    canary_post_call(p->c, &call, sizeof(call), &request[i]))
			return perf_fail(p);
	}
	for (i = 0; i < n; i++)
		if (canary_wait_outcome(p->c, request[i], CANARY_FOREVER, &outcome,
					sizeof(outcome)))
			return perf_fail(p);
	p->method = outcome.method;
	return 0;
}

double perf_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

int perf_operations(struct perf *p, const void *in, void *out, size_t count, uint64_t n)
{
	double before = perf_now_us(), now;
	uint64_t i;

	for (i = 0; i < n; i += p->aggregate) {
		if (together(p, in, out, count, p->aggregate, 0))
			return -1;
		if (!p->times || p->times_n == PERF_TIMES)
			continue;
		now = perf_now_us();
		p->times[p->times_n++] = (now - before) / p->aggregate;
		before = now;
	}
	return 0;
}

int perf_sum(struct perf *p, uint64_t *value)
{
	int32_t part[8];
	int i;

	for (i = 0; i < 8; i++)
		part[i] = *value >> 8 * i & 0xff;
	if (canary_allreduce(p->c, part, part, 8, CANARY_INT32, CANARY_OP_SUM))
		return perf_fail(p);
	*value = 0;
	for (i = 7; i >= 0; i--)
		*value = (*value << 8) + (uint32_t)part[i];
	return 0;
}

/* ---- checks ---- */

/* What the member's counters say of this rank so far */
static struct seen seen_so_far(struct canary *c)
{
	struct seen seen = { 0 };
	struct canary_stat *stats;
	int n = canary_stats(c, NULL, 0), i;

	stats = n > 0 ? calloc(n, sizeof(*stats)) : NULL;
	if (stats && canary_stats(c, stats, n) == n) {
		for (i = 0; i < n; i++) {
			if (!strcmp(stats[i].name, "contributions-merged"))
				seen.aggregates = stats[i].value;
			else if (!strcmp(stats[i].name, "operations-ring"))
				seen.ring = stats[i].value;
		}
	}
	free(stats);
	return seen;
}

static bool is_number(const struct report *r, const char *name, unsigned long number)
{
	const char *value = report_value(r, name);

	return value && strtoul(value, NULL, 10) == number;
}

/* Ask as canary comm show does, right after an operation. */
static void ask_switches(struct perf *p)
{
	struct reports all = { 0 };
	const char *value;
	size_t i;

	if (engines_kernel(&all) || engines_user(&all))
		return;
	for (i = 0; i < all.n; i++) {
		if (!is_number(&all.list[i], "comm", p->comm.params.comm) ||
		    !is_number(&all.list[i], "rank", p->rank))
			continue;
		value = report_value(&all.list[i], "switches");
		snprintf(p->seen.switches, sizeof(p->seen.switches), "%s", value ?: "-");
	}
	reports_free(&all);
}

/* Check @n operations in flight. Return: wrong elements of this rank; -1: they failed */
static int64_t check_together(struct perf *p, char *in, char *out, size_t count, uint64_t n)
{
	const uint32_t first = p->reference.seed + 1;
	uint64_t i, wrong = 0;

	for (i = 0; i < n; i++) {
		p->reference.seed = first + i;
		reference_fill(&p->reference, p->rank, in + i * stride(p), count);
	}
	if (together(p, in, out, count, n, stride(p)))
		return -1;
	for (i = 0; i < n; i++) {
		p->reference.seed = first + i;
		wrong += reference_wrong(&p->reference, out + i * stride(p), count, false);
	}
	return wrong;
}

int perf_check(struct perf *p, void *in, void *out, size_t count, uint64_t *wrong)
{
	struct seen before = seen_so_far(p->c), now;
	uint64_t n, done;
	int64_t found;

	*wrong = 0;
	for (done = 0; done < p->check; done += n) {
		n = p->check - done < p->aggregate ? p->check - done : p->aggregate;
		found = check_together(p, in, out, count, n);
		if (found < 0)
			return -1;
		*wrong += found;
	}
	now = seen_so_far(p->c);
	now.aggregates -= before.aggregates;
	now.ring -= before.ring;
	if (p->json && p->rank == 0 && p->check)
		ask_switches(p);
	if (perf_sum(p, wrong) || perf_sum(p, &now.aggregates) || perf_sum(p, &now.ring))
		return -1;
	p->seen.aggregates += now.aggregates;
	p->seen.ring += now.ring;
	return 0;
}
