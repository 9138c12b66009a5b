// SPDX-License-Identifier: BSD-2-Clause
/*
 * Communicators of the library that are formed from a table (canary_form()), in a network namespace
 * of its own. They use the user engine and, where the module is loaded, AF_CANARY as well.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/driver.h"
#include "selftests/tap.h"
#include "own_net.h"

#define RANKS		4
#define MANY		100
#define WAIT_MS		60000
#define COMM		77
#define EPOCH		1000
#define ROOT		(CANARY_PORT_BASE + 9)

static uint32_t engine;

/* All ranks of a communicator, and their parameters and table */
struct group {
	struct canary		*rank[RANKS];
	struct canary_peer	peer[RANKS];
	struct canary_table	table;
};

static void params(struct canary_params *p, uint32_t rank, struct canary *share)
{
	canary_params_init(p);
	p->engine = engine;
	p->comm = COMM;
	p->rank = rank;
	p->members = RANKS;
	p->window = 16;
	p->share = share;
	p->root.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
	p->root.port = htons(ROOT);
}

/*
 * Parameters of a member that will be formed from a table. It has the port of @share, or its own.
 */
static void table_params(struct canary_params *p, uint32_t rank, struct canary *share)
{
	params(p, rank, share);
	memset(&p->root, 0, sizeof(p->root));
	p->table = 1;
	if (!share)
		p->bind.addr = canary_addr_of_ip4(inet_addr("127.0.0.1"));
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

static struct canary_peer place(struct canary *c)
{
	struct canary_info info;

	memset(&info, 0, sizeof(info));
	canary_get_info(c, &info, sizeof(info));
	return info.local;
}

/*
 * Open all ranks, and make the table. @dead_after: ms, 0 = default; @key: last byte of the key;
 * @with: take its ports, NULL: own ones
 */
static int open_ranks(struct group *g, uint32_t dead_after, uint8_t key, const struct group *with)
{
	struct canary_params p;
	int i, err = 0;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < RANKS && !err; i++) {
		table_params(&p, i, with ? with->rank[i] : NULL);
		if (dead_after)
			p.dead_after = dead_after;
		p.key[15] = key;
		err = open_rank(&p, &g->rank[i]);
		if (!err)
			g->peer[i] = place(g->rank[i]);
	}
	g->table.epoch = EPOCH;
	g->table.peer = g->peer;
	return err;
}

static int open_group(struct group *g, uint32_t epoch, const struct group *with)
{
	int err = open_ranks(g, 0, 0, with);

	g->table.epoch = epoch;
	return err;
}

static int form(struct group *g, int rank)
{
	int err = canary_form(g->rank[rank], &g->table);

	if (err)
		printf("# form: %s\n", canary_errmsg());
	return err;
}

static int form_all(struct group *g)
{
	int i, err = 0;

	for (i = 0; i < RANKS; i++)
		err |= form(g, i);
	return err;
}

static void close_group(struct group *g)
{
	int i;

	for (i = RANKS; i-- > 0;)
		canary_close(g->rank[i]);
}

/* Return: what is wrong with a sum of @count elements. Rank 3 is formed and posts @late ms later */
static int sum_late(struct group *g, uint32_t count, int32_t value, unsigned int late)
{
	int32_t *v[RANKS];
	uint64_t request[RANKS];
	uint32_t i, k;
	int wrong = 0;

	for (k = 0; k < RANKS; k++) {
		v[k] = malloc(count * 4);
		for (i = 0; i < count; i++)
			v[k][i] = value * (int32_t)(k + 1) + (int32_t)i;
		if (late && k == RANKS - 1) {
			usleep(late * 1000);
			wrong += !!form(g, k);
		}
		wrong += !!canary_post(g->rank[k], v[k], v[k], count, CANARY_INT32, CANARY_OP_SUM,
				       &request[k]);
	}
	for (k = 0; k < RANKS; k++) {
		if (canary_wait(g->rank[k], request[k], WAIT_MS)) {
			printf("# wait: %s\n", canary_errmsg());
			wrong++;
		}
		for (i = 0; i < count; i++)
			wrong += v[k][i] != 10 * value + 4 * (int32_t)i;
		free(v[k]);
	}
	return wrong;
}

static int sum(struct group *g, uint32_t count, int32_t value)
{
	return sum_late(g, count, value, 0);
}

/* Ranks that join: each is at the port that others will share. */
static int join_group(struct group *g)
{
	struct canary_params p;
	int i, err = 0;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < RANKS && !err; i++) {
		params(&p, i, NULL);
		err = open_rank(&p, &g->rank[i]);
		if (!err && canary_connect(g->rank[i], 0) != -ETIMEDOUT)
			err = i < RANKS - 1 ? -EIO : 0;
	}
	for (i = 0; i < RANKS && !err; i++) {
		err = canary_connect(g->rank[i], WAIT_MS);
		if (err == -EISCONN)
			err = 0;
		g->peer[i] = place(g->rank[i]);
	}
	return err;
}

static uint32_t epoch_of(struct canary *c)
{
	struct canary_info info;

	return canary_get_info(c, &info, sizeof(info)) ? 0 : info.epoch;
}

/* A hundred communicators inside another one, with its number, at its ports */
static void test_many(void)
{
	static struct group g[MANY];
	struct canary_info info;
	struct group parent;
	int i, k, wrong;

	wrong = join_group(&parent);
	tap(!wrong, "a communicator of %d joins", RANKS);
	for (i = 0; i < MANY && !wrong; i++)
		wrong += open_group(&g[i], EPOCH + i, &parent) || form_all(&g[i]);
	tap(!wrong, "%d inside of it are formed at its ports, with its number", MANY);
	canary_get_info(g[3].rank[2], &info, sizeof(info));
	tap(info.epoch == EPOCH + 3 && info.state == CANARY_CONNECTED && info.comm == COMM &&
	    info.elements == 352 && canary_peer_equal(&info.root, &parent.peer[0]) &&
	    canary_peer_equal(&info.local, &parent.peer[2]), "and say so");
	for (i = 0; i < MANY; i++)
		wrong += sum(&g[i], 500, i);
	tap(!wrong, "each has its sum");
	wrong += sum(&parent, 5000, 17);
	tap(!wrong, "so has the outer one");
	for (i = 0; i < MANY; i++) {
		k = i * 7 % MANY;
		close_group(&g[k]);
		k = (i + 1) * 7 % MANY;
		if (i % 10 == 0 && i + 1 < MANY)
			wrong += sum(&g[k], 500, 5);
	}
	wrong += sum(&parent, 500, 3);
	tap(!wrong, "who closes disturbs no other");
	wrong += open_group(&g[0], EPOCH + MANY, &parent) || form_all(&g[0]);
	close_group(&parent);
	wrong += sum(&g[0], 5000, 9);
	tap(!wrong, "one goes on without the outer one");
	close_group(&g[0]);
}

/* What a launcher does: ports of their own, which are known once they are open */
static void test_own_ports(void)
{
	struct group g, h;
	int wrong;

	wrong = open_group(&g, EPOCH, NULL) || form_all(&g);
	tap(!wrong && !canary_peer_equal(&g.peer[0], &g.peer[1]), "ports of their own");
	wrong += sum(&g, 50000, 4);
	wrong += sum(&g, 0, 0);
	tap(!wrong, "sums, and a barrier");
	tap(!open_group(&h, EPOCH + 1, &g) && !form_all(&h) && !sum(&h, 3000, 2) && !sum(&g, 10, 1),
	    "two of one number, side by side");
	close_group(&g);
	tap(!sum(&h, 3000, 2), "one goes on alone");
	close_group(&h);
}

static void test_late(void)
{
	struct group g;
	int i, wrong;

	wrong = open_group(&g, EPOCH, NULL);
	for (i = 0; i < RANKS - 1; i++)
		wrong += !!form(&g, i);
	wrong += sum_late(&g, 20000, 3, 2000);
	tap(!wrong, "one is formed 2 s after the others wait for it");
	wrong += sum(&g, 20000, 4);
	tap(!wrong, "and then it is as fast as they");
	close_group(&g);
}

/* The others wait for start_within, and not for dead_after. */
static void test_later_than_dead(void)
{
	struct group g;
	int i, wrong = open_ranks(&g, 500, 0, NULL);

	for (i = 0; i < RANKS - 1; i++)
		wrong += !!form(&g, i);
	wrong += sum_late(&g, 20000, 3, 3000);
	tap(!wrong, "formed long after dead-after: exact");
	close_group(&g);
}

#define refused(err, want, part)	\
	tap((err) == (want) && strstr(canary_errmsg(), part), "refused: %s", canary_errmsg())

static void test_refused(void)
{
	const struct canary_addr ip6 = { .word = { htonl(0x20010db8), 0, 0, htonl(1) } };
	struct canary_params p;
	struct group g, h;
	struct canary *c;
	int err;

	table_params(&p, 1, NULL);
	memset(&p.bind, 0, sizeof(p.bind));
	refused(canary_open(&p, &c), -EINVAL, "needs an address");
	p.bind.addr = ip6;
	refused(canary_open(&p, &c), -EAFNOSUPPORT, "IPv6");
	params(&p, 0, NULL);
	open_rank(&p, &c);
	err = open_group(&g, EPOCH, NULL);
	tap(!err, "a group to be formed");
	refused(canary_form(c, &g.table), -EINVAL, "params.table");
	canary_close(c);
	refused(canary_connect(g.rank[0], 0), -EINVAL, "canary_form()");
	g.table.epoch = 0;
	refused(canary_form(g.rank[0], &g.table), -EINVAL, "no epoch");
	g.table.epoch = EPOCH;
	g.peer[2].addr = ip6;
	refused(canary_form(g.rank[0], &g.table), -EAFNOSUPPORT, "rank 2: [2001:db8::1]:");
	g.peer[2] = g.peer[1];
	refused(canary_form(g.rank[0], &g.table), -ENOTUNIQ, "ranks 1 and 2 are both at 127.0.0.1");
	g.peer[2] = place(g.rank[2]);
	g.peer[3].port = htons(80);
	refused(canary_form(g.rank[0], &g.table), -EINVAL, "rank 3: no member can be at 127.0.");
	g.peer[3] = place(g.rank[3]);
	g.peer[0].port = htons(CANARY_PORT_BASE + 63);
	refused(canary_form(g.rank[0], &g.table), -EADDRNOTAVAIL, "not where this member is");
	g.peer[0] = place(g.rank[0]);
	g.table.start_within = 3600001;
	refused(canary_form(g.rank[0], &g.table), -ERANGE, "start-within");
	g.table.start_within = 0;
	g.table.reserved[3] = 1;
	refused(canary_form(g.rank[0], &g.table), -EINVAL, "reserved");
	g.table.reserved[3] = 0;
	tap(!system("ip link set lo mtu 1400"), "a small path");
	refused(canary_form(g.rank[0], &g.table), -EMSGSIZE, "no packets of 1500 bytes");
	refused(canary_form(g.rank[1], &g.table), -EMSGSIZE, "path to rank 0");
	tap(!system("ip link set lo mtu 65536"), "a large path");
	tap(!form_all(&g), "after all of this it is formed");
	refused(canary_form(g.rank[1], &g.table), -EISCONN, "has been formed");
	/* the same session again, at ports that have it */
	tap(!open_group(&h, EPOCH, &g), "another one at its ports");
	refused(canary_form(h.rank[2], &h.table), -EADDRINUSE, "epoch 1000, is at this port");
	h.table.epoch++;
	tap(!form_all(&h) && !sum(&h, 100, 1) && !sum(&g, 100, 2), "another epoch is fine");
	close_group(&h);
	close_group(&g);
	/* the session of a communicator that joined */
	join_group(&g);
	open_group(&h, epoch_of(g.rank[0]), &g);
	refused(canary_form(h.rank[1], &h.table), -EADDRINUSE, "is at this port already");
	close_group(&h);
	tap(!sum(&g, 100, 2), "which goes on");
	close_group(&g);
}

/* One table, epoch and salt make one session key: with a pre-shared key, a salt is a must. */
static void test_key(void)
{
	struct group g;
	int wrong = open_ranks(&g, 0, 7, NULL);

	refused(canary_form(g.rank[0], &g.table), -ENOKEY, "a key needs a salt");
	g.table.salt[CANARY_SALT - 1] = 1;
	tap(!wrong && !form_all(&g) && !sum(&g, 3000, 2), "a key and a salt");
	close_group(&g);
}

/* One member has another table: all get an error, and none has a wrong sum. */
static void test_differs(void)
{
	struct canary_params p;
	uint64_t request[RANKS];
	int32_t v[RANKS] = { 1, 2, 3, 4 };
	int i, err, ended = 0, told = 0;
	struct group g;

	memset(&g, 0, sizeof(g));
	for (i = 0; i < RANKS; i++) {
		table_params(&p, i, NULL);
		p.dead_after = 500;
		open_rank(&p, &g.rank[i]);
		g.peer[i] = place(g.rank[i]);
	}
	g.table = (struct canary_table){ .epoch = EPOCH, .start_within = 1500, .peer = g.peer };
	for (i = 0; i < RANKS; i++) {
		g.table.salt[0] = i == 2;
		form(&g, i);
		canary_post(g.rank[i], &v[i], &v[i], 1, CANARY_INT32, CANARY_OP_SUM, &request[i]);
	}
	for (i = 0; i < RANKS; i++) {
		err = canary_wait(g.rank[i], request[i], WAIT_MS);
		ended += err == -EHOSTDOWN;
		told += !!strstr(canary_errmsg(), "another table");
		printf("# %s\n", canary_errmsg());
	}
	tap(ended == RANKS, "another salt: all end with an error");
	tap(told >= 2, "another salt: %d know why", told);
	close_group(&g);
}

#define AGAIN		30
#define AGAIN_COUNT	100000

/*
 * A process of rank 3. It waits for @go, and says at @ready where its member is. Then it forms the
 * communicator, and adds vectors of @value until an error comes, with which it exits.
 */
static void again_process(int32_t value, int go, int ready)
{
	static int32_t v[AGAIN_COUNT];
	struct canary_params p;
	struct canary *c = NULL;
	struct group g;
	int i, err;

	memset(&g, 0, sizeof(g));
	if (read(go, &g.peer, sizeof(g.peer)) < 0)
		_exit(1);
	table_params(&p, RANKS - 1, NULL);
	p.bind.port = htons(ROOT + RANKS);
	err = open_rank(&p, &c);
	g.peer[RANKS - 1] = place(c);
	if (err || write(ready, &g.peer[RANKS - 1], sizeof(g.peer[0])) < 0 ||
	    read(go, &g.peer, sizeof(g.peer)) < 0)
		_exit(2);
	g.table.epoch = EPOCH;
	g.table.peer = g.peer;
	err = canary_form(c, &g.table);
	while (!err) {
		for (i = 0; i < AGAIN_COUNT; i++)
			v[i] = value;
		err = canary_allreduce(c, v, v, AGAIN_COUNT, CANARY_INT32, CANARY_OP_SUM);
	}
	printf("# rank 3 with %d: %s\n", value, canary_errmsg());
	fflush(stdout);
	_exit(-err);
}

struct again {
	pid_t	pid;
	int	go[2];
	int	ready[2];
};

static void again_start(struct again *a, int32_t value)
{
	if (pipe(a->go) || pipe(a->ready))
		exit(1);
	fflush(stdout);
	a->pid = fork();
	if (!a->pid)
		again_process(value, a->go[0], a->ready[1]);
}

/* It opens its member, and forms it if @g has the table. */
static void again_go(const struct again *a, struct group *g)
{
	if (write(a->go[1], g->peer, sizeof(g->peer)) < 0 ||
	    read(a->ready[0], &g->peer[RANKS - 1], sizeof(g->peer[0])) < 0 ||
	    write(a->go[1], g->peer, sizeof(g->peer)) < 0)
		perror("pipe");
}

/* Return: does @v have the data of one process of rank 3, which gives 100 or 10000? */
static bool again_right(const int32_t *v)
{
	int i;

	for (i = 1; i < AGAIN_COUNT; i++)
		if (v[i] != v[0])
			return false;
	return v[0] == 6 + 100 || v[0] == 6 + 10000;
}

/* One sum. Rank 3 is killed in the middle of it if there is a @victim. Return: the error */
static int again_sum(struct group *g, const struct again *victim, const struct again *next,
		     int *wrong)
{
	static int32_t v[RANKS - 1][AGAIN_COUNT];
	uint64_t request[RANKS - 1];
	int i, k, one, err = 0;

	for (k = 0; k < RANKS - 1; k++) {
		for (i = 0; i < AGAIN_COUNT; i++)
			v[k][i] = k + 1;
		one = canary_post(g->rank[k], v[k], v[k], AGAIN_COUNT, CANARY_INT32, CANARY_OP_SUM,
				  &request[k]);
		if (one)
			return one;
	}
	if (victim) {
		usleep(victim->pid % 8 * 500);
		kill(victim->pid, SIGKILL);
		waitpid(victim->pid, NULL, 0);
		again_go(next, g);
	}
	for (k = 0; k < RANKS - 1; k++) {
		one = canary_wait(g->rank[k], request[k], WAIT_MS);
		if (one)
			err = one;
		else
			*wrong += !again_right(v[k]);
	}
	return err;
}

/*
 * A process is killed in the middle of a sum, and started again with the same table. Either nobody
 * has missed it, or all end with an error. The kernel's engine says goodbye for who is killed.
 */
static void test_again(void)
{
	struct canary_params p;
	struct again old, new;
	int i, status, err = 0, wrong = 0;
	struct group g;

	again_start(&old, 100);
	again_start(&new, 10000);
	memset(&g, 0, sizeof(g));
	for (i = 0; i < RANKS - 1; i++) {
		table_params(&p, i, NULL);
		p.bind.port = htons(ROOT + 1 + i);
		err |= open_rank(&p, &g.rank[i]);
		g.peer[i] = place(g.rank[i]);
	}
	g.table = (struct canary_table){ .epoch = EPOCH, .peer = g.peer };
	again_go(&old, &g);
	for (i = 0; i < RANKS - 1; i++)
		err |= form(&g, i);
	tap(!err, "again: three members, and a process of the fourth");
	for (i = 0; i < AGAIN && !err; i++)
		err = again_sum(&g, i == 5 ? &old : NULL, &new, &wrong);
	tap(!wrong, "again: no sum is wrong");
	printf("# after %d sums: %s\n", i, canary_errmsg());
	tap(err == -ESTALE || (engine == CANARY_ENGINE_KERNEL && err == -ECONNRESET),
	    "again: the others end with an error, %d", err);
	if (err == -ETIMEDOUT)
		kill(new.pid, SIGKILL);
	waitpid(new.pid, &status, 0);
	tap(WIFEXITED(status) && (WEXITSTATUS(status) == ESTALE ||
				  (engine == CANARY_ENGINE_KERNEL && WEXITSTATUS(status))),
	    "again: and so does the new process, %d", WEXITSTATUS(status));
	for (i = RANKS - 1; i-- > 0;)
		canary_close(g.rank[i]);
}

/* A rank 0 that draws the same epoch each time: it is the core itself, with a constant seed */
struct liar {
	struct cnr_comm	*core;
	int		fd;
};

static void liar_send(void *driver, const struct cnr_out *out)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = out->port,
		.sin_addr.s_addr = canary_addr_ip4(&out->addr),
	};
	u8 packet[sizeof(out->hdr) + CANARY_PAYLOAD_MAX];
	struct liar *liar = driver;

	memcpy(packet, &out->hdr, sizeof(out->hdr));
	if (out->len)
		memcpy(packet + sizeof(out->hdr), out->payload, out->len);
	if (sendto(liar->fd, packet, sizeof(out->hdr) + out->len, 0, (struct sockaddr *)&to,
		   sizeof(to)) < 0)
		perror("sendto");
}

static void liar_done(void *driver, const struct cnr_done *done)
{
}

static const struct cnr_driver liar_driver = {
	.send = liar_send, .completed = liar_done, .released = liar_done,
};

static u64 liar_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * CNR_SEC + ts.tv_nsec;
}

/* Lie until the rendezvous of @c ends. Return: its result */
static int lie(struct canary *c)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(ROOT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	}, from;
	struct cnr_config cfg = {
		.comm = COMM, .members = 2, .window = 16, .mtu = 1500, .port = htons(ROOT),
		.root_port = htons(ROOT), .addr = canary_addr_of_ip4(htonl(INADDR_LOOPBACK)),
		.root = canary_addr_of_ip4(htonl(INADDR_LOOPBACK)), .seed = "always the same",
	};
	struct liar liar = { .fd = socket(AF_INET, SOCK_DGRAM, 0) };
	u8 packet[4096] __attribute__((aligned(8)));
	struct cnr_in in = { .hdr = (void *)packet };
	socklen_t len;
	size_t size;
	ssize_t n;
	int i, err = -ETIMEDOUT;

	size = (cnr_size(&cfg) + 63) & ~63UL;
	liar.core = cnr_init(memset(aligned_alloc(64, size), 0, size), &cfg);
	if (bind(liar.fd, (struct sockaddr *)&at, sizeof(at)))
		perror("bind");
	cnr_connect(liar.core, liar_now());
	for (i = 0; i < 20000 && err == -ETIMEDOUT; i++) {
		len = sizeof(from);
		n = recvfrom(liar.fd, packet, sizeof(packet), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);
		if (n > 0) {
			in.len = n;
			in.addr = canary_addr_of_ip4(from.sin_addr.s_addr);
			in.port = from.sin_port;
			cnr_input(liar.core, liar_now(), &in);
		}
		cnr_timer(liar.core, liar_now());
		cnr_drive(liar.core, liar_now(), &liar_driver, &liar);
		err = canary_connect(c, 0);
		usleep(1000);
	}
	close(liar.fd);
	free(liar.core);
	return err == -EISCONN ? 0 : err;
}

/* A member joins, and learns the epoch of a session that is at its port already. */
static void test_liar(void)
{
	struct canary *first, *second;
	struct canary_params p;
	int err;

	params(&p, 1, NULL);
	p.members = 2;
	p.linger = 0;
	open_rank(&p, &first);
	err = lie(first);
	tap(!err, "rank 0 draws an epoch");
	params(&p, 1, first);
	p.members = 2;
	p.linger = 0;
	open_rank(&p, &second);
	err = lie(second);
	refused(err, -EADDRINUSE, "in that session");
	canary_close(second);
	canary_close(first);
}

static void test_engine(uint32_t which)
{
	engine = which;
	test_many();
	test_own_ports();
	test_late();
	test_later_than_dead();
	test_refused();
	test_key();
	test_differs();
	test_again();
	test_liar();
}

int main(void)
{
	if (!own_net()) {
		tap_skip("everything", "may not make a network namespace");
		tap_done("user/table");
		return 4;
	}
	test_engine(CANARY_ENGINE_USER);
	if (access("/sys/module/canary", F_OK) == 0)
		test_engine(CANARY_ENGINE_KERNEL);
	else
		tap_skip("the same by AF_CANARY", "module canary is not loaded");
	return tap_done("user/table");
}
