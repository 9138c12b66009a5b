// SPDX-License-Identifier: GPL-2.0
/* connect(): refused, blocking, and in the background */
#include "harness.h"

static const struct {
	const char *what;
	bool comm;
	int family;
	const char *addr;
	unsigned int port;
	int len, want;
} connect_table[] = {
	{ "connect: without CANARY_COMM is EINVAL",	false, 0, "127.0.0.1", 22620, 0, EINVAL },
	{ "connect: too short is EINVAL",		true, 0, "127.0.0.1", 22620, 8, EINVAL },
	{ "connect: AF_INET is EAFNOSUPPORT",		true, AF_INET, "127.0.0.1", 22620, 0, EAFNOSUPPORT },
	{ "connect: port out of range is EINVAL",	true, 0, "127.0.0.1", 80, 0, EINVAL },
	{ "connect: 0.0.0.0 is EINVAL",			true, 0, "0.0.0.0", 22620, 0, EINVAL },
	{ "connect: no route is ENETUNREACH",		true, 0, "198.51.100.1", 22620, 0, ENETUNREACH },
};

TEST_F(net, connect_errors)
{
	struct sockaddr_canary a;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(connect_table); i++) {
		fd = new_socket();
		if (connect_table[i].comm)
			ASSERT_EQ(0, set_comm(fd, 1, 1, 2));
		a = address(connect_table[i].addr, connect_table[i].port);
		if (connect_table[i].family)
			a.scan_family = connect_table[i].family;
		ok_errno(connect_table[i].what,
			 connect(fd, (struct sockaddr *)&a,
				 connect_table[i].len ? connect_table[i].len : (int)sizeof(a)),
			 connect_table[i].want);
		close(fd);
	}
	fd = new_socket();
	ASSERT_EQ(0, set_comm(fd, 1, 0, 2));
	a = address("198.51.100.1", 22620);
	ok_errno("connect: rank 0, foreign address is EADDRNOTAVAIL",
		 connect(fd, (struct sockaddr *)&a, sizeof(a)), EADDRNOTAVAIL);
	close(fd);
	fd = new_socket();
	ASSERT_EQ(0, set_comm(fd, 1, 0, 2));
	a = address("127.0.0.1", 22621);
	bind(fd, (struct sockaddr *)&a, sizeof(a));
	a = address("127.0.0.1", 22620);
	ok_errno("connect: rank 0, not the port it is bound to is EADDRNOTAVAIL",
		 connect(fd, (struct sockaddr *)&a, sizeof(a)), EADDRNOTAVAIL);
	close(fd);
}

/* What connect() chose does not outlive its failure. */
TEST_F(net, connect_retry)
{
	struct sockaddr_canary a = address("198.51.100.1", 22620), got;
	socklen_t len = sizeof(got);
	int fd = new_socket();

	nonblock(fd, true);
	ASSERT_EQ(0, set_comm(fd, 1, 1, 2));
	ok_errno("connect: no route", connect(fd, (struct sockaddr *)&a, sizeof(a)), ENETUNREACH);
	ok("connect: then it has no port", !getsockname(fd, (struct sockaddr *)&got, &len) &&
	   !got.scan_port);
	ASSERT_EQ(0, set_comm(fd, 1, 0, 2));
	a = address("127.0.0.1", 22620);
	ok_errno("connect: again, as rank 0", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 EINPROGRESS);
	close(fd);
	fd = new_socket();
	ASSERT_EQ(0, set_comm(fd, 1, 1, 2));
	a = address("198.51.100.1", 22620);
	ok_errno("connect: no route again", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 ENETUNREACH);
	a = address("127.0.0.1", 22630);
	ok_errno("connect: after that, bind", bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

/* connect() counts the members of the communicator until the socket is closed. */
TEST_F(net, connect_members_max)
{
	struct sockaddr_canary a = address("127.0.0.1", 22624), b = address("127.0.0.1", 22625);
	int x = new_socket(), y = new_socket();

	ok("members_max: there is one", set_value(SYSCTL "members_max", 5) > 0);
	ASSERT_EQ(0, set_comm(x, 5, 0, 3));
	ASSERT_EQ(0, set_comm(y, 6, 0, 3));
	nonblock(x, true);
	nonblock(y, true);
	ok_errno("members_max: 3 of 5", connect(x, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	ok_errno("members_max: 6 of 5 is EUSERS", connect(y, (struct sockaddr *)&b, sizeof(b)),
		 EUSERS);
	close(x);
	ok_errno("members_max: 3 of 5, when others are closed",
		 connect(y, (struct sockaddr *)&b, sizeof(b)), EINPROGRESS);
	close(y);
}

/*
 * In a user's namespace: connect as rank 0 of 3. Report what connect() returned, and stay until
 * told to end.
 */
static void guest_member(unsigned int uid, const int told[2], int tell)
{
	struct sockaddr_canary a = address("127.0.0.1", 22624);
	int fd, error = 0;
	char c;

	close(told[1]);
	if (setgid(uid) || setuid(uid) || unshare(CLONE_NEWUSER | CLONE_NEWNET) || !loopback(true))
		_exit(1);
	fd = new_socket();
	if (set_comm(fd, 5, 0, 3))
		_exit(1);
	nonblock(fd, true);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		error = errno;
	(void)!write(tell, &error, sizeof(error));
	(void)!read(told[0], &c, 1);
	_exit(0);
}

/*
 * However many namespaces users make, members_max applies to all of them together. Those of one
 * user leave a part of it to others.
 */
TEST_F(machine, connect_members_guests)
{
	static const unsigned int user[] = { 65534, 65534, 65533 };
	int told[2], tell[2], error[ARRAY_SIZE(user)], x = new_socket();
	struct sockaddr_canary a = address("127.0.0.1", 22624);
	pid_t pid[ARRAY_SIZE(user)];
	unsigned int i;

	ASSERT_EQ(0, pipe(told) | pipe(tell));
	ASSERT_LT(0, machine_sysctl(SYSCTL "members_max", 9));
	for (i = 0; i < ARRAY_SIZE(user); i++) {
		pid[i] = fork();
		if (!pid[i])
			guest_member(user[i], told, tell[1]);
		if (!(wait_any(tell[0], POLLIN, PATIENCE) & POLLIN) ||
		    read(tell[0], &error[i], sizeof(error[i])) < 0)
			error[i] = -1;
	}
	ok("members_max: 3 of 9, in a user's namespace", error[0] == EINPROGRESS);
	ok("members_max: 6 of 9, in two of its namespaces, is EUSERS", error[1] == EUSERS);
	ok("members_max: 6 of 9, in namespaces of two users", error[2] == EINPROGRESS);
	ASSERT_EQ(0, set_comm(x, 6, 0, 9));
	nonblock(x, true);
	ok_errno("members_max: they take none from the machine's",
		 connect(x, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	close(x);
	(void)!write(told[1], "eee", ARRAY_SIZE(user));
	for (i = 0; i < ARRAY_SIZE(user); i++)
		waitpid(pid[i], NULL, 0);
	for (i = 0; i < 2; i++) {
		close(told[i]);
		close(tell[i]);
	}
}

TEST_F(net, connect_nonblock)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620), got;
	int x = new_socket(), y = new_socket();
	socklen_t len = sizeof(got);
	struct canary_comm_req req = { .members = 4 };
	struct canary_status st;
	uint16_t ranks[8];

	ASSERT_EQ(0, set_comm(x, 5, 0, 3));
	nonblock(x, true);
	ok_errno("connect nonblocking: EINPROGRESS", connect(x, (struct sockaddr *)&a, sizeof(a)),
		 EINPROGRESS);
	ok_errno("connect nonblocking: then EALREADY", connect(x, (struct sockaddr *)&a, sizeof(a)),
		 EALREADY);
	ok("connect nonblocking: poll says nothing yet", events(x, 0) == 0);
	st = status(x);
	ok("connect nonblocking: CANARY_STATUS: joining, two missing",
	   st.state == CANARY_ST_JOINING && st.missing == 2 && !st.error);
	len = sizeof(ranks);
	ok("connect nonblocking: CANARY_RANKS: 1 and 2 are missing",
	   !getsockopt(x, SOL_CANARY, CANARY_RANKS, ranks, &len) && len == 4 && ranks[0] == 1 &&
	   ranks[1] == 2);
	len = 2;
	ok("connect nonblocking: CANARY_RANKS cut off",
	   !getsockopt(x, SOL_CANARY, CANARY_RANKS, ranks, &len) && len == 2 && ranks[0] == 1);
	ok_errno("connect nonblocking: send is ENOTCONN", send(x, ranks, 4, 0), ENOTCONN);
	ok_errno("connect nonblocking: recv is ENOTCONN", recv(x, ranks, 4, 0), ENOTCONN);
	ok_errno("connect nonblocking: shutdown is ENOTCONN", shutdown(x, SHUT_WR), ENOTCONN);
	ok_errno("connect nonblocking: CANARY_COMM is EISCONN",
		 setsockopt(x, SOL_CANARY, CANARY_COMM, &req, sizeof(req)), EISCONN);
	ASSERT_EQ(0, set_comm(y, 5, 1, 3));
	nonblock(y, true);
	connect(y, (struct sockaddr *)&a, sizeof(a));
	ok("connect nonblocking: rank 1 came, rank 2 is missing", wait_missing(x, 2));
	ok("connect nonblocking: rank 1 learns that, too", wait_missing(y, 2));
	close(y);
	close(x);
}

/* Rank 0 goes first and is not waited for. Rank 1 blocks. */
TEST_F(net, connect_finish)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620), got;
	socklen_t len = sizeof(got);
	int x = new_socket(), y = new_socket(), err = -1;

	ASSERT_EQ(0, set_comm(x, 6, 0, 2));
	ASSERT_EQ(0, set_comm(y, 6, 1, 2));
	ASSERT_EQ(0, set_u32(x, CANARY_ALGORITHM, CANARY_TREE_RUNS(16)));
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	ok_errno("connect: blocking, all ranks there", connect(y, (struct sockaddr *)&a, sizeof(a)),
		 0);
	ok("connect: poll says OUT when connected", wait_events(x, POLLOUT) == POLLOUT);
	len = sizeof(err);
	ok("connect: SO_ERROR is 0", !getsockopt(x, SOL_SOCKET, SO_ERROR, &err, &len) && !err);
	ok_errno("connect: once more finishes", connect(x, (struct sockaddr *)&a, sizeof(a)), 0);
	ok_errno("connect: then EISCONN", connect(x, (struct sockaddr *)&a, sizeof(a)), EISCONN);
	ok_errno("connect: EISCONN for rank 1", connect(y, (struct sockaddr *)&a, sizeof(a)),
		 EISCONN);
	len = sizeof(got);
	ok("connect: getpeername is rank 0", !getpeername(y, (struct sockaddr *)&got, &len) &&
	   got.scan_port == a.scan_port && same_address(&got.scan_addr, &a.scan_addr));
	len = sizeof(got);
	ok("connect: bound to a port of the range, address of the route",
	   !getsockname(y, (struct sockaddr *)&got, &len) &&
	   ntohs(got.scan_port) >= CANARY_PORT_BASE &&
	   ntohs(got.scan_port) < CANARY_PORT_BASE + CANARY_PORTS &&
	   got.scan_addr.word[3] == htonl(INADDR_LOOPBACK));
	ok_errno("connected: bind is EINVAL", bind(y, (struct sockaddr *)&a, sizeof(a)), EINVAL);
	ok_errno("connected: CANARY_LINGER is EISCONN", set_u32(y, CANARY_LINGER, 1), EISCONN);
	ok_errno("connected: CANARY_DEAD_AFTER is EISCONN", set_u32(y, CANARY_DEAD_AFTER, 1000),
		 EISCONN);
	ok_errno("connected: CANARY_ALGORITHM is EISCONN", set_u32(y, CANARY_ALGORITHM, 1), EISCONN);
	ok_errno("connected: CANARY_MAX_VECTOR can be set", set_u32(y, CANARY_MAX_VECTOR, 8), 0);
	ok("connected: CANARY_STATUS", status(y).state == CANARY_ST_CONNECTED &&
	   status(y).elements == CANARY_ELEMENTS_MAX && status(y).window == 256 &&
	   status(y).algorithm == CANARY_ALG_TREE && status(y).number == 16 && !status(y).wanted);
	close(y);
	close(x);
}

TEST_F(net, connect_wait)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket();
	struct child peer;
	double t;

	ASSERT_EQ(0, set_comm(x, 7, 0, 2));
	timeout(x, SO_SNDTIMEO, 200);
	t = now();
	ok_errno("connect: SO_SNDTIMEO over is EINPROGRESS",
		 connect(x, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	t = now() - t;
	ok("connect: SO_SNDTIMEO is kept", t > 0.19 && t < 5);
	t = now();
	ok_errno("connect: again goes on waiting", connect(x, (struct sockaddr *)&a, sizeof(a)),
		 EINPROGRESS);
	ok("connect: as long as SO_SNDTIMEO", now() - t > 0.19);
	timeout(x, SO_SNDTIMEO, 0);

	on_alarm_in(100, false);
	ok_errno("connect: a signal is EINTR", connect(x, (struct sockaddr *)&a, sizeof(a)), EINTR);
	alarms = 0;
	on_alarm_in(100, true);
	start_peer(&peer, 7, 1, 2, 22620, 400);
	ok_errno("connect: restarted after a signal with SA_RESTART, and connected",
		 connect(x, (struct sockaddr *)&a, sizeof(a)), 0);
	ok("connect: there was that signal", alarms > 0);
	on_alarm_in(0, false);
	ok("connect: the other rank too", end_peer(&peer));
	close(x);
}

/* Elements in a packet of two ranks at 10.99.9.1 that have computed a sum; 0 if they have not */
static unsigned int elements_there(uint32_t id)
{
	struct sockaddr_canary a = address("10.99.9.1", PAIR_PORT);
	static uint32_t data[16384];
	struct canary_status st;
	int fd[2], i;
	bool good;

	for (i = 0; i < 2; i++) {
		fd[i] = new_socket();
		if (set_comm(fd[i], id, i, 2))
			return 0;
		nonblock(fd[i], !i);
		connect(fd[i], (struct sockaddr *)&a, sizeof(a));
	}
	wait_events(fd[0], POLLOUT);
	nonblock(fd[0], false);
	st = status(fd[0]);
	for (i = 0; i < (int)ARRAY_SIZE(data); i++)
		data[i] = i;
	good = send(fd[0], data, sizeof(data), 0) == sizeof(data) &&
	       send(fd[1], data, sizeof(data), 0) == sizeof(data) &&
	       recv(fd[0], data, sizeof(data), 0) == sizeof(data) && data[16383] == 2 * 16383;
	unpair(fd[0], fd[1]);
	return good ? st.elements : 0;
}

/* Packets are as large as the route and its device allow. */
TEST_F(net, route_mtu)
{
	static const struct {
		const char *what, *command;
		unsigned int elements;
	} cases[] = {
		{ "route: no MTU of its own", "ip addr add 10.99.9.1/32 dev lo", CANARY_ELEMENTS_MAX },
		{ "route: less than its device takes",
		  "ip route replace local 10.99.9.1 dev lo table local mtu 1000",
		  CANARY_ELEMENTS(1000) },
		{ "route: more than its device takes",
		  "ip route replace local 10.99.9.1 dev lo table local mtu 9000 && "
		  "ip link set lo mtu 800", CANARY_ELEMENTS(800) },
	};
	long dropped = proc_value("drop-mtu");
	unsigned int i, found;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ok(cases[i].command, !system(cases[i].command));
		found = elements_there(2100 + i);
		ok(cases[i].what, found == cases[i].elements);
		if (found != cases[i].elements)
			TH_LOG("%u elements a packet, not %u", found, cases[i].elements);
	}
	ok("route: nothing was too large", proc_value("drop-mtu") == dropped);
	ok("route: as it was", !system("ip link set lo mtu 65536 && ip addr del 10.99.9.1/32 dev lo"));
}

TEST_HARNESS_MAIN
