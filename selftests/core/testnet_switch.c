// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is between the members: nothing, one switch, or leaves and spines. A switch routes. It also
 * aggregates if the test asks for it, by code that is independent of bpf/lib.
 */
#include <stdlib.h>

#include "testnet_inside.h"

#define TNET_SWITCH_ADDR	0x0a00f000
#define TNET_LIFETIME	CNR_SEC

struct canary_addr tnet_switch_addr(int place)
{
	return canary_addr_of_ip4(cpu_to_be32(TNET_SWITCH_ADDR + (-1 - place)));
}

/* The switch's number in headers. It is usually its address, but need not be. */
static __be32 tnet_switch_id(const struct tnet *s, int place)
{
	struct canary_addr addr = tnet_switch_addr(place);

	return s->cfg.numbered ? cpu_to_be32(-place) : canary_addr_ip4(&addr);
}

/* The place of an address */
static int tnet_home(const struct tnet *s, const struct canary_addr *addr)
{
	u32 a = be32_to_cpu(canary_addr_ip4(addr));

	if (a - TNET_SWITCH_ADDR < s->switches)
		return TNET_SWITCH(a - TNET_SWITCH_ADDR);
	return a - 0x0a000100 < s->cfg.members ? (int)(a - 0x0a000100) : TNET_NOWHERE;
}

/* The leaf of a member. Neighbouring ranks share one. */
static int tnet_leaf(const struct tnet *s, int rank)
{
	return s->cfg.leaves ? TNET_SWITCH((u32)rank * s->cfg.leaves / s->cfg.members) :
	       TNET_SWITCH(0);
}

void tnet_switches(struct tnet *s)
{
	u32 i;

	s->switches = s->cfg.leaves ? s->cfg.leaves + s->cfg.spines : s->cfg.aggregate;
	if (s->switches > TNET_SWITCHES)
		abort();
	for (i = 0; i < s->switches && s->cfg.aggregate; i++)
		s->slot[i] = calloc(TNET_SLOTS, sizeof(**s->slot));
	for (i = 0; i < s->switches && s->cfg.children; i++)
		s->restored[i] = calloc(TNET_LISTS * TNET_SLOTS, sizeof(**s->restored));
	if (s->cfg.switches)
		s->cfg.switches->begin(s);
}

/* A cookie that only this switch can check. Any number will do that nobody can guess. */
static __be32 tnet_cookie(const struct tnet *s, int at, const struct canary_hdr *h,
			  const struct canary_addr *addr, __be16 port)
{
	u64 z = s->cfg.seed + at + ((u64)canary_addr_fold(addr) << 32 | be16_to_cpu(port)) * 7919 +
		(u64)be32_to_cpu(h->block) * 104729 + h->attempt + be32_to_cpu(h->opsig);

	z = (z ^ (z >> 31)) * 0x7fb5d329728ea185ULL;
	return cpu_to_be32((u32)(z >> 32) | 1);
}

/* Spread blocks over the spines by block number, as bpf/lib does. */
int tnet_next_hop(const struct tnet *s, int from, const struct canary_addr *daddr, u32 block)
{
	int home = tnet_home(s, daddr);
	int leaf;

	if (home == TNET_NOWHERE || !s->switches)
		return home;
	if (from >= 0)
		return tnet_leaf(s, from);
	leaf = home >= 0 ? tnet_leaf(s, home) : home;
	if (from == leaf)
		return home;
	if (-1 - from >= (int)s->cfg.leaves || -1 - leaf >= (int)s->cfg.leaves)
		return leaf;
	return TNET_SWITCH(s->cfg.leaves + block % s->cfg.spines);
}

void tnet_route(struct tnet *s, int at, struct tnet_event e, const struct canary_hdr *h,
		const void *payload)
{
	e.to = tnet_next_hop(s, at, &e.daddr, be32_to_cpu(h->block));
	if (e.to != TNET_NOWHERE && e.to != at)
		tnet_send(s, e, h, payload, e.len - sizeof(*h), at);
}

static void tnet_forward(struct tnet *s, int at, const struct tnet_event *e, bool own_address)
{
	struct tnet_event f = *e;

	if (own_address) {
		f.addr = tnet_switch_addr(at);
		f.port = cpu_to_be16(CANARY_PORT_BASE);
		((struct canary_hdr *)f.data)->contribution.switch_id = tnet_switch_id(s, at);
	}
	tnet_route(s, at, f, (void *)e->data, e->data + sizeof(struct canary_hdr));
}

/* Send a slot's sum on to its leader. */
static void tnet_emit(struct tnet *s, int at, struct tnet_slot *sl)
{
	struct tnet_event e = {
		.addr = tnet_switch_addr(at),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.daddr = sl->daddr,
		.dport = sl->dport,
		.len = sizeof(sl->hdr) + sl->length,
	};

	sl->sent = true;
	sl->hdr.contribution.length = cpu_to_be16(sl->length);
	sl->hdr.contribution.count = cpu_to_be16(sl->count);
	sl->hdr.contribution.tag = cpu_to_be64(sl->tag);
	sl->hdr.contribution.sum = cpu_to_be32(sl->sum);
	sl->hdr.contribution.acked = cpu_to_be32(sl->done);
	sl->hdr.contribution.switch_id = tnet_switch_id(s, at);
	if (sl->packets > 1) {
		sl->hdr.contribution.shard = 0;
		sl->hdr.rank = 0;
		sl->hdr.mac = 0;
	}
	tnet_route(s, at, e, &sl->hdr, sl->data);
}

static void tnet_arm(struct tnet *s, int at, const struct tnet_slot *sl)
{
	struct tnet_event flush = {
		.kind = TNET_FLUSH,
		.at = s->now + s->cfg.timeout_ns,
		.to = at,
		.slot = sl - s->slot[-1 - at],
		.generation = sl->generation,
	};

	tnet_push(s, flush);
}

void tnet_flush(struct tnet *s, const struct tnet_event *e)
{
	struct tnet_slot *sl;

	if (s->cfg.switches) {
		s->cfg.switches->clock(s, e);
		return;
	}
	sl = &s->slot[-1 - e->to][e->slot];
	if (!sl->used || sl->sent || sl->generation != e->generation)
		return;
	if (s->cfg.leaves && tnet_leaf(s, tnet_home(s, &sl->daddr)) == e->to &&
	    sl->waits++ < TNET_ROOT_WAITS)
		tnet_arm(s, e->to, sl);
	else
		tnet_emit(s, e->to, sl);
}

static void tnet_take(struct tnet *s, int at, struct tnet_slot *sl, const struct tnet_event *e)
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
	tnet_arm(s, at, sl);
}

static struct tnet_restored *tnet_restored_at(struct tnet *s, int at, const struct canary_hdr *h,
					      u32 number)
{
	return &s->restored[-1 - at][number % TNET_LISTS * TNET_SLOTS +
				     be32_to_cpu(h->block) % TNET_SLOTS];
}

/* Take a list if it is as PROTOCOL.md asks for: sorted, with right cookies. */
static void tnet_restoration(struct tnet *s, int at, struct tnet_event *e)
{
	const struct canary_hdr *h = (void *)e->data;
	const struct canary_restored *c = (const void *)(h + 1);
	struct tnet_restored *r = tnet_restored_at(s, at, h, be16_to_cpu(h->restoration.list));
	u32 i, n = be16_to_cpu(h->restoration.entries);
	struct canary_peer last = { 0 }, child;

	for (i = 0; i < n && n <= CANARY_RESTORED_MAX && !s->cfg.unforgiving; i++) {
		child = (struct canary_peer){ .addr = c[i].addr, .port = c[i].port };
		if (canary_peer_compare(&child, &last) <= 0 ||
		    c[i].cookie != tnet_cookie(s, at, h, &child.addr, child.port))
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

static void tnet_copy(struct tnet *s, int at, const struct tnet_event *e,
		      const struct canary_addr *addr, __be16 port)
{
	struct tnet_event f = *e;

	f.addr = tnet_switch_addr(at);
	f.port = cpu_to_be16(CANARY_PORT_BASE);
	((struct canary_hdr *)f.data)->result.switch_id = tnet_switch_id(s, at);
	f.daddr = *addr;
	f.dport = port;
	tnet_route(s, at, f, (void *)e->data, e->data + sizeof(struct canary_hdr));
}

static void tnet_restore(struct tnet *s, int at, const struct tnet_event *e)
{
	const struct canary_hdr *h = (void *)e->data;
	struct tnet_restored *r = tnet_restored_at(s, at, h, be16_to_cpu(h->result.list));
	u32 i, length = canary_length(&r->hdr);

	if (r->hdr.block != h->block || r->hdr.epoch != h->epoch ||
	    r->hdr.attempt != h->attempt || (length && canary_length(h) > length) ||
	    r->hdr.restoration.list != h->result.list)
		return;
	for (i = 0; i < r->children; i++)
		tnet_copy(s, at, e, &r->child[i].addr, r->child[i].port);
	r->children = 0;
}

static void tnet_result(struct tnet *s, int at, struct tnet_event *e)
{
	struct canary_hdr *h = (void *)e->data;
	u32 tree = be32_to_cpu(h->block) - be32_to_cpu(h->result.tree);
	struct tnet_slot *sl = &s->slot[-1 - at][tree % TNET_SLOTS];
	u32 i, k;

	if (s->cfg.children)
		tnet_restore(s, at, e);
	if (!sl->used || be32_to_cpu(sl->hdr.block) != tree || sl->hdr.epoch != h->epoch ||
	    sl->hdr.attempt != h->attempt) {
		s->traffic.astray += canary_is_kept(h);
		return;
	}
	for (i = 0; i < sl->children; i++) {
		for (k = 0; k < i; k++)
			if (sl->child[k].port == sl->child[i].port &&
			    canary_addr_equal(&sl->child[k].addr, &sl->child[i].addr))
				break;
		if (k == i)
			tnet_copy(s, at, e, &sl->child[i].addr, sl->child[i].port);
	}
	sl->used = !(h->flags & CANARY_F_LAST);
	s->traffic.kept += sl->used;
	s->traffic.freed += !sl->used && h->result.tree;
}

/* All pairs in a row, equal ones added up. Return: false if they do not fit into a packet */
static bool tnet_pairs(const struct tnet *s, struct tnet_slot *sl, const u32 *pairs, u32 n)
{
	u32 room = ((s->cfg.mtu ? s->cfg.mtu : 1500) - CANARY_IP_OVERHEAD) / 4;
	u32 i, k, had = sl->length / 4, has = had;

	for (i = 0; i < n; i += 2) {
		for (k = 0; k < had && sl->data[k] != pairs[i]; k += 2)
			;
		has += k == had ? 2 : 0;
	}
	if (has > room)
		return false;
	for (i = 0; i < n; i += 2) {
		for (k = 0; k < had && sl->data[k] != pairs[i]; k += 2)
			;
		if (k == had) {
			sl->data[k] = pairs[i];
			sl->data[k + 1] = 0;
			had += 2;
		}
		sl->data[k + 1] += pairs[i + 1];
	}
	sl->length = 4 * had;
	return true;
}

/* If the checksum is not linear, damage has to be found before data are combined. */
static bool tnet_data_good(const struct canary_hdr *h)
{
	return (canary_kind_flags(canary_kind(h)) & CANARY_K_LINEAR) ||
	       canary_checksum(canary_kind(h), (const u32 *)(h + 1), canary_length(h) / 4) ==
	       be32_to_cpu(h->contribution.sum);
}

/* Add the data of @h. Return: false if they do not fit */
static bool tnet_add_data(const struct tnet *s, struct tnet_slot *sl, const struct canary_hdr *h)
{
	u8 kind = canary_kind(h);
	u32 n = canary_length(h) / 4;

	if (canary_is_list(h)) {
		if (!tnet_pairs(s, sl, (const u32 *)(h + 1), n))
			return false;
		sl->sum = canary_checksum(canary_kind(h), sl->data, sl->length / 4);
		return true;
	}
	if (!sl->packets)
		memcpy(sl->data, h + 1, 4 * n);
	else
		canary_combine(kind, sl->data, sl->data, (const u32 *)(h + 1), n);
	sl->length = 4 * n;
	if (canary_kind_flags(kind) & CANARY_K_LINEAR)
		sl->sum += be32_to_cpu(h->contribution.sum);
	else
		sl->sum = canary_checksum(kind, sl->data, n);
	return true;
}

static void tnet_add(struct tnet *s, int at, struct tnet_slot *sl, const struct tnet_event *e)
{
	const struct canary_hdr *h = (const void *)e->data;

	if (!sl->sent && !tnet_data_good(h))
		return;
	sl->child[sl->children].addr = e->addr;
	sl->child[sl->children].port = e->port;
	sl->child[sl->children++].tag = be64_to_cpu(h->contribution.tag);
	if (sl->sent || !tnet_add_data(s, sl, h)) {
		tnet_forward(s, at, e, true);
		return;
	}
	sl->packets++;
	sl->count += be16_to_cpu(h->contribution.count);
	sl->tag += be64_to_cpu(h->contribution.tag);
	if (h->contribution.load > sl->hdr.contribution.load)
		sl->hdr.contribution.load = h->contribution.load;
	sl->done = canary_earlier(sl->done, be32_to_cpu(h->contribution.acked));
	if (sl->count == s->cfg.members - 1)
		tnet_emit(s, at, sl);
}

void tnet_switch(struct tnet *s, struct tnet_event *e)
{
	struct canary_hdr *h = (void *)e->data;
	int at = e->to;
	struct canary_addr own = tnet_switch_addr(at);
	struct tnet_slot *sl;
	u32 i;

	if (s->cfg.switches) {
		s->cfg.switches->input(s, e);
		return;
	}
	if (canary_addr_equal(&e->daddr, &own)) {
		if (!s->cfg.aggregate || canary_parse(h, e->len) != CANARY_DROP_NONE)
			return;
		if (h->type == CANARY_RESULT)
			tnet_result(s, at, e);
		else if (h->type == CANARY_RESTORATION && s->cfg.children)
			tnet_restoration(s, at, e);
		return;
	}
	if (!s->cfg.aggregate || canary_parse(h, e->len) != CANARY_DROP_NONE ||
	    h->type != CANARY_CONTRIBUTION || (h->flags & CANARY_F_BYPASS) ||
	    (be16_to_cpu(h->contribution.count) == s->cfg.members - 1 && !canary_is_list(h))) {
		tnet_forward(s, at, e, false);
		return;
	}
	sl = &s->slot[-1 - at][be32_to_cpu(h->block) % TNET_SLOTS];
	if (!sl->used || s->now - sl->since > TNET_LIFETIME ||
	    (sl->hdr.block == h->block && h->attempt > sl->hdr.attempt))
		tnet_take(s, at, sl, e);
	else if (sl->hdr.block == h->block && h->attempt < sl->hdr.attempt)
		return;
	for (i = 0; i < sl->children && sl->hdr.block == h->block; i++)
		if (canary_addr_equal(&sl->child[i].addr, &e->addr) &&
		    sl->child[i].tag == be64_to_cpu(h->contribution.tag))
			return;
	if (sl->hdr.block != h->block || sl->hdr.opsig != h->opsig ||
	    sl->hdr.contribution.kind != h->contribution.kind ||
	    (!canary_is_list(h) && sl->hdr.contribution.length != h->contribution.length) ||
	    sl->children == (s->cfg.children ? s->cfg.children : TNET_MEMBERS_MAX)) {
		h->flags |= CANARY_F_BYPASS;
		h->contribution.switch_id = tnet_switch_id(s, at);
		if (s->cfg.children)
			h->contribution.cookie = tnet_cookie(s, at, h, &e->addr, e->port);
		tnet_forward(s, at, e, false);
		return;
	}
	if (!sl->sent && sl->count + be16_to_cpu(h->contribution.count) > s->cfg.members - 1)
		return;
	tnet_add(s, at, sl, e);
}
