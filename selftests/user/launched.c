// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of MPI that takes the parameters of canary from its launcher. launchers.sh compiles it
 * for each MPI, and runs it.
 *
 *	launched	between MPI_Init() and MPI_Finalize(): the communicator has to work
 *	launched no	... has to be refused, with -EBUSY
 *	launched early	before MPI_Init(): has to be refused, and MPI has to work
 */
#include <canary.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Is the sum over all ranks what MPI says, too? */
static int sum_up(const struct canary_params *p, int members)
{
	int32_t v = p->rank + 1;
	struct canary *c;
	int err;

	err = canary_open(p, &c);
	if (err)
		return err;
	err = canary_connect(c, 60000);
	if (!err)
		err = canary_allreduce(c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM);
	canary_close(c);
	return err ? err : v != members * (members + 1) / 2;
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "";
	int ret = 0, wrong, all, members;
	struct canary_params p;

	canary_params_init(&p);
	if (!strcmp(when, "early"))
		ret = canary_params_launcher(&p, CANARY_LAUNCHER_ALL);
	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &members);
	if (strcmp(when, "early"))
		ret = canary_params_launcher(&p, CANARY_LAUNCHER_ALL);
	if (*when)
		wrong = ret != -EBUSY;
	else
		wrong = ret != 1 || p.members != members || sum_up(&p, members);
	if (wrong)
		printf("returned %d, rank %u of %u: %s\n", ret, p.rank, p.members, canary_errmsg());
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return all != 0;
}
