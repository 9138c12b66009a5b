// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine's packets, alone and in trains: nothing that the socket refuses is lost without
 * being counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/lib/user.h"
#include "selftests/tap.h"
#include "own_net.h"

#define PAYLOAD		1400
#define SLOW		"tc qdisc add dev lo root tbf rate 20mbit burst 4000 limit 1000000"
#define SHORT		"tc qdisc add dev lo root tbf rate 20mbit burst 4000 limit 9000"
#define BYTES		"tc qdisc add dev lo root handle 1: tbf rate 80mbit burst 70000" \
			" limit 1000000 && tc qdisc add dev lo parent 1: bfifo limit 20000"
#define SMALL		"tc qdisc add dev lo root tbf rate 20mbit burst 1000 limit 100000"

/* What the kernel is made to say to the next calls of sendmmsg(): errors; 0: nothing is made up */
static const int *say;
static int say_trains;		/* the error of all trains, or 0 */
static u32 calls;

int sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	unsigned int i;

	calls++;
	for (i = 0; i < n && say_trains; i++) {
		if (msg[i].msg_hdr.msg_iovlen == 1)
			continue;
		errno = say_trains;
		return i ? syscall(SYS_sendmmsg, fd, msg, i, flags) : -1;
	}
	if (!say || !*say)
		return syscall(SYS_sendmmsg, fd, msg, n, flags);
	errno = *say++;
	return -1;
}

static struct user_out out;
static struct user_in in;
static u64 drop[CANARY_DROPS];

static int udp(const char *addr, u16 port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = inet_addr(addr),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int size = 1 << 20, pmtu = IP_PMTUDISC_DO;

	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		perror("bind");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	return fd;
}

static void add_length(u32 number, const char *addr, u16 length)
{
	static u8 payload[PAYLOAD];
	struct cnr_out packet = {
		.hdr = { .version = CANARY_VERSION, .block = htonl(number) },
		.addr = canary_addr_of_ip4(inet_addr(addr)),
		.port = htons(22601),
		.len = length,
		.payload = payload,
	};

	user_out_add(&out, &packet, drop);
}

static void add(u32 number, const char *addr)
{
	add_length(number, addr, PAYLOAD);
}

static u64 total(const u64 *drop)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < CANARY_DROPS; i++)
		sum += drop[i];
	return sum;
}

/* A slow link and a short send buffer: the rest waits, in order. */
static void test_full(int from, int to)
{
	struct pollfd pfd = { .fd = from, .events = POLLOUT }, there = { .fd = to, .events = POLLIN };
	int size = 8000, full = 0, i, got = 0, wrong = 0;
	struct cnr_in packet;

	if (system(SLOW)) {
		tap_skip("a socket that is full", "no tc-tbf");
		return;
	}
	setsockopt(from, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (i = 0; i < USER_BATCH; i++)
		add(i, "127.0.0.1");
	while (user_out_flush(&out, from) == USER_FULL) {
		full++;
		wrong += poll(&pfd, 1, 2000) != 1;
		if (wrong)
			break;
	}
	while (got < USER_BATCH && poll(&there, 1, 500) == 1) {
		user_in_receive(&in, to);
		for (; user_in_next(&in, &packet); got++) {
			wrong += ntohl(packet.hdr->block) != (u32)got;
			wrong += packet.len != sizeof(*packet.hdr) + PAYLOAD;
			wrong += packet.port != htons(22600);
		}
	}
	tap(full > 0 && got == USER_BATCH && !wrong && !total(drop),
	    "a socket that is full %d times: %d of %d packets, %llu dropped", full, got, USER_BATCH,
	    (unsigned long long)total(drop));
	tap(!out.n && !out.first, "the batch is empty again");
	tap(!system("tc qdisc del dev lo root"), "the link is fast again");
}

/* Number of packets that arrive within half a second of each other, in order */
static int received(int to)
{
	struct pollfd pfd = { .fd = to, .events = POLLIN };
	struct cnr_in packet;
	int got = 0;

	while (poll(&pfd, 1, 500) == 1) {
		user_in_receive(&in, to);
		while (user_in_next(&in, &packet))
			got += ntohl(packet.hdr->block) == (u32)got;
	}
	return got;
}

/* A slow link and a short queue: the host says that it is full, and nothing is lost. */
static void test_queue(int from, int to)
{
	u32 waiting = 0;
	int later = 0, i;

	if (system(SHORT)) {
		tap_skip("a queue that is full", "no tc-tbf");
		return;
	}
	/* tc-tbf takes a part of a train without saying so: the engine knows of full queues here */
	out.limited = true;
	for (i = 0; i < USER_BATCH; i++)
		add(i, "127.0.0.1");
	while (user_out_flush(&out, from) != USER_SENT && later < 10000) {
		waiting = max_t(u32, waiting, user_out_waiting(from));
		later++;
		usleep(200);
	}
	i = received(to);
	tap(later > 0 && i == USER_BATCH && !total(drop) && waiting > PAYLOAD,
	    "a queue that is full %d times, with up to %u bytes of ours: %d of %d packets", later,
	    waiting, i, USER_BATCH);
	out.limited = false;
	tap(!system("tc qdisc del dev lo root"), "the link is fast again");
}

/* A queue that counts bytes, and has no room for a train: its packets go one by one. */
static void test_refused_train(int from, int to)
{
	u64 refused = out.counter[USER_C_trains_refused];
	int later = 0, i;

	if (system(BYTES)) {
		tap_skip("a queue that has no room for a train", "no tc-tbf or tc-bfifo");
		return;
	}
	for (i = 0; i < USER_BATCH; i++)
		add(i, "127.0.0.1");
	while (user_out_flush(&out, from) != USER_SENT && later < 10000) {
		later++;
		usleep(200);
	}
	i = received(to);
	refused = out.counter[USER_C_trains_refused] - refused;
	tap(later > 0 && i == USER_BATCH && refused == 1 && !total(drop) && out.trains,
	    "a queue without room for a train, %llu refused: %d of %d packets",
	    (unsigned long long)refused, i, USER_BATCH);
	tap(!system("tc qdisc del dev lo root"), "the link has no queue again");
}

/* What was counted since the last call, out and in */
static u64 counted(enum user_counter i)
{
	static u64 before[USER_COUNTER_COUNT];
	u64 all = out.counter[i] + in.counter[i], more = all - before[i];

	before[i] = all;
	return more;
}

static void forget_counters(void)
{
	int i;

	for (i = 0; i < USER_COUNTER_COUNT; i++)
		counted(i);
}

/* Packets in turn to two addresses become two trains, with shorter packets at their ends. */
static void test_trains(int from, int to)
{
	static const u16 lengths[] = { PAYLOAD, PAYLOAD, 700, PAYLOAD, PAYLOAD, 0, 3, 3, PAYLOAD };
	const u32 most = 40, count = ARRAY_SIZE(lengths);
	int other = udp("127.0.0.2", 22601);
	struct cnr_in packet;
	u32 i, got, wrong;

	forget_counters();
	calls = 0;
	for (i = 0; i < most; i++)
		add(i / 2, i % 2 ? "127.0.0.2" : "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && calls == 1 &&
	    counted(USER_C_trains_out) == 2 && counted(USER_C_train_packets_out) == most,
	    "%u packets to two addresses are two trains in one call", most);
	got = received(to);
	close(other);
	tap(got == most / 2 && counted(USER_C_trains_in) == 1 &&
	    counted(USER_C_train_packets_in) == most / 2, "one of them comes as a train, in order");
	for (i = 0; i < count; i++)
		add_length(i, "127.0.0.1", lengths[i]);
	user_out_flush(&out, from);
	/* 1400 1400 700, 1400 1400 0, 3 3; the last one is longer than that before it */
	tap(counted(USER_C_trains_out) == 3 && counted(USER_C_train_packets_out) == count - 1,
	    "only the last packet of a train is shorter");
	user_in_receive(&in, to);
	for (got = 0, wrong = 0; user_in_next(&in, &packet); got++)
		wrong += got >= count || ntohl(packet.hdr->block) != got ||
			 (uintptr_t)packet.hdr % __alignof__(u64) ||
			 packet.len != sizeof(*packet.hdr) + lengths[got];
	tap(got == count && !wrong, "%u of %u of these come, with their lengths", got, count);
	tap(counted(USER_C_trains_in) == 3, "in three trains");
	for (i = 0; i < USER_BATCH; i++)
		add(i, "127.0.0.1");
	user_out_flush(&out, from);
	tap(counted(USER_C_trains_out) == 2 && received(to) == USER_BATCH,
	    "packets that fill more than a datagram are two trains");
}

/* A kernel without trains, one that refuses them, and a device that cannot compute checksums */
static void test_no_trains(int from, int to)
{
	int i;

	forget_counters();
	out.trains = false;
	for (i = 0; i < 8; i++)
		add(i, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && received(to) == 8 &&
	    !counted(USER_C_trains_out), "without trains, packets come one by one");
	out.trains = true;
	say_trains = EINVAL;
	for (i = 0; i < 8; i++)
		add(i, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && received(to) == 8 && out.trains &&
	    counted(USER_C_trains_refused) == 1, "a train that is refused goes one by one");
	say_trains = EIO;
	for (i = 0; i < 8; i++)
		add(i, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && received(to) == 8 && !out.trains &&
	    counted(USER_C_trains_off) == 1, "after EIO there are no trains");
	for (i = 0; i < 8; i++)
		add(i, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && received(to) == 8 &&
	    counted(USER_C_trains_refused) == 1 && !total(drop), "and none is tried any more");
	say_trains = 0;
	out.trains = true;
	add(0, "127.0.0.1");
	add(1, "127.0.0.1");
	user_out_flush(&out, from);
	tap(received(to) == 2 && counted(USER_C_trains_out) == 1, "trains are sent again");
}

/* Some packets of a train cannot be sent: those are counted, and only those. */
static void test_mtu_in_train(int from, int to)
{
	int i;

	if (system("ip link set lo mtu 1000")) {
		tap_skip("trains after the MTU changed", "no ip");
		return;
	}
	for (i = 0; i < 3; i++)
		add(9, "127.0.0.1");
	add_length(0, "127.0.0.1", 800);
	add_length(1, "127.0.0.1", 800);
	tap(user_out_flush(&out, from) == USER_SENT && drop[CANARY_DROP_MTU] == 3 &&
	    total(drop) == 3, "three packets of a train larger than the MTU are counted");
	tap(received(to) == 2, "and the others come");
	memset(drop, 0, sizeof(drop));
	tap(!system("ip link set lo mtu 65536"), "the MTU is as before");
}

/* A path that only takes small packets, and says that its queue is full: they do not wait for long. */
static void test_small(int from, int to)
{
	int later = 0, i;

	if (system(SMALL)) {
		tap_skip("a path that takes small packets", "no tc-tbf");
		return;
	}
	for (i = 1; i < USER_BATCH; i++)
		add(i, "127.0.0.1");
	add_length(0, "127.0.0.1", 0);
	while (user_out_flush(&out, from) != USER_SENT && later < 10000) {
		later++;
		usleep(200);
	}
	i = received(to);
	tap(i == 1 && later < USER_BATCH, "a small packet behind large ones comes after %d pauses",
	    later);
	tap(drop[CANARY_DROP_XMIT] == USER_BATCH - 1 && total(drop) == USER_BATCH - 1,
	    "%llu large ones are counted", (unsigned long long)total(drop));
	memset(drop, 0, sizeof(drop));
	tap(!system("tc qdisc del dev lo root"), "the link takes large ones again");
}

/* A queue was full, then the socket for long, then the queue again: that is no path that refuses. */
static void test_pause(int from, int to)
{
	static const int said[] = { ENOBUFS, EAGAIN, ENOBUFS, ENOBUFS, 0 };
	enum user_flush first, full, again, last;

	add(0, "127.0.0.1");
	say = said;
	first = user_out_flush(&out, from);
	full = user_out_flush(&out, from);
	usleep(20000);
	again = user_out_flush(&out, from);
	tap(first == USER_LATER && full == USER_FULL && again == USER_LATER && !total(drop),
	    "a queue that is full after the socket was: the packet is tried again");
	usleep(20000);
	last = user_out_flush(&out, from);
	tap(last == USER_SENT && received(to) == 1 && !total(drop), "and has one more try in the end");
}

/* ICMP messages cost no packet, and are removed. */
static void test_icmp(int from, int to)
{
	struct pollfd pfd = { .fd = from };
	int i, n;

	for (i = 0; i < 8; i++) {
		add(0, "127.0.0.1");
		out.addr[0].sin_port = htons(22699);
		user_out_flush(&out, from);
		add(i, "127.0.0.1");
		user_out_flush(&out, from);
	}
	n = received(to);
	tap(n == 8 && !total(drop), "packets after ports that are closed: %d of 8, %llu dropped", n,
	    (unsigned long long)total(drop));
	tap(poll(&pfd, 1, 0) == 1 && pfd.revents & POLLERR, "the socket has errors");
	user_in_forget_errors(&in, from);
	tap(!poll(&pfd, 1, 0), "and none any more");
}

/* What cannot be sent is counted by reason, and does not delay the others. */
static void test_refused(int from, int to)
{
	struct cnr_in packet;
	int n;

	add(1, "127.0.0.1");
	add(2, "192.0.2.1");
	add(3, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT, "two that can be sent, one without route");
	usleep(10000);
	user_in_receive(&in, to);
	for (n = 0; user_in_next(&in, &packet); n++)
		;
	tap(n == 2 && drop[CANARY_DROP_NOROUTE] == 1 && total(drop) == 1, "%d arrived, %llu no-route",
	    n, (unsigned long long)drop[CANARY_DROP_NOROUTE]);
	if (system("ip link set lo mtu 1000")) {
		tap_skip("a packet larger than the MTU", "no ip");
		return;
	}
	add(4, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && drop[CANARY_DROP_MTU] == 1 &&
	    total(drop) == 2, "a packet larger than the MTU is counted");
	shutdown(from, SHUT_WR);
	close(from);
	add(5, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT && drop[CANARY_DROP_XMIT] == 1 &&
	    total(drop) == 3, "any other refusal is counted");
}

int main(void)
{
	int from, to, one = 1;

	if (!own_net()) {
		tap_skip("everything", "may not make a network namespace");
		tap_done("user/socket");
		return 4;
	}
	from = udp("127.0.0.1", 22600);
	to = udp("127.0.0.1", 22601);
	user_out_init(&out, from);
	if (user_in_init(&in, to) || !out.trains) {
		tap_skip("everything", "a kernel without UDP_SEGMENT");
		tap_done("user/socket");
		return 4;
	}
	test_full(from, to);
	setsockopt(from, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
	test_queue(from, to);
	test_refused_train(from, to);
	test_small(from, to);
	test_pause(from, to);
	test_icmp(from, to);
	test_trains(from, to);
	test_no_trains(from, to);
	test_mtu_in_train(from, to);
	test_refused(from, to);
	free(in.data);
	return tap_done("user/socket");
}
