// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of the API: posting, waiting, and the blocking call made of both.
 *
 * Requests are kept in the order of posting. One waiting thread at a time reaps, always the oldest
 * request that has not ended. The other threads wait for it. So any thread may ask for results in
 * any order, with any engine.
 */
#include <stdlib.h>
#include <string.h>
#include "lib.h"

/* Check what was given, and fill in @req. Return: 0, or an error with a sentence */
static int check(struct lib_request *req, const void *sendbuf, void *recvbuf, size_t count,
		 enum canary_dtype dtype, enum canary_operator op)
{
	size_t element = cnr_element(op, dtype), bytes = count * element;
	const char *s = sendbuf, *r = recvbuf;

	if (!element)
		return lib_error(-EINVAL, "operator %d on type %d is not known", op, dtype);
	if (count > CANARY_BYTES_MAX / element)
		return lib_error(-EMSGSIZE, "count: %zu is out of range, 0 to %zu of %s", count,
				 CANARY_BYTES_MAX / element, canary_dtype_name(dtype));
	if (count && (!s || !r))
		return lib_error(-EINVAL, "buffer is NULL");
	if (s != r && s < r + bytes && r < s + bytes)
		return lib_error(-EINVAL, "buffers overlap");
	req->sendbuf = sendbuf;
	req->recvbuf = recvbuf;
	req->count = count;
	req->bytes = bytes;
	req->dtype = dtype;
	req->op = op;
	return 0;
}

static int post(struct canary *c, const void *sendbuf, void *recvbuf, size_t count,
		enum canary_dtype dtype, enum canary_operator op, bool lent, u64 *request)
{
	struct lib_request *req, given = { .lent = lent || sendbuf == recvbuf };
	int err;

	err = check(&given, sendbuf, recvbuf, count, dtype, op);
	if (err)
		return err;
	req = malloc(sizeof(*req));
	if (!req)
		return lib_error(-ENOMEM, "out of memory");
	*req = given;
	/* One lock covers engine and list, so that both have the same order. */
	pthread_mutex_lock(&c->lock);
	err = c->ops->post(c->engine, req);
	if (!err) {
		req->id = c->next_id++;
		*request = req->id;
		*c->tail = req;
		c->tail = &req->next;
	}
	pthread_mutex_unlock(&c->lock);
	if (!err)
		return 0;
	free(req);
	if (err == -EAGAIN)
		return lib_error(err, "too many operations are under way");
	if (err == -ENOTCONN)
		return lib_error(err, "not connected");
	return lib_comm_error(c, err);
}

CANARY_EXPORT int canary_post(struct canary *c, const void *sendbuf, void *recvbuf, size_t count,
			      enum canary_dtype dtype, enum canary_operator op,
			      uint64_t *request)
{
	return post(c, sendbuf, recvbuf, count, dtype, op, false, request);
}

static struct lib_request *oldest_running(struct canary *c)
{
	struct lib_request *req;

	for (req = c->head; req && req->ended; req = req->next)
		;
	return req;
}

/*
 * reap_one() - reap @req, the oldest running request, or wait until another thread changed
 * something
 * The caller holds the lock, which is released while waiting.
 * Return: 0 or -ETIMEDOUT.
 */
static int reap_one(struct canary *c, struct lib_request *req, u64 until)
{
	struct timespec ts = lib_timespec(until);
	int err;

	if (c->reaping) {
		err = -pthread_cond_timedwait(&c->ended, &c->lock, &ts);
		return err == -ETIMEDOUT ? err : 0;
	}
	c->reaping = true;
	pthread_mutex_unlock(&c->lock);
	err = c->ops->reap(c->engine, req, until);
	pthread_mutex_lock(&c->lock);
	c->reaping = false;
	if (!err)
		req->ended = true;
	pthread_cond_broadcast(&c->ended);
	return err;
}

static struct lib_request **find(struct canary *c, u64 id)
{
	struct lib_request **at;

	for (at = &c->head; *at; at = &(*at)->next)
		if ((*at)->id == id)
			return at;
	return NULL;
}

static int wait_until(struct canary *c, u64 id, u64 until)
{
	struct lib_request **at, *req;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		at = find(c, id);
		if (!at) {
			err = -ENOENT;
			break;
		}
		req = *at;
		if (req->ended || err)
			break;
		err = reap_one(c, oldest_running(c), until);
	}
	if (at && req->ended) {
		*at = req->next;
		if (c->tail == &req->next)
			c->tail = at;
		err = req->error;
		free(req);
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

CANARY_EXPORT int canary_wait(struct canary *c, uint64_t request, int timeout_ms)
{
	int err = wait_until(c, request, lib_until(timeout_ms));

	switch (err) {
	case 0:
		return 0;
	case -ETIMEDOUT:
		return lib_error(err, "the operation has not ended yet");
	case -ENOENT:
		return lib_error(err, "no such request");
	}
	return lib_comm_error(c, err);
}

CANARY_EXPORT int canary_test(struct canary *c, uint64_t request)
{
	int err = canary_wait(c, request, 0);

	if (err == -ETIMEDOUT)
		return 0;
	return err ?: 1;
}

CANARY_EXPORT int canary_room(struct canary *c, int timeout_ms)
{
	u64 until = lib_until(timeout_ms);
	struct lib_request *req;
	int err;

	/* Usually there is room without waiting. */
	err = c->ops->room(c->engine, 0);
	while (err == -ETIMEDOUT && lib_now() < until) {
		pthread_mutex_lock(&c->lock);
		req = oldest_running(c);
		if (req)
			err = reap_one(c, req, until);
		pthread_mutex_unlock(&c->lock);
		if (!req)
			err = c->ops->room(c->engine, until);
		else if (!err)
			err = c->ops->room(c->engine, 0);
	}
	if (err == -ETIMEDOUT)
		return lib_error(err, "too many operations are under way");
	return err ? lib_comm_error(c, err) : 0;
}

CANARY_EXPORT int canary_allreduce(struct canary *c, const void *sendbuf, void *recvbuf,
				   size_t count, enum canary_dtype dtype, enum canary_operator op)
{
	u64 request;
	int err;

	for (;;) {
		err = post(c, sendbuf, recvbuf, count, dtype, op, true, &request);
		if (err != -EAGAIN)
			break;
		err = canary_room(c, CANARY_FOREVER);
		if (err)
			return err;
	}
	return err ?: canary_wait(c, request, CANARY_FOREVER);
}
