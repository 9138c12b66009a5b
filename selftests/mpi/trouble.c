// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs to which something happens between two sums.
 *
 *	trouble loop FILE	sums up until FILE is gone, and once more
 *	trouble kill [RANK]	rank 2, or another one, ends by SIGKILL
 *	trouble abort		rank 2 calls MPI_Abort
 *	trouble stop SECONDS	rank 2 stands still for so long
 *	trouble fork		rank 1 forks; its child ends by exit(), while the parent sums up
 *	trouble counts		rank 0 sums up one element less
 *	trouble later		likewise, by a request
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

#define N	30000

static long sum(int turn)
{
	float *v = malloc(N * sizeof(*v));
	long wrong = 0;
	int i;

	for (i = 0; i < N; i++)
		v[i] = rank + i % 100 + turn % 50;
	MPI_Allreduce(MPI_IN_PLACE, v, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < N; i++)
		wrong += v[i] != size * (size - 1) / 2 + size * (float)(i % 100 + turn % 50);
	free(v);
	return wrong;
}

/* Rank 0 says after each sum how many there were. */
static void loop(const char *file)
{
	int turn, more = 1;
	long wrong = 0;

	for (turn = 0; more; turn++) {
		wrong += sum(turn);
		if (!rank) {
			more = !access(file, F_OK);
			printf("turn %d\n", turn);
			fflush(stdout);
		}
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
		usleep(10000);
	}
	check(wrong + sum(turn), "sums");
}

/* The child of a process with threads may not do much. It ends as many programs do. */
static void with_child(void)
{
	long wrong = sum(0);
	pid_t child = -1;
	int status = 0;

	if (rank == 1) {
		fflush(NULL);
		child = fork();
		if (!child)
			exit(7);
	}
	wrong += sum(1);
	if (child > 0)
		waitpid(child, &status, 0);
	wrong += sum(2);
	check(wrong, "sums beside a child");
	check(rank == 1 && (!WIFEXITED(status) || WEXITSTATUS(status) != 7), "the child ends");
}

static void counts(void)
{
	int *v = calloc(N, sizeof(*v));

	MPI_Allreduce(MPI_IN_PLACE, v, N - !rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	free(v);
}

static void later(void)
{
	int *v = calloc(N, sizeof(*v));
	MPI_Request request;

	MPI_Iallreduce(MPI_IN_PLACE, v, N - !rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	free(v);
}

/* Somebody else lets all threads of this process go on. */
static long stand_still(int seconds)
{
	char command[80];

	snprintf(command, sizeof(command), "(sleep %d; kill -CONT %d) &", seconds, getpid());
	if (system(command))
		return 1;
	raise(SIGSTOP);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long wrong;

	begin(&argc, &argv);
	wrong = sum(100);
	if (!strcmp(what, "loop"))
		loop(argv[2]);
	if (!strcmp(what, "fork"))
		with_child();
	if (!strcmp(what, "counts"))
		counts();
	if (!strcmp(what, "later"))
		later();
	if (!strcmp(what, "kill") && rank == (argc > 2 ? atoi(argv[2]) : 2))
		raise(SIGKILL);
	if (!strcmp(what, "abort") && rank == 2)
		MPI_Abort(MPI_COMM_WORLD, 42);
	if (!strcmp(what, "stop") && rank == 2)
		wrong += stand_still(atoi(argv[2]));
	wrong += sum(200);
	check(wrong, "sums before and after");
	return verdict();
}
