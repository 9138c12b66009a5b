// SPDX-License-Identifier: GPL-2.0
/* How communicators end: shutdown, ranks that leave, die or disagree, engines that linger */
#include <sys/mount.h>
#include "harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define COUNT_SLEEPS	TRACING "events/kprobes/canary_sleep/enable"
#define PAIRS		30
#define LEAST_SNDBUF	4608	/* the kernel's minimum */

static uint32_t packet[CANARY_ELEMENTS_MAX];

TEST_F(ranks, shutdown)
{
	uint32_t v = 3;
	int x = self->x, y = self->y;

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
}

TEST_F(ranks, left)
{
	uint32_t v[2] = { 3, 4 };
	uint16_t ranks[4];
	socklen_t len = sizeof(ranks);
	struct canary_status st;
	int x = self->x, y = self->y, err = 0;

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

TEST_F(ranks, mismatch)
{
	uint32_t v[2] = { 3, 4 };
	int x = self->x, y = self->y, err = 0;
	socklen_t len = sizeof(err);

	send(x, v, 4, 0);
	send(y, v, 8, 0);
	ok_errno("mismatch: recv is EPROTO", recv(x, v, 4, 0), EPROTO);
	ok_errno("mismatch: at the other rank, too", recv(y, v, 8, 0), EPROTO);
	ok("mismatch: SO_ERROR", !getsockopt(x, SOL_SOCKET, SO_ERROR, &err, &len) && err == EPROTO);
	ok("mismatch: CANARY_STATUS says why", status(x).reason == 3);
}

TEST_F(net, dead)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket(), y = new_socket();
	uint16_t rank = 99;
	socklen_t len = sizeof(rank);
	uint32_t v = 1;
	double t;

	ASSERT_EQ(0, set_comm(x, 11, 0, 2));
	ASSERT_EQ(0, set_comm(y, 11, 1, 2));
	set_u32(x, CANARY_DEAD_AFTER, 500);
	set_u32(y, CANARY_DEAD_AFTER, 500);
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	connect(y, (struct sockaddr *)&a, sizeof(a));
	wait_events(x, POLLOUT);
	nonblock(x, false);
	ASSERT_TRUE(send_both(x, y, &v, 4));
	ok("dead: before", recv(x, &v, 4, 0) == 4 && recv(y, &v, 4, 0) == 4);
	ASSERT_TRUE(loopback(false));
	send(x, &v, 4, 0);
	t = now();
	ok_errno("dead: recv is EHOSTDOWN", recv(x, &v, 4, 0), EHOSTDOWN);
	t = now() - t;
	ok("dead: after CANARY_DEAD_AFTER", t > 0.4 && t < 20);
	ok("dead: CANARY_RANKS names it", !getsockopt(x, SOL_CANARY, CANARY_RANKS, &rank, &len) &&
	   len == 2 && rank == 1);
	ok("dead: CANARY_STATUS says why", status(x).reason == 1);
	ASSERT_TRUE(loopback(true));
	close(y);
	close(x);
}

TEST_F(net, close)
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
	ASSERT_EQ(0, set_comm(x, 3, 0, 2));
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	ok("close: joining", !close(x));
	drain_ports();
	ASSERT_TRUE(pair(&x, &y));
	ok("close: connected", !close(x) && !close(y));
	ASSERT_TRUE(pair(&x, &y));
	ASSERT_TRUE(send_both(x, y, &v, 4));
	wait_events(x, POLLIN);
	ok("close: with a result not received", !close(x) && recv(y, &v, 4, 0) == 4);
	close(y);
	ASSERT_TRUE(pair(&x, &y));
	send(x, &v, 4, 0);
	ok("close: with an operation under way", !close(x));
	wait_events(y, POLLHUP);
	close(y);
	drain_ports();
	ok("close: nothing is left in /proc/net/canary", proc_lines() == 0);
	ok("close: no memory is left", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

/* A rank closes although its result is still needed. The engine serves it after that. */
TEST_F(net, linger)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket(), y = new_socket();
	uint32_t v = 1;

	ASSERT_EQ(0, set_comm(x, 12, 0, 2));
	ASSERT_EQ(0, set_comm(y, 12, 1, 2));
	set_u32(x, CANARY_LINGER, 2000);
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	connect(y, (struct sockaddr *)&a, sizeof(a));
	wait_events(x, POLLOUT);
	ASSERT_TRUE(send_both(x, y, &v, 4));
	wait_events(x, POLLIN);
	close(x);
	ok("linger: other rank gets the result", recv(y, &v, 4, 0) == 4 && v == 2);
	close(y);
	drain_ports();
	ok("linger: ends", proc_lines() == 0);
}

/* Count how often something in the kernel sleeps for room. Return: can it be counted here? */
static bool count_sleeps(bool on)
{
	int fd;

	if (on)
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	else
		set_value(COUNT_SLEEPS, 0);
	fd = open(TRACING "kprobe_events", O_WRONLY | O_APPEND);
	if (fd < 0 || dprintf(fd, "%s\n", on ? "p:canary_sleep usleep_range_state" :
						"-:canary_sleep") < 0)
		return false;
	close(fd);
	return !on || set_value(COUNT_SLEEPS, 1) == 0;
}

static long sleeps(void)
{
	FILE *f = fopen(TRACING "kprobe_profile", "r");
	char name[64];
	long n, found = -1;

	while (f && fscanf(f, "%63s %ld %*d", name, &n) == 2)
		if (!strcmp(name, "canary_sleep"))
			found = n;
	if (f)
		fclose(f);
	return found;
}

/* Return: how many first ranks, which are at even ports, have UDP sockets without room */
static int full_sockets(void)
{
	FILE *f = fopen("/proc/self/net/udp", "r");
	unsigned long waiting;
	unsigned int port;
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*x:%x %*s %*s %lx:", &port, &waiting) == 2 && !(port % 2) &&
		    waiting >= LEAST_SNDBUF)
			n++;
	if (f)
		fclose(f);
	return n;
}

/* Return: a socket, or -1 if it cannot be bound */
static int new_rank(unsigned int port, int rank)
{
	struct sockaddr_canary a = address("127.0.0.1", port + rank);
	int fd = new_socket();

	if (set_comm(fd, port, rank, 2))
		return -1;
	set_u32(fd, CANARY_LINGER, 60000);
	set_u32(fd, CANARY_DEAD_AFTER, 15000);
	nonblock(fd, true);
	return bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : fd;
}

/*
 * Connect pairs of ranks. The first one of each has little room, and the second one has posted a
 * full packet. Return: are they connected?
 */
static bool connect_pairs(int fd[PAIRS][2])
{
	unsigned int port;
	bool good = true;
	long was;
	int i;

	for (i = 0; i < PAIRS; i++) {
		fd[i][1] = new_rank(22600 + 2 * i, 1);
		good &= fd[i][1] >= 0;
	}
	was = machine_sysctl(WMEM_DEFAULT, LEAST_SNDBUF);
	for (i = 0; i < PAIRS; i++) {
		fd[i][0] = new_rank(22600 + 2 * i, 0);
		good &= fd[i][0] >= 0;
	}
	good &= was > 0 && machine_sysctl(WMEM_DEFAULT, was) > 0;
	for (i = 0; i < PAIRS; i++) {
		port = 22600 + 2 * i;
		connect_to(fd[i][0], port);
		connect_to(fd[i][1], port);
		wait_events(fd[i][0], POLLOUT);
		wait_events(fd[i][1], POLLOUT);
		good &= send(fd[i][1], packet, sizeof(packet), 0) == sizeof(packet);
	}
	return good;
}

/*
 * In a namespace of its own: make engines without a socket that have no room to say goodbye, as
 * nothing leaves the queue of the only device. They linger because the other rank lacks a result.
 * That is the case at the first rank if it leads the block.
 */
static void leave_blocked(const int told[2], int tell)
{
	int fd[PAIRS][2], i, n = 0, before = -1, same = 0;
	double until;
	char c;

	close(told[1]);
	if (unshare(CLONE_NEWNET))
		_exit(1);
	(void)!write(tell, &n, sizeof(n));
	if (!loopback(true))
		_exit(2);
	if (!connect_pairs(fd))
		_exit(3);
	if (system("tc qdisc add dev lo root tbf rate 80bit burst 5000 limit 10000000"))
		_exit(4);
	for (i = 0; i < PAIRS; i++)
		if (send(fd[i][0], packet, sizeof(packet), 0) != sizeof(packet))
			_exit(5);
	for (i = 0; i < PAIRS; i++)
		close(fd[i][0]);
	/* until no more of them fill up */
	for (until = now() + PATIENCE / 1000; now() < until && (!n || same < 10); usleep(100000)) {
		n = full_sockets();
		same = n == before ? same + 1 : 0;
		before = n;
	}
	(void)!write(tell, &n, sizeof(n));
	(void)!read(told[0], &c, 1);
	_exit(0);
}

/*
 * A namespace that ends does not wait long for room that will not come. Its many engines sleep some
 * ten times each. A device in our namespace tells when it has ended.
 */
TEST_F(machine, namespace)
{
	bool counts = count_sleeps(true);
	long slept = 0;
	double until;
	char command[128];
	int told[2], tell[2], n = -1, blocked = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(told) | pipe(tell));
	pid = fork();
	if (!pid)
		leave_blocked(told, tell[1]);
	close(tell[1]);
	ASSERT_EQ(sizeof(n), read(tell[0], &n, sizeof(n)));
	snprintf(command, sizeof(command), "ip link add gone0 type veth peer gone1 netns %d", pid);
	ok("namespace: a device leads into it", !system(command));
	ASSERT_EQ(sizeof(blocked), read(tell[0], &blocked, sizeof(blocked)));
	ok("namespace: many of its engines have no room", blocked >= PAIRS / 6);
	if (counts)
		slept = sleeps();
	(void)!write(told[1], "e", 1);
	waitpid(pid, &n, 0);
	for (until = now() + PATIENCE / 1000; if_nametoindex("gone0") && now() < until;)
		usleep(10000);
	ok("namespace: it goes", !n && !if_nametoindex("gone0"));
	close(told[0]);
	close(told[1]);
	close(tell[0]);
	/* SKIP() would hide a failure. */
	if (!counts && !wrong)
		SKIP(return, "namespace: its engines do not wait for room for long: no kprobes");
	if (!counts)
		return;
	slept = sleeps() - slept;
	TH_LOG("%d engines slept %ld times for room", blocked, slept);
	ok("namespace: its engines do not wait for room for long",
	   slept > 0 && slept < blocked * 20);
	count_sleeps(false);
}

/* Does the line of /proc/net/canary with this inode end with @text? */
static bool proc_ends(unsigned long ino, const char *text)
{
	FILE *f = fopen("/proc/self/net/canary", "r");
	char line[512], has[32];
	bool found = false;

	snprintf(has, sizeof(has), " %lu ", ino);
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, has) && strlen(line) > strlen(text) &&
			 !strcmp(line + strlen(line) - strlen(text), text);
	if (f)
		fclose(f);
	return found;
}

TEST_F(ranks, proc)
{
	unsigned long ino = inode(self->x);
	uint32_t v = 3;

	ok("/proc/net/canary: a line with the inode, state, address", proc_has(ino, "connected"));
	ok("/proc/net/canary: no operation yet", proc_ends(ino, " - -\n"));
	ok("/proc/net/canary: an operation, which switches combine",
	   send_both(self->x, self->y, &v, sizeof(v)) &&
	   proc_ends(ino, " sum:int32 combine\n"));
	ok("/proc/net/canary_stats: sockets", proc_value("sockets") == 2);
	ok("/proc/net/canary_stats: memory of the engines", proc_value("core-bytes") > 0);
}

TEST_HARNESS_MAIN
