// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads of the application that wait. One of them at a time handles packets in place of the
 * endpoint's thread, and looks at deadlines: a packet then wakes one thread, not two after each other.
 * The endpoint's thread watches for packets again BACK_AFTER the last thread has waited, as the
 * next one may begin to wait soon. Where a member has a descriptor to poll, it watches at once:
 * nobody knows who sleeps there.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>
#include "user.h"

#define BACK_AFTER	CNR_MSEC

/* A sum of fewer bytes has ended before others have had their turns. */
#define LEND_BYTES	(128 << 10)
/*
 * Whoever takes a processor for longer computes, most likely. Such a turn costs so much credit, and
 * a shorter one gives 1. Without credit the processor is not lent for some time, and then for a
 * try.
 */
#define LENT_LONG	CNR_MSEC
#define LONG_COSTS	2
#define CREDIT_MOST	16
#define KEPT_FOR	CNR_SEC

static int sleep_until(struct user *u, u64 until)
{
	struct timespec ts = lib_timespec(until);
	int err;

	u->sleepers++;
	err = pthread_cond_timedwait(&u->changed, &u->ep->lock, &ts);
	u->sleepers--;
	return err == ETIMEDOUT ? -ETIMEDOUT : 0;
}

/*
 * Who else wants this processor is often a member whose packets we wait for. After its turn many
 * packets are here at once, and longer trains leave. If it was somebody who computes, packets have
 * waited: who sleeps gets a processor sooner than who has given it away. A thread with
 * SCHED_DEADLINE even gives up the rest of its period.
 */
static void lend(struct user_endpoint *ep)
{
	u64 now = lib_now(), back;

	if (now < ep->keep_until)
		return;
	sched_yield();
	back = lib_now();
	if (back - now <= LENT_LONG) {
		ep->credit = min_t(int, ep->credit + 1, CREDIT_MOST);
		return;
	}
	ep->credit -= LONG_COSTS;
	if (ep->credit > 0)
		return;
	ep->credit = USER_CREDIT_TRY;
	ep->keep_until = back + KEPT_FOR;
}

/* Wait for packets, until another thread has something, or until a time. No lock is held. */
static void watch(struct user_endpoint *ep, u64 until, bool lends)
{
	struct pollfd fds[] = {
		{ .fd = ep->sock, .events = POLLIN },
		{ .fd = ep->nudge, .events = POLLIN },
	};
	struct timespec ts;
	u64 value, now;

	if (lends)
		lend(ep);
	now = lib_now();
	ts = lib_timespec(until > now ? until - now : 0);
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

int user_wait(struct user *u, u64 until, size_t bytes)
{
	struct user_endpoint *ep = u->ep;
	const u64 changes = u->changes;
	u64 now, wake;
	bool lends;

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
		if (now >= ep->due)
			user_timers(ep, now);
		if (u->changes != changes || now >= until)
			break;
		/* Nobody else receives for them. */
		lends = bytes >= LEND_BYTES && !others_wait(ep);
		wake = min_t(u64, until, ep->due);
		pthread_mutex_unlock(&ep->lock);
		watch(ep, wake, lends);
		pthread_mutex_lock(&ep->lock);
	} while (u->changes == changes);
	ep->waiter = NULL;
	ep->back_at = lib_now() + BACK_AFTER;
	user_watch(ep, !ep->polled && !others_wait(ep));
	return u->changes != changes ? 0 : -ETIMEDOUT;
}
