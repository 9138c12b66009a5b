// SPDX-License-Identifier: BSD-2-Clause
/* See testnet.h. */
#include <stdio.h>
#include <stdlib.h>

#include "testnet_inside.h"

u64 tnet_random(struct tnet *s)
{
	s->rng += 0x9e3779b97f4a7c15ULL;
	u64 z = s->rng;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

bool tnet_chance(struct tnet *s, u32 ppm)
{
	return ppm && tnet_random(s) % 1000000 < ppm;
}

static bool tnet_earlier(const struct tnet_event *a, const struct tnet_event *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void tnet_push(struct tnet *s, struct tnet_event e)
{
	u32 i;

	if (s->events == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = realloc(s->heap, s->room * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	e.seq = s->seq++;
	i = s->events++;
	while (i && tnet_earlier(&e, &s->heap[(i - 1) / 2])) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = e;
}

static struct tnet_event tnet_pop(struct tnet *s)
{
	struct tnet_event first = s->heap[0];
	struct tnet_event last = s->heap[--s->events];
	u32 i = 0, k;

	while ((k = 2 * i + 1) < s->events) {
		if (k + 1 < s->events && tnet_earlier(&s->heap[k + 1], &s->heap[k]))
			k++;
		if (!tnet_earlier(&s->heap[k], &last))
			break;
		s->heap[i] = s->heap[k];
		i = k;
	}
	if (s->events)
		s->heap[i] = last;
	return first;
}

/* Context of the driver functions of a member */
struct tnet_self {
	struct tnet *s;
	int rank;
};

/*
 * cnr_config.place: exactly as long as the data are, aligned to 4 and not to 8, and never as it was
 * the last time. What the core does not write there would not be the same again. @driver: a node
 */
static void *tnet_place(void *driver, const struct cnr_out *out)
{
	struct tnet_node *n = driver;

	free(n->place);
	n->place = malloc(4 + out->len);
	memset(n->place, n->fill += 0x35, 4 + out->len);
	return n->fill % 8 ? n->place + 4 : NULL;
}

/* Unlike the checksum of a packet, it sees words that changed places. */
static u64 tnet_digest(const struct cnr_out *out)
{
	const u8 *data = out->payload;
	u64 digest = 0xcbf29ce484222325ULL;
	u32 i;

	for (i = 0; i < out->len; i++)
		digest = (digest ^ data[i]) * 0x100000001b3ULL;
	return digest;
}

/* @out goes to @n's place: the words of a contribution are the same each time. */
static void tnet_made(struct tnet_node *n, const struct cnr_out *out)
{
	struct tnet_made *m = &n->made[be32_to_cpu(out->hdr.block) % TNET_MADE];
	const struct canary_hdr *h = &out->hdr;
	u64 digest;

	if (h->type != CANARY_CONTRIBUTION || !n->place || out->payload != n->place + 4)
		return;
	digest = tnet_digest(out);
	if (m->known && m->block == h->block && m->opsig == h->opsig && m->digest != digest) {
		fprintf(stderr, "block %u: other words when sent again\n", be32_to_cpu(h->block));
		abort();
	}
	*m = (struct tnet_made){ true, h->block, h->opsig, digest };
}

static void driver_send(void *driver, const struct cnr_out *out)
{
	struct tnet_event e = { .port = cpu_to_be16(CANARY_PORT_BASE) };
	struct tnet_self *self = driver;
	struct tnet *s = self->s;

	if (s->node[self->rank].dead)
		return;
	if (canary_parse(&out->hdr, sizeof(out->hdr) + out->len) != CANARY_DROP_NONE) {
		fprintf(stderr, "rank %d sends what the parser refuses, type %d\n", self->rank,
			out->hdr.type);
		abort();
	}
	if (!s->cfg.pinned)
		tnet_made(&s->node[self->rank], out);
	e.to = tnet_next_hop(s, self->rank, &out->addr, be32_to_cpu(out->hdr.block));
	e.addr = tnet_addr(self->rank);
	e.daddr = out->addr;
	e.dport = out->port;
	if (e.to != TNET_NOWHERE)
		tnet_send(s, e, &out->hdr, out->payload, out->len, self->rank);
}

static void driver_completed(void *driver, const struct cnr_done *done)
{
	struct tnet_self *self = driver;

	tnet_complete(self->s, self->rank, done);
}

static void driver_released(void *driver, const struct cnr_done *done)
{
	struct tnet_self *self = driver;

	tnet_release(&self->s->node[self->rank], done);
}

static const struct cnr_driver tnet_driver = {
	.send = driver_send, .completed = driver_completed, .released = driver_released,
};

enum cnr_left tnet_pump(struct tnet *s, int rank)
{
	struct tnet_node *n = &s->node[rank];
	struct tnet_self self = { s, rank };
	enum cnr_left left = cnr_drive(n->comm, s->now, &tnet_driver, &self);

	/* The member works later, so that packets may come in between. */
	if (left == CNR_LEFT_WORK && !n->working) {
		n->working = true;
		tnet_push(s, (struct tnet_event){
			.kind = TNET_WORK, .at = s->now + TNET_WORK_NS, .to = rank });
	}
	return left;
}

static void tnet_deliver(struct tnet *s, struct tnet_event *e)
{
	struct cnr_in in = {
		.hdr = (const void *)e->data,
		.len = e->len,
		.addr = e->addr,
		.port = e->port,
	};

	if (e->to < 0) {
		tnet_switch(s, e);
	} else if (!s->node[e->to].dead) {
		cnr_input(s->node[e->to].comm, s->now, &in);
		tnet_pump(s, e->to);
	}
}

static struct cnr_comm *tnet_member(struct tnet *s, int rank)
{
	struct cnr_config c = {
		.comm = 7,
		.rank = rank,
		.members = s->cfg.members,
		.window = s->cfg.window,
		.mtu = s->cfg.mtu ? s->cfg.mtu : 1500,
		.slice = s->cfg.slice,
		.shapes = s->cfg.shapes,
		.shards = s->cfg.shards,
		.addr = tnet_addr(rank),
		.root = tnet_addr(0),
		.root_port = cpu_to_be16(CANARY_PORT_BASE),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.fixed_first = s->cfg.fixed_first,
		.first_block = s->cfg.first_block,
		.dead_after = s->cfg.dead_after,
		.linger = s->cfg.linger,
		.algorithm = rank && !s->cfg.formed ? CANARY_ALG_AUTO : s->cfg.algorithm,
		.trees = rank && !s->cfg.formed ? 0 : s->cfg.trees,
		.run = rank && !s->cfg.formed ? 0 : s->cfg.run,
		.given = s->cfg.formed,
		.place = tnet_place,
		.driver = &s->node[rank],
	};
	u32 k;

	for (k = 0; k < c.trees; k++)
		c.tree[k] = k;
	if (s->cfg.key)
		memset(c.key, 0x5a, sizeof(c.key));
	for (k = 0; k < sizeof(c.seed); k++)
		c.seed[k] = tnet_random(s);
	return cnr_init(calloc(1, cnr_size(&c)), &c);
}

struct tnet *tnet_new(const struct tnet_config *cfg)
{
	struct tnet *s = calloc(1, sizeof(*s));
	u32 i;

	s->cfg = *cfg;
	s->rng = cfg->seed;
	s->now = CNR_SEC;
	if (!s->cfg.timeout_ns)
		s->cfg.timeout_ns = 100 * CNR_USEC;
	tnet_switches(s);
	for (i = 0; i < cfg->members; i++)
		s->node[i].comm = tnet_member(s, i);
	return s;
}

void tnet_restart(struct tnet *s, int rank)
{
	struct tnet_node *n = &s->node[rank];

	free(n->comm);
	tnet_free_vectors(n);
	n->comm = tnet_member(s, rank);
	n->dead = false;
	n->posted = 0;
	n->completed = 0;
	n->last_error = 0;
	memset(n->made, 0, sizeof(n->made));
	s->run[rank]++;
}

void tnet_free(struct tnet *s)
{
	u32 i;

	for (i = 0; i < s->cfg.members; i++) {
		free(s->node[i].comm);
		free(s->node[i].place);
		tnet_free_vectors(&s->node[i]);
	}
	while (s->events)
		free(s->heap[--s->events].data);
	free(s->heap);
	if (s->cfg.switches)
		s->cfg.switches->end(s);
	for (i = 0; i < s->switches; i++) {
		free(s->slot[i]);
		free(s->restored[i]);
	}
	free(s);
}

struct cnr_comm *tnet_comm(struct tnet *s, int rank)
{
	return s->node[rank].comm;
}

u64 tnet_now(const struct tnet *s)
{
	return s->now;
}

void tnet_kill(struct tnet *s, int rank)
{
	s->node[rank].dead = true;
}

void tnet_revive(struct tnet *s, int rank)
{
	s->node[rank].dead = false;
}

/* Return: time of the next event of the network or of a member's timer */
static u64 tnet_next(struct tnet *s, int *timer)
{
	u64 at = s->events ? s->heap[0].at : CNR_NEVER;
	u64 d;
	u32 i;

	*timer = -1;
	for (i = 0; i < s->cfg.members; i++) {
		d = s->node[i].dead ? CNR_NEVER : cnr_deadline(s->node[i].comm);
		if (d < at) {
			at = d;
			*timer = i;
		}
	}
	return at;
}

/*
 * Run a member's timer. A core that asks for the same time again makes its driver spin, unless it
 * says that it has work left. Then others have their turn first.
 */
static void tnet_timer(struct tnet *s, int rank)
{
	struct cnr_comm *c = s->node[rank].comm;

	cnr_timer(c, s->now);
	if (tnet_pump(s, rank) == CNR_LEFT_WORK || cnr_deadline(c) > s->now)
		return;
	fprintf(stderr, "rank %d has a deadline in the past after its timer, at %llu us\n", rank,
		(unsigned long long)(s->now / CNR_USEC));
	abort();
}

bool tnet_run(struct tnet *s, u64 until)
{
	struct tnet_event e;
	int timer;
	u64 at;

	for (;;) {
		at = tnet_next(s, &timer);
		if (at == CNR_NEVER)
			return false;
		if (at > until) {
			s->now = until;
			return true;
		}
		if (at > s->now)
			s->now = at;
		if (timer >= 0) {
			tnet_timer(s, timer);
			continue;
		}
		e = tnet_pop(s);
		if (e.kind == TNET_FLUSH) {
			tnet_flush(s, &e);
		} else if (e.kind == TNET_WORK) {
			s->node[e.to].working = false;
			tnet_pump(s, e.to);
		} else {
			tnet_deliver(s, &e);
		}
		free(e.data);
	}
}

void tnet_pass(struct tnet *s, u64 until)
{
	tnet_run(s, until);
	s->now = until;
}

void tnet_connect(struct tnet *s, int rank)
{
	u32 i;

	for (i = 0; i < s->cfg.members; i++) {
		if (rank >= 0 && i != (u32)rank)
			continue;
		cnr_connect(s->node[i].comm, s->now);
		tnet_pump(s, i);
	}
}

void tnet_table(const struct tnet *s, struct cnr_table *t, struct canary_peer *peer)
{
	u32 i;

	memset(t, 0, sizeof(*t));
	memset(peer, 0, s->cfg.members * sizeof(*peer));
	for (i = 0; i < s->cfg.members; i++) {
		peer[i].addr = tnet_addr(i);
		peer[i].port = cpu_to_be16(CANARY_PORT_BASE);
	}
	t->peer = peer;
	t->members = s->cfg.members;
	t->epoch = 0x1234567;
	t->salt[8] = 1;
}

int tnet_form(struct tnet *s, int rank, const struct cnr_table *t)
{
	int err = 0;
	u32 i;

	for (i = 0; i < s->cfg.members; i++) {
		if (rank >= 0 && i != (u32)rank)
			continue;
		memcpy(s->node[i].with, s->run, sizeof(s->run));
		err = cnr_form(s->node[i].comm, s->now, t);
		tnet_pump(s, i);
	}
	return err;
}

static bool tnet_all_state(const struct tnet *s, enum cnr_state state)
{
	u32 i;

	for (i = 0; i < s->cfg.members; i++)
		if (!s->node[i].dead && cnr_state(s->node[i].comm) != state)
			return false;
	return true;
}

bool tnet_wait_state(struct tnet *s, enum cnr_state state, u64 ns)
{
	u64 end = s->now + ns;

	while (!tnet_all_state(s, state)) {
		if (s->now >= end || !tnet_run(s, s->now + 100 * CNR_USEC))
			return tnet_all_state(s, state);
	}
	return true;
}

bool tnet_wait_over(struct tnet *s, u64 ns)
{
	u64 end = s->now + ns;
	u32 i;

	for (;;) {
		for (i = 0; i < s->cfg.members; i++)
			if (!s->node[i].dead && cnr_state(s->node[i].comm) != CNR_CLOSED &&
			    cnr_state(s->node[i].comm) != CNR_FAILED)
				break;
		if (i == s->cfg.members)
			return true;
		if (s->now >= end)
			return false;
		tnet_run(s, s->now + 100 * CNR_USEC);
	}
}

u32 tnet_completed(const struct tnet *s, int rank)
{
	return s->node[rank].completed;
}

u32 tnet_posted(const struct tnet *s, int rank)
{
	return s->node[rank].posted;
}

u32 tnet_wrong(const struct tnet *s)
{
	return s->wrong;
}

int tnet_last_error(const struct tnet *s, int rank)
{
	return s->node[rank].last_error;
}

bool tnet_wait_completed(struct tnet *s, u32 operations, u64 ns)
{
	u64 end = s->now + ns;
	u32 i;

	for (;;) {
		for (i = 0; i < s->cfg.members; i++)
			if (!s->node[i].dead && s->node[i].completed < operations)
				break;
		if (i == s->cfg.members)
			return true;
		if (s->now >= end || !tnet_run(s, s->now + 100 * CNR_USEC))
			return false;
	}
}

void tnet_close(struct tnet *s, int rank, bool abort)
{
	cnr_close(s->node[rank].comm, s->now, abort);
	tnet_pump(s, rank);
}

struct tnet_faults *tnet_faults(struct tnet *s)
{
	return &s->cfg.faults;
}

const void *tnet_payload(const struct tnet *s)
{
	return s->payload;
}

enum canary_drop tnet_inject(struct tnet *s, int rank, const void *packet, u32 len, int from)
{
	struct cnr_in in = {
		.len = len,
		.addr = tnet_addr(from),
		.port = cpu_to_be16(CANARY_PORT_BASE),
	};
	void *copy = malloc(len > sizeof(struct canary_hdr) ? len : sizeof(struct canary_hdr));
	enum canary_drop drop;

	memcpy(copy, packet, len);
	in.hdr = copy;
	drop = cnr_input(s->node[rank].comm, s->now, &in);
	free(copy);
	tnet_pump(s, rank);
	return drop;
}

const struct tnet_traffic *tnet_traffic(const struct tnet *s)
{
	return &s->traffic;
}
