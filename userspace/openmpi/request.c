// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of canary as Open MPI wants them: blocking ones, during which other communication of
 * the process goes on, and requests, which Open MPI's progress engine completes.
 */
#include <errno.h>

#include "component.h"
#include "opal/runtime/opal_progress.h"

/*
 * A request keeps its communicator, which the program may free before. Of one that has failed, Open
 * MPI may look at the communicator after this. Then it stays. MPI does not permit to free one that
 * is under way: its queue still has it.
 */
static int request_free(ompi_request_t **request)
{
	ompi_communicator_t *comm = (*request)->req_mpi_object.comm;
	bool keep = (*request)->req_status.MPI_ERROR != MPI_SUCCESS;

	if (!REQUEST_COMPLETE(*request))
		return MPI_ERR_REQUEST;
	OBJ_RELEASE(*request);
	if (!keep)
		OBJ_RELEASE(comm);
	*request = MPI_REQUEST_NULL;
	return OMPI_SUCCESS;
}

/* MPI does not permit it. */
static int request_cancel(ompi_request_t *request, int flag)
{
	return MPI_ERR_REQUEST;
}

static void request_construct(struct coll_request *r)
{
	OMPI_REQUEST_INIT(&r->super, false);
	r->super.req_type = OMPI_REQUEST_COLL;
	r->super.req_free = request_free;
	r->super.req_cancel = request_cancel;
}

static void request_destruct(struct coll_request *r)
{
	OMPI_REQUEST_FINI(&r->super);
}

OBJ_CLASS_INSTANCE(coll_request_t, ompi_request_t, request_construct, request_destruct);

/* Modules that have requests. A module is in it while it has some. */
static struct {
	pthread_mutex_t		lock;	/* above those of modules */
	struct coll_module	*first;
	bool			registered;
} active = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int to_mpi(int err)
{
	switch (err) {
	case 0:
		return OMPI_SUCCESS;
	case -ENOMEM:
	case -ENOBUFS:
		return OMPI_ERR_OUT_OF_RESOURCE;
	default:
		return OMPI_ERROR;
	}
}

/* Whoever waits may go on from within this, and start other requests. So no lock is held. */
static int complete(struct cmpi_request *ended)
{
	struct cmpi_request *next;
	struct coll_request *r;
	int n = 0;

	for (; ended; ended = next, n++) {
		next = ended->next;
		r = (struct coll_request *)((char *)ended - offsetof(struct coll_request, r));
		r->super.req_status.MPI_ERROR = to_mpi(ended->err);
		ompi_request_complete(&r->super, true);
	}
	return n;
}

/* Open MPI's progress engine calls this. Return: number of requests that were completed */
static int progress(void)
{
	struct cmpi_request *ended = NULL, **tail = &ended;
	struct coll_module **at, *m;

	if (!__atomic_load_n(&active.first, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&active.lock))
		return 0;
	for (at = &active.first; (m = *at);) {
		pthread_mutex_lock(&m->queue.lock);
		*tail = cmpi_queue_take(&m->queue);
		while (*tail)
			tail = &(*tail)->next;
		m->listed = m->queue.first;
		if (!m->listed)
			*at = m->next;
		else
			at = &m->next;
		pthread_mutex_unlock(&m->queue.lock);
	}
	pthread_mutex_unlock(&active.lock);
	return complete(ended);
}

void coll_requests_init(void)
{
	active.registered = opal_progress_register(progress) == OPAL_SUCCESS;
}

void coll_requests_fini(void)
{
	if (active.registered)
		opal_progress_unregister(progress);
	active.registered = false;
}

void coll_forget(struct coll_module *m)
{
	struct coll_module **at;

	pthread_mutex_lock(&active.lock);
	for (at = &active.first; *at && *at != m; at = &(*at)->next)
		;
	if (*at)
		*at = m->next;
	pthread_mutex_lock(&m->queue.lock);
	m->listed = false;
	pthread_mutex_unlock(&m->queue.lock);
	pthread_mutex_unlock(&active.lock);
}

int coll_start(struct coll_module *m, const struct canary_call *what, ompi_request_t **request)
{
	struct coll_request *r = OBJ_NEW(coll_request_t);

	if (!r)
		return OMPI_ERR_OUT_OF_RESOURCE;
	OBJ_RETAIN(m->comm);
	r->super.req_mpi_object.comm = m->comm;
	r->super.req_status = ompi_status_empty;
	r->super.req_state = OMPI_REQUEST_ACTIVE;
	*request = &r->super;
	pthread_mutex_lock(&active.lock);
	pthread_mutex_lock(&m->queue.lock);
	/* An error shows when the request ends. */
	cmpi_queue_add(&m->queue, &r->r, what);
	if (!m->listed) {
		m->next = active.first;
		__atomic_store_n(&active.first, m, __ATOMIC_RELAXED);
		m->listed = true;
	}
	pthread_mutex_unlock(&m->queue.lock);
	pthread_mutex_unlock(&active.lock);
	return OMPI_SUCCESS;
}

int coll_run(struct coll_module *m, const struct cmpi_args *args, const struct canary_call *what,
	     bool result)
{
	return to_mpi(cmpi_run(&m->queue, &coll_settings, args, what, result, opal_progress));
}
