// SPDX-License-Identifier: BSD-2-Clause
/*
 * Endpoints of the user engine: a UDP port, the thread that attends to it, and which of the members
 * that share it a packet is for.
 *
 * The rules are those of the module (docs/decisions/endpoints.md): a member that never shared its
 * port gets everything. Else packets are for who has their communicator and epoch, or without such
 * a one for who joined that communicator last, and one at a time joins.
 *
 * All members of an endpoint have one lock. They have one batch of packets going out as well, so
 * where the socket is full they take turns.
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
	return watch(ep, ep->sock);
}

static void endpoint_free(struct user_endpoint *ep)
{
	const int fds[] = { ep->sock, ep->epoll, ep->timer, ep->wake };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pthread_mutex_destroy(&ep->lock);
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
	ep->armed = CNR_NEVER;
	ep->local = params->bind;
	pthread_mutex_init(&ep->lock, NULL);
	user_out_init(&ep->out);
	user_in_init(&ep->in);
	ep->sock = user_socket_open(params, &ep->local);
	err = ep->sock < 0 ? ep->sock : 0;
	if (!err) {
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

static struct user **same_comm(struct user_endpoint *ep, u32 comm)
{
	return &ep->by_comm[comm * 0x9e3779b1U >> (32 - USER_LISTS_BITS)];
}

int user_endpoint_join(struct user_endpoint *ep, struct user *u)
{
	struct user **list = same_comm(ep, u->cfg.comm), **last;
	int err = 0;

	pthread_mutex_lock(&ep->lock);
	if (ep->first)
		ep->shared = true;
	for (last = &ep->first; *last; last = &(*last)->next)
		;
	*last = u;
	u->same = *list;
	*list = u;
	if (u->publish.fd >= 0)
		err = watch(ep, u->publish.fd);
	pthread_mutex_unlock(&ep->lock);
	return err;
}

/* A packet that is for no member is counted by the oldest one. */
static struct user *stray(struct user_endpoint *ep, enum canary_drop why)
{
	if (ep->first)
		cnr_stats(ep->first->core)->drop[why]++;
	return NULL;
}

static void unlink_member(struct user_endpoint *ep, struct user *u)
{
	struct user **p;

	for (p = &ep->first; *p != u; p = &(*p)->next)
		;
	*p = u->next;
	for (p = same_comm(ep, u->cfg.comm); *p != u; p = &(*p)->same)
		;
	*p = u->same;
	if (ep->turn == u)
		ep->turn = u->next;
}

void user_endpoint_leave(struct user_endpoint *ep, struct user *u)
{
	u64 *drop = cnr_stats(u->core)->drop;
	unsigned int i;
	bool last;

	pthread_mutex_lock(&ep->lock);
	unlink_member(ep, u);
	/* Its last words may still wait for the socket. */
	for (i = ep->out.first; i < ep->out.n; i++)
		if (ep->out.drop[i] == drop)
			ep->out.drop[i] = ep->lost;
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

static bool joins(const struct user *u)
{
	return u->began && !cnr_session(u->core) && u->state != CNR_FAILED &&
	       u->state != CNR_CLOSED;
}

int user_endpoint_begin(struct user *u)
{
	struct user_endpoint *ep = u->ep;
	const struct user *other;

	for (other = *same_comm(ep, u->cfg.comm); other; other = other->same)
		if (other != u && other->cfg.comm == u->cfg.comm && joins(other))
			return -EADDRINUSE;
	u->began = ++ep->begun;
	return 0;
}

void user_endpoint_know(struct user *u, u64 now)
{
	u32 epoch = cnr_session(u->core);
	const struct user *other;

	if (u->known || !epoch)
		return;
	u->known = true;
	for (other = *same_comm(u->ep, u->cfg.comm); other; other = other->same)
		if (other != u && other->cfg.comm == u->cfg.comm && other->known && !other->refused &&
		    cnr_session(other->core) == epoch)
			u->refused = true;
	if (u->refused)
		cnr_close(u->core, now, true);
}

struct user *user_endpoint_find(struct user_endpoint *ep, const struct canary_hdr *h, u32 len)
{
	struct user *u, *last = NULL;
	u32 comm, epoch;

	if (!ep->shared)
		return ep->first;
	if (len < offsetof(struct canary_hdr, block))
		return stray(ep, CANARY_DROP_SHORT);
	comm = be32_to_cpu(h->comm);
	epoch = be32_to_cpu(h->epoch);
	for (u = *same_comm(ep, comm); u; u = u->same) {
		if (u->cfg.comm != comm || !u->began)
			continue;
		if (epoch && cnr_session(u->core) == epoch && !u->refused)
			return u;
		if (!last || u->began > last->began)
			last = u;
	}
	return last ?: stray(ep, CANARY_DROP_COMM);
}
