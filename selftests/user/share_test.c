// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many communicators of the library at one UDP port (params.share), in a network namespace of its
 * own. They use the user engine and, where the module is loaded, AF_CANARY as well.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod/core/platform.h"
#include "selftests/tap.h"
#include "own_net.h"

#define MANY		200
#define BUSY		8
#define CONNECT_MS	60000
#define FIRST		100
#define ROOT		(CANARY_PORT_BASE + 9)

static uint32_t engine;

/* Both ranks of a communicator */
struct pair {
	struct canary	*near, *far;
	uint32_t	comm;
	int		wrong;
};

static void params(struct canary_params *p, uint32_t comm, uint32_t rank, struct canary *share)
{
	canary_params_init(p);
	p->engine = engine;
	p->comm = comm;
	p->rank = rank;
	p->members = 2;
	p->root.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
	p->root.port = htons(ROOT);
	p->window = 16;
	p->share = share;
}

/*
 * The kernel's engines may serve others for a moment after close(), and keep their port meanwhile.
 */
static int open_rank(const struct canary_params *p, struct canary **c)
{
	int i, err = -EADDRINUSE;

	for (i = 0; i < 600 && err == -EADDRINUSE; i++) {
		if (i)
			usleep(100000);
		err = canary_open(p, c);
	}
	if (err)
		printf("# open: %s\n", canary_errmsg());
	return err;
}

static int open_pair(struct pair *p, uint32_t comm, const struct pair *with)
{
	struct canary_params near, far;

	memset(p, 0, sizeof(*p));
	p->comm = comm;
	params(&near, comm, 0, with ? with->near : NULL);
	params(&far, comm, 1, with ? with->far : NULL);
	return open_rank(&near, &p->near) || open_rank(&far, &p->far);
}

static int connect_pair(struct pair *p)
{
	int err = canary_connect(p->near, 0);

	if (err == -ETIMEDOUT)
		err = canary_connect(p->far, CONNECT_MS);
	if (!err)
		err = canary_connect(p->near, CONNECT_MS);
	if (err && err != -EISCONN)
		printf("# communicator %u: connect: %s\n", p->comm, canary_errmsg());
	return err != -EISCONN && err;
}

static void close_pair(struct pair *p)
{
	canary_close(p->far);
	canary_close(p->near);
}

/* Return: what is wrong with a sum of @count elements */
static int sum_pair(struct pair *p, uint32_t count)
{
	int32_t *a = malloc(count * 4), *b = malloc(count * 4);
	uint64_t near, far;
	uint32_t i;
	int wrong = 0;

	for (i = 0; i < count; i++) {
		a[i] = p->comm + i;
		b[i] = 2 * p->comm;
	}
	wrong += !!canary_post(p->near, a, a, count, CANARY_INT32, CANARY_OP_SUM, &near);
	wrong += !!canary_post(p->far, b, b, count, CANARY_INT32, CANARY_OP_SUM, &far);
	wrong += !!canary_wait(p->near, near, CONNECT_MS);
	wrong += !!canary_wait(p->far, far, CONNECT_MS);
	for (i = 0; i < count; i++)
		wrong += a[i] != (int32_t)(3 * p->comm + i) || b[i] != a[i];
	free(a);
	free(b);
	return wrong;
}

static unsigned int port_of(struct canary *c)
{
	struct canary_info info;

	return canary_get_info(c, &info, sizeof(info)) ? 0 : ntohs(info.local.port);
}

static uint64_t dropped(struct canary *c, const char *why)
{
	struct canary_stat stats[128];
	int i, n = canary_stats(c, stats, 128);

	for (i = 0; i < n; i++)
		if (stats[i].drop && !strcmp(stats[i].name, why))
			return stats[i].value;
	return 0;
}

static void test_many(void)
{
	static struct pair p[MANY];
	int i, k, wrong = 0;

	for (i = 0; i < MANY; i++)
		wrong += open_pair(&p[i], FIRST + i, i ? &p[i - 1] : NULL);
	tap(!wrong, "%d communicators open at two ports", MANY);
	for (i = 0; i < MANY && !wrong; i++)
		wrong += connect_pair(&p[i]);
	tap(!wrong, "all of them connect");
	for (i = 1; i < MANY; i++)
		wrong += port_of(p[i].near) != ROOT || port_of(p[i].far) != port_of(p[0].far);
	tap(!wrong && port_of(p[0].far) != ROOT, "the ports are the same");
	for (i = 0; i < MANY; i++)
		wrong += sum_pair(&p[i], 1000);
	tap(!wrong, "each has its sum");
	for (i = 0; i < MANY; i++) {
		k = i * 7 % MANY;
		close_pair(&p[k]);
		k = (i + 1) * 7 % MANY;
		if (i % 10 == 0 && i + 1 < MANY)
			wrong += sum_pair(&p[k], 1000);
	}
	tap(!wrong, "who closes disturbs no other");
	wrong += open_pair(&p[0], FIRST, NULL);
	tap(!wrong && port_of(p[0].near) == ROOT, "the port is free again");
	close_pair(&p[0]);
}

static void *busy_thread(void *arg)
{
	struct pair *p = arg;
	int i;

	for (i = 0; i < 20; i++)
		p->wrong += sum_pair(p, 1 + i * 1000);
	return NULL;
}

static void busy(const char *what)
{
	struct pair p[BUSY];
	pthread_t thread[BUSY];
	int i, wrong = 0;

	for (i = 0; i < BUSY; i++)
		wrong += open_pair(&p[i], FIRST + i, i ? &p[0] : NULL) || connect_pair(&p[i]);
	for (i = 0; i < BUSY; i++)
		pthread_create(&thread[i], NULL, busy_thread, &p[i]);
	for (i = 0; i < BUSY; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < BUSY; i++)
		wrong += p[i].wrong;
	for (i = 0; i < BUSY; i++)
		close_pair(&p[i]);
	tap(!wrong, "%d communicators at a time, a thread each%s", BUSY, what);
}

/* If there is not enough room for all members, all make progress. */
static void test_busy(void)
{
	busy("");
	if (system("tc qdisc add dev lo root tbf rate 200mbit burst 8000 limit 30000")) {
		tap_skip("over a slow link with a short queue", "no tc-tbf");
		return;
	}
	busy(", over a slow link with a short queue");
	tap(!system("tc qdisc del dev lo root"), "the link is fast again");
}

static void test_refused(void)
{
	struct canary_params par;
	struct pair p, q, r;
	struct canary *c;
	int err;

	open_pair(&p, FIRST, NULL);
	connect_pair(&p);
	params(&par, FIRST + 1, 0, p.near);
	par.bind.port = htons(ROOT + 1);
	par.root.port = par.bind.port;
	err = canary_open(&par, &c);
	tap(err == -EINVAL && !c, "another port: %s", canary_errmsg());
	params(&par, FIRST + 1, 0, p.near);
	par.engine = engine == CANARY_ENGINE_USER ? CANARY_ENGINE_KERNEL : CANARY_ENGINE_USER;
	err = canary_open(&par, &c);
	tap(err == -EINVAL && !c, "another engine: %s", canary_errmsg());
	/* Two ranks at one port */
	params(&par, FIRST + 1, 0, p.near);
	tap(!canary_open(&par, &q.near), "one more shares the port");
	params(&par, FIRST + 1, 1, p.near);
	par.root.addr = canary_addr_of_ip4(inet_addr("127.0.0.2"));
	tap(!canary_open(&par, &q.far), "and another one");
	tap(canary_connect(q.near, 0) == -ETIMEDOUT, "which waits for all");
	err = canary_connect(q.far, CONNECT_MS);
	tap(err == -EADDRINUSE, "two ranks of one communicator: %s", canary_errmsg());
	canary_close(q.near);
	tap(canary_connect(q.far, 0) == -ETIMEDOUT, "when the first one has gone, the other may");
	canary_close(q.far);
	/* The same communicator again while its last session goes on */
	tap(!open_pair(&r, FIRST, &p) && !connect_pair(&r), "a communicator of the same number");
	tap(!sum_pair(&p, 10) && !sum_pair(&r, 5000) && !sum_pair(&p, 5000), "both add up");
	close_pair(&r);
	tap(!sum_pair(&p, 10), "the first one goes on alone");
	close_pair(&p);
}

static void send_raw(const void *packet, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(ROOT),
		.sin_addr.s_addr = inet_addr("127.0.0.1"),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (sendto(fd, packet, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		perror("sendto");
	close(fd);
}

static void test_forged(void)
{
	struct canary_hdr h = { .version = CANARY_VERSION, .type = CANARY_PROBE };
	struct canary_info info;
	struct pair p, q;
	int wrong;

	open_pair(&p, FIRST, NULL);
	open_pair(&q, FIRST + 1, &p);
	connect_pair(&p);
	connect_pair(&q);
	canary_get_info(q.near, &info, sizeof(info));
	h.members = htons(2);
	h.comm = htonl(FIRST + 2);
	h.epoch = htonl(info.epoch);
	send_raw(&h, sizeof(h));		/* for no member: the oldest one counts it */
	h.comm = htonl(FIRST);
	send_raw(&h, sizeof(h));
	h.comm = htonl(FIRST + 1);
	send_raw(&h, sizeof(h));
	send_raw(&h, 11);
	wrong = sum_pair(&p, 1000) + sum_pair(&q, 1000);
	tap(!wrong, "sums, after packets of others");
	if (engine == CANARY_ENGINE_USER)
		tap(dropped(p.near, "communicator") == 1 && dropped(p.near, "short") == 1,
		    "what is for nobody is counted");
	tap(dropped(p.near, "epoch") == 1, "an epoch of another communicator");
	tap(dropped(q.near, "mac") == 1 && !dropped(q.near, "epoch"), "a forged packet");
	close_pair(&p);
	tap(!sum_pair(&q, 1000), "the other one goes on");
	close_pair(&q);
}

static void test_engine(uint32_t which)
{
	engine = which;
	test_many();
	test_busy();
	test_refused();
	test_forged();
}

int main(void)
{
	if (!own_net()) {
		tap_skip("everything", "may not make a network namespace");
		tap_done("user/share");
		return 4;
	}
	test_engine(CANARY_ENGINE_USER);
	if (access("/sys/module/canary", F_OK) == 0)
		test_engine(CANARY_ENGINE_KERNEL);
	else
		tap_skip("the same by AF_CANARY", "module canary is not loaded");
	return tap_done("user/share");
}
