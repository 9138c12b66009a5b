/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks without an MPI library: processes, whose host functions are made of shared memory and
 * barriers. For tests of userspace/mpi/.
 */
#ifndef CANARY_CMPI_RANKS_H
#define CANARY_CMPI_RANKS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/tap.h"
#include "userspace/mpi/cmpi.h"

#define RANKS	3
#define ROOM	512	/* bytes of a rank in an allgather */

static char *engine = "user";

static void defaults(struct cmpi_settings *s)
{
	char why[200];

	cmpi_settings_take(s, NULL, NULL, why, sizeof(why));
	s->engine = engine;
	s->one_host = 1;
	s->min_bytes = 16384;
}

/* What ranks share */
static struct {
	pthread_barrier_t	barrier;
	char			gathered[RANKS][ROOM];
	int			value[RANKS];
	double			vector[RANKS][(4 << 20) / sizeof(double)];
} *shared;

static int rank;
static int broken;	/* the host function, counted from 1, that fails */

static int host_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
	int i;

	if (bytes > ROOM || broken == 1)
		return -1;
	memcpy(shared->gathered[rank], mine, bytes);
	pthread_barrier_wait(&shared->barrier);
	for (i = 0; i < RANKS; i++)
		memcpy((char *)all + i * bytes, shared->gathered[i], bytes);
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

static int host_least(void *arg, int *value)
{
	int i;

	if (broken == 2)
		return -1;
	shared->value[rank] = *value;
	pthread_barrier_wait(&shared->barrier);
	for (i = 0; i < RANKS; i++)
		if (shared->value[i] < *value)
			*value = shared->value[i];
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

/* The host function takes seconds with some lengths. Canary on one host takes milliseconds. */
static bool (*is_slow)(size_t bytes);

static int host_sum(void *arg, double *v, size_t count)
{
	size_t i, k;

	if (broken == 3)
		return -1;
	if (is_slow && !is_slow(count * sizeof(*v)))
		return 0;	/* only measurements come here, and do not look at the sum */
	if (is_slow)
		usleep(getenv("CANARY_GUEST") ? 2000000 : 1000000);	/* its sums take longer */
	memcpy(shared->vector[rank], v, count * sizeof(*v));
	pthread_barrier_wait(&shared->barrier);
	for (i = 0; i < count; i++)
		for (v[i] = k = 0; k < RANKS; k++)
			v[i] += shared->vector[k][i];
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

static const struct cmpi_host host = {
	.allgather = host_allgather, .least = host_least, .sum = host_sum,
};

/* Call it before the first run(). */
static void share(void)
{
	pthread_barrierattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, RANKS);
}

/* Run @what at all ranks. It returns 0 if all is well. */
static void run(int (*what)(struct cmpi_settings *s), const char *name)
{
	int i, status, wrong = 0;
	pid_t pid[RANKS];

	fflush(stdout);
	for (i = 0; i < RANKS; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			struct cmpi_settings s;

			alarm(100);
			rank = i;
			defaults(&s);
			_exit(!!what(&s));
		}
	}
	for (i = 0; i < RANKS; i++)
		wrong += waitpid(pid[i], &status, 0) != pid[i] || status;
	tap(!wrong, "%s: %s", engine, name);
}

#endif /* CANARY_CMPI_RANKS_H */
