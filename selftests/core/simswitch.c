// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is between the members: nothing, one switch, or leaves and spines. A switch routes, and if
 * the test wants so, aggregates: written for the tests, independent of bpf/lib.
 */
#include <stdlib.h>

#include "sim_int.h"

#define SIM_SWITCH_ADDR	0x0a00f000
#define SIM_LIFETIME	CNR_SEC

static struct canary_addr sim_switch_addr(int place)
{
	return canary_addr_of_ip4(cpu_to_be32(SIM_SWITCH_ADDR + (-1 - place)));
}

/* Its number in headers: as a rule its address, but it need not say where it is. */
static __be32 sim_switch_id(const struct sim *s, int place)
{
	struct canary_addr addr = sim_switch_addr(place);

	return s->cfg.numbered ? cpu_to_be32(-place) : canary_addr_ip4(&addr);
}

/* Where an address is at home */
static int sim_home(const struct sim *s, const struct canary_addr *addr)
{
	u32 a = be32_to_cpu(canary_addr_ip4(addr));

	if (a - SIM_SWITCH_ADDR < s->switches)
		return SIM_SWITCH(a - SIM_SWITCH_ADDR);
	return a - 0x0a000100 < s->cfg.members ? (int)(a - 0x0a000100) : SIM_NOWHERE;
}

/* The leaf that a member hangs on: neighbours in rank share one. */
static int sim_leaf(const struct sim *s, int rank)
{
	return s->cfg.leaves ? SIM_SWITCH((u32)rank * s->cfg.leaves / s->cfg.members) :
	       SIM_SWITCH(0);
}

void sim_switches(struct sim *s)
{
	u32 i;

	s->switches = s->cfg.leaves ? s->cfg.leaves + s->cfg.spines : s->cfg.aggregate;
	if (s->switches > SIM_SWITCHES)
		abort();
	for (i = 0; i < s->switches && s->cfg.aggregate; i++)
		s->slot[i] = calloc(SIM_SLOTS, sizeof(**s->slot));
	for (i = 0; i < s->switches && s->cfg.children; i++)
		s->restored[i] = calloc(SIM_LISTS * SIM_SLOTS, sizeof(**s->restored));
}

/* Who is meant by it only this switch can tell: any number will do that nobody guesses. */
static __be32 sim_cookie(const struct sim *s, int at, const struct canary_hdr *h,
			 const struct canary_addr *addr, __be16 port)
{
	u64 z = s->cfg.seed + at + ((u64)canary_addr_fold(addr) << 32 | be16_to_cpu(port)) * 7919 +
		(u64)be32_to_cpu(h->block) * 104729 + h->attempt + be32_to_cpu(h->opsig);

	z = (z ^ (z >> 31)) * 0x7fb5d329728ea185ULL;
	return cpu_to_be32((u32)(z >> 32) | 1);
}

/* Blocks are spread over the spines as bpf/lib does it: by block. */
int sim_next_hop(const struct sim *s, int from, const struct canary_addr *daddr, u32 block)
{
	int home = sim_home(s, daddr);
	int leaf;

	if (home == SIM_NOWHERE || !s->switches)
		return home;
	if (from >= 0)
		return sim_leaf(s, from);
	leaf = home >= 0 ? sim_leaf(s, home) : home;
	if (from == leaf)
		return home;
	if (-1 - from >= (int)s->cfg.leaves || -1 - leaf >= (int)s->cfg.leaves)
		return leaf;
	return SIM_SWITCH(s->cfg.leaves + block % s->cfg.spines);
}

static void sim_route(struct sim *s, int at, struct sim_event e, const struct canary_hdr *h,
		      const void *payload)
{
	e.to = sim_next_hop(s, at, &e.daddr, be32_to_cpu(h->block));
	if (e.to != SIM_NOWHERE && e.to != at)
		sim_send(s, e, h, payload, e.len - sizeof(*h), at);
}

static void sim_forward(struct sim *s, int at, const struct sim_event *e, bool own_address)
{
	struct sim_event f = *e;

	if (own_address) {
		f.addr = sim_switch_addr(at);
		f.port = cpu_to_be16(CANARY_PORT_BASE);
		((struct canary_hdr *)f.data)->contribution.switch_id = sim_switch_id(s, at);
	}
	sim_route(s, at, f, (void *)e->data, e->data + sizeof(struct canary_hdr));
}

/* Send a slot on to its leader. */
static void sim_emit(struct sim *s, int at, struct sim_slot *sl)
{
	struct sim_event e = {
		.addr = sim_switch_addr(at),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.daddr = sl->daddr,
		.dport = sl->dport,
		.len = sizeof(sl->hdr) + canary_length(&sl->hdr),
	};

	sl->sent = true;
	sl->hdr.contribution.count = cpu_to_be16(sl->count);
	sl->hdr.contribution.tag = cpu_to_be64(sl->tag);
	sl->hdr.contribution.sum = cpu_to_be32(sl->sum);
	sl->hdr.contribution.acked = cpu_to_be32(sl->done);
	sl->hdr.contribution.switch_id = sim_switch_id(s, at);
	if (sl->count > 1) {
		sl->hdr.rank = 0;
		sl->hdr.mac = 0;
	}
	sim_route(s, at, e, &sl->hdr, sl->data);
}

static void sim_arm(struct sim *s, int at, const struct sim_slot *sl)
{
	struct sim_event flush = {
		.kind = SIM_FLUSH,
		.at = s->now + s->cfg.timeout_ns,
		.to = at,
		.slot = sl - s->slot[-1 - at],
		.generation = sl->generation,
	};

	sim_push(s, flush);
}

void sim_flush(struct sim *s, const struct sim_event *e)
{
	struct sim_slot *sl = &s->slot[-1 - e->to][e->slot];

	if (!sl->used || sl->sent || sl->generation != e->generation)
		return;
	if (s->cfg.leaves && sim_leaf(s, sim_home(s, &sl->daddr)) == e->to &&
	    sl->waits++ < SIM_ROOT_WAITS)
		sim_arm(s, e->to, sl);
	else
		sim_emit(s, e->to, sl);
}

static void sim_take(struct sim *s, int at, struct sim_slot *sl, const struct sim_event *e)
{
	const struct canary_hdr *h = (const void *)e->data;
	u32 generation = sl->generation;

	memset(sl, 0, sizeof(*sl));
	sl->generation = generation + 1;
	sl->used = true;
	sl->since = s->now;
	sl->hdr = *h;
	sl->daddr = e->daddr;
	sl->dport = e->dport;
	sl->done = be32_to_cpu(h->contribution.acked);
	sim_arm(s, at, sl);
}

static struct sim_restored *sim_restored_at(struct sim *s, int at, const struct canary_hdr *h,
					    u32 number)
{
	return &s->restored[-1 - at][number % SIM_LISTS * SIM_SLOTS +
				     be32_to_cpu(h->block) % SIM_SLOTS];
}

/* Lists as PROTOCOL.md wants them: sorted, all cookies right */
static void sim_restoration(struct sim *s, int at, struct sim_event *e)
{
	const struct canary_hdr *h = (void *)e->data;
	const struct canary_restored *c = (const void *)(h + 1);
	struct sim_restored *r = sim_restored_at(s, at, h, be16_to_cpu(h->restoration.list));
	u32 i, n = be16_to_cpu(h->restoration.entries);
	struct canary_peer last = { 0 }, child;

	for (i = 0; i < n && n <= CANARY_RESTORED_MAX && !s->cfg.unforgiving; i++) {
		child = (struct canary_peer){ .addr = c[i].addr, .port = c[i].port };
		if (canary_peer_compare(&child, &last) <= 0 ||
		    c[i].cookie != sim_cookie(s, at, h, &child.addr, child.port))
			break;
		last = child;
	}
	if (i < n) {
		s->refused++;
		return;
	}
	s->restorations++;
	r->hdr = *h;
	r->children = n;
	memcpy(r->child, c, n * sizeof(*c));
}

static void sim_copy(struct sim *s, int at, const struct sim_event *e,
		     const struct canary_addr *addr, __be16 port)
{
	struct sim_event f = *e;

	f.addr = sim_switch_addr(at);
	f.port = cpu_to_be16(CANARY_PORT_BASE);
	((struct canary_hdr *)f.data)->result.switch_id = sim_switch_id(s, at);
	f.daddr = *addr;
	f.dport = port;
	sim_route(s, at, f, (void *)e->data, e->data + sizeof(struct canary_hdr));
}

static void sim_restore(struct sim *s, int at, const struct sim_event *e)
{
	const struct canary_hdr *h = (void *)e->data;
	struct sim_restored *r = sim_restored_at(s, at, h, be16_to_cpu(h->result.list));
	u32 i;

	if (r->hdr.block != h->block || r->hdr.epoch != h->epoch ||
	    r->hdr.attempt != h->attempt || canary_length(h) > canary_length(&r->hdr) ||
	    r->hdr.restoration.list != h->result.list)
		return;
	for (i = 0; i < r->children; i++)
		sim_copy(s, at, e, &r->child[i].addr, r->child[i].port);
	r->children = 0;
}

static void sim_result(struct sim *s, int at, struct sim_event *e)
{
	struct canary_hdr *h = (void *)e->data;
	struct sim_slot *sl = &s->slot[-1 - at][be32_to_cpu(h->block) % SIM_SLOTS];
	u32 i, k;

	if (s->cfg.children)
		sim_restore(s, at, e);
	if (!sl->used || sl->hdr.block != h->block || sl->hdr.epoch != h->epoch ||
	    sl->hdr.attempt != h->attempt)
		return;
	for (i = 0; i < sl->children; i++) {
		for (k = 0; k < i; k++)
			if (sl->child[k].port == sl->child[i].port &&
			    canary_addr_equal(&sl->child[k].addr, &sl->child[i].addr))
				break;
		if (k == i)
			sim_copy(s, at, e, &sl->child[i].addr, sl->child[i].port);
	}
	sl->used = false;
}

static void sim_add(struct sim *s, int at, struct sim_slot *sl, const struct sim_event *e)
{
	const struct canary_hdr *h = (const void *)e->data;
	u32 i, n = canary_length(h) / 4;

	sl->child[sl->children].addr = e->addr;
	sl->child[sl->children].port = e->port;
	sl->child[sl->children++].tag = be64_to_cpu(h->contribution.tag);
	if (sl->sent) {
		sim_forward(s, at, e, true);
		return;
	}
	for (i = 0; i < n; i++)
		sl->data[i] += ((u32 *)(h + 1))[i];
	sl->count += be16_to_cpu(h->contribution.count);
	sl->tag += be64_to_cpu(h->contribution.tag);
	sl->sum += be32_to_cpu(h->contribution.sum);
	if (h->contribution.load > sl->hdr.contribution.load)
		sl->hdr.contribution.load = h->contribution.load;
	sl->done = canary_earlier(sl->done, be32_to_cpu(h->contribution.acked));
	if (sl->count == s->cfg.members - 1)
		sim_emit(s, at, sl);
}

void sim_switch(struct sim *s, struct sim_event *e)
{
	struct canary_hdr *h = (void *)e->data;
	int at = e->to;
	struct canary_addr own = sim_switch_addr(at);
	struct sim_slot *sl;
	u32 i;

	if (canary_addr_equal(&e->daddr, &own)) {
		if (!s->cfg.aggregate || canary_parse(h, e->len) != CANARY_DROP_NONE)
			return;
		if (h->type == CANARY_RESULT)
			sim_result(s, at, e);
		else if (h->type == CANARY_RESTORATION && s->cfg.children)
			sim_restoration(s, at, e);
		return;
	}
	if (!s->cfg.aggregate || canary_parse(h, e->len) != CANARY_DROP_NONE ||
	    h->type != CANARY_CONTRIBUTION || (h->flags & CANARY_F_BYPASS) ||
	    be16_to_cpu(h->contribution.count) == s->cfg.members - 1) {
		sim_forward(s, at, e, false);
		return;
	}
	sl = &s->slot[-1 - at][be32_to_cpu(h->block) % SIM_SLOTS];
	if (!sl->used || s->now - sl->since > SIM_LIFETIME ||
	    (sl->hdr.block == h->block && h->attempt > sl->hdr.attempt))
		sim_take(s, at, sl, e);
	else if (sl->hdr.block == h->block && h->attempt < sl->hdr.attempt)
		return;
	for (i = 0; i < sl->children && sl->hdr.block == h->block; i++)
		if (canary_addr_equal(&sl->child[i].addr, &e->addr) &&
		    sl->child[i].tag == be64_to_cpu(h->contribution.tag))
			return;
	if (sl->hdr.block != h->block || sl->hdr.opsig != h->opsig ||
	    sl->hdr.contribution.length != h->contribution.length ||
	    sl->children == (s->cfg.children ? s->cfg.children : SIM_MEMBERS_MAX)) {
		h->flags |= CANARY_F_BYPASS;
		h->contribution.switch_id = sim_switch_id(s, at);
		if (s->cfg.children)
			h->contribution.cookie = sim_cookie(s, at, h, &e->addr, e->port);
		sim_forward(s, at, e, false);
		return;
	}
	if (!sl->sent && sl->count + be16_to_cpu(h->contribution.count) > s->cfg.members - 1)
		return;
	sim_add(s, at, sl, e);
}
