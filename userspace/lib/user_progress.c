// SPDX-License-Identifier: BSD-2-Clause
/*
 * The thread of the user engine. It handles packets, deadlines and questions of other processes,
 * whatever the application does. epoll tells which of them needs attention. The thread holds the
 * endpoint's lock whenever it touches a core. While a thread of the application waits, that one
 * handles packets (user_wait.c).
 */
#include <sys/epoll.h>
#include <unistd.h>
#include "core/driver.h"
#include "user.h"

#define ROUNDS		8			/* batches to receive before others have a turn */
#define RETRY_AFTER	(CNR_MSEC / 4)		/* pause after a queue was full */
#define ROOM_MOST	(16 << 20)		/* bytes: as large as the socket's buffer ever is */
#define WATCH_AGAIN	CNR_MSEC		/* until the next try to watch the socket */

void user_set_event(struct user *u)
{
	u64 value = u->ended || u->state == CNR_FAILED;

	if (u->event < 0)
		return;
	if (value)
		value = write(u->event, &value, sizeof(value));
	else
		value = read(u->event, &value, sizeof(value));
}

/* Return: events of the socket that the thread has to watch for */
static u32 wanted_events(const struct user_endpoint *ep)
{
	return (ep->away ? 0 : EPOLLIN) | (ep->full ? EPOLLOUT : 0);
}

/*
 * Make the thread watch the socket for what it has to. A descriptor that is watched for nothing is
 * not left in the set: the kernel would look at it for each packet that leaves or comes.
 */
static void watch_socket(struct user_endpoint *ep)
{
	struct epoll_event ev = {
		.events = wanted_events(ep),
		.data.fd = ep->sock,
	};
	int how = !ev.events ? EPOLL_CTL_DEL : ep->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	u64 now;

	if (ev.events == ep->watched)
		return;
	if (!epoll_ctl(ep->epoll, how, ep->sock, &ev)) {
		ep->watched = ev.events;
		return;
	}
	/* No memory, or the user has too many watches. The timer does its work, and tries again. */
	now = lib_now();
	user_arm(ep, now + WATCH_AGAIN, now);
}

void user_watch(struct user_endpoint *ep, bool away)
{
	ep->away = away;
	watch_socket(ep);
	user_set_timer(ep);
}

/*
 * Limit what the socket may queue. A smaller limit takes effect at once. Larger ones are set in
 * steps, as each takes a system call. The host's queue sees one sender, so the member with the
 * smallest limit decides for all.
 */
static void set_room(struct user_endpoint *ep, u64 now)
{
	u32 room = ROOM_MOST;
	struct user *u;

	for (u = ep->first; u; u = u->next)
		room = min_t(u32, cnr_host_room(u->core, now), room);
	if (!ep->room && room == ROOM_MOST)
		return;
	if (ep->room && room >= ep->room && room - ep->room <= ep->room / 8)
		return;
	user_out_room(ep->sock, room);
	ep->room = room == ROOM_MOST ? 0 : room;
	ep->out.limited = ep->room;
}

/* Tell the member whose packet was not taken. It may have left meanwhile. */
static void refused(struct user_endpoint *ep, u64 now)
{
	const u64 *drop = user_out_refused(&ep->out);
	struct user *u;

	for (u = ep->first; u; u = u->next)
		if (cnr_stats(u->core)->drop == drop)
			cnr_host_refused(u->core, now, user_out_waiting(ep->sock));
	set_room(ep, now);
}

/* Send what waits. Return: true if all is sent. */
static bool flush(struct user_endpoint *ep, u64 now)
{
	enum user_flush how;

	if (ep->room)
		set_room(ep, now);
	how = user_out_flush(&ep->out, ep->sock);
	if (how == USER_LATER)
		refused(ep, now);
	ep->full = how == USER_FULL;
	watch_socket(ep);
	ep->retry = how == USER_LATER ? now + RETRY_AFTER : 0;
	return how == USER_SENT;
}

static bool blocked(const struct user_endpoint *ep)
{
	return ep->full || ep->retry;
}

/* Context of the driver functions that the core calls while it is polled */
struct user_pump {
	struct user *u;
	u64 now;
	bool changed;	/* waiting threads have to look */
};

static bool pump_room(void *driver)
{
	struct user_pump *pump = driver;
	struct user_endpoint *ep = pump->u->ep;

	return !blocked(ep) && (ep->out.n < USER_BATCH || flush(ep, pump->now));
}

static void pump_send(void *driver, const struct cnr_out *out)
{
	struct user_pump *pump = driver;

	user_out_add(&pump->u->ep->out, out, cnr_stats(pump->u->core)->drop);
}

static void pump_completed(void *driver, const struct cnr_done *done)
{
	struct user_op *op = (struct user_op *)(uintptr_t)done->cookie;
	struct user_pump *pump = driver;

	op->ended = true;
	op->error = done->error;
	op->attempts = done->attempts;
	op->method = done->method;
	op->in_target = done->in_target;
	pump->u->ended++;
	pump->changed = true;
}

static void pump_released(void *driver, const struct cnr_done *done)
{
	struct user_op *op = (struct user_op *)(uintptr_t)done->cookie;
	struct user_pump *pump = driver;

	op->released = true;
	user_op_put(pump->u, op);
	pump->changed = true;
}

static const struct cnr_driver user_driver = {
	.room = pump_room, .send = pump_send, .completed = pump_completed, .released = pump_released,
};

/* Tell all threads that wait for this member. One of them may watch the socket. */
static void tell(struct user *u)
{
	struct user_endpoint *ep = u->ep;

	u->changes++;
	user_set_event(u);
	if (u->sleepers)
		pthread_cond_broadcast(&u->changed);
	if (ep->waiter == u)
		user_nudge(ep);
}

/* Take everything that the core wants to give. */
static void pump(struct user *u, u64 now)
{
	struct user_pump self = { .u = u, .now = now };

	cnr_drive(u->core, now, &user_driver, &self);
	if (cnr_state(u->core) != u->state) {
		u->state = cnr_state(u->core);
		self.changed = true;
	}
	if (self.changed)
		tell(u);
}

/*
 * Called after a call of the core or some packets: send, and make sure that somebody looks in
 * time.
 */
void user_settle(struct user *u, u64 now)
{
	user_member_know(u, now);
	pump(u, now);
	if (!blocked(u->ep) && !flush(u->ep, now))
		pump(u, now);
	user_arm(u->ep, cnr_deadline(u->core), now);
}

/* When there was no room left, the next member in turn comes first the next time. */
void user_resume(struct user_endpoint *ep, u64 now)
{
	struct user *u = ep->turn ?: ep->first, *begin = u;

	flush(ep, now);
	ep->turn = NULL;
	while (u) {
		user_settle(u, now);
		if (blocked(ep)) {
			ep->turn = u;
			return;
		}
		u = u->next ?: ep->first;
		if (u == begin)
			return;
	}
}

/*
 * Give each packet of some messages to its member. Its core is driven after each one. Otherwise
 * several blocks end before the first of their results is sent, and a result tells of an earlier
 * one that comes after it.
 */
static void take(struct user_endpoint *ep)
{
	struct user *touched = NULL, *u;
	struct cnr_in in = { 0 };
	u64 now = lib_now();

	while (user_in_next(&ep->in, &in)) {
		u = user_member_find(ep, in.hdr, in.len);
		if (!u)
			continue;
		cnr_input(u->core, now, &in);
		if (!u->known)
			user_member_know(u, now);
		if (!u->touched) {
			u->also = touched;
			touched = u;
			u->touched = true;
		}
		pump(u, now);
	}
	for (u = touched; u; u = u->also) {
		u->touched = false;
		user_settle(u, now);
	}
}

void user_receive(struct user_endpoint *ep)
{
	int n = USER_MESSAGES, round;

	pthread_mutex_lock(&ep->input);
	for (round = 0; round < ROUNDS && n == USER_MESSAGES; round++) {
		n = user_in_receive(&ep->in, ep->sock);
		if (!n)
			break;
		pthread_mutex_lock(&ep->lock);
		take(ep);
		pthread_mutex_unlock(&ep->lock);
	}
	pthread_mutex_unlock(&ep->input);
}

void user_forget_errors(struct user_endpoint *ep)
{
	pthread_mutex_lock(&ep->input);
	user_in_forget_errors(&ep->in, ep->sock);
	pthread_mutex_unlock(&ep->input);
}

static bool any_due(const struct user_endpoint *ep, u64 now)
{
	const struct user *u;

	for (u = ep->first; u; u = u->next)
		if (now >= cnr_deadline(u->core))
			return true;
	return false;
}

void user_timers(struct user_endpoint *ep, u64 now)
{
	u64 first = CNR_NEVER;
	struct user *u;

	ep->due = CNR_NEVER;
	watch_socket(ep);
	if ((ep->retry && now >= ep->retry) || (ep->full && !(ep->watched & EPOLLOUT)))
		user_resume(ep, now);
	for (u = ep->first; u; u = u->next) {
		if (now >= cnr_deadline(u->core)) {
			cnr_timer(u->core, now);
			user_settle(u, now);
		}
		first = min_t(u64, first, cnr_deadline(u->core));
	}
	user_arm(ep, first, now);
}

/* The timer has fired. A thread that waits looks at deadlines itself. */
static void timer(struct user_endpoint *ep)
{
	u64 expirations, now;

	if (read(ep->timer, &expirations, sizeof(expirations)) < 0)
		return;
	pthread_mutex_lock(&ep->lock);
	if (!ep->waiter && (any_due(ep, lib_now()) || wanted_events(ep) & ~ep->watched)) {
		/* The thread may be late, and what a timer waits for already here. */
		pthread_mutex_unlock(&ep->lock);
		user_receive(ep);
		pthread_mutex_lock(&ep->lock);
	}
	ep->armed = CNR_NEVER;
	now = lib_now();
	if (!ep->waiter) {
		if (now >= ep->back_at)
			ep->away = false;
		user_timers(ep, now);
	}
	pthread_mutex_unlock(&ep->lock);
}

static void writable(struct user_endpoint *ep)
{
	pthread_mutex_lock(&ep->lock);
	user_resume(ep, lib_now());
	pthread_mutex_unlock(&ep->lock);
}

void user_fill_info(struct user *u, struct canary_info *info)
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
	info->number = ci.number;
	info->last = ci.last;
	info->why = ci.why;
}

int user_fill_stats(struct user *u, struct canary_stat *stats, int max)
{
	static const char *const names[] = {
#define X(name, text) text,
		USER_COUNTERS(X)
#undef X
	};
	const struct user_endpoint *ep = u->ep;
	const struct cnr_stats *s = cnr_stats(u->core);
	int i, n = 0;

	for (i = 0; i < CNR_COUNTER_COUNT; i++, n++)
		if (n < max)
			stats[n] = (struct canary_stat){ cnr_counter_name(i), s->counter[i], 0 };
	for (i = 0; i < USER_COUNTER_COUNT; i++, n++)
		if (n < max)
			stats[n] = (struct canary_stat){ names[i],
				ep->out.counter[i] + ep->in.counter[i], 0 };
	for (i = CANARY_DROP_NONE + 1; i < CANARY_DROPS; i++, n++)
		if (n < max)
			stats[n] = (struct canary_stat){ cnr_drop_name(i), s->drop[i], 1 };
	return n;
}

/* Answer who looks at the member that listens at @fd, unless it has just left. */
static void publish(struct user_endpoint *ep, int fd)
{
	struct cnr_trouble trouble = { .kind = CNR_TROUBLE_NONE };
	struct canary_stat stats[USER_STATS];
	struct canary_info info;
	struct cnr_info core;
	struct user *u;
	int n;

	pthread_mutex_lock(&ep->lock);
	for (u = ep->first; u && u->publish.fd != fd; u = u->next)
		;
	if (u) {
		user_fill_info(u, &info);
		cnr_info(u->core, &core);
		cnr_troubles(u->core, &trouble, 1);
		n = user_fill_stats(u, stats, USER_STATS);
		user_publish_answer(&u->publish, &info, &core, &trouble, stats, n);
	}
	pthread_mutex_unlock(&ep->lock);
}

void *user_progress(void *arg)
{
	struct user_endpoint *ep = arg;
	struct epoll_event ev[4];
	bool stop = false;
	int i, n;

	while (!stop) {
		n = epoll_wait(ep->epoll, ev, ARRAY_SIZE(ev), -1);
		for (i = 0; i < n; i++) {
			if (ev[i].data.fd == ep->timer)
				timer(ep);
			else if (ev[i].data.fd == ep->wake)
				stop = true;
			else if (ev[i].data.fd != ep->sock)
				publish(ep, ev[i].data.fd);
			if (ev[i].data.fd != ep->sock)
				continue;
			if (ev[i].events & EPOLLERR)
				user_forget_errors(ep);
			if (ev[i].events & (EPOLLIN | EPOLLERR))
				user_receive(ep);
			if (ev[i].events & EPOLLOUT)
				writable(ep);
		}
	}
	return NULL;
}
