// SPDX-License-Identifier: BSD-2-Clause
/* The user engine's batches: nothing that the socket refuses is lost without being counted. */
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
#define SMALL		"tc qdisc add dev lo root tbf rate 20mbit burst 1000 limit 100000"

/* What the kernel is made to say to the next calls of sendmmsg(): errors; 0: nothing is made up */
static const int *say;

int sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	if (!say || !*say)
		return syscall(SYS_sendmmsg, fd, msg, n, flags);
	errno = *say++;
	return -1;
}

static struct user_out out;
static struct user_in in;
static u64 drop[CANARY_DROPS];

static int udp(u16 port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = inet_addr("127.0.0.1"),
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
	int size = 8000, full = 0, i, n, got = 0, wrong = 0;

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
		n = user_in_receive(&in, to);
		for (i = 0; i < n; i++, got++) {
			const struct canary_hdr *h = (const void *)in.data[i];

			wrong += ntohl(h->block) != (u32)got;
			wrong += in.msg[i].msg_len != sizeof(*h) + PAYLOAD;
			wrong += in.addr[i].sin_port != htons(22600);
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
	int got = 0, i, n;

	while (poll(&pfd, 1, 500) == 1) {
		n = user_in_receive(&in, to);
		for (i = 0; i < n; i++)
			got += ntohl(((const struct canary_hdr *)in.data[i])->block) == (u32)got;
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
	tap(!system("tc qdisc del dev lo root"), "the link is fast again");
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
	int n;

	add(1, "127.0.0.1");
	add(2, "192.0.2.1");
	add(3, "127.0.0.1");
	tap(user_out_flush(&out, from) == USER_SENT, "two that can be sent, one without route");
	usleep(10000);
	n = user_in_receive(&in, to);
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
	user_out_init(&out);
	user_in_init(&in);
	from = udp(22600);
	to = udp(22601);
	test_full(from, to);
	setsockopt(from, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
	test_queue(from, to);
	test_small(from, to);
	test_pause(from, to);
	test_icmp(from, to);
	test_refused(from, to);
	return tap_done("user/socket");
}
