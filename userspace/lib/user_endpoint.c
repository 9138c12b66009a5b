// SPDX-License-Identifier: BSD-2-Clause
/*
 * Endpoints of the user engine: a UDP port, its thread, and the members that share it, which come
 * and go.
 *
 * One lock protects all members of an endpoint. They share one batch of outgoing packets, so they
 * take turns when the socket is full.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "user.h"

static int watch(struct user_endpoint *ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 || epoll_ctl(ep->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_descriptors(struct user_endpoint *ep)
{
	int err;

	ep->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ep->epoll < 0)
		return -errno;
	ep->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(ep, ep->timer);
	if (err)
		return err;
	ep->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = watch(ep, ep->wake);
	if (err)
		return err;
	ep->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ep->nudge < 0)
		return -errno;
	ep->watched = EPOLLIN;
	return watch(ep, ep->sock);
}

static void endpoint_free(struct user_endpoint *ep)
{
	const int fds[] = { ep->sock, ep->epoll, ep->timer, ep->wake, ep->nudge };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pthread_mutex_destroy(&ep->lock);
	pthread_mutex_destroy(&ep->input);
	free(ep->in.data);
	user_buffers_empty(&ep->buffers);
	free(ep);
}

static int start_thread(struct user_endpoint *ep)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&ep->thread, NULL, user_progress, ep);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int user_endpoint_open(const struct canary_params *params, struct user_endpoint **endpoint)
{
	struct user_endpoint *ep;
	int err;

	ep = aligned_alloc(64, (sizeof(*ep) + 63) & ~63UL);
	if (!ep)
		return lib_error(-ENOMEM, "out of memory");
	memset(ep, 0, sizeof(*ep));
	ep->epoll = -1;
	ep->timer = -1;
	ep->wake = -1;
	ep->nudge = -1;
	ep->armed = CNR_NEVER;
	ep->due = CNR_NEVER;
	ep->credit = USER_CREDIT_TRY;
	ep->local = params->bind;
	pthread_mutex_init(&ep->lock, NULL);
	pthread_mutex_init(&ep->input, NULL);
	ep->sock = user_socket_open(params, &ep->local);
	err = ep->sock < 0 ? ep->sock : 0;
	if (!err) {
		user_out_init(&ep->out, ep->sock);
		err = user_in_init(&ep->in, ep->sock);
		if (!err)
			err = open_descriptors(ep);
		if (!err)
			err = start_thread(ep);
		if (err)
			lib_error(err, "user engine: %s", strerror(-err));
	}
	if (err)
		endpoint_free(ep);
	else
		*endpoint = ep;
	return err;
}

int user_endpoint_join(struct user_endpoint *ep, struct user *u)
{
	int err = 0;

	pthread_mutex_lock(&ep->lock);
	user_member_add(ep, u);
	if (u->publish.fd >= 0)
		err = watch(ep, u->publish.fd);
	pthread_mutex_unlock(&ep->lock);
	return err;
}

void user_endpoint_leave(struct user_endpoint *ep, struct user *u)
{
	u64 *drop = cnr_stats(u->core)->drop;
	bool last;

	pthread_mutex_lock(&ep->lock);
	user_member_remove(ep, u);
	/* The last packets of the member may still wait for the socket. */
	user_out_disown(&ep->out, drop, ep->lost);
	if (u->event >= 0)
		ep->polled--;
	if (u->publish.fd >= 0)
		epoll_ctl(ep->epoll, EPOLL_CTL_DEL, u->publish.fd, NULL);
	last = !ep->first;
	pthread_mutex_unlock(&ep->lock);
	if (last)
		user_endpoint_close(ep);
}

void user_endpoint_close(struct user_endpoint *ep)
{
	u64 one = 1;

	while (write(ep->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(ep->thread, NULL);
	endpoint_free(ep);
}
