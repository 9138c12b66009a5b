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
 * Anybody can repeat what a process said that is gone. So whoever is to be let in shows that it
 * lives, by what rank 0 draws for each rank anew when it has let somebody in: the challenge. And a
 * member believes what answers its latest questions.
 *
 * Others: stranger -> was told session and challenge: greets with them -> in (cnr_comm.table) ->
 * all are in (cnr_comm.waits ends). Rank 0 is in from the start, and waits for the others. Timer:
 * cnr_formed.at, while somebody is missing.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"

#define CNR_GREET_FIRST		(10 * CNR_MSEC)
#define CNR_GREET_LAST		(1 * CNR_SEC)
#define CNR_GREET_TRIES		8	/* greetings without answer until rank 0 is dead */
#define CNR_GREET_SLOT		32	/* unit of time of challenges, in bits of ns */
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
	f->began = now;
	f->since = now;
	f->at = now;
	cnr_derive_table_key(c);
	if (c->cfg.rank) {
		f->nonce = cnr_greeting_draw(c, CNR_LABEL_GREETING);
	} else {
		f->session = cnr_greeting_draw(c, CNR_LABEL_SESSION);
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

/* Does an operation wait here? */
static bool cnr_greeting_has_work(const struct cnr_comm *c)
{
	return c->una != c->posted;
}

static void cnr_greeting_ask(struct cnr_comm *c, u64 now)
{
	struct cnr_control *m = cnr_control(c, CANARY_GREETING, 0, CANARY_ABORT_NONE);

	c->formed.sent = now;
	if (!m)
		return;
	m->flags = CANARY_F_ASKS | (cnr_greeting_has_work(c) ? CANARY_F_WAITING : 0);
	m->arg = ++c->formed.question;
	m->nonce = c->formed.session;
}

static void cnr_greet(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (!f->silent++)
		f->asked = now;
	cnr_greeting_ask(c, now);
	f->at = now + cnr_greeting_gap(c);
	f->tries++;
	cnr_arm(c, f->at);
}

/* Is there something that all have to be in for? Rank 0 knows it of others, too. */
static bool cnr_greeting_needed(const struct cnr_comm *c)
{
	return cnr_greeting_has_work(c) || c->formed.needs;
}

/* Ranks did not come in time. */
static void cnr_greeting_missing(struct cnr_comm *c, u64 now)
{
	struct cnr_faults missing;
	u32 rank;

	missing.n = 0;
	for (rank = 1; rank < c->cfg.members; rank++)
		if (!(c->member[rank].flags & CNR_M_READY))
			cnr_fault_add(&missing, rank);
	cnr_fail(c, now, CANARY_ABORT_DEAD, missing.rank, missing.n, true);
}

/* Rank 0: tell those that are missing which session it is. So they find out that it has come. */
static void cnr_greeting_root_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;
	u64 until = max_t(u64, f->until, f->since + c->cfg.dead_after);

	if (now < until) {
		cnr_cast(c, CNR_CAST_GREETING);
		f->tries = 16;		/* the longest gap */
		f->at = min_t(u64, now + cnr_greeting_gap(c), until);
		cnr_arm(c, f->at);
		return;
	}
	f->at = CNR_NEVER;
	if (cnr_greeting_needed(c))
		cnr_greeting_missing(c, now);
}

/* Others: who is in goes on only if it needs to. */
static void cnr_greeting_other_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;
	bool late = now >= max_t(u64, f->until, f->since + c->cfg.dead_after);
	bool over = (late || c->table) && f->silent >= CNR_GREET_TRIES &&
		    now - f->asked >= c->cfg.dead_after;
	static const u16 root;

	if (!over && (!c->table || cnr_greeting_has_work(c))) {
		cnr_greet(c, now);
		return;
	}
	f->at = CNR_NEVER;
	if (over && cnr_greeting_has_work(c))
		cnr_fail(c, now, CANARY_ABORT_DEAD, &root, 1, true);
}

/* Nobody is dead before the time in which all should come; then only if somebody needs all. */
void cnr_greeting_timer(struct cnr_comm *c, u64 now)
{
	if (c->formed.at > now)
		cnr_arm(c, c->formed.at);
	else if (c->cfg.rank)
		cnr_greeting_other_timer(c, now);
	else
		cnr_greeting_root_timer(c, now);
}

/* What was said and not answered before says nothing of the time from now on. */
static void cnr_greeting_anew(struct cnr_formed *f, u64 now)
{
	f->since = now;
	f->silent = 0;
	f->tries = 0;
}

/* Somebody needs all to be in. If nobody greets any more, begin again. */
void cnr_greeting_wanted(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (f->at != CNR_NEVER)
		return;
	cnr_greeting_anew(f, now);
	f->at = now + (c->cfg.rank && c->table ? CNR_GREET_FIRST : 0);
	cnr_arm(c, f->at);
}

/*
 * A packet says that rank 0 is there, or that all are in, which we were not told. Anybody may have
 * repeated it. So ask, but not for each of many.
 */
void cnr_greeting_hurry(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	if (!c->cfg.rank || (f->question && now - f->sent < CNR_GREET_FIRST))
		return;
	if (!c->waits) {
		cnr_greeting_ask(c, now);
		return;
	}
	if (f->at == CNR_NEVER) {
		cnr_greeting_anew(f, now);
		cnr_greet(c, now);
		return;
	}
	/* The timer stays, or who repeats packets would put off the end of our patience. */
	if (!f->silent++)
		f->asked = now;
	cnr_greeting_ask(c, now);
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
 * Return: what a process of @rank has to repeat to be let in. It changes whenever one is, and after
 * a while: else what a process said that is gone would be good until its successor comes.
 */
static u64 cnr_greeting_challenge(const struct cnr_comm *c, u16 rank, u64 now)
{
	__be64 in[3] = {
		cpu_to_be64(cnr_secret(c, CNR_LABEL_CHALLENGE)),
		cpu_to_be64((u64)rank << 32 | c->join.joiner[rank].number),
		cpu_to_be64(now >> CNR_GREET_SLOT),
	};
	u64 challenge = cnr_siphash(c->cfg.seed, in, sizeof(in));

	return challenge ? challenge : 1;
}

/* Does @h repeat the challenge of now, or the one before? */
static bool cnr_greeting_meets(const struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u64 challenge = be64_to_cpu(h->greeting.challenge);
	u16 rank = be16_to_cpu(h->rank);

	return challenge == cnr_greeting_challenge(c, rank, now) ||
	       challenge == cnr_greeting_challenge(c, rank, now - (1ULL << CNR_GREET_SLOT));
}

/* Rank 0: the process of @nonce has @rank, or none has. */
static void cnr_greeting_note(struct cnr_comm *c, u16 rank, u64 nonce)
{
	struct cnr_joiner *j = &c->join.joiner[rank];
	struct cnr_member *m = &c->member[rank];

	if (m->flags & CNR_M_READY)
		c->formed.in--;
	if (m->flags & CNR_M_NEEDS)
		c->formed.needs--;
	m->flags &= ~(CNR_M_READY | CNR_M_NEEDS);
	if (nonce) {
		c->formed.in++;
		m->flags |= CNR_M_READY;
	}
	j->nonce = nonce;
	j->number++;
}

/* Rank 0: a process that lives has another nonce than the one of @rank that was noted, if any. */
static enum canary_drop cnr_greeting_newcomer(struct cnr_comm *c, u64 now,
					      const struct canary_hdr *h)
{
	u16 rank = be16_to_cpu(h->rank), why = be16_to_cpu(h->greeting.why);
	static const u16 root;

	if (!(h->flags & CANARY_F_ASKS)) {
		if (why != CANARY_ABORT_RESTARTED)
			return CANARY_DROP_STATE;
		/* It was in the session of a rank 0 before us, which has ended by that. */
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &root, 1, true);
		return CANARY_DROP_NONE;
	}
	if (why)
		return CANARY_DROP_STATE;
	if (!c->waits) {
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &rank, 1, true);
		cnr_greeting_answer(c, h, 0, CANARY_ABORT_RESTARTED);
		return CANARY_DROP_NONE;
	}
	/* Nothing was contributed yet. So it may take the place of another one. */
	cnr_greeting_note(c, rank, be64_to_cpu(h->greeting.nonce));
	return CANARY_DROP_NONE;
}

/* Rank 0: the process that has its rank leaves, and was not told that all are in. */
static enum canary_drop cnr_greeting_left(struct cnr_comm *c, u64 now, u16 rank)
{
	if (c->state == CNR_FAILED)
		return CANARY_DROP_ENDED;
	if (!c->waits)
		return cnr_left(c, now, rank, c->first, c->first);
	cnr_greeting_note(c, rank, 0);
	return CANARY_DROP_NONE;
}

/* Rank 0: a member greets. This holds when the communicator has failed, too, and tells it so. */
static enum canary_drop cnr_greeting_asked(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u64 nonce = be64_to_cpu(h->greeting.nonce);
	u16 rank = be16_to_cpu(h->rank);
	bool noted = nonce == c->join.joiner[rank].nonce;
	enum canary_drop drop;

	if (!nonce || h->flags & CANARY_F_READY)
		return CANARY_DROP_STATE;
	c->formed.sent = now;
	if (be64_to_cpu(h->greeting.session) != c->formed.session ||
	    (!noted && !cnr_greeting_meets(c, now, h))) {
		if (!(h->flags & CANARY_F_ASKS) || h->greeting.why)
			return CANARY_DROP_STATE;
		cnr_greeting_answer(c, h, 0, CANARY_ABORT_NONE);
		return CANARY_DROP_NONE;
	}
	if (!noted) {
		drop = cnr_greeting_newcomer(c, now, h);
		if (drop != CANARY_DROP_NONE || nonce != c->join.joiner[rank].nonce)
			return drop;
	} else if (be16_to_cpu(h->greeting.why) == CANARY_ABORT_LEFT) {
		return cnr_greeting_left(c, now, rank);
	} else if (!(h->flags & CANARY_F_ASKS) || h->greeting.why) {
		return CANARY_DROP_STATE;
	}
	if ((h->flags & CANARY_F_WAITING) && !(c->member[rank].flags & CNR_M_NEEDS)) {
		c->member[rank].flags |= CNR_M_NEEDS;
		c->formed.needs++;
	}
	if (c->waits && c->state != CNR_FAILED) {
		if (c->formed.in == c->cfg.members - 1)
			cnr_greeting_all(c, now);
		else if (cnr_greeting_needed(c))
			cnr_greeting_wanted(c, now);
	}
	cnr_greeting_answer(c, h, c->waits ? CANARY_F_WAITING : CANARY_F_READY, CANARY_ABORT_NONE);
	if (c->state == CNR_FAILED)
		cnr_control(c, CANARY_ABORT, rank, 0);
	return CANARY_DROP_NONE;
}

/* Does @h answer a question of ours, after all that were answered before? Then rank 0 lives. */
static bool cnr_greeting_is_news(struct cnr_formed *f, const struct canary_hdr *h)
{
	u32 question = be32_to_cpu(h->greeting.question);

	if (!canary_before(f->answered, question) || canary_before(f->question, question))
		return false;
	f->answered = question;
	f->silent = 0;
	return true;
}

/* We are in. */
static void cnr_greeting_in(struct cnr_comm *c, u64 now)
{
	struct cnr_formed *f = &c->formed;

	cnr_greeting_key(c);
	f->in_from = f->question;
	f->at = cnr_greeting_has_work(c) ? now + cnr_greeting_gap(c) : CNR_NEVER;
	cnr_arm(c, f->at);
}

/* Rank 0 says that we are in, that all are, or that there was another process of our rank. */
static enum canary_drop cnr_greeting_verdict(struct cnr_comm *c, u64 now,
					     const struct canary_hdr *h)
{
	bool all = h->flags & CANARY_F_READY, news = cnr_greeting_is_news(&c->formed, h);

	if (be64_to_cpu(h->greeting.session) != c->formed.session)
		return CANARY_DROP_DUPLICATE;
	if (h->greeting.why) {
		cnr_fail(c, now, CANARY_ABORT_RESTARTED, &c->cfg.rank, 1, false);
		return CANARY_DROP_NONE;
	}
	if (c->table ? !all || !c->waits : !all && !news)
		return CANARY_DROP_DUPLICATE;
	if (!c->table)
		cnr_greeting_in(c, now);
	if (all)
		cnr_greeting_all(c, now);
	return CANARY_DROP_NONE;
}

/* Rank 0 has another session than ours. So it was started again. It hears that we were there. */
static void cnr_greeting_other_root(struct cnr_comm *c, u64 now, u64 session)
{
	struct cnr_control *m;
	static const u16 root;

	cnr_fail(c, now, CANARY_ABORT_RESTARTED, &root, 1, true);
	m = cnr_control(c, CANARY_GREETING, 0, CANARY_ABORT_RESTARTED);
	if (m)
		m->nonce = session;
}

/* Rank 0 answers our question: we are not in. It wants us to repeat the challenge. */
static enum canary_drop cnr_greeting_challenged(struct cnr_comm *c, u64 now,
						const struct canary_hdr *h)
{
	u64 session = be64_to_cpu(h->greeting.session);
	struct cnr_formed *f = &c->formed;

	if (!cnr_greeting_is_news(f, h))
		return CANARY_DROP_DUPLICATE;
	if (c->table && session != f->session) {
		if (!canary_before(f->in_from, f->answered))
			return CANARY_DROP_DUPLICATE;
		f->challenge = be64_to_cpu(h->greeting.challenge);
		cnr_greeting_other_root(c, now, session);
		return CANARY_DROP_NONE;
	}
	if (!c->waits)
		return CANARY_DROP_DUPLICATE;
	c->table = false;
	if (session != f->session)
		f->tries = 0;
	f->session = session;
	f->challenge = be64_to_cpu(h->greeting.challenge);
	cnr_greet(c, now);
	return CANARY_DROP_NONE;
}

/* Others: rank 0 says which session it is, and whether we are in. */
static enum canary_drop cnr_greeting_told(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u64 session = be64_to_cpu(h->greeting.session);

	if (!session || h->rank || h->flags & CANARY_F_ASKS)
		return CANARY_DROP_STATE;
	if (be64_to_cpu(h->greeting.nonce) == c->formed.nonce) {
		if (h->flags & (CANARY_F_WAITING | CANARY_F_READY) || h->greeting.why)
			return cnr_greeting_verdict(c, now, h);
		return cnr_greeting_challenged(c, now, h);
	}
	/* If we think that we are in, and not all are, another one may have our place. */
	if (c->table && !c->waits && session == c->formed.session)
		return CANARY_DROP_DUPLICATE;
	cnr_greeting_hurry(c, now);
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
	out->hdr.greeting.challenge = cpu_to_be64(c->cfg.rank ? f->challenge :
						  cnr_greeting_challenge(c, m->rank, f->sent));
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

/*
 * Instead of LEAVE, which is under the session key: we close, and not all are in, as far as we
 * know. So rank 0 may let another process in.
 */
bool cnr_greeting_leave(struct cnr_comm *c, struct cnr_out *out)
{
	struct cnr_formed *f = &c->formed;

	if (!c->cfg.rank || !f->session)
		return false;
	cnr_header(c, out, CANARY_GREETING, 0);
	out->hdr.flags = CANARY_F_ASKS;
	out->hdr.greeting.why = cpu_to_be16(CANARY_ABORT_LEFT);
	out->hdr.greeting.question = cpu_to_be32(++f->question);
	out->hdr.greeting.nonce = cpu_to_be64(f->nonce);
	out->hdr.greeting.session = cpu_to_be64(f->session);
	out->hdr.greeting.challenge = cpu_to_be64(f->challenge);
	return true;
}
