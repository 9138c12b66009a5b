// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hosts: kmod/core with a port. This file does what the driver of a real host does: frames, timers,
 * posting operations one after the other. It takes packets from the core when the port has room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "core/driver.h"
#include "host.h"
#include "util.h"

#define OFF_IP		14
#define OFF_UDP		34
#define OFF_CANARY	42
#define TTL		64

bool host_takes_part(const struct sim *s, uint32_t host)
{
	return s->host[host].job;
}

static uint16_t ip_checksum(const struct iphdr *ip)
{
	const uint16_t *word = (const uint16_t *)ip;
	uint32_t i, sum = 0;

	for (i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static struct packet *frame_of(struct sim *s, uint32_t host, const struct cnr_out *out)
{
	static const uint8_t head[14] = {
		2, 0xca, 0, 0, 0, 1, 2, 0xca, 0, 0, 0, 2, 0x08, 0x00,
	};
	bool made = out->len && s->maker && out->payload == s->scratch;
	bool shared = out->len && out->hdr.type == CANARY_RESULT;
	struct packet *p = packet_new(s, made || shared || !out->len ? PACKET_HEAD : PACKET_WHOLE);
	struct iphdr *ip = (struct iphdr *)(p->frame + OFF_IP);
	struct udphdr *udp = (struct udphdr *)(p->frame + OFF_UDP);

	p->length = FRAME_HEADERS + out->len;
	p->wire = net_wire(s, p->length);
	memcpy(p->frame, head, sizeof(head));
	memset(ip, 0, sizeof(*ip));
	*(uint8_t *)ip = 0x45;
	ip->tot_len = htobe16(p->length - OFF_IP);
	ip->frag_off = htobe16(0x4000);
	ip->ttl = TTL;
	ip->protocol = 17;
	ip->saddr = htobe32(sim_addr(s, s->topo.switches + host));
	ip->daddr = canary_addr_ip4(&out->addr);
	ip->check = ip_checksum(ip);
	udp->source = htobe16(CANARY_PORT_BASE);
	udp->dest = out->port;
	udp->len = htobe16(p->length - OFF_UDP);
	udp->check = 0;
	memcpy(p->frame + OFF_CANARY, &out->hdr, sizeof(out->hdr));
	if (made) {
		p->maker = s->maker;
		p->index = s->made;
	} else if (shared) {
		packet_body(s, p, out->payload, out->len);
	} else if (out->len) {
		memcpy(p->frame + FRAME_HEADERS, out->payload, out->len);
	}
	return p;
}

static void post_next(struct sim *s, struct sim_host *h, uint64_t now)
{
	struct cnr_op o = {
		.op = scenario_operator(&s->cfg),
		.dtype = scenario_dtype(&s->cfg),
		.how = scenario_how(&s->cfg),
	};
	struct host_op *op;
	int err;

	o.elements = s->cfg.bytes / cnr_element(o.op, o.dtype);
	op = sim_zalloc(1, sizeof(*op) + cnr_memory(h->comm, &o));
	o.memory = op + 1;
	o.cookie = (uintptr_t)op;
	op->sim = s;
	op->host = h;
	op->seq = h->posted++;
	h->op = op;
	if (h->job->held) {
		op->data = sim_alloc(s->cfg.bytes);
		held_fill(h, op->seq, op->data);
		o.data = op->data;
	} else {
		o.at = vector_at;
	}
	h->posted_at = now;
	err = cnr_post(h->comm, now / PS_PER_NS, &o);
	if (err) {
		fprintf(stderr, "canary-sim: cannot post: %s\n", strerror(-err));
		exit(1);
	}
	h->more = true;
}

static void over(struct sim *s, struct sim_host *h, uint64_t now, bool failed)
{
	s->running--;
	s->failed += failed;
	h->job->running--;
	if (now > h->job->end)
		h->job->end = now;
	if (now > s->end)
		s->end = now;
}

/* Noise delays single packets, so that others overtake them. */
static bool delayed(struct sim *s, struct sim_host *h, uint32_t host, struct packet *p)
{
	int lane;

	if (!s->cfg.noise || random_below(&h->random, 1000000) >= s->cfg.noise)
		return false;
	lane = engine_lane(&s->engine, s->cfg.noise_delay);
	if (lane == ENGINE_HEAP)
		engine_at(&s->engine, s->engine.now + s->cfg.noise_delay, EVENT_DELAYED, host, p);
	else
		engine_after(&s->engine, lane, EVENT_DELAYED, host, p);
	return true;
}

/* Context of the driver functions below */
struct host_self {
	struct sim *s;
	struct sim_host *h;
	uint32_t host;
	uint64_t now;	/* ps */
};

static bool host_room(void *driver)
{
	struct host_self *self = driver;

	return !self->s->link[self->h->link].head;
}

static void host_send(void *driver, const struct cnr_out *out)
{
	struct host_self *self = driver;
	struct packet *p = frame_of(self->s, self->host, out);

	if (!delayed(self->s, self->h, self->host, p))
		net_send(self->s, self->h->link, p);
}

static void op_free(const struct cnr_done *done)
{
	struct host_op *op = (void *)(uintptr_t)done->cookie;

	free(op->data);
	free(op);
}

/* Post the next operation at once. */
static void host_completed(void *driver, const struct cnr_done *done)
{
	struct host_self *self = driver;
	struct sim_host *h = self->h;
	struct sim *s = self->s;

	if (h->job->held && !done->error)
		held_check(s, h, h->completed, done->data, done->method);
	s->op_time[h->completed++] += self->now - h->posted_at;
	if (done->error)
		over(s, h, self->now, true);
	else if (h->completed == s->cfg.operations)
		over(s, h, self->now, false);
	else
		post_next(s, h, self->now);
}

static void host_released(void *driver, const struct cnr_done *done)
{
	op_free(done);
}

static const struct cnr_driver host_driver = {
	.room = host_room, .send = host_send,
	.completed = host_completed, .released = host_released,
};

/* Complete what is done at @now. That posts the next operation. */
static void complete(struct sim *s, struct sim_host *h, uint64_t now)
{
	struct host_self self = { .s = s, .h = h, .now = now };

	cnr_hand_back(h->comm, &host_driver, &self);
}

static void arm(struct sim *s, struct sim_host *h, uint32_t host)
{
	u64 at = cnr_deadline(h->comm);

	if (at == CNR_NEVER)
		return;
	at = max_t(u64, at * PS_PER_NS, s->engine.now);
	if (at < h->timer_at) {
		h->timer_at = at;
		engine_at(&s->engine, at, EVENT_TIMER, host, NULL);
	}
}

static void take(struct sim *s, struct sim_host *h, struct packet *p)
{
	struct cnr_in in = {
		.hdr = (const struct canary_hdr *)(p->frame + OFF_CANARY),
		.len = p->length - OFF_CANARY,
		.addr = canary_addr_of_ip4(((const struct iphdr *)(p->frame + OFF_IP))->saddr),
		.port = ((const struct udphdr *)(p->frame + OFF_UDP))->source,
	};
	uint64_t now = p->arrived;

	if (p->body) {
		in.payload = p->body->data;
	} else if (p->maker) {
		host_make(s, p, (uint32_t *)(s->bench->frame + FRAME_HEADERS));
		in.payload = s->bench->frame + FRAME_HEADERS;
	}
	cnr_input(h->comm, now / PS_PER_NS, &in);
	vector_check(s, h);
	packet_free(s, p);
	complete(s, h, now);
}

/*
 * Run the core's timer. A core whose deadline is then still not in the future would run for ever.
 */
static void turn(struct sim_host *h, u64 at)
{
	cnr_timer(h->comm, at);
	if (cnr_deadline(h->comm) > at)
		return;
	fprintf(stderr, "canary-sim: a deadline in the past at %llu ns\n", (unsigned long long)at);
	exit(1);
}

/*
 * Run the core's timer if it was due before @now. Its time is not before @last, the arrival of the
 * last packet.
 */
static void late_turn(struct sim *s, struct sim_host *h, uint64_t last, uint64_t now)
{
	u64 at = cnr_deadline(h->comm);

	if (at >= now / PS_PER_NS)
		return;
	at = max_t(u64, at, last / PS_PER_NS);
	turn(h, at);
	complete(s, h, at * PS_PER_NS);
}

/* Give the core the packets that have come, each with its time of arrival. */
static void take_inbox(struct sim *s, struct sim_host *h)
{
	uint64_t last = 0;
	struct packet *p;

	while ((p = h->inbox)) {
		late_turn(s, h, last, p->arrived);
		last = p->arrived;
		h->inbox = p->next;
		take(s, h, p);
		h->more = true;
	}
	if (last)
		late_turn(s, h, last, s->engine.now);
}

/* The simulation ends: give the cores what has arrived. Ports may still have packets. */
void host_finish(struct sim *s)
{
	uint32_t i;

	for (i = 0; i < s->topo.hosts; i++)
		take_inbox(s, &s->host[i]);
}

/*
 * The port has room: take packets from the core. An operation that completes may post another one.
 */
void host_pump(struct sim *s, uint32_t host)
{
	struct sim_host *h = &s->host[host];
	struct host_self self = { .s = s, .h = h, .host = host, .now = s->engine.now };
	struct link *l = &s->link[h->link];

	if (!h->job || l->head)
		return;
	take_inbox(s, h);
	while (h->more && !l->head) {
		h->more = false;
		if (cnr_drive(h->comm, sim_ns(s), &host_driver, &self) == CNR_LEFT_PACKETS)
			h->more = true;
	}
	arm(s, h, host);
	h->busy = l->head;
}

/*
 * host_fetch_self() fetches the host into the cache, host_fetch() what its core needs for any
 * packet. host_fetch_block() fetches what it needs for the packets that have come and for the next
 * one to be sent.
 */
void host_fetch_self(const struct sim *s, uint32_t host)
{
	const char *h = (const char *)&s->host[host];

	__builtin_prefetch(h, 1);
	__builtin_prefetch(h + LINE, 1);
}

bool host_waits(const struct sim *s, uint32_t host)
{
	return s->host[host].busy;
}

static void fetch_packet(const struct packet *p)
{
	__builtin_prefetch(p);
	__builtin_prefetch((const char *)p + LINE);
	__builtin_prefetch((const char *)p + 2 * LINE);
}

void host_fetch(const struct sim *s, uint32_t host)
{
	const struct sim_host *h = &s->host[host];

	if (!h->job)
		return;
	__builtin_prefetch(h->op);
	cnr_prefetch(h->comm);
	if (h->inbox)
		fetch_packet(h->inbox);
}

void host_fetch_block(const struct sim *s, uint32_t host, const struct packet *p)
{
	const struct sim_host *h = &s->host[host];

	if (!h->job || (p && !p->length))
		return;
	cnr_prefetch_block(h->comm, NULL);
	if (!p && h->inbox) {
		p = h->inbox;
		if (p->next)
			fetch_packet(p->next);
	}
	if (p)
		cnr_prefetch_block(h->comm, (const void *)(p->frame + OFF_CANARY));
}

/*
 * While a packet waits at the port, the core is not asked for another one. So arriving packets wait
 * as well. That makes no difference to the core, and its memory is fetched once for all of them.
 */
void host_input(struct sim *s, uint32_t host, struct packet *p)
{
	struct sim_host *h = &s->host[host];

	if (!h->job) {
		packet_free(s, p);
		return;
	}
	p->arrived = s->engine.now;
	packet_append(&h->inbox, &h->inbox_last, p);
	if (!h->busy)
		host_pump(s, host);
}

void host_timer(struct sim *s, uint32_t host)
{
	struct sim_host *h = &s->host[host];

	if (h->timer_at != s->engine.now)
		return;		/* the timer was set to an earlier time since */
	take_inbox(s, h);
	h->timer_at = CNR_NEVER;
	turn(h, sim_ns(s));
	complete(s, h, s->engine.now);
	h->more = true;
	host_pump(s, host);
	arm(s, h, host);
}

static void make_member(struct sim *s, struct job *j, uint32_t number, uint32_t rank)
{
	uint32_t node = s->topo.switches + j->host[rank], i;
	struct sim_host *h = &s->host[j->host[rank]];
	uint64_t random = random_stream(s->cfg.seed, 6, node);
	struct cnr_config c = {
		.comm = number + 1,
		.rank = rank,
		.members = j->members,
		.window = s->cfg.window,
		.mtu = CANARY_IP_OVERHEAD + s->cfg.elements * 4,
		.addr = sim_address(s, node),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.root = sim_address(s, s->topo.switches + j->host[0]),
		.root_port = cpu_to_be16(CANARY_PORT_BASE),
		.rto_min = s->cfg.rto_min / PS_PER_NS,
		.algorithm = s->cfg.algorithm == ALGORITHM_RING ? CANARY_ALG_RING :
			     s->cfg.algorithm == ALGORITHM_STATIC ? CANARY_ALG_STATIC :
			     CANARY_ALG_TREE,
		.lossless = s->cfg.cwnd == CWND_FIXED ||
			    (s->cfg.cwnd == CWND_AUTO && s->cfg.flow == FLOW_LOSSLESS),
		.data_key = j->data_key,
		.peers = j->peers,
		/* All members need as much memory: cores.c */
		.given = true,
		.fixed_first = true,
		.first_block = FIRST_BLOCK,
	};
	const char *what;

	for (i = 0; i < sizeof(c.seed); i++)
		c.seed[i] = random_next(&random);
	if (s->cfg.algorithm == ALGORITHM_STATIC) {
		c.trees = s->cfg.trees;
		memcpy(c.tree, j->tree, sizeof(c.tree));
	}
	if (s->cfg.algorithm == ALGORITHM_DYNAMIC)
		c.run = s->cfg.run;
	if (cnr_check(&c, &what)) {
		fprintf(stderr, "canary-sim: the core refuses %s\n", what);
		exit(1);
	}
	h->job = j;
	h->rank = rank;
	h->comm = cores_member(&j->cores, &c);
	if (s->cfg.algorithm == ALGORITHM_RING && !scenario_holds(&s->cfg))
		h->partial = sim_zalloc(s->blocks * s->cfg.operations / 64 + 1,
					sizeof(*h->partial));
}

/* Choose the roots of static trees at random, different ones as long as there are enough. */
static void choose_trees(struct sim *s, struct job *j, uint32_t number)
{
	uint64_t random = random_stream(s->cfg.seed, 7, number);
	uint32_t roots = route_roots(s), i;
	uint32_t *order = sim_zalloc(roots, sizeof(*order));

	random_order(&random, order, roots);
	for (i = 0; i < s->cfg.trees; i++)
		j->tree[i] = s->cfg.first_tree ? (s->cfg.first_tree - 1 + i) % roots :
			     order[i % roots];
	free(order);
}

static void choose_hosts(struct sim *s, uint32_t *order)
{
	uint64_t random = random_stream(s->cfg.seed, 8, 0);
	uint32_t i;

	if (*s->cfg.hosts) {
		scenario_hosts(&s->cfg, s->topo.hosts, order);
		return;
	}
	for (i = 0; i < s->topo.hosts; i++)
		order[i] = i;
	if (s->cfg.placement == PLACE_RANDOM)
		random_order(&random, order, s->topo.hosts);
}

/* Decide which hosts take part in which job, and make their cores. */
void host_build(struct sim *s)
{
	uint32_t members = s->cfg.members ? s->cfg.members : s->topo.hosts;
	uint32_t *order = sim_zalloc(s->topo.hosts, sizeof(*order)), i, k;
	struct job *j;

	s->host = sim_region(s->topo.hosts * sizeof(*s->host));
	s->job = sim_zalloc(s->cfg.jobs, sizeof(*s->job));
	s->scratch = sim_zalloc(s->cfg.elements, sizeof(*s->scratch));
	s->op_time = sim_zalloc(s->cfg.operations, sizeof(*s->op_time));
	vector_build(s);
	choose_hosts(s, order);
	for (i = 0; i < s->topo.hosts; i++) {
		s->host[i].link = s->ports[s->topo.switches + i].link[0];
		s->host[i].timer_at = CNR_NEVER;
		s->host[i].random = random_stream(s->cfg.seed, 9, i);
	}
	for (i = 0; i < s->cfg.jobs; i++) {
		j = &s->job[i];
		j->members = members / s->cfg.jobs;
		j->running = j->members;
		j->host = sim_zalloc(j->members, sizeof(*j->host));
		memcpy(j->host, order + i * j->members, j->members * sizeof(*order));
		j->peers = sim_zalloc(j->members, sizeof(*j->peers));
		vector_job(s, j, i);
		if (scenario_holds(&s->cfg))
			held_job(s, j, i);
		choose_trees(s, j, i);
		for (k = 0; k < j->members; k++)
			make_member(s, j, i, k);
	}
	free(order);
}

void host_start(struct sim *s)
{
	struct cnr_info info;
	uint32_t i, k;

	for (i = 0; i < s->cfg.jobs; i++) {
		join_all(s, &s->job[i]);
		cnr_info(s->host[s->job[i].host[0]].comm, &info);
		switch_touch(s, htobe32(info.comm), htobe32(info.epoch), info.una);
	}
	s->begin = s->engine.now;
	for (i = 0; i < s->cfg.jobs; i++) {
		for (k = 0; k < s->job[i].members; k++) {
			uint32_t host = s->job[i].host[k];

			s->running++;
			post_next(s, &s->host[host], s->engine.now);
		}
	}
	for (i = 0; i < s->topo.hosts; i++)
		host_pump(s, i);
}

void host_counters(struct sim *s, uint64_t *sum)
{
	const struct cnr_stats *stats;
	uint32_t i, k;

	memset(sum, 0, sizeof(*stats));
	for (i = 0; i < s->topo.hosts; i++) {
		if (!s->host[i].comm)
			continue;
		stats = cnr_stats(s->host[i].comm);
		for (k = 0; k < CNR_COUNTER_COUNT; k++)
			sum[k] += stats->counter[k];
		for (k = 0; k < CANARY_DROPS; k++)
			sum[CNR_COUNTER_COUNT + k] += stats->drop[k];
	}
}

void host_free(struct sim *s)
{
	struct cnr_done done;
	uint32_t i;

	for (i = 0; s->host && i < s->topo.hosts; i++) {
		struct sim_host *h = &s->host[i];

		if (!h->job)
			continue;
		cnr_close(h->comm, sim_ns(s), true);
		/*
		 * The run is over, so the vectors may be freed even if the core has not released
		 * them.
		 */
		while (cnr_completion(h->comm, &done))
			;
		while (cnr_released(h->comm, &done))
			op_free(&done);
		free(h->partial);
	}
	for (i = 0; s->job && i < s->cfg.jobs; i++) {
		cores_free(&s->job[i].cores);
		free(s->job[i].host);
		free(s->job[i].peers);
		free(s->job[i].add);
		free(s->job[i].place);
		free(s->job[i].before);
		held_free(&s->job[i]);
	}
	free(s->job);
	sim_region_free(s->host, s->topo.hosts * sizeof(*s->host));
	free(s->scratch);
	free(s->op_time);
	vector_free(s);
}

/*
 * Progress in 1/1000 of the blocks, as a member in the middle of the first job sees it. How many
 * blocks of floating-point numbers there are is not known ahead, so it is a guess for these.
 */
uint32_t host_progress(const struct sim *s)
{
	uint64_t per_op = s->blocks, left;
	const struct sim_host *h = &s->host[s->job[0].host[s->job[0].members / 2]];
	struct cnr_info info;

	cnr_info(h->comm, &info);
	left = (info.posted - info.una + (s->cfg.operations - h->posted) * per_op) * 1000 /
	       (per_op * s->cfg.operations);
	return left < 1000 ? 1000 - left : 0;
}
