// SPDX-License-Identifier: GPL-2.0
/*
 * What comes uninvited or is not allowed: packets, keys, users without privilege, too much memory
 */
#include "harness.h"

TEST_F(ranks, packets)
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
		{ "packet: rank",		"drop-rank", 64, 23, 8 },
		{ "packet: communicator",	"drop-communicator", 64, 7, 0xee },
		{ "packet: epoch",		"drop-epoch", 64, 8, 0xee },
		{ "packet: forged",		"drop-mac", 64, 0, 0 },
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_canary name;
	socklen_t len = sizeof(name);
	char packet[9000];
	int x = self->x, y = self->y, u = socket(AF_INET, SOCK_DGRAM, 0);
	uint32_t v = 1;
	unsigned int i;
	long before;

	ASSERT_EQ(0, getsockname(x, (struct sockaddr *)&name, &len));
	to.sin_port = name.scan_port;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		memset(packet, 0, sizeof(packet));
		probe(packet, pair_comm, status(x).epoch);
		packet[table[i].at] ^= table[i].flip;
		before = proc_value(table[i].counter);
		sendto(u, packet, table[i].len, 0, (struct sockaddr *)&to, sizeof(to));
		ok(table[i].what, proc_value(table[i].counter) == before + 1);
	}
	ASSERT_TRUE(send_both(x, y, &v, 4));
	ok("packet: none did any harm", recv(x, &v, 4, 0) == 4 && v == 2 && recv(y, &v, 4, 0) == 4);
	close(u);
}

TEST_F(sock, packet_bound)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(22613),
	};
	struct sockaddr_canary name = address("127.0.0.1", 22613);
	int u = socket(AF_INET, SOCK_DGRAM, 0);
	struct canary_hdr h = { 0 };
	long before;

	ASSERT_EQ(0, bind(self->fd, (struct sockaddr *)&name, sizeof(name)));
	probe(&h, pair_comm, 1);
	before = proc_value("drop-communicator");
	sendto(u, &h, sizeof(h), 0, (struct sockaddr *)&to, sizeof(to));
	ok("packet: to a bound socket", proc_value("drop-communicator") == before + 1);
	close(u);
}

TEST_F(net, key)
{
	struct sockaddr_canary a = address("127.0.0.1", 22620);
	struct canary_comm_req req = { .id = 13, .members = 2 };
	int x = new_socket(), y = new_socket();
	long before = proc_value("drop-mac");

	memset(req.key, 1, sizeof(req.key));
	ASSERT_EQ(0, setsockopt(x, SOL_CANARY, CANARY_COMM, &req, sizeof(req)));
	req.rank = 1;
	memset(req.key, 2, sizeof(req.key));
	ASSERT_EQ(0, setsockopt(y, SOL_CANARY, CANARY_COMM, &req, sizeof(req)));
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

TEST_F(net, privilege)
{
	pid_t pid = fork();
	int st, fd;

	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		fd = new_socket();
		_exit(set_comm(fd, 14, 0, 1) || connect_to(fd, 22620) ? 1 : 0);
	}
	waitpid(pid, &st, 0);
	ok("no privilege is needed", st == 0);
	drain_ports();
}

/* The limit of all sockets together */
TEST_F(machine, memory)
{
	uint32_t data[4096] = { 0 };
	int x = new_socket(), y;
	long was = memory_max(4096);

	ASSERT_LT(0, was);
	ASSERT_EQ(0, set_comm(x, 15, 0, 2));
	nonblock(x, true);
	ok("memory: no room for an engine is ENOBUFS", connect_to(x, PAIR_PORT) == ENOBUFS);
	ASSERT_EQ(4096, memory_max(was));
	ok("memory: with room, connect goes on", connect_to(x, PAIR_PORT) == EINPROGRESS);
	close(x);
	drain_ports();
	ASSERT_TRUE(pair(&x, &y));
	ASSERT_EQ(was, memory_max(4096));
	ok_errno("memory: no room for a vector is ENOBUFS", send(x, data, sizeof(data), 0), ENOBUFS);
	ASSERT_EQ(4096, memory_max(was));
	ok("memory: with room, all is well", send(x, data, sizeof(data), 0) == sizeof(data));
	unpair(x, y);
	ok("memory: all of it was given back", proc_value("vector-bytes") == 0 &&
	   proc_value("core-bytes") == 0);
}

TEST_HARNESS_MAIN
