// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: a block at its leader. It checks and merges contributions
 * (cnr_contribution_merge()) until the block is complete. tree_missing.c deals with contributions
 * that do not come. The result goes out by tree_slots.c.
 */
#include "message.h"
#include "outbox.h"
#include "session.h"
#include "tree.h"

/* Rank 0 counts what becomes of its blocks. It chooses algorithms by that (plan.c). */
static void cnr_observe(struct cnr_comm *c, const struct cnr_lead *l)
{
	c->observed.blocks++;
	c->observed.sources += l->sources;
	c->observed.contributors += l->contributors;
	c->observed.again += l->attempt != 0;
}

/*
 * All contributions are there, added up in @sum, and our own is posted. Context: cnr_tags_known()
 */
static void cnr_lead_finish(struct cnr_comm *c, u64 now, struct cnr_lead *l, const u32 *sum)
{
	struct cnr_block *b = cnr_block(c, l->block);
	struct cnr_operation *o = &c->ops[b->op];
	bool silent = cnr_is_silent(&b->roles);

	if (l->tag != cnr_lead_expected(c, l)) {
		cnr_count(c, CNR_C_tag_mismatch);
		cnr_lead_restart(c, now, l);
		return;
	}
	if (l->flags & CNR_L_MERGED)
		cnr_trust_proven(c, l);
	if (l->attempt && l->attempt < CNR_BYPASS_ATTEMPT)
		cnr_around_learn(c, true);
	l->sum = cnr_result_make(c, o, l->block, sum, l->acc);
	l->hashed = cnr_sealed_by(c, l->block, &l->hash);
	/* Headers of aggregates have no mac: believe only what the tag proves. */
	if (l->flags & CNR_L_MERGED)
		l->done = canary_earlier(l->done, cnr_proven_done(c, o, l->block));
	l->done = canary_earlier(l->done, c->una);
	l->deadline = CNR_NEVER;
	l->held_us = min_t(u64, (now - l->first_at) / CNR_USEC, ~0U);
	l->flags &= ~(CNR_L_FAIL_ALL | CNR_L_FAIL_MISSING);
	if (silent)
		l->state = CNR_L_FREE;
	else
		cnr_lead_send(c, l, CNR_L_RESULT, 0);
	cnr_kept_begin(c, l, b->roles.more);
	cnr_restore_begin(c, o, l);
	cnr_count(c, CNR_C_blocks_led);
	c->load = l->load;
	cnr_all_done(c, l->done);
	b->lead = CNR_NONE;
	if (o->observed)
		cnr_observe(c, l);
	cnr_block_done(c, now, l->block);
	if (silent)
		cnr_taken_finished(c, o);
	cnr_all_sent(c, now, l->block + 1);
	cnr_lead_next(c, now);
}

/*
 * The block of @l is posted. Finish it if everything has come, with the sum of the others @sum;
 * else wait for the rest. If tags are not known yet, cnr_lead_work() goes on.
 */
static void cnr_lead_settle(struct cnr_comm *c, u64 now, struct cnr_lead *l, const u32 *sum)
{
	if (cnr_arrived_counted(l) && !cnr_tags_known(c, l))
		return;
	if (cnr_arrived_all(c, l))
		cnr_lead_finish(c, now, l, sum);
	else
		cnr_lead_rearm(c, l, now);
}

/* Our application has posted @block. Contributions may be there already. */
void cnr_lead_posted(struct cnr_comm *c, u64 now, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_operation *o = &c->ops[b->op];
	struct cnr_lead *l = cnr_lead_get(c, block);
	struct cnr_part p;
	u8 kind;

	if (!l)
		return;		/* tried again when a member asks for it */
	cnr_part(c, o, block, &p);
	kind = p.list ? p.list : p.kind;
	if (l->sources && (l->opsig != o->opsig || l->kind != kind ||
			   (!p.list && l->length != p.length))) {
		c->stats.drop[CANARY_DROP_OPSIG] += l->sources;
		cnr_lead_clear(c, l);
	}
	l->flags |= CNR_L_POSTED;
	l->contributors = cnr_contributors(c, &b->roles);
	l->opsig = o->opsig;
	l->length = p.length;
	l->kind = kind;
	l->last_at = now;
	cnr_tags_begin(c, l);
	cnr_lead_settle(c, now, l, l->acc);
}

/*
 * Is @in a repeat of what we have? Sets *@known if its source will get a result already. A
 * contribution that comes from the member itself is neither: cnr_acceptable() takes it once. But
 * its shards all come from there, and it gets one result.
 */
static bool cnr_repeat(const struct cnr_comm *c, const struct cnr_lead *l, const struct cnr_in *in,
		       bool *known)
{
	const struct canary_peer *p = &c->peer[be16_to_cpu(in->hdr->rank)];
	const struct cnr_source *s;
	u32 i;

	*known = false;
	if (!cnr_is_merged(in->hdr) && !canary_is_list(in->hdr) && cnr_is_at(p, in))
		return false;
	for (i = 0; i < l->sources; i++) {
		s = &l->source[i];
		if (s->port != in->port || !canary_addr_equal(&s->addr, &in->addr))
			continue;
		*known = true;
		if (s->tag == be64_to_cpu(in->hdr->contribution.tag))
			return true;
	}
	return false;
}

/*
 * @rank certainly runs another operation at the block of @l than we do. The next rank that is heard
 * shows which of us two differs from the rest. With two members that cannot be told.
 */
static void cnr_lead_differs(struct cnr_comm *c, u64 now, struct cnr_lead *l, u16 rank, u32 opsig)
{
	bool second = l->dissenter != CNR_NONE && l->dissenter != rank;
	bool alike = second && l->dissent_sig == opsig;
	u16 both[2] = { c->cfg.rank, rank };

	l->dissenter = rank;
	l->dissent_sig = opsig;
	if (second || c->cfg.members == 2)
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, both, alike ? 1 : 2, true);
	else if (cnr_trust_witness(c, l))
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, &rank, 1, true);
}

/*
 * A member sent ALIVE. It may show that it runs another operation than we do. @more: it has
 * contributed more than was known, so a missing contribution may be lost.
 */
void cnr_lead_alive(struct cnr_comm *c, u64 now, const struct canary_hdr *h, bool more)
{
	u32 block = be32_to_cpu(h->block), opsig = be32_to_cpu(h->opsig);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_lead *l;

	if (opsig && cnr_in_window(c, block) && cnr_may_lead(c, block, c->cfg.rank) &&
	    cnr_block(c, block)->lead != CNR_NONE) {
		l = &c->tree.lead[cnr_block(c, block)->lead];
		if ((l->flags & CNR_L_POSTED) && l->opsig != opsig) {
			cnr_lead_differs(c, now, l, rank, opsig);
			return;
		}
	}
	if (more && canary_before(c->led, cnr_sent(c, &c->member[rank])))
		cnr_lead_heard(c, now);
}

static enum canary_drop cnr_acceptable(struct cnr_comm *c, const struct cnr_lead *l,
				       const struct canary_hdr *h)
{
	if (l->state != CNR_L_COLLECTING)
		return CANARY_DROP_DUPLICATE;
	if (h->attempt != l->attempt)
		return CANARY_DROP_ATTEMPT;
	if ((l->sources || (l->flags & CNR_L_POSTED)) && be32_to_cpu(h->opsig) != l->opsig)
		return CANARY_DROP_OPSIG;
	if ((l->sources || (l->flags & CNR_L_POSTED)) ? !cnr_lead_alike(l, h) :
							canary_length(h) > c->length)
		return CANARY_DROP_ELEMENTS;
	return cnr_arrived_admit(c, l, h);
}

/* May the list @in be combined into the block of @l, whose length may not be known yet? */
static bool cnr_list_fits(const struct cnr_comm *c, const struct cnr_lead *l,
			  const struct cnr_in *in)
{
	return canary_list_fits(canary_kind(in->hdr), cnr_payload(in), canary_length(in->hdr),
				(l->flags & CNR_L_POSTED ? l->length : c->length) / sizeof(u32));
}

/* Combine the list @in into what was collected of the block. */
static void cnr_list_add(const struct cnr_comm *c, struct cnr_lead *l, const struct cnr_in *in)
{
	u32 i;

	for (i = 0; !l->sources && i < c->length / sizeof(u32); i++)
		l->acc[i] = canary_kind_identity(l->kind);
	canary_list_scatter(l->kind, l->acc, cnr_payload(in), canary_length(in->hdr));
}

/*
 * Add @in, which is accepted, to what was collected of the block. @known: its source will get a
 * result already; @keep: the data are needed later.
 */
static void cnr_contribution_merge(struct cnr_comm *c, struct cnr_lead *l, u64 now,
				   const struct cnr_in *in, bool known, bool keep)
{
	const struct canary_hdr *h = in->hdr;
	struct cnr_source *s = &l->source[l->sources];

	if (!l->sources) {
		l->opsig = be32_to_cpu(h->opsig);
		l->kind = canary_kind(h);
		l->done = be32_to_cpu(h->contribution.acked);
		l->first_at = now;
	}
	l->done = canary_earlier(l->done, be32_to_cpu(h->contribution.acked));
	if (canary_is_list(h)) {
		cnr_list_add(c, l, in);
	} else if (l->sources) {
		cnr_combine(l->kind, l->acc, l->acc, cnr_payload(in), l->length);
	} else {
		l->length = canary_length(h);
		if (keep)
			memcpy(l->acc, cnr_payload(in), l->length);
	}
	cnr_arrived_took(l, h);
	l->load = max_t(u8, l->load, h->contribution.load);
	s->addr = in->addr;
	s->port = in->port;
	s->repeat = known;
	s->merged = cnr_is_merged(h);
	if (s->merged)
		cnr_trust_taken(c, now, l, s);
	s->tag = be64_to_cpu(h->contribution.tag);
	s->bypassed = !!(h->flags & CANARY_F_BYPASS);
	s->switch_id = h->contribution.switch_id;
	s->cookie = h->contribution.cookie;
	if (s->cookie && !known)
		l->flags |= CNR_L_COOKIES;
	l->sources++;
	l->tries = 0;
	l->asks = 0;
	l->last_at = now;
}

/*
 * A contribution came, perhaps too late. Learn from it how long the network keeps packets, and how
 * long a member takes to answer. Strangers teach nothing.
 */
static void cnr_lead_learn(struct cnr_comm *c, u64 now, const struct cnr_lead *l,
			   const struct cnr_in *in, enum canary_drop drop)
{
	const struct canary_hdr *h = in->hdr;
	bool single = !cnr_is_merged(h);
	/* A single one that a switch sent on was held there, like all that is incomplete. */
	bool held = !single || !canary_addr_equal(&in->addr, &c->peer[be16_to_cpu(h->rank)].addr);
	/*
	 * A path of 0 with BYPASS: it went around switches from the start, and was not asked for.
	 */
	bool answer = single && (h->flags & CANARY_F_BYPASS) &&
		      !h->contribution.switch_id && h->contribution.path;

	if (drop == CANARY_DROP_NONE && answer && l->asks && cnr_wanted(l, be16_to_cpu(h->rank))) {
		cnr_answered(c, now - l->first_ask);
		if (l->asks == 1)
			cnr_rtt(c, now - l->asked_at);
	}
	/* Nothing of a later attempt is late: it was asked for. No switch held a complete one. */
	if (!l->all_at || answer || h->attempt ||
	    (!single && (cnr_lead_whole(l, h) || !cnr_merger_known(c, in))))
		return;
	if (drop == CANARY_DROP_ATTEMPT || (drop == CANARY_DROP_NONE && !l->asks) ||
	    (drop == CANARY_DROP_DUPLICATE && single && l->asks))
		cnr_came_late(c, now - l->all_at, held);
}

/*
 * Does the member itself get the answer, rather than the source of the packet? So it is for a
 * single contribution with BYPASS and without cookie, which no switch has as a child. Its source
 * may be anybody who saw it.
 */
static bool cnr_is_own(const struct canary_hdr *h)
{
	return !cnr_is_merged(h) && (h->flags & CANARY_F_BYPASS) && !canary_has_cookie(h);
}

/*
 * Does the configuration allow aggregates from @addr? They have no mac. A member that was told
 * where switches are takes them from nowhere else. Context: hot, so nothing is looked up if no
 * prefix was given.
 */
static bool cnr_believes(const struct cnr_comm *c, const struct canary_addr *addr)
{
	u32 i;

	for (i = 0; i < c->cfg.believe; i++)
		if (canary_addr_within(addr, &c->cfg.believed[i].addr, c->cfg.believed[i].length))
			return true;
	return !c->cfg.believe;
}

/*
 * Is @in for a block that is led here and lacks it? A packet that is dropped may teach something,
 * too.
 */
static enum canary_drop cnr_contribution_wanted(struct cnr_comm *c, u64 now,
						const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	u32 block = be32_to_cpu(h->block);
	struct cnr_block *b = cnr_block(c, block);

	if (!cnr_may_lead(c, block, c->cfg.rank))
		return CANARY_DROP_LEADER;
	if (!cnr_in_window(c, block))
		return canary_before(block, c->una) ? CANARY_DROP_DUPLICATE : CANARY_DROP_BLOCK;
	if (cnr_is_others(c, block)) {
		if (!cnr_is_merged(h))
			cnr_differs(c, now, block, be16_to_cpu(h->rank), be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	if (b->state == CNR_B_DONE)
		return CANARY_DROP_DUPLICATE;
	if (h->attempt == b->attempt)
		return CANARY_DROP_NONE;
	if (h->attempt < b->attempt && b->lead != CNR_NONE)
		cnr_lead_learn(c, now, &c->tree.lead[b->lead], in, CANARY_DROP_ATTEMPT);
	return CANARY_DROP_ATTEMPT;
}

/* May @in be added to @l, as far as the packet shows? */
static enum canary_drop cnr_contribution_admit(struct cnr_comm *c, u64 now, struct cnr_lead *l,
					       const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	enum canary_drop drop;

	/* The mac of a single contribution covers its data, too. An aggregate has none. */
	if (cnr_is_merged(h)) {
		if (!cnr_believes(c, &in->addr))
			return CANARY_DROP_AGGREGATE;
		if (!cnr_sum_right(in))
			return CANARY_DROP_SUM;
		drop = cnr_trust_admit(c, now, l, in);
		if (drop != CANARY_DROP_NONE)
			return drop;
	} else {
		cnr_trust_doubt(c, now, l, h);
	}
	drop = cnr_acceptable(c, l, h);
	if (drop == CANARY_DROP_NONE && canary_is_list(h) && !cnr_list_fits(c, l, in))
		drop = CANARY_DROP_ELEMENTS;
	if (drop == CANARY_DROP_COUNT && cnr_trust_replaces(c, l, h)) {
		cnr_lead_discard(c, l);
		drop = CANARY_DROP_NONE;
	}
	if (drop == CANARY_DROP_OPSIG && !cnr_is_merged(h) && (l->flags & CNR_L_POSTED))
		cnr_lead_differs(c, now, l, be16_to_cpu(h->rank), be32_to_cpu(h->opsig));
	/* A list may have any length. */
	if (drop == CANARY_DROP_ELEMENTS && !cnr_is_merged(h) && !canary_is_list(h) &&
	    (l->flags & CNR_L_POSTED))
		cnr_differs_inside(c, now, be16_to_cpu(h->rank));
	cnr_lead_learn(c, now, l, in, drop);
	return drop;
}

/* A contribution was added to @l. @sum: where the sum is, if that was the last one. */
static void cnr_contribution_taken(struct cnr_comm *c, u64 now, struct cnr_lead *l,
				   const struct canary_hdr *h, const u32 *sum)
{
	u16 rank = be16_to_cpu(h->rank);
	u32 block = l->block;

	cnr_count(c, CNR_C_contributions_in);
	if (cnr_is_merged(h))
		cnr_count(c, CNR_C_contributions_merged);
	else
		cnr_sent_by(c, rank, block + cnr_arrived_has(l, rank));
	if (l->dissenter != CNR_NONE && (l->flags & CNR_L_POSTED) && cnr_trust_witness(c, l)) {
		cnr_fail(c, now, CANARY_ABORT_MISMATCH, &l->dissenter, 1, true);
		return;
	}
	if (!(l->flags & CNR_L_POSTED)) {
		if (cnr_block(c, block)->state == CNR_B_SENT)
			cnr_lead_posted(c, now, block);
	} else {
		cnr_lead_settle(c, now, l, sum);
	}
	cnr_fill(c, now);
}

enum canary_drop cnr_contribution_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	enum canary_drop drop = cnr_contribution_wanted(c, now, in);
	struct cnr_in own = *in;
	struct cnr_lead *l;
	bool known, whole;

	if (drop != CANARY_DROP_NONE)
		return drop;
	l = cnr_lead_get(c, be32_to_cpu(h->block));
	if (!l)
		return CANARY_DROP_FULL;
	drop = cnr_contribution_admit(c, now, l, in);
	if (drop != CANARY_DROP_NONE)
		return drop;
	if (cnr_is_own(h)) {
		own.addr = c->peer[be16_to_cpu(h->rank)].addr;
		own.port = c->peer[be16_to_cpu(h->rank)].port;
	}
	if (cnr_repeat(c, l, &own, &known))
		return CANARY_DROP_DUPLICATE;
	/* One packet with all contributions needs no accumulator. */
	whole = !l->sources && (l->flags & CNR_L_POSTED) && cnr_lead_whole(l, h) &&
		cnr_tags_known(c, l);
	cnr_contribution_merge(c, l, now, &own, known, !whole);
	cnr_contribution_taken(c, now, l, h, whole ? cnr_payload(in) : l->acc);
	return CANARY_DROP_NONE;
}

/* Answer @h, a REQUEST for a result that is not here: WAIT. */
static void cnr_request_wait(struct cnr_comm *c, const struct canary_hdr *h)
{
	struct cnr_control *m = cnr_control(c, CANARY_WAIT, be16_to_cpu(h->rank),
					    be32_to_cpu(h->block));

	if (m)
		m->arg = be32_to_cpu(h->request.question);
}

/* Does a REQUEST for @block of @o only ask whether we have the contribution? */
static bool cnr_request_silent(const struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	struct cnr_roles r;

	if (!o)
		return !c->kept;	/* forgotten: then only that can be meant */
	cnr_roles(c, o, block, &r);
	return cnr_is_silent(&r);
}

enum canary_drop cnr_request_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	u16 rank = be16_to_cpu(h->rank);
	struct cnr_operation *o;
	struct cnr_control *m;
	struct cnr_block *b;
	bool done, silent;

	cnr_count(c, CNR_C_requests_in);
	if (!cnr_may_lead(c, block, c->cfg.rank)) {
		cnr_control(c, CANARY_ALIVE, rank, block);
		return CANARY_DROP_LEADER;
	}
	cnr_sent_by(c, rank, block + 1);
	c->member[rank].first_aggregator = h->request.switch_id;
	if (cnr_is_others(c, block)) {
		cnr_differs(c, now, block, rank, be32_to_cpu(h->opsig), 1);
		return CANARY_DROP_OPSIG;
	}
	o = cnr_find_op(c, block);
	b = cnr_block(c, block);
	silent = cnr_request_silent(c, o, block);
	if (silent && canary_before(block, c->una)) {
		/* WAIT first: only answers to questions show how long an answer takes. */
		cnr_request_wait(c, h);
		cnr_taken_say(c, rank);
		return CANARY_DROP_NONE;
	}
	done = o && (canary_before(block, c->una) ||
		     (canary_before(block, c->next) && b->state == CNR_B_DONE));
	if (done && !silent) {
		cnr_restore_failed(c, block);
		m = cnr_control(c, CANARY_RESULT, rank, block);
		if (m)
			m->attempt = h->attempt;
		return CANARY_DROP_NONE;
	}
	if (canary_before(block, c->una)) {
		cnr_control(c, CANARY_ALIVE, rank, block);
		return CANARY_DROP_BLOCK;
	}
	if (canary_before(block, c->next) && b->lead == CNR_NONE && !done)
		cnr_lead_posted(c, now, block);
	cnr_request_wait(c, h);
	return CANARY_DROP_NONE;
}

/* Do a slice of long work. Return: false if no block waits for tags */
bool cnr_lead_work(struct cnr_comm *c, u64 now)
{
	struct cnr_lead *l;
	u32 i;

	for (i = 0; i < c->tree.leads; i++) {
		l = &c->tree.lead[i];
		if (l->state != CNR_L_COLLECTING || !(l->flags & CNR_L_POSTED) ||
		    cnr_tags_known(c, l))
			continue;
		cnr_tags_slice(c, l);
		if (cnr_tags_known(c, l) && cnr_arrived_counted(l))
			cnr_lead_settle(c, now, l, l->acc);
		return true;
	}
	return false;
}
