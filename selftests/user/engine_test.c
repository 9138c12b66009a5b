// SPDX-License-Identifier: BSD-2-Clause
/*
 * The library with its user engine. The members of a communicator are threads of this program, in a
 * network namespace of its own.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <linux/canary_wire.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kmod/core/platform.h"
#include "selftests/tap.h"
#include "own_net.h"

#define RANKS_MAX	8
#define CONNECT_MS	10000

/* One member: its thread, and what it found wrong */
struct member {
	struct canary	*c;
	pthread_t	thread;
	uint32_t	rank, ranks;
	int		(*run)(struct member *m);
	int		wrong;
};

static uint32_t next_comm = 1;
static uint32_t dead_after;		/* ms, 0 = default */

/* While it is not 0, each train with this number loses a packet in its middle. */
static _Atomic unsigned int lose_every;

int sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	static _Atomic unsigned int trains;
	unsigned int i, every = lose_every;
	struct msghdr *m;

	for (i = 0; every && i < n; i++) {
		m = &msg[i].msg_hdr;
		if (m->msg_iovlen < 4 || trains++ % every)
			continue;
		m->msg_iovlen--;
		memmove(m->msg_iov + 1, m->msg_iov + 2,
			(m->msg_iovlen - 1) * sizeof(*m->msg_iov));
	}
	return syscall(SYS_sendmmsg, fd, msg, n, flags);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void params(struct canary_params *p, uint32_t rank, uint32_t ranks)
{
	canary_params_init(p);
	p->engine = CANARY_ENGINE_USER;
	p->comm = next_comm;
	p->rank = rank;
	p->members = ranks;
	p->root.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
	p->dead_after = dead_after;
}

static void *member_thread(void *arg)
{
	struct member *m = arg;

	if (canary_connect(m->c, CONNECT_MS)) {
		printf("# rank %u: connect: %s\n", m->rank, canary_errmsg());
		m->wrong = 1;
		return NULL;
	}
	m->wrong = m->run(m);
	return NULL;
}

/* Return: number of members that found something wrong */
static int with_ranks(uint32_t ranks, int (*run)(struct member *m))
{
	struct member m[RANKS_MAX] = { 0 };
	struct canary_params p;
	int wrong = 0;
	uint32_t i;

	next_comm++;
	for (i = 0; i < ranks; i++) {
		m[i].rank = i;
		m[i].ranks = ranks;
		m[i].run = run;
		params(&p, i, ranks);
		if (canary_open(&p, &m[i].c)) {
			printf("# rank %u: open: %s\n", i, canary_errmsg());
			return ranks;
		}
	}
	for (i = 0; i < ranks; i++)
		pthread_create(&m[i].thread, NULL, member_thread, &m[i]);
	for (i = 0; i < ranks; i++)
		pthread_join(m[i].thread, NULL);
	for (i = 0; i < ranks; i++) {
		canary_close(m[i].c);
		wrong += !!m[i].wrong;
	}
	return wrong;
}

static int32_t input(uint32_t rank, uint32_t op, uint32_t i)
{
	uint32_t x = (rank + 1) * 0x9e3779b1U ^ (op + 1) * 0x85ebca77U ^ (i + 1) * 0xc2b2ae3dU;

	x = (x ^ x >> 15) * 0x2c1b3c6dU;
	return (int32_t)(x ^ x >> 13);
}

static void fill(const struct member *m, int32_t *v, uint32_t op, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		v[i] = input(m->rank, op, i);
}

/* Return: number of wrong elements */
static int compare(const struct member *m, const int32_t *v, uint32_t op, uint32_t count)
{
	uint32_t i, r, sum;
	int wrong = 0;

	for (i = 0; i < count; i++) {
		for (sum = 0, r = 0; r < m->ranks; r++)
			sum += (uint32_t)input(r, op, i);
		wrong += (uint32_t)v[i] != sum;
	}
	return wrong;
}

static const uint32_t lengths[] = { 1, 0, 2, 799, 800, 801, 7, 5000, 12345, 100001 };

static int run_lengths(struct member *m)
{
	int32_t *in = malloc(100001 * 4), *out = malloc(100001 * 4);
	int wrong = 0;
	uint32_t i, n;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		n = lengths[i];
		fill(m, in, i, n);
		wrong += !!canary_allreduce(m->c, in, out, n, CANARY_INT32, CANARY_OP_SUM);
		wrong += compare(m, out, i, n);
		fill(m, out, i, n);
		wrong += !!memcmp(in, out, n * 4);	/* the input is not changed */
		wrong += !!canary_allreduce(m->c, out, out, n, CANARY_INT32, CANARY_OP_SUM);
		wrong += compare(m, out, i, n);
	}
	free(in);
	free(out);
	return wrong;
}

/* Many operations in flight: buffers are used again at once, and waited for in reverse order. */
static int run_flight(struct member *m)
{
	enum { OPS = 12, COUNT = 3000 };
	static int32_t out[RANKS_MAX][OPS][COUNT];
	int32_t in[COUNT];
	uint64_t request[OPS], last = 0;
	int i, wrong = 0;

	for (i = 0; i < OPS; i++) {
		fill(m, in, i, COUNT);
		wrong += !!canary_room(m->c, CANARY_FOREVER);
		wrong += !!canary_post(m->c, in, out[m->rank][i], COUNT, CANARY_INT32,
				       CANARY_OP_SUM, &request[i]);
		wrong += request[i] <= last;
		last = request[i];
	}
	for (i = OPS - 1; i >= 0; i--) {
		wrong += !!canary_wait(m->c, request[i], CANARY_FOREVER);
		wrong += compare(m, out[m->rank][i], i, COUNT);
	}
	wrong += canary_wait(m->c, request[0], 0) != -ENOENT;
	wrong += canary_test(m->c, last + 1) != -ENOENT;
	return wrong;
}

/* Post until there is no room, make room, and so on; then wait for all. */
static int run_room(struct member *m)
{
	enum { OPS = 300 };
	static int32_t out[RANKS_MAX][OPS];
	uint64_t request[OPS];
	int i, err, wrong = 0, full = 0;
	int32_t in;

	for (i = 0; i < OPS; i++) {
		in = input(m->rank, i, 0);
		while ((err = canary_post(m->c, &in, &out[m->rank][i], 1, CANARY_INT32,
					  CANARY_OP_SUM, &request[i])) == -EAGAIN) {
			full++;
			if (canary_room(m->c, CONNECT_MS))
				return 1;
		}
		wrong += !!err;
	}
	for (i = 0; i < OPS; i++) {
		wrong += !!canary_wait(m->c, request[i], CANARY_FOREVER);
		wrong += compare(m, &out[m->rank][i], i, 1);
	}
	if (!full)
		printf("# rank %u: there was always room\n", m->rank);
	return wrong + !full;
}

/* The descriptor is readable if a result is there, and only then. */
/* Rank 0 posts when all others have seen that nothing is there yet. */
static int run_poll(struct member *m)
{
	static _Atomic int polled;
	struct pollfd pfd = { .fd = canary_poll_fd(m->c), .events = POLLIN };
	uint64_t request;
	int32_t v = 1;
	int i, wrong = 0;

	wrong += pfd.fd < 0 || poll(&pfd, 1, 0) != 0;
	for (i = 0; m->rank == 0 && polled < (int)m->ranks - 1 && i < 6000; i++)
		usleep(10000);
	wrong += !!canary_post(m->c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM, &request);
	if (m->rank) {
		wrong += poll(&pfd, 1, 50) != 0;
		wrong += canary_test(m->c, request) != 0;
		wrong += canary_wait(m->c, request, 20) != -ETIMEDOUT;
		polled++;
	}
	wrong += poll(&pfd, 1, CONNECT_MS) != 1;
	wrong += poll(&pfd, 1, 0) != 1;
	wrong += canary_test(m->c, request) != 1;
	wrong += v != (int32_t)m->ranks;
	wrong += poll(&pfd, 1, 0) != 0;
	return wrong;
}

/* Return: us that a short sum takes, the least of some rounds; 0: one went wrong */
static double time_sum(struct member *m, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	double least = 1e9, begin;
	uint64_t request;
	int i, err, round;
	int32_t v = 1;

	for (round = 0; round < 8; round++) {
		begin = now();
		for (i = 0; i < 50; i++) {
			if (canary_post(m->c, &v, &v, 1, CANARY_INT32, CANARY_OP_MAX, &request))
				return 0;
			while (fd >= 0 && !(err = canary_test(m->c, request)))
				poll(&pfd, 1, CONNECT_MS);
			if (fd < 0)
				err = !canary_wait(m->c, request, CONNECT_MS);
			if (err != 1)
				return 0;
		}
		least = min_t(double, least, (now() - begin) / i * 1e6);
	}
	return least;
}

/* To look, and to poll then, takes no longer than to wait, but for some system calls. */
static int run_poll_soon(struct member *m)
{
	double waits = time_sum(m, -1), polls = time_sum(m, canary_poll_fd(m->c));

	if (waits && polls && polls < 4 * waits + 200)
		return 0;
	printf("# rank %u: %.0f us to wait, %.0f us to look and poll\n", m->rank, waits, polls);
	return 1;
}

static int run_refusals(struct member *m)
{
	int32_t v[4] = { 0 };
	struct canary_info info;
	uint64_t request;
	size_t first;
	int wrong = 0;

	wrong += canary_allreduce(m->c, v, v, 1, 99, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT32, 99) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 1, 2, CANARY_INT32, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v + 1, v, 2, CANARY_INT32, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, NULL, v, 2, CANARY_INT32, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, NULL, 2, CANARY_INT32, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_post(m->c, v, v, (size_t)CANARY_COUNT_MAX + 1, CANARY_INT32, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_connect(m->c, 0) != -EISCONN;
	first = offsetof(struct canary_info, number);
	wrong += canary_get_info(m->c, &info, first - 1) != -EINVAL;
	info.number = 4711;
	wrong += canary_get_info(m->c, &info, first) != 0 || info.number != 4711;
	wrong += canary_allreduce(m->c, NULL, NULL, 0, CANARY_INT32, CANARY_OP_SUM) != 0;
	return wrong;
}

static uint64_t counter(struct canary *c, const char *name, int drop)
{
	struct canary_stat s[256];
	int i, n = canary_stats(c, s, 256);

	for (i = 0; i < n; i++)
		if (s[i].drop == drop && !strcmp(s[i].name, name))
			return s[i].value;
	return ~0ULL;
}

/* Long vectors go in trains. Those that lose a packet each have to be mended. */
static int run_trains(struct member *m)
{
	int32_t *in = malloc(100001 * 4), *out = malloc(100001 * 4);
	int i, wrong = 0;

	for (i = 0; i < 8; i++) {
		fill(m, in, i, 100001);
		wrong += !!canary_allreduce(m->c, in, out, 100001, CANARY_INT32, CANARY_OP_SUM);
		wrong += compare(m, out, i, 100001);
	}
	free(in);
	free(out);
	wrong += counter(m->c, "train-packets-out", 0) < 2 * counter(m->c, "trains-out", 0);
	wrong += counter(m->c, "trains-out", 0) + 1 < 9 || counter(m->c, "trains-in", 0) + 1 < 9;
	wrong += counter(m->c, "trains-off", 0) != 0;
	if (lose_every)
		wrong += !counter(m->c, "retransmissions", 0) &&
			 !counter(m->c, "requests-out", 0) && !counter(m->c, "failures-out", 0);
	if (wrong)
		printf("# rank %u: %d wrong, %llu trains out, %llu in\n", m->rank, wrong,
		       (unsigned long long)counter(m->c, "trains-out", 0),
		       (unsigned long long)counter(m->c, "trains-in", 0));
	return wrong;
}

static int run_info(struct member *m)
{
	struct canary_info info;
	int32_t v[1600] = { 0 };
	int wrong = 0, n;

	wrong += !!canary_allreduce(m->c, v, v, 1600, CANARY_INT32, CANARY_OP_SUM);
	wrong += !!canary_get_info(m->c, &info, sizeof(info));
	wrong += info.state != CANARY_CONNECTED || info.rank != m->rank;
	wrong += info.members != m->ranks || info.comm != next_comm || info.error;
	wrong += info.elements != 800 || info.window != 256 || !info.epoch;
	wrong += canary_addr_ip4(&info.local.addr) != inet_addr("127.0.0.1");
	wrong += (ntohs(info.local.port) == CANARY_PORT_BASE) != (m->rank == 0);
	wrong += strcmp(canary_engine_name(m->c), "user") || !*canary_engine_reason(m->c);
	wrong += canary_missing(m->c, NULL, 0) != 0;
	n = canary_stats(m->c, NULL, 0);
	wrong += n < 20 || n > 256;
	wrong += counter(m->c, "operations", 0) != 1 || counter(m->c, "blocks-done", 0) != 2;
	wrong += counter(m->c, "short", 1) != 0;
	return wrong;
}

/* One thread posts, others wait in turns: no result is lost. */
struct hand_over {
	struct member	*m;
	uint64_t	request[64];
	int32_t		out[64];
	int		first, wrong;
};

static void *wait_some(void *arg)
{
	struct hand_over *h = arg;
	int i;

	for (i = h->first; i < 64; i += 2) {
		h->wrong += !!canary_wait(h->m->c, h->request[i], CONNECT_MS);
		h->wrong += compare(h->m, &h->out[i], i, 1);
	}
	return NULL;
}

static int run_threads(struct member *m)
{
	struct hand_over h = { .m = m };
	pthread_t thread;
	int32_t in;
	int i, wrong = 0;

	/* rank 0 is late, so that both threads really wait */
	if (m->rank == 0)
		usleep(100000);
	for (i = 0; i < 64; i++) {
		in = input(m->rank, i, 0);
		wrong += !!canary_room(m->c, CONNECT_MS) ||
			 !!canary_post(m->c, &in, &h.out[i], 1, CANARY_INT32, CANARY_OP_SUM,
				       &h.request[i]);
	}
	pthread_create(&thread, NULL, wait_some, &h);
	for (i = 1; i < 64; i += 2) {
		wrong += !!canary_wait(m->c, h.request[i], CONNECT_MS);
		wrong += compare(m, &h.out[i], i, 1);
	}
	pthread_join(thread, NULL);
	return wrong + h.wrong;
}

/* An application that does something else for long is slow, but not dead. */
static int run_slow(struct member *m)
{
	int32_t v = 1;
	double start = now();
	int err;

	if (m->rank == 1)
		usleep(3000000);
	err = canary_allreduce(m->c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM);
	if (err || v != (int32_t)m->ranks || now() - start < 2.9) {
		printf("# rank %u: %d after %.1f s: %s\n", m->rank, err, now() - start,
		       err ? canary_errmsg() : "");
		return 1;
	}
	return 0;
}

/* A rank closes in the middle. The others are told that, and which rank it was. */
static int run_leave(struct member *m)
{
	int32_t v[2000] = { 0 };
	uint16_t rank = 99;
	int err;

	/* Everybody has to be connected before somebody leaves. */
	err = canary_allreduce(m->c, v, v, 1, CANARY_INT32, CANARY_OP_SUM);
	if (err)
		return 1;
	if (m->rank == 1) {
		canary_close(m->c);
		m->c = NULL;
		return 0;
	}
	err = canary_allreduce(m->c, v, v, 2000, CANARY_INT32, CANARY_OP_SUM);
	if (err != -ECONNRESET || canary_missing(m->c, &rank, 1) != 1 || rank != 1) {
		printf("# rank %u: %d, rank %u: %s\n", m->rank, err, rank,
		       err ? canary_errmsg() : "");
		return 1;
	}
	err = canary_allreduce(m->c, v, v, 1, CANARY_INT32, CANARY_OP_SUM);
	return err != -ECONNRESET;
}

static int run_mismatch(struct member *m)
{
	int32_t v[2000] = { 0 };
	int err;

	/* all are connected before the first one fails */
	if (canary_allreduce(m->c, v, v, 1, CANARY_INT32, CANARY_OP_SUM))
		return 1;
	err = canary_allreduce(m->c, v, v, m->rank == 1 ? 1999 : 2000, CANARY_INT32,
			       CANARY_OP_SUM);
	if (err != -EPROTO)
		printf("# rank %u: %d: %s\n", m->rank, err, err ? canary_errmsg() : "");
	return err != -EPROTO;
}

static void send_to(int fd, uint16_t port, const void *data, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = inet_addr("127.0.0.1"),
	};

	if (sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		perror("sendto");
}

/* Packets that no member sends, and their counters */
static int run_garbage(struct member *m)
{
	static const char *const reasons[] = {
		"short", "version", "type", "flags", "length", "members", "rank", "communicator",
		"epoch", "mac",
	};
	struct canary_hdr good = {
		.version = CANARY_VERSION, .type = CANARY_REQUEST, .comm = htonl(next_comm),
		.members = htons(m->ranks), .rank = htons(m->rank ^ 1),
	}, bad;
	uint8_t large[4000] = { 0 };
	struct canary_info info;
	uint64_t before[10];
	int32_t v = 1;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), i, wrong = 0;

	for (i = 0; i < 10; i++)
		before[i] = counter(m->c, reasons[i], 1);
	canary_get_info(m->c, &info, sizeof(info));
	good.epoch = htonl(info.epoch);
	send_to(fd, info.local.port, &good, 63);
	send_to(fd, info.local.port, &good, 0);
#define SEND(field, value) do {						\
		bad = good;						\
		bad.field = value;					\
		send_to(fd, info.local.port, &bad, sizeof(bad));	\
	} while (0)
	SEND(version, CANARY_VERSION + 1);
	SEND(type, 99);
	SEND(flags, 0x80);
	SEND(request.zero, 1);
	memcpy(large, &good, sizeof(good));
	send_to(fd, info.local.port, large, sizeof(large));
	send_to(fd, info.local.port, large, sizeof(good) + 1);
	SEND(members, htons(m->ranks + 1));
	SEND(rank, htons(m->ranks));
	SEND(comm, htonl(next_comm + 1000));
	SEND(epoch, htonl(info.epoch + 1));
	SEND(mac, 1);
#undef SEND
	close(fd);
	/* by now the packets were handled, and did no harm */
	wrong += !!canary_allreduce(m->c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM);
	wrong += v != (int32_t)m->ranks;
	usleep(50000);
	for (i = 0; i < 10; i++) {
		uint64_t n = counter(m->c, reasons[i], 1) - before[i];
		uint64_t want = i == 0 || i == 3 || i == 4 ? 2 : 1;

		if (n != want) {
			printf("# rank %u: drop %s: %llu, expected %llu\n", m->rank, reasons[i],
			       (unsigned long long)n, (unsigned long long)want);
			wrong++;
		}
	}
	return wrong;
}

static void test_alone(void)
{
	struct canary_params p;
	uint16_t ranks[4] = { 99, 99, 99, 99 };
	struct canary *c;
	double start;
	int32_t v = 5;
	uint64_t request;
	int err;

	next_comm++;
	params(&p, 0, 3);
	tap(canary_open(&p, &c) == 0, "rank 0 of 3 opens");
	tap(canary_post(c, &v, &v, 1, CANARY_INT32, CANARY_OP_SUM, &request) == -ENOTCONN,
	    "posting before the rendezvous: %s", canary_errmsg());
	start = now();
	err = canary_connect(c, 300);
	tap(err == -ETIMEDOUT && now() - start > 0.29 && now() - start < 2,
	    "nobody else comes: %s", canary_errmsg());
	tap(canary_missing(c, ranks, 4) == 2 && ranks[0] == 1 && ranks[1] == 2 && ranks[2] == 99,
	    "ranks 1 and 2 are missing");
	start = now();
	canary_close(c);
	tap(now() - start < 1, "closing it does not take long");
	next_comm++;
	params(&p, 2, 3);
	canary_open(&p, &c);
	err = canary_connect(c, 300);
	tap(err == -ETIMEDOUT && canary_missing(c, ranks, 4) == 1 && ranks[0] == 0,
	    "rank 0 does not answer: %s", canary_errmsg());
	canary_close(c);
	canary_close(NULL);
}

static void test_engines(void)
{
	struct canary_params p;
	struct canary *c;
	int err;

	next_comm++;
	params(&p, 0, 1);
	p.engine = CANARY_ENGINE_AUTO;
	err = canary_open(&p, &c);
	tap(!err && *canary_engine_reason(c), "automatic engine: %s, %s",
	    err ? "none" : canary_engine_name(c), err ? "" : canary_engine_reason(c));
	canary_close(c);
	p.engine = CANARY_ENGINE_KERNEL;
	if (access("/sys/module/canary", F_OK) == 0) {
		tap_skip("kernel engine is refused", "module canary is loaded");
		return;
	}
	err = canary_open(&p, &c);
	tap(err == -EAFNOSUPPORT && !c, "kernel engine is refused: %s", canary_errmsg());
}

static void test_ports(void)
{
	struct canary *c[CANARY_PORTS + 1] = { 0 };
	struct canary_params p;
	int i, err = 0;

	next_comm++;
	for (i = 0; i <= CANARY_PORTS && !err; i++) {
		params(&p, i + 1, 100);
		err = canary_open(&p, &c[i]);
	}
	/* the port of rank 0 is left for rank 0 */
	tap(err == -EADDRINUSE && i == CANARY_PORTS, "%d ports, then: %s", i - 1, canary_errmsg());
	params(&p, 0, 100);
	tap(canary_open(&p, &c[CANARY_PORTS]) == 0, "rank 0 still finds its own");
	for (i = 0; i <= CANARY_PORTS; i++)
		canary_close(c[i]);
}

int main(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 8 };
	size_t i;

	if (!own_net()) {
		tap_skip("everything", "may not make a network namespace");
		tap_done("user/engine");
		return 4;
	}
	for (i = 0; i < 4; i++)
		tap(!with_ranks(sizes[i], run_lengths), "%u ranks, many lengths, not and in place",
		    sizes[i]);
	tap(!with_ranks(4, run_flight), "operations in flight, waited for in any order");
	tap(!with_ranks(3, run_room), "posting until there is no room");
	tap(!with_ranks(3, run_poll), "the descriptor to poll");
	tap(!with_ranks(2, run_poll_soon), "to look and to poll is fast");
	tap(!with_ranks(2, run_refusals), "calls that are refused");
	tap(!with_ranks(3, run_info), "info and counters");
	tap(!with_ranks(3, run_trains), "long vectors in trains");
	lose_every = 5;
	tap(!with_ranks(3, run_trains), "trains that lose packets");
	lose_every = 0;
	tap(!with_ranks(3, run_threads), "two threads wait for results");
	tap(!with_ranks(2, run_garbage), "packets that no member sends are dropped and counted");
	dead_after = 1000;
	tap(!with_ranks(3, run_slow), "a slow rank is not dead");
	dead_after = 0;
	tap(!with_ranks(3, run_leave), "a rank that closes in the middle is named");
	tap(!with_ranks(3, run_mismatch), "ranks with different lengths");
	test_alone();
	test_engines();
	test_ports();
	return tap_done("user/engine");
}
