// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processes in two network namespaces, with one TCP connection. Each sends a vector to the
 * other. These are the bytes of an allreduce of two ranks, without any sum. The next round begins
 * when everything has been received.
 *
 *	tcp_exchange NETNS-A ADDRESS-A NETNS-B ADDRESS-B BYTES ROUNDS
 *
 * Prints the ns of a round: the median, without the first rounds, in which TCP finds its windows.
 * The kernel chooses the buffers: with fixed ones it takes longer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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

static int tcp_socket(const char *netns, const char *address, struct sockaddr_in *sin)
{
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die_errno(netns);
	close(ns);
	sin->sin_family = AF_INET;
	sin->sin_port = htons(PORT);
	if (inet_pton(AF_INET, address, &sin->sin_addr) != 1)
		die_errno(address);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die_errno("socket");
	return fd;
}

static void exchange(int fd, const char *out, char *in, size_t bytes)
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

/* Return: the median of the ns of a round */
static int64_t run(int fd, size_t bytes, int rounds)
{
	int64_t *took = calloc(rounds, sizeof(*took)), start;
	char *out = calloc(1, bytes), *in = calloc(1, bytes);
	int one = 1, i;

	if (!out || !in || !took)
		die_errno("memory");
	memset(in, 1, bytes);
	memset(out, 1, bytes);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (i = -WARM_UP; i < rounds; i++) {
		start = now();
		exchange(fd, out, in, bytes);
		if (i >= 0)
			took[i] = now() - start;
	}
	qsort(took, rounds, sizeof(*took), compare);
	return took[rounds / 2];
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { 0 }, b = { 0 };
	int fd, listening, rounds, one = 1, status;
	size_t bytes;
	pid_t pid;

	if (argc != 7) {
		fprintf(stderr, "usage: tcp_exchange NETNS-A ADDRESS-A NETNS-B ADDRESS-B BYTES ROUNDS\n");
		return 2;
	}
	bytes = strtoul(argv[5], NULL, 10);
	rounds = atoi(argv[6]);
	if (!bytes || rounds < 1)
		return 2;
	listening = tcp_socket(argv[1], argv[2], &a);
	if (setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listening, (struct sockaddr *)&a, sizeof(a)) || listen(listening, 1))
		die_errno("listen");
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (!pid) {
		fd = tcp_socket(argv[3], argv[4], &b);
		if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
			die_errno("connect");
		run(fd, bytes, rounds);
		return 0;
	}
	fd = accept(listening, NULL, NULL);
	if (fd < 0)
		die_errno("accept");
	printf("%lld\n", (long long)run(fd, bytes, rounds));
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	return 0;
}
