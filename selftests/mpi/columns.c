// SPDX-License-Identifier: BSD-2-Clause
/*
 * How long MPI_Allreduce takes, by length: one line for each, as "BYTES MICROSECONDS". Each figure is
 * the least one of several rounds, of the slowest rank.
 *
 *	columns TYPE FIRST LAST MS	TYPE is float or double; lengths are FIRST, 4 FIRST ... below LAST,
 *					and LAST; a round takes some MS
 */
#include "program.h"

#define ROUNDS	5

static double seconds(int count, MPI_Datatype type, int calls, const void *in, void *out)
{
	double begin, mine, slowest;
	int i;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (i = 0; i < calls; i++)
		MPI_Allreduce(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
	mine = (MPI_Wtime() - begin) / calls;
	MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

static void measure(long bytes, MPI_Datatype type, int element, double round)
{
	int i, calls, count = bytes / element;
	void *in = malloc(bytes), *out = malloc(bytes);
	double least, this;

	for (i = 0; i < count; i++) {
		if (element == sizeof(float))
			((float *)in)[i] = 0.1F * (i % 1000) + rank;
		else
			((double *)in)[i] = 0.1 * (i % 1000) + rank;
	}
	/* The first calls form communicators and find out what paths carry. */
	seconds(count, type, 3, in, out);
	least = seconds(count, type, 3, in, out);
	calls = round / least;
	calls = calls < 1 ? 1 : calls > 10000 ? 10000 : calls;
	for (i = 0; i < ROUNDS; i++) {
		this = seconds(count, type, calls, in, out);
		least = this < least ? this : least;
	}
	if (!rank) {
		printf("%ld %.1f\n", bytes, least * 1e6);
		fflush(stdout);
	}
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	long bytes, last;
	int wide;

	begin(&argc, &argv);
	if (argc != 5)
		MPI_Abort(MPI_COMM_WORLD, 2);
	wide = !strcmp(argv[1], "double");
	last = atol(argv[3]);
	for (bytes = atol(argv[2]); bytes < last; bytes *= 4)
		measure(bytes, wide ? MPI_DOUBLE : MPI_FLOAT, wide ? 8 : 4, atoi(argv[4]) / 1e3);
	measure(last, wide ? MPI_DOUBLE : MPI_FLOAT, wide ? 8 : 4, atoi(argv[4]) / 1e3);
	MPI_Finalize();
	return 0;
}
