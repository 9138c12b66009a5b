// SPDX-License-Identifier: GPL-2.0
/*
 * Every system call on a socket of AF_CANARY, right and wrong, against what af_canary.c and
 * canary(7) promise. In a network namespace of its own, over its loopback device. Prints TAP.
 */
#include "api.h"

/* ---- calls that fail at once: tables ---- */

static const struct {
	const char *what;
	int type, protocol, want;
} socket_table[] = {
	{ "socket: SOCK_SEQPACKET",			SOCK_SEQPACKET, 0, 0 },
	{ "socket: SOCK_STREAM is ESOCKTNOSUPPORT",	SOCK_STREAM, 0, ESOCKTNOSUPPORT },
	{ "socket: SOCK_DGRAM is ESOCKTNOSUPPORT",	SOCK_DGRAM, 0, ESOCKTNOSUPPORT },
	{ "socket: SOCK_RAW is ESOCKTNOSUPPORT",	SOCK_RAW, 0, ESOCKTNOSUPPORT },
	{ "socket: protocol 17 is EPROTONOSUPPORT",	SOCK_SEQPACKET, 17, EPROTONOSUPPORT },
};

static void test_socket(void)
{
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(socket_table); i++) {
		fd = socket(family, socket_table[i].type, socket_table[i].protocol);
		ok_errno(socket_table[i].what, fd, socket_table[i].want);
		if (fd >= 0)
			close(fd);
	}
}

static const struct {
	const char *what;
	int family;		/* 0: the right one */
	const char *addr;
	unsigned int port;
	int len;		/* 0: the right one */
	unsigned char zero;
	int want;
} bind_table[] = {
	{ "bind: address and port",		0, "127.0.0.1", 22610, 0, 0, 0 },
	{ "bind: any port",			0, "127.0.0.1", 0, 0, 0, 0 },
	{ "bind: any address",			0, "0.0.0.0", 0, 0, 0, 0 },
	{ "bind: last port",			0, "127.0.0.1", 22663, 0, 0, 0 },
	{ "bind: longer than needed",		0, "127.0.0.1", 0, 24, 0, 0 },
	{ "bind: too short is EINVAL",		0, "127.0.0.1", 22610, 15, 0, EINVAL },
	{ "bind: AF_INET is EAFNOSUPPORT",	AF_INET, "127.0.0.1", 22610, 0, 0, EAFNOSUPPORT },
	{ "bind: port below the range is EINVAL", 0, "127.0.0.1", 22599, 0, 0, EINVAL },
	{ "bind: port above the range is EINVAL", 0, "127.0.0.1", 22664, 0, 0, EINVAL },
	{ "bind: scan_zero set is EINVAL",	0, "127.0.0.1", 22610, 0, 1, EINVAL },
	{ "bind: foreign address is EADDRNOTAVAIL", 0, "192.0.2.1", 22610, 0, 0, EADDRNOTAVAIL },
};

static void test_bind(void)
{
	union {
		struct sockaddr_canary a;
		char room[64];
	} u;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(bind_table); i++) {
		memset(&u, 0, sizeof(u));
		u.a = address(bind_table[i].addr, bind_table[i].port);
		if (bind_table[i].family)
			u.a.scan_family = bind_table[i].family;
		u.a.scan_zero[7] = bind_table[i].zero;
		fd = new_socket();
		ok_errno(bind_table[i].what,
			 bind(fd, (struct sockaddr *)&u,
			      bind_table[i].len ? bind_table[i].len : (int)sizeof(u.a)),
			 bind_table[i].want);
		close(fd);
	}
}

static void test_bind_twice(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22610), got;
	socklen_t len = sizeof(got);
	int x = new_socket(), y = new_socket(), u, i, fds[CANARY_PORTS];
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(22611),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	ok("bind twice: first", !bind(x, (struct sockaddr *)&a, sizeof(a)));
	ok_errno("bind twice: a bound socket is EINVAL", bind(x, (struct sockaddr *)&a, sizeof(a)),
		 EINVAL);
	ok_errno("bind twice: port of another socket is EADDRINUSE",
		 bind(y, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
	close(x);
	ok("bind twice: free after close", !bind(y, (struct sockaddr *)&a, sizeof(a)));
	ok("getsockname: says what was bound",
	   !getsockname(y, (struct sockaddr *)&got, &len) && len == sizeof(got) &&
	   got.scan_family == family && got.scan_port == a.scan_port && got.scan_addr == a.scan_addr);
	close(y);

	u = socket(AF_INET, SOCK_DGRAM, 0);
	ok("bind: UDP socket takes a port", !bind(u, (struct sockaddr *)&in, sizeof(in)));
	x = new_socket();
	a = address("127.0.0.1", 22611);
	ok_errno("bind: port of a UDP socket is EADDRINUSE",
		 bind(x, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
	close(u);

	a = address("127.0.0.1", 0);
	for (i = 0; i < CANARY_PORTS; i++) {
		fds[i] = new_socket();
		if (bind(fds[i], (struct sockaddr *)&a, sizeof(a)))
			break;
	}
	ok("bind: any port, as often as there are ports", i == CANARY_PORTS);
	ok_errno("bind: no port left is EADDRINUSE", bind(x, (struct sockaddr *)&a, sizeof(a)),
		 EADDRINUSE);
	while (i-- > 0)
		close(fds[i]);
	close(x);
}

static const struct {
	const char *what;
	unsigned int members, rank, window, mtu, reserved;
	int len;
	int want;
} comm_table[] = {
	{ "CANARY_COMM: one member",			1, 0, 0, 0, 0, 0, 0 },
	{ "CANARY_COMM: 65535 members",			65535, 65534, 0, 0, 0, 0, 0 },
	{ "CANARY_COMM: window and MTU",		2, 1, 1024, 1400, 0, 0, 0 },
	{ "CANARY_COMM: no members is EINVAL",		0, 0, 0, 0, 0, 0, EINVAL },
	{ "CANARY_COMM: rank out of range is EINVAL",	4, 4, 0, 0, 0, 0, EINVAL },
	{ "CANARY_COMM: window no power of two is EINVAL", 2, 0, 48, 0, 0, 0, EINVAL },
	{ "CANARY_COMM: window too large is EINVAL",	2, 0, 2048, 0, 0, 0, EINVAL },
	{ "CANARY_COMM: MTU below 576 is EINVAL",	2, 0, 0, 575, 0, 0, EINVAL },
	{ "CANARY_COMM: reserved not 0 is EINVAL",	2, 0, 0, 0, 1, 0, EINVAL },
	{ "CANARY_COMM: too short is EINVAL",		2, 0, 0, 0, 0, 31, EINVAL },
};

static void test_comm(void)
{
	struct canary_comm_req req, got;
	int fd = new_socket();
	socklen_t len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(comm_table); i++) {
		memset(&req, 0, sizeof(req));
		req.members = comm_table[i].members;
		req.rank = comm_table[i].rank;
		req.window = comm_table[i].window;
		req.mtu = comm_table[i].mtu;
		req.reserved[3] = comm_table[i].reserved;
		ok_errno(comm_table[i].what,
			 setsockopt(fd, SOL_CANARY, CANARY_COMM, &req,
				    comm_table[i].len ? comm_table[i].len : (int)sizeof(req)),
			 comm_table[i].want);
	}
	memset(&req, 0, sizeof(req));
	req.id = 77;
	req.members = 3;
	req.rank = 2;
	memset(req.key, 0x55, sizeof(req.key));
	setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req));
	len = sizeof(got);
	memset(req.key, 0, sizeof(req.key));
	ok("CANARY_COMM: read back, without the key",
	   !getsockopt(fd, SOL_CANARY, CANARY_COMM, &got, &len) && len == sizeof(got) &&
	   !memcmp(&got, &req, sizeof(req)));
	close(fd);
}

static const struct {
	const char *what;
	int level, name;
	unsigned int value;
	int len, want;
} set_table[] = {
	{ "set CANARY_MAX_VECTOR",		SOL_CANARY, CANARY_MAX_VECTOR, 4096, 4, 0 },
	{ "set CANARY_MAX_VECTOR: 0 is EINVAL",	SOL_CANARY, CANARY_MAX_VECTOR, 0, 4, EINVAL },
	{ "set CANARY_MAX_VECTOR: 6 is EINVAL",	SOL_CANARY, CANARY_MAX_VECTOR, 6, 4, EINVAL },
	{ "set CANARY_MAX_VECTOR: 257 MiB is EINVAL", SOL_CANARY, CANARY_MAX_VECTOR, 257 << 20, 4, EINVAL },
	{ "set CANARY_MAX_VECTOR: short is EINVAL", SOL_CANARY, CANARY_MAX_VECTOR, 4096, 3, EINVAL },
	{ "set CANARY_LINGER",			SOL_CANARY, CANARY_LINGER, 0, 4, 0 },
	{ "set CANARY_LINGER: over a minute is EINVAL", SOL_CANARY, CANARY_LINGER, 60001, 4, EINVAL },
	{ "set CANARY_DEAD_AFTER",		SOL_CANARY, CANARY_DEAD_AFTER, 1000, 4, 0 },
	{ "set CANARY_DEAD_AFTER: 99 is EINVAL", SOL_CANARY, CANARY_DEAD_AFTER, 99, 4, EINVAL },
	{ "set CANARY_DEAD_AFTER: over an hour is EINVAL", SOL_CANARY, CANARY_DEAD_AFTER, 3600001, 4, EINVAL },
	{ "set CANARY_ALGORITHM",		SOL_CANARY, CANARY_ALGORITHM, CANARY_ALG_RING, 4, 0 },
	{ "set CANARY_ALGORITHM: unknown is EINVAL", SOL_CANARY, CANARY_ALGORITHM, CANARY_ALG_MAX + 1, 4, EINVAL },
	{ "set CANARY_STATUS is ENOPROTOOPT",	SOL_CANARY, CANARY_STATUS, 0, 4, ENOPROTOOPT },
	{ "set CANARY_RANKS is ENOPROTOOPT",	SOL_CANARY, CANARY_RANKS, 0, 4, ENOPROTOOPT },
	{ "set CANARY_STATS is ENOPROTOOPT",	SOL_CANARY, CANARY_STATS, 0, 4, ENOPROTOOPT },
	{ "set option 99 is ENOPROTOOPT",	SOL_CANARY, 99, 0, 4, ENOPROTOOPT },
	{ "set level SOL_TCP is ENOPROTOOPT",	SOL_TCP, 1, 1, 4, ENOPROTOOPT },
	{ "set SO_SNDBUF",			SOL_SOCKET, SO_SNDBUF, 100000, 4, 0 },
};

static void test_options(void)
{
	struct canary_status st;
	int fd = new_socket(), domain = 0;
	uint64_t stats[256];
	uint32_t value;
	socklen_t len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(set_table); i++)
		ok_errno(set_table[i].what,
			 setsockopt(fd, set_table[i].level, set_table[i].name, &set_table[i].value,
				    set_table[i].len), set_table[i].want);
	ok_errno("set CANARY_LINGER: bad pointer is EFAULT",
		 setsockopt(fd, SOL_CANARY, CANARY_LINGER, BAD_POINTER, 4), EFAULT);
	ok_errno("set CANARY_COMM: bad pointer is EFAULT",
		 setsockopt(fd, SOL_CANARY, CANARY_COMM, BAD_POINTER,
			    sizeof(struct canary_comm_req)), EFAULT);
	len = sizeof(value);
	ok("get CANARY_DEAD_AFTER: what was set",
	   !getsockopt(fd, SOL_CANARY, CANARY_DEAD_AFTER, &value, &len) && len == 4 &&
	   value == 1000);
	len = 2;
	ok("get CANARY_DEAD_AFTER: cut off",
	   !getsockopt(fd, SOL_CANARY, CANARY_DEAD_AFTER, &value, &len) && len == 2);
	len = sizeof(st);
	ok("get CANARY_STATUS: new", !getsockopt(fd, SOL_CANARY, CANARY_STATUS, &st, &len) &&
	   len == sizeof(st) && st.state == CANARY_ST_NEW && !st.error);
	len = sizeof(stats);
	ok("get CANARY_STATS: of a new socket all 0",
	   !getsockopt(fd, SOL_CANARY, CANARY_STATS, stats, &len) && len > 200 && len % 8 == 0 &&
	   !stats[0] && !stats[len / 8 - 1]);
	len = sizeof(stats);
	ok("get CANARY_RANKS: of a new socket none",
	   !getsockopt(fd, SOL_CANARY, CANARY_RANKS, stats, &len) && len == 0);
	len = -1;
	ok_errno("get: negative length is EINVAL",
		 getsockopt(fd, SOL_CANARY, CANARY_STATUS, &st, &len), EINVAL);
	len = sizeof(st);
	ok_errno("get: bad pointer is EFAULT",
		 getsockopt(fd, SOL_CANARY, CANARY_STATUS, BAD_POINTER, &len), EFAULT);
	len = sizeof(st);
	ok_errno("get: option 99 is ENOPROTOOPT",
		 getsockopt(fd, SOL_CANARY, 99, &st, &len), ENOPROTOOPT);
	len = sizeof(st);
	ok_errno("get: level SOL_TCP is ENOPROTOOPT",
		 getsockopt(fd, SOL_TCP, 1, &st, &len), ENOPROTOOPT);
	len = sizeof(domain);
	ok("get SO_DOMAIN", !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
	   domain == family);
	close(fd);
}

/* ---- what a socket that is not connected answers ---- */

static void test_unconnected(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22612);
	int fd = new_socket(), sv[2], value;
	socklen_t len = sizeof(a);
	uint32_t x = 0;

	ok_errno("unconnected: send is ENOTCONN", send(fd, &x, 4, 0), ENOTCONN);
	ok_errno("unconnected: recv is ENOTCONN", recv(fd, &x, 4, 0), ENOTCONN);
	ok_errno("unconnected: sendto is EOPNOTSUPP",
		 sendto(fd, &x, 4, 0, (struct sockaddr *)&a, sizeof(a)), EOPNOTSUPP);
	ok_errno("unconnected: shutdown is ENOTCONN", shutdown(fd, SHUT_RDWR), ENOTCONN);
	ok_errno("unconnected: getpeername is ENOTCONN",
		 getpeername(fd, (struct sockaddr *)&a, &len), ENOTCONN);
	len = sizeof(a);
	ok("unconnected: getsockname", !getsockname(fd, (struct sockaddr *)&a, &len) &&
	   a.scan_family == family && !a.scan_port && !a.scan_addr);
	ok_errno("unconnected: listen is EOPNOTSUPP", listen(fd, 1), EOPNOTSUPP);
	ok_errno("unconnected: accept is EOPNOTSUPP", accept(fd, NULL, NULL), EOPNOTSUPP);
	ok_errno("unconnected: socketpair is EOPNOTSUPP",
		 socketpair(family, SOCK_SEQPACKET, 0, sv), EOPNOTSUPP);
	ok_errno("unconnected: mmap is ENODEV",
		 mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, ENODEV);
	ok("unconnected: poll says OUT and HUP", events(fd, 0) == (POLLOUT | POLLHUP));
	ok("unconnected: SIOCOUTQ is 0", !ioctl(fd, SIOCOUTQ, &value) && value == 0);
	ok_errno("unconnected: unknown ioctl is ENOTTY", ioctl(fd, 0x8999, &value), ENOTTY);
	close(fd);
}

/* ---- connect ---- */

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

static void test_connect_errors(void)
{
	struct sockaddr_canary a;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(connect_table); i++) {
		fd = new_socket();
		if (connect_table[i].comm)
			set_comm(fd, 1, 1, 2);
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
	set_comm(fd, 1, 0, 2);
	a = address("198.51.100.1", 22620);
	ok_errno("connect: rank 0, foreign address is EADDRNOTAVAIL",
		 connect(fd, (struct sockaddr *)&a, sizeof(a)), EADDRNOTAVAIL);
	close(fd);
	fd = new_socket();
	set_comm(fd, 1, 0, 2);
	a = address("127.0.0.1", 22621);
	bind(fd, (struct sockaddr *)&a, sizeof(a));
	a = address("127.0.0.1", 22620);
	ok_errno("connect: rank 0, not the port it is bound to is EADDRNOTAVAIL",
		 connect(fd, (struct sockaddr *)&a, sizeof(a)), EADDRNOTAVAIL);
	close(fd);
}

static void test_connect_nonblock(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620), got;
	int x = new_socket(), y = new_socket();
	socklen_t len = sizeof(got);
	struct canary_comm_req req = { .members = 4 };
	struct canary_status st;
	uint16_t ranks[8];

	set_comm(x, 5, 0, 3);
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
	set_comm(y, 5, 1, 3);
	nonblock(y, true);
	connect(y, (struct sockaddr *)&a, sizeof(a));
	ok("connect nonblocking: rank 1 came, rank 2 is missing", wait_missing(x, 2));
	ok("connect nonblocking: rank 1 learns that, too", wait_missing(y, 2));
	close(y);
	close(x);
}

/* Rank 0 goes first and is not waited for; rank 1 blocks. */
static void test_connect_finish(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620), got;
	socklen_t len = sizeof(got);
	int x = new_socket(), y = new_socket(), err = -1;

	set_comm(x, 6, 0, 2);
	set_comm(y, 6, 1, 2);
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
	   got.scan_port == a.scan_port && got.scan_addr == a.scan_addr);
	len = sizeof(got);
	ok("connect: bound to a port of the range, address of the route",
	   !getsockname(y, (struct sockaddr *)&got, &len) &&
	   ntohs(got.scan_port) >= CANARY_PORT_BASE &&
	   ntohs(got.scan_port) < CANARY_PORT_BASE + CANARY_PORTS &&
	   got.scan_addr == htonl(INADDR_LOOPBACK));
	ok_errno("connected: bind is EINVAL", bind(y, (struct sockaddr *)&a, sizeof(a)), EINVAL);
	ok_errno("connected: CANARY_LINGER is EISCONN", set_u32(y, CANARY_LINGER, 1), EISCONN);
	ok_errno("connected: CANARY_DEAD_AFTER is EISCONN", set_u32(y, CANARY_DEAD_AFTER, 1000),
		 EISCONN);
	ok_errno("connected: CANARY_ALGORITHM is EISCONN", set_u32(y, CANARY_ALGORITHM, 1), EISCONN);
	ok_errno("connected: CANARY_MAX_VECTOR can be set", set_u32(y, CANARY_MAX_VECTOR, 8), 0);
	ok("connected: CANARY_STATUS", status(y).state == CANARY_ST_CONNECTED &&
	   status(y).elements == CANARY_ELEMENTS_MAX && status(y).window == 256);
	close(y);
	close(x);
}

static void test_connect_wait(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	int x = new_socket();
	struct child peer;
	double t;

	set_comm(x, 7, 0, 2);
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
	on_alarm_in(100, true);
	start_peer(&peer, 7, 1, 2, 22620, 400);
	ok_errno("connect: restarted after a signal with SA_RESTART, and connected",
		 connect(x, (struct sockaddr *)&a, sizeof(a)), 0);
	ok("connect: there was that signal", alarms == 2);
	ok("connect: the other rank too", end_peer(&peer));
	close(x);
}

/* ---- operations ---- */

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
	{ "sendmsg: type 9 is EOPNOTSUPP",	{ CANARY_OP_SUM, 9, 0, 0, 0 }, 0, 0, 0, false, EOPNOTSUPP },
	{ "sendmsg: flags are EINVAL",		{ CANARY_OP_SUM, CANARY_INT32, 1, 0, 0 }, 0, 0, 0, false, EINVAL },
	{ "sendmsg: root 1 is EINVAL",		{ CANARY_OP_SUM, CANARY_INT32, 0, 1, 0 }, 0, 0, 0, false, EINVAL },
	{ "sendmsg: unknown control message is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 77, 0, false, EINVAL },
	{ "sendmsg: short control message is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 0, 8, false, EINVAL },
	{ "sendmsg: control message twice is EINVAL", { CANARY_OP_SUM, CANARY_INT32, 0, 0, 0 }, 0, 0, 0, true, EINVAL },
};

static void test_send_errors(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	uint32_t data[2048] = { 0 };
	unsigned int i;
	int x, y;

	pair(&x, &y);
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
	unpair(x, y);
}

static void test_sum(void)
{
	uint32_t data[1000], got[1001];
	unsigned int i;
	int x, y, inq = -1;

	pair(&x, &y);
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
	unpair(x, y);
}

static void test_recv_forms(void)
{
	struct canary_operation op = { .op = CANARY_OP_SUM, .dtype = CANARY_INT32, .tag = 0x1234567890 };
	struct canary_completion c;
	uint32_t data[4] = { 1, 2, 3, 4 };
	int x, y, flags;

	pair(&x, &y);
	send_both(x, y, data, 16);
	ok("recv: short buffer gets the beginning and MSG_TRUNC",
	   recv_completion(x, data, 8, &c, sizeof(c), &flags) == 8 && flags & MSG_TRUNC &&
	   c.bytes == 16 && c.seq == 0);
	recv(y, data, 16, 0);
	send_both(x, y, data, 16);
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
	send_both(x, y, data, 16);
	wait_events(x, POLLIN);
	ok_errno("recv: bad pointer is EFAULT", recv(x, BAD_POINTER, 16, 0), EFAULT);
	recv(y, data, 16, 0);
	ok("barrier: send of nothing", send(x, data, 0, 0) == 0);
	ok_errno("barrier: not before the other rank", recv(x, data, 4, MSG_DONTWAIT), EAGAIN);
	ok("barrier: other rank", send(y, data, 0, 0) == 0 && recv(y, data, 16, 0) == 0);
	ok("barrier: recv is 0", recv(x, data, 16, 0) == 0);
	unpair(x, y);
}

static void test_alone(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 0);
	int fd = new_socket();
	uint32_t data[3] = { 7, 8, 9 };

	set_comm(fd, 9, 0, 1);
	ok_errno("one member: connect, default port", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 0);
	ok("one member: send and recv", send(fd, data, 12, 0) == 12 && recv(fd, data, 12, 0) == 12 &&
	   data[0] == 7 && data[2] == 9);
	ok("one member: barrier", send(fd, data, 0, 0) == 0 && recv(fd, data, 12, 0) == 0);
	close(fd);
}

static void test_waiting(void)
{
	struct child peer;
	uint32_t x0 = 5;
	int x, y;
	double t;

	pair(&x, &y);
	timeout(x, SO_RCVTIMEO, 100);
	t = now();
	ok_errno("recv: SO_RCVTIMEO over is EAGAIN", recv(x, &x0, 4, 0), EAGAIN);
	ok("recv: SO_RCVTIMEO is kept", now() - t > 0.09);
	on_alarm_in(50, false);
	ok_errno("recv: a signal is EINTR, with SO_RCVTIMEO", recv(x, &x0, 4, 0), EINTR);
	timeout(x, SO_RCVTIMEO, 0);
	on_alarm_in(50, false);
	ok_errno("recv: a signal is EINTR", recv(x, &x0, 4, 0), EINTR);
	send(x, &x0, 4, 0);
	ok_errno("recv: posted, the other rank not, is EAGAIN", recv(x, &x0, 4, MSG_DONTWAIT),
		 EAGAIN);
	on_alarm_in(50, true);
	start_post(&peer, y, 4, 200);
	ok("recv: restarted after a signal with SA_RESTART", recv(x, &x0, 4, 0) == 4);
	ok("recv: the other rank too", end_peer(&peer));
	unpair(x, y);
}

static void test_budget(void)
{
	static uint32_t data[16384];
	int x, y, i, n;
	struct child peer;
	double t;

	pair(&x, &y);
	i = 100000;
	setsockopt(x, SOL_SOCKET, SO_SNDBUF, &i, sizeof(i));
	set_u32(x, CANARY_MAX_VECTOR, 65536);
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
	/* The vectors are freed when they are received here and the other rank has the results. */
	start_post(&peer, y, 65536, 0);
	ok("budget: results received", recv(x, data, 65536, 0) == 65536);
	ok("budget: the other rank too", end_peer(&peer));
	ok("budget: blocked sender goes on", send(x, data, 65536, 0) == 65536);
	unpair(x, y);

	pair(&x, &y);
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
	unpair(x, y);
}

static void test_epoll(void)
{
	int ep = epoll_create1(0), x, y, i;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	uint32_t v = 1;

	pair(&x, &y);
	epoll_ctl(ep, EPOLL_CTL_ADD, x, &ev);
	ok("epoll: nothing yet", epoll_wait(ep, &ev, 1, 0) == 0);
	for (i = 0; i < 3; i++) {
		send_both(x, y, &v, 4);
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

/* ---- the end ---- */

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

/* ---- packets nobody asked for ---- */

static void test_packets(void)
{
	static const struct {
		const char *what, *counter;
		int len;		/* of the UDP payload */
		unsigned int at;	/* byte of the header in which ... */
		unsigned char flip;	/* ... to flip these bits */
	} table[] = {
		{ "packet: empty",		"drop-short", 0, 0, 0 },
		{ "packet: truncated",		"drop-short", 63, 0, 0 },
		{ "packet: version",		"drop-version", 64, 0, 8 },
		{ "packet: type 0",		"drop-type", 64, 1, CANARY_PROBE },
		{ "packet: type 200",		"drop-type", 64, 1, CANARY_PROBE ^ 200 },
		{ "packet: flags",		"drop-flags", 64, 2, 0x80 },
		{ "packet: reserved",		"drop-flags", 64, 55, 1 },
		{ "packet: too long",		"drop-length", 68, 0, 0 },
		{ "packet: very long",		"drop-length", 9000, 0, 0 },
		{ "packet: members",		"drop-members", 64, 21, 4 },
		{ "packet: no members",		"drop-members", 64, 21, 2 },
		{ "packet: rank",		"drop-rank", 64, 31, 8 },
		{ "packet: communicator",	"drop-communicator", 64, 7, 0xee },
		{ "packet: epoch",		"drop-epoch", 64, 8, 0xee },
		{ "packet: forged",		"drop-mac", 64, 0, 0 },
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_canary name;
	socklen_t len = sizeof(name);
	char packet[9000] = { 0 };
	struct canary_hdr *h = (struct canary_hdr *)packet;
	int x, y, u = socket(AF_INET, SOCK_DGRAM, 0);
	uint32_t v = 1;
	unsigned int i;
	long before;

	pair(&x, &y);
	getsockname(x, (struct sockaddr *)&name, &len);
	to.sin_port = name.scan_port;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		memset(packet, 0, sizeof(packet));
		h->version = CANARY_VERSION;
		h->type = CANARY_PROBE;
		h->comm = htonl(pair_comm);
		h->epoch = htonl(status(x).epoch);
		h->members = htons(2);
		h->rank = htons(1);
		packet[table[i].at] ^= table[i].flip;
		before = proc_value(table[i].counter);
		sendto(u, packet, table[i].len, 0, (struct sockaddr *)&to, sizeof(to));
		ok(table[i].what, proc_value(table[i].counter) == before + 1);
	}
	send_both(x, y, &v, 4);
	ok("packet: none did any harm", recv(x, &v, 4, 0) == 4 && v == 2 && recv(y, &v, 4, 0) == 4);
	unpair(x, y);

	x = new_socket();
	name = address("127.0.0.1", 22613);
	bind(x, (struct sockaddr *)&name, sizeof(name));
	to.sin_port = name.scan_port;
	before = proc_value("drop-communicator");
	sendto(u, packet, 64, 0, (struct sockaddr *)&to, sizeof(to));
	ok("packet: to a bound socket", proc_value("drop-communicator") == before + 1);
	close(x);
	close(u);
}

static void test_key(void)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	struct canary_comm_req req = { .id = 13, .members = 2 };
	int x = new_socket(), y = new_socket();
	long before = proc_value("drop-mac");

	memset(req.key, 1, sizeof(req.key));
	setsockopt(x, SOL_CANARY, CANARY_COMM, &req, sizeof(req));
	req.rank = 1;
	memset(req.key, 2, sizeof(req.key));
	setsockopt(y, SOL_CANARY, CANARY_COMM, &req, sizeof(req));
	nonblock(x, true);
	connect(x, (struct sockaddr *)&a, sizeof(a));
	timeout(y, SO_SNDTIMEO, 300);
	ok_errno("key: who has another one does not get in",
		 connect(y, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	ok("key: counted", proc_value("drop-mac") > before);
	close(y);
	close(x);
	drain_ports();
}

static void test_privilege(void)
{
	pid_t pid = fork();
	int st, fd;

	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		fd = new_socket();
		set_comm(fd, 14, 0, 1);
		_exit(fd < 0 || connect_to(fd, 22620) ? 1 : 0);
	}
	waitpid(pid, &st, 0);
	ok("no privilege is needed", st == 0);
	drain_ports();
}

/* The bound of all sockets together */
static void test_memory(void)
{
	unsigned long was = memory_max(4096);
	uint32_t data[4096] = { 0 };
	int x = new_socket(), y;

	set_comm(x, 15, 0, 2);
	nonblock(x, true);
	ok("memory: no room for an engine is ENOBUFS", connect_to(x, PAIR_PORT) == ENOBUFS);
	memory_max(was);
	ok("memory: with room, connect goes on", connect_to(x, PAIR_PORT) == EINPROGRESS);
	close(x);
	drain_ports();
	pair(&x, &y);
	was = memory_max(4096);
	ok_errno("memory: no room for a vector is ENOBUFS", send(x, data, sizeof(data), 0), ENOBUFS);
	memory_max(was);
	ok("memory: with room, all is well", send(x, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	ok("memory: all of it was given back", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "socket", test_socket },
	{ "bind", test_bind },
	{ "bind_twice", test_bind_twice },
	{ "comm", test_comm },
	{ "options", test_options },
	{ "unconnected", test_unconnected },
	{ "connect_errors", test_connect_errors },
	{ "connect_nonblock", test_connect_nonblock },
	{ "connect_finish", test_connect_finish },
	{ "connect_wait", test_connect_wait },
	{ "send_errors", test_send_errors },
	{ "sum", test_sum },
	{ "recv_forms", test_recv_forms },
	{ "alone", test_alone },
	{ "waiting", test_waiting },
	{ "budget", test_budget },
	{ "epoll", test_epoll },
	{ "shutdown", test_shutdown },
	{ "left", test_left },
	{ "mismatch", test_mismatch },
	{ "dead", test_dead },
	{ "close", test_close },
	{ "linger", test_linger },
	{ "proc", test_proc },
	{ "packets", test_packets },
	{ "key", test_key },
	{ "privilege", test_privilege },
	{ "memory", test_memory },
};

int main(int argc, char **argv)
{
	unsigned int i;

	start();
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (argc > 1 && strcmp(argv[1], tests[i].name))
			continue;
		pipes = 0;
		alarms = 0;
		tests[i].run();
	}
	return end("kmod/api");
}
