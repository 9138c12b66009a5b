// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: a led block that lacks contributions. It decides whether that is a loss, which
 * ranks are missing, and what to do. cnr_lead_overdue() is the table in PROTOCOL.md, "A block's
 * life".
 *
 * Timer: cnr_lead.deadline while COLLECTING and posted here.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"
#include "tree.h"

#define CNR_FEW			64	/* ranks among which tags find two; three in half */
#define CNR_HOLD_ROUNDS		2	/* most round trips to wait for what switches hold */
#define CNR_GROUPS		12	/* most aggregators whose ranks are tried together */
#define CNR_NAMED_MAX		2	/* up to so many missing ranks are asked singly */

static void cnr_want(struct cnr_lead *l, u16 rank)
{
	l->want[rank / 64] |= 1ULL << (rank % 64);
}

/* May switches still hold a part of the block? */
static bool cnr_lead_merges(struct cnr_comm *c, const struct cnr_lead *l)
{
	return c->tree.merges && l->attempt < CNR_BYPASS_ATTEMPT &&
	       !(cnr_block(c, l->block)->flags & CNR_B_AROUND);
}

/* If one rank is missing, expected minus received tag is its tag. */
static u32 cnr_identify_one(struct cnr_comm *c, struct cnr_lead *l, u64 tag)
{
	u32 rank;

	for (rank = 0; rank < c->cfg.members; rank++) {
		if (!cnr_lacks(c, l, rank) || cnr_tags_of(c, l, rank) != tag)
			continue;
		cnr_want(l, rank);
		return 1;
	}
	return 0;
}

/*
 * Ranks that were not heard singly and have the same first aggregator; @tag is the sum of their
 * tags
 */
struct cnr_group {
	__be32	switch_id;
	u32	ranks;
	u64	tag;
};

static u32 cnr_group(const struct cnr_group *g, u32 groups, __be32 switch_id)
{
	u32 i;

	for (i = 0; i < groups && g[i].switch_id != switch_id; i++)
		;
	return i;
}

static u32 cnr_groups(struct cnr_comm *c, const struct cnr_lead *l, struct cnr_group *g)
{
	u32 rank, i, n = 0;

	for (rank = 0; rank < c->cfg.members; rank++) {
		if (!cnr_lacks(c, l, rank))
			continue;
		i = cnr_group(g, n, c->member[rank].first_aggregator);
		if (i == n) {
			if (n == CNR_GROUPS)
				return 0;
			g[n++] = (struct cnr_group){
				.switch_id = c->member[rank].first_aggregator,
			};
		}
		g[i].ranks++;
		g[i].tag += cnr_tags_of(c, l, rank);
	}
	return n;
}

/*
 * If aggregates were lost, everything is missing that some first aggregators had collected. So the
 * tags of some groups add up to @tag. All combinations are tried, in the order of a Gray code: each
 * step adds or removes one group.
 */
static u32 cnr_identify_groups(struct cnr_comm *c, struct cnr_lead *l, u64 tag, u32 missing)
{
	struct cnr_group g[CNR_GROUPS];
	u32 groups = cnr_groups(c, l, g);
	u32 step, in = 0, ranks = 0, i;
	u64 sum = 0;

	for (step = 1; step < 1U << groups; step++) {
		for (i = 0; !(step >> i & 1); i++)
			;
		in ^= 1U << i;
		ranks += in >> i & 1 ? g[i].ranks : -g[i].ranks;
		sum += in >> i & 1 ? g[i].tag : -g[i].tag;
		if (ranks != missing || sum != tag)
			continue;
		for (i = 0; i < c->cfg.members; i++)
			if (cnr_lacks(c, l, i) &&
			    in >> cnr_group(g, groups, c->member[i].first_aggregator) & 1)
				cnr_want(l, i);
		return missing;
	}
	return 0;
}

/*
 * If packets were lost before any switch merged them, two or three ranks are missing. Find those
 * among the ranks not heard singly whose tags add up to @tag.
 */
static u32 cnr_identify_few(struct cnr_comm *c, struct cnr_lead *l, u64 tag, u32 missing)
{
	u64 tags[CNR_FEW];
	u16 ranks[CNR_FEW];
	u32 rank, i, j, k, n = 0;

	for (rank = 0; rank < c->cfg.members; rank++) {
		if (!cnr_lacks(c, l, rank))
			continue;
		if (n == CNR_FEW / (missing - 1))
			return 0;
		tags[n] = cnr_tags_of(c, l, rank);
		ranks[n++] = rank;
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j < i; j++) {
			/* The third rank, if two are missing: none. */
			for (k = 0; k < (missing == 2 ? 1 : j); k++) {
				if (tags[i] + tags[j] + (missing == 2 ? 0 : tags[k]) != tag)
					continue;
				cnr_want(l, ranks[i]);
				cnr_want(l, ranks[j]);
				if (missing == 3)
					cnr_want(l, ranks[k]);
				return missing;
			}
		}
	}
	return 0;
}

/*
 * Find the missing ranks, and put them into cnr_lead.want. Ranks that were heard singly are known.
 * For aggregates the tag tells, since it is the sum of the ranks' tags. Return: how many are
 * missing; 0 if that cannot be told, or if switches may have lost all that they had added up
 */
static u32 cnr_identify(struct cnr_comm *c, struct cnr_lead *l)
{
	u32 missing = l->contributors - l->count;
	u64 tag;

	memset(l->want, 0, (c->cfg.members + 63) / 64 * sizeof(*l->want));
	if (!(l->flags & CNR_L_MERGED)) {
		if (!l->sources && cnr_lead_merges(c, l) && missing > CNR_NAMED_MAX)
			return 0;
		return cnr_arrived_missing(c, l, l->want);
	}
	/* Only shards before the last ones are missing. Nobody knows whose. */
	if (!missing)
		return 0;
	tag = cnr_lead_expected(c, l) - l->tag;
	if (missing == 1)
		return cnr_identify_one(c, l, tag);
	if (missing <= 3 && cnr_identify_few(c, l, tag, missing))
		return missing;
	return cnr_identify_groups(c, l, tag, missing);
}

/*
 * Return: the first block that is led here and not finished; all such blocks before it are finished
 */
u32 cnr_led(struct cnr_comm *c)
{
	if (canary_before(c->led, c->una))
		c->led = c->una;
	while (c->led != c->next && (cnr_block(c, c->led)->roles.leader != c->cfg.rank ||
				     cnr_block(c, c->led)->state == CNR_B_DONE ||
				     cnr_is_others(c, c->led)))
		c->led++;
	return c->led;
}

/* How long a missing contribution may take, if it is not known that all were sent */
static u64 cnr_lead_wait(const struct cnr_comm *c)
{
	return (c->net.rto + c->net.srtt) / 2;
}

/*
 * Set the time to look at what is missing. If all ranks are known to have contributed, that is when
 * reordering can no longer explain the gap. If some were asked, it is when the answer is overdue.
 * Otherwise ranks may be computing, and a look at the earliest block is enough. It comes before the
 * members ask for the result, but not before a round trip is over.
 */
static void cnr_lead_due(struct cnr_comm *c, struct cnr_lead *l, u64 now)
{
	if (l->asked_at)
		l->deadline = l->asked_at + cnr_answer_time(c, l->tries);
	else if (l->all_at)
		l->deadline = max_t(u64, l->all_at, l->last_at) + cnr_reordering(c);
	else
		l->deadline = now + min_t(u64, cnr_lead_wait(c) << min_t(u8, l->tries, 6),
					  CNR_WAIT_MAX);
}

void cnr_lead_rearm(struct cnr_comm *c, struct cnr_lead *l, u64 now)
{
	cnr_lead_due(c, l, now);
	if (l->asked_at || l->all_at || l->block == cnr_led(c))
		cnr_arm(c, l->deadline);
}

/* All ranks have contributed @block, which is led here. */
void cnr_lead_all_sent(struct cnr_comm *c, u64 now, u32 block)
{
	u16 lead = cnr_block(c, block)->lead;
	struct cnr_lead *l;

	if (lead == CNR_NONE)
		return;
	l = &c->tree.lead[lead];
	if (l->state != CNR_L_COLLECTING || !(l->flags & CNR_L_POSTED) || l->all_at)
		return;
	l->all_at = now;
	cnr_lead_rearm(c, l, now);
}

/* If another block is now the earliest unfinished one, start its timer. It had none so far. */
void cnr_lead_next(struct cnr_comm *c, u64 now)
{
	struct cnr_block *b;

	if (cnr_led(c) == c->tree.led_timed || c->led == c->next)
		return;
	c->tree.led_timed = c->led;
	b = cnr_block(c, c->led);
	if (b->lead != CNR_NONE && (c->tree.lead[b->lead].flags & CNR_L_POSTED))
		cnr_lead_rearm(c, &c->tree.lead[b->lead], now);
}

/* Begin the block anew, since what was collected cannot be used. */
void cnr_lead_restart(struct cnr_comm *c, u64 now, struct cnr_lead *l)
{
	cnr_trust_spoilt(c, now, l);
	l->attempt = cnr_around_attempt(c, l->attempt);
	cnr_block(c, l->block)->attempt = l->attempt;
	cnr_count(c, CNR_C_attempts);
	if (l->attempt == CNR_BYPASS_ATTEMPT)
		cnr_count(c, CNR_C_bypass);
	cnr_lead_clear(c, l);
	cnr_tags_begin(c, l);
	cnr_lead_send(c, l, CNR_L_COLLECTING, CNR_L_FAIL_ALL);
	c->net.asked_at = now;
	l->last_at = now;
	l->asked_at = now;
	cnr_lead_rearm(c, l, now);
}

/*
 * Return: how many ranks may not have contributed the block of @l yet, as far as is known
 *
 * They are asked how far they are, in rounds. No rank is asked again before its answer can be here,
 * and all together not faster than CNR_PROBE_GAP says. This function only marks them. They owe an
 * answer from when the question is sent (poll.c), so this one look at all members stays short.
 */
static u32 cnr_lead_unknown(struct cnr_comm *c, u64 now, const struct cnr_lead *l)
{
	bool probe = now >= c->tree.probe_at;
	struct cnr_member *m;
	u32 rank, unknown = 0;

	if (l->all_at || canary_before(l->block, c->all_sent))
		return 0;
	for (rank = 0; rank < c->cfg.members; rank++) {
		m = &c->member[rank];
		if (!cnr_lacks(c, l, rank) || canary_before(l->block, cnr_sent(c, m)))
			continue;
		unknown++;
		if (probe && !(m->flags & CNR_M_LEFT))
			m->flags |= CNR_M_PROBE;
	}
	if (unknown && probe) {
		c->tree.probe_at = now + max_t(u64, cnr_lead_wait(c), unknown * CNR_PROBE_GAP);
		cnr_cast(c, CNR_CAST_PROBE);
	}
	return unknown;
}

/* Ask the @named ranks in @want to contribute again, with BYPASS. */
static void cnr_lead_ask(struct cnr_comm *c, u64 now, struct cnr_lead *l, u32 named)
{
	if (l->flags & CNR_L_MERGED)
		cnr_count(c, named == 1 ? CNR_C_named : CNR_C_groups);
	l->asked_at = now;
	if (!l->asks)
		l->first_ask = now;
	if (l->asks < 255)
		l->asks++;
	c->net.asked_at = now;
	cnr_lead_send(c, l, CNR_L_COLLECTING, CNR_L_FAIL_MISSING);
}

/*
 * Fail if ranks live and say that they have contributed, but were asked for it many times: their
 * large packets do not arrive.
 */
static bool cnr_lead_path_fails(struct cnr_comm *c, u64 now, struct cnr_lead *l)
{
	struct cnr_faults faults;
	u32 rank;

	if (l->asks < CNR_PATH_TRIES || now - l->first_ask < 2 * c->cfg.dead_after)
		return false;
	faults.n = 0;
	for (rank = 0; rank < c->cfg.members; rank++)
		if (cnr_wanted(l, rank) && !cnr_arrived_has(l, rank) &&
		    canary_before(l->block, cnr_sent(c, &c->member[rank])))
			cnr_fault_add(&faults, rank);
	if (faults.n)
		cnr_fail(c, now, CANARY_ABORT_PATH, faults.rank, faults.n, true);
	return faults.n;
}

/*
 * Return: until when switches may still hold a part of the block
 *
 * Waiting uses up the window, and hosts alone do a block in little more than a round trip. So it
 * does not pay to wait for more than CNR_HOLD_ROUNDS round trips. Where a slow member makes
 * switches hold all blocks, the measured round trip contains that.
 */
static u64 cnr_lead_held_until(const struct cnr_comm *c, const struct cnr_lead *l)
{
	u64 hold = c->net.held_back;

	if (c->net.srtt)
		hold = min_t(u64, hold, CNR_HOLD_ROUNDS * c->net.srtt);
	return max_t(u64, l->all_at, l->last_at) + hold;
}

static void cnr_lead_overdue(struct cnr_comm *c, u64 now, struct cnr_lead *l)
{
	u64 held_until = cnr_lead_held_until(c, l);
	u32 named, unknown;
	bool settled;

	if ((l->flags & (CNR_L_FAIL_ALL | CNR_L_FAIL_MISSING)) || !cnr_tags_known(c, l)) {
		/* The questions have not even gone out, or tags are not known yet. */
		cnr_lead_due(c, l, now);
		l->deadline = max_t(u64, l->deadline, now + CNR_MSEC);
		return;
	}
	named = cnr_identify(c, l);
	/* An incomplete aggregate shows that the last switch has waited already. */
	settled = (l->flags & CNR_L_MERGED) && l->last_at > l->all_at;
	if ((!named || (named > CNR_NAMED_MAX && cnr_lead_merges(c, l) && !settled)) && l->all_at &&
	    !l->asked_at && now < held_until) {
		l->deadline = held_until;	/* a switch may still hold it */
		return;
	}
	cnr_count(c, CNR_C_timeouts);
	if (cnr_lead_path_fails(c, now, l))
		return;
	unknown = named && named <= CNR_NAMED_MAX ? 0 : cnr_lead_unknown(c, now, l);
	if (unknown) {
		/* They may be computing, so nobody owes us anything. */
		l->asked_at = 0;
		l->asks = 0;
	} else if (named) {
		cnr_lead_ask(c, now, l, named);
	} else {
		cnr_lead_restart(c, now, l);
	}
	cnr_lead_rearm(c, l, now);
	if (l->tries < 255)
		l->tries++;
}

void cnr_lead_timers(struct cnr_comm *c, u64 now)
{
	struct cnr_lead *l;
	u32 i;

	for (i = 0; i < c->tree.leads; i++) {
		l = &c->tree.lead[i];
		if (l->state != CNR_L_COLLECTING || !(l->flags & CNR_L_POSTED) ||
		    cnr_arrived_all(c, l))
			continue;
		if (!l->all_at && !l->asked_at && l->block != cnr_led(c))
			continue;
		if (l->deadline <= now)
			cnr_lead_overdue(c, now, l);
		if (c->state == CNR_FAILED)
			return;
		cnr_arm(c, l->deadline);
	}
}

/*
 * A rank has contributed more than was known. That may decide what to do about the earliest block.
 */
void cnr_lead_heard(struct cnr_comm *c, u64 now)
{
	struct cnr_block *b = cnr_block(c, cnr_led(c));
	struct cnr_lead *l;

	if (c->led == c->next || b->lead == CNR_NONE)
		return;
	l = &c->tree.lead[b->lead];
	if (l->state != CNR_L_COLLECTING || !(l->flags & CNR_L_POSTED) || !l->tries || l->asked_at)
		return;
	l->tries = 0;
	l->deadline = min_t(u64, l->deadline, now + cnr_answer_time(c, 0));
	cnr_arm(c, l->deadline);
}
