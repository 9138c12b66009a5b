// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine: the protocol core over a UDP socket, driven by the calls of the application
 * and, for packets and timers, by a thread of its own, so that questions of others are answered
 * whatever the application does.
 *
 * Everything of the core happens under one lock. Vectors are copied on the way in and out: others
 * may ask for a result long after the application has taken it.
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "user.h"

#define ROUNDS		8			/* batches received before others have a turn */
#define RETRY_AFTER	CNR_MSEC		/* no buffers: again after this */
#define OVERDUE_AFTER	(100 * CNR_USEC)	/* a deadline that stays in the past */
#define GOODBYE_TRIES	10
#define GOODBYE_MS	20
#define CLOSE_SLACK	(500 * CNR_MSEC)	/* more patience than the core's linger */

/* An operation, held by the core until nobody can ask for it, and by the API until reaped */
struct user_op {
	struct user_op	*next, **link;
	u32		*data;
	u32		attempts;
	int		error;
	bool		ended;		/* the core is through with it */
	bool		released;	/* the core needs data no longer */
	bool		reaped;		/* the API neither */
};

struct user {
	pthread_mutex_t		lock;		/* all below but the descriptors */
	pthread_cond_t		changed;	/* state, operations ended or released */
	pthread_t		thread;
	struct cnr_comm		*core;
	enum cnr_state		state;
	bool			stop;
	struct user_op		*ops;
	unsigned int		ended;		/* operations that ended and were not reaped */
	int			event;		/* eventfd of canary_poll_fd(), or -1 */
	u64			armed;		/* when the timer fires */
	u64			retry;		/* when to send again after USER_LATER, or 0 */
	bool			full;		/* socket not writable: do not ask the core */

	int			sock, epoll, timer, wake;
	struct sockaddr_in	local, root;
	struct user_publish	publish;
	struct user_out		out;
	struct user_in		in;
	struct cnr_config	cfg;
};

static void op_put(struct user *u, struct user_op *op)
{
	if (!op->released || !op->reaped)
		return;
	*op->link = op->next;
	if (op->next)
		op->next->link = op->link;
	free(op->data);
	free(op);
}

static void set_event(struct user *u)
{
	u64 value = u->ended || u->state == CNR_FAILED;

	if (u->event < 0)
		return;
	if (value)
		value = write(u->event, &value, sizeof(value));
	else
		value = read(u->event, &value, sizeof(value));
}

static void watch_socket(struct user *u, bool writable)
{
	struct epoll_event ev = {
		.events = EPOLLIN | (writable ? EPOLLOUT : 0),
		.data.fd = u->sock,
	};

	if (writable != u->full)
		epoll_ctl(u->epoll, EPOLL_CTL_MOD, u->sock, &ev);
	u->full = writable;
}

/* Send what waits. Return: true if all is gone. */
static bool flush(struct user *u, u64 now)
{
	enum user_flush how = user_out_flush(&u->out, u->sock, cnr_stats(u->core)->drop);

	watch_socket(u, how == USER_FULL);
	u->retry = how == USER_LATER ? now + RETRY_AFTER : 0;
	return how == USER_SENT;
}

/* Take everything that the core has to give. */
static void pump(struct user *u, u64 now)
{
	struct user_op *op;
	struct cnr_done done;
	struct cnr_out out;
	bool changed = false;

	while (!u->full && !u->retry && (u->out.n < USER_BATCH || flush(u, now)) &&
	       cnr_poll(u->core, now, &out))
		user_out_add(&u->out, &out);
	while (cnr_completion(u->core, &done)) {
		op = (struct user_op *)(uintptr_t)done.cookie;
		op->ended = true;
		op->error = done.error;
		op->attempts = done.attempts;
		u->ended++;
		changed = true;
	}
	while (cnr_released(u->core, &done)) {
		op = (struct user_op *)(uintptr_t)done.cookie;
		op->released = true;
		op_put(u, op);
		changed = true;
	}
	if (cnr_state(u->core) != u->state) {
		u->state = cnr_state(u->core);
		changed = true;
	}
	if (changed) {
		set_event(u);
		pthread_cond_broadcast(&u->changed);
	}
}

/*
 * After a call or some packets: send, and see that the timer fires in time. It is only moved to
 * fire earlier: firing for nothing is cheaper than a system call a packet.
 */
static void settle(struct user *u, u64 now)
{
	struct itimerspec its = { 0 };
	u64 deadline;

	pump(u, now);
	if (!u->full && !u->retry && !flush(u, now))
		pump(u, now);
	deadline = cnr_deadline(u->core);
	if (deadline <= now)
		deadline = now + OVERDUE_AFTER;
	if (u->retry)
		deadline = min_t(u64, deadline, u->retry);
	if (deadline >= u->armed)
		return;
	u->armed = deadline;
	its.it_value = lib_timespec(deadline);
	timerfd_settime(u->timer, TFD_TIMER_ABSTIME, &its, NULL);
}

static void receive(struct user *u)
{
	struct cnr_in in = { 0 };
	int n, i, round;
	u64 now;

	for (round = 0; round < ROUNDS; round++) {
		n = user_in_receive(&u->in, u->sock);
		if (!n)
			return;
		pthread_mutex_lock(&u->lock);
		now = lib_now();
		for (i = 0; i < n; i++) {
			in.hdr = (const struct canary_hdr *)u->in.data[i];
			in.len = u->in.msg[i].msg_len;
			in.addr = u->in.addr[i].sin_addr.s_addr;
			in.port = u->in.addr[i].sin_port;
			cnr_input(u->core, now, &in);
			pump(u, now);
		}
		settle(u, now);
		pthread_mutex_unlock(&u->lock);
		if (n < USER_BATCH)
			return;
	}
}

static void timer(struct user *u)
{
	u64 expirations, now;

	if (read(u->timer, &expirations, sizeof(expirations)) < 0)
		return;
	/* What is overdue may be here already: we are late, not the packet. */
	receive(u);
	pthread_mutex_lock(&u->lock);
	now = lib_now();
	u->armed = CNR_NEVER;
	if (u->retry && now >= u->retry)
		flush(u, now);
	if (now >= cnr_deadline(u->core))
		cnr_timer(u->core, now);
	settle(u, now);
	pthread_mutex_unlock(&u->lock);
}

static void writable(struct user *u)
{
	u64 now;

	pthread_mutex_lock(&u->lock);
	now = lib_now();
	flush(u, now);
	settle(u, now);
	pthread_mutex_unlock(&u->lock);
}

static void fill_info(struct user *u, struct canary_info *info)
{
	static const u32 states[] = {
		[CNR_NEW] = CANARY_NEW,
		[CNR_JOINING] = CANARY_CONNECTING,
		[CNR_CONNECTED] = CANARY_CONNECTED,
		[CNR_LINGERING] = CANARY_CLOSED,
		[CNR_CLOSED] = CANARY_CLOSED,
		[CNR_FAILED] = CANARY_FAILED,
	};
	enum canary_abort why;
	struct cnr_info ci;

	cnr_info(u->core, &ci);
	info->state = states[cnr_state(u->core)];
	info->error = cnr_failure(u->core, &why);
	info->comm = ci.comm;
	info->epoch = ci.epoch;
	info->rank = ci.rank;
	info->members = ci.members;
	info->window = ci.window;
	info->elements = ci.elements;
	info->local = u->local;
	info->root = u->root;
	info->srtt = min_t(u64, ci.srtt / 1000, UINT32_MAX);
	info->algorithm = ci.algorithm;
	info->last = ci.last;
	info->why = ci.why;
}

static void publish(struct user *u)
{
	struct cnr_trouble trouble = { .kind = CNR_TROUBLE_NONE };
	struct canary_info info;
	struct cnr_stats stats;

	pthread_mutex_lock(&u->lock);
	fill_info(u, &info);
	stats = *cnr_stats(u->core);
	cnr_troubles(u->core, &trouble, 1);
	pthread_mutex_unlock(&u->lock);
	user_publish_answer(&u->publish, &info, &trouble, &stats);
}

static void *progress(void *arg)
{
	struct epoll_event ev[4];
	struct user *u = arg;
	bool stop = false;
	int i, n;

	while (!stop) {
		n = epoll_wait(u->epoll, ev, ARRAY_SIZE(ev), -1);
		for (i = 0; i < n; i++) {
			if (ev[i].data.fd == u->timer)
				timer(u);
			else if (ev[i].data.fd == u->publish.fd)
				publish(u);
			else if (ev[i].data.fd == u->wake)
				stop = true;
			if (ev[i].data.fd != u->sock)
				continue;
			if (ev[i].events & (EPOLLIN | EPOLLERR))
				receive(u);
			if (ev[i].events & EPOLLOUT)
				writable(u);
		}
	}
	return NULL;
}

static int watch(struct user *u, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 || epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_descriptors(struct user *u)
{
	int err;

	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (u->epoll < 0)
		return -errno;
	u->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(u, u->timer);
	if (err)
		return err;
	u->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = watch(u, u->wake);
	if (err)
		return err;
	err = watch(u, u->sock);
	if (err)
		return err;
	user_publish_open(&u->publish);
	if (u->publish.fd >= 0)
		err = watch(u, u->publish.fd);
	return err;
}

static void free_user(struct user *u)
{
	const int fds[] = { u->sock, u->epoll, u->timer, u->wake, u->event };
	struct user_op *op;
	u32 i;

	user_publish_close(&u->publish);
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	while (u->ops) {
		op = u->ops;
		u->ops = op->next;
		free(op->data);
		free(op);
	}
	pthread_cond_destroy(&u->changed);
	pthread_mutex_destroy(&u->lock);
	free(u->core);
	free(u);
}

static int start_core(struct user *u, const struct canary_params *params)
{
	struct cnr_config *cfg = &u->cfg;
	const char *what = "";
	size_t size;
	int mtu;

	mtu = user_path_mtu(params, &u->local);
	if (mtu < 0)
		return mtu;
	cfg->comm = params->comm;
	cfg->rank = params->rank;
	cfg->members = params->members;
	cfg->window = params->window;
	cfg->mtu = mtu;
	cfg->addr = u->local.sin_addr.s_addr;
	cfg->port = u->local.sin_port;
	cfg->root = params->root.sin_addr.s_addr;
	cfg->root_port = params->root.sin_port;
	memcpy(cfg->key, params->key, sizeof(cfg->key));
	cfg->rto_min = params->rto_min * CNR_USEC;
	cfg->dead_after = params->dead_after * CNR_MSEC;
	cfg->linger = params->linger * CNR_MSEC;
	cnr_config_algorithm(cfg, params->algorithm);
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

static int start_thread(struct user *u)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&u->thread, NULL, progress, u);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static int user_open(const struct canary_params *params, void **engine)
{
	pthread_condattr_t attr;
	struct user *u;
	int err;

	u = aligned_alloc(64, (sizeof(*u) + 63) & ~63UL);
	if (!u)
		return lib_error(-ENOMEM, "out of memory");
	memset(u, 0, sizeof(*u));
	u->epoll = -1;
	u->timer = -1;
	u->wake = -1;
	u->event = -1;
	u->publish.fd = -1;
	u->armed = CNR_NEVER;
	u->local = params->bind;
	u->root = params->root;
	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&u->changed, &attr);
	pthread_condattr_destroy(&attr);
	user_out_init(&u->out);
	user_in_init(&u->in);
	u->sock = user_socket_open(params, &u->local);
	err = u->sock < 0 ? u->sock : start_core(u, params);
	if (err)
		goto free;
	err = open_descriptors(u);
	if (!err)
		err = start_thread(u);
	if (err) {
		lib_error(err, "user engine: %s", strerror(-err));
		goto free;
	}
	*engine = u;
	return 0;
free:
	free_user(u);
	return err;
}

/* Wait for a change with the lock held. Return: 0 or -ETIMEDOUT. */
static int wait_change(struct user *u, u64 until)
{
	struct timespec ts = lib_timespec(until);

	return -pthread_cond_timedwait(&u->changed, &u->lock, &ts);
}

static int user_connect(void *engine, u64 until)
{
	struct user *u = engine;
	enum canary_abort why;
	int err = 0;
	u64 now;

	pthread_mutex_lock(&u->lock);
	now = lib_now();
	if (u->state != CNR_JOINING)
		err = cnr_connect(u->core, now);
	settle(u, now);
	while (!err && u->state == CNR_JOINING)
		err = wait_change(u, until);
	if (u->state == CNR_FAILED)
		err = cnr_failure(u->core, &why);
	else if (u->state == CNR_CONNECTED && err != -EISCONN)
		err = 0;
	pthread_mutex_unlock(&u->lock);
	return err;
}

static int user_post(void *engine, struct lib_request *req)
{
	size_t size = ((size_t)req->count * 4 + 63) & ~63UL;
	struct user *u = engine;
	struct cnr_op cop = {
		.elements = req->count,
		.op = req->op,
		.dtype = req->dtype,
	};
	struct user_op *op;
	u64 now;
	int err;

	op = calloc(1, sizeof(*op));
	if (op)
		op->data = aligned_alloc(64, max_t(size_t, size, 64));
	if (!op || !op->data) {
		free(op);
		return -ENOMEM;
	}
	if (req->count)
		memcpy(op->data, req->sendbuf, (size_t)req->count * 4);
	cop.data = op->data;
	cop.cookie = (uintptr_t)op;
	pthread_mutex_lock(&u->lock);
	now = lib_now();
	err = cnr_post(u->core, now, &cop);
	if (err) {
		pthread_mutex_unlock(&u->lock);
		free(op->data);
		free(op);
		return err;
	}
	op->next = u->ops;
	op->link = &u->ops;
	if (op->next)
		op->next->link = &op->next;
	u->ops = op;
	req->engine = op;
	settle(u, now);
	pthread_mutex_unlock(&u->lock);
	return 0;
}

static int user_reap(void *engine, struct lib_request *req, u64 until)
{
	struct user_op *op = req->engine;
	struct user *u = engine;
	int err = 0;

	pthread_mutex_lock(&u->lock);
	while (!op->ended && !err)
		err = wait_change(u, until);
	if (!op->ended) {
		pthread_mutex_unlock(&u->lock);
		return err;
	}
	pthread_mutex_unlock(&u->lock);
	/* the core only reads data now, and keeps it until we have, too */
	req->error = op->error;
	req->attempts = op->attempts;
	if (!op->error && req->count)
		memcpy(req->recvbuf, op->data, (size_t)req->count * 4);
	pthread_mutex_lock(&u->lock);
	u->ended--;
	set_event(u);
	op->reaped = true;
	op_put(u, op);
	pthread_mutex_unlock(&u->lock);
	return 0;
}

static int user_room(void *engine, u64 until)
{
	struct user *u = engine;
	enum canary_abort why;
	int err = 0;

	pthread_mutex_lock(&u->lock);
	while (!err && u->state == CNR_CONNECTED && !cnr_can_post(u->core))
		err = wait_change(u, until);
	if (u->state == CNR_FAILED)
		err = cnr_failure(u->core, &why);
	else if (u->state != CNR_CONNECTED)
		err = -ENOTCONN;
	pthread_mutex_unlock(&u->lock);
	return err;
}

static unsigned int user_missing(void *engine, u16 *ranks, unsigned int max)
{
	struct user *u = engine;
	unsigned int n;

	pthread_mutex_lock(&u->lock);
	n = cnr_missing(u->core, max ? ranks : NULL, max);
	pthread_mutex_unlock(&u->lock);
	return n;
}

static unsigned int user_troubles(void *engine, struct cnr_trouble *list, unsigned int max)
{
	struct user *u = engine;
	unsigned int n;

	pthread_mutex_lock(&u->lock);
	n = cnr_troubles(u->core, list, max);
	pthread_mutex_unlock(&u->lock);
	return n;
}

static int user_failure(void *engine, u32 *why)
{
	enum canary_abort abort = CANARY_ABORT_NONE;
	struct user *u = engine;
	int err;

	pthread_mutex_lock(&u->lock);
	err = cnr_failure(u->core, &abort);
	pthread_mutex_unlock(&u->lock);
	*why = abort;
	return err;
}

static void user_info(void *engine, struct canary_info *info)
{
	struct user *u = engine;

	pthread_mutex_lock(&u->lock);
	fill_info(u, info);
	pthread_mutex_unlock(&u->lock);
}

static int user_stats(void *engine, struct canary_stat *stats, int max)
{
	struct user *u = engine;
	struct cnr_stats *s;
	int i, n = 0;

	pthread_mutex_lock(&u->lock);
	s = cnr_stats(u->core);
	for (i = 0; i < CNR_COUNTER_COUNT; i++, n++)
		if (n < max)
			stats[n] = (struct canary_stat){ cnr_counter_name(i), s->counter[i], 0 };
	for (i = CANARY_DROP_NONE + 1; i < CANARY_DROPS; i++, n++)
		if (n < max)
			stats[n] = (struct canary_stat){ cnr_drop_name(i), s->drop[i], 1 };
	pthread_mutex_unlock(&u->lock);
	return n;
}

static int user_poll_fd(void *engine)
{
	struct user *u = engine;
	int fd;

	pthread_mutex_lock(&u->lock);
	if (u->event < 0) {
		u->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		set_event(u);
	}
	fd = u->event < 0 ? -errno : u->event;
	pthread_mutex_unlock(&u->lock);
	return fd;
}

/* What the socket has not taken so far are the last words: worth a moment. */
static void say_goodbye(struct user *u)
{
	struct pollfd pfd = { .fd = u->sock, .events = POLLOUT };
	int i;

	for (i = 0; i < GOODBYE_TRIES && (u->full || u->retry); i++) {
		poll(&pfd, 1, GOODBYE_MS);
		flush(u, lib_now());
		settle(u, lib_now());
	}
}

static void user_close(void *engine)
{
	struct user *u = engine;
	u64 now, until, one = 1;

	pthread_mutex_lock(&u->lock);
	now = lib_now();
	until = now + CNR_LINGER_LONGEST * u->cfg.linger + CLOSE_SLACK;
	cnr_close(u->core, now, u->state != CNR_CONNECTED || !u->cfg.linger);
	settle(u, now);
	while (u->state != CNR_CLOSED && u->state != CNR_FAILED)
		if (wait_change(u, until))
			break;
	if (u->state == CNR_LINGERING) {
		now = lib_now();
		cnr_close(u->core, now, true);
		settle(u, now);
	}
	pthread_mutex_unlock(&u->lock);
	while (write(u->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(u->thread, NULL);
	say_goodbye(u);
	free_user(u);
}

const struct lib_engine lib_engine_user = {
	.name = "user",
	.open = user_open,
	.connect = user_connect,
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
