// SPDX-License-Identifier: BSD-2-Clause
/* MPI_Barrier: an operation without elements */
#include "component.h"

int coll_canary_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct cmpi_args args = { .call = CMPI_BARRIER };
	struct canary_call call;
	enum cmpi_why why;
	int err = coll_use(m, &args, &why);

	if (err)
		return err;
	if (why != CMPI_CANARY)
		return m->previous_barrier(comm, m->previous_barrier_module);
	call = coll_describe(&args, NULL, NULL);
	return coll_run(m, &args, &call, true);
}
