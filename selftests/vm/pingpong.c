// SPDX-License-Identifier: BSD-2-Clause
/*
 * UDP ping-pong, which shows how repeatable the guest's timings are. "pingpong ADDRESS" echoes.
 * "pingpong ADDRESS COUNT" sends, and prints the nanoseconds of a round trip.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define PORT 7777

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int echo(int fd, const struct sockaddr_in *address)
{
	struct sockaddr_in peer;
	char data[64];
	ssize_t n;

	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		perror("bind");
		return 1;
	}
	for (;;) {
		socklen_t length = sizeof(peer);

		n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&peer, &length);
		if (n < 0 || sendto(fd, data, n, 0, (struct sockaddr *)&peer, length) != n) {
			perror("echo");
			return 1;
		}
	}
}

static int trip(int fd)
{
	char data[64] = "";

	return send(fd, data, sizeof(data), 0) == sizeof(data) &&
	       recv(fd, data, sizeof(data), 0) == sizeof(data);
}

static int ping(int fd, const struct sockaddr_in *address, long count)
{
	long long start;
	long i;

	if (count < 1 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		perror("connect");
		return 1;
	}
	/* The first rounds warm up caches and are not measured. */
	for (i = 0; i < 100; i++) {
		if (!trip(fd)) {
			perror("ping");
			return 1;
		}
	}
	start = now();
	for (i = 0; i < count; i++) {
		if (!trip(fd)) {
			perror("ping");
			return 1;
		}
	}
	printf("%lld\n", (now() - start) / count);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: pingpong ADDRESS [COUNT]\n");
		return 2;
	}
	return argc > 2 ? ping(fd, &address, atol(argv[2])) : echo(fd, &address);
}
