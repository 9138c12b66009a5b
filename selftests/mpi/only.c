// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that sum up by MPI_Iallreduce only, so that no call of theirs may wait for other ranks.
 *
 *	only PART...
 */
#include <signal.h>
#include <unistd.h>

#include "program.h"

#define LONG	20000	/* elements of a vector that is long enough for Canary */
#define MANY	40
#define COPIES	8
#define THREADS	3
#define TURNS	10

/* A request with its vectors. Each sum has another number @what. */
struct sum {
	MPI_Request	request;
	double		in[LONG], out[LONG];
	int		what;
};

static void begin_sum(struct sum *s, int what, MPI_Comm comm)
{
	int i;

	s->what = what;
	for (i = 0; i < LONG; i++)
		s->in[i] = (double)(mix(rank, i, what) % 4096);
	MPI_Iallreduce(s->in, s->out, LONG, MPI_DOUBLE, MPI_SUM, comm, &s->request);
}

/* Elements that are not the sum over @ranks, of which number k is rank @first + k @step of world */
static long compare(const struct sum *s, int ranks, int first, int step)
{
	long wrong = 0;
	int i, k;

	for (i = 0; i < LONG; i++) {
		double sum = 0;

		for (k = 0; k < ranks; k++)
			sum += (double)(mix(first + k * step, i, s->what) % 4096);
		wrong += s->out[i] != sum;
	}
	return wrong;
}

static long end_sum(struct sum *s)
{
	MPI_Wait(&s->request, MPI_STATUS_IGNORE);
	return compare(s, size, 0, 1);
}

static struct sum *sums(int n)
{
	return malloc(n * sizeof(struct sum));
}

/* The second one comes when all ranks have the first result, and forming goes on. */
static void one_by_one(void)
{
	struct sum *s = sums(1);
	long wrong = 0;
	int k;

	for (k = 0; k < TURNS; k++) {
		begin_sum(s, k, MPI_COMM_WORLD);
		wrong += end_sum(s);
	}
	check(wrong, "one request at a time");
	free(s);
}

/* One rank comes late, so at all others these wait until the communicator is formed. */
static void many_at_once(void)
{
	struct sum *s = sums(MANY);
	long wrong = 0;
	int k;

	if (rank == 1)
		usleep(500000);
	for (k = 0; k < MANY; k++)
		begin_sum(&s[k], k, MPI_COMM_WORLD);
	for (k = MANY - 1; k >= 0; k--)
		wrong += end_sum(&s[k]);
	check(wrong, "many requests before there is a communicator");
	free(s);
}

/* All halves and copies are formed at a time. */
static void comms(void)
{
	struct sum *s = sums(2 * COPIES);
	MPI_Comm comm[COPIES];
	long wrong = 0;
	int k, half = rank % 2;

	for (k = 0; k < COPIES; k++)
		comm[k] = copy_or_half(k, half);
	for (k = 0; k < 2 * COPIES; k++)
		begin_sum(&s[k], k, comm[k % COPIES]);
	for (k = 0; k < 2 * COPIES; k++) {
		MPI_Wait(&s[k].request, MPI_STATUS_IGNORE);
		wrong += compare(&s[k], k % 2 ? size / 2 : size, k % 2 ? half : 0, 1 + k % 2);
	}
	for (k = 0; k < COPIES; k++)
		MPI_Comm_free(&comm[k]);
	check(wrong, "copies and halves of communicators");
	free(s);
}

/*
 * Other collective calls in between, and ranks that look after their requests at other times. So
 * some know earlier than others that the communicator was formed, or not. @comm, @from: first
 * number
 */
static long mix_calls(MPI_Comm comm, int from)
{
	struct sum *s = sums(TURNS);
	int token[TURNS], all[TURNS][64], k, i, done;
	MPI_Request cast[TURNS], gather[TURNS];
	long wrong = 0;

	for (k = 0; k < TURNS; k++) {
		token[k] = rank == k % size ? 1000 + k : 0;
		begin_sum(&s[k], from + k, comm);
		MPI_Ibcast(&token[k], 1, MPI_INT, k % size, comm, &cast[k]);
		MPI_Iallgather(&rank, 1, MPI_INT, all[k], 1, MPI_INT, comm, &gather[k]);
		if (mix(rank, k, from) % 3 == 0)
			usleep(mix(rank, k, 1) % 20000);
		for (i = mix(rank, k, 2) % 400; i; i--)
			MPI_Test(&gather[k], &done, MPI_STATUS_IGNORE);
	}
	for (k = TURNS - 1; k >= 0; k--) {
		wrong += end_sum(&s[k]);
		MPI_Wait(&cast[k], MPI_STATUS_IGNORE);
		MPI_Wait(&gather[k], MPI_STATUS_IGNORE);
		wrong += token[k] != 1000 + k;
		for (i = 0; i < size; i++)
			wrong += all[k][i] != i;
	}
	free(s);
	return wrong;
}

static void mixed(void)
{
	MPI_Comm comm;
	long wrong = 0;
	int k;

	for (k = 0; k < COPIES; k++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		wrong += mix_calls(comm, 100 * k);
		wrong += mix_calls(comm, 100 * k + 50);
		MPI_Comm_free(&comm);
	}
	check(wrong, "other collective calls in between");
}

/* A call that waits comes while requests wait for the communicator. */
static void with_call(void)
{
	struct sum *s = sums(6);
	double *in = malloc(LONG * sizeof(*in)), *out = malloc(LONG * sizeof(*out));
	long wrong = 0;
	int i, k, r;

	if (rank == 2)
		usleep(300000);
	for (k = 0; k < 3; k++)
		begin_sum(&s[k], k, MPI_COMM_WORLD);
	for (i = 0; i < LONG; i++)
		in[i] = (double)(mix(rank, i, 70) % 4096);
	MPI_Allreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (; k < 6; k++)
		begin_sum(&s[k], k, MPI_COMM_WORLD);
	for (i = 0; i < LONG; i++) {
		double sum = 0;

		for (r = 0; r < size; r++)
			sum += (double)(mix(r, i, 70) % 4096);
		wrong += out[i] != sum;
	}
	for (k = 0; k < 6; k++)
		wrong += end_sum(&s[k]);
	check(wrong, "a call that waits in between");
	free(s);
	free(in);
	free(out);
}

/* Rank 0 waits for a message that comes when all sums have ended at rank 1. */
static void with_message(void)
{
	struct sum *s = sums(5);
	int k, token = 0;
	long wrong = 0;

	for (k = 0; k < 5; k++)
		begin_sum(&s[k], k, MPI_COMM_WORLD);
	if (!rank)
		MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (k = 0; k < 5; k++)
		wrong += end_sum(&s[k]);
	if (rank == 1)
		MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
	check(wrong, "a rank that waits for a message meanwhile");
	free(s);
}

/*
 * Communicators are freed before they are formed: after the only sum on them, and before it ends.
 */
static void freed_meanwhile(void)
{
	struct sum *s = sums(2);
	MPI_Comm comm;
	long wrong = 0;
	int k, n;

	for (k = 0; k < COPIES; k++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		for (n = 0; n <= k % 2; n++)
			begin_sum(&s[n], 10 * k + n, comm);
		if (k < COPIES / 2)
			MPI_Comm_free(&comm);
		for (n = 0; n <= k % 2; n++)
			wrong += end_sum(&s[n]);
		if (k >= COPIES / 2)
			MPI_Comm_free(&comm);
	}
	check(wrong, "communicators that are freed while they are formed");
	free(s);
}

/* The program ends at once; one rank comes late. */
static void at_the_end(void)
{
	struct sum *s = sums(1);

	check(0, "nothing");
	if (rank == 3)
		usleep(200000);
	begin_sum(s, 1, MPI_COMM_WORLD);
	if (end_sum(s))
		printf("wrong: the last sum\n");
	free(s);
	if (!rank)
		printf("all right\n");
	MPI_Finalize();
	exit(0);
}

/* A rank dies while the others wait for it to form the communicator. */
static void one_dies(void)
{
	struct sum *s = sums(2);

	if (rank == 2) {
		usleep(300000);
		raise(SIGKILL);
	}
	begin_sum(&s[0], 1, MPI_COMM_WORLD);
	begin_sum(&s[1], 2, MPI_COMM_WORLD);
	check(end_sum(&s[0]) + end_sum(&s[1]), "a rank that dies");
	free(s);
}

static long thread_wrong;	/* of all threads; changed by atomic additions */

static void *work(void *arg)
{
	long wrong = mix_calls(*(MPI_Comm *)arg, 0);

	wrong += mix_calls(*(MPI_Comm *)arg, 500);
	__atomic_fetch_add(&thread_wrong, wrong, __ATOMIC_RELAXED);
	return NULL;
}

static void with_threads(void)
{
	MPI_Comm comm[THREADS];
	int k, level;

	MPI_Query_thread(&level);
	check(level != MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	for (k = 0; k < THREADS; k++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
	run_threads(work, comm, THREADS);
	check(thread_wrong, "threads, each with a communicator");
	for (k = 0; k < THREADS; k++)
		MPI_Comm_free(&comm[k]);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "one", one_by_one }, { "many", many_at_once }, { "comms", comms }, { "mixed", mixed },
	{ "call", with_call }, { "message", with_message }, { "freed", freed_meanwhile },
	{ "last", at_the_end }, { "threads", with_threads }, { "dies", one_dies },
};

int main(int argc, char **argv)
{
	int i, level, several = argc > 1 && !strcmp(argv[1], "threads");
	unsigned int k;

	MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (i = 1; i < argc; i++)
		for (k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			if (!strcmp(argv[i], parts[k].name))
				parts[k].run();
	return verdict();
}
