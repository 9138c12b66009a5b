// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processes in two network namespaces. Each sends a vector to the other, by TCP or by UDP.
 * These are the bytes of an allreduce of two ranks, without any sum. The next round begins when
 * everything has been received.
 *
 *	exchange tcp NETNS-A ADDRESS-A NETNS-B ADDRESS-B BYTES ROUNDS
 *	exchange udp NETNS-A ADDRESS-A NETNS-B ADDRESS-B BYTES ROUNDS DATA
 *
 * Prints the ns of a round: the median, without the first rounds, in which TCP finds its windows.
 * The kernel chooses the buffers of TCP: with fixed ones it takes longer.
 *
 * UDP does as little as possible: DATA bytes a packet, trains of TRAIN packets (UDP_SEGMENT,
 * UDP_GRO), as many packets a system call as can be had, no answers. Each side sends FLIGHT
 * packets, and goes on when it has as many of the other. Nothing is lost on a veth pair.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "selftests/die.h"

#define PORT	22599
#define WARM_UP	5
#define TRAIN	16		/* packets; AF_CANARY sends as many */
#define FLIGHT	64
#define BATCH	64		/* most trains that one system call takes */
#define ROOM	(8 << 20)	/* of the buffers of UDP */
#define PACKET	65536		/* most bytes of a train */

static unsigned int data;	/* bytes of a packet; 0: TCP */

static int open_socket(const char *netns, const char *address, struct sockaddr_in *sin)
{
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die_errno(netns);
	close(ns);
	sin->sin_family = AF_INET;
	sin->sin_port = htons(PORT);
	if (inet_pton(AF_INET, address, &sin->sin_addr) != 1)
		die_errno(address);
	fd = socket(AF_INET, (data ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die_errno("socket");
	return fd;
}

static void exchange_tcp(int fd, const char *out, char *in, size_t bytes)
{
	size_t sent = 0, got = 0;
	struct pollfd pfd = { .fd = fd };
	ssize_t n;

	while (sent < bytes || got < bytes) {
		pfd.events = (sent < bytes ? POLLOUT : 0) | (got < bytes ? POLLIN : 0);
		if (poll(&pfd, 1, 10000) != 1)
			die_errno("poll");
		if (pfd.revents & POLLIN) {
			n = recv(fd, in + got, bytes - got, MSG_DONTWAIT);
			if (n == 0 || (n < 0 && errno != EAGAIN))
				die_errno("recv");
			got += n > 0 ? n : 0;
		}
		if (pfd.revents & POLLOUT) {
			n = send(fd, out + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				die_errno("send");
			sent += n > 0 ? n : 0;
		}
	}
}

/* Send @bytes from @out in trains. */
static void send_trains(int fd, const char *out, size_t bytes)
{
	size_t n, train = (size_t)TRAIN * data;

	for (; bytes; out += n, bytes -= n) {
		n = bytes < train ? bytes : train;
		if (send(fd, out, n, 0) != (ssize_t)n)
			die_errno("send");
	}
}

/* Return: how many bytes came. Where they belong in the vector is left open. */
static size_t receive_trains(int fd)
{
	static char packets[BATCH][PACKET];
	struct mmsghdr m[BATCH] = { 0 };
	struct iovec iov[BATCH];
	size_t got = 0;
	int i, n;

	for (i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ packets[i], PACKET };
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(fd, m, BATCH, MSG_WAITFORONE, NULL);
	if (n < 1)
		die_errno("recvmmsg");
	for (i = 0; i < n; i++)
		got += m[i].msg_len;
	return got;
}

static void exchange_udp(int fd, const char *out, size_t bytes)
{
	static size_t ahead;	/* what has come of the next round */
	size_t sent = 0, got = ahead, n;

	while (sent < bytes) {
		n = (size_t)FLIGHT * data;
		n = bytes - sent < n ? bytes - sent : n;
		send_trains(fd, out + sent, n);
		sent += n;
		while (got < sent)
			got += receive_trains(fd);
	}
	ahead = got - bytes;
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void prepare_tcp(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void prepare_udp(int fd)
{
	struct timeval limit = { .tv_sec = 10 };	/* then a packet was lost */
	int room = ROOM, on = 1, segment = data;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
	    setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)))
		die_errno("setsockopt");
}

/* Return: the median of the ns of a round */
static int64_t run(int fd, size_t bytes, int rounds)
{
	int64_t *took = calloc(rounds, sizeof(*took)), start;
	char *out = calloc(1, bytes), *in = calloc(1, bytes);
	int i;

	if (!out || !in || !took)
		die_errno("memory");
	memset(in, 1, bytes);
	memset(out, 1, bytes);
	for (i = -WARM_UP; i < rounds; i++) {
		start = now();
		if (data)
			exchange_udp(fd, out, bytes);
		else
			exchange_tcp(fd, out, in, bytes);
		if (i >= 0)
			took[i] = now() - start;
	}
	qsort(took, rounds, sizeof(*took), compare);
	return took[rounds / 2];
}

static void bind_to(int fd, const struct sockaddr_in *a)
{
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)a, sizeof(*a)))
		die_errno("bind");
}

static void connect_to(int fd, const struct sockaddr_in *a)
{
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)))
		die_errno("connect");
}

/* Side B. Of UDP, it speaks first: an empty packet says that it is there. */
static void side_b(char **argv, const struct sockaddr_in *a, size_t bytes, int rounds)
{
	struct sockaddr_in b = { 0 };
	int fd = open_socket(argv[4], argv[5], &b);

	if (data) {
		bind_to(fd, &b);
		prepare_udp(fd);
	}
	connect_to(fd, a);
	if (!data)
		prepare_tcp(fd);
	else if (send(fd, NULL, 0, 0))
		die_errno("send");
	run(fd, bytes, rounds);
}

/* Side A. Return: what it took */
static int64_t side_a(char **argv, int fd, size_t bytes, int rounds)
{
	struct sockaddr_in b = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (!data) {
		fd = accept(fd, NULL, NULL);
		if (fd < 0)
			die_errno("accept");
		prepare_tcp(fd);
		return run(fd, bytes, rounds);
	}
	if (recv(fd, NULL, 0, 0))
		die_errno("recv");
	if (inet_pton(AF_INET, argv[5], &b.sin_addr) != 1)
		die_errno(argv[5]);
	connect_to(fd, &b);
	return run(fd, bytes, rounds);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { 0 };
	int fd, rounds, status;
	size_t bytes;
	pid_t pid;

	if (argc == 9 && strcmp(argv[1], "udp") == 0)
		data = atoi(argv[8]);
	if (!(argc == 8 && strcmp(argv[1], "tcp") == 0) && (!data || data > PACKET / TRAIN)) {
		fprintf(stderr, "usage: exchange tcp NETNS-A ADDRESS-A NETNS-B ADDRESS-B BYTES ROUNDS\n"
				"       exchange udp (the same) DATA\n");
		return 2;
	}
	bytes = strtoul(argv[6], NULL, 10);
	rounds = atoi(argv[7]);
	if (!bytes || rounds < 1)
		return 2;
	fd = open_socket(argv[2], argv[3], &a);
	bind_to(fd, &a);
	if (data)
		prepare_udp(fd);
	else if (listen(fd, 1))
		die_errno("listen");
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (!pid) {
		side_b(argv, &a, bytes, rounds);
		return 0;
	}
	printf("%lld\n", (long long)side_a(argv, fd, bytes, rounds));
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	return 0;
}
