// SPDX-License-Identifier: BSD-2-Clause
/*
 * How programs call: several operations under way, other communication meanwhile, communicators
 * that come and go, threads, types and operators that Canary does not have.
 *
 *	calls PART...
 */

#include "program.h"

#define LONG	20000	/* elements of a vector that is long enough for Canary */
#define FLIGHT	24
#define COMMS	100

static void fill(double *v, int n, int who, int what)
{
	int i;

	for (i = 0; i < n; i++)
		v[i] = (double)(mix(who, i, what) % 4096);
}

/* Elements that are not the sum over @ranks, of which number k is rank @first + k @step of world */
static long compare(const double *v, int n, int ranks, int first, int step, int what)
{
	long wrong = 0;
	int i, k;

	for (i = 0; i < n; i++) {
		double sum = 0;

		for (k = 0; k < ranks; k++)
			sum += (double)(mix(first + k * step, i, what) % 4096);
		wrong += v[i] != sum;
	}
	return wrong;
}

static double *vector(int n)
{
	return malloc(n * sizeof(double));
}

/* Sum up @n elements on @comm, and compare. */
static long sum(MPI_Comm comm, int n, int first, int step, int what)
{
	double *in = vector(n), *out = vector(n);
	long wrong;
	int ranks;

	MPI_Comm_size(comm, &ranks);
	fill(in, n, rank, what);
	MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, comm);
	wrong = compare(out, n, ranks, first, step, what);
	free(in);
	free(out);
	return wrong;
}

static void blocking(void)
{
	static const int n[] = { 1, 2, 17, 1000, 2048, 4097, LONG, 200000, 0 };
	unsigned int k;

	for (k = 0; k < sizeof(n) / sizeof(*n); k++) {
		char text[40];

		snprintf(text, sizeof(text), "a sum of %d doubles", n[k]);
		check(sum(MPI_COMM_WORLD, n[k], 0, 1, k), text);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* Many requests, some of them short, which are waited for from the last to the first */
static void flight(void)
{
	MPI_Request request[FLIGHT];
	double *in[FLIGHT], *out[FLIGHT];
	long wrong = 0;
	int k, n, done;

	check(sum(MPI_COMM_WORLD, LONG, 0, 1, 99), "a sum before requests");
	for (k = 0; k < FLIGHT; k++) {
		n = k % 5 ? LONG + k : 3;
		in[k] = vector(n);
		out[k] = vector(n);
		fill(in[k], n, rank, k);
		MPI_Iallreduce(in[k], out[k], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[k]);
	}
	wrong += sum(MPI_COMM_WORLD, LONG, 0, 1, 77);
	for (k = FLIGHT - 1; k >= 0; k--) {
		if (k % 2)
			MPI_Wait(&request[k], MPI_STATUS_IGNORE);
		else
			for (done = 0; !done;)
				MPI_Test(&request[k], &done, MPI_STATUS_IGNORE);
		wrong += compare(out[k], k % 5 ? LONG + k : 3, size, 0, 1, k);
		free(in[k]);
		free(out[k]);
	}
	check(wrong, "requests under way");
}

/* Rank 0 begins an operation before others can: that must not wait for them. */
static void begin_first(void)
{
	double *in = vector(LONG), *out = vector(LONG);
	MPI_Request request;
	int token = 0;

	fill(in, LONG, rank, 5);
	if (rank)
		MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Iallreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	if (rank < size - 1)
		MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(compare(out, LONG, size, 0, 1, 5), "one begins before the others");
	free(in);
	free(out);
}

/* Rank 0 is in MPI_Allreduce while a long message comes that it has to take part in. */
static void message_meanwhile(void)
{
	const int n = 1 << 20;
	double *message = vector(n);
	MPI_Request request;
	long wrong = 0;

	if (!rank) {
		MPI_Irecv(message, n, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &request);
	} else if (rank == 1) {
		fill(message, n, 1, 6);
		MPI_Send(message, n, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
	}
	wrong += sum(MPI_COMM_WORLD, LONG, 0, 1, 7);
	if (!rank) {
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		wrong += compare(message, n, 1, 1, 1, 6);
	}
	check(wrong, "a long message arrives during a sum");
	free(message);
}

/* Copies and halves of communicators, all at the same time, then freed in another order */
static void comms(void)
{
	MPI_Comm comm[COMMS];
	long wrong = 0;
	int k, half = rank % 2;

	for (k = 0; k < COMMS; k++) {
		comm[k] = copy_or_half(k, half);
		wrong += sum(comm[k], LONG, k % 2 ? half : 0, 1 + k % 2, k);
	}
	check(wrong, "as many sums as communicators");
	for (k = wrong = 0; k < COMMS; k++)
		wrong += sum(comm[k], LONG / 4, k % 2 ? half : 0, 1 + k % 2, k);
	check(wrong, "once more, all at the same time");
	for (k = 0; k < COMMS; k++)
		MPI_Comm_free(&comm[k * 7 % COMMS]);
	check(sum(MPI_COMM_WORLD, LONG, 0, 1, 3), "after they are gone");
}

/* A communicator made of one that is used meanwhile; MPI sums up in it to make others. */
static void nested(void)
{
	MPI_Comm outer = MPI_COMM_WORLD, inner;
	long wrong = 0;
	int k;

	for (k = 0; k < 10; k++) {
		MPI_Comm_dup(outer, &inner);
		wrong += sum(inner, LONG, 0, 1, k) + sum(outer, LONG, 0, 1, k + 20);
		if (outer != MPI_COMM_WORLD)
			MPI_Comm_free(&outer);
		outer = inner;
	}
	MPI_Comm_free(&outer);
	check(wrong, "copies of copies");
}

/* A communicator is freed while an operation on it is under way. */
static void freed(void)
{
	double *in = vector(10 * LONG), *out = vector(10 * LONG);
	MPI_Request request;
	MPI_Comm comm;
	long wrong;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	wrong = sum(comm, LONG, 0, 1, 60);
	fill(in, 10 * LONG, rank, 61);
	MPI_Iallreduce(in, out, 10 * LONG, MPI_DOUBLE, MPI_SUM, comm, &request);
	MPI_Comm_free(&comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(wrong + compare(out, 10 * LONG, size, 0, 1, 61), "a communicator that is freed");
	free(in);
	free(out);
}

/* Rank 0 frees it before others call. They wait for a message that rank 0 sends after that. */
static void freed_first(void)
{
	double *in = vector(LONG), *out = vector(LONG);
	MPI_Request request;
	int k, message = 0;
	MPI_Comm comm;
	long wrong;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	wrong = sum(comm, LONG, 0, 1, 62);
	fill(in, LONG, rank, 63);
	if (rank)
		MPI_Recv(&message, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Iallreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, comm, &request);
	MPI_Comm_free(&comm);
	for (k = 1; !rank && k < size; k++)
		MPI_Send(&message, 1, MPI_INT, k, 5, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(wrong + compare(out, LONG, size, 0, 1, 63), "a communicator that is freed at once");
	free(in);
	free(out);
}

static long thread_wrong;	/* of all threads; changed by atomic additions */

static void *work(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	double *in = vector(LONG), *out = vector(LONG);
	MPI_Request request;
	int k;

	for (k = 0; k < 20; k++) {
		long wrong = sum(comm, LONG, 0, 1, k);

		fill(in, LONG, rank, k + 50);
		MPI_Iallreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		wrong += compare(out, LONG, size, 0, 1, k + 50);
		if (k % 7 == 0)
			MPI_Barrier(comm);
		__atomic_fetch_add(&thread_wrong, wrong, __ATOMIC_RELAXED);
	}
	free(in);
	free(out);
	return NULL;
}

static void with_threads(void)
{
	MPI_Comm comm[4];
	int k, level;

	MPI_Query_thread(&level);
	check(level != MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	for (k = 0; k < 4; k++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
	run_threads(work, comm, 4);
	check(thread_wrong, "four threads, each with a communicator");
	for (k = 0; k < 4; k++)
		MPI_Comm_free(&comm[k]);
}

static void keep_larger(void *in, void *out, int *n, MPI_Datatype *type)
{
	double *a = in, *b = out;
	int i;

	for (i = 0; i < *n; i++)
		b[i] = a[i] > b[i] ? a[i] : b[i];
}

/* What Canary does not have: an operator and a type of the program, long double */
static void others(void)
{
	double *in = vector(LONG), *out = vector(LONG);
	long double *wide = malloc(LONG * sizeof(*wide));
	MPI_Datatype pair;
	long wrong = 0;
	MPI_Op op;
	int i, r;

	fill(in, LONG, rank, 8);
	MPI_Op_create(keep_larger, 1, &op);
	MPI_Allreduce(in, out, LONG, MPI_DOUBLE, op, MPI_COMM_WORLD);
	for (i = 0; i < LONG; i++) {
		double most = 0;

		for (r = 0; r < size; r++)
			most = mix(r, i, 8) % 4096 > most ? mix(r, i, 8) % 4096 : most;
		wrong += out[i] != most;
	}
	MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
	MPI_Type_commit(&pair);
	MPI_Op_free(&op);
	MPI_Op_create(keep_larger, 1, &op);
	MPI_Reduce(in, out, 1, pair, op, 0, MPI_COMM_WORLD);
	MPI_Op_free(&op);
	MPI_Type_free(&pair);
	for (i = 0; i < LONG; i++)
		wide[i] = rank + i;
	MPI_Allreduce(MPI_IN_PLACE, wide, LONG, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < LONG; i++)
		wrong += wide[i] != size * (size - 1) / 2 + (long double)size * i;
	check(wrong, "what Canary does not have");
	free(in);
	free(out);
	free(wide);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "blocking", blocking }, { "flight", flight }, { "first", begin_first },
	{ "message", message_meanwhile }, { "comms", comms }, { "nested", nested },
	{ "threads", with_threads }, { "freed", freed },
	{ "freed-first", freed_first }, { "others", others },
};

int main(int argc, char **argv)
{
	int i, level;
	unsigned int k;

	if (argc > 1 && !strcmp(argv[1], "threads"))
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (i = 1; i < argc; i++)
		for (k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			if (!strcmp(argv[i], parts[k].name))
				parts[k].run();
	return verdict();
}
