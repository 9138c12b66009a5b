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
	OBJ_RELEASE(((struct coll_request *)*request)->late.dtype);
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

/*
 * Modules that have requests, or are being formed. A module is in it while there is something to
 * do.
 *
 * Functions of Open MPI that progress() calls may make progress themselves, and start operations on
 * communicators from there. So locks can be taken again by who has them, and progress() looks
 * whether it goes on already. Modules leave the list when nobody goes through it.
 */
static struct {
	pthread_mutex_t		lock;	/* above those of modules */
	struct coll_module	*first;
	bool			going_on;
	bool			registered;
} active = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

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

static struct coll_request *whole(struct cmpi_request *r)
{
	return (struct coll_request *)((char *)r - offsetof(struct coll_request, r));
}

/* Whoever waits may go on from within this, and start other requests. So no lock is held. */
static int complete(struct cmpi_request *ended)
{
	struct cmpi_request *next;
	struct coll_request *r;
	int n = 0;

	for (; ended; ended = next, n++) {
		next = ended->next;
		r = whole(ended);
		r->super.req_status.MPI_ERROR = ended->err ? to_mpi(ended->err) : r->host_error;
		ompi_request_complete(&r->super, true);
	}
	return n;
}

/* The communicator could not be formed. */
bool coll_by_host(struct cmpi_request *request)
{
	struct coll_request *r = whole(request);

	if (!r->late.begun)
		r->host_error = coll_late_begin(&r->late);
	return r->host_error || coll_late_ended(&r->late, &r->host_error);
}

/* Do what can be done for a module. Return: the end of the list of requests that have ended */
static struct cmpi_request **look_after(struct coll_module *m, struct cmpi_request **tail)
{
	pthread_mutex_lock(&m->queue.lock);
	if (m->c.forming)
		m->formed = cmpi_forming_advance(&m->c);
	*tail = cmpi_queue_take(&m->queue);
	while (*tail)
		tail = &(*tail)->next;
	pthread_mutex_unlock(&m->queue.lock);
	return tail;
}

/* Return: modules that have been formed, or not, linked by next_formed */
static struct coll_module *take_formed(void)
{
	struct coll_module **at, *m, *formed = NULL;

	for (at = &active.first; (m = *at);) {
		if (m->formed && !m->formed_taken) {
			m->formed_taken = true;
			m->next_formed = formed;
			formed = m;
		}
		pthread_mutex_lock(&m->queue.lock);
		m->listed = m->queue.first || m->c.forming;
		pthread_mutex_unlock(&m->queue.lock);
		if (!m->listed)
			*at = m->next;
		else
			at = &m->next;
	}
	return formed;
}

/* Open MPI's progress engine calls this. Return: number of requests that were completed */
static int progress(void)
{
	struct cmpi_request *ended = NULL, **tail = &ended;
	struct coll_module *m, *formed;
	int n;

	if (!__atomic_load_n(&active.first, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&active.lock))
		return 0;
	if (active.going_on) {
		pthread_mutex_unlock(&active.lock);
		return 0;
	}
	active.going_on = true;
	for (m = active.first; m; m = m->next)
		tail = look_after(m, tail);
	formed = take_formed();
	active.going_on = false;
	pthread_mutex_unlock(&active.lock);
	n = complete(ended);
	for (; formed; formed = m) {
		m = formed->next_formed;
		coll_forming_ended(formed);
	}
	return n;
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

void coll_watch(struct coll_module *m)
{
	pthread_mutex_lock(&active.lock);
	pthread_mutex_lock(&m->queue.lock);
	if (!m->listed) {
		m->next = active.first;
		__atomic_store_n(&active.first, m, __ATOMIC_RELAXED);
		m->listed = true;
	}
	pthread_mutex_unlock(&m->queue.lock);
	pthread_mutex_unlock(&active.lock);
}

int coll_start(struct coll_module *m, const struct canary_call *what, const struct coll_late *late,
	       ompi_request_t **request)
{
	struct coll_request *r = OBJ_NEW(coll_request_t);

	if (!r)
		return OMPI_ERR_OUT_OF_RESOURCE;
	r->late = *late;
	r->host_error = OMPI_SUCCESS;
	/* Open MPI's functions may have to carry it out, here or at another rank. */
	coll_late_reserve(&r->late, m);
	OBJ_RETAIN(r->late.dtype);
	OBJ_RETAIN(m->comm);
	r->super.req_mpi_object.comm = m->comm;
	r->super.req_status = ompi_status_empty;
	r->super.req_state = OMPI_REQUEST_ACTIVE;
	*request = &r->super;
	pthread_mutex_lock(&m->queue.lock);
	/* An error shows when the request ends. */
	cmpi_queue_add(&m->queue, &r->r, what);
	pthread_mutex_unlock(&m->queue.lock);
	coll_watch(m);
	return OMPI_SUCCESS;
}

int coll_run(struct coll_module *m, const struct cmpi_args *args, const struct canary_call *what,
	     bool result)
{
	return to_mpi(cmpi_run(&m->queue, &coll_settings, args, what, result, opal_progress));
}
