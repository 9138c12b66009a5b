// SPDX-License-Identifier: BSD-2-Clause
/*
 * Corners of MPI: all functions that complete requests, more requests than Canary has room for,
 * large counts, errors.
 *
 *	corners PART...
 */
#include "program.h"

#define LONG	20000	/* elements of a vector that is long enough for Canary */
#define SHORT	3000	/* so is this */
#define MANY	600
#define FEW	5	/* requests that are completed together; the last one receives a message */

static double in[FEW][LONG], out[FEW][LONG], received[LONG];

static void fill(double *v, int who, int what)
{
	int i;

	for (i = 0; i < LONG; i++)
		v[i] = (double)(mix(who, i, what) % 4096);
}

static long compare(const double *v, int n, int what)
{
	long wrong = 0;
	int i, r;

	for (i = 0; i < n; i++) {
		double sum = 0;

		for (r = 0; r < size; r++)
			sum += (double)(mix(r, i, what) % 4096);
		wrong += v[i] != sum;
	}
	return wrong;
}

/* ---- completing requests ---- */

static void by_wait(MPI_Request *r)
{
	int i;

	for (i = FEW - 1; i >= 0; i--)
		MPI_Wait(&r[i], MPI_STATUS_IGNORE);
}

static void by_test(MPI_Request *r)
{
	int i, done;

	for (i = 0; i < FEW; i++)
		for (done = 0; !done;)
			MPI_Test(&r[i], &done, MPI_STATUS_IGNORE);
}

static void by_waitall(MPI_Request *r)
{
	MPI_Waitall(FEW, r, MPI_STATUSES_IGNORE);
}

static void by_testall(MPI_Request *r)
{
	MPI_Status status[FEW];
	int done = 0;

	while (!done)
		MPI_Testall(FEW, r, &done, status);
}

static void by_waitany(MPI_Request *r)
{
	int i, which;

	for (i = 0; i < FEW; i++)
		MPI_Waitany(FEW, r, &which, MPI_STATUS_IGNORE);
}

static void by_testany(MPI_Request *r)
{
	int i, which, done;

	for (i = 0; i < FEW; i++)
		for (done = 0; !done;)
			MPI_Testany(FEW, r, &which, &done, MPI_STATUS_IGNORE);
}

static void by_waitsome(MPI_Request *r)
{
	MPI_Status status[FEW];
	int i, n, which[FEW];

	for (i = 0; i < FEW; i += n)
		MPI_Waitsome(FEW, r, &n, which, status);
}

static void by_testsome(MPI_Request *r)
{
	int i, n, which[FEW];

	for (i = 0; i < FEW; i += n)
		MPI_Testsome(FEW, r, &n, which, MPI_STATUSES_IGNORE);
}

static void by_get_status(MPI_Request *r)
{
	MPI_Status status;
	int i, done;

	for (i = 0; i < FEW; i++) {
		for (done = 0; !done;)
			MPI_Request_get_status(r[i], &done, &status);
		MPI_Wait(&r[i], &status);
	}
}

static const struct {
	const char *name;
	void (*complete)(MPI_Request *r);
} ways[] = {
	{ "MPI_Wait", by_wait }, { "MPI_Test", by_test }, { "MPI_Waitall", by_waitall },
	{ "MPI_Testall", by_testall }, { "MPI_Waitany", by_waitany }, { "MPI_Testany", by_testany },
	{ "MPI_Waitsome", by_waitsome }, { "MPI_Testsome", by_testsome },
	{ "MPI_Request_get_status", by_get_status },
};

/* Sums, and a long message to the next rank, which needs both sides to call MPI */
static void waits(void)
{
	MPI_Request r[FEW], sent;
	long wrong;
	unsigned int w;
	int k;

	for (w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		for (k = 0; k < FEW - 1; k++) {
			fill(in[k], rank, 10 * w + k);
			MPI_Iallreduce(in[k], out[k], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
				       &r[k]);
		}
		fill(in[FEW - 1], rank, 99);
		MPI_Irecv(received, LONG, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
			  &r[FEW - 1]);
		MPI_Isend(in[FEW - 1], LONG, MPI_DOUBLE, (rank + 1) % size, 3, MPI_COMM_WORLD,
			  &sent);
		ways[w].complete(r);
		MPI_Wait(&sent, MPI_STATUS_IGNORE);
		fill(in[0], (rank + size - 1) % size, 99);
		wrong = !!memcmp(received, in[0], sizeof(received));
		for (k = 0; k < FEW - 1; k++)
			wrong += compare(out[k], LONG, 10 * w + k);
		for (k = 0; k < FEW; k++)
			wrong += r[k] != MPI_REQUEST_NULL;
		check(wrong, ways[w].name);
	}
}

/* Rank 0 begins many, and waits for a message that comes when all have ended at rank 1. */
static void room(void)
{
	double *v = malloc(MANY * SHORT * sizeof(*v));
	MPI_Request *r = malloc(MANY * sizeof(*r));
	long wrong = 0;
	int i, k, token = 0;

	for (k = 0; k < MANY; k++) {
		for (i = 0; i < SHORT; i++)
			v[k * SHORT + i] = (double)(mix(rank, i, k) % 4096);
		MPI_Iallreduce(MPI_IN_PLACE, v + k * SHORT, SHORT, MPI_DOUBLE, MPI_SUM,
			       MPI_COMM_WORLD, &r[k]);
	}
	if (!rank)
		MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
	if (rank == 1)
		MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
	for (k = 0; k < MANY; k++)
		wrong += compare(v + k * SHORT, SHORT, k);
	check(wrong, "many requests");
	free(v);
	free(r);
}

static void large(void)
{
#if MPI_VERSION >= 4
	MPI_Request r;
	long wrong;

	fill(in[0], rank, 40);
	MPI_Allreduce_c(in[0], out[0], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	wrong = compare(out[0], LONG, 40);
	memset(out[0], 0, sizeof(out[0]));
	MPI_Reduce_c(in[0], out[0], LONG, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
	if (rank == 2)
		wrong += compare(out[0], LONG, 40);
	MPI_Iallreduce_c(in[0], out[1], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	check(wrong + compare(out[1], LONG, 40), "large counts");
#endif
}

/* ---- errors ---- */

static void show(const char *what, int err)
{
	int class = 0;

	if (err)
		MPI_Error_class(err, &class);
	if (!rank)
		printf("%s: class %d\n", what, class);
}

/* What is wrong at all ranks. The classes are printed, to be compared with those of another run. */
static void errors(void)
{
	MPI_Datatype copy, pair;
	MPI_Request r;
	MPI_Comm none = MPI_COMM_NULL;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Type_dup(MPI_DOUBLE, &copy);
	MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
	MPI_Type_commit(&pair);
#define SUM(in, out, n, type, op, comm)	MPI_Allreduce(in, out, n, type, op, comm)
	show("same buffers", SUM(in[0], in[0], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
	show("no buffer", SUM(in[0], NULL, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
	show("sum of bytes", SUM(in[0], out[0], LONG, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD));
	show("sum of logicals", SUM(in[0], out[0], LONG, MPI_LOGICAL, MPI_SUM, MPI_COMM_WORLD));
	show("bits of doubles", SUM(in[0], out[0], LONG, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
	show("least complex", SUM(in[0], out[0], LONG / 2, MPI_C_DOUBLE_COMPLEX, MPI_MIN,
				  MPI_COMM_WORLD));
	show("copy of a type", SUM(in[0], out[0], LONG, copy, MPI_SUM, MPI_COMM_WORLD));
	show("type of the program", SUM(in[0], out[0], LONG / 2, pair, MPI_SUM, MPI_COMM_WORLD));
	show("no type", SUM(in[0], out[0], LONG, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
	show("no operator", SUM(in[0], out[0], LONG, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD));
	show("no communicator", SUM(in[0], out[0], LONG, MPI_DOUBLE, MPI_SUM, none));
	show("no root", MPI_Reduce(in[0], out[0], LONG, MPI_DOUBLE, MPI_SUM, size,
				   MPI_COMM_WORLD));
	show("same buffers later", MPI_Iallreduce(in[0], in[0], LONG, MPI_DOUBLE, MPI_SUM,
						  MPI_COMM_WORLD, &r));
#undef SUM
	MPI_Type_free(&copy);
	MPI_Type_free(&pair);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void first(void)
{
	fill(in[0], rank, 50);
	MPI_Allreduce(in[0], out[0], LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	check(compare(out[0], LONG, 50), "a sum");
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "first", first }, { "waits", waits }, { "room", room }, { "large", large },
	{ "errors", errors },
};

int main(int argc, char **argv)
{
	unsigned int k;
	int i;

	begin(&argc, &argv);
	for (i = 1; i < argc; i++)
		for (k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			if (!strcmp(argv[i], parts[k].name))
				parts[k].run();
	return verdict();
}
