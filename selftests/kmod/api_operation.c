// SPDX-License-Identifier: GPL-2.0
/* Operations: send, receive, wait for both, within the limits of the buffers */
#include "harness.h"

static const struct {
	const char *what;
	size_t len;
	int flags, want;
} send_table[] = {
	{ "send: no multiple of 4 is EINVAL",		6, 0, EINVAL },
	{ "send: above CANARY_MAX_VECTOR is EMSGSIZE",	8192, 0, EMSGSIZE },
	{ "send: MSG_OOB is EOPNOTSUPP",		4, MSG_OOB, EOPNOTSUPP },
	{ "send: MSG_MORE is EOPNOTSUPP",		4, MSG_MORE, EOPNOTSUPP },
};

static const struct {
	const char *what;
	struct canary_operation op;
	int level, type, len;
	bool twice;
	int want;
} operation_table[] = {
	{ "sendmsg: operator 0 is EOPNOTSUPP",	{ 0, CANARY_INT32, 0, 0, 0 }, 0, 0, 0, false, EOPNOTSUPP },
	{ "sendmsg: operator 99 is EOPNOTSUPP",	{ 99, CANARY_INT32, 0, 0, 0 }, 0, 0, 0, false, EOPNOTSUPP },
	{ "sendmsg: type 99 is EOPNOTSUPP",	{ CANARY_OP_SUM, 99, 0, 0, 0 }, 0, 0, 0, false, EOPNOTSUPP },
	{ "sendmsg: flags are EINVAL",		{ CANARY_OP_SUM, CANARY_INT32, 1, 0, 0 }, 0, 0, 0, false, EINVAL },
	{ "sendmsg: root 1 is EINVAL",		{ CANARY_OP_SUM, CANARY_INT32, 0, 1, 0 }, 0, 0, 0, false, EINVAL },
	{ "sendmsg: unknown control message is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 77, 0, false, EINVAL },
	{ "sendmsg: short control message is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 0, 8, false, EINVAL },
	{ "sendmsg: control message twice is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 0, 0, true, EINVAL },
};

TEST_F(ranks, send_errors)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	uint32_t data[2048] = { 0 };
	unsigned int i;
	int x = self->x;

	set_u32(x, CANARY_MAX_VECTOR, 4096);
	for (i = 0; i < ARRAY_SIZE(send_table); i++)
		ok_errno(send_table[i].what, send(x, data, send_table[i].len, send_table[i].flags),
			 send_table[i].want);
	for (i = 0; i < ARRAY_SIZE(operation_table); i++)
		ok_errno(operation_table[i].what,
			 send_operation(x, data, 4, &operation_table[i].op,
					operation_table[i].type, operation_table[i].len,
					operation_table[i].twice), operation_table[i].want);
	ok_errno("sendto: with an address is EISCONN",
		 sendto(x, data, 4, 0, (struct sockaddr *)&a, sizeof(a)), EISCONN);
	ok_errno("send: bad pointer is EFAULT", send(x, BAD_POINTER, 400, 0), EFAULT);
	ok("send: nothing of that was posted", outq(x) == 0 && operations(x) == 0);
	ok_errno("recv: nothing posted, MSG_DONTWAIT is EAGAIN", recv(x, data, 4, MSG_DONTWAIT),
		 EAGAIN);
	ok_errno("recv: MSG_OOB is EOPNOTSUPP", recv(x, data, 4, MSG_OOB), EOPNOTSUPP);
	ok_errno("recv: MSG_ERRQUEUE is EOPNOTSUPP", recv(x, data, 4, MSG_ERRQUEUE), EOPNOTSUPP);
}

TEST_F(ranks, sum)
{
	uint32_t data[1000], got[1001];
	unsigned int i;
	int x = self->x, y = self->y, inq = -1;

	for (i = 0; i < 1000; i++)
		data[i] = 0x7fffff00 + i;
	ok("sum: send", send(x, data, sizeof(data), 0) == sizeof(data));
	ok("sum: other rank", send(y, data, sizeof(data), 0) == sizeof(data));
	ok("sum: poll says IN and OUT", wait_events(x, POLLIN) == (POLLIN | POLLOUT));
	ok("sum: SIOCINQ", !ioctl(x, SIOCINQ, &inq) && inq == sizeof(data));
	memset(got, 0, sizeof(got));
	ok("sum: MSG_PEEK", recv(x, got, 8, MSG_PEEK) == 8 && got[1] == 2 * data[1]);
	ok("sum: recv, longer buffer", recv(x, got, sizeof(got), 0) == sizeof(data));
	for (i = 0; i < 1000 && got[i] == 2 * data[i]; i++)
		;
	ok("sum: every element, wrapping", i == 1000);
	ok("sum: no IN any more", !(events(x, 0) & POLLIN));
	ok("sum: other rank receives the same",
	   recv(y, data, sizeof(data), 0) == sizeof(data) && !memcmp(data, got, sizeof(data)));
}

/* splice() from a pipe is refused. */
TEST_F(ranks, splice)
{
	uint32_t page[1024] = { 0 };
	int pipes[2], before = outq(self->x);

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(sizeof(page), write(pipes[1], page, sizeof(page)));
	ok("splice: is refused", splice(pipes[0], NULL, self->x, NULL, sizeof(page), 0) < 0);
	ok("splice: nothing was posted", outq(self->x) <= before);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(ranks, recv_forms)
{
	struct canary_operation op = { .op = CANARY_OP_SUM, .dtype = CANARY_INT32, .tag = 0x1234567890 };
	struct canary_completion c;
	uint32_t data[4] = { 1, 2, 3, 4 };
	int x = self->x, y = self->y, flags;

	ASSERT_TRUE(send_both(x, y, data, 16));
	ok("recv: short buffer gets the beginning and MSG_TRUNC",
	   recv_completion(x, data, 8, &c, sizeof(c), &flags) == 8 && flags & MSG_TRUNC &&
	   c.bytes == 16 && c.seq == 0);
	recv(y, data, 16, 0);
	ASSERT_TRUE(send_both(x, y, data, 16));
	ok("recv: MSG_TRUNC returns the real length", recv(x, data, 4, MSG_TRUNC) == 16);
	recv(y, data, 16, 0);
	ok("recv: the rest is lost", recv(x, data, 4, MSG_DONTWAIT) < 0 && errno == EAGAIN);

	send_operation(x, data, 16, &op, 0, 0, false);
	op.tag = 5;
	send_operation(y, data, 16, &op, 0, 0, false);
	ok("recvmsg: completion", recv_completion(x, data, 16, &c, sizeof(c), &flags) == 16 &&
	   !(flags & (MSG_CTRUNC | MSG_TRUNC)) && c.tag == 0x1234567890 && c.bytes == 16 &&
	   !c.error && c.seq == 2);
	ok("recvmsg: too little room for it is MSG_CTRUNC",
	   recv_completion(y, data, 16, &c, 4, &flags) == 16 && flags & MSG_CTRUNC);
	ASSERT_TRUE(send_both(x, y, data, 16));
	wait_events(x, POLLIN);
	ok_errno("recv: bad pointer is EFAULT", recv(x, BAD_POINTER, 16, 0), EFAULT);
	ok("recv: then the result is still there", recv(x, data, 16, MSG_DONTWAIT) == 16);
	recv(y, data, 16, 0);
	ok("barrier: send of nothing", send(x, data, 0, 0) == 0);
	ok_errno("barrier: not before the other rank", recv(x, data, 4, MSG_DONTWAIT), EAGAIN);
	ok("barrier: other rank", send(y, data, 0, 0) == 0 && recv(y, data, 16, 0) == 0);
	ok("barrier: recv is 0", recv(x, data, 16, 0) == 0);
}

TEST_F(sock, alone)
{
	struct sockaddr_canary a = address("127.0.0.1", 0);
	int fd = self->fd;
	uint32_t data[3] = { 7, 8, 9 };

	ASSERT_EQ(0, set_comm(fd, 9, 0, 1));
	ok_errno("one member: connect, default port", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 0);
	ok("one member: send and recv", send(fd, data, 12, 0) == 12 && recv(fd, data, 12, 0) == 12 &&
	   data[0] == 7 && data[2] == 9);
	ok("one member: barrier", send(fd, data, 0, 0) == 0 && recv(fd, data, 12, 0) == 0);
}

TEST_F(ranks, waiting)
{
	struct child peer;
	uint32_t x0 = 5;
	int x = self->x, y = self->y;
	double t;

	timeout(x, SO_RCVTIMEO, 100);
	t = now();
	ok_errno("recv: SO_RCVTIMEO over is EAGAIN", recv(x, &x0, 4, 0), EAGAIN);
	ok("recv: SO_RCVTIMEO is kept", now() - t > 0.09);
	timeout(x, SO_RCVTIMEO, PATIENCE);
	on_alarm_in(50, false);
	ok_errno("recv: a signal is EINTR, with SO_RCVTIMEO", recv(x, &x0, 4, 0), EINTR);
	timeout(x, SO_RCVTIMEO, 0);
	ok_errno("recv: a signal is EINTR", recv(x, &x0, 4, 0), EINTR);
	on_alarm_in(0, false);
	send(x, &x0, 4, 0);
	ok_errno("recv: posted, the other rank not, is EAGAIN", recv(x, &x0, 4, MSG_DONTWAIT),
		 EAGAIN);
	on_alarm_in(50, true);
	start_post(&peer, y, 4, 200);
	ok("recv: restarted after a signal with SA_RESTART", recv(x, &x0, 4, 0) == 4);
	ok("recv: the other rank too", end_peer(&peer));
	on_alarm_in(0, false);
}

TEST_F(ranks, budget)
{
	static uint32_t data[16384];
	int x = self->x, y = self->y, room = 100000;
	struct child peer;
	double t;

	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	ASSERT_EQ(0, set_u32(x, CANARY_MAX_VECTOR, 65536));
	ok("budget: first send", send(x, data, 65536, MSG_DONTWAIT) == 65536);
	ok("budget: SIOCOUTQ", outq(x) >= 65536);
	ok("budget: second send", send(x, data, 65536, MSG_DONTWAIT) == 65536);
	ok("budget: poll says not OUT", !(events(x, 0) & POLLOUT));
	ok_errno("budget: third send is EAGAIN", send(x, data, 65536, MSG_DONTWAIT), EAGAIN);
	timeout(x, SO_SNDTIMEO, 100);
	t = now();
	ok_errno("budget: SO_SNDTIMEO over is EAGAIN", send(x, data, 65536, 0), EAGAIN);
	ok("budget: SO_SNDTIMEO is kept", now() - t > 0.09);
	timeout(x, SO_SNDTIMEO, 0);
	on_alarm_in(50, false);
	ok_errno("budget: a signal is EINTR", send(x, data, 65536, 0), EINTR);
	on_alarm_in(0, false);
	/* The vectors are freed when they are received here and the other rank has the results. */
	start_post(&peer, y, 65536, 0);
	ok("budget: results received", recv(x, data, 65536, 0) == 65536);
	ok("budget: the other rank too", end_peer(&peer));
	ok("budget: blocked sender goes on", send(x, data, 65536, 0) == 65536);
}

/* Number of operations that a socket may hold */
TEST_F(ranks, budget_operations)
{
	int x = self->x, y = self->y, i, n;
	uint32_t data[1] = { 0 };

	for (n = 0; n < 200; n++)
		if (send(x, data, 4, MSG_DONTWAIT) != 4)
			break;
	ok("budget: 64 operations at most", n == 64 && errno == EAGAIN);
	ok("budget: then poll says not OUT", !(events(x, 0) & POLLOUT));
	for (i = 0; i < n; i++)
		send(y, data, 4, 0);
	for (i = 0; i < n; i++)
		if (recv(x, data, 4, 0) != 4 || recv(y, data, 4, 0) != 4)
			break;
	ok("budget: all of them come back", i == n);
	ok("budget: poll says OUT again", wait_events(x, POLLOUT) & POLLOUT);
}

TEST_F(ranks, epoll)
{
	int ep = epoll_create1(0), x = self->x, y = self->y, i;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	uint32_t v = 1;

	epoll_ctl(ep, EPOLL_CTL_ADD, x, &ev);
	ok("epoll: nothing yet", epoll_wait(ep, &ev, 1, 0) == 0);
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(send_both(x, y, &v, 4));
		if (epoll_wait(ep, &ev, 1, 5000) != 1 || !(ev.events & EPOLLIN))
			break;
		recv(y, &v, 4, 0);
		if (i < 2)
			recv(x, &v, 4, 0);
	}
	ok("epoll: edge-triggered, an event for each completion", i == 3);
	ok("epoll: closed socket leaves", !close(x) && epoll_wait(ep, &ev, 1, 0) == 0);
	close(y);
	close(ep);
}

TEST_HARNESS_MAIN
