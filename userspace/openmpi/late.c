// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allreduces that have their place among the collective calls of a communicator now, and begin
 * later, or never: the agreement of forming, and calls that wait for it.
 *
 * Open MPI's nonblocking functions take a tag in the order of the calls. All ranks have to take as
 * many, whatever they know about forming. So each operation takes one when the program calls, and
 * an allreduce that begins later has to get that tag.
 */
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "ompi/mca/coll/base/coll_tags.h"

/* The same functions carry out calls with a place that was reserved, and others. */
bool coll_late_possible(const struct coll_module *m)
{
	return m->comm->c_coll->coll_allreduce_init_module == m->previous_iallreduce_module;
}

/* As Open MPI's nonblocking functions do, of which other threads may call one */
void coll_late_reserve(struct coll_late *l, struct coll_module *m)
{
	int32_t next, tag = m->comm->c_nbc_tag;

	do {
		next = tag <= MCA_COLL_BASE_TAG_NONBLOCKING_END ?
		       MCA_COLL_BASE_TAG_NONBLOCKING_BASE : tag;
	} while (!__atomic_compare_exchange_n(&m->comm->c_nbc_tag, &tag, next - 1, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	l->m = m;
	l->tag = next;
	l->request = NULL;
	l->begun = false;
}

static int32_t users(ompi_communicator_t *comm)
{
	return ((opal_object_t *)comm)->obj_reference_count;
}

/*
 * Other threads take tags of the communicator at any time. So a copy of it has the tag to be taken
 * next. All that it points to is the communicator's. Requests count as users of the copy.
 */
static ompi_communicator_t *copy(struct coll_module *m)
{
	if (!m->copy) {
		m->copy = malloc(sizeof(*m->copy));
		if (!m->copy)
			return NULL;
		memcpy(m->copy, m->comm, sizeof(*m->copy));
		m->copy_users = users(m->copy);
	}
	return m->copy;
}

void coll_late_forget(struct coll_module *m)
{
	if (m->copy && users(m->copy) == m->copy_users)
		free(m->copy);
	m->copy = NULL;
}

/* A persistent allreduce that begins once. Open MPI frees all of it then, as it is made another. */
int coll_late_begin(struct coll_late *l)
{
	ompi_communicator_t *comm = copy(l->m);
	int err;

	l->begun = true;
	if (!comm)
		return OMPI_ERR_OUT_OF_RESOURCE;
	comm->c_nbc_tag = l->tag;
	err = comm->c_coll->coll_allreduce_init(l->sbuf, l->rbuf, l->count, l->dtype, l->op, comm,
						MPI_INFO_NULL, &l->request,
						comm->c_coll->coll_allreduce_init_module);
	if (err)
		return err;
	l->request->req_persistent = false;
	return l->request->req_start(1, &l->request);
}

bool coll_late_ended(struct coll_late *l, int *err)
{
	if (!l->request || !REQUEST_COMPLETE(l->request))
		return false;
	*err = l->request->req_status.MPI_ERROR;
	ompi_request_free(&l->request);
	l->request = NULL;
	return true;
}
