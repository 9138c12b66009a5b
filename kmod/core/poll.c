// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 7, roof: a packet goes out, one at each call. Control messages go first, since they are
 * small and somebody waits for them. Then come messages to all members, results, and contributions.
 */
#include "blocks.h"
#include "message.h"
#include "outbox.h"
#include "plan.h"
#include "roof.h"
#include "session.h"

static void cnr_abort_build(struct cnr_comm *c, struct cnr_out *out)
{
	__be16 *list = (__be16 *)c->scratch;
	u32 i;

	for (i = 0; i < c->end.known; i++)
		list[i] = cpu_to_be16(c->end.fault[i]);
	out->hdr.abort.why = cpu_to_be16(c->end.why);
	out->hdr.abort.entries = cpu_to_be16(c->end.known);
	out->hdr.abort.faults = cpu_to_be32(c->end.faults);
	out->payload = list;
	out->len = c->end.known * sizeof(*list);
}

/* Refuse a JOIN. Its sender has no session key yet, so the answer goes under the pre-shared key. */
static void cnr_refuse_build(const struct cnr_comm *c, const struct cnr_control *m,
			     struct cnr_out *out)
{
	out->hdr.block = 0;
	out->hdr.refused.what = cpu_to_be16(m->block);
	out->hdr.refused.size = cpu_to_be16(m->block == CNR_TROUBLE_MEMBERS ? c->cfg.members : 0);
	out->hdr.epoch = 0;
	out->hdr.refused.nonce = cpu_to_be64(m->nonce);
	out->hdr.members = cpu_to_be16(m->arg);
	out->addr = m->addr;
	out->port = m->port;
}

static void cnr_alive_build(struct cnr_comm *c, const struct cnr_control *m, struct cnr_out *out)
{
	struct cnr_operation *o = NULL;

	if (!canary_before(m->block, c->una) && canary_before(m->block, c->posted))
		o = cnr_find_op(c, m->block);
	out->hdr.alive.answer = cpu_to_be32(m->arg);
	out->hdr.opsig = cpu_to_be32(o ? o->opsig : 0);
	out->hdr.alive.sent = cpu_to_be32(c->next);
	out->hdr.alive.switch_id = c->first_aggregator;
}

/* Make a result that somebody asked for again. Return: false if it is lost, or not kept */
static bool cnr_again_build(struct cnr_comm *c, u64 now, const struct cnr_control *m,
			    struct cnr_out *out)
{
	if (!cnr_result_build(c, m->block, m->attempt, out))
		return false;
	if (cnr_result_changed(c, cnr_find_op(c, m->block), m->block, out->payload)) {
		cnr_fail(c, now, CANARY_ABORT_LEFT, &c->cfg.rank, 1, true);
		return false;
	}
	out->hdr.result.sum = cpu_to_be32(cnr_out_sum(out));
	cnr_count(c, CNR_C_results_again);
	out->again = true;
	cnr_to_rank(c, out, m->rank);
	return true;
}

/* REQUEST, FAILURE, RING_REQUEST: what is asked for */
static void cnr_asking_build(struct cnr_comm *c, const struct cnr_control *m, struct cnr_out *out)
{
	struct cnr_operation *o = cnr_find_op(c, m->block);

	out->hdr.opsig = cpu_to_be32(o ? o->opsig : 0);
	if (m->type == CANARY_FAILURE)
		cnr_count(c, CNR_C_failures_out);
	else
		out->hdr.attempt = cnr_block(c, m->block)->attempt;
	out->hdr.request.question = cpu_to_be32(cnr_question(c, m->rank));
	if (m->type == CANARY_REQUEST) {
		out->hdr.request.acked = cpu_to_be32(c->una);
		out->hdr.request.switch_id = c->first_aggregator;
	} else if (m->type == CANARY_RING_REQUEST) {
		out->hdr.ring_request.acked = cpu_to_be32(c->una);
		out->hdr.ring_request.wanted = cpu_to_be16(m->arg);
	}
}

/* Make a message that has a header and little else. Return: false if it has become pointless */
static bool cnr_word_build(struct cnr_comm *c, const struct cnr_control *m, struct cnr_out *out)
{
	cnr_header(c, out, m->type, m->block);
	cnr_to_rank(c, out, m->rank);
	out->hdr.attempt = m->attempt;
	out->hdr.flags = m->flags;
	switch (m->type) {
	case CANARY_REQUEST:
	case CANARY_FAILURE:
	case CANARY_RING_REQUEST:
		cnr_asking_build(c, m, out);
		break;
	case CANARY_PLAN:
		return cnr_plan_build(c, m->block, m->rank, out);
	case CANARY_WAIT:
		out->hdr.wait.sent = cpu_to_be32(c->all_sent);
		out->hdr.wait.answer = cpu_to_be32(m->arg);
		cnr_count(c, CNR_C_waits_out);
		break;
	case CANARY_RING_WAIT:
		out->hdr.ring_wait.answer = cpu_to_be32(m->arg);
		cnr_count(c, CNR_C_waits_out);
		break;
	case CANARY_ALIVE:
		cnr_alive_build(c, m, out);
		break;
	case CANARY_PROBE:
		out->hdr.probe.question = cpu_to_be32(cnr_question(c, m->rank));
		out->hdr.probe.acked = cpu_to_be32(c->una);
		break;
	case CANARY_ACK:
		/* A leader of silent blocks, and a member that asks, say how far they are. */
		out->hdr.ack.acked = cpu_to_be32(m->flags & (CANARY_F_ASKS | CANARY_F_SILENT) ?
						 c->una : c->all_done);
		break;
	case CANARY_ABORT:
		cnr_abort_build(c, out);
		break;
	case CANARY_REFUSED:
		cnr_refuse_build(c, m, out);
		break;
	case CANARY_GREETING:
		cnr_greeting_build(c, m, out);
		break;
	}
	return true;
}

/* Return: false if the message has become pointless. */
static bool cnr_control_build(struct cnr_comm *c, u64 now, const struct cnr_control *m,
			      struct cnr_out *out)
{
	switch (m->type) {
	case CANARY_WELCOME:
		return cnr_welcome_build(c, m->rank, m->arg, out);
	case CANARY_COOKIE:
		cnr_cookie_build(c, now, m, out);
		return true;
	case CANARY_JOIN:
		cnr_join_build(c, m->arg, out);
		return true;
	case CANARY_RESULT:
		return cnr_again_build(c, now, m, out);
	default:
		return cnr_word_build(c, m, out);
	}
}

static bool cnr_cast_one(struct cnr_comm *c, u64 now, enum cnr_broadcast cast, u16 rank,
			 struct cnr_out *out)
{
	struct cnr_member *m = &c->member[rank];

	switch (cast) {
	case CNR_CAST_WELCOME:
	case CNR_CAST_READY:
		return cnr_welcome_build(c, rank, 0, out);
	case CNR_CAST_GREETING:
		if (!cnr_greeting_cast(c, rank, out))
			return false;
		break;
	case CNR_CAST_PROBE:
		if (!(m->flags & CNR_M_PROBE))
			return false;
		m->flags &= ~CNR_M_PROBE;
		cnr_ask(c, now, rank);
		cnr_header(c, out, CANARY_PROBE, c->una);
		out->hdr.probe.question = cpu_to_be32(cnr_question(c, rank));
		out->hdr.probe.acked = cpu_to_be32(c->una);
		cnr_count(c, CNR_C_probes_out);
		break;
	case CNR_CAST_PLAN:
		if (!cnr_plan_announce(c, out))
			return false;
		break;
	case CNR_CAST_DONE:
		cnr_header(c, out, CANARY_ACK, 0);
		out->hdr.ack.acked = cpu_to_be32(c->all_done);
		break;
	case CNR_CAST_TAKEN:
		cnr_header(c, out, CANARY_ACK, 0);
		out->hdr.flags = CANARY_F_SILENT;
		out->hdr.ack.acked = cpu_to_be32(c->una);
		break;
	case CNR_CAST_LEAVE:
		if (!cnr_may_speak(c)) {
			if (!cnr_greeting_leave(c, out))
				return false;
			break;
		}
		cnr_header(c, out, CANARY_LEAVE, 0);
		out->hdr.leave.end = cpu_to_be32(c->una);
		out->hdr.leave.acked = cpu_to_be32(c->all_done);
		break;
	case CNR_CAST_ABORT:
		cnr_header(c, out, CANARY_ABORT, 0);
		cnr_abort_build(c, out);
		break;
	default:
		return false;
	}
	cnr_to_rank(c, out, rank);
	return true;
}

/* How often each message is said. Nobody asks for a lost goodbye, so goodbyes are said twice. */
static const u8 cnr_cast_rounds[CNR_CASTS] = {
	[CNR_CAST_WELCOME] = 1,
	[CNR_CAST_READY] = 1,
	[CNR_CAST_GREETING] = 1,
	[CNR_CAST_PROBE] = 1,
	[CNR_CAST_PLAN] = 1,
	[CNR_CAST_DONE] = 1,
	[CNR_CAST_TAKEN] = 1,
	[CNR_CAST_LEAVE] = 2,
	[CNR_CAST_ABORT] = 2,
};

/* Return: to how many members @cast goes, from rank 0 on. Who is not in says goodbye to rank 0. */
static u32 cnr_cast_members(const struct cnr_comm *c, u32 cast)
{
	return cast == CNR_CAST_LEAVE && !cnr_may_speak(c) ? 1 : c->cfg.members;
}

static bool cnr_cast_build(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	u32 cast, rank, to;

	for (cast = 0; cast < CNR_CASTS && c->broadcast; cast++) {
		/* Others would not understand a decision before they are in. */
		if (!(c->broadcast & 1U << cast) || (cast == CNR_CAST_PLAN && c->waits))
			continue;
		to = cnr_cast_members(c, cast);
		while (c->cast_cursor[cast] < to * cnr_cast_rounds[cast]) {
			rank = c->cast_cursor[cast]++ % to;
			if (rank == c->cfg.rank || cnr_is_deaf(&c->member[rank]))
				continue;
			if (cnr_cast_one(c, now, cast, rank, out))
				return true;
		}
		c->broadcast &= ~(1U << cast);
		if (cast == CNR_CAST_PLAN && cnr_plan_announced(c))
			cast--;
	}
	return false;
}

static void cnr_news(struct cnr_comm *c)
{
	u32 i;

	for (i = 0; i < CNR_COLLECTIVES; i++)
		if (c->news & 1U << i)
			c->collectives[i]->news(c);
}

/*
 * Make the next packet of the collectives that have a bit in @bits: an answer, or a contribution
 * (@own). Trees come before rings here. A collective may set its bit again when it is asked.
 */
static bool cnr_collective_build(struct cnr_comm *c, u64 now, u8 *bits, bool own,
				 struct cnr_out *out)
{
	const struct cnr_algorithm *a;
	u32 i, bit;

	for (i = CNR_COLLECTIVES; i--;) {
		bit = *bits & 1U << i;
		if (!bit)
			continue;
		a = c->collectives[i];
		*bits &= ~bit;
		if (own ? a->contribute(c, now, out) : a->answer(c, now, out)) {
			*bits |= bit;
			return true;
		}
	}
	return false;
}

static bool cnr_next(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	while (cnr_outbox_length(c)) {
		struct cnr_control *m = &c->control[c->control_tail++ % CNR_CONTROLS];

		if (cnr_control_build(c, now, m, out))
			return true;
	}
	cnr_go_on(c, now);
	if (c->news)
		cnr_news(c);
	if ((c->broadcast && cnr_cast_build(c, now, out)) ||
	    (c->answers && !c->waits &&
	     cnr_collective_build(c, now, &c->answers, false, out)))
		return true;
	cnr_go_on(c, now);
	if (c->contributes && !c->waits && cnr_collective_build(c, now, &c->contributes, true, out))
		return true;
	return c->broadcast && cnr_cast_build(c, now, out);	/* it may have failed just now */
}

bool cnr_poll(struct cnr_comm *c, u64 now, struct cnr_out *out)
{
	while (cnr_next(c, now, out)) {
		if (!cnr_may_speak(c) && cnr_mac_key(c, &out->hdr) == c->key)
			continue;
		cnr_seal(c, out);
		return true;
	}
	return false;
}
