// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links, queues, packets.
 *
 * A switch is output-queued: what arrives is at once in the queue of the port that it leaves by.
 * With lossless flow control a switch counts, for each incoming link, the bytes that it holds of
 * it. Above a limit the sender of that link stops after the current packet. It goes on when half of
 * the limit is left, as with Ethernet's priority flow control or credits. The signal itself takes
 * no time here. Without flow control a full queue drops.
 *
 * With a burst, a link behaves as HTB on a virtual link: a packet takes no time itself, but the
 * next one waits until it is paid for. Pauses earn credit up to the burst.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "util.h"

#define SLAB		(2UL << 20)	/* bytes of packets to allocate at a time */
#define WIRE_LEAST	84	/* smallest frame with preamble and gap */
#define ROOM_LEAST	512	/* bytes of payload that a control message may have */

uint32_t net_wire(const struct sim *s, uint32_t length)
{
	uint32_t wire = length - FRAME_HEADERS + s->cfg.headers;

	return wire < WIRE_LEAST ? WIRE_LEAST : wire;
}

static void pool_grow(struct pool *pool)
{
	uint32_t n = SLAB / pool->size, i;
	char *slab = sim_region(SLAB);

	if (!(pool->slabs & (pool->slabs - 1)))
		pool->slab = sim_realloc(pool->slab, (pool->slabs ? 2 * pool->slabs : 1) *
					 sizeof(*pool->slab));
	pool->slab[pool->slabs++] = slab;
	pool->free = sim_realloc(pool->free, pool->slabs * n * sizeof(*pool->free));
	for (i = n; i--;)
		pool->free[pool->count++] = (struct packet *)(slab + i * pool->size);
}

/* Packets on top of the stack are fetched into the cache: several are often made in a row. */
#define FETCH_FREE	4

static struct packet *pool_take(struct pool *pool)
{
	const char *ahead;

	if (!pool->count)
		pool_grow(pool);
	if (pool->count > FETCH_FREE) {
		ahead = (const char *)pool->free[pool->count - 1 - FETCH_FREE];
		__builtin_prefetch(ahead, 1);
		__builtin_prefetch(ahead + 64, 1);
		__builtin_prefetch(ahead + 128, 1);
	}
	return pool->free[--pool->count];
}

struct packet *packet_new(struct sim *s, enum packet_kind kind)
{
	struct packet *p = pool_take(&s->pool[kind]);

	p->kind = kind;
	p->length = 0;
	p->link = NO_LINK;
	p->share = NULL;
	p->body = NULL;
	p->maker = NULL;
	return p;
}

void packet_free(struct sim *s, struct packet *p)
{
	struct pool *pool = &s->pool[p->kind];

	if (p->body && !--p->body->users) {
		p->body->next = s->bodies;
		s->bodies = p->body;
	}
	pool->free[pool->count++] = p;
}

/* Give @p elements, which its copies will share. */
void packet_body(struct sim *s, struct packet *p, const void *data, uint32_t bytes)
{
	struct body *b = s->bodies;

	if (b) {
		s->bodies = b->next;
	} else {
		b = sim_lines(sizeof(*b) + s->cfg.elements * 4);
		b->older = s->all_bodies;
		s->all_bodies = b;
	}
	memcpy(b->data, data, bytes);
	b->users = 1;
	p->body = b;
}

static void uncharge(struct sim *s, struct packet *p);

/* Called when the link has nothing more to do with the packet */
static void count_sent(struct sim *s, struct link *l, struct packet *p)
{
	l->packets++;
	l->bytes += p->wire;
	uncharge(s, p);
}

/* Send @p on its way to the other end, or lose it. */
static void deliver(struct sim *s, struct link *l, struct packet *p)
{
	if (l->down || (s->cfg.loss && random_below(&s->loss_random, 1000000) < s->cfg.loss))
		net_lose(s, p);
	else
		engine_after(&s->engine, l->latency_lane, EVENT_ARRIVED, l - s->link, p);
}

/* A token bucket: @p is gone at once. The next packet may go when this one is paid for. */
static void begin_owing(struct sim *s, struct link *l, struct packet *p)
{
	uint64_t now = s->engine.now, most = s->cfg.burst * 8 * PS_PER_S / l->rate;

	if (l->paid_until + most < now)
		l->paid_until = now - most;
	l->paid_until += p->wire * 8 * PS_PER_S / l->rate;
	engine_at(&s->engine, l->paid_until > now ? l->paid_until : now, EVENT_SENT, 0, l);
	count_sent(s, l, p);
	deliver(s, l, p);
}

static void begin(struct sim *s, struct link *l, struct packet *p)
{
	uint64_t time;
	int lane;

	l->sending = p;
	if (s->cfg.burst) {
		begin_owing(s, l, p);
		return;
	}
	if (p->wire == l->time_size[0]) {
		lane = l->time_lane[0];
	} else if (p->wire == l->time_size[1]) {
		lane = l->time_lane[1];
	} else {
		time = p->wire * 8 * PS_PER_S / l->rate;
		lane = engine_lane(&s->engine, time);
		if (lane == ENGINE_HEAP) {
			engine_at(&s->engine, s->engine.now + time, EVENT_SENT, 0, l);
			return;
		}
		l->time_size[1] = l->time_size[0];
		l->time_lane[1] = l->time_lane[0];
		l->time_size[0] = p->wire;
		l->time_lane[0] = lane;
	}
	engine_after(&s->engine, lane, EVENT_SENT, 0, l);
}

static void next(struct sim *s, struct link *l)
{
	struct packet *p = l->head;

	if (!p || l->sending || l->paused)
		return;
	l->head = p->next;
	l->queued -= p->wire;
	begin(s, l, p);
}

static void release(struct sim *s, uint32_t link, uint32_t bytes)
{
	struct link *l = &s->link[link];

	l->held -= bytes;
	if (l->paused && l->held <= s->cfg.pause / 2) {
		l->paused = false;
		next(s, l);
	}
}

/* @p has left the switch: free the buffer space that it took there. */
static void uncharge(struct sim *s, struct packet *p)
{
	struct share *share = p->share;
	uint32_t link = p->link;

	p->share = NULL;
	p->link = NO_LINK;
	if (share) {
		if (--share->copies)
			return;
		share->next = s->shares;
		s->shares = share;
		release(s, share->link, share->bytes);
	} else if (link != NO_LINK) {
		release(s, link, p->wire);
	}
}

/* Free a packet whose way ends here. */
void packet_done(struct sim *s, struct packet *p)
{
	uncharge(s, p);
	packet_free(s, p);
}

static void hold(struct sim *s, uint32_t link, uint32_t bytes)
{
	struct link *l = &s->link[link];

	l->held += bytes;
	if (l->held > s->cfg.pause)
		l->paused = true;
}

/* Count @p, which came over @link, as held in the buffer of a switch. */
void net_charge(struct sim *s, struct packet *p, uint32_t link)
{
	if (s->cfg.flow != FLOW_LOSSLESS || p->share)
		return;
	p->link = link;
	hold(s, link, p->wire);
}

/* Count several copies of a packet, which came over @link, once in the buffer of a switch. */
struct share *net_share(struct sim *s, uint32_t link, uint32_t bytes)
{
	struct share *share = s->shares;

	if (s->cfg.flow != FLOW_LOSSLESS)
		return NULL;
	if (share) {
		s->shares = share->next;
	} else {
		share = sim_alloc(sizeof(*share));
		share->older = s->all_shares;
		s->all_shares = share;
	}
	share->link = link;
	share->bytes = bytes;
	share->copies = 0;
	hold(s, link, bytes);
	return share;
}

void net_lose(struct sim *s, struct packet *p)
{
	s->lost++;
	if (!p->length)
		s->users->lost(s, p);
	packet_done(s, p);
}

void net_send(struct sim *s, uint32_t link, struct packet *p)
{
	struct link *l = &s->link[link];

	if (l->down) {
		net_lose(s, p);
		return;
	}
	if (!l->sending && !l->paused) {
		begin(s, l, p);
		return;
	}
	if (s->cfg.flow == FLOW_DROP && l->queued + p->wire > s->topo.shape.queue) {
		l->drops++;
		net_lose(s, p);
		return;
	}
	packet_append(&l->head, &l->tail, p);
	l->queued += p->wire;
	if (l->queued > l->longest)
		l->longest = l->queued;
}

/* The last bit of a packet is on the wire. */
void net_sent(struct sim *s, struct link *l)
{
	struct packet *p = l->sending;

	l->sending = NULL;
	if (s->cfg.burst) {
		next(s, l);
		return;
	}
	count_sent(s, l, p);
	next(s, l);
	deliver(s, l, p);
}

/* Take a link down or up. Packets that wait for it are lost. */
void net_link_down(struct sim *s, uint32_t link, bool down)
{
	struct link *l = &s->link[link];
	struct packet *p;

	l->down = down;
	while (down && (p = l->head)) {
		l->head = p->next;
		l->queued -= p->wire;
		net_lose(s, p);
	}
	/* A host asks for packets only when its port reports that it is empty. */
	if (down && l->from >= s->topo.switches)
		s->users->stopped(s, l->from - s->topo.switches);
}

static void add_link(struct sim *s, uint32_t from, uint32_t to, uint32_t port_at_to)
{
	const struct shape *shape = &s->topo.shape;
	struct link *l = &s->link[s->links];
	uint32_t switches = s->topo.switches;

	l->from = from;
	l->to = to;
	l->port = port_at_to;
	l->rate = from < switches && to < switches ? shape->uplink_rate : shape->rate;
	l->latency = shape->latency + (to < switches ? 0 : s->cfg.host_delay);
	l->latency_lane = engine_lane(&s->engine, l->latency);
	s->ports[from].link[s->ports[from].n++] = s->links++;
}

void net_build(struct sim *s)
{
	const struct topo *t = &s->topo;
	uint32_t i, a, b, *degree, data = s->cfg.elements * 4;
	struct ports *p;

	s->nodes = t->switches + t->hosts;
	s->link = sim_region(2 * t->cables * sizeof(*s->link));
	s->ports = sim_zalloc(s->nodes, sizeof(*s->ports));
	s->edge = sim_zalloc(t->hosts, sizeof(*s->edge));
	degree = sim_zalloc(s->nodes, sizeof(*degree));
	for (i = 0; i < t->cables; i++) {
		degree[t->cable[i].end[0]]++;
		degree[t->cable[i].end[1]]++;
	}
	for (i = 0; i < s->nodes; i++) {
		p = &s->ports[i];
		p->link = sim_zalloc(degree[i], sizeof(*p->link));
	}
	free(degree);
	for (i = 0; i < t->cables; i++) {
		a = t->cable[i].end[0];
		b = t->cable[i].end[1];
		/* The reverse direction will get the next port at the other end. */
		add_link(s, a, b, s->ports[b].n);
		add_link(s, b, a, s->ports[a].n - 1);
		s->link[s->links - 2].reverse = s->links - 1;
		s->link[s->links - 1].reverse = s->links - 2;
		if (b >= t->switches)
			s->edge[b - t->switches] = a;
	}
	if (data < ROOM_LEAST)
		data = ROOM_LEAST;
	s->pool[PACKET_TRAFFIC].size = lines(sizeof(struct packet));
	s->pool[PACKET_HEAD].size = lines(offsetof(struct packet, frame) + FRAME_HEADERS);
	s->pool[PACKET_WHOLE].size = lines(offsetof(struct packet, frame) + FRAME_HEADERS + data);
	s->bench = packet_new(s, PACKET_WHOLE);
	s->loss_random = random_stream(s->cfg.seed, 1, 0);
}

static void pool_free(struct pool *pool)
{
	uint32_t i;

	for (i = 0; i < pool->slabs; i++)
		sim_region_free(pool->slab[i], SLAB);
	free(pool->slab);
	free(pool->free);
}

void net_free(struct sim *s)
{
	struct share *share;
	struct body *body;
	uint32_t i;

	for (i = 0; i < PACKET_KINDS; i++)
		pool_free(&s->pool[i]);
	while ((body = s->all_bodies)) {
		s->all_bodies = body->older;
		free(body);
	}
	while ((share = s->all_shares)) {
		s->all_shares = share->older;
		free(share);
	}

	for (i = 0; i < s->nodes; i++)
		free(s->ports[i].link);
	free(s->ports);
	sim_region_free(s->link, 2 * s->topo.cables * sizeof(*s->link));
	free(s->edge);
}
