// SPDX-License-Identifier: GPL-2.0
/* Calls on a socket that is not connected: what they take, and what they refuse at once */
#include "harness.h"

/* ---- tables of calls that fail at once ---- */

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

TEST_F(net, socket)
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
	{ "bind: longer than needed",		0, "127.0.0.1", 0, 40, 0, 0 },
	{ "bind: too short is EINVAL",		0, "127.0.0.1", 22610, 27, 0, EINVAL },
	{ "bind: AF_INET is EAFNOSUPPORT",	AF_INET, "127.0.0.1", 22610, 0, 0, EAFNOSUPPORT },
	{ "bind: port below the range is EINVAL", 0, "127.0.0.1", 22599, 0, 0, EINVAL },
	{ "bind: port above the range is EINVAL", 0, "127.0.0.1", 22664, 0, 0, EINVAL },
	{ "bind: scan_zero set is EINVAL",	0, "127.0.0.1", 22610, 0, 1, EINVAL },
	{ "bind: foreign address is EADDRNOTAVAIL", 0, "192.0.2.1", 22610, 0, 0, EADDRNOTAVAIL },
};

TEST_F(net, bind)
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
		u.a.scan_zero = bind_table[i].zero;
		fd = new_socket();
		ok_errno(bind_table[i].what,
			 bind(fd, (struct sockaddr *)&u,
			      bind_table[i].len ? bind_table[i].len : (int)sizeof(u.a)),
			 bind_table[i].want);
		close(fd);
	}
}

/* Addresses have room for IPv6, but it is not supported yet. */
TEST_F(sock, bind_ip6)
{
	struct sockaddr_canary a = address("127.0.0.1", 22610);
	int fd = self->fd;

	ok("bind: a communicator", !set_comm(fd, 1, 1, 2));
	a.scan_addr.word[0] = htonl(0x20010db8);
	ok_errno("bind: IPv6 is EAFNOSUPPORT", bind(fd, (struct sockaddr *)&a, sizeof(a)),
		 EAFNOSUPPORT);
	ok_errno("connect: IPv6 is EAFNOSUPPORT", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 EAFNOSUPPORT);
	a = address("127.0.0.1", 22610);
	a.scan_scope = 1;
	ok_errno("bind: scan_scope set is EINVAL", bind(fd, (struct sockaddr *)&a, sizeof(a)),
		 EINVAL);
}

TEST_F(net, bind_twice)
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
	   got.scan_family == family && got.scan_port == a.scan_port && 
	   same_address(&got.scan_addr, &a.scan_addr));
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

TEST_F(sock, comm)
{
	struct canary_comm_req req, got;
	int fd = self->fd;
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
	ASSERT_EQ(0, setsockopt(fd, SOL_CANARY, CANARY_COMM, &req, sizeof(req)));
	len = sizeof(got);
	memset(req.key, 0, sizeof(req.key));
	ok("CANARY_COMM: read back, without the key",
	   !getsockopt(fd, SOL_CANARY, CANARY_COMM, &got, &len) && len == sizeof(got) &&
	   !memcmp(&got, &req, sizeof(req)));
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
	{ "set CANARY_ALGORITHM: runs of 3 is EINVAL", SOL_CANARY, CANARY_ALGORITHM, CANARY_TREE_RUNS(3), 4, EINVAL },
	{ "set CANARY_ALGORITHM: runs of 32 is EINVAL", SOL_CANARY, CANARY_ALGORITHM, CANARY_TREE_RUNS(32), 4, EINVAL },
	{ "set CANARY_ALGORITHM: runs in a ring is EINVAL", SOL_CANARY, CANARY_ALGORITHM, CANARY_ALG_RING | 2 << 8, 4, EINVAL },
	{ "set CANARY_ALGORITHM: runs of 16",	SOL_CANARY, CANARY_ALGORITHM, CANARY_TREE_RUNS(16), 4, 0 },
	{ "set CANARY_STATUS is ENOPROTOOPT",	SOL_CANARY, CANARY_STATUS, 0, 4, ENOPROTOOPT },
	{ "set CANARY_RANKS is ENOPROTOOPT",	SOL_CANARY, CANARY_RANKS, 0, 4, ENOPROTOOPT },
	{ "set CANARY_STATS is ENOPROTOOPT",	SOL_CANARY, CANARY_STATS, 0, 4, ENOPROTOOPT },
	{ "set option 99 is ENOPROTOOPT",	SOL_CANARY, 99, 0, 4, ENOPROTOOPT },
	{ "set level SOL_TCP is ENOPROTOOPT",	SOL_TCP, 1, 1, 4, ENOPROTOOPT },
	{ "set SO_SNDBUF",			SOL_SOCKET, SO_SNDBUF, 100000, 4, 0 },
};

/* The caller's structures are longer than this kernel's. */
TEST_F(sock, longer_options)
{
	struct {
		struct canary_comm_req req;
		uint32_t more;
	} comm = { .req = { .id = 1, .members = 2 } };
	uint32_t linger[2000] = { 5 };
	int fd = self->fd;

	ok_errno("set CANARY_COMM: longer, and 0 there",
		 setsockopt(fd, SOL_CANARY, CANARY_COMM, &comm, sizeof(comm)), 0);
	comm.more = 1;
	ok_errno("set CANARY_COMM: longer, and not 0 there is E2BIG",
		 setsockopt(fd, SOL_CANARY, CANARY_COMM, &comm, sizeof(comm)), E2BIG);
	ok_errno("set CANARY_LINGER: longer, and 0 there",
		 setsockopt(fd, SOL_CANARY, CANARY_LINGER, linger, 12), 0);
	linger[2] = 1;
	ok_errno("set CANARY_LINGER: longer, and not 0 there is E2BIG",
		 setsockopt(fd, SOL_CANARY, CANARY_LINGER, linger, 12), E2BIG);
	linger[2] = 0;
	ok_errno("set CANARY_LINGER: longer than a page is E2BIG",
		 setsockopt(fd, SOL_CANARY, CANARY_LINGER, linger, sizeof(linger)), E2BIG);
}

TEST_F(sock, aggregates)
{
	struct canary_prefix list[CANARY_AGGREGATES_MAX + 1] = {
		{ .addr = ip4("10.255.0.0"), .length = 96 + 16 }, { .length = 0 },
	};
	struct canary_prefix got[2];
	socklen_t len = sizeof(got);
	int fd = self->fd;

	ok_errno("set CANARY_AGGREGATES", setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list,
						      2 * sizeof(*list)), 0);
	ok("get CANARY_AGGREGATES",
	   !getsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, got, &len) && len == 2 * sizeof(*list) &&
	   !memcmp(got, list, 2 * sizeof(*list)));
	ok_errno("set CANARY_AGGREGATES: half of one is EINVAL",
		 setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list, 30), EINVAL);
	ok_errno("set CANARY_AGGREGATES: too many is E2BIG",
		 setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list, sizeof(list)), E2BIG);
	ok_errno("set CANARY_AGGREGATES: bad pointer is EFAULT",
		 setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, BAD_POINTER, sizeof(*list)), EFAULT);
	list[0].length = 15;
	ok_errno("set CANARY_AGGREGATES: ones behind the prefix is EINVAL",
		 setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list, 8), EINVAL);
	list[0].length = 33;
	ok_errno("set CANARY_AGGREGATES: 33 bits is EINVAL",
		 setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list, 8), EINVAL);
	ok_errno("set CANARY_AGGREGATES: none", setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, list,
							   0), 0);
}

TEST_F(sock, options)
{
	struct canary_status st;
	int fd = self->fd, domain = 0;
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
}

/* ---- what a socket that is not connected answers ---- */

TEST_F(sock, unconnected)
{
	struct sockaddr_canary a = address("127.0.0.1", 22612);
	const struct canary_addr none = { 0 };
	int fd = self->fd, sv[2], value;
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
	   a.scan_family == family && !a.scan_port && same_address(&a.scan_addr, &none));
	ok_errno("unconnected: listen is EOPNOTSUPP", listen(fd, 1), EOPNOTSUPP);
	ok_errno("unconnected: accept is EOPNOTSUPP", accept(fd, NULL, NULL), EOPNOTSUPP);
	ok_errno("unconnected: socketpair is EOPNOTSUPP",
		 socketpair(family, SOCK_SEQPACKET, 0, sv), EOPNOTSUPP);
	ok_errno("unconnected: mmap is ENODEV",
		 mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, ENODEV);
	ok("unconnected: poll says OUT and HUP", events(fd, 0) == (POLLOUT | POLLHUP));
	ok("unconnected: SIOCOUTQ is 0", !ioctl(fd, SIOCOUTQ, &value) && value == 0);
	ok_errno("unconnected: unknown ioctl is ENOTTY", ioctl(fd, 0x8999, &value), ENOTTY);
}

TEST_HARNESS_MAIN
