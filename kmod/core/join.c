// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: rendezvous. Every rank finds all others through rank 0. PROTOCOL.md,
 * "Rendezvous".
 *
 * Rank 0: collecting (some ranks unknown) -> table (all known, handing it out) -> CONNECTED.
 * Others: JOIN -> has a cookie: JOIN -> table complete -> JOIN | READY -> CONNECTED. Timer:
 * cnr_rendezvous.at. Rank 0 only answers. But once it has made the table, it looks for ranks that
 * do not say READY. The JOIN of a process that is gone may have waited in some queue, and then the
 * process that took its place is refused.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"

#define CNR_JOIN_FIRST		(50 * CNR_MSEC)
#define CNR_JOIN_LAST		(1 * CNR_SEC)
#define CNR_JOIN_SILENCE	(20 * CNR_SEC)	/* longest silence of a rank without READY */
#define CNR_JOIN_CLAIMED	(5 * CNR_SEC)	/* the same, if another process claims the rank */
#define CNR_JOIN_SMALL		3	/* the so many'th small offer is believed */

/* Packet sizes offered when larger ones are not answered */
static const u16 cnr_plateau[] = { 1500, 1400, 1280, 576 };
#define CNR_JOIN_SLOT		32	/* unit of time of cookies, in bits of ns */
#define CNR_MISSING_LOOK	1024	/* members that are looked at for missing ones */
#define CNR_JOIN_LARGE	3	/* tries before smaller sizes are offered, too */

/*
 * The epoch begins, with block @first. cnr_begin() tells the layers above, once the call has
 * returned to the roof.
 */
void cnr_epoch(struct cnr_comm *c, u32 first)
{
	c->first = first;
	cnr_derive_key(c);
	c->table = true;
}

void cnr_connected(struct cnr_comm *c)
{
	c->state = CNR_CONNECTED;
	c->join.at = CNR_NEVER;
	c->join.missing = 0;
	c->end.known = 0;
}

/* Rank 0 knows all members: settle what has to be the same everywhere. */
static void cnr_settle(struct cnr_comm *c, u64 now)
{
	u64 word;
	u32 i;

	c->join.root = c->peer[0];
	for (i = 1; i < c->cfg.members; i++) {
		c->join.joiner[i].joined = now;
		c->length = min_t(u16, c->length, c->join.joiner[i].offer);
		c->window = min_t(u16, c->window, c->join.joiner[i].window);
	}
	cnr_run_settle(c, c->cfg.run);
	word = cnr_secret(c, CNR_LABEL_SALT);
	memcpy(c->salt, &word, 8);
	word = cnr_secret(c, CNR_LABEL_SALT + 1);
	memcpy(c->salt + 8, &word, 8);
	word = cnr_secret(c, CNR_LABEL_EPOCH);
	c->epoch = (u32)word ? (u32)word : 1;
	cnr_epoch(c, c->cfg.fixed_first ? c->cfg.first_block : (u32)(word >> 32));
	if (c->cfg.members == 1) {
		cnr_connected(c);
		return;
	}
	cnr_cast(c, CNR_CAST_WELCOME);
	c->join.at = now + CNR_JOIN_LAST;
	cnr_arm(c, c->join.at);
}

/*
 * Rank 0, once the table is made: a rank that is silent holds up all others, so end the rendezvous.
 */
static void cnr_join_silent(struct cnr_comm *c, u64 now)
{
	struct cnr_faults silent;
	struct cnr_member *m;
	u64 limit;
	u32 rank;

	silent.n = 0;
	for (rank = 1; rank < c->cfg.members; rank++) {
		m = &c->member[rank];
		limit = m->flags & CNR_M_CLAIMED ? CNR_JOIN_CLAIMED : CNR_JOIN_SILENCE;
		if (!(m->flags & CNR_M_READY) && now - c->join.joiner[rank].joined >= limit)
			cnr_fault_add(&silent, rank);
	}
	if (silent.n) {
		cnr_fail(c, now, CANARY_ABORT_DEAD, silent.rank, silent.n, true);
		return;
	}
	c->join.at = now + CNR_JOIN_LAST;
	cnr_arm(c, c->join.at);
}

void cnr_join_start(struct cnr_comm *c, u64 now)
{
	c->join.nonce = cnr_secret(c, CNR_LABEL_JOIN);
	if (!c->join.nonce)
		c->join.nonce = 1;
	if (!c->cfg.rank) {
		if (c->join.known == c->cfg.members - 1)
			cnr_settle(c, now);
		return;
	}
	c->join.at = now;
	cnr_join_timer(c, now);
}

void cnr_join_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_control *m;

	if (!c->cfg.rank) {
		if (c->table && c->join.at <= now)
			cnr_join_silent(c, now);
		else if (c->table)
			cnr_arm(c, c->join.at);
		return;
	}
	if (c->join.at <= now) {
		m = cnr_control(c, CANARY_JOIN, 0, 0);
		if (m)
			m->arg = c->join.known;
		c->join.at = now + min_t(u64, CNR_JOIN_FIRST << min_t(u32, c->join.tries, 6),
					 CNR_JOIN_LAST);
		c->join.tries++;
	}
	cnr_arm(c, c->join.at);
}

/* Return: the packet size that this try offers. After some silence, every second one is smaller. */
static u16 cnr_join_mtu(const struct cnr_comm *c)
{
	u32 i, step;

	if (c->join.answered || c->join.tries <= CNR_JOIN_LARGE || c->join.tries % 2)
		return c->join.mtu;
	step = (c->join.tries - CNR_JOIN_LARGE - 1) / 2 % ARRAY_SIZE(cnr_plateau);
	for (i = step; i < ARRAY_SIZE(cnr_plateau); i++)
		if (cnr_plateau[i] < c->join.mtu)
			return cnr_plateau[i];
	return c->join.mtu;
}

void cnr_join_build(struct cnr_comm *c, u32 first, struct cnr_out *out)
{
	struct canary_join *j = (struct canary_join *)c->scratch;
	u16 mtu = cnr_join_mtu(c);

	cnr_header(c, out, CANARY_JOIN, 0);
	out->hdr.join.number = cpu_to_be32(++c->join.sent);
	cnr_set_length(&out->hdr, cnr_offer_length(&c->cfg.addr, mtu));
	out->hdr.join.window = cpu_to_be16(c->cfg.window);
	out->hdr.join.nonce = cpu_to_be64(c->join.nonce);
	out->hdr.flags = c->table ? CANARY_F_READY : 0;
	out->len = c->table ? sizeof(*j) : mtu - cnr_headers(&c->cfg.addr);
	memset(c->scratch, 0, out->len);
	j->first = cpu_to_be32(first);
	j->mtu = cpu_to_be16(mtu);
	j->full = cpu_to_be16(c->join.mtu);
	j->cookie = cpu_to_be64(c->join.cookie);
	out->payload = j;
	cnr_to_rank(c, out, 0);
}

/*
 * Queue an answer to the sender of a JOIN, who may be no member. Anybody can repeat old JOINs. So
 * these answers may take only half of the queue. Return: NULL if there is no room
 */
static struct cnr_control *cnr_join_answer(struct cnr_comm *c, const struct cnr_in *in, u8 type)
{
	struct cnr_control *m;

	if (cnr_outbox_length(c) >= CNR_CONTROLS / 2) {
		cnr_count(c, CNR_C_control_lost);
		return NULL;
	}
	m = cnr_control(c, type, be16_to_cpu(in->hdr->rank), 0);
	m->addr = in->addr;
	m->port = in->port;
	m->nonce = be64_to_cpu(in->hdr->join.nonce);
	return m;
}

enum canary_drop cnr_join_refuse(struct cnr_comm *c, const struct cnr_in *in,
				 enum canary_drop why)
{
	struct cnr_control *m = cnr_join_answer(c, in, CANARY_REFUSED);

	if (m) {
		m->rank = 0;	/* the sender may claim any rank */
		m->block = cnr_trouble_of(why);
		m->arg = be16_to_cpu(in->hdr->members);
	}
	return why;
}

/* Return: the payload that a JOIN offers, as far as the JOIN itself shows that it gets through */
static u32 cnr_join_length(const struct cnr_in *in)
{
	u32 fits = (in->len - sizeof(*in->hdr)) & ~3U;

	return min_t(u32, fits, canary_length(in->hdr));
}

/* Return: bytes of data that fit the smallest packets to and from @addr */
static u32 cnr_length_least(const struct canary_addr *addr)
{
	return cnr_offer_length(addr, CNR_MTU_LEAST);
}

/*
 * Is the offer in a JOIN acceptable? It may settle the packet size and window of all members. So it
 * has to be what cnr_check() accepts.
 */
static bool cnr_join_sane(const struct cnr_in *in)
{
	u32 window = be16_to_cpu(in->hdr->join.window);

	return cnr_join_length(in) >= cnr_length_least(&in->addr) && window &&
	       window <= CNR_WINDOW_MAX && !(window & (window - 1));
}

/*
 * Return: the cookie that the sender of a JOIN has to show before it is believed
 *
 * The cookie proves that the sender recently got what was sent to its address. Rank 0 keeps nothing
 * of a sender without it. Somebody who repeats a JOIN from another address achieves nothing. From
 * the same address, that works while the cookie holds: to make a new JOIN takes the key.
 */
static u64 cnr_join_cookie(const struct cnr_comm *c, u64 now, const struct cnr_control *m)
{
	struct {
		__be32	slot;
		__be32	comm;
		__be64	nonce;
		struct canary_addr addr;
		__be16	port;
		__be16	rank;
		__be32	zero;
	} of = {
		.slot = cpu_to_be32((u32)(now >> CNR_JOIN_SLOT)),
		.comm = cpu_to_be32(c->cfg.comm),
		.nonce = cpu_to_be64(m->nonce),
		.addr = m->addr,
		.port = m->port,
		.rank = cpu_to_be16(m->rank),
	};
	u64 cookie = cnr_siphash(c->cfg.seed, &of, sizeof(of));

	return cookie ? cookie : 1;
}

static bool cnr_join_shows_cookie(const struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_join *j = cnr_payload(in);
	u64 cookie = be64_to_cpu(j->cookie);
	struct cnr_control m = {
		.addr = in->addr,
		.port = in->port,
		.nonce = be64_to_cpu(in->hdr->join.nonce),
		.rank = be16_to_cpu(in->hdr->rank),
	};

	return cookie == cnr_join_cookie(c, now, &m) ||
	       cookie == cnr_join_cookie(c, now - (1ULL << CNR_JOIN_SLOT), &m);
}

static enum canary_drop cnr_join_hand_cookie(struct cnr_comm *c, const struct cnr_in *in)
{
	const struct canary_join *j = cnr_payload(in);
	struct cnr_control *m = cnr_join_answer(c, in, CANARY_COOKIE);

	if (m)
		m->arg = be16_to_cpu(in->hdr->members);	/* or the member would not take it */
	return j->cookie ? CANARY_DROP_COOKIE : CANARY_DROP_NONE;
}

void cnr_cookie_build(struct cnr_comm *c, u64 now, const struct cnr_control *m,
		      struct cnr_out *out)
{
	cnr_header(c, out, CANARY_COOKIE, 0);
	out->hdr.epoch = 0;
	out->hdr.members = cpu_to_be16(m->arg);
	out->hdr.cookie.nonce = cpu_to_be64(m->nonce);
	out->hdr.cookie.cookie = cpu_to_be64(cnr_join_cookie(c, now, m));
	/* It is only good for that address, so nobody else can use it. */
	out->hdr.cookie.address = m->addr;
	out->addr = m->addr;
	out->port = m->port;
}

/* JOINs are numbered. So one that somebody repeats is no sign of life of its sender. */
static bool cnr_join_is_new(struct cnr_joiner *j, const struct cnr_in *in)
{
	u32 number = be32_to_cpu(in->hdr->join.number);

	if (!canary_before(j->number, number))
		return false;
	j->number = number;
	return true;
}

/*
 * A JOIN came with a cookie that is too old. Its sender lives nevertheless, if it has shown a
 * cookie from the same place before: it may not have heard the new one. The number shows that it is
 * no old JOIN.
 */
static void cnr_join_lives(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	u16 rank = be16_to_cpu(in->hdr->rank);
	struct cnr_joiner *j = &c->join.joiner[rank];

	if (c->table && be16_to_cpu(in->hdr->members) == c->cfg.members && rank &&
	    j->nonce == be64_to_cpu(in->hdr->join.nonce) && cnr_is_at(&c->peer[rank], in) &&
	    cnr_join_is_new(j, in))
		j->joined = now;
}

/*
 * Note a rank that was not known yet, or that was restarted while we still collect. A small offer
 * may only mean that we were not there to answer larger ones, so the first small ones do not count.
 */
static void cnr_join_note(struct cnr_comm *c, u16 rank, const struct cnr_in *in)
{
	const struct canary_join *offer = cnr_payload(in);
	struct cnr_joiner *j = &c->join.joiner[rank];
	struct cnr_member *m = &c->member[rank];
	struct canary_peer *p = &c->peer[rank];

	if (j->nonce != be64_to_cpu(in->hdr->join.nonce)) {
		if (j->nonce && !cnr_is_at(p, in))
			cnr_trouble_claim(c, in);
		j->offer = 0;
		j->small = 0;
		j->number = 0;
	}
	if (!cnr_join_is_new(j, in))
		return;
	if (be16_to_cpu(offer->mtu) < be16_to_cpu(offer->full) && j->small < CNR_JOIN_SMALL)
		j->small++;
	if (!(m->flags & CNR_M_KNOWN) &&
	    (be16_to_cpu(offer->mtu) >= be16_to_cpu(offer->full) ||
	     j->small == CNR_JOIN_SMALL)) {
		m->flags |= CNR_M_KNOWN;
		c->join.known++;
	}
	p->addr = in->addr;
	p->port = in->port;
	j->nonce = be64_to_cpu(in->hdr->join.nonce);
	j->window = be16_to_cpu(in->hdr->join.window);
	j->offer = max_t(u16, j->offer, cnr_join_length(in));
	c->join.missing = c->cfg.members - 1 - c->join.known;
}

enum canary_drop cnr_join_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_join *j = cnr_payload(in);
	const struct canary_peer from = { .addr = in->addr, .port = in->port };
	const struct canary_hdr *h = in->hdr;
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_member *m;
	struct cnr_control *answer;

	if (c->cfg.rank)
		return CANARY_DROP_STATE;
	if (!h->join.nonce)
		return CANARY_DROP_RANK;
	/* All members would send packets there. */
	if (!canary_peer_ok(&from))
		return CANARY_DROP_PEER;
	/* No refusal before the sender is proved: somebody may repeat a JOIN to another rank 0. */
	if (!cnr_join_shows_cookie(c, now, in)) {
		cnr_join_lives(c, now, in);
		return cnr_join_hand_cookie(c, in);
	}
	if (be16_to_cpu(h->members) != c->cfg.members)
		return cnr_join_refuse(c, in, CANARY_DROP_MEMBERS);
	if (!rank)
		return cnr_join_refuse(c, in, CANARY_DROP_RANK);
	if (h->epoch && be32_to_cpu(h->epoch) != c->epoch)
		return cnr_join_refuse(c, in, CANARY_DROP_EPOCH);
	if (!c->table && !cnr_join_sane(in))
		return cnr_join_refuse(c, in, CANARY_DROP_ELEMENTS);
	m = &c->member[rank];
	/* The session has a table of its own. This JOIN may have been noted before that. */
	if (c->formed.until)
		return cnr_join_refuse(c, in, CANARY_DROP_STATE);
	if (c->table && c->join.joiner[rank].nonce != be64_to_cpu(h->join.nonce)) {
		m->flags |= CNR_M_CLAIMED;
		return cnr_join_refuse(c, in, CANARY_DROP_STATE);
	}
	if (!c->table)
		cnr_join_note(c, rank, in);
	else if (cnr_join_is_new(&c->join.joiner[rank], in))
		c->join.joiner[rank].joined = now;
	if ((h->flags & CANARY_F_READY) && c->table && be32_to_cpu(h->epoch) == c->epoch &&
	    !(m->flags & CNR_M_READY)) {
		m->flags |= CNR_M_READY;
		if (++c->join.ready == c->cfg.members - 1) {
			cnr_connected(c);
			cnr_cast(c, CNR_CAST_READY);
			return CANARY_DROP_NONE;
		}
	}
	if (!c->table && c->join.known == c->cfg.members - 1 && c->state == CNR_JOINING) {
		cnr_settle(c, now);
		return CANARY_DROP_NONE;
	}
	answer = cnr_control(c, CANARY_WELCOME, rank, 0);
	if (answer)
		answer->arg = be32_to_cpu(j->first);
	return CANARY_DROP_NONE;
}

/*
 * List the lowest missing ranks: at most CNR_FAULTS, and of the next CNR_MISSING_LOOK members,
 * since every JOIN asks for them. Return: how many
 */
static u32 cnr_welcome_missing(struct cnr_comm *c, __be16 *list, u32 room)
{
	u32 rank, end, n = 0, max = min_t(u32, room / sizeof(*list), CNR_FAULTS);

	for (rank = c->join.known_all; rank < c->cfg.members; rank++)
		if (!(c->member[rank].flags & CNR_M_KNOWN))
			break;
	c->join.known_all = rank;
	end = min_t(u32, rank + CNR_MISSING_LOOK, c->cfg.members);
	for (; rank < end && n < max; rank++)
		if (!(c->member[rank].flags & CNR_M_KNOWN))
			list[n++] = cpu_to_be16(rank);
	return n;
}

static u32 cnr_welcome_table(struct cnr_comm *c, struct canary_peer *entry, u32 first, u32 room)
{
	u32 n, max = room / sizeof(*entry);

	for (n = 0; n < max && first + n < c->cfg.members; n++)
		entry[n] = c->peer[first + n];
	return n;
}

bool cnr_welcome_build(struct cnr_comm *c, u16 rank, u32 first, struct cnr_out *out)
{
	u16 offer = c->table ? c->length : c->join.joiner[rank].offer;
	u32 room = min_t(u32, offer, sizeof(c->scratch));
	u32 n = 0, unit = sizeof(struct canary_peer);
	void *list = c->scratch + CANARY_SALT;

	if (!c->join.joiner[rank].nonce || room < CANARY_SALT + unit)
		return false;
	room -= CANARY_SALT;
	memset(c->scratch, 0, CANARY_SALT);
	cnr_header(c, out, CANARY_WELCOME, c->all_done);
	out->hdr.welcome.nonce = cpu_to_be64(c->join.joiner[rank].nonce);
	cnr_set_length(&out->hdr, offer);
	out->hdr.welcome.window = cpu_to_be16(c->window);
	out->hdr.welcome.algorithm = c->algorithm;
	out->hdr.welcome.trees = c->trees;
	out->hdr.welcome.run = cpu_to_be16(cnr_led_run(c));
	if (!c->table) {
		out->hdr.flags = CANARY_F_WAITING;
		out->hdr.welcome.first = cpu_to_be32(c->cfg.members - 1 - c->join.known);
		unit = sizeof(__be16);
		n = cnr_welcome_missing(c, list, room);
	} else if (c->state == CNR_CONNECTED) {
		out->hdr.flags = CANARY_F_READY;
	} else if (first < c->cfg.members) {
		memcpy(c->scratch, c->salt, CANARY_SALT);
		out->hdr.welcome.first = cpu_to_be32(first);
		n = cnr_welcome_table(c, list, first, room);
	}
	out->hdr.welcome.entries = cpu_to_be16(n);
	out->payload = c->scratch;
	out->len = CANARY_SALT + n * unit;
	cnr_to_rank(c, out, rank);
	return true;
}

/* Rank 0 gave us a cookie. Send the JOIN again, with it. */
enum canary_drop cnr_cookie_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u64 cookie = be64_to_cpu(h->cookie.cookie);

	if (!c->cfg.rank || c->state != CNR_JOINING || h->rank || !cookie)
		return CANARY_DROP_STATE;
	if (be64_to_cpu(h->cookie.nonce) != c->join.nonce)
		return CANARY_DROP_DUPLICATE;
	if (!canary_addr_equal(&h->cookie.address, &c->cfg.addr))
		return CANARY_DROP_OTHER;	/* somebody repeated our JOIN from there */
	c->join.heard = true;
	if (cookie == c->join.cookie)
		return CANARY_DROP_NONE;
	c->join.cookie = cookie;
	c->join.answers_from.addr = in->addr;
	c->join.answers_from.port = in->port;
	if (c->join.tries)
		c->join.tries--;
	c->join.at = now;
	cnr_join_timer(c, now);
	return CANARY_DROP_NONE;
}

/* Return: what follows the salt */
static const void *cnr_welcome_list(const struct cnr_in *in)
{
	return (const u8 *)cnr_payload(in) + CANARY_SALT;
}

static void cnr_welcome_waiting(struct cnr_comm *c, const struct cnr_in *in)
{
	const __be16 *list = cnr_welcome_list(in);
	u32 i, n = be16_to_cpu(in->hdr->welcome.entries);

	c->join.missing = min_t(u32, be32_to_cpu(in->hdr->welcome.first), c->cfg.members - 1);
	c->end.known = min_t(u32, n, CNR_FAULTS);
	for (i = 0; i < c->end.known; i++)
		c->end.fault[i] = be16_to_cpu(list[i]);
}

/* Are all @entry addresses where members can be? This member will send packets to them. */
static bool cnr_welcome_sane(const struct canary_peer *entry, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!canary_peer_ok(&entry[i]))
			return false;
	return true;
}

/* Is what all members have to agree on acceptable? */
static bool cnr_welcome_settles(const struct cnr_comm *c, const struct canary_hdr *h)
{
	u32 length = canary_length(h), window = be16_to_cpu(h->welcome.window);
	u32 run = be16_to_cpu(h->welcome.run);

	return length % 4 == 0 && length >= cnr_length_least(&c->cfg.addr) &&
	       length <= c->length && window && window <= c->cfg.window &&
	       !(window & (window - 1)) && h->epoch &&
	       h->welcome.algorithm <= CANARY_ALG_MAX &&
	       cnr_trees_fit(h->welcome.algorithm, h->welcome.trees) &&
	       cnr_run_fits(h->welcome.algorithm, run) && run <= cnr_run_room(&c->cfg, window);
}

/* The table is complete: take over what was agreed. */
static void cnr_welcome_settle(struct cnr_comm *c, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	c->length = canary_length(h);
	c->window = be16_to_cpu(h->welcome.window);
	c->algorithm = h->welcome.algorithm;
	c->trees = h->welcome.trees;
	cnr_run_settle(c, be16_to_cpu(h->welcome.run));
	memcpy(c->salt, cnr_payload(in), sizeof(c->salt));
	cnr_epoch(c, be32_to_cpu(h->block));
}

/* A part of the member table. The parts come in order, because we ask for the next one. */
static enum canary_drop cnr_welcome_part(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_peer *entry = cnr_welcome_list(in);
	const struct canary_hdr *h = in->hdr;
	u32 i, first = be32_to_cpu(h->welcome.first), n = be16_to_cpu(h->welcome.entries);

	if (c->table || first != c->join.known)
		return CANARY_DROP_DUPLICATE;
	if (n > c->cfg.members - first || !cnr_welcome_settles(c, h))
		return CANARY_DROP_STATE;
	if (first && be32_to_cpu(h->epoch) != c->epoch)
		return CANARY_DROP_EPOCH;
	if (!cnr_welcome_sane(entry, n))
		return CANARY_DROP_PEER;
	/* rank 0 stays where we reach it, whatever it calls itself */
	for (i = 0; i < n; i++)
		*(first + i ? &c->peer[first + i] : &c->join.root) = entry[i];
	c->join.known += n;
	c->epoch = be32_to_cpu(h->epoch);
	c->join.missing = 0;
	c->end.known = 0;
	if (c->join.known == c->cfg.members)
		cnr_welcome_settle(c, in);
	c->join.tries = 0;
	c->join.at = now;
	cnr_join_timer(c, now);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_welcome_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	if (!c->cfg.rank || c->state != CNR_JOINING || h->rank)
		return CANARY_DROP_STATE;
	if (be64_to_cpu(h->welcome.nonce) != c->join.nonce)
		return CANARY_DROP_DUPLICATE;
	c->join.heard = true;
	if (h->flags & CANARY_F_WAITING) {
		/* Rank 0 is there. If only small offers got through, try a large one again soon. */
		c->join.answered = canary_length(h) == c->length;
		if (!c->join.answered) {
			c->join.at = min_t(u64, c->join.at, now + CNR_JOIN_FIRST);
			cnr_arm(c, c->join.at);
		}
		if (!c->join.known)
			cnr_welcome_waiting(c, in);
		return CANARY_DROP_NONE;
	}
	if (h->flags & CANARY_F_READY) {
		if (!c->table || be32_to_cpu(h->epoch) != c->epoch)
			return CANARY_DROP_STATE;
		cnr_connected(c);
		return CANARY_DROP_NONE;
	}
	return cnr_welcome_part(c, now, in);
}
