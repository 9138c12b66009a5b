// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of a communicator, in the order of the program's calls. All members post them in this
 * order. Those that have no room yet wait in a list, and so do all behind them.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmpi.h"

void cmpi_queue_init(struct cmpi_queue *q, struct cmpi_comm *c)
{
	pthread_mutex_init(&q->lock, NULL);
	q->c = c;
	q->first = NULL;
	q->last = NULL;
}

void cmpi_queue_destroy(struct cmpi_queue *q)
{
	pthread_mutex_destroy(&q->lock);
}

int cmpi_queue_post(struct cmpi_queue *q)
{
	struct cmpi_request *r;
	int err;

	for (r = q->first; r; r = r->next) {
		if (r->posted)
			continue;
		err = cmpi_post(q->c, &r->call, &r->id);
		if (err)
			return err;
		r->posted = true;
	}
	return 0;
}

int cmpi_queue_add(struct cmpi_queue *q, struct cmpi_request *r, const struct canary_call *call)
{
	r->call = *call;
	r->next = NULL;
	r->posted = false;
	r->err = 0;
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
	if (q->c->node)
		cmpi_node_drive(q->c->node);
	return cmpi_queue_post(q);
}

struct cmpi_request *cmpi_queue_take(struct cmpi_queue *q)
{
	struct cmpi_request *ended = NULL, **tail = &ended, *r;
	int ret = cmpi_queue_post(q);

	while ((r = q->first)) {
		if (r->posted)
			ret = cmpi_test(q->c, r->id);
		else if (ret == -EAGAIN)
			ret = 0;
		if (!ret)
			break;
		r->err = ret < 0 ? ret : 0;
		if (r->err)
			cmpi_complain(q->c, CMPI_IALLREDUCE, r->err);
		q->first = r->next;
		r->next = NULL;
		*tail = r;
		tail = &r->next;
		ret = cmpi_queue_post(q);
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
