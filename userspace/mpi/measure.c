// SPDX-License-Identifier: BSD-2-Clause
/*
 * From which length on canary is faster than the host functions. That depends on links, switches
 * and processors, so it is measured, once for each number of members.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmpi.h"

#define LONGEST		(2UL << 20)	/* bytes; longer vectors go as those of this length */
#define STEP		4
#define ROUNDS		3	/* of calls in a row, as a program makes them; the fastest one counts */
#define ROUND_US	20000	/* a round takes, if that is a few calls */
#define CALLS		16	/* in a round, at most */
#define BROKEN		-1	/* less than any answer */
#define WORTH_IT	20	/* canary has to be faster by one part of so many */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* One measurement, and @v of LONGEST bytes for it */
struct measurement {
	struct cmpi_comm		*c;
	const struct cmpi_settings	*s;
	const struct cmpi_host		*host;
	double				*v;
};

static int canary_sum(const struct measurement *m, size_t count)
{
	const struct canary_call call = {
		.sendbuf = m->v, .recvbuf = m->v, .count = count, .dtype = CANARY_FLOAT64,
		.op = CANARY_OP_SUM,
	};
	uint64_t id;
	int err;

	/*
	 * Requests may have all the room. A rank that went on without this sum would take part in
	 * the next one in its place.
	 */
	while ((err = cmpi_post(m->c, &call, &id)) == -EAGAIN)
		if (m->host->progress)
			m->host->progress();
	return err ?: cmpi_wait(m->c, id, m->host->progress, m->s->spin);
}

/* Canary does not work. Other ranks may wait for a sum of this one: they hear that it has left. */
static void give_up(const struct measurement *m)
{
	if (m->host->queue)
		cmpi_queue_close(m->host->queue);
	else
		cmpi_close(m->c);
}

/* Return: ns that @calls sums by canary took; on an error, a line was printed, and it is closed */
static uint64_t canary_calls(const struct measurement *m, size_t count, int calls)
{
	uint64_t begin = now_ns();
	int i, err;

	for (i = 0; i < calls && !cmpi_closed(m->c); i++) {
		err = canary_sum(m, count);
		if (!err)
			continue;
		cmpi_complain(m->c, CMPI_ALLREDUCE, err);
		give_up(m);
	}
	return now_ns() - begin;
}

/*
 * How many calls make a round? The slower one of both functions decides. All ranks have the same
 * answer, from the fastest one of them.
 */
static int calls_of_a_round(const struct measurement *m, size_t count, int *calls)
{
	uint64_t begin = now_ns(), host_us, us;
	int err, least;

	err = m->host->sum(m->host->arg, m->v, count);
	if (err)
		return err;
	host_us = (now_ns() - begin) / 1000;
	us = canary_calls(m, count, 1) / 1000;
	us = host_us > us ? host_us : us;
	least = us < INT_MAX ? us : INT_MAX;
	err = m->host->least(m->host->arg, &least);
	*calls = least < ROUND_US / CALLS ? CALLS : least < ROUND_US ? ROUND_US / least : 1;
	return err;
}

/*
 * Is canary faster with @count doubles, at all ranks? *@faster is the same at all of them: 1, 0, or
 * BROKEN if it does not work at some. Host functions are called alike at all ranks in any case.
 */
static int compare(const struct measurement *m, size_t count, int *faster)
{
	uint64_t begin, took, host_ns = UINT64_MAX, canary_ns = UINT64_MAX;
	int err, round, i, calls;

	memset(m->v, 0, count * sizeof(*m->v));
	err = calls_of_a_round(m, count, &calls);
	for (round = 0; !err && round < ROUNDS; round++) {
		begin = now_ns();
		for (i = 0; !err && i < calls; i++)
			err = m->host->sum(m->host->arg, m->v, count);
		took = now_ns() - begin;
		host_ns = took < host_ns ? took : host_ns;
		if (err)
			break;
		took = canary_calls(m, count, calls);
		canary_ns = took < canary_ns ? took : canary_ns;
	}
	if (err)
		return err;
	*faster = cmpi_closed(m->c) ? BROKEN : canary_ns + canary_ns / WORTH_IT < host_ns;
	return m->host->least(m->host->arg, faster);
}

/*
 * The least length from which on canary is faster. One length may win by chance, so two in a row
 * have to. If only the longest one does, there it begins.
 */
static int find_least(const struct measurement *m, size_t *least)
{
	int err, faster = 0, before = 0;
	size_t bytes;

	for (bytes = CMPI_LEAST_BYTES; bytes <= LONGEST; bytes *= STEP) {
		before = faster;
		err = compare(m, bytes / sizeof(*m->v), &faster);
		if (err)
			return err;
		if (faster == BROKEN) {
			give_up(m);
			return 0;
		}
		if (faster && before)
			break;
	}
	*least = faster ? bytes / STEP : CMPI_NEVER;
	return 0;
}

int cmpi_measure(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host)
{
	struct measurement m = { .c = c, .s = s, .host = host };
	int err, enough, known_to_all = cmpi_threshold(c->members);

	c->min_bytes = CMPI_UNMEASURED;
	c->measured = true;
	if (!host->sum)
		return 0;
	/* Ranks may know different values of communicators of this size. The least one counts. */
	err = host->least(host->arg, &known_to_all);
	if (err || known_to_all) {
		c->min_bytes = known_to_all;
		return err;
	}
	m.v = malloc(LONGEST);
	enough = m.v ? 1 : 0;
	err = host->least(host->arg, &enough);
	if (!err && !enough)
		c->min_bytes = CMPI_LEAST_BYTES;
	if (!err && enough)
		err = find_least(&m, &c->min_bytes);
	if (!err && enough && !cmpi_closed(c))
		cmpi_threshold_keep(c->members, c->min_bytes);
	free(m.v);
	return err;
}
