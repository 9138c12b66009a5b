// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: the slots of blocks that this member leads, and what goes out of them: results to
 * the sources of contributions, FAILURE to ranks. Contributions come in by tree_leader.c.
 *
 * States (enum cnr_lead_state): FREE -> COLLECTING -> RESULT -> FREE. Silent blocks skip RESULT.
 * With a kept tree (tree_kept.c): RESULT <-> KEPT, until all results went out.
 */
#include "message.h"
#include "session.h"
#include "tree.h"

/* Take @l off the list of slots that have something to send. It is hardly ever on it. */
static void cnr_lead_unlist(struct cnr_tree *t, struct cnr_lead *l)
{
	u32 number = l - t->lead + 1, before = 0, at;

	for (at = t->out_first; at != number; at = t->lead[at - 1].out_next)
		before = at;
	if (before)
		t->lead[before - 1].out_next = l->out_next;
	else
		t->out_first = l->out_next;
	if (t->out_last == number)
		t->out_last = before;
	l->listed = false;
}

/*
 * @l has something to send. Results leave in the order in which blocks are finished: a result tells
 * which earlier ones went out (cnr_finished()), so those must not be behind it. FAILURE goes first,
 * as a block waits for it.
 */
static void cnr_lead_list(struct cnr_tree *t, struct cnr_lead *l, bool first)
{
	u32 number = l - t->lead + 1;

	if (l->listed && first)
		return;
	/* It was a question, or the slot has been used again since. */
	if (l->listed)
		cnr_lead_unlist(t, l);
	l->listed = true;
	l->out_next = first ? t->out_first : 0;
	if (!first && t->out_first)
		t->lead[t->out_last - 1].out_next = number;
	if (!first || !t->out_first)
		t->out_last = number;
	if (first || !t->out_first)
		t->out_first = number;
}

/* Start a pass over sources or ranks. */
void cnr_lead_send(struct cnr_comm *c, struct cnr_lead *l, u8 state, u8 flag)
{
	cnr_lead_list(&c->tree, l, state == CNR_L_COLLECTING);
	c->answers |= 1U << CNR_TREE;
	l->state = state;
	l->flags |= flag;
	l->cursor = 0;
}

void cnr_lead_clear(struct cnr_comm *c, struct cnr_lead *l)
{
	l->flags &= CNR_L_POSTED;
	l->tries = 0;
	l->load = 0;
	l->sum = 0;
	l->done = c->una;
	l->sources = 0;
	l->restoration_due = 0;
	l->lists = 0;
	l->asks = 0;
	l->asked_at = 0;
	cnr_arrived_clear(c, l);
}

/*
 * Return: the slot of @block, which is in the window and led here, or a new one; NULL if all are
 * taken
 */
struct cnr_lead *cnr_lead_get(struct cnr_comm *c, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);
	struct cnr_lead *l;
	u32 i, n;

	if (b->lead != CNR_NONE)
		return &c->tree.lead[b->lead];
	for (n = 0, i = c->tree.lead_free; n < c->tree.leads; n++, i++) {
		if (i >= c->tree.leads)
			i = 0;
		l = &c->tree.lead[i];
		if (l->state != CNR_L_FREE)
			continue;
		c->tree.lead_free = i + 1;
		l->state = CNR_L_COLLECTING;
		l->flags = 0;
		l->block = block;
		l->attempt = b->attempt;
		l->opsig = 0;
		l->deadline = CNR_NEVER;
		l->dissenter = CNR_NONE;
		l->all_at = 0;
		l->contributors = cnr_contributors(c, NULL);
		l->more = false;
		cnr_lead_clear(c, l);
		b->lead = i;
		return l;
	}
	return NULL;
}

/* Forget what was collected in @l, and its sources. */
void cnr_lead_discard(struct cnr_comm *c, struct cnr_lead *l)
{
	l->flags &= ~(CNR_L_MERGED | CNR_L_STRANGE | CNR_L_COOKIES);
	l->load = 0;
	l->sources = 0;
	cnr_arrived_clear(c, l);
}

/* Free the slot of @block: contributions came for it, but it is not led here. */
void cnr_lead_forget(struct cnr_comm *c, u32 block)
{
	struct cnr_block *b = cnr_block(c, block);

	c->stats.drop[CANARY_DROP_OPSIG] += c->tree.lead[b->lead].sources;
	c->tree.lead[b->lead].state = CNR_L_FREE;
	b->lead = CNR_NONE;
}

/* Say in a result of @l how its tree is used. Its block is @l->block + @l->turn. */
static void cnr_lead_mark(const struct cnr_lead *l, struct canary_hdr *h)
{
	h->result.tree = cpu_to_be32(l->turn);
	if (l->more || l->turn + 1 < l->finished)
		h->flags &= ~CANARY_F_LAST;
}

/* Make the result of the present block of @l for @s. Return: false if it is not kept any more */
static bool cnr_lead_result_to(struct cnr_comm *c, struct cnr_lead *l,
			       const struct cnr_source *s, struct cnr_out *out)
{
	if (!cnr_result_build(c, l->block + l->turn, l->attempt, out))
		return false;
	if (l->hashed && !l->turn)
		cnr_seal_by(c, l->block, l->hash);
	if (l->flags & CNR_L_NO_SUM) {
		l->sum = cnr_out_sum(out);
		l->flags &= ~CNR_L_NO_SUM;
	}
	out->hdr.result.sum = cpu_to_be32(l->sum);
	/* The time is that of the first block. */
	out->hdr.result.held = cpu_to_be32(l->turn ? 0 : l->held_us);
	out->hdr.result.load = l->load;
	cnr_lead_mark(l, &out->hdr);
	out->addr = s->addr;
	out->port = s->port;
	cnr_count(c, CNR_C_results_out);
	return true;
}

/*
 * Make the result of the present block of @l for the next source. If that result is not kept any
 * more, nobody needs it, nor those that would follow it down the tree. Return: false if there is no
 * source left, or no result
 */
static bool cnr_lead_result_next(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out)
{
	struct cnr_source *s;

	while (l->cursor < l->sources) {
		s = &l->source[l->cursor++];
		if (s->repeat)
			continue;
		if (cnr_lead_result_to(c, l, s, out))
			return true;
		l->more = false;
		return false;
	}
	return false;
}

/*
 * All sources have the result of the present block. Is that of a later one there? Then it is its
 * turn.
 */
bool cnr_lead_turn(struct cnr_lead *l)
{
	if (l->turn + 1 == l->finished)
		return false;
	l->turn++;
	l->flags |= CNR_L_NO_SUM;
	l->cursor = 0;
	return true;
}

/* Make the next result of @l. Return: false when all sources have theirs */
static bool cnr_lead_result(struct cnr_comm *c, struct cnr_lead *l, struct cnr_out *out)
{
	if (l->flags & CNR_L_COOKIES && cnr_restore_build(c, l, out))
		return true;
	do {
		if (cnr_lead_result_next(c, l, out))
			return true;
	} while (cnr_lead_turn(l));
	if (l->more) {
		l->state = CNR_L_KEPT;
		return false;
	}
	l->state = CNR_L_FREE;
	c->tree.lead_free = l - c->tree.lead;
	return false;
}

static bool cnr_lead_failure(struct cnr_comm *c, u64 now, struct cnr_lead *l,
			     struct cnr_out *out)
{
	bool bypass = (l->flags & CNR_L_FAIL_MISSING) || l->attempt >= CNR_BYPASS_ATTEMPT;
	u32 rank;

	while (l->cursor < c->cfg.members) {
		rank = l->cursor++;
		if (rank == c->cfg.rank || (c->member[rank].flags & CNR_M_LEFT) ||
		    cnr_arrived_has(l, rank) ||
		    ((l->flags & CNR_L_FAIL_MISSING) && !cnr_wanted(l, rank)))
			continue;
		cnr_header(c, out, CANARY_FAILURE, l->block);
		out->hdr.attempt = l->attempt;
		out->hdr.opsig = cpu_to_be32(l->opsig);
		out->hdr.flags = bypass ? CANARY_F_BYPASS : 0;
		out->hdr.failure.question = cpu_to_be32(cnr_question(c, rank));
		cnr_to_rank(c, out, rank);
		cnr_count(c, CNR_C_failures_out);
		if (l->flags & CNR_L_FAIL_MISSING)
			cnr_count(c, CNR_C_asked_again);
		if (bypass)
			cnr_ask(c, now, rank);
		return true;
	}
	l->flags &= ~(CNR_L_FAIL_ALL | CNR_L_FAIL_MISSING);
	return false;
}

/* Make the next result or FAILURE to send. Return: false if there is none */
bool cnr_lead_build(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	struct cnr_lead *l;

	while (c->tree.out_first) {
		l = &c->tree.lead[c->tree.out_first - 1];
		if (l->state == CNR_L_RESULT && cnr_lead_result(c, l, out))
			return true;
		if (l->state == CNR_L_COLLECTING &&
		    (l->flags & (CNR_L_FAIL_ALL | CNR_L_FAIL_MISSING)) &&
		    cnr_lead_failure(c, now, l, out))
			return true;
		c->tree.out_first = l->out_next;
		l->listed = false;
	}
	return false;
}

/* The communicator is over: free all slots. */
void cnr_lead_drop_all(struct cnr_comm *c)
{
	u32 i;

	for (i = 0; i < c->tree.leads; i++) {
		c->tree.lead[i].state = CNR_L_FREE;
		c->tree.lead[i].listed = false;
	}
	c->tree.out_first = 0;
}
