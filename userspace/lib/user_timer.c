// SPDX-License-Identifier: BSD-2-Clause
/*
 * Timers of the user engine: when somebody looks at the deadlines of an endpoint's members.
 *
 * user_endpoint.due is never later than any deadline that is not over yet. Who looks then depends:
 * - While a thread of the application waits (user_endpoint.waiter), it does. Another thread that
 *   finds an earlier deadline nudges it.
 * - While the endpoint's thread watches for packets, it does. A timer wakes it.
 * - Soon after a thread has waited, nobody does. Nobody looks at packets then, either. The timer
 *   wakes the endpoint's thread at user_endpoint.back_at, BACK_AFTER later (user_wait.c).
 *
 * The timer is only set to an earlier time: an expiry in vain is cheaper than a system call for
 * each packet.
 */
#include <sys/timerfd.h>
#include <unistd.h>
#include "user.h"

#define OVERDUE_AFTER	(100 * CNR_USEC)	/* wait if a deadline is over */

void user_nudge(struct user_endpoint *ep)
{
	u64 one = 1;

	if (!pthread_equal(ep->waiting, pthread_self()))
		one = write(ep->nudge, &one, sizeof(one));
}

void user_set_timer(struct user_endpoint *ep)
{
	u64 when = ep->away ? ep->back_at : ep->due;
	struct itimerspec its = { 0 };

	/* Packets that wait here may be all that others wait for. */
	if (ep->retry)
		when = min_t(u64, when, ep->retry);
	if (ep->waiter || when >= ep->armed)
		return;
	ep->armed = when;
	its.it_value = lib_timespec(when);
	timerfd_settime(ep->timer, TFD_TIMER_ABSTIME, &its, NULL);
}

void user_arm(struct user_endpoint *ep, u64 deadline, u64 now)
{
	if (deadline <= now)
		deadline = now + OVERDUE_AFTER;
	if (ep->retry)
		deadline = min_t(u64, deadline, ep->retry);
	if (deadline < ep->due) {
		ep->due = deadline;
		if (ep->waiter)
			user_nudge(ep);
	}
	/* Whenever that is due, packets may have been refused just now. */
	user_set_timer(ep);
}
