// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of the API: posting, waiting, and the blocking call made of both.
 *
 * Requests are kept in the order of posting. One waiting thread at a time reaps, always the oldest
 * request that has not ended. The other threads wait for it. So any thread may ask for results in
 * any order, with any engine.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "lib.h"

#define SPIN_BYTES	4096	/* up to here, CANARY_SPIN_AUTO polls */

/* Return: bytes of an element; 0: there is no such operator on that type */
static size_t element_of(u32 op, u32 dtype)
{
	/* The core looks at 8 bits of a number. */
	return op < 256 && dtype < 256 ? cnr_element(op, dtype) : 0;
}

static bool overlap(const char *a, const char *b, size_t bytes)
{
	return a < b + bytes && b < a + bytes;
}

/* Check the vectors beside the first one. Return: 0, or an error with a sentence */
static int check_more(const struct canary *c, const struct canary_call *call, size_t bytes)
{
	u32 i;

	if (!call->addends && !call->mores)
		return 0;
	if (c->ops == &lib_engine_kernel)
		return lib_error(-EOPNOTSUPP, "more: members of the kernel engine have one vector");
	if (call->addends > CANARY_MEMBERS_MAX || c->params.members < 2 ||
	    call->addends < c->params.members ||
	    call->mores > call->addends - c->params.members)
		return lib_error(-EINVAL, "addends: %u does not fit %u members, %u more vectors",
				 call->addends, c->params.members, call->mores);
	if (!call->places || (call->mores && !call->more))
		return lib_error(-EINVAL, "more, places: NULL");
	for (i = 0; i <= call->mores; i++)
		if (call->places[i] >= call->addends)
			return lib_error(-EINVAL, "places: %u is out of range, 0 to %u",
					 call->places[i], call->addends - 1);
	for (i = 0; call->count && i < call->mores; i++) {
		if (!call->more[i])
			return lib_error(-EINVAL, "buffer is NULL");
		if (overlap(call->more[i], call->recvbuf, bytes))
			return lib_error(-EINVAL, "buffers overlap");
	}
	return 0;
}

/* Check what was given, and fill in @req. Return: 0, or an error with a sentence */
static int check(const struct canary *c, struct lib_request *req, const struct canary_call *call)
{
	size_t element = element_of(call->op, call->dtype), bytes = call->count * element;
	const char *s = call->sendbuf, *r = call->recvbuf;

	if (!element)
		return lib_error(-EINVAL, "operator %u (%s) on type %u (%s): there is none",
				 call->op, canary_operator_name(call->op) ?: "unknown",
				 call->dtype, canary_dtype_name(call->dtype) ?: "unknown");
	if (call->how & ~cnr_how(call->op, call->dtype))
		return lib_error(-EINVAL, "how: %#x is not for %s of %s", call->how,
				 canary_operator_name(call->op), canary_dtype_name(call->dtype));
	if (call->reserved)
		return lib_error(-EINVAL, "reserved: %u is not 0", call->reserved);
	if (call->count > CANARY_BYTES_MAX / element)
		return lib_error(-EMSGSIZE, "count: %zu is out of range, 0 to %zu of %s",
				 call->count, CANARY_BYTES_MAX / element,
				 canary_dtype_name(call->dtype));
	if (call->count && (!s || !r))
		return lib_error(-EINVAL, "buffer is NULL");
	if (s != r && overlap(s, r, bytes))
		return lib_error(-EINVAL, "buffers overlap");
	req->sendbuf = s;
	req->recvbuf = call->recvbuf;
	req->count = call->count;
	req->bytes = bytes;
	req->dtype = call->dtype;
	req->op = call->op;
	req->how = call->how;
	req->more = call->more;
	req->places = call->places;
	req->mores = call->mores;
	req->addends = call->addends;
	return check_more(c, call, bytes);
}

static int post(struct canary *c, const struct canary_call *call, bool lent, u64 *request)
{
	struct lib_request *req, given = { .lent = lent || call->sendbuf == call->recvbuf };
	int err;

	err = check(c, &given, call);
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
	const struct canary_call call = {
		.sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype, .op = op,
	};

	return post(c, &call, false, request);
}

#define CALL_LEAST	offsetof(struct canary_call, more)	/* as long as it was at first */

/*
 * Copy the struct of a caller, which may be older or younger than the library. A younger one may
 * not use what the library does not know.
 */
static int take_call(struct canary_call *call, const struct canary_call *given, size_t size)
{
	const char *rest = (const char *)given;
	size_t i;

	if (size != CALL_LEAST && size < sizeof(*call))
		return lib_error(-EINVAL, "struct canary_call has %zu bytes, not %zu",
				 sizeof(*call), size);
	for (i = sizeof(*call); i < size; i++)
		if (rest[i])
			return lib_error(-EINVAL, "struct canary_call: byte %zu is not 0", i);
	memset(call, 0, sizeof(*call));
	memcpy(call, given, size < sizeof(*call) ? size : sizeof(*call));
	return 0;
}

CANARY_EXPORT int canary_post_call(struct canary *c, const struct canary_call *given, size_t size,
				   uint64_t *request)
{
	struct canary_call call;

	return take_call(&call, given, size) ?: post(c, &call, false, request);
}

static struct lib_request *oldest_running(struct canary *c)
{
	struct lib_request *req;

	for (req = c->head; req && req->ended; req = req->next)
		;
	return req;
}

/*
 * How long to poll for @req. Others are about to send what a short one waits for, and to be woken
 * takes longer than that. Polling for a long one would take the processor from them.
 */
static u64 spin_time(const struct canary *c, const struct lib_request *req)
{
	if (c->params.spin != CANARY_SPIN_AUTO)
		return c->params.spin * CNR_USEC;
	return req->bytes <= SPIN_BYTES ? c->ops->spin : 0;
}

/*
 * Reap @req: poll as long as the parameters say, then sleep. No lock is held. While it polls, other
 * threads of this processor have their turns.
 */
static int poll_and_reap(struct canary *c, struct lib_request *req, u64 until)
{
	u64 now = lib_now(), spin_until = now + spin_time(c, req);
	int err = -ETIMEDOUT;

	while (err == -ETIMEDOUT && now < spin_until && now < until) {
		err = c->ops->reap(c->engine, req, now);
		if (err == -ETIMEDOUT)
			sched_yield();
		now = lib_now();
	}
	return err == -ETIMEDOUT ? c->ops->reap(c->engine, req, until) : err;
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
	err = poll_and_reap(c, req, until);
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

/* @how: receives how it ended, if the operation has ended without an error */
static int wait_until(struct canary *c, u64 id, u64 until, struct canary_outcome *how)
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
		how->method = req->method;
		how->attempts = req->attempts;
		free(req);
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

static int wait_for(struct canary *c, u64 request, int timeout_ms, struct canary_outcome *how)
{
	int err = wait_until(c, request, lib_until(timeout_ms), how);

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

CANARY_EXPORT int canary_wait(struct canary *c, uint64_t request, int timeout_ms)
{
	struct canary_outcome how;

	return wait_for(c, request, timeout_ms, &how);
}

static int check_outcome(const struct canary_outcome *outcome, size_t size)
{
	if (outcome && size < sizeof(*outcome))
		return lib_error(-EINVAL, "struct canary_outcome has %zu bytes, not %zu",
				 sizeof(*outcome), size);
	return 0;
}

/* As canary_wait_outcome(), with a size that was checked */
static int wait_outcome(struct canary *c, u64 request, int timeout_ms,
			struct canary_outcome *outcome, size_t size)
{
	struct canary_outcome how = { 0 };
	int err = wait_for(c, request, timeout_ms, &how);

	if (!err && outcome) {
		memset(outcome, 0, size);
		*outcome = how;
	}
	return err;
}

CANARY_EXPORT int canary_wait_outcome(struct canary *c, uint64_t request, int timeout_ms,
				      struct canary_outcome *outcome, size_t size)
{
	return check_outcome(outcome, size) ?:
	       wait_outcome(c, request, timeout_ms, outcome, size);
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

/* Post an operation when there is room, and wait until it has ended. */
static int allreduce(struct canary *c, const struct canary_call *call,
		     struct canary_outcome *outcome, size_t size)
{
	u64 request;
	int err;

	for (;;) {
		err = post(c, call, true, &request);
		if (err != -EAGAIN)
			break;
		err = canary_room(c, CANARY_FOREVER);
		if (err)
			return err;
	}
	return err ?: wait_outcome(c, request, CANARY_FOREVER, outcome, size);
}

CANARY_EXPORT int canary_allreduce(struct canary *c, const void *sendbuf, void *recvbuf,
				   size_t count, enum canary_dtype dtype, enum canary_operator op)
{
	const struct canary_call call = {
		.sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype, .op = op,
	};

	return allreduce(c, &call, NULL, 0);
}

CANARY_EXPORT int canary_allreduce_call(struct canary *c, const struct canary_call *given,
					size_t size, struct canary_outcome *outcome,
					size_t outcome_size)
{
	struct canary_call call;

	return take_call(&call, given, size) ?:
	       check_outcome(outcome, outcome_size) ?:
	       allreduce(c, &call, outcome, outcome_size);
}
