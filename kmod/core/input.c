// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Layer 7, roof: a packet comes in. It is checked, and handed to the part that it is for. */
#include "blocks.h"
#include "message.h"
#include "outbox.h"
#include "plan.h"
#include "roof.h"
#include "session.h"

static enum canary_drop cnr_abort_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const __be16 *list = cnr_payload(in);
	u32 i, n = be16_to_cpu(in->hdr->abort.entries);
	u32 all = min_t(u32, be32_to_cpu(in->hdr->abort.faults), c->cfg.members);
	struct cnr_faults faults;

	faults.n = 0;
	for (i = 0; i < n && i < CNR_FAULTS; i++)
		cnr_fault_add(&faults, be16_to_cpu(list[i]));
	/* There may be more faults than names. */
	if (i == CNR_FAULTS)
		faults.n = max_t(u32, faults.n, all);
	cnr_fail(c, now, be16_to_cpu(in->hdr->abort.why), faults.rank, faults.n, false);
	return CANARY_DROP_NONE;
}

/* Rank 0 refuses our JOIN. That is believed only from where the cookie came from. */
static enum canary_drop cnr_refused_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	if (c->state != CNR_JOINING || !cnr_is_at(&c->join.answers_from, in) ||
	    in->hdr->refused.nonce != cpu_to_be64(c->join.nonce) || !cnr_trouble_refused(c, in))
		return CANARY_DROP_STATE;
	cnr_fail(c, now, CANARY_ABORT_REFUSED, &c->cfg.rank, 0, false);
	return CANARY_DROP_NONE;
}

/* All checks that need no block: is the packet well-formed, meant for us, and from its sender? */
static enum canary_drop cnr_check_packet(struct cnr_comm *c, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	enum canary_drop drop = canary_parse(h, in->len);
	const u8 *key;

	if (drop != CANARY_DROP_NONE)
		return drop;
	if (be32_to_cpu(h->comm) != c->cfg.comm)
		return CANARY_DROP_COMM;
	if (be16_to_cpu(h->members) != c->cfg.members && h->type != CANARY_JOIN)
		return CANARY_DROP_MEMBERS;
	if (c->state == CNR_CLOSED)
		return CANARY_DROP_ENDED;
	key = cnr_mac_key(c, h);
	if (key != c->cfg.key) {
		if (key == c->key ? !c->table : !c->formed.until)
			return CANARY_DROP_STATE;
		if (be32_to_cpu(h->epoch) != c->epoch)
			return CANARY_DROP_EPOCH;
	}
	if (!cnr_is_merged(h)) {
		drop = cnr_check_mac(c, in);
		if (drop != CANARY_DROP_NONE)
			return drop;
	}
	if (cnr_has_digest(h) &&
	    cnr_digest_of(h) != cnr_digest(key, cnr_payload(in), in->len - sizeof(*h)))
		return CANARY_DROP_SUM;
	if (!cnr_is_merged(h) && h->type != CANARY_JOIN && be16_to_cpu(h->rank) == c->cfg.rank)
		return CANARY_DROP_RANK;
	if (canary_has_to(h) && be16_to_cpu(h->request.to) != c->cfg.rank)
		return CANARY_DROP_OTHER;
	return CANARY_DROP_NONE;
}

/* A message of rendezvous. If it completes the member table, the epoch begins. */
static enum canary_drop cnr_rendezvous_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	enum canary_drop drop;

	if (in->hdr->type == CANARY_JOIN)
		drop = cnr_join_input(c, now, in);
	else if (in->hdr->type == CANARY_COOKIE)
		drop = cnr_cookie_input(c, now, in);
	else
		drop = cnr_welcome_input(c, now, in);
	cnr_begin(c);
	return drop;
}

/* Who is in? If all are now, what was posted begins. */
static enum canary_drop cnr_greeted(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	bool waits = c->waits;
	enum canary_drop drop = cnr_greeting_input(c, now, h);

	if (waits && !c->waits)
		cnr_fill(c, now);
	return drop;
}

static void cnr_alive_heard(struct cnr_comm *c, u64 now, const struct canary_hdr *h)
{
	bool more = cnr_alive_input(c, h);
	u32 i;

	cnr_differs_heard(c, now, h);
	for (i = 0; i < CNR_COLLECTIVES && c->state != CNR_FAILED; i++)
		if (c->collectives[i]->alive)
			c->collectives[i]->alive(c, now, h, more);
}

/*
 * A message about a block. A contribution or partial sum shows which algorithm runs the block. An
 * operation that is held may be waiting for that.
 */
static enum canary_drop cnr_block_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	const struct cnr_algorithm *a;

	a = c->collectives[cnr_is_of_ring(h->type) ? CNR_RING : CNR_TREE];
	if (c->plan.held && !cnr_is_merged(h) && a->expects(c, h) &&
	    (h->type == CANARY_CONTRIBUTION || h->type == CANARY_RING_SUM))
		cnr_plan_heard(c, now, be32_to_cpu(h->block), be32_to_cpu(h->opsig), a->algorithm);
	return a->input(c, now, in);
}

/*
 * May @h be taken while not all are in, as far as we know? Of what is under the session key, data
 * and news may. Questions may not, as we say nothing under that key yet; nor do we expect answers.
 */
static bool cnr_is_early(const struct cnr_comm *c, const struct canary_hdr *h)
{
	if (cnr_mac_key(c, h) != c->key || cnr_has_data(h))
		return true;
	switch (h->type) {
	case CANARY_PLAN:
	case CANARY_LEAVE:
	case CANARY_ABORT:
		return true;
	default:
		return false;
	}
}

static enum canary_drop cnr_dispatch(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	if (c->waits && !cnr_is_early(c, h))
		return CANARY_DROP_STATE;
	if (cnr_is_question(h) && !cnr_is_new_question(c, h))
		return CANARY_DROP_DUPLICATE;
	switch (h->type) {
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
	case CANARY_REQUEST:
	case CANARY_FAILURE:
	case CANARY_WAIT:
	case CANARY_RING_SUM:
	case CANARY_RING_RESULT:
	case CANARY_RING_REQUEST:
	case CANARY_RING_WAIT:
		return cnr_block_input(c, now, in);
	case CANARY_PROBE:
		return cnr_probe_input(c, h);
	case CANARY_ALIVE:
		cnr_alive_heard(c, now, h);
		return CANARY_DROP_NONE;
	case CANARY_JOIN:
	case CANARY_COOKIE:
	case CANARY_WELCOME:
		return cnr_rendezvous_input(c, now, in);
	case CANARY_PLAN:
		return cnr_plan_input(c, now, h);
	case CANARY_ACK:
		return h->flags & CANARY_F_SILENT ? cnr_block_input(c, now, in) :
						    cnr_done_input(c, now, h);
	case CANARY_LEAVE:
		return cnr_leave_input(c, now, h);
	case CANARY_ABORT:
		return cnr_abort_input(c, now, in);
	case CANARY_REFUSED:
		return cnr_refused_input(c, now, in);
	case CANARY_GREETING:
		return cnr_greeted(c, now, h);
	default:
		return CANARY_DROP_TYPE;	/* restorations are for switches */
	}
}

/* Can @h be taken only once? Then it shows that its sender lives. */
static bool cnr_is_once(const struct canary_hdr *h)
{
	return !cnr_is_merged(h) && (cnr_has_data(h) || h->type == CANARY_WAIT ||
				     h->type == CANARY_RING_WAIT);
}

/*
 * The communicator is over here. Is the sender of @h to be told? A process that joins with the
 * right key and epoch is told, too, as it would go on until it gives up.
 */
static bool cnr_wants_end(const struct cnr_comm *c, const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_ABORT:
	case CANARY_LEAVE:
	case CANARY_COOKIE:
	case CANARY_WELCOME:
	case CANARY_REFUSED:
	case CANARY_GREETING:
		return false;
	case CANARY_JOIN:
		return c->table && !c->cfg.rank && h->rank &&
		       be16_to_cpu(h->members) == c->cfg.members &&
		       be32_to_cpu(h->epoch) == c->epoch;
	default:
		return cnr_may_speak(c) && !cnr_is_merged(h);
	}
}

enum canary_drop cnr_input(struct cnr_comm *c, u64 now, const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;
	enum canary_drop drop = cnr_check_packet(c, in);

	c->stats.counter[CNR_C_bytes_in] += in->len;
	if (drop == CANARY_DROP_NONE) {
		if (c->state == CNR_FAILED) {
			if (cnr_wants_end(c, h))
				cnr_control(c, CANARY_ABORT, be16_to_cpu(h->rank), 0);
			drop = CANARY_DROP_ENDED;
			if (h->type == CANARY_GREETING && !c->cfg.rank)
				cnr_greeting_input(c, now, h);
		} else {
			drop = cnr_dispatch(c, now, in);
			if (drop == CANARY_DROP_NONE && cnr_is_once(h))
				cnr_heard(c, be16_to_cpu(h->rank));
			if (c->waits && !cnr_is_merged(h) && cnr_mac_key(c, h) == c->key)
				cnr_greeting_hurry(c, now);
		}
	}
	c->stats.drop[drop]++;
	if (drop != CANARY_DROP_NONE && drop != CANARY_DROP_SHORT && cnr_trouble_note(c, in, drop))
		cnr_join_refuse(c, in, drop);
	cnr_go_on(c, now);
	return drop;
}
