// SPDX-License-Identifier: GPL-2.0
/* Trains: packets that pass the network stack as one (kmod/train.c) */
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/udp.h>
#include "harness.h"

#define TRAIN_MAX	"/proc/sys/net/canary/train_max"
#define BYTES		(256 << 10)
#define SEGMENT		64		/* bytes of a packet of a train that a test makes */
#define LONGEST		(20 + 8 + sizeof(struct canary_hdr) + CANARY_PAYLOAD_MAX)

/* Capture all IPv4 packets that the loopback device passes. Return: -1 if that is not possible */
static int capture(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), room = 32 << 20;

	at.sll_ifindex = if_nametoindex("lo");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) ? -1 : fd;
}

/* Return: how many packets that @fd captured are longer than any Canary packet */
static unsigned int trains(int fd)
{
	static char packet[65536];
	unsigned int n = 0;
	ssize_t len;

	while ((len = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
		n += len > (ssize_t)LONGEST;
	return n;
}

/* Both ranks post a large vector. Return: both have the sum */
static bool sum_up(int x, int y)
{
	static uint32_t v[BYTES / 4], got[BYTES / 4];
	unsigned int i, wrong = 0, rank;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = i * 2654435761U;
	if (!send_both(x, y, v, sizeof(v)))
		return false;
	for (rank = 0; rank < 2; rank++) {
		if (recv(rank ? y : x, got, sizeof(got), 0) != sizeof(got))
			return false;
		for (i = 0; i < ARRAY_SIZE(v); i++)
			wrong += got[i] != 2 * v[i];
	}
	return !wrong;
}

/* Two connected ranks whose packets may be trains */
FIXTURE(fast) {
	int x, y;
};

FIXTURE_SETUP(fast)
{
	set_up_net(_metadata);
	ASSERT_LT(0, set_value(TRAIN_MAX, 16));
	ASSERT_TRUE(pair(&self->x, &self->y));
}

FIXTURE_TEARDOWN(fast)
{
	unpair(self->x, self->y);
	count_checks(_metadata);
}

TEST_F(fast, trains)
{
	int fd = capture();

	ASSERT_LE(0, fd);
	ok("train: right sum", sum_up(self->x, self->y));
	ok("train: packets pass the stack as one", trains(fd) > 0);
	ASSERT_LT(0, set_value(TRAIN_MAX, 1));
	ok("train_max 1: right sum", sum_up(self->x, self->y));
	ok("train_max 1: each packet passes it by itself", trains(fd) == 0);
	ok("train_max: 0 is refused", set_value(TRAIN_MAX, 0) < 0);
	ok("train_max: 1000 is refused", set_value(TRAIN_MAX, 1000) < 0);
	close(fd);
}

/* A filter that lets nothing pass that is longer than a packet */
TEST_F(fast, filter)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LONGEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 65535),
	};
	struct sock_fprog filter = { .len = ARRAY_SIZE(code), .filter = code };
	long before = proc_value("drop-filter");
	int fd = capture();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setsockopt(self->x, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	ok("filter: right sum", sum_up(self->x, self->y));
	ok("filter: there were trains", trains(fd) > 0);
	ok("filter: it sees single packets", proc_value("drop-filter") == before);
	close(fd);
}

/* Return: counter @name becomes @want. Another process may still have to take the packets. */
static bool becomes(const char *name, long want)
{
	unsigned int ms = 0;

	while (proc_value(name) != want && ms++ < 2000)
		usleep(1000);
	return proc_value(name) == want;
}

/* Send @len bytes to the port of @sock as a train. */
static bool send_train(int sock, const void *data, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_canary name;
	socklen_t size = sizeof(name);
	int u = socket(AF_INET, SOCK_DGRAM, 0), segment = SEGMENT;
	bool sent;

	if (getsockname(sock, (struct sockaddr *)&name, &size))
		return false;
	to.sin_port = name.scan_port;
	sent = !setsockopt(u, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) &&
	       sendto(u, data, len, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)len;
	close(u);
	return sent;
}

TEST_F(fast, forged)
{
	char packets[4 * SEGMENT + 10] = { 0 };
	uint32_t epoch = status(self->x).epoch;
	long mac, comm, shorter;
	unsigned int i;

	_Static_assert(sizeof(struct canary_hdr) == SEGMENT, "a packet is a header");
	for (i = 0; i < 4; i++)
		probe(packets + i * SEGMENT, pair_comm + (i == 2), epoch);
	mac = proc_value("drop-mac");
	comm = proc_value("drop-communicator");
	shorter = proc_value("drop-short");
	ASSERT_TRUE(send_train(self->x, packets, sizeof(packets)));
	ok("forged: each packet is looked at", becomes("drop-mac", mac + 3));
	ok("forged: one is for nobody", becomes("drop-communicator", comm + 1));
	ok("forged: the last one is too short", becomes("drop-short", shorter + 1));
	ok("forged: right sum", sum_up(self->x, self->y));
}

/* Without trains, the stack takes those of others apart. */
TEST_F(ranks, none)
{
	char packets[3 * SEGMENT] = { 0 };
	long before = proc_value("drop-version");
	int fd = capture();

	ASSERT_LE(0, fd);
	ok("none: right sum", sum_up(self->x, self->y));
	ok("none: each packet passes the stack by itself", trains(fd) == 0);
	ASSERT_TRUE(send_train(self->x, packets, sizeof(packets)));
	ok("none: each packet is looked at", becomes("drop-version", before + 3));
	close(fd);
}

/* Two engines share a port, and a train has packets for both, and one for nobody. */
TEST_F(net, shared)
{
	char packets[3 * SEGMENT] = { 0 };
	struct sockaddr_canary a = address("127.0.0.1", 22615);
	int x = new_socket(), y = new_socket();
	long comm, empty;

	ASSERT_LT(0, set_value(TRAIN_MAX, 16));
	ASSERT_EQ(0, bind(x, (struct sockaddr *)&a, sizeof(a)));
	ASSERT_EQ(0, setsockopt(y, SOL_CANARY, CANARY_ENDPOINT, &x, sizeof(x)));
	ASSERT_EQ(0, set_comm(x, 31, 0, 3));
	ASSERT_EQ(0, set_comm(y, 32, 0, 3));
	nonblock(x, true);
	nonblock(y, true);
	ok("shared: both connect", connect_to(x, 22615) == EINPROGRESS &&
				   connect_to(y, 22615) == EINPROGRESS);
	probe(packets, 31, 0);
	probe(packets + SEGMENT, 32, 0);
	probe(packets + 2 * SEGMENT, 33, 0);
	comm = proc_value("drop-communicator");
	empty = proc_value("drop-members");
	ASSERT_TRUE(send_train(x, packets, sizeof(packets)));
	ok("shared: one packet is for nobody", becomes("drop-communicator", comm + 1));
	ok("shared: each of the others goes to its engine",
	   becomes("drop-members", empty + 2));
	close(y);
	close(x);
	drain_ports();
}

TEST_HARNESS_MAIN
