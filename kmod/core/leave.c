// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: what nobody needs any more, and when a member that was closed may go.
 *
 * Results are kept, and a closed member stays, as long as somebody may need them. Where no traffic
 * tells that, members tell one of them what they need no more (ACK), and it tells all what nobody
 * needs: the collector. That is rank 0, and when that is gone, the lowest rank that is not.
 *
 * Gone is who said LEAVE, and who was silent for dead_after while there was nothing that others
 * needed of it. So the dead hold up the others no longer than that, and those that are slow get
 * their results meanwhile.
 *
 * Timers: cnr_progress.at while results are kept; linger_at, the limit, while LINGERING.
 */
#include "outbox.h"
#include "session.h"

#define CNR_DONE_LAST		(1 * CNR_SEC)
#define CNR_DONE_SAID		4	/* times ACK is said before it is asked for */

static bool cnr_is_collector(const struct cnr_comm *c)
{
	return c->progress.collector == c->cfg.rank;
}

/* The epoch begins: nobody has anything. */
void cnr_done_begin(struct cnr_comm *c)
{
	struct cnr_progress *p = &c->progress;

	c->all_done = c->first;
	p->goal = c->first;
	p->base = c->first - 1;
}

/* Results before @goal are here. Do all have them? That is to be known @at some time. */
void cnr_done_wanted(struct cnr_comm *c, u32 goal, u64 at)
{
	struct cnr_progress *p = &c->progress;

	p->goal = goal;
	p->tries = 0;
	p->at = at;
	cnr_arm(c, at);
}

/* Somebody knows that all members have all results before @done. */
void cnr_all_done(struct cnr_comm *c, u32 done)
{
	if (canary_before(c->all_done, done) && !canary_before(c->una, done))
		c->all_done = done;
}

/*
 * What all members have, as far as it is known to the collector. Each ACK may tell more, so a look
 * at all members goes on where it stopped, at the first one that holds them up: none before it
 * does, as long as what all have stays what it was when the look began.
 */
static u32 cnr_done_by_all(struct cnr_comm *c)
{
	struct cnr_progress *p = &c->progress;
	const struct cnr_member *m;

	if (!canary_before(c->all_done, c->una))
		return c->all_done;
	if (p->base != c->all_done) {
		p->base = c->all_done;
		p->least = c->una;
		p->cursor = 0;
	}
	for (; p->cursor < c->cfg.members; p->cursor++) {
		m = &c->member[p->cursor];
		if (p->cursor == c->cfg.rank || (m->flags & CNR_M_LEFT))
			continue;
		if (!canary_before(c->all_done, cnr_done(c, m)))
			return c->all_done;
		p->least = canary_earlier(p->least, cnr_done(c, m));
	}
	return p->least;
}

static void cnr_collect(struct cnr_comm *c)
{
	u32 all;

	/* Those that were looked at first may have more by now. */
	while (canary_before(c->all_done, all = cnr_done_by_all(c))) {
		c->all_done = all;
		cnr_cast(c, CNR_CAST_DONE);
	}
}

/* Some @members more. Return: false if that was all. */
static bool cnr_done_ask_some(struct cnr_comm *c, u64 now, u32 members)
{
	struct cnr_progress *p = &c->progress;
	u32 end = min_t(u32, p->asked + members, c->cfg.members);

	for (; p->asked < end; p->asked++)
		if (p->asked != c->cfg.rank &&
		    canary_before(cnr_done(c, &c->member[p->asked]), p->goal))
			cnr_ask(c, now, p->asked);
	return end < c->cfg.members;
}

/* Who has not said that it has the results has to answer, and is gone if it does not. */
static void cnr_done_ask(struct cnr_comm *c, u64 now)
{
	if (c->progress.asked < c->cfg.members)
		return;		/* under way */
	c->progress.asked = 0;
	if (c->slice)
		c->work = true;
	else
		cnr_done_ask_some(c, now, c->cfg.members);
}

/*
 * The collector has to answer, and if some were found dead, those that would follow it: five times
 * as many each time. Or who missed that all others said goodbye would find them dead one by one.
 */
static void cnr_collectors_ask(struct cnr_comm *c, u64 now)
{
	u32 rank, n = min_t(u32, 1 + 4 * c->alive.dead, CNR_GONE_ONCE);

	for (rank = c->progress.collector; n && rank < c->cfg.members; rank++) {
		if (rank == c->cfg.rank || (c->member[rank].flags & CNR_M_LEFT))
			continue;
		cnr_ask(c, now, rank);
		n--;
	}
}

bool cnr_done_work(struct cnr_comm *c, u64 now)
{
	if (c->state != CNR_CONNECTED && c->state != CNR_LINGERING)
		return false;
	return c->progress.asked < c->cfg.members && cnr_done_ask_some(c, now, c->slice);
}

/*
 * Results of an operation are kept because it is not known that all have them: nothing follows
 * that would tell, or what follows waits for somebody who waits for that.
 */
void cnr_done_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_progress *p = &c->progress;
	struct cnr_control *m;

	if (!canary_before(c->all_done, p->goal) || c->cfg.members == 1)
		return;
	if (p->at <= now) {
		p->at = now + min_t(u64, CNR_DONE_FIRST << min_t(u32, p->tries, 8), CNR_DONE_LAST);
		p->tries++;
		if (!cnr_is_collector(c)) {
			m = cnr_control(c, CANARY_ACK, p->collector, 0);
			if (m)
				m->flags = CANARY_F_ASKS;
			cnr_collectors_ask(c, now);
		} else {
			cnr_collect(c);
			if (c->state == CNR_LINGERING || p->tries > CNR_DONE_SAID)
				cnr_done_ask(c, now);
		}
	}
	cnr_arm(c, p->at);
}

/*
 * Members may disagree about who the collector is: not all find out at once that one is gone, and
 * who has everything looks for nobody. So who takes us for it is told what all have as far as we
 * know, and believes that of us alone; and the one that we take for it has to show that it lives.
 */
enum canary_drop cnr_done_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 done = be32_to_cpu(h->ack.acked), all = c->all_done;
	bool collector = cnr_is_collector(c);
	u16 rank = be16_to_cpu(h->rank);

	if (collector) {
		if (canary_before(c->next, done))
			return CANARY_DROP_BLOCK;	/* we did not contribute to that yet */
		if (canary_before(cnr_done(c, &c->member[rank]), done)) {
			c->member[rank].done = done - c->first;
			cnr_heard(c, rank);
		}
	} else if (rank == c->progress.collector) {
		cnr_all_done(c, done);
		if (all != c->all_done)
			cnr_heard(c, rank);
	} else {
		cnr_ask(c, now, c->progress.collector);
	}
	/* An answer is answered by nobody, or two collectors would never end. */
	if (h->flags & CANARY_F_ASKS)
		cnr_control(c, CANARY_ACK, rank, 0);
	else if (!collector && rank != c->progress.collector)
		return CANARY_DROP_STATE;	/* what all have, says one that does not collect */
	if (collector)
		cnr_collect(c);
	cnr_linger_timer(c, now);
	return CANARY_DROP_NONE;
}

/* Whose results were waited for may be one that is gone, and another one may be the collector. */
void cnr_gone_settle(struct cnr_comm *c, u64 now)
{
	struct cnr_progress *p = &c->progress;

	while (!cnr_is_collector(c) && (c->member[p->collector].flags & CNR_M_LEFT)) {
		p->collector++;
		p->base = c->all_done - 1;		/* all are looked at */
	}
	p->tries = 0;
	p->at = min_t(u64, p->at, now);
	cnr_done_timer(c, now);
	cnr_linger_timer(c, now);
}

/* Everybody has everything, or it took too long: say goodbye. */
void cnr_linger_timer(struct cnr_comm *c, u64 now)
{
	if (c->state != CNR_LINGERING)
		return;
	if (c->all_done != c->una && now < c->progress.linger_at) {
		cnr_arm(c, c->progress.linger_at);
		return;
	}
	c->state = CNR_CLOSED;
	c->deadline = CNR_NEVER;
	cnr_cast(c, CNR_CAST_LEAVE);
}

/* The application is done: go when all have all results, or @at_once. */
void cnr_linger(struct cnr_comm *c, u64 now, bool at_once)
{
	if (at_once)
		c->progress.linger_at = now;
	else if (c->state == CNR_CONNECTED)
		c->progress.linger_at = now + c->cfg.linger;
	c->state = CNR_LINGERING;
	cnr_gone_settle(c, now);
}

enum canary_drop cnr_leave_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_member *m = &c->member[rank];

	if (m->flags & CNR_M_LEFT)
		return CANARY_DROP_DUPLICATE;
	cnr_gone(c, rank, CNR_M_LEFT);
	m->done = be32_to_cpu(h->leave.end) - c->first;
	cnr_all_done(c, be32_to_cpu(h->leave.acked));
	if (c->state == CNR_JOINING)
		cnr_connected(c);	/* it was, so that everybody is in */
	if (c->una != c->posted && canary_before(cnr_done(c, m), c->posted))
		cnr_fail(c, now, CANARY_ABORT_LEFT, &rank, 1, true);
	else
		cnr_gone_settle(c, now);
	return CANARY_DROP_NONE;
}
