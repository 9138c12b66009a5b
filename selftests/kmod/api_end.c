// SPDX-License-Identifier: GPL-2.0
/* How it ends: shutdown, ranks that leave, die or disagree, engines that linger. */
#include "api.h"

static void test_shutdown(void)
{
	uint32_t v = 3;
	int x, y;

	pair(&x, &y);
	ok_errno("shutdown: how 3 is EINVAL", shutdown(x, 3), EINVAL);
	send(x, &v, 4, 0);
	ok_errno("shutdown: SHUT_WR", shutdown(x, SHUT_WR), 0);
	ok_errno("shutdown: send is EPIPE", send(x, &v, 4, MSG_NOSIGNAL), EPIPE);
	ok("shutdown: without SIGPIPE", pipes == 0);
	ok_errno("shutdown: send again is EPIPE", send(x, &v, 4, 0), EPIPE);
	ok("shutdown: with SIGPIPE", pipes == 1);
	ok_errno("shutdown: what was posted is waited for", recv(x, &v, 4, MSG_DONTWAIT), EAGAIN);
	ok("shutdown: and can be completed by others", send(y, &v, 4, 0) == 4 &&
	   recv(x, &v, 4, 0) == 4 && v == 6);
	ok("shutdown: then recv is 0", recv(x, &v, 4, 0) == 0);
	ok("shutdown: poll says IN, RDHUP and OUT",
	   events(x, POLLRDHUP) == (POLLIN | POLLRDHUP | POLLOUT));
	recv(y, &v, 4, 0);
	ok_errno("shutdown: SHUT_RD", shutdown(y, SHUT_RD), 0);
	ok("shutdown: recv is 0 at once", recv(y, &v, 4, 0) == 0);
	ok("shutdown: send goes on", send(y, &v, 4, 0) == 4);
	ok_errno("shutdown: SHUT_RDWR", shutdown(x, SHUT_RDWR), 0);
	ok("shutdown: poll says HUP", events(x, 0) & POLLHUP);
	unpair(x, y);
}

static void test_left(void)
{
	uint32_t v[2] = { 3, 4 };
	uint16_t ranks[4];
	socklen_t len = sizeof(ranks);
	struct canary_status st;
	int x, y, err = 0;

	pair(&x, &y);
	send(x, v, 4, 0);
	send(x, v, 8, 0);
	close(y);
	ok("left: poll says ERR and HUP",
	   (wait_events(x, POLLERR) & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	st = status(x);
	ok("left: CANARY_STATUS: failed, ECONNRESET, one rank, why",
	   st.state == CANARY_ST_FAILED && st.error == ECONNRESET && st.missing == 1 &&
	   st.reason == 2);
	ok("left: CANARY_RANKS names it", !getsockopt(x, SOL_CANARY, CANARY_RANKS, ranks, &len) &&
	   len == 2 && ranks[0] == 1);
	ok_errno("left: recv of the first operation is ECONNRESET", recv(x, v, 8, 0), ECONNRESET);
	ok_errno("left: of the second, too", recv(x, v, 8, 0), ECONNRESET);
	ok_errno("left: and ever after", recv(x, v, 8, 0), ECONNRESET);
	pipes = 0;
	ok_errno("left: first send is ECONNRESET", send(x, v, 4, 0), ECONNRESET);
	ok("left: that is no SIGPIPE", pipes == 0);
	ok_errno("left: then EPIPE", send(x, v, 4, 0), EPIPE);
	ok("left: with SIGPIPE", pipes == 1);
	len = sizeof(err);
	ok("left: SO_ERROR was taken by send", !getsockopt(x, SOL_SOCKET, SO_ERROR, &err, &len) &&
	   err == 0);
	ok("left: connect is EISCONN", connect_to(x, 22620) == EISCONN);
	close(x);
	drain_ports();
}

static void test_mismatch(void)
{
	uint32_t v[2] = { 3, 4 };
	int x, y, err = 0;
	socklen_t len = sizeof(err);

	pair(&x, &y);
	send(x, v, 4, 0);
	send(y, v, 8, 0);
	ok_errno("mismatch: recv is EPROTO", recv(x, v, 4, 0), EPROTO);
	ok_errno("mismatch: at the other rank, too", recv(y, v, 8, 0), EPROTO);
	ok("mismatch: SO_ERROR", !getsockopt(x, SOL_SOCKET, SO_ERROR, &err, &len) && err == EPROTO);
	ok("mismatch: CANARY_STATUS says why", status(x).reason == 3);
	unpair(x, y);
}

static void test_dead(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket(), y = new_socket();
	uint16_t rank = 99;
	socklen_t len = sizeof(rank);
	uint32_t v = 1;
	double t;

	set_comm(x, 11, 0, 2);
	set_comm(y, 11, 1, 2);
	set_u32(x, CANARY_DEAD_AFTER, 500);
	set_u32(y, CANARY_DEAD_AFTER, 500);
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	connect(y, (struct sockaddr *)&a, sizeof(a));
	wait_events(x, POLLOUT);
	nonblock(x, false);
	send_both(x, y, &v, 4);
	ok("dead: before", recv(x, &v, 4, 0) == 4 && recv(y, &v, 4, 0) == 4);
	loopback(false);
	send(x, &v, 4, 0);
	t = now();
	ok_errno("dead: recv is EHOSTDOWN", recv(x, &v, 4, 0), EHOSTDOWN);
	t = now() - t;
	ok("dead: after CANARY_DEAD_AFTER", t > 0.4 && t < 20);
	ok("dead: CANARY_RANKS names it", !getsockopt(x, SOL_CANARY, CANARY_RANKS, &rank, &len) &&
	   len == 2 && rank == 1);
	ok("dead: CANARY_STATUS says why", status(x).reason == 1);
	loopback(true);
	close(y);
	close(x);
}

static void test_close(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	uint32_t v = 1;
	int x, y;

	x = new_socket();
	ok("close: new", !close(x));
	x = new_socket();
	bind(x, (struct sockaddr *)&a, sizeof(a));
	ok("close: bound", !close(x));
	x = new_socket();
	set_comm(x, 3, 0, 2);
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	ok("close: joining", !close(x));
	drain_ports();
	pair(&x, &y);
	ok("close: connected", !close(x) && !close(y));
	pair(&x, &y);
	send_both(x, y, &v, 4);
	wait_events(x, POLLIN);
	ok("close: with a result not received", !close(x) && recv(y, &v, 4, 0) == 4);
	close(y);
	pair(&x, &y);
	send(x, &v, 4, 0);
	ok("close: with an operation under way", !close(x));
	wait_events(y, POLLHUP);
	close(y);
	drain_ports();
	ok("close: nothing is left in /proc/net/canary", proc_lines() == 0);
	ok("close: no memory is left", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

/* A rank whose result is still needed goes: the engine serves it from the grave. */
static void test_linger(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket(), y = new_socket();
	uint32_t v = 1;

	set_comm(x, 12, 0, 2);
	set_comm(y, 12, 1, 2);
	set_u32(x, CANARY_LINGER, 2000);
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	connect(y, (struct sockaddr *)&a, sizeof(a));
	wait_events(x, POLLOUT);
	send_both(x, y, &v, 4);
	wait_events(x, POLLIN);
	close(x);
	ok("linger: other rank gets the result", recv(y, &v, 4, 0) == 4 && v == 2);
	close(y);
	drain_ports();
	ok("linger: ends", proc_lines() == 0);
}

static void test_proc(void)
{
	unsigned long ino;
	int x, y;

	pair(&x, &y);
	ino = inode(x);
	ok("/proc/net/canary: a line with the inode, state, address", proc_has(ino, "connected"));
	ok("/proc/net/canary_stats: sockets", proc_value("sockets") == 2);
	ok("/proc/net/canary_stats: memory of the engines", proc_value("core-bytes") > 0);
	unpair(x, y);
}

const struct api_test end_tests[] = {
	{ "shutdown", test_shutdown },
	{ "left", test_left },
	{ "mismatch", test_mismatch },
	{ "dead", test_dead },
	{ "close", test_close },
	{ "linger", test_linger },
	{ "proc", test_proc },
	{ NULL }
};
