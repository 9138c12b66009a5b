// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: which processes make up a session that is formed from a table. PROTOCOL.md,
 * "Greetings".
 *
 * The same table may be used again, by processes that were started again. So rank 0 draws the
 * session, and each other member draws a nonce. Rank 0 lets one nonce of each rank in. The session
 * key comes from the table and the session. A member sends nothing under it before all are in.
 * So what is under one session key comes from one process of each rank.
 *
 * Others: stranger -> was told the session: greets with it -> in (cnr_comm.table) -> all are in
 * (cnr_comm.waits ends). Rank 0 is in from the start, and waits for the others. Timer:
 * cnr_formed.at, while somebody is missing.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"

#define CNR_GREET_FIRST		(10 * CNR_MSEC)
#define CNR_GREET_LAST		(1 * CNR_SEC)
#define CNR_GREET_TRIES		8	/* greetings without answer until rank 0 is dead */
#define CNR_START_WITHIN	(60 * CNR_SEC)

/* The session is known: make its key. */
static void cnr_greeting_key(struct cnr_comm *c)
{
	__be64 in[2] = { cpu_to_be64(c->formed.session) };
	u64 half;
	u32 i;

	for (i = 0; i < 2; i++) {
		in[1] = cpu_to_be64(i);
		half = cnr_siphash(c->formed.key, in, sizeof(in));
		memcpy(c->salt + 8 * i, &half, sizeof(half));
	}
	cnr_derive_key(c);
	c->table = true;
}

static u64 cnr_greeting_draw(const struct cnr_comm *c, u32 label)
{
	u64 word = cnr_secret(c, label);

	return word ? word : 1;
}

void cnr_greeting_begin(struct cnr_comm *c, u64 now, u64 start_within)
{
	struct cnr_formed *f = &c->formed;

	f->until = now + (start_within ? start_within : CNR_START_WITHIN);
	f->since = now;
	f->at = now;
	cnr_derive_table_key(c);
	if (c->cfg.rank) {
		f->nonce = cnr_greeting_draw(c, 1);
	} else {
		f->session = cnr_greeting_draw(c, 9);
		cnr_greeting_key(c);
	}
	c->waits = c->cfg.members > 1;
	if (c->waits)
		cnr_greeting_timer(c, now);
}

/* Return: ns until the next greeting. All members greet rank 0, so many members greet slowly. */
static u64 cnr_greeting_gap(const struct cnr_comm *c)
{
	u64 last = min_t(u64, CNR_GREET_LAST, c->cfg.dead_after / CNR_GREET_TRIES);

	last = max_t(u64, last, c->cfg.members * CNR_PROBE_GAP);
	return min_t(u64, CNR_GREET_FIRST << min_t(u32, c->formed.tries, 16), last);
}

static void cnr_greeting_ask(struct cnr_comm *c)
{
	struct cnr_control *m = cnr_control(c, CANARY_GREETING, 0, 0);

	if (!m)
		return;
	m->flags = CANARY_F_ASKS;
	m->arg = ++c->formed.question;
	m->nonce = c->formed.session;
}

static void cnr_greet(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (!f->silent++)
		f->asked = now;
	cnr_greeting_ask(c);
	f->at = now + cnr_greeting_gap(c);
	f->tries++;
	cnr_arm(c, f->at);
}

/* Is there something that all have to be in for? */
static bool cnr_greeting_needed(const struct cnr_comm *c)
{
	return c->una != c->posted || c->formed.needed;
}

/* Ranks did not come in time. */
static void cnr_greeting_missing(struct cnr_comm *c, u64 now)
{
	u16 missing[CNR_FAULTS];
	u32 rank, n = 0;

	for (rank = 1; rank < c->cfg.members; rank++) {
		if (c->member[rank].flags & CNR_M_READY)
			continue;
		if (n < CNR_FAULTS)
			missing[n] = rank;
		n++;
	}
	cnr_fail(c, now, CANARY_ABORT_DEAD, missing, n, true);
}

/*
 * Greet again. Rank 0 tells those that are missing which session it is, and so they find out that
 * it has come. Nobody is dead before the time in which all should come; then only if needed.
 */
void cnr_greeting_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;
	u64 until = max_t(u64, f->until, f->since + c->cfg.dead_after);
	bool over = now >= until;
	static const u16 root;

	if (f->at > now) {
		cnr_arm(c, f->at);
		return;
	}
	if (c->cfg.rank) {
		over = (over || c->table) && f->silent >= CNR_GREET_TRIES &&
		       now - f->asked >= c->cfg.dead_after;
		if (!over && (!c->table || cnr_greeting_needed(c))) {
			cnr_greet(c, now);
			return;
		}
	} else if (!over) {
		cnr_cast(c, CNR_CAST_GREETING);
		f->tries = 16;		/* the longest gap */
		f->at = min_t(u64, now + cnr_greeting_gap(c), until);
		cnr_arm(c, f->at);
		return;
	}
	f->at = CNR_NEVER;
	if (!over || !cnr_greeting_needed(c))
		return;
	if (c->cfg.rank)
		cnr_fail(c, now, CANARY_ABORT_DEAD, &root, 1, true);
	else
		cnr_greeting_missing(c, now);
}

/* Somebody needs all to be in. If nobody greets any more, begin again. */
void cnr_greeting_wanted(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (f->at != CNR_NEVER)
		return;
	f->since = now;
	f->silent = 0;
	f->tries = 0;
	f->at = now + (c->cfg.rank && c->table ? CNR_GREET_FIRST : 0);
	cnr_arm(c, f->at);
}

/* A packet under the session key came, so all are in. We were not told, and ask soon. */
void cnr_greeting_hurry(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (!c->cfg.rank || f->at <= now + CNR_GREET_FIRST)
		return;
	f->at = now + CNR_GREET_FIRST;
	cnr_arm(c, f->at);
}

/* All are in. The layers above begin when the call returns to the roof. */
static void cnr_greeting_all(struct cnr_comm *c, u64 now)
{
	c->waits = false;
	c->formed.at = CNR_NEVER;
	cnr_arm(c, now);
	if (!c->cfg.rank)
		cnr_cast(c, CNR_CAST_GREETING);
}

static void cnr_greeting_answer(struct cnr_comm *c, const struct canary_hdr *h, u8 flags,
				enum canary_abort why)
{
	struct cnr_control *m = cnr_control(c, CANARY_GREETING, be16_to_cpu(h->rank), why);

	if (!m)
		return;
	m->flags = flags;
	m->arg = be32_to_cpu(h->greeting.question);
	m->nonce = be64_to_cpu(h->greeting.nonce);
}

/*
 * Rank 0: a process of @rank that knows our session greets, so it has come since we have. The first
 * one is let in. Another one takes its place until all are in, since nothing was contributed yet.
 * Return: false if it comes too late
 */
static bool cnr_greeting_let_in(struct cnr_comm *c, u16 rank, u64 nonce)
{
	struct cnr_joiner *j = &c->join.joiner[rank];
	struct cnr_member *m = &c->member[rank];

	if (!(m->flags & CNR_M_READY)) {
		m->flags |= CNR_M_READY;
		c->formed.in++;
	} else if (j->nonce == nonce) {
		c->formed.needed = true;
		return true;
	} else if (!c->waits) {
		return false;
	}
	j->nonce = nonce;
	return true;
}

/* Rank 0: a member greets. This holds when the communicator has failed, too, and tells it so. */
static enum canary_drop cnr_greeting_asked(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u64 nonce = be64_to_cpu(h->greeting.nonce);
	u16 rank = be16_to_cpu(h->rank);
	static const u16 root;

	if (!nonce || h->flags & ~CANARY_F_ASKS)
		return CANARY_DROP_STATE;
	if (be64_to_cpu(h->greeting.session) != c->formed.session) {
		if (!(h->flags & CANARY_F_ASKS))
			return CANARY_DROP_STATE;
		cnr_greeting_answer(c, h, 0, CANARY_ABORT_NONE);
		return CANARY_DROP_NONE;
	}
	if (!(h->flags & CANARY_F_ASKS)) {
		/* It was in the session of a rank 0 before us, which has ended by that. */
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &root, 1, true);
		return CANARY_DROP_NONE;
	}
	if (!cnr_greeting_let_in(c, rank, nonce)) {
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &rank, 1, true);
		cnr_greeting_answer(c, h, 0, CANARY_ABORT_RESTARTED);
		return CANARY_DROP_NONE;
	}
	if (c->waits && c->state != CNR_FAILED) {
		if (c->formed.in == c->cfg.members - 1)
			cnr_greeting_all(c, now);
		else if (c->formed.needed)
			cnr_greeting_wanted(c, now);
	}
	cnr_greeting_answer(c, h, c->waits ? CANARY_F_WAITING : CANARY_F_READY, CANARY_ABORT_NONE);
	if (c->state == CNR_FAILED)
		cnr_control(c, CANARY_ABORT, rank, 0);
	return CANARY_DROP_NONE;
}

/* Does @h answer a greeting of ours, after those that were answered before? Then rank 0 lives. */
static bool cnr_greeting_answers(struct cnr_formed *f, const struct canary_hdr *h)
{
	u32 question = be32_to_cpu(h->greeting.question);

	if (be64_to_cpu(h->greeting.nonce) != f->nonce || !canary_before(f->answered, question) ||
	    canary_before(f->question, question))
		return false;
	f->answered = question;
	f->silent = 0;
	return true;
}

/* We are in, and perhaps all are. */
static enum canary_drop cnr_greeting_in(struct cnr_comm *c, u64 now, bool all)
{
	struct cnr_formed *f = &c->formed;
	bool news = !c->table || (all && c->waits);

	if (!c->table) {
		cnr_greeting_key(c);
		f->in_from = f->question;
		f->tries = 0;
		f->at = cnr_greeting_needed(c) ? now + cnr_greeting_gap(c) : CNR_NEVER;
		cnr_arm(c, f->at);
	}
	if (all && c->waits)
		cnr_greeting_all(c, now);
	return news ? CANARY_DROP_NONE : CANARY_DROP_DUPLICATE;
}

/*
 * Rank 0 has another session than ours. Anybody may repeat that, so it counts if it answers what we
 * asked since we are in. Then rank 0 was started again.
 */
static enum canary_drop cnr_greeting_other(struct cnr_comm *c, u64 now, u64 session, bool answers)
{
	struct cnr_formed *f = &c->formed;
	struct cnr_control *m;
	static const u16 root;

	if (!answers || !canary_before(f->in_from, f->answered)) {
		cnr_greeting_ask(c);
		return CANARY_DROP_DUPLICATE;
	}
	cnr_fail(c, now, CANARY_ABORT_RESTARTED, &root, 1, true);
	m = cnr_control(c, CANARY_GREETING, 0, CANARY_ABORT_RESTARTED);
	if (m)
		m->nonce = session;
	return CANARY_DROP_NONE;
}

/* Others: rank 0 says which session it is, and whether we are in. */
static enum canary_drop cnr_greeting_told(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	bool in = h->flags & (CANARY_F_WAITING | CANARY_F_READY);
	u64 session = be64_to_cpu(h->greeting.session);
	struct cnr_formed *f = &c->formed;
	bool answers = cnr_greeting_answers(f, h);

	if (!session || h->rank || h->flags & CANARY_F_ASKS)
		return CANARY_DROP_STATE;
	if (in || h->greeting.why) {
		if (be64_to_cpu(h->greeting.nonce) != f->nonce || session != f->session)
			return CANARY_DROP_DUPLICATE;
		if (in)
			return cnr_greeting_in(c, now, h->flags & CANARY_F_READY);
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &c->cfg.rank, 1, false);
		return CANARY_DROP_NONE;
	}
	if (session == f->session)
		return CANARY_DROP_DUPLICATE;
	if (c->table)
		return cnr_greeting_other(c, now, session, answers);
	f->session = session;
	f->tries = 0;
	cnr_greet(c, now);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_greeting_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	return c->cfg.rank ? cnr_greeting_told(c, now, h) : cnr_greeting_asked(c, now, h);
}

void cnr_greeting_build(const struct cnr_comm *c, const struct cnr_control *m, struct cnr_out *out)
{
	const struct cnr_formed *f = &c->formed;

	out->hdr.block = 0;
	out->hdr.greeting.why = cpu_to_be16(m->block);
	out->hdr.greeting.question = cpu_to_be32(m->arg);
	out->hdr.greeting.nonce = cpu_to_be64(c->cfg.rank ? f->nonce : m->nonce);
	out->hdr.greeting.session = cpu_to_be64(c->cfg.rank ? m->nonce : f->session);
}

/* Rank 0, to all: they are in; or, to those that are missing, which session it is. */
bool cnr_greeting_cast(struct cnr_comm *c, u16 rank, struct cnr_out *out)
{
	bool in = c->member[rank].flags & CNR_M_READY;

	if (c->waits && in)
		return false;
	cnr_header(c, out, CANARY_GREETING, 0);
	out->hdr.flags = c->waits ? 0 : CANARY_F_READY;
	out->hdr.greeting.nonce = cpu_to_be64(in ? c->join.joiner[rank].nonce : 0);
	out->hdr.greeting.session = cpu_to_be64(c->formed.session);
	return true;
}
