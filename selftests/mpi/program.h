/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the MPI programs of these tests share: values that every rank can compute for all others,
 * and a verdict. A program ends with status 0 if nothing was wrong at any rank. Verdicts are
 * collected by send and receive, so the functions that are tested do not judge themselves.
 */
#ifndef SELFTESTS_MPI_PROGRAM_H
#define SELFTESTS_MPI_PROGRAM_H

#include <mpi.h>
#include <pthread.h>
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

/* Communicator number @k of many: a copy of MPI_COMM_WORLD, or if @k is odd, the own half of it */
static inline MPI_Comm copy_or_half(int k, int half)
{
	MPI_Comm comm;

	if (k % 2)
		MPI_Comm_split(MPI_COMM_WORLD, half, rank, &comm);
	else
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	return comm;
}

/* Run a thread for each of @n communicators. Return when all have ended. */
static inline void run_threads(void *(*work)(void *comm), MPI_Comm comm[], int n)
{
	pthread_t thread[n];
	int k;

	for (k = 0; k < n; k++)
		pthread_create(&thread[k], NULL, work, &comm[k]);
	for (k = 0; k < n; k++)
		pthread_join(thread[k], NULL);
}

#endif /* SELFTESTS_MPI_PROGRAM_H */
