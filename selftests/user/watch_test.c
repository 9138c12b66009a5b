// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine where the kernel refuses to watch its socket, as it has no memory or the user has
 * too many watches (ENOSPC). Sums go on, also when the socket is full at that moment. This program
 * has an epoll_ctl() and a sendmmsg() of its own in front of the kernel.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod/core/platform.h"
#include "selftests/tap.h"
#include "own_net.h"

#define ROOT		(CANARY_PORT_BASE + 9)
#define WAIT_MS		60000
#define SUMS		20
#define COUNT		20000

static bool refuses;		/* additions to epoll sets */
static unsigned int refused;
static bool full;		/* the next packet finds a full socket */
static unsigned int was_full;

int epoll_ctl(int epoll, int how, int fd, struct epoll_event *event)
{
	if (__atomic_load_n(&refuses, __ATOMIC_RELAXED) && how == EPOLL_CTL_ADD) {
		__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_epoll_ctl, epoll, how, fd, event);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	if (__atomic_exchange_n(&full, false, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&was_full, 1, __ATOMIC_RELAXED);
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_sendmmsg, fd, messages, n, flags);
}

static int open_rank(uint32_t rank, struct canary **c)
{
	struct canary_params p;

	canary_params_init(&p);
	p.engine = CANARY_ENGINE_USER;
	p.comm = 7;
	p.rank = rank;
	p.members = 2;
	p.root.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
	p.root.port = htons(ROOT);
	return canary_open(&p, c);
}

static int connect_both(struct canary *near, struct canary *far)
{
	int err = canary_connect(near, 0);

	if (err == -ETIMEDOUT)
		err = canary_connect(far, WAIT_MS);
	if (!err)
		err = canary_connect(near, WAIT_MS);
	return err == -EISCONN ? 0 : err;
}

/* Return: what is wrong with a sum of both ranks; the far one only waits when the near one has ended */
static int sum(struct canary *near, struct canary *far, bool when_full)
{
	static int32_t a[COUNT], b[COUNT];
	uint64_t one, two;
	int i, wrong = 0;

	for (i = 0; i < COUNT; i++) {
		a[i] = i;
		b[i] = 3;
	}
	/* The threads of both engines watch again, or would like to. */
	usleep(3000);
	__atomic_store_n(&full, when_full, __ATOMIC_RELAXED);
	wrong += !!canary_post(far, b, b, COUNT, CANARY_INT32, CANARY_OP_SUM, &two);
	wrong += !!canary_post(near, a, a, COUNT, CANARY_INT32, CANARY_OP_SUM, &one);
	wrong += !!canary_wait(near, one, WAIT_MS);
	wrong += !!canary_wait(far, two, WAIT_MS);
	for (i = 0; i < COUNT; i++)
		wrong += a[i] != i + 3 || b[i] != a[i];
	return wrong;
}

static void test_sums(struct canary *near, struct canary *far)
{
	int i, wrong = 0;

	for (i = 0; i < SUMS; i++)
		wrong += sum(near, far, false);
	tap(!wrong, "sums where the socket cannot be watched");
	for (i = 0; i < SUMS && !wrong; i++)
		wrong += sum(near, far, true);
	tap(!wrong, "the same where it is full, too");
	tap(refused > SUMS, "watches were refused: %u", refused);
	tap(was_full == SUMS, "the socket was full: %u of %d", was_full, SUMS);
	__atomic_store_n(&refuses, false, __ATOMIC_RELAXED);
	usleep(10000);
	i = __atomic_load_n(&refused, __ATOMIC_RELAXED);
	tap(!sum(near, far, true) && (int)refused == i, "it is watched again when that is possible");
}

int main(void)
{
	struct canary *near, *far;

	if (!own_net()) {
		tap_skip("everything", "needs a network namespace");
		return tap_done("user/watch");
	}
	if (open_rank(0, &near) || open_rank(1, &far) || connect_both(near, far)) {
		tap(false, "two ranks connect: %s", canary_errmsg());
		return tap_done("user/watch");
	}
	__atomic_store_n(&refuses, true, __ATOMIC_RELAXED);
	test_sums(near, far);
	canary_close(far);
	canary_close(near);
	return tap_done("user/watch");
}
