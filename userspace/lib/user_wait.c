// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads of the application that wait. One of them at a time handles packets in place of the
 * endpoint's thread: a packet then wakes one thread, not two after each other. Timers stay with the
 * endpoint's thread. It watches for packets again BACK_AFTER the last thread has waited, as the
 * next one may begin to wait soon. Where a member has a descriptor to poll, it watches at once:
 * nobody knows who sleeps there.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "user.h"

#define BACK_AFTER	CNR_MSEC

static int sleep_until(struct user *u, u64 until)
{
	struct timespec ts = lib_timespec(until);
	int err;

	u->sleepers++;
	err = pthread_cond_timedwait(&u->changed, &u->ep->lock, &ts);
	u->sleepers--;
	return err == ETIMEDOUT ? -ETIMEDOUT : 0;
}

/* Wait for packets, or until the endpoint's thread has something. No lock is held. */
static void watch(struct user_endpoint *ep, u64 now, u64 until)
{
	struct pollfd fds[] = {
		{ .fd = ep->sock, .events = POLLIN },
		{ .fd = ep->nudge, .events = POLLIN },
	};
	struct timespec ts = lib_timespec(until - now);
	u64 value;

	if (ppoll(fds, ARRAY_SIZE(fds), until == CNR_NEVER ? NULL : &ts, NULL) <= 0)
		return;
	if (fds[1].revents)
		value = read(ep->nudge, &value, sizeof(value));
	if (fds[0].revents & POLLERR)
		user_forget_errors(ep);
	if (fds[0].revents)
		user_receive(ep);
}

/* Does another thread wait, which needs somebody to handle packets? */
static bool others_wait(const struct user_endpoint *ep)
{
	const struct user *u;

	for (u = ep->first; u; u = u->next)
		if (u->sleepers)
			return true;
	return false;
}

void user_polled(struct user_endpoint *ep)
{
	ep->polled++;
	if (!ep->waiter)
		user_watch(ep, false);
}

int user_wait(struct user *u, u64 until)
{
	struct user_endpoint *ep = u->ep;
	const u64 changes = u->changes;
	u64 now;

	if (ep->waiter)
		return sleep_until(u, until);
	ep->waiter = u;
	ep->waiting = pthread_self();
	/* Who only looks, and can poll, is about to do so. */
	if (!ep->polled || lib_now() < until)
		user_watch(ep, true);
	do {
		pthread_mutex_unlock(&ep->lock);
		/* Usually the packet is there by now, or the caller only looks. */
		user_receive(ep);
		pthread_mutex_lock(&ep->lock);
		now = lib_now();
		if (u->changes != changes || now >= until)
			break;
		pthread_mutex_unlock(&ep->lock);
		watch(ep, now, until);
		pthread_mutex_lock(&ep->lock);
	} while (u->changes == changes);
	ep->waiter = NULL;
	now = lib_now();
	if (ep->polled || others_wait(ep))
		user_watch(ep, false);
	else
		user_back_at(ep, now + BACK_AFTER, now);
	return u->changes != changes ? 0 : -ETIMEDOUT;
}
