// SPDX-License-Identifier: BSD-2-Clause
/*
 * From which length on canary is faster than the host functions. That depends on links, switches
 * and processors, so it is measured, once for each number of members.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmpi.h"

#define LONGEST		(2UL << 20)	/* bytes; longer vectors go through canary in any case */
#define STEP		4
#define TURNS		3	/* vectors of each length; the fastest one counts */
#define KEPT		16	/* sizes of communicators that are remembered */

/* What was measured. Each rank may know others, so ranks agree whether all know this size. */
static struct {
	pthread_mutex_t	lock;
	unsigned int	members[KEPT];	/* of a communicator; the last entry of a number counts */
	size_t		min_bytes[KEPT];
	unsigned int	n;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int look_up(unsigned int members)
{
	unsigned int i;
	int found = 0;

	pthread_mutex_lock(&known.lock);
	for (i = 0; i < known.n; i++)
		if (known.members[i] == members)
			found = known.min_bytes[i];
	pthread_mutex_unlock(&known.lock);
	return found;
}

static void remember(unsigned int members, size_t min_bytes)
{
	pthread_mutex_lock(&known.lock);
	if (known.n < KEPT) {
		known.members[known.n] = members;
		known.min_bytes[known.n++] = min_bytes;
	}
	pthread_mutex_unlock(&known.lock);
}

static int canary_sum(struct cmpi_comm *c, const struct cmpi_settings *s,
		      const struct cmpi_host *host, double *v, size_t count)
{
	const struct canary_call call = {
		.sendbuf = v, .recvbuf = v, .count = count, .dtype = CANARY_FLOAT64,
		.op = CANARY_OP_SUM,
	};
	uint64_t id;

	return cmpi_post(c, &call, &id) ?: cmpi_wait(c, id, host->progress, s->spin);
}

/*
 * Is canary faster with @count doubles, at all ranks? *@faster is the same at all of them. An error
 * of canary at one rank counts as slower there. Later operations report it.
 */
static int compare(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
		   double *v, size_t count, int *faster)
{
	uint64_t begin, took, host_ns = UINT64_MAX, canary_ns = UINT64_MAX;
	int err, turn;

	*faster = 1;
	for (turn = 0; turn < TURNS; turn++) {
		memset(v, 0, count * sizeof(*v));
		begin = now_ns();
		err = host->sum(host->arg, v, count);
		if (err)
			return err;
		took = now_ns() - begin;
		host_ns = took < host_ns ? took : host_ns;
		begin = now_ns();
		if (canary_sum(c, s, host, v, count))
			*faster = 0;
		took = now_ns() - begin;
		canary_ns = took < canary_ns ? took : canary_ns;
	}
	*faster &= canary_ns < host_ns;
	return host->least(host->arg, faster);
}

int cmpi_measure(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host)
{
	size_t bytes = CMPI_LEAST_BYTES;
	int faster = 0, known_to_all = look_up(c->members);
	double *v = NULL;
	int err;

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
	v = malloc(LONGEST);
	faster = v ? 1 : 0;
	err = host->least(host->arg, &faster);
	if (err || !faster) {
		free(v);
		c->min_bytes = CMPI_LEAST_BYTES;
		return err;
	}
	for (faster = 0; bytes <= LONGEST; bytes *= STEP) {
		err = compare(c, s, host, v, bytes / sizeof(*v), &faster);
		if (err || faster)
			break;
	}
	free(v);
	/* Beyond the longest one, the next length is where canary begins. */
	c->min_bytes = bytes;
	remember(c->members, bytes);
	return err;
}
