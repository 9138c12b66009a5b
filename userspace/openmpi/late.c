// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allreduces that have their place among the collective calls of a communicator now, and begin
 * later, or never: the agreement of forming, and calls that wait for it.
 *
 * Open MPI's nonblocking functions take a tag in the order of the calls. All ranks have to take as
 * many, whatever they know about forming. So each operation takes one when the program calls, and
 * an allreduce that begins later has to get that tag. Persistent allreduces take tags like others.
 */
#include "component.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/runtime/mpiruntime.h"

/* As Open MPI's nonblocking functions do, of which other threads may call one */
static int32_t take_tag(ompi_communicator_t *comm)
{
	int32_t next, tag = comm->c_nbc_tag;

	do {
		next = tag <= MCA_COLL_BASE_TAG_NONBLOCKING_END ?
		       MCA_COLL_BASE_TAG_NONBLOCKING_BASE : tag;
	} while (!__atomic_compare_exchange_n(&comm->c_nbc_tag, &tag, next - 1, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return next;
}

static int init(struct coll_late *l, ompi_communicator_t *comm)
{
	return comm->c_coll->coll_allreduce_init(l->sbuf, l->rbuf, l->count, l->dtype, l->op, comm,
						 MPI_INFO_NULL, &l->request,
						 comm->c_coll->coll_allreduce_init_module);
}

/* The same functions carry out calls with and without a reserved place. */
bool coll_late_possible(const struct coll_module *m)
{
	return m->comm->c_coll->coll_allreduce_init_module == m->previous_iallreduce_module;
}

void coll_late_skip(ompi_communicator_t *comm)
{
	take_tag(comm);
}

/*
 * Where other threads call, they take tags at any time, so the request is made now. Open MPI 4.1
 * does not free all memory of one that never begins. So it is made later where only one thread
 * calls.
 */
int coll_late_reserve(struct coll_late *l, ompi_communicator_t *comm)
{
	l->request = NULL;
	l->begun = false;
	if (ompi_mpi_thread_multiple)
		return init(l, comm);
	l->tag = take_tag(comm);
	return OMPI_SUCCESS;
}

static int init_with_tag(struct coll_late *l, ompi_communicator_t *comm)
{
	int32_t next = comm->c_nbc_tag;
	int err;

	comm->c_nbc_tag = l->tag;
	err = init(l, comm);
	comm->c_nbc_tag = next;
	return err;
}

/* It begins once. Open MPI frees all of it then, if it is not persistent. */
int coll_late_begin(struct coll_late *l, ompi_communicator_t *comm)
{
	int err = OMPI_SUCCESS;

	if (!l->request)
		err = init_with_tag(l, comm);
	if (err)
		return err;
	l->begun = true;
	l->request->req_persistent = false;
	return l->request->req_start(1, &l->request);
}

bool coll_late_ended(struct coll_late *l, int *err)
{
	if (!l->request || !l->begun || !REQUEST_COMPLETE(l->request))
		return false;
	*err = l->request->req_status.MPI_ERROR;
	ompi_request_free(&l->request);
	l->request = NULL;
	return true;
}

void coll_late_drop(struct coll_late *l)
{
	if (l->request && !l->begun)
		ompi_request_free(&l->request);
	l->request = NULL;
}
