// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: who lives. Members ask and answer; a member that does not answer is dead.
 * PROTOCOL.md, "Slow or dead".
 *
 * Anybody who has seen packets can send them again. Such packets must not make a rank that is gone
 * look alive, or make a member wait for ever. So the questions of one rank to another (REQUEST,
 * FAILURE, PROBE) are numbered, and each is taken once. WAIT and ALIVE repeat the number. Other
 * packets show life only if they can be taken only once.
 *
 * Timer: cnr_alive.at, while somebody owes an answer.
 */
#include "outbox.h"
#include "session.h"

#define CNR_DEAD_PROBES		64	/* questions in the time after which a rank is dead */
#define CNR_DEAD_UNANSWERED	32	/* it missed so many: we may have slept, too */
#define CNR_GONE_PAUSE		CNR_MSEC /* pause after CNR_GONE_ONCE */

#define CNR_RECENT	32	/* bits of cnr_questions.recent */

/* Return: the number of the next question to @rank */
u32 cnr_question(struct cnr_comm *c, u16 rank)
{
	return ++c->questions[rank].question;
}

/* Does @number answer a question that was put to the rank of @t after question @from? */
bool cnr_is_answer(const struct cnr_questions *t, u32 from, u32 number)
{
	return canary_before(from, number) && !canary_before(t->question, number);
}

bool cnr_is_question(const struct canary_hdr *h)
{
	return h->type == CANARY_REQUEST || h->type == CANARY_FAILURE || h->type == CANARY_PROBE ||
	       h->type == CANARY_RING_REQUEST;
}

/* Does question @h come for the first time? One that is far older than others counts as old. */
bool cnr_is_new_question(struct cnr_comm *c, const struct canary_hdr *h)
{
	struct cnr_questions *t = &c->questions[be16_to_cpu(h->rank)];
	u32 number = be32_to_cpu(h->request.question), age;

	if (canary_before(t->heard, number)) {
		age = number - t->heard;
		t->recent = (age < CNR_RECENT ? t->recent << age : 0) | 1;
		t->heard = number;
		return true;
	}
	age = t->heard - number;
	if (age >= CNR_RECENT || t->recent >> age & 1)
		return false;
	t->recent |= 1U << age;
	return true;
}

/*
 * How long until members that owe an answer are asked again. All of them together are asked not
 * faster than CNR_PROBE_GAP says, and all members are not looked at too often to find a few.
 */
static u64 cnr_alive_gap(const struct cnr_comm *c)
{
	u64 look = max_t(u64, c->cfg.dead_after / CNR_DEAD_PROBES, c->cfg.members * CNR_USEC);

	return max_t(u64, look, c->alive.asked * CNR_PROBE_GAP);
}

/* @rank owes us an answer from now on. */
void cnr_ask(struct cnr_comm *c, u64 now, u16 rank)
{
	struct cnr_member *m = &c->member[rank];

	if (m->asked || (m->flags & CNR_M_LEFT))
		return;
	m->asked = now ? now : 1;
	c->questions[rank].asked_from = c->questions[rank].question;
	m->probes = 0;
	if (!c->alive.asked++) {
		c->alive.at = now + cnr_alive_gap(c);
		cnr_arm(c, c->alive.at);
	}
}

/* @rank lives: a packet came from it that cannot be a copy of an earlier one. */
void cnr_heard(struct cnr_comm *c, u16 rank)
{
	if (!c->alive.asked || !c->member[rank].asked)
		return;
	c->member[rank].asked = 0;
	if (!--c->alive.asked)
		c->alive.at = CNR_NEVER;
}

/*
 * Nothing can be expected of @rank any more. The caller has to call cnr_gone_settle() afterwards.
 */
void cnr_gone(struct cnr_comm *c, u16 rank, u8 how)
{
	cnr_heard(c, rank);
	c->member[rank].flags |= how;
	c->alive.dead += !!(how & CNR_M_DEAD);
	c->alive.left++;
}

/*
 * No sum is possible any more. If some members died since the last operation, name them; else those
 * that left.
 */
void cnr_fail_left(struct cnr_comm *c, u64 now)
{
	enum canary_abort why = CANARY_ABORT_LEFT;
	u8 how = CNR_M_LEFT;
	struct cnr_faults faults;
	u32 i;

	faults.n = 0;
	for (i = 0; i < c->cfg.members; i++)
		if (c->member[i].flags & CNR_M_DEAD) {
			why = CANARY_ABORT_DEAD;
			how = CNR_M_DEAD;
		}
	for (i = 0; i < c->cfg.members; i++)
		if (c->member[i].flags & how)
			cnr_fault_add(&faults, i);
	cnr_fail(c, now, why, faults.rank, faults.n, true);
}

/*
 * Ask again all members that owe an answer, so that one lost packet is no death. Find the dead.
 * Return: true if some are gone; the caller then has to call cnr_gone_settle()
 */
bool cnr_alive_timer(struct cnr_comm *c, u64 now)
{
	struct cnr_member *m;
	bool idle = c->una == c->posted;	/* nothing is needed of anybody */
	u32 rank, left = c->alive.left;
	u64 gap = cnr_alive_gap(c);	/* an answer may still be on its way */
	bool probe = false, more = false;
	struct cnr_faults dead;

	if (!c->alive.asked)
		return false;
	if (c->alive.at > now) {
		cnr_arm(c, c->alive.at);
		return false;
	}
	dead.n = 0;
	for (rank = 0; rank < c->cfg.members; rank++) {
		m = &c->member[rank];
		if (!m->asked)
			continue;
		if (now - m->asked >= c->cfg.dead_after && m->probes >= CNR_DEAD_UNANSWERED) {
			more = idle && c->alive.left - left == CNR_GONE_ONCE;
			if (more)
				break;
			if (idle) {
				cnr_gone(c, rank, CNR_M_LEFT | CNR_M_DEAD);
				continue;
			}
			cnr_fault_add(&dead, rank);
		} else if (!(m->flags & CNR_M_PROBE) && now - m->asked >= gap) {
			m->flags |= CNR_M_PROBE;
			m->probes += m->probes < CNR_DEAD_UNANSWERED;
			probe = true;
		}
	}
	if (probe)
		cnr_cast(c, CNR_CAST_PROBE);
	if (dead.n) {
		cnr_fail(c, now, CANARY_ABORT_DEAD, dead.rank, dead.n, true);
		return false;
	}
	if (c->alive.asked) {
		c->alive.at = now + (more ? CNR_GONE_PAUSE : cnr_alive_gap(c));
		cnr_arm(c, c->alive.at);
	}
	return left != c->alive.left;
}

/*
 * @rank has contributed all blocks before @sent. It can be at most a window ahead of us. A larger
 * @sent is so old that serial numbers have gone half around since. Return: true if that is news
 */
bool cnr_sent_by(struct cnr_comm *c, u16 rank, u32 sent)
{
	struct cnr_member *m = &c->member[rank];

	if (!canary_before(cnr_sent(c, m), sent) || canary_before(c->next + c->window, sent))
		return false;
	m->sent = sent - c->first;
	return true;
}

enum canary_drop cnr_probe_input(struct cnr_comm *c, const struct canary_hdr *h)
{
	struct cnr_control *m;

	cnr_count(c, CNR_C_probes_in);
	m = cnr_control(c, CANARY_ALIVE, be16_to_cpu(h->rank), be32_to_cpu(h->block));
	if (!m)
		return CANARY_DROP_FULL;
	m->arg = be32_to_cpu(h->probe.question);
	return CANARY_DROP_NONE;
}

/* Return: true if its sender has contributed more than was known */
bool cnr_alive_input(struct cnr_comm *c, const struct canary_hdr *h)
{
	u16 rank = be16_to_cpu(h->rank);
	bool more = cnr_sent_by(c, rank, be32_to_cpu(h->alive.sent));

	c->member[rank].first_aggregator = h->alive.switch_id;
	if (cnr_is_answer(&c->questions[rank], c->questions[rank].asked_from,
			  be32_to_cpu(h->alive.answer)))
		cnr_heard(c, rank);
	return more;
}

/*
 * What was heard of a member long ago must not look like the future when serial numbers wrap. So
 * now and then, when a block is done, one member is brought up to what all have; the next member
 * comes next. Even of 65535 members, each has its turn within an eighth of half a round of serial
 * numbers.
 */
void cnr_refresh(struct cnr_comm *c, u32 block)
{
	struct cnr_member *m;

	if (block % CNR_REFRESH)
		return;
	m = &c->member[block / CNR_REFRESH % c->cfg.members];
	if (canary_before(cnr_sent(c, m), c->all_done))
		m->sent = c->all_done - c->first;
	if (canary_before(cnr_done(c, m), c->all_done))
		m->done = c->all_done - c->first;
}
