// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of canary as Open MPI wants them: blocking ones, during which other communication of
 * the process goes on, and requests, which Open MPI's progress engine completes.
 *
 * Members of a communicator post operations in the same order, the order of their calls. Those of
 * a request that has no room yet wait in the module's list, and so do all behind it.
 */
#include <errno.h>
#include <stdlib.h>

#include "component.h"
#include "opal/runtime/opal_progress.h"

static int request_free(ompi_request_t **request)
{
	OBJ_RELEASE(*request);
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
	r->next = NULL;
	r->posted = false;
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

/* The caller holds the module's lock. Return: 0, -EAGAIN, or another error */
static int post_pending(struct coll_module *m)
{
	struct coll_request *r;
	int err;

	for (r = m->first; r; r = r->next) {
		if (r->posted)
			continue;
		err = canary_post_call(m->c.canary, &r->call, sizeof(r->call), &r->id);
		if (err)
			return err;
		r->posted = true;
	}
	return 0;
}

/*
 * Take requests that have ended off the list. The caller holds the module's lock.
 * Return: they, linked by next
 */
static struct coll_request *take_ended(struct coll_module *m)
{
	struct coll_request *ended = NULL, **tail = &ended, *r;
	int ret = post_pending(m);

	while ((r = m->first)) {
		if (r->posted)
			ret = canary_test(m->c.canary, r->id);
		else if (ret == -EAGAIN)
			ret = 0;
		if (!ret)
			break;
		r->super.req_status.MPI_ERROR = to_mpi(ret < 0 ? ret : 0);
		if (ret < 0)
			cmpi_complain(&m->c, CMPI_IALLREDUCE, ret);
		m->first = r->next;
		r->next = NULL;
		*tail = r;
		tail = &r->next;
		ret = post_pending(m);
	}
	if (!m->first)
		m->last = NULL;
	return ended;
}

/* Whoever waits may go on from within this, and start other requests. So no lock is held. */
static int complete(struct coll_request *r)
{
	struct coll_request *next;
	int n = 0;

	for (; r; r = next, n++) {
		next = r->next;
		ompi_request_complete(&r->super, true);
	}
	return n;
}

/* Open MPI's progress engine calls this. Return: number of requests that were completed */
static int progress(void)
{
	struct coll_request *ended = NULL, **tail = &ended;
	struct coll_module **at, *m;

	if (!__atomic_load_n(&active.first, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&active.lock))
		return 0;
	for (at = &active.first; (m = *at);) {
		pthread_mutex_lock(&m->lock);
		*tail = take_ended(m);
		while (*tail)
			tail = &(*tail)->next;
		m->listed = m->first;
		if (!m->listed)
			*at = m->next;
		else
			at = &m->next;
		pthread_mutex_unlock(&m->lock);
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

static bool has_requests(struct coll_module *m)
{
	bool has;

	pthread_mutex_lock(&m->lock);
	has = m->listed;
	pthread_mutex_unlock(&m->lock);
	return has;
}

void coll_drain(struct coll_module *m)
{
	while (has_requests(m))
		opal_progress();
}

int coll_start(struct coll_module *m, const struct canary_call *what, ompi_request_t **request)
{
	struct coll_request *r = OBJ_NEW(coll_request_t);

	if (!r)
		return OMPI_ERR_OUT_OF_RESOURCE;
	r->call = *what;
	r->super.req_mpi_object.comm = m->comm;
	r->super.req_status = ompi_status_empty;
	r->super.req_state = OMPI_REQUEST_ACTIVE;
	*request = &r->super;
	pthread_mutex_lock(&active.lock);
	pthread_mutex_lock(&m->lock);
	if (m->last)
		m->last->next = r;
	else
		m->first = r;
	m->last = r;
	/* An error shows when the request ends. */
	post_pending(m);
	if (!m->listed) {
		m->next = active.first;
		__atomic_store_n(&active.first, m, __ATOMIC_RELAXED);
		m->listed = true;
	}
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_unlock(&active.lock);
	return OMPI_SUCCESS;
}

int coll_run(struct coll_module *m, enum cmpi_call call, const struct canary_call *what)
{
	uint64_t id;
	int err;

	for (;;) {
		pthread_mutex_lock(&m->lock);
		err = post_pending(m);
		if (!err)
			err = canary_post_call(m->c.canary, what, sizeof(*what), &id);
		pthread_mutex_unlock(&m->lock);
		if (err != -EAGAIN)
			break;
		opal_progress();
	}
	if (!err)
		err = cmpi_wait(m->c.canary, id, opal_progress, coll_settings.spin);
	if (err)
		cmpi_complain(&m->c, call, err);
	return to_mpi(err);
}
