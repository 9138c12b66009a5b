// SPDX-License-Identifier: BSD-2-Clause
/*
 * The module of a communicator: it keeps the functions that were there before, and gives them the
 * calls that canary does not carry out.
 */
#include <stdlib.h>
#include <string.h>

#include "component.h"

static void module_construct(struct coll_module *m)
{
	memset((char *)m + sizeof(m->super), 0, sizeof(*m) - sizeof(m->super));
	cmpi_queue_init(&m->queue, &m->c);
	m->queue.by_host = coll_by_host;
}

static void release(mca_coll_base_module_t **kept)
{
	if (*kept)
		OBJ_RELEASE(*kept);
	*kept = NULL;
}

static void release_previous(struct coll_module *m)
{
	release(&m->previous_allreduce_module);
	release(&m->previous_iallreduce_module);
	release(&m->previous_reduce_module);
	release(&m->previous_barrier_module);
}

static bool keep(mca_coll_base_module_t **kept, mca_coll_base_module_t *module)
{
	*kept = module;
	if (module)
		OBJ_RETAIN(module);
	return module;
}

static void module_destruct(struct coll_module *m)
{
	cmpi_close(&m->c);
	release_previous(m);
	coll_late_forget(m);
	cmpi_queue_destroy(&m->queue);
}

OBJ_CLASS_INSTANCE(coll_module_t, mca_coll_base_module_t, module_construct, module_destruct);

/* Keep what is there. Open MPI calls this when the functions of this module are about to come. */
static int module_enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)module;
	const mca_coll_base_comm_coll_t *now = comm->c_coll;

	m->previous_allreduce = now->coll_allreduce;
	m->previous_iallreduce = now->coll_iallreduce;
	m->previous_reduce = now->coll_reduce;
	m->previous_barrier = now->coll_barrier;
	if (!keep(&m->previous_allreduce_module, now->coll_allreduce_module) ||
	    !keep(&m->previous_iallreduce_module, now->coll_iallreduce_module) ||
	    !keep(&m->previous_reduce_module, now->coll_reduce_module) ||
	    !keep(&m->previous_barrier_module, now->coll_barrier_module))
		return OMPI_ERR_NOT_FOUND;
	m->comm = comm;
	/*
	 * Other communicators may be made from within Open MPI's progress engine, where nobody may
	 * wait.
	 */
	if (coll_settings.early && comm == MPI_COMM_WORLD && cmpi_usable(&coll_settings, &m->c))
		return coll_form(m);
	return OMPI_SUCCESS;
}

static int module_disable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)module;

	coll_forget(m);
	cmpi_close(&m->c);
	release_previous(m);
	m->comm = NULL;
	return OMPI_SUCCESS;
}

mca_coll_base_module_t *coll_comm_query(struct ompi_communicator_t *comm, int *priority)
{
	struct coll_module *m;

	if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2)
		return NULL;
	m = OBJ_NEW(coll_module_t);
	if (!m)
		return NULL;
	m->c.members = ompi_comm_size(comm);
	m->c.rank = ompi_comm_rank(comm);
	m->c.peers = coll_peers_alike(comm);
	m->c.one_host = coll_peers_one_host(comm);
	m->super.coll_module_enable = module_enable;
	m->super.coll_module_disable = module_disable;
	m->super.coll_allreduce = coll_canary_allreduce;
	m->super.coll_iallreduce = coll_canary_iallreduce;
	m->super.coll_reduce = coll_canary_reduce;
	m->super.coll_barrier = coll_canary_barrier;
	*priority = coll_priority;
	return &m->super;
}
