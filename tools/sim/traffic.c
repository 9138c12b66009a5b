// SPDX-License-Identifier: BSD-2-Clause
/*
 * Background traffic. Every host that takes part in no allreduce sends, in one of three patterns:
 *
 * permutation: in each round a host sends a message to a random host and receives one from another.
 *	Its next round begins when both are through. A host that would send to itself goes to the
 *	next round at once.
 * derangement: the same, with permutations in which no host sends to itself.
 * uniform: each host sends message after message to random hosts, and waits for nothing.
 */
#include <stdlib.h>

#include "sim.h"
#include "util.h"

/*
 * struct source - a host that sends
 *
 * @came:	bytes received
 * @due:	bytes that have to be received before the next round, in permutations
 * @ready:	when it may send again, if it sends at less than its link's rate
 */
struct source {
	uint32_t peer;		/* receiver, index into traffic.host */
	uint32_t round;
	uint64_t left;		/* bytes left of the message */
	uint64_t came;
	uint64_t due;
	uint64_t ready;
	uint64_t random;
	bool waits;		/* an EVENT_TRAFFIC is scheduled */
};

struct traffic {
	uint32_t n;
	uint32_t *host;
	uint32_t *index;	/* by host: index of its source; ~0: none */
	struct source *source;
	uint32_t **round;	/* permutations made so far */
	uint32_t rounds;
	uint64_t random;
};

static bool has_fixed_point(const uint32_t *order, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && order[i] != i; i++)
		;
	return i < n;
}

static const uint32_t *permutation(struct traffic *t, uint32_t round, bool deranged)
{
	uint32_t *order;

	while (t->rounds <= round) {
		if (!(t->rounds & (t->rounds - 1)))
			t->round = sim_realloc(t->round, (t->rounds ? 2 * t->rounds : 1) *
					       sizeof(*t->round));
		order = sim_zalloc(t->n, sizeof(*order));
		do
			random_order(&t->random, order, t->n);
		while (deranged && has_fixed_point(order, t->n));
		t->round[t->rounds++] = order;
	}
	return t->round[round];
}

static bool in_rounds(const struct sim *s)
{
	return s->cfg.traffic == TRAFFIC_PERMUTATION || s->cfg.traffic == TRAFFIC_DERANGEMENT;
}

/* Begin the next message. Return: false if it is not time for it. */
static bool turn(struct sim *s, struct traffic *t, uint32_t self)
{
	struct source *from = &t->source[self];

	if (in_rounds(s) && from->came < from->due)
		return false;
	do {
		if (in_rounds(s))
			from->peer = permutation(t, from->round,
						 s->cfg.traffic == TRAFFIC_DERANGEMENT)[self];
		else
			from->peer = random_below(&from->random, t->n);
		from->round++;
	} while (from->peer == self);
	from->left = s->cfg.traffic_message;
	from->due += s->cfg.traffic_message;
	return true;
}

/* Return: false if the host has to pause. Then the end of the pause is scheduled. */
static bool paced(struct sim *s, struct source *from, uint32_t host, uint32_t bytes)
{
	const struct link *l = &s->link[s->ports[s->topo.switches + host].link[0]];
	uint64_t time = (uint64_t)bytes * 8 * PS_PER_S / l->rate;

	if (s->cfg.traffic_rate == 1000000)
		return true;
	if (from->ready > s->engine.now) {
		if (!from->waits)
			engine_at(&s->engine, from->ready, EVENT_TRAFFIC, host, NULL);
		from->waits = true;
		return false;
	}
	/* Hosts shall not start together: each sends its first packet somewhere in its interval. */
	time = time * 1000000 / s->cfg.traffic_rate;
	if (!from->ready) {
		from->ready = s->engine.now + random_below(&from->random, 1000) * time / 1000 + 1;
		return paced(s, from, host, bytes);
	}
	from->ready += time;
	return true;
}

/* The pause of a host is over. */
void traffic_turn(struct sim *s, uint32_t host)
{
	s->traffic->source[s->traffic->index[host]].waits = false;
	traffic_fill(s, host);
}

/* Keep a packet waiting at the host's port. */
void traffic_fill(struct sim *s, uint32_t host)
{
	struct traffic *t = s->traffic;
	struct source *from;
	struct packet *p;
	uint32_t link;

	if (!t || t->index[host] == ~0U)
		return;
	link = s->ports[s->topo.switches + host].link[0];
	from = &t->source[t->index[host]];
	while (!s->link[link].head) {
		if (!from->left && !turn(s, t, t->index[host]))
			return;
		if (!paced(s, from, host, s->cfg.traffic_packet))
			return;
		p = packet_new(s, PACKET_TRAFFIC);
		p->wire = s->cfg.traffic_packet;
		p->index = from->round * s->topo.hosts + host;
		p->destination = s->topo.switches + t->host[from->peer];
		from->left -= from->left < p->wire ? from->left : p->wire;
		net_send(s, link, p);
	}
}

/* A packet has arrived at its host, or was lost. A receiver does not wait for lost bytes. */
void traffic_input(struct sim *s, const struct packet *p)
{
	uint32_t host = p->destination - s->topo.switches;
	struct traffic *t = s->traffic;
	struct source *to;

	if (!t || t->index[host] == ~0U)
		return;
	to = &t->source[t->index[host]];
	to->came += p->wire;
	if (!to->left && in_rounds(s))
		traffic_fill(s, host);
}

void traffic_build(struct sim *s)
{
	struct traffic *t;
	uint32_t i;

	if (s->cfg.traffic == TRAFFIC_NONE)
		return;
	t = sim_zalloc(1, sizeof(*t));
	t->host = sim_zalloc(s->topo.hosts, sizeof(*t->host));
	t->index = sim_zalloc(s->topo.hosts, sizeof(*t->index));
	for (i = 0; i < s->topo.hosts; i++) {
		t->index[i] = ~0U;
		if (host_takes_part(s, i))
			continue;
		t->index[i] = t->n;
		t->host[t->n++] = i;
	}
	t->source = sim_zalloc(t->n, sizeof(*t->source));
	t->random = random_stream(s->cfg.seed, 3, 0);
	for (i = 0; i < t->n; i++)
		t->source[i].random = random_stream(s->cfg.seed, 4, i);
	s->traffic = t;
}

void traffic_free(struct sim *s)
{
	struct traffic *t = s->traffic;
	uint32_t i;

	if (!t)
		return;
	for (i = 0; i < t->rounds; i++)
		free(t->round[i]);
	free(t->round);
	free(t->source);
	free(t->host);
	free(t->index);
	free(t);
}

void traffic_start(struct sim *s)
{
	uint32_t i;

	for (i = 0; s->traffic && i < s->traffic->n; i++)
		traffic_fill(s, s->traffic->host[i]);
}
