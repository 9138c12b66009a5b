// SPDX-License-Identifier: BSD-2-Clause
/* MPI_Reduce: an allreduce whose result only the root takes */
#include "component.h"

int coll_canary_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
		       struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		       mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct cmpi_args args = {
		CMPI_REDUCE, coll_dtype(dtype), coll_operator(op), count
	};
	struct canary_call call;
	enum cmpi_why why;
	int err = coll_use(m, &args, &why);

	if (err)
		return err;
	if (why != CMPI_CANARY)
		return m->previous_reduce(sbuf, rbuf, count, dtype, op, root, comm,
					  m->previous_reduce_module);
	call = coll_describe(&args, sbuf, rbuf);
	return coll_run(m, &args, &call, ompi_comm_rank(comm) == root);
}
