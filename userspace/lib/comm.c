// SPDX-License-Identifier: BSD-2-Clause
/* Communicators of the API: choice of the engine, opening and closing, queries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib.h"

/* A member that shares a port needs the engine of the communicator that has this port. */
static int share_engine(struct canary *c)
{
	u32 engine;

	c->ops = c->params.share->ops;
	snprintf(c->reason, sizeof(c->reason), "of the communicator whose port it shares");
	engine = c->ops == &lib_engine_user ? CANARY_ENGINE_USER : CANARY_ENGINE_KERNEL;
	if (c->params.engine == CANARY_ENGINE_AUTO || c->params.engine == engine)
		return 0;
	return lib_error(-EINVAL, "share: its engine is the %s one", c->ops->name);
}

/* Choose the engine: set ops and reason. */
static int choose_engine(struct canary *c)
{
	char why[120] = "";
	int err;

	if (c->params.share)
		return share_engine(c);
	if (c->params.engine == CANARY_ENGINE_USER) {
		c->ops = &lib_engine_user;
		snprintf(c->reason, sizeof(c->reason), "asked for");
		return 0;
	}
	err = lib_engine_kernel.probe(&c->params, why, sizeof(why));
	if (c->params.engine == CANARY_ENGINE_KERNEL) {
		if (err)
			return lib_error(err, "engine: kernel's is not there: %s", why);
		c->ops = &lib_engine_kernel;
		snprintf(c->reason, sizeof(c->reason), "asked for, %s", why);
		return 0;
	}
	c->ops = err ? &lib_engine_user : &lib_engine_kernel;
	snprintf(c->reason, sizeof(c->reason), "automatic: %s", why);
	return 0;
}

static int init_sync(struct canary *c)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr))
		return lib_error(-ENOMEM, "out of memory");
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->ended, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&c->lock, NULL);
	return 0;
}

CANARY_EXPORT int canary_open(const struct canary_params *params, struct canary **comm)
{
	struct canary *c;
	int err;

	*comm = NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return lib_error(-ENOMEM, "out of memory");
	c->tail = &c->head;
	c->next_id = 1;
	err = lib_params_check(params, &c->params);
	if (!err)
		err = lib_keys_lookup(&c->params);
	if (!err)
		err = choose_engine(c);
	if (!err)
		err = init_sync(c);
	if (err)
		goto free;
	err = c->ops->open(&c->params, &c->engine);
	c->params.share = NULL;
	if (err)
		goto sync;
	*comm = c;
	return 0;
sync:
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
free:
	free(c);
	return err;
}

CANARY_EXPORT int canary_connect(struct canary *c, int timeout_ms)
{
	int err;

	if (c->params.table)
		return lib_error(-EINVAL, "table: canary_form() forms this communicator");
	err = c->ops->connect(c->engine, lib_until(timeout_ms));
	return err ? lib_comm_error(c, err) : 0;
}

CANARY_EXPORT unsigned int canary_missing(struct canary *c, uint16_t *ranks, unsigned int max)
{
	return c->ops->missing(c->engine, ranks, max);
}

CANARY_EXPORT void canary_close(struct canary *c)
{
	struct lib_request *req;

	if (!c)
		return;
	c->ops->close(c->engine);
	while (c->head) {
		req = c->head;
		c->head = req->next;
		free(req);
	}
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

CANARY_EXPORT const char *canary_engine_name(const struct canary *c)
{
	return c->ops->name;
}

CANARY_EXPORT const char *canary_engine_reason(const struct canary *c)
{
	return c->reason;
}

CANARY_EXPORT const char *canary_algorithm_name(uint32_t algorithm)
{
	return cnr_algorithm_name(algorithm);
}

CANARY_EXPORT const char *canary_why_name(uint32_t why)
{
	return cnr_why_name(why);
}

CANARY_EXPORT int canary_poll_fd(struct canary *c)
{
	int fd = c->ops->poll_fd(c->engine);

	return fd < 0 ? lib_error(fd, "no descriptor to poll: %s", strerror(-fd)) : fd;
}

CANARY_EXPORT int canary_get_info(struct canary *c, struct canary_info *info, size_t size)
{
	struct canary_info full = {
		.comm = c->params.comm,
		.rank = c->params.rank,
		.members = c->params.members,
		.root = c->params.root,
		.local = c->params.bind,
	};

	/* Programs of the first version have no @number. */
	if (size < offsetof(struct canary_info, number))
		return lib_error(-EINVAL, "struct canary_info has %zu bytes, not %zu",
				 sizeof(full), size);
	c->ops->info(c->engine, &full);
	memset(info, 0, size);
	memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
	return 0;
}

CANARY_EXPORT size_t canary_block_elements(struct canary *c, uint32_t dtype, uint32_t op)
{
	struct canary_info info = { .elements = 0 };
	u32 lane = 0;

	/* The core looks at 8 bits of a number. */
	if (canary_dtype_name(dtype) && canary_operator_name(op))
		lane = cnr_lane(op, dtype);
	c->ops->info(c->engine, &info);
	return lane ? info.elements * 4 / lane : 0;
}

CANARY_EXPORT int canary_stats(struct canary *c, struct canary_stat *stats, int max)
{
	int n = c->ops->stats(c->engine, stats, max);

	if (n == -EPROTO)
		return lib_error(n, "counters: the module is of another release than the library");
	return n < 0 ? lib_error(n, "counters: %s", strerror(-n)) : n;
}
