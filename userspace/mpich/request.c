// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests of MPI_Iallreduce. They are generalized requests with a function that MPICH calls when
 * the program tests or waits. So all functions of MPI take them, also together with others, and
 * MPICH's threads and locks are as without Canary: no other thread calls MPI.
 *
 * MPICH calls that function without a lock. MPI_Wait calls it again and again, without making
 * progress, so MPI_Wait comes here first and sleeps. MPI_Request_get_status does not call it, so it
 * comes here, too.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "preload.h"

#define SLEEP	1	/* ms, after which MPICH has to make progress */

/**
 * struct preload_request - a request of the program
 *
 * It lives until it has ended, and MPICH has called free_request().
 *
 * @r:		has to be the first
 * @ended, @freed: protected by the lock of the queue
 * @complete:	MPICH knows that it has ended; likewise
 * @all:	of all requests, until @freed. Then of those to be dropped
 */
struct preload_request {
	struct cmpi_request	r;
	struct preload_comm	*m;
	MPI_Request		handle;
	bool			ended, freed, complete;
	LIST_ENTRY(preload_request) all;
};

LIST_HEAD(preload_requests, preload_request);

/* Requests that MPICH has not freed. The lock is below those of queues. */
static struct {
	pthread_mutex_t		lock;
	struct preload_requests	list;
} requests = { .lock = PTHREAD_MUTEX_INITIALIZER };

int preload_error(int err)
{
	switch (err) {
	case 0:
		return MPI_SUCCESS;
	case -ENOMEM:
	case -ENOBUFS:
		return MPI_ERR_NO_MEM;
	default:
		return MPI_ERR_OTHER;
	}
}

static void drop(struct preload_request *r)
{
	struct preload_comm *m = r->m;

	free(r);
	preload_comm_put(m);
}

/*
 * Note which requests of a communicator have ended. The caller holds the lock of its queue.
 * @orphans: receives those that nobody else has
 */
static void take(struct preload_comm *m, struct preload_requests *orphans)
{
	struct cmpi_request *at = cmpi_queue_take(&m->queue), *next;

	LIST_INIT(orphans);

	for (; at; at = next) {
		struct preload_request *r = (struct preload_request *)at;

		next = at->next;
		r->ended = true;
		if (r->freed)
			LIST_INSERT_HEAD(orphans, r, all);
	}
}

static void drop_all(struct preload_requests *orphans)
{
	struct preload_request *r;

	while ((r = LIST_FIRST(orphans))) {
		LIST_REMOVE(r, all);
		drop(r);
	}
}

/* Has it ended? If so, MPICH hears of it. */
static bool look(struct preload_request *r)
{
	struct preload_comm *m = r->m;
	struct preload_requests orphans;
	bool ended, tell;

	pthread_mutex_lock(&m->queue.lock);
	take(m, &orphans);
	ended = r->ended;
	tell = ended && !r->complete;
	r->complete = ended;
	pthread_mutex_unlock(&m->queue.lock);
	drop_all(&orphans);
	if (tell)
		PMPI_Grequest_complete(r->handle);
	return ended;
}

/* ---- what MPICH calls ---- */

static int query_request(void *state, MPI_Status *status)
{
	const struct preload_request *r = state;

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_ANY_SOURCE;
	status->MPI_TAG = MPI_ANY_TAG;
	return preload_error(r->r.err);
}

static int free_request(void *state)
{
	struct preload_request *r = state;
	bool ended;

	pthread_mutex_lock(&requests.lock);
	LIST_REMOVE(r, all);
	pthread_mutex_unlock(&requests.lock);
	pthread_mutex_lock(&r->m->queue.lock);
	ended = r->ended;
	r->freed = true;
	pthread_mutex_unlock(&r->m->queue.lock);
	if (ended)
		drop(r);
	return MPI_SUCCESS;
}

/* MPI does not permit it. */
static int cancel_request(void *state, int complete)
{
	return MPI_ERR_REQUEST;
}

static int poll_request(void *state, MPI_Status *status)
{
	if (!look(state))
		preload_progress();
	return MPI_SUCCESS;
}

/* Sleep until something has ended on a communicator, or for a short time. */
static void doze(struct preload_comm *m)
{
	if (!cmpi_doze(&m->c, SLEEP))
		sched_yield();
}

static void settle(struct preload_request *r)
{
	uint64_t until = cmpi_now_us() + preload_settings.spin;

	while (!look(r)) {
		preload_progress();
		if (cmpi_now_us() >= until)
			doze(r->m);
	}
}

static int wait_request(int count, void **states, double timeout, MPI_Status *status)
{
	int i;

	for (i = 0; i < count; i++)
		settle(states[i]);
	return MPI_SUCCESS;
}

/* ---- the program's calls ---- */

/* Nobody else waits for a request of the caller, or frees it. So it stays. */
static struct preload_request *find(MPI_Request request)
{
	struct preload_request *r;

	pthread_mutex_lock(&requests.lock);
	LIST_FOREACH(r, &requests.list, all)
		if (r->handle == request)
			break;
	pthread_mutex_unlock(&requests.lock);
	return r;
}

void preload_settle(MPI_Request request)
{
	struct preload_request *r = find(request);

	if (r)
		settle(r);
}

void preload_look(MPI_Request request)
{
	struct preload_request *r = find(request);

	if (r)
		look(r);
}

/*
 * Members have to post, whatever their programs do meanwhile. MPICH's progress does not come here,
 * so a thread posts what has no room. It does not call MPI, and ends when all have been posted.
 */
static void *post_later(void *arg)
{
	struct preload_comm *m = arg;
	struct preload_requests orphans;
	bool more = true;

	while (more) {
		cmpi_room(&m->c, 100);
		pthread_mutex_lock(&m->queue.lock);
		take(m, &orphans);
		more = m->queue.last && !m->queue.last->posted;
		m->posting = more;
		pthread_mutex_unlock(&m->queue.lock);
		drop_all(&orphans);
	}
	preload_comm_put(m);
	return NULL;
}

/* Signals are for the program's threads. Return: 0 or an error */
static int detached_thread(void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

/* The caller holds the lock of the queue. Without a thread, tests and waits post. */
static void begin_posting(struct preload_comm *m)
{
	if (m->posting)
		return;
	m->posting = true;
	preload_comm_get(m);
	if (!detached_thread(post_later, m))
		return;
	m->posting = false;
	preload_comm_put(m);
}

static void remember(struct preload_request *r)
{
	pthread_mutex_lock(&requests.lock);
	LIST_INSERT_HEAD(&requests.list, r, all);
	pthread_mutex_unlock(&requests.lock);
}

int preload_start(struct preload_comm *m, const struct canary_call *what, MPI_Request *request)
{
	struct preload_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return MPI_ERR_NO_MEM;
	r->m = m;
	err = PMPIX_Grequest_start(query_request, free_request, cancel_request, poll_request,
				   wait_request, r, &r->handle);
	if (err) {
		free(r);
		return err;
	}
	*request = r->handle;
	preload_comm_get(m);
	remember(r);
	pthread_mutex_lock(&m->queue.lock);
	if (cmpi_queue_add(&m->queue, &r->r, what) == -EAGAIN)
		begin_posting(m);
	pthread_mutex_unlock(&m->queue.lock);
	return MPI_SUCCESS;
}
