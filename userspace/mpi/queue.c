// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of a communicator, in the order of the program's calls. All members post them in this
 * order. Those that have no room yet wait in a list, and so do all behind them. All wait while the
 * communicator is CMPI_FORMING; if that fails, the host functions carry them out.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmpi.h"

void cmpi_queue_init(struct cmpi_queue *q, struct cmpi_comm *c)
{
	pthread_mutexattr_t attr;

	/* Host functions that by_host calls may come back here. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&q->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	q->c = c;
	q->first = NULL;
	q->last = NULL;
	q->by_host = NULL;
}

void cmpi_queue_destroy(struct cmpi_queue *q)
{
	pthread_mutex_destroy(&q->lock);
}

void cmpi_queue_close(struct cmpi_queue *q)
{
	struct cmpi_comm last;

	pthread_mutex_lock(&q->lock);
	last = *q->c;
	q->c->canary = NULL;
	q->c->node = NULL;
	q->c->state = CMPI_FAILED;
	pthread_mutex_unlock(&q->lock);
	cmpi_close(&last);
}

/* Where it goes is known at once, or when the communicator was formed, or not. */
static void count_once(struct cmpi_request *r, enum cmpi_why why)
{
	if (!r->counted)
		cmpi_count(CMPI_IALLREDUCE, why, r->call.count * canary_dtype_size(r->call.dtype));
	r->counted = true;
}

int cmpi_queue_post(struct cmpi_queue *q)
{
	struct cmpi_request *r;
	int err;

	if (q->c->state == CMPI_FORMING)
		return -EAGAIN;
	for (r = q->first; r && q->c->state == CMPI_FORMED; r = r->next) {
		if (r->posted)
			continue;
		count_once(r, CMPI_CANARY);
		err = cmpi_post(q->c, &r->call, &r->id);
		if (err)
			return err;
		r->posted = true;
		if (q->c->node)
			cmpi_node_drive(q->c->node);
	}
	return 0;
}

int cmpi_queue_flush(struct cmpi_queue *q, void (*progress)(void))
{
	int err;

	for (;;) {
		pthread_mutex_lock(&q->lock);
		err = cmpi_queue_post(q);
		pthread_mutex_unlock(&q->lock);
		if (err != -EAGAIN)
			return err;
		progress();
	}
}

int cmpi_queue_add(struct cmpi_queue *q, struct cmpi_request *r, const struct canary_call *call)
{
	r->call = *call;
	r->next = NULL;
	r->posted = false;
	r->counted = false;
	r->ended = false;
	r->err = 0;
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
	if (q->c->state == CMPI_FORMED)
		count_once(r, CMPI_CANARY);
	return cmpi_queue_post(q);
}

/* All of them go on at a time. Return: the state of the first one, as canary_test() */
static int carry_on_by_host(struct cmpi_queue *q)
{
	struct cmpi_request *r;

	for (r = q->first; r; r = r->next) {
		count_once(r, CMPI_REFUSED);
		r->ended = r->ended || q->by_host(r);
	}
	return q->first->ended;
}

/* Return: the state of the first one, as canary_test(). @posted: what cmpi_queue_post() returned */
static int state(struct cmpi_queue *q, int posted)
{
	if (q->first->posted)
		return cmpi_test(q->c, q->first->id);
	if (q->c->state == CMPI_FAILED && q->by_host)
		return carry_on_by_host(q);
	return posted == -EAGAIN ? 0 : posted;
}

struct cmpi_request *cmpi_queue_take(struct cmpi_queue *q)
{
	struct cmpi_request *ended = NULL, **tail = &ended, *r;
	int ret, posted = cmpi_queue_post(q);

	while ((r = q->first)) {
		ret = state(q, posted);
		if (!ret)
			break;
		r->err = ret < 0 ? ret : 0;
		if (r->err)
			cmpi_complain(q->c, CMPI_IALLREDUCE, r->err);
		q->first = r->next;
		r->next = NULL;
		*tail = r;
		tail = &r->next;
		posted = cmpi_queue_post(q);
	}
	if (!q->first)
		q->last = NULL;
	return ended;
}

/* Post it behind those that are in the list. Return: 0, or an error of canary but -EAGAIN */
static int post(struct cmpi_queue *q, const struct canary_call *call, void (*progress)(void),
		uint64_t *id)
{
	int err;

	for (;;) {
		pthread_mutex_lock(&q->lock);
		err = cmpi_queue_post(q);
		if (!err)
			err = cmpi_post(q->c, call, id);
		pthread_mutex_unlock(&q->lock);
		if (err != -EAGAIN)
			return err;
		progress();
	}
}

int cmpi_run(struct cmpi_queue *q, const struct cmpi_settings *s, const struct cmpi_args *args,
	     const struct canary_call *what, bool result, void (*progress)(void))
{
	struct canary_call call = *what;
	void *spare = NULL;
	uint64_t id;
	int err;

	if (!result) {
		spare = malloc(args->count * canary_dtype_size(args->dtype));
		if (!spare)
			return -ENOMEM;
		call.recvbuf = spare;
	}
	err = post(q, &call, progress, &id);
	if (!err)
		err = cmpi_wait(q->c, id, progress, s->spin);
	if (err)
		cmpi_complain(q->c, args->call, err);
	free(spare);
	return err;
}
