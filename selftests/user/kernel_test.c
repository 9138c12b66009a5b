// SPDX-License-Identifier: BSD-2-Clause
/*
 * The library with its kernel engine. This program plays the kernel: one of another release, or one
 * that refuses.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/canary.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod/core/platform.h"
#include "selftests/tap.h"

#define STATS_MAX	256
#define SHORT		64	/* largest vector in bytes */

static int fake = -1;		/* the only socket of AF_CANARY */
static int fake_stats;		/* number of counters of the kernel */
static int fake_connect;	/* errno of connect(), or 0 */
static int forced;		/* number of calls with SO_SNDBUFFORCE */

int socket(int family, int type, int protocol)
{
	if (family != AF_CANARY)
		return syscall(SYS_socket, family, type, protocol);
	fake = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fake;
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return fd == fake ? 0 : syscall(SYS_bind, fd, addr, len);
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (fd != fake)
		return syscall(SYS_connect, fd, addr, len);
	errno = fake_connect;
	return fake_connect ? -1 : 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (fd != fake)
		return syscall(SYS_setsockopt, fd, level, name, value, len);
	forced += level == SOL_SOCKET && name == SO_SNDBUFFORCE;
	if (level != SOL_CANARY || name != CANARY_MAX_VECTOR)
		return 0;
	errno = EINVAL;
	return -1;
}

/* Return all counters, cut to the length that is asked for. */
static int get_stats(void *value, socklen_t *len)
{
	uint64_t stats[STATS_MAX];
	int i;

	for (i = 0; i < fake_stats; i++)
		stats[i] = i;
	if (*len > fake_stats * sizeof(*stats))
		*len = fake_stats * sizeof(*stats);
	memcpy(value, stats, *len);
	return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct canary_status status = { .state = CANARY_ST_CONNECTED };

	if (fd != fake)
		return syscall(SYS_getsockopt, fd, level, name, value, len);
	if (level == SOL_CANARY && name == CANARY_STATS)
		return get_stats(value, len);
	if (level == SOL_CANARY && name == CANARY_STATUS) {
		memcpy(value, &status, *len < sizeof(status) ? *len : sizeof(status));
		return 0;
	}
	*len = 0;
	return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (fd != fake)
		return syscall(SYS_sendmsg, fd, msg, flags);
	if (msg->msg_iov[0].iov_len <= SHORT)
		return msg->msg_iov[0].iov_len;
	errno = EMSGSIZE;
	return -1;
}

static struct canary *open_kernel(void)
{
	struct canary_params p;
	struct canary *c = NULL;

	canary_params_init(&p);
	p.engine = CANARY_ENGINE_KERNEL;
	p.root.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
	if (canary_open(&p, &c))
		printf("# open: %s\n", canary_errmsg());
	return c;
}

/* Another number of counters means another release, which has them at other positions. */
static void test_stats(struct canary *c)
{
	struct canary_stat stats[STATS_MAX];
	int n = 0, known = 0;

	for (fake_stats = 0; fake_stats < STATS_MAX && !known; fake_stats++) {
		n = canary_stats(c, stats, STATS_MAX);
		if (n >= 0)
			known = fake_stats;
	}
	tap(known && n == known - 1 && !stats[0].value && stats[n - 1].value == (uint64_t)known - 1,
	    "counters: as many as this release has, %d", known);
	fake_stats = known + 1;
	n = canary_stats(c, stats, STATS_MAX);
	tap(n == -EPROTO, "counters: one more is refused: %d, %s", n, canary_errmsg());
}

static void test_large(struct canary *c)
{
	static int32_t data[SHORT];
	int err = canary_allreduce(c, data, data, SHORT, CANARY_INT32, CANARY_OP_SUM);

	tap(err == -EMSGSIZE && !forced,
	    "a vector that the kernel cannot take does not raise SO_SNDBUF: %d, %d times", err,
	    forced);
}

static void test_users(struct canary *c)
{
	fake_connect = EUSERS;
	tap(canary_connect(c, 0) == -EUSERS && strstr(canary_errmsg(), "members_max"),
	    "too many members: %s", canary_errmsg());
	fake_connect = 0;
}

int main(void)
{
	struct canary *c = open_kernel();

	if (tap(c, "the kernel engine opens")) {
		test_users(c);
		tap(!canary_connect(c, 0), "it connects");
		test_stats(c);
		test_large(c);
	}
	canary_close(c);
	return tap_done("user/kernel");
}
