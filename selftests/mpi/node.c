// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sums whose last bits are compared: rank 0 prints a digest of all results, which all ranks must
 * have. Runs with the same number of ranks must print the same one, whoever are the members.
 *
 *	node digest		types, operators and lengths, in place and not, and requests
 *	node large		a vector of 12 MB, and one that is cut once
 *	node comms		communicators of some of the ranks
 *	node limited		a sum, where rank 5 may not have files as long as shared memory is
 *	node hidden		a sum, where others may not look into rank 6
 *	node busy		requests while a rank does something else, the member or another
 *	node repeat N COUNT	N sums of COUNT floats, and nothing else
 *	node steps N COUNT	likewise, by requests, several under way
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "program.h"

static uint64_t digest = 0xcbf29ce484222325ULL;
static double seconds;	/* in MPI */

static void note(const void *data, size_t bytes)
{
	const unsigned char *at = data;

	while (bytes--)
		digest = (digest ^ *at++) * 0x100000001b3ULL;
}

/* Rank 0 says it. Ranks that were in no communicator have another one. */
static void say(int all)
{
	uint64_t first = digest;

	MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	check(all && first != digest, "all ranks have the same results");
	if (!rank)
		printf("digest %016llx\n", (unsigned long long)digest);
}

/* A number of any size, of which sums are rounded; a few are infinite, or none */
static double number(int who, int i, int what)
{
	unsigned int x = mix(who, i, what);

	if (x % 5000 == 17)
		return x & 8192 ? INFINITY : x & 16384 ? -INFINITY : NAN;
	return ldexp((double)(int)mix(who, i, what + 1) / 3, (int)(x % 24) - 44);
}

struct kind {
	MPI_Datatype	type;
	size_t		size;
	int		numbers, doubles;
};

static void fill(const struct kind *k, void *v, int n, int what)
{
	int i;

	for (i = 0; i < n * k->numbers; i++) {
		if (k->doubles)
			((double *)v)[i] = number(rank, i, what);
		else
			((float *)v)[i] = number(rank, i, what);
	}
}

/* In turn: from one buffer to another, in place, by a request, to a root */
static void sum(const struct kind *k, MPI_Op op, int n, int what, MPI_Comm comm)
{
	void *in = malloc(n * k->size + 1), *out = malloc(n * k->size + 1);
	MPI_Request request;
	double begin;

	fill(k, in, n, what);
	begin = MPI_Wtime();
	switch (what % 4) {
	case 0:
		MPI_Allreduce(in, out, n, k->type, op, comm);
		break;
	case 1:
		memcpy(out, in, n * k->size);
		MPI_Allreduce(MPI_IN_PLACE, out, n, k->type, op, comm);
		break;
	case 2:
		MPI_Iallreduce(in, out, n, k->type, op, comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	default:
		MPI_Reduce(in, out, n, k->type, op, 1, comm);
		MPI_Bcast(out, n, k->type, 1, comm);
	}
	seconds += MPI_Wtime() - begin;
	note(out, n * k->size);
	free(in);
	free(out);
}

static void kinds(struct kind all[4])
{
	all[0] = (struct kind){ MPI_FLOAT, sizeof(float), 1, 0 };
	all[1] = (struct kind){ MPI_DOUBLE, sizeof(double), 1, 1 };
	all[2] = (struct kind){ MPI_C_FLOAT_COMPLEX, sizeof(float complex), 2, 0 };
	all[3] = (struct kind){ MPI_C_DOUBLE_COMPLEX, sizeof(double complex), 2, 1 };
}

static void take_digest(void)
{
	static const int lengths[] = { 1, 255, 257, 3999, 4097, 24577, 30001 };
	struct kind all[4];
	unsigned int k, l;

	kinds(all);
	for (k = 0; k < 4; k++) {
		for (l = 0; l < sizeof(lengths) / sizeof(*lengths); l++)
			sum(&all[k], MPI_SUM, lengths[l], k + l, MPI_COMM_WORLD);
		sum(&all[k], MPI_PROD, 1001, k, MPI_COMM_WORLD);
		if (k < 2)
			sum(&all[k], MPI_MIN, 1001, k + 1, MPI_COMM_WORLD);
	}
	say(1);
}

/* Around the lengths at which vectors are cut */
static void large(void)
{
	static const int lengths[] = { 3000001, 49152, 53248, 53249, 98304, 102400, 102401 };
	struct kind all[4];
	unsigned int l;

	kinds(all);
	for (l = 0; l < sizeof(lengths) / sizeof(*lengths); l++)
		sum(&all[0], MPI_SUM, lengths[l], l, MPI_COMM_WORLD);
	sum(&all[3], MPI_SUM, 100001, 1, MPI_COMM_WORLD);
	say(1);
}

static void split(int colour, int key, int what)
{
	struct kind all[4];
	MPI_Comm comm;
	int members;

	kinds(all);
	MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm);
	if (comm == MPI_COMM_NULL)
		return;
	MPI_Comm_size(comm, &members);
	sum(&all[what % 2], MPI_SUM, 20000, 4 * what, comm);
	sum(&all[what % 2], MPI_SUM, 20000, 4 * what + 1, comm);
	sum(&all[what % 2], MPI_SUM, 20000, 4 * what + 2, comm);
	MPI_Comm_free(&comm);
}

/* Odd and even ranks; all but some; the reverse order; a host and a half; one of each host */
static void comms(void)
{
	split(rank % 2, rank, 1);
	split(rank % 5 ? 1 : MPI_UNDEFINED, rank, 2);
	split(0, -rank, 3);
	split(rank < size / 2 + 1, rank, 4);
	split(rank % 3, -rank, 5);
	say(0);
}

static void repeat(int n, int count)
{
	struct kind all[4];
	int i;

	kinds(all);
	sum(&all[0], MPI_SUM, count, 0, MPI_COMM_WORLD);
	seconds = 0;
	for (i = 1; i < n; i++)
		sum(&all[0], MPI_SUM, count, 4 * i, MPI_COMM_WORLD);
	if (!rank && n > 1)
		printf("ms for a sum: %.2f\n", seconds * 1000 / (n - 1));
	say(1);
}

static void limited(int hidden)
{
	const struct rlimit limit = { 100000, 100000 };

	if (hidden && rank == 6)
		prctl(PR_SET_DUMPABLE, 0);
	else if (!hidden && rank == 5 && setrlimit(RLIMIT_FSIZE, &limit))
		check(1, "a limit");
	repeat(2, 20000);
}

#define BUSY	4	/* seconds */

/* The vector is longer than what may be under way on a host at a time. */
static void busy(int who)
{
	const struct kind k = { MPI_FLOAT, sizeof(float), 1, 0 };
	const int n = 500000;
	float *v = malloc(n * sizeof(*v));
	MPI_Request request;
	double begin;

	fill(&k, v, n, who);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Iallreduce(MPI_IN_PLACE, v, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
	begin = MPI_Wtime();
	if (rank == who)
		sleep(BUSY);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(rank != who && MPI_Wtime() - begin > BUSY / 2, "nobody waits for a busy rank");
	note(v, n * sizeof(*v));
	free(v);
}

#define UNDER_WAY	5

static void steps(int n, int count)
{
	struct kind all[4];
	MPI_Request request[UNDER_WAY];
	float *v[UNDER_WAY];
	int i, k;

	kinds(all);
	for (k = 0; k < UNDER_WAY; k++)
		v[k] = malloc(count * sizeof(float));
	for (i = 0; i < n; i++) {
		for (k = 0; k < UNDER_WAY; k++) {
			fill(&all[0], v[k], count, i + k);
			MPI_Iallreduce(MPI_IN_PLACE, v[k], count, MPI_FLOAT, MPI_SUM,
				       MPI_COMM_WORLD, &request[k]);
		}
		MPI_Waitall(UNDER_WAY, request, MPI_STATUSES_IGNORE);
		for (k = 0; k < UNDER_WAY; k++)
			note(v[k], count * sizeof(float));
	}
	for (k = 0; k < UNDER_WAY; k++)
		free(v[k]);
	say(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int i;

	begin(&argc, &argv);
	/* requests need a communicator that is formed */
	if (!strcmp(what, "digest") || !strcmp(what, "steps") || !strcmp(what, "busy"))
		repeat(1, 20000);
	if (!strcmp(what, "digest"))
		take_digest();
	else if (!strcmp(what, "large"))
		large();
	else if (!strcmp(what, "comms"))
		comms();
	else if (!strcmp(what, "busy"))
		for (i = 0; i < 4; i++)
			busy(i);
	else if (!strcmp(what, "limited") || !strcmp(what, "hidden"))
		limited(!strcmp(what, "hidden"));
	else if (!strcmp(what, "repeat") && argc > 3)
		repeat(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(what, "steps") && argc > 3)
		steps(atoi(argv[2]), atoi(argv[3]));
	return verdict();
}
