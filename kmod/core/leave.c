// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: what nobody needs any more, and when a closed member may go.
 *
 * Results are kept, and a closed member stays, as long as somebody may need them. Where no traffic
 * shows that, members tell the collector what they need no more (ACK), and it tells all what nobody
 * needs. The collector is rank 0, or the lowest rank that is not gone.
 *
 * A member is gone if it said LEAVE, or if it was silent for dead_after while nothing was needed of
 * it. So the dead hold up others no longer than that. The slow get their results meanwhile.
 *
 * Timers: cnr_progress.at while results are kept; linger_at, the limit, while LINGERING.
 */
#include "outbox.h"
#include "session.h"

#define CNR_DONE_LAST		(1 * CNR_SEC)
#define CNR_DONE_SAID		4	/* how often ACK goes out before silent members are asked */
#define CNR_LEAVE_IN		(200 * CNR_MSEC) /* who leaves waits so long to be let in */

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

/* Results before @goal are here. From @at on, find out whether all have them. */
void cnr_done_wanted(struct cnr_comm *c, u32 goal, u64 at)
{
	struct cnr_progress *p = &c->progress;

	p->goal = goal;
	p->tries = 0;
	p->at = at;
	cnr_arm(c, at);
}

/* All members have all results before @done. */
void cnr_all_done(struct cnr_comm *c, u32 done)
{
	if (canary_before(c->all_done, done) && !canary_before(c->una, done))
		c->all_done = done;
}

/*
 * Return: what all members have, as far as the collector knows
 *
 * Each ACK may tell more. So a look at all members stops at the first one that holds them up, and
 * goes on there later. The members before it have more than @base. That holds as long as @base is
 * what all have.
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

	/* The members that were looked at first may have more by now, so look again. */
	while (canary_before(c->all_done, all = cnr_done_by_all(c))) {
		c->all_done = all;
		cnr_cast(c, CNR_CAST_DONE);
	}
}

/* Ask up to @members more members. Return: false if those were all */
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

/* Ask all members that have not said that they have the results. Who does not answer is gone. */
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
 * Ask the collector. If some members were found dead, also ask those that would follow it: five
 * times as many each time. Otherwise a member that missed all goodbyes would find the others dead
 * one by one.
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
 * Results of an operation are kept because it is not known that all have them. Nothing may follow
 * that would tell. Or what follows may wait for a member that waits for this. So tell the
 * collector, and ask.
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
 * A member said what it has, or what all have.
 *
 * Members may disagree about the collector: not all find out at once that one is gone, and a member
 * that has everything looks for nobody. A member that takes us for the collector is told what we
 * know that all have. It believes that, and no other member does. The one that we take for the
 * collector then has to show that it lives.
 */
enum canary_drop cnr_done_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 done = be32_to_cpu(h->ack.acked), all = c->all_done;
	bool collector = cnr_is_collector(c);
	u16 rank = be16_to_cpu(h->rank);

	if (collector) {
		if (canary_before(c->next, done))
			return CANARY_DROP_BLOCK;	/* we have not contributed that block yet */
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
	/* Answers get no answer, or two collectors would never end. */
	if (h->flags & CANARY_F_ASKS)
		cnr_control(c, CANARY_ACK, rank, 0);
	else if (!collector && rank != c->progress.collector)
		return CANARY_DROP_STATE;	/* it says what all have, but is no collector */
	if (collector)
		cnr_collect(c);
	cnr_linger_timer(c, now);
	return CANARY_DROP_NONE;
}

/*
 * Some members are gone. They may have been waited for, and one of them may have been the
 * collector.
 */
void cnr_gone_settle(struct cnr_comm *c, u64 now)
{
	struct cnr_progress *p = &c->progress;

	while (!cnr_is_collector(c) && (c->member[p->collector].flags & CNR_M_LEFT)) {
		p->collector++;
		p->base = c->all_done - 1;		/* look at all again */
	}
	p->tries = 0;
	p->at = min_t(u64, p->at, now);
	cnr_done_timer(c, now);
	cnr_linger_timer(c, now);
}

/*
 * If everybody has everything, or it took too long, say goodbye. Who formed the communicator just
 * now first waits for the others, which would not understand it yet.
 */
void cnr_linger_timer(struct cnr_comm *c, u64 now)
{
	u64 until = c->progress.linger_at;

	if (c->state != CNR_LINGERING)
		return;
	if (c->waits)
		until = min_t(u64, until, c->formed.began + CNR_LEAVE_IN);
	if ((c->all_done != c->una || c->waits) && now < until) {
		cnr_arm(c, until);
		return;
	}
	c->state = CNR_CLOSED;
	c->deadline = CNR_NEVER;
	cnr_cast(c, CNR_CAST_LEAVE);
}

/* The application is done. Leave when all have all results, or @at_once. */
void cnr_linger(struct cnr_comm *c, u64 now, bool at_once)
{
	if (at_once)
		c->progress.linger_at = now;
	else if (c->state == CNR_CONNECTED)
		c->progress.linger_at = now + c->cfg.linger;
	c->state = CNR_LINGERING;
	cnr_gone_settle(c, now);
}

/* @rank contributes nothing from block @end on, and says that all have what is before @acked. */
enum canary_drop cnr_left(struct cnr_comm *c, u64 now, u16 rank, u32 end, u32 acked)
{
	struct cnr_member *m = &c->member[rank];

	if (m->flags & CNR_M_LEFT)
		return CANARY_DROP_DUPLICATE;
	cnr_gone(c, rank, CNR_M_LEFT);
	m->done = end - c->first;
	cnr_all_done(c, acked);
	if (c->state == CNR_JOINING)
		cnr_connected(c);	/* it was connected, so everybody is in */
	if (c->una != c->posted && canary_before(cnr_done(c, m), c->posted))
		cnr_fail(c, now, CANARY_ABORT_LEFT, &rank, 1, true);
	else
		cnr_gone_settle(c, now);
	return CANARY_DROP_NONE;
}

enum canary_drop cnr_leave_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	return cnr_left(c, now, be16_to_cpu(h->rank), be32_to_cpu(h->leave.end),
			be32_to_cpu(h->leave.acked));
}
