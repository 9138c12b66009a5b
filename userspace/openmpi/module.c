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
	pthread_mutex_init(&m->lock, NULL);
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
	pthread_mutex_destroy(&m->lock);
}

OBJ_CLASS_INSTANCE(coll_module_t, mca_coll_base_module_t, module_construct, module_destruct);

static int host_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
	struct coll_module *m = arg;

	return m->comm->c_coll->coll_allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, m->comm,
					       m->comm->c_coll->coll_allgather_module);
}

static int host_least(void *arg, int *value)
{
	struct coll_module *m = arg;

	return m->previous_allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_MIN, m->comm,
				     m->previous_allreduce_module);
}

static int host_sum(void *arg, double *v, size_t count)
{
	struct coll_module *m = arg;

	return m->previous_allreduce(MPI_IN_PLACE, v, count, MPI_DOUBLE, MPI_SUM, m->comm,
				     m->previous_allreduce_module);
}

static int form(struct coll_module *m)
{
	const struct cmpi_host host = {
		.allgather = host_allgather,
		.least = host_least,
		.sum = host_sum,
		.progress = opal_progress,
		.arg = m,
	};

	return cmpi_form(&m->c, &coll_settings, &host, coll_job());
}

int coll_use(struct coll_module *m, const struct cmpi_args *args, bool blocking,
	     enum cmpi_why *why)
{
	int err = OMPI_SUCCESS;

	*why = cmpi_decide(&coll_settings, &m->c, args);
	/* Calls that could not wait have missed it before: then any call that can wait forms it. */
	if (m->c.state == CMPI_NEW && blocking && (*why == CMPI_CANARY || m->c.missed)) {
		err = form(m);
		if (err)
			return err;
		*why = cmpi_decide(&coll_settings, &m->c, args);
	}
	if (*why == CMPI_CANARY && m->c.state != CMPI_FORMED) {
		m->c.missed++;
		*why = CMPI_NOT_FORMED;
	}
	cmpi_count(args->call, *why, args->count * canary_dtype_size(args->dtype));
	return OMPI_SUCCESS;
}

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
		return form(m);
	return OMPI_SUCCESS;
}

static int module_disable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)module;

	coll_drain(m);
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
	*priority = coll_priority();
	return &m->super;
}
