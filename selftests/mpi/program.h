/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the MPI programs of these tests share: values that every rank can compute for all others,
 * and a verdict. A program ends with status 0 if nothing was wrong at any rank. Verdicts are
 * collected by send and receive, so the functions that are tested do not judge themselves.
 */
#ifndef SELFTESTS_MPI_PROGRAM_H
#define SELFTESTS_MPI_PROGRAM_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static int failed;	/* checks, at rank 0 */

/* A number of 32 bits that depends on all arguments */
static inline unsigned int mix(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int h = a * 0x9e3779b1U ^ b * 0x85ebca77U ^ c * 0xc2b2ae3dU;

	h ^= h >> 15;
	h *= 0x2c1b3c6dU;
	return h ^ h >> 12;
}

/* A check of all ranks: rank 0 prints it, with the number of elements that are wrong anywhere */
static inline void check(long wrong, const char *what)
{
	long other, all = wrong;
	int i;

	if (rank) {
		MPI_Send(&wrong, 1, MPI_LONG, 0, 4711, MPI_COMM_WORLD);
		return;
	}
	for (i = 1; i < size; i++) {
		MPI_Recv(&other, 1, MPI_LONG, i, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		all += other;
	}
	if (all) {
		printf("wrong: %s: %ld\n", what, all);
		failed++;
	}
}

static inline int verdict(void)
{
	MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%s\n", failed ? "failed" : "all right");
	MPI_Finalize();
	return !!failed;
}

static inline void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

#endif /* SELFTESTS_MPI_PROGRAM_H */
