// SPDX-License-Identifier: BSD-2-Clause
/*
 * What few programs do: sums of nothing, requests that are cancelled, freed or left behind, all
 * functions that complete requests in several threads, sessions before MPI_Init.
 *
 *	careless PART...
 */
#include <stdbool.h>
#include <unistd.h>

#include "program.h"

#define LONG	20000	/* elements of a vector that is long enough for Canary */
#define THREADS	4
#define TURNS	12
#define FEW	3	/* requests of a thread at the same time */

static void fill(double *v, int who, int what)
{
	int i;

	for (i = 0; i < LONG; i++)
		v[i] = (double)(mix(who, i, what) % 4096);
}

static long compare(const double *v, int what)
{
	long wrong = 0;
	int i, r;

	for (i = 0; i < LONG; i++) {
		double sum = 0;

		for (r = 0; r < size; r++)
			sum += (double)(mix(r, i, what) % 4096);
		wrong += v[i] != sum;
	}
	return wrong;
}

static long sum(MPI_Comm comm, int what)
{
	double *in = malloc(LONG * sizeof(*in)), *out = malloc(LONG * sizeof(*out));
	long wrong;

	fill(in, rank, what);
	MPI_Allreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, comm);
	wrong = compare(out, what);
	free(in);
	free(out);
	return wrong;
}

static void first(void)
{
	check(sum(MPI_COMM_WORLD, 1), "a sum");
}

/* A request comes before there is a communicator. Then an empty vector, which odd ranks lack */
static void empty(void)
{
	static double in[LONG], out[LONG], none[2];
	int token = rank;
	MPI_Request r;
	long wrong;

	fill(in, rank, 2);
	MPI_Iallreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	wrong = compare(out, 2);
	MPI_Allreduce(rank % 2 ? NULL : none, rank % 2 ? NULL : none + 1, 0, MPI_DOUBLE, MPI_SUM,
		      MPI_COMM_WORLD);
	MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	check(wrong + !!token + sum(MPI_COMM_WORLD, 3), "an empty vector");
}

/* Write to memory of all sizes that may just have been freed. */
static void use_memory(void)
{
	char *memory[64];
	int i;

	for (i = 0; i < 64; i++) {
		memory[i] = malloc(16 * (i + 1));
		memset(memory[i], 0xa5, 16 * (i + 1));
	}
	for (i = 0; i < 64; i++)
		free(memory[i]);
}

/* MPI permits neither. The request ends nevertheless, and so do others. */
static void dropped(void)
{
	static double in[LONG], out[2][LONG];
	MPI_Request r[2];
	long wrong = 0;
	int k, err;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	fill(in, rank, 4);
	for (k = 0; k < 2; k++)
		MPI_Iallreduce(in, out[k], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[k]);
	MPI_Cancel(&r[0]);
	err = MPI_Request_free(&r[1]);
	use_memory();
	check(!err && r[1] != MPI_REQUEST_NULL, "a request that is freed");
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	if (err) {
		MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		wrong += compare(out[1], 4);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	check(wrong + sum(MPI_COMM_WORLD, 5) + compare(out[0], 4),
	      "requests that are cancelled or freed");
}

/* Nobody waits for them, and only rank 0 begins them. One communicator is freed. */
static void left_behind(void)
{
	static double in[LONG], out[2][LONG];
	MPI_Request r[2];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	check(sum(comm, 6), "a sum in a copy of the communicator");
	if (!rank) {
		MPI_Iallreduce(in, out[0], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[0]);
		MPI_Iallreduce(in, out[1], LONG, MPI_DOUBLE, MPI_SUM, comm, &r[1]);
	}
	MPI_Comm_free(&comm);
}

/* ---- threads ---- */

static long thread_wrong;	/* of all threads; changed by atomic additions */

static void complete(MPI_Request *r, int way)
{
	int i, n, which[FEW], done = 0;

	switch (way) {
	case 0:
		MPI_Waitall(FEW, r, MPI_STATUSES_IGNORE);
		break;
	case 1:
		while (!done)
			MPI_Testall(FEW, r, &done, MPI_STATUSES_IGNORE);
		break;
	case 2:
		for (i = 0; i < FEW; i++)
			MPI_Waitany(FEW, r, &n, MPI_STATUS_IGNORE);
		break;
	case 3:
		for (i = 0; i < FEW; i += n)
			MPI_Waitsome(FEW, r, &n, which, MPI_STATUSES_IGNORE);
		break;
	case 4:
		for (i = 0; i < FEW; i++)
			for (done = 0; !done;)
				MPI_Request_get_status(r[i], &done, MPI_STATUS_IGNORE);
		MPI_Waitall(FEW, r, MPI_STATUSES_IGNORE);
		break;
	default:
		for (i = FEW - 1; i >= 0; i--)
			for (done = 0; !done;)
				MPI_Test(&r[i], &done, MPI_STATUS_IGNORE);
	}
}

static void *work(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	double *in = malloc(LONG * sizeof(*in)), *out[FEW];
	MPI_Request r[FEW];
	long wrong = 0;
	int i, k;

	for (i = 0; i < FEW; i++)
		out[i] = malloc(LONG * sizeof(*in));
	for (k = 0; k < TURNS; k++) {
		fill(in, rank, k);
		for (i = 0; i < FEW; i++)
			MPI_Iallreduce(in, out[i], LONG, MPI_DOUBLE, MPI_SUM, comm, &r[i]);
		complete(r, k % 6);
		for (i = 0; i < FEW; i++)
			wrong += compare(out[i], k) + (r[i] != MPI_REQUEST_NULL);
	}
	for (i = 0; i < FEW; i++)
		free(out[i]);
	free(in);
	__atomic_fetch_add(&thread_wrong, wrong, __ATOMIC_RELAXED);
	return NULL;
}

static void threads(void)
{
	MPI_Comm comm[THREADS];
	long wrong = 0;
	int k, level;

	MPI_Query_thread(&level);
	check(level != MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	for (k = 0; k < THREADS; k++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
		wrong += sum(comm[k], k);
	}
	run_threads(work, comm, THREADS);
	check(wrong + thread_wrong, "four threads complete requests by all functions");
	for (k = 0; k < THREADS; k++)
		MPI_Comm_free(&comm[k]);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "first", first }, { "empty", empty }, { "dropped", dropped }, { "left", left_behind },
	{ "threads", threads },
};

/* Another part of the program has a session before MPI_Init, and rank 1 is late with that. */
static void init_with_session(int *argc, char ***argv)
{
#if MPI_VERSION >= 4
	const char *number = getenv("PMI_RANK");
	MPI_Session session;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	if (number && !strcmp(number, "1"))
		sleep(2);
	MPI_Init(argc, argv);
	MPI_Session_finalize(&session);
#endif
}

static void init(const char *how, int *argc, char ***argv)
{
	bool several = !strcmp(how, "threads");
	int level;

	if (!strcmp(how, "session"))
		init_with_session(argc, argv);
	else
		MPI_Init_thread(argc, argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
				&level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

int main(int argc, char **argv)
{
	unsigned int k;
	int i;

	init(argc > 1 ? argv[1] : "", &argc, &argv);
	for (i = 1; i < argc; i++)
		for (k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			if (!strcmp(argv[i], parts[k].name))
				parts[k].run();
	return verdict();
}
