// SPDX-License-Identifier: BSD-2-Clause
/* Waiting for an operation, and what is said if it failed */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmpi.h"

int cmpi_wait(struct cmpi_comm *c, uint64_t id, void (*progress)(void), unsigned int spin_us)
{
	uint64_t until = cmpi_now_us() + spin_us;
	int ret;

	do {
		ret = cmpi_test(c, id);
		if (ret)
			return ret < 0 ? ret : 0;
		if (progress)
			progress();
	} while (cmpi_now_us() < until);
	for (;;) {
		ret = cmpi_await(c, id, 1);
		if (ret != -ETIMEDOUT)
			return ret;
		if (progress)
			progress();
	}
}

void cmpi_complain(const struct cmpi_comm *c, enum cmpi_call call, int err)
{
	static const char *const name[] = {
		[CMPI_ALLREDUCE] = "MPI_Allreduce", [CMPI_IALLREDUCE] = "MPI_Iallreduce",
		[CMPI_REDUCE] = "MPI_Reduce", [CMPI_BARRIER] = "MPI_Barrier",
	};

	fprintf(stderr, "canary: %s of %u processes, rank %u: %s (%s)\n", name[call], c->members,
		c->rank, cmpi_errmsg(c), strerror(-err));
}
