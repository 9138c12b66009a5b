// SPDX-License-Identifier: BSD-2-Clause
/* MPI_Allreduce and MPI_Iallreduce */
#include "component.h"

int coll_canary_allreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
			  struct ompi_op_t *op, struct ompi_communicator_t *comm,
			  mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct cmpi_args args = {
		CMPI_ALLREDUCE, coll_dtype(dtype), coll_operator(op), count
	};
	struct canary_call call;
	enum cmpi_why why;
	int err = coll_use(m, &args, &why);

	if (err)
		return err;
	if (why != CMPI_CANARY)
		return m->previous_allreduce(sbuf, rbuf, count, dtype, op, comm,
					     m->previous_allreduce_module);
	call = coll_describe(&args, sbuf, rbuf);
	return coll_run(m, &args, &call, true);
}

int coll_canary_iallreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *dtype,
			   struct ompi_op_t *op, struct ompi_communicator_t *comm,
			   ompi_request_t **request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct cmpi_args args = {
		CMPI_IALLREDUCE, coll_dtype(dtype), coll_operator(op), count
	};
	const struct coll_late late = {
		.sbuf = sbuf, .rbuf = rbuf, .count = count, .dtype = dtype, .op = op,
	};
	struct canary_call call;
	enum cmpi_why why;
	int err = coll_use(m, &args, &why);

	if (err)
		return err;
	if (why != CMPI_CANARY)
		return m->previous_iallreduce(sbuf, rbuf, count, dtype, op, comm, request,
					      m->previous_iallreduce_module);
	call = coll_describe(&args, sbuf, rbuf);
	return coll_start(m, &call, &late, request);
}
