// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine: the protocol core over a UDP socket. Calls of the application drive it, and the
 * thread of its endpoint handles packets and timers. So it answers other members whatever the
 * application does.
 *
 * The endpoint's lock protects everything of the core. Results go where the application wants them.
 * Those that other members may ask for, long after the application has taken them, are kept, too.
 * Contributions are copied, unless they stay as they are until the end.
 */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#include "user.h"

#define GOODBYE_TRIES	10
#define GOODBYE_MS	20
#define SPIN		(50 * CNR_USEC)		/* several times what a sum of 8 bytes takes */
#define CLOSE_SLACK	(500 * CNR_MSEC)	/* how much longer than the core to wait */

static void free_user(struct user *u)
{
	struct user_op *op;

	user_publish_close(&u->publish);
	if (u->event >= 0)
		close(u->event);
	while (u->ops) {
		op = u->ops;
		u->ops = op->next;
		user_op_free(op);
	}
	pthread_cond_destroy(&u->changed);
	free(u->core);
	free(u);
}

static int start_core(struct user *u, const struct canary_params *params)
{
	struct cnr_config *cfg = &u->cfg;
	const char *what = "";
	size_t size;
	int mtu;
	u32 i;

	mtu = params->table ? params->mtu : user_path_mtu(params, &u->local);
	if (mtu < 0)
		return mtu;
	cfg->comm = params->comm;
	cfg->rank = params->rank;
	cfg->members = params->members;
	cfg->window = params->window;
	cfg->mtu = mtu;
	cfg->addr = u->local.addr;
	cfg->port = u->local.port;
	cfg->root = params->root.addr;
	cfg->root_port = params->root.port;
	memcpy(cfg->key, params->key, sizeof(cfg->key));
	cfg->rto_min = params->rto_min * CNR_USEC;
	cfg->dead_after = params->dead_after * CNR_MSEC;
	cfg->linger = params->linger * CNR_MSEC;
	cfg->given = params->table;
	cnr_config_algorithm(cfg, params->algorithm);
	cfg->believe = params->aggregates;
	for (i = 0; i < cfg->believe; i++)
		if (!cnr_prefix_set(&cfg->believed[i], &params->aggregate[i].addr,
				    params->aggregate[i].length))
			return lib_error(-EINVAL, "aggregates: number %u is no prefix", i);
	if (getrandom(cfg->seed, sizeof(cfg->seed), 0) != sizeof(cfg->seed))
		return lib_error(-EIO, "no random numbers");
	if (cnr_check(cfg, &what))
		return lib_error(-EINVAL, "%s: not usable", what);
	size = (cnr_size(cfg) + 63) & ~63UL;
	u->core = aligned_alloc(64, size);
	if (!u->core)
		return lib_error(-ENOMEM, "out of memory (%zu bytes)", size);
	memset(u->core, 0, size);
	u->core = cnr_init(u->core, cfg);
	u->state = cnr_state(u->core);
	return 0;
}

/* Does the path to another member take packets of the size that all members have agreed on? */
static int check_route(const struct user *u, const struct cnr_table *t)
{
	const u32 most = canary_addr_ip_header(&u->local.addr) + CANARY_UDP_HEADERS +
			 CANARY_PAYLOAD_MAX;
	struct canary_params routed = { .rank = 1 };
	int mtu;

	if (t->members == 1)
		return 0;
	routed.root = t->peer[u->cfg.rank ? 0 : 1];
	mtu = user_path_mtu(&routed, &u->local);
	if (mtu < 0)
		return mtu;
	return (u32)mtu >= min_t(u32, u->cfg.mtu, most) ? 0 : -EMSGSIZE;
}

static struct user *user_new(const struct canary_params *params)
{
	pthread_condattr_t attr;
	struct user *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->event = -1;
	u->publish.fd = -1;
	u->root = params->root;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&u->changed, &attr);
	pthread_condattr_destroy(&attr);
	return u;
}

/* Make an endpoint, or take that of the communicator whose port is to be shared. */
static int find_endpoint(struct user *u, const struct canary_params *params)
{
	struct user *with;
	int err;

	if (!params->share) {
		err = user_endpoint_open(params, &u->ep);
	} else {
		with = params->share->engine;
		u->ep = with->ep;
		err = lib_share_check(params, &u->ep->local);
	}
	if (!err)
		u->local = u->ep->local;
	return err;
}

static int user_open(const struct canary_params *params, void **engine)
{
	struct user *u = user_new(params);
	int err;

	if (!u)
		return lib_error(-ENOMEM, "out of memory");
	err = find_endpoint(u, params);
	if (err)
		goto free;
	err = start_core(u, params);
	if (err) {
		if (!params->share)
			user_endpoint_close(u->ep);
		goto free;
	}
	user_publish_open(&u->publish);
	err = user_endpoint_join(u->ep, u);
	if (err) {
		user_endpoint_leave(u->ep, u);
		lib_error(err, "user engine: %s", strerror(-err));
		goto free;
	}
	*engine = u;
	return 0;
free:
	free_user(u);
	return err;
}

static int user_form(void *engine, const struct cnr_table *t)
{
	struct user *u = engine;
	int err = 0;
	u64 now;

	/* The path is only checked if the own entry is right. cnr_form() reports a wrong one. */
	if (canary_peer_equal(&t->peer[u->cfg.rank], &u->local))
		err = check_route(u, t);
	if (err)
		return err;
	pthread_mutex_lock(&u->ep->lock);
	now = lib_now();
	if (u->state == CNR_NEW && user_member_exists(u->ep, u->cfg.comm, t->epoch))
		err = -EADDRINUSE;
	else
		err = cnr_form(u->core, now, t);
	if (!err)
		u->root = t->peer[0];
	user_settle(u, now);
	pthread_mutex_unlock(&u->ep->lock);
	return err;
}

static int user_connect(void *engine, u64 until)
{
	struct user *u = engine;
	enum canary_abort why;
	int err = 0;
	u64 now;

	pthread_mutex_lock(&u->ep->lock);
	now = lib_now();
	if (u->state == CNR_NEW)
		err = user_member_begin(u);
	if (!err && u->state != CNR_JOINING)
		err = cnr_connect(u->core, now);
	user_settle(u, now);
	while (!err && u->state == CNR_JOINING)
		err = user_wait(u, until, 0);
	if (u->state == CNR_FAILED)
		err = cnr_failure(u->core, &why);
	else if (u->refused)
		err = -EADDRINUSE;
	else if (u->state == CNR_CONNECTED && err != -EISCONN)
		err = 0;
	pthread_mutex_unlock(&u->ep->lock);
	return err;
}

/* Lists that the core reads as long as it has the operation. The vectors stay where they are. */
static int copy_lists(struct user_op *op, const struct lib_request *req)
{
	op->places = malloc((req->mores + 1) * sizeof(*op->places));
	op->more = malloc((req->mores + 1) * sizeof(*op->more));
	if (!op->places || !op->more)
		return -ENOMEM;
	memcpy(op->places, req->places, (req->mores + 1) * sizeof(*op->places));
	if (req->mores)
		memcpy(op->more, req->more, req->mores * sizeof(*op->more));
	return 0;
}

/* Fill in what @cop says of vectors beside the first one, which is in place. */
static int take_vectors(struct user *u, struct user_op *op, struct cnr_op *cop,
			const struct lib_request *req)
{
	int err;

	if (!req->addends)
		return 0;
	err = copy_lists(op, req);
	if (err)
		return err;
	cop->places = op->places;
	cop->more = op->more;
	/* This takes long, and needs no lock. */
	if (!req->count || cnr_gather(u->core, cop))
		cop->mores = 0;
	return 0;
}

/* Can the core read the contribution where it is? What it gathers, it gathers in its own copy. */
static bool may_stay(const struct lib_request *req)
{
	return req->lent && !req->addends && (uintptr_t)req->sendbuf % __alignof__(u64) == 0;
}

static int user_post(void *engine, struct lib_request *req)
{
	struct user *u = engine;
	struct cnr_op cop = {
		.elements = req->count,
		.op = req->op,
		.dtype = req->dtype,
		.how = req->how,
		.addends = req->addends,
		.mores = req->mores,
	};
	struct user_op *op;
	size_t memory;
	int err = 0;
	u64 now;

	pthread_mutex_lock(&u->ep->lock);
	/* The members agree on the length of blocks, and that decides on the memory. */
	if (cnr_state(u->core) < CNR_CONNECTED)
		err = -ENOTCONN;
	else if (!cnr_op_fits(u->core, &cop))
		err = -EMSGSIZE;
	memory = cnr_memory(u->core, &cop);
	pthread_mutex_unlock(&u->ep->lock);
	if (err)
		return err;
	op = user_op_new(u->ep, req->bytes, memory);
	if (!op)
		return -ENOMEM;
	if (may_stay(req))
		cop.source = req->sendbuf;
	else if (req->count)
		memcpy(op->data, req->sendbuf, req->bytes);
	cop.data = op->data;
	cop.target = req->recvbuf;
	cop.memory = op->memory;
	cop.cookie = (uintptr_t)op;
	err = take_vectors(u, op, &cop, req);
	if (err) {
		user_op_free(op);
		return err;
	}
	pthread_mutex_lock(&u->ep->lock);
	now = lib_now();
	err = cnr_post(u->core, now, &cop);
	if (err) {
		/*
		 * If the call failed, the member may have failed, too. Waiting threads have to hear
		 * of it.
		 */
		user_settle(u, now);
		pthread_mutex_unlock(&u->ep->lock);
		user_op_free(op);
		return err;
	}
	op->next = u->ops;
	op->link = &u->ops;
	if (op->next)
		op->next->link = &op->next;
	u->ops = op;
	req->engine = op;
	user_settle(u, now);
	pthread_mutex_unlock(&u->ep->lock);
	return 0;
}

static int user_reap(void *engine, struct lib_request *req, u64 until)
{
	struct user_op *op = req->engine;
	struct user *u = engine;
	int err = 0;

	pthread_mutex_lock(&u->ep->lock);
	while (!op->ended && !err)
		err = user_wait(u, until, req->bytes);
	if (!op->ended) {
		pthread_mutex_unlock(&u->ep->lock);
		return err;
	}
	pthread_mutex_unlock(&u->ep->lock);
	/* The core may still read the data, so the operation exists until both have released it. */
	req->error = op->error;
	req->attempts = op->attempts;
	req->method = op->method;
	if (!op->error && req->count && !op->in_target)
		memcpy(req->recvbuf, op->data, req->bytes);
	pthread_mutex_lock(&u->ep->lock);
	u->ended--;
	user_set_event(u);
	op->reaped = true;
	user_op_put(u, op);
	pthread_mutex_unlock(&u->ep->lock);
	return 0;
}

static int user_room(void *engine, u64 until)
{
	struct user *u = engine;
	enum canary_abort why;
	int err = 0;

	pthread_mutex_lock(&u->ep->lock);
	while (!err && u->state == CNR_CONNECTED && !cnr_can_post(u->core))
		err = user_wait(u, until, 0);
	if (u->state == CNR_FAILED)
		err = cnr_failure(u->core, &why);
	else if (u->state != CNR_CONNECTED)
		err = -ENOTCONN;
	pthread_mutex_unlock(&u->ep->lock);
	return err;
}

static unsigned int user_missing(void *engine, u16 *ranks, unsigned int max)
{
	struct user *u = engine;
	unsigned int n;

	pthread_mutex_lock(&u->ep->lock);
	n = cnr_missing(u->core, max ? ranks : NULL, max);
	pthread_mutex_unlock(&u->ep->lock);
	return n;
}

static unsigned int user_troubles(void *engine, struct cnr_trouble *list, unsigned int max)
{
	struct user *u = engine;
	unsigned int n;

	pthread_mutex_lock(&u->ep->lock);
	n = cnr_troubles(u->core, list, max);
	pthread_mutex_unlock(&u->ep->lock);
	return n;
}

static int user_failure(void *engine, u32 *why)
{
	enum canary_abort abort = CANARY_ABORT_NONE;
	struct user *u = engine;
	int err;

	pthread_mutex_lock(&u->ep->lock);
	err = cnr_failure(u->core, &abort);
	pthread_mutex_unlock(&u->ep->lock);
	*why = abort;
	return err;
}

static void user_info(void *engine, struct canary_info *info)
{
	struct user *u = engine;

	pthread_mutex_lock(&u->ep->lock);
	user_fill_info(u, info);
	pthread_mutex_unlock(&u->ep->lock);
}

static int user_stats(void *engine, struct canary_stat *stats, int max)
{
	struct user *u = engine;
	int n;

	pthread_mutex_lock(&u->ep->lock);
	n = user_fill_stats(u, stats, max);
	pthread_mutex_unlock(&u->ep->lock);
	return n;
}

static int user_poll_fd(void *engine)
{
	struct user *u = engine;
	int fd;

	pthread_mutex_lock(&u->ep->lock);
	if (u->event < 0) {
		u->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (u->event >= 0)
			user_polled(u->ep);
		user_set_event(u);
	}
	fd = u->event < 0 ? -errno : u->event;
	pthread_mutex_unlock(&u->ep->lock);
	return fd;
}

/*
 * The packets that the socket has not taken yet are the last ones of this member. Wait a moment for
 * it.
 */
static void say_goodbye(struct user *u)
{
	struct user_endpoint *ep = u->ep;
	struct pollfd pfd = { .fd = ep->sock, .events = POLLOUT };
	int i;

	for (i = 0; i < GOODBYE_TRIES && (ep->full || ep->retry); i++) {
		pthread_mutex_unlock(&ep->lock);
		poll(&pfd, 1, GOODBYE_MS);
		pthread_mutex_lock(&ep->lock);
		ep->turn = u;
		user_resume(ep, lib_now());
	}
}

static void user_close(void *engine)
{
	struct user *u = engine;
	u64 now, until;

	pthread_mutex_lock(&u->ep->lock);
	now = lib_now();
	until = now + u->cfg.linger + CLOSE_SLACK;
	cnr_close(u->core, now, u->state != CNR_CONNECTED || !u->cfg.linger);
	user_settle(u, now);
	while (u->state != CNR_CLOSED && u->state != CNR_FAILED)
		if (user_wait(u, until, 0))
			break;
	if (u->state == CNR_LINGERING) {
		now = lib_now();
		cnr_close(u->core, now, true);
		user_settle(u, now);
	}
	say_goodbye(u);
	pthread_mutex_unlock(&u->ep->lock);
	user_endpoint_leave(u->ep, u);
	free_user(u);
}

const struct lib_engine lib_engine_user = {
	.name = "user",
	.spin = SPIN,
	.open = user_open,
	.connect = user_connect,
	.form = user_form,
	.post = user_post,
	.reap = user_reap,
	.room = user_room,
	.missing = user_missing,
	.troubles = user_troubles,
	.failure = user_failure,
	.info = user_info,
	.stats = user_stats,
	.poll_fd = user_poll_fd,
	.close = user_close,
};
