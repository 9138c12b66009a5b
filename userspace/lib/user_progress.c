// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine's thread: packets, timers and questions of other processes are attended to
 * whatever the application does. Which of them needs attention is epoll's business; all that
 * touches the core happens under the engine's lock.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "user.h"

#define ROUNDS		8			/* batches received before others have a turn */
#define RETRY_AFTER	(CNR_MSEC / 4)		/* a queue is full: again after this */
#define ROOM_MOST	(16 << 20)		/* bytes: as much as the socket has anyway */
#define OVERDUE_AFTER	(100 * CNR_USEC)	/* a deadline that stays in the past */

void user_op_free(struct user_op *op)
{
	free(op->data);
	free(op->memory);
	free(op);
}

void user_op_put(struct user *u, struct user_op *op)
{
	if (!op->released || !op->reaped)
		return;
	*op->link = op->next;
	if (op->next)
		op->next->link = op->link;
	user_op_free(op);
}

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

/* Less at once, more by and by: that takes a system call. */
static void set_room(struct user *u, u64 now)
{
	u32 room = min_t(u32, cnr_host_room(u->core, now), ROOM_MOST);

	if (!u->room && room == ROOM_MOST)
		return;
	if (u->room && room >= u->room && room - u->room <= u->room / 8)
		return;
	user_out_room(u->sock, room);
	u->room = room == ROOM_MOST ? 0 : room;
}

/* Send what waits. Return: true if all is gone. */
bool user_flush(struct user *u, u64 now)
{
	enum user_flush how;

	set_room(u, now);
	how = user_out_flush(&u->out, u->sock, cnr_stats(u->core)->drop);
	if (how == USER_LATER) {
		cnr_host_refused(u->core, now, user_out_waiting(u->sock));
		set_room(u, now);
	}
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

	while (!u->full && !u->retry && (u->out.n < USER_BATCH || user_flush(u, now)) &&
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
		user_op_put(u, op);
		changed = true;
	}
	if (cnr_state(u->core) != u->state) {
		u->state = cnr_state(u->core);
		changed = true;
	}
	if (changed) {
		user_set_event(u);
		pthread_cond_broadcast(&u->changed);
	}
}

/*
 * After a call or some packets: send, and see that the timer fires in time. It is only moved to
 * fire earlier: firing for nothing is cheaper than a system call a packet.
 */
void user_settle(struct user *u, u64 now)
{
	struct itimerspec its = { 0 };
	u64 deadline;

	pump(u, now);
	if (!u->full && !u->retry && !user_flush(u, now))
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
		user_settle(u, now);
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
		user_flush(u, now);
	if (now >= cnr_deadline(u->core))
		cnr_timer(u->core, now);
	user_settle(u, now);
	pthread_mutex_unlock(&u->lock);
}

static void writable(struct user *u)
{
	u64 now;

	pthread_mutex_lock(&u->lock);
	now = lib_now();
	user_flush(u, now);
	user_settle(u, now);
	pthread_mutex_unlock(&u->lock);
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
	info->last = ci.last;
	info->why = ci.why;
}

static void publish(struct user *u)
{
	struct cnr_trouble trouble = { .kind = CNR_TROUBLE_NONE };
	struct canary_info info;
	struct cnr_stats stats;

	pthread_mutex_lock(&u->lock);
	user_fill_info(u, &info);
	stats = *cnr_stats(u->core);
	cnr_troubles(u->core, &trouble, 1);
	pthread_mutex_unlock(&u->lock);
	user_publish_answer(&u->publish, &info, &trouble, &stats);
}

void *user_progress(void *arg)
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
			if (ev[i].events & EPOLLERR)
				user_in_forget_errors(&u->in, u->sock);
			if (ev[i].events & (EPOLLIN | EPOLLERR))
				receive(u);
			if (ev[i].events & EPOLLOUT)
				writable(u);
		}
	}
	return NULL;
}
