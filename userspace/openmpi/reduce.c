// SPDX-License-Identifier: BSD-2-Clause
/* MPI_Reduce: an allreduce whose result only the root takes */
#include <stdlib.h>

#include "component.h"

int coll_canary_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
		       struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		       mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct cmpi_args args = {
		CMPI_REDUCE, coll_dtype(dtype), coll_operator(op), count
	};
	bool is_root = ompi_comm_rank(comm) == root;
	struct canary_call call;
	enum cmpi_why why;
	int err = coll_use(m, &args, true, &why);

	if (err)
		return err;
	if (why != CMPI_CANARY)
		return m->previous_reduce(sbuf, rbuf, count, dtype, op, root, comm,
					  m->previous_reduce_module);
	call = coll_describe(&args, sbuf, rbuf);
	if (!is_root)
		call.recvbuf = malloc(count * canary_dtype_size(args.dtype));
	if (!call.recvbuf)
		return OMPI_ERR_OUT_OF_RESOURCE;
	err = coll_run(m, args.call, &call);
	if (!is_root)
		free(call.recvbuf);
	return err;
}
