// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a communicator of MPI gets one of libcanary: formed from a table (canary_form()) that the
 * ranks exchange by the host functions, tried out, and used only if it worked at all ranks.
 *
 * All communicators of a process share one UDP port. A member of libcanary that is never formed
 * keeps it, as the port has to be known before anything else.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cmpi.h"
#include "userspace/common/own_address.h"

#define LINGER		5000		/* ms that others may take to get their last results */
#define TRIAL_BYTES	(256 << 10)	/* at most; every member leads a block, if that suffices */

/* What each rank tells the others; in the byte order of the machine, as data of canary are */
struct hello {
	struct canary_peer	peer;
	uint32_t		willing;	/* 0: this rank has no port, @why says why */
	uint32_t		mtu;
	uint32_t		comm;		/* these count if they come from rank 0 */
	uint32_t		epoch;
	struct cmpi_offer	offer;
	uint8_t			salt[CANARY_SALT];
	uint8_t			key[16];
	char			why[160];
};

/* The process's port. It lives from the first communicator to cmpi_close_all(). */
static struct {
	pthread_mutex_t	lock;		/* of opening it */
	struct canary	*holder;
	unsigned int	mtu;
	uint8_t		key[16];	/* of settings.key_file; else 0 */
	pid_t		pid;
} port = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* Parameters that all members of this process have */
static int fill_params(struct canary_params *p, const struct cmpi_settings *s)
{
	int err;

	canary_params_init(p);
	p->table = 1;
	p->dead_after = s->dead_after;
	p->linger = LINGER;
	err = canary_params_set(p, "engine", s->engine);
	if (!err && s->key_file[0])
		err = canary_params_set(p, "key-file", s->key_file);
	return err;
}

/* The caller holds port.lock. Return: 0, or an error about which canary_errmsg() has a sentence */
static int open_port(const struct cmpi_settings *s, char *why, size_t len)
{
	struct canary_params p;
	int err;

	/* That of the parent before a fork() is the parent's. Its threads are not here. */
	if (port.holder && port.pid != getpid())
		port.holder = NULL;
	if (port.holder)
		return 0;
	err = fill_params(&p, s);
	if (err)
		goto failed;
	err = own_address(s->interfaces, true, &p.bind.addr, &port.mtu);
	if (err) {
		snprintf(why, len, "interfaces: none of '%s' has an IPv4 address", s->interfaces);
		return err;
	}
	p.comm = s->comm_first;
	p.members = 1;
	err = canary_open(&p, &port.holder);
	if (err)
		goto failed;
	memcpy(port.key, p.key, sizeof(port.key));
	port.pid = getpid();
	return 0;
failed:
	snprintf(why, len, "%s", canary_errmsg());
	return err;
}

static void fill_hello(struct hello *h, struct cmpi_comm *c, const struct cmpi_settings *s,
		       uint32_t job)
{
	struct canary_info info;
	int err;

	memset(h, 0, sizeof(*h));
	pthread_mutex_lock(&port.lock);
	err = open_port(s, h->why, sizeof(h->why));
	pthread_mutex_unlock(&port.lock);
	if (err)
		return;
	memset(&info, 0, sizeof(info));
	canary_get_info(port.holder, &info, sizeof(info));
	h->peer = info.local;
	cmpi_node_offer(c, s, port.holder, &h->offer);
	h->mtu = port.mtu < s->mtu ? port.mtu : s->mtu;
	h->comm = s->comm_first + job % (s->comm_last - s->comm_first + 1ULL);
	if (getrandom(&h->epoch, sizeof(h->epoch), 0) != sizeof(h->epoch) ||
	    getrandom(h->salt, sizeof(h->salt), 0) != sizeof(h->salt) ||
	    getrandom(h->key, sizeof(h->key), 0) != sizeof(h->key)) {
		snprintf(h->why, sizeof(h->why), "no random numbers");
		return;
	}
	h->epoch |= !h->epoch;
	h->willing = 1;
}

/* Return: NULL, or the first rank's reason why there can be no communicator */
static const char *unwilling(const struct hello *all, unsigned int members, unsigned int *rank)
{
	for (*rank = 0; *rank < members; (*rank)++)
		if (!all[*rank].willing)
			return all[*rank].why[0] ? all[*rank].why : "no reason given";
	return NULL;
}

static int open_member(struct cmpi_comm *c, const struct cmpi_settings *s, const struct hello *all)
{
	static const uint8_t none[16];
	struct canary_params p;
	unsigned int i;
	int err;

	err = fill_params(&p, s);
	if (err)
		return err;
	p.comm = all[0].comm;
	p.rank = c->rank;
	p.members = c->members;
	if (c->node) {
		p.members = cmpi_node_members(c->node, &i);
		p.rank = i;
	}
	p.share = port.holder;
	p.mtu = all[0].mtu;
	for (i = 1; i < c->members; i++)
		if (all[i].mtu < p.mtu)
			p.mtu = all[i].mtu;
	/* A key of the user's is the same at all ranks, or the trial fails. */
	memcpy(p.key, memcmp(port.key, none, sizeof(none)) ? port.key : all[0].key, sizeof(p.key));
	err = canary_open(&p, &c->canary);
	if (!err && c->node)
		cmpi_node_carry(c->node, c->canary);
	return err;
}

static int form(struct cmpi_comm *c, const struct hello *all)
{
	struct canary_table table = { .epoch = all[0].epoch };
	unsigned int i, own, n = c->node ? cmpi_node_members(c->node, &own) : c->members;
	struct canary_peer *peer = calloc(n, sizeof(*peer));
	int err;

	if (!peer)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		peer[i] = all[c->node ? cmpi_node_rank(c->node, i) : i].peer;
	memcpy(table.salt, all[0].salt, sizeof(table.salt));
	table.peer = peer;
	err = canary_form(c->canary, &table);
	free(peer);
	return err;
}

/* Element @i of the trial's vector at @rank, and the sum over all ranks */
static uint32_t trial_value(unsigned int rank, size_t i)
{
	return (rank + 1) * 0x01000193U + i;
}

static uint32_t trial_sum(unsigned int members, size_t i)
{
	return members * (members + 1ULL) / 2 * 0x01000193U + members * i;
}

static int trial_wait(struct cmpi_comm *c, uint64_t id, const struct cmpi_host *host,
		      unsigned int ms)
{
	uint64_t until = now_us() + ms * 1000ULL;
	int err;

	do {
		err = cmpi_await(c, id, 1);
		if (host->progress)
			host->progress();
	} while (err == -ETIMEDOUT && now_us() < until);
	return err;
}

/*
 * Sum up packets of full length, of which each member leads one. @v has TRIAL_BYTES. The library
 * may still write to it after a timeout, so the caller frees it after canary_close(). It closes
 * when all ranks are done. Else they would find that this one left, in place of what is wrong.
 */
static int try_sum(struct cmpi_comm *c, const struct cmpi_settings *s,
		   const struct cmpi_host *host, uint32_t *v, char *why, size_t len)
{
	size_t i, block, count = TRIAL_BYTES / 4;
	struct canary_call call = {
		.sendbuf = v, .recvbuf = v, .dtype = CANARY_UINT32, .op = CANARY_OP_SUM,
	};
	uint64_t id;
	int err;

	/* With node leaders, not all ranks know how long a block is. */
	block = c->node ? count : canary_block_elements(c->canary, call.dtype, call.op);
	if (block * c->members < count)
		count = block * c->members;

	for (i = 0; i < count; i++)
		v[i] = trial_value(c->rank, i);
	call.count = count;
	err = cmpi_post(c, &call, &id);
	if (!err)
		err = trial_wait(c, id, host, s->trial);
	if (err == -ETIMEDOUT)
		snprintf(why, len, "no sum within %u ms", s->trial);
	else if (err)
		snprintf(why, len, "%s", cmpi_errmsg(c));
	for (i = 0; !err && i < count; i++) {
		if (v[i] != trial_sum(c->members, i)) {
			snprintf(why, len, "a wrong sum");
			err = -EBADMSG;
		}
	}
	return err;
}

static int establish(struct cmpi_comm *c, const struct cmpi_settings *s,
		     const struct cmpi_host *host, const struct hello *all, uint32_t *v, char *why,
		     size_t len)
{
	int err;

	if (!v) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	c->pid = getpid();
	err = cmpi_node_join(c, &all->offer, sizeof(*all), why);
	if (err)
		return err;
	if (!c->node || cmpi_node_leads(c->node))
		err = open_member(c, s, all) ?: form(c, all);
	if (err) {
		snprintf(why, len, "%s", canary_errmsg());
		return err;
	}
	return try_sum(c, s, host, v, why, len);
}

static void refuse(const struct cmpi_comm *c, const char *why)
{
	fprintf(stderr, "canary: a communicator of %u processes does without: rank %u: %s\n",
		c->members, c->rank, why);
}

int cmpi_form(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	      uint32_t job)
{
	struct hello mine, *all = calloc(c->members, sizeof(*all));
	uint32_t *trial = malloc(TRIAL_BYTES);
	const char *reason;
	char why[160] = "";
	unsigned int who;
	bool formed;
	int wrong_at;
	int err;

	/* Until it is formed. Errors of the MPI library end it here, whatever the others do. */
	c->state = CMPI_FAILED;
	/* Without it, nothing can be said to the others. */
	if (!all) {
		free(trial);
		return -ENOMEM;
	}
	fill_hello(&mine, c, s, job);
	err = host->allgather(host->arg, &mine, all, sizeof(mine));
	if (err)
		goto out;
	/* The first rank where it does not work; or the number of ranks */
	reason = unwilling(all, c->members, &who);
	wrong_at = who;
	if (!reason) {
		if (establish(c, s, host, all, trial, why, sizeof(why)))
			wrong_at = c->rank;
		err = host->least(host->arg, &wrong_at);
	}
	if (wrong_at == c->rank)
		refuse(c, reason ? reason : why);
	formed = !err && wrong_at == c->members;
	cmpi_node_ready(c->node);
	if (formed && !s->min_bytes)
		err = cmpi_measure(c, s, host);
	if (err || !formed)
		cmpi_close(c);
	else
		c->state = CMPI_FORMED;
	cmpi_count_formed(c->state == CMPI_FORMED, c->node);
out:
	free(trial);
	explicit_bzero(&mine, sizeof(mine));
	explicit_bzero(all, c->members * sizeof(*all));
	free(all);
	return err;
}

void cmpi_close(struct cmpi_comm *c)
{
	/* The child of a fork() has no thread of the engine, and the parent goes on. */
	if (c->node && c->pid == getpid())
		cmpi_node_stop(c->node);
	if (c->canary && c->pid == getpid())
		canary_close(c->canary);
	c->canary = NULL;
	cmpi_node_free(c->node);
	c->node = NULL;
	c->state = CMPI_FAILED;
}

void cmpi_close_all(void)
{
	if (port.holder && port.pid == getpid())
		canary_close(port.holder);
	port.holder = NULL;
}
