// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: what others do wrong, and who. Packets that are dropped although they seem to
 * be meant for us are noted by kind and source. So people are told more than that somebody is
 * missing.
 *
 * All of this is a hint for people, and decides nothing. Packets without a valid mac may be
 * anybody's, and the newest entry replaces the oldest.
 */
#include "outbox.h"
#include "session.h"

enum cnr_trouble_kind cnr_trouble_of(enum canary_drop drop)
{
	switch (drop) {
	case CANARY_DROP_MAC:
	case CANARY_DROP_SUM:
		return CNR_TROUBLE_KEY;
	case CANARY_DROP_COMM:
		return CNR_TROUBLE_COMM;
	case CANARY_DROP_MEMBERS:
		return CNR_TROUBLE_MEMBERS;
	case CANARY_DROP_RANK:
	case CANARY_DROP_STATE:
		return CNR_TROUBLE_RANK;
	case CANARY_DROP_EPOCH:
		return CNR_TROUBLE_EPOCH;
	case CANARY_DROP_ELEMENTS:
		return CNR_TROUBLE_OFFER;
	default:
		return CNR_TROUBLE_NONE;
	}
}

static void cnr_trouble_add(struct cnr_comm *c, const struct cnr_in *in,
			    enum cnr_trouble_kind kind, u32 value)
{
	struct cnr_trouble *t;
	u32 i;

	for (i = 0; i < CNR_TROUBLES; i++) {
		t = &c->trouble.list[i];
		if (t->kind == kind && t->port == in->port &&
		    canary_addr_equal(&t->addr, &in->addr))
			break;
	}
	if (i == CNR_TROUBLES) {
		t = &c->trouble.list[c->trouble.next++ % CNR_TROUBLES];
		memset(t, 0, sizeof(*t));
	}
	t->kind = kind;
	t->addr = in->addr;
	t->port = in->port;
	t->rank = kind == CNR_TROUBLE_VERSION ? 0 : be16_to_cpu(in->hdr->rank);
	t->value = value;
	t->count++;
}

/*
 * Rank 0: note what is wrong with a JOIN. Return: true if its sender is to be told, in no more
 * bytes than it sent. Anybody can send a JOIN with another key or communicator, so it is only
 * answered when there is nothing else to say. JOINs with other mistakes were answered already.
 */
static bool cnr_trouble_joiner(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop)
{
	enum cnr_trouble_kind kind = cnr_trouble_of(drop);
	u32 value = 0;

	if (c->cfg.rank || kind == CNR_TROUBLE_NONE)
		return false;
	if (kind == CNR_TROUBLE_COMM)
		value = be32_to_cpu(in->hdr->comm);
	else if (kind == CNR_TROUBLE_MEMBERS)
		value = be16_to_cpu(in->hdr->members);
	cnr_trouble_add(c, in, kind, value);
	return (kind == CNR_TROUBLE_KEY || kind == CNR_TROUBLE_COMM) && in->hdr->join.nonce &&
	       !cnr_outbox_length(c);
}

/*
 * Other ranks: an answer to our JOIN that we cannot authenticate. Only somebody who has seen the
 * JOIN can know its nonce. So the answer is most likely what it looks like: rank 0 has another key
 * or communicator.
 */
static void cnr_trouble_answer(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop)
{
	if (!c->cfg.rank || c->state != CNR_JOINING || in->hdr->epoch ||
	    in->hdr->refused.nonce != cpu_to_be64(c->join.nonce) || in->port != c->cfg.root_port ||
	    !canary_addr_equal(&in->addr, &c->cfg.root))
		return;
	if (drop == CANARY_DROP_COMM)
		cnr_trouble_add(c, in, CNR_TROUBLE_COMM, be32_to_cpu(in->hdr->comm));
	else if (drop == CANARY_DROP_MAC || drop == CANARY_DROP_SUM)
		cnr_trouble_add(c, in, CNR_TROUBLE_KEY, 0);
}

/*
 * Note senders of another version, and of unknown kinds and flags. Return: false if @drop is about
 * something else
 */
static bool cnr_trouble_version(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop)
{
	switch (drop) {
	case CANARY_DROP_VERSION:
		cnr_trouble_add(c, in, CNR_TROUBLE_VERSION, in->hdr->version);
		return true;
	case CANARY_DROP_OPERATOR:
		cnr_trouble_add(c, in, CNR_TROUBLE_UNKNOWN, canary_kind(in->hdr));
		return true;
	case CANARY_DROP_FLAGS:
		cnr_trouble_add(c, in, CNR_TROUBLE_UNKNOWN, in->hdr->flags);
		return true;
	case CANARY_DROP_TYPE:
		return true;
	default:
		return false;
	}
}

/*
 * In a communicator from a table: a packet of another session came from where a member should be,
 * or a greeting. All packets of a member with another table or key look like that.
 */
static bool cnr_trouble_table(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop)
{
	u32 rank = be16_to_cpu(in->hdr->rank);

	if (!c->formed.until || c->una != c->first || rank >= c->cfg.members ||
	    (!cnr_is_at(&c->peer[rank], in) && in->hdr->type != CANARY_GREETING) ||
	    (drop != CANARY_DROP_MAC && drop != CANARY_DROP_MEMBERS && drop != CANARY_DROP_EPOCH))
		return false;
	cnr_trouble_add(c, in, CNR_TROUBLE_TABLE, 0);
	return true;
}

/* @in was dropped. Return: true if its sender is to be told, by cnr_join_refuse() */
bool cnr_trouble_note(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop)
{
	if (cnr_trouble_version(c, in, drop))
		return false;
	switch (in->hdr->type) {
	case CANARY_JOIN:
		return cnr_trouble_joiner(c, in, drop);
	case CANARY_REFUSED:
		cnr_trouble_answer(c, in, drop);
		return false;
	default:
		if (!cnr_trouble_table(c, in, drop) &&
		    (drop == CANARY_DROP_MAC || drop == CANARY_DROP_TAG))
			cnr_trouble_add(c, in, CNR_TROUBLE_FORGED, 0);
		return false;
	}
}

/* Rank 0, before all are in: another process claims a rank that was known. */
void cnr_trouble_claim(struct cnr_comm *c, const struct cnr_in *in)
{
	cnr_trouble_add(c, in, CNR_TROUBLE_RANK, 0);
}

/*
 * Note why rank 0 refuses us: @in is REFUSED, and authenticated. Since we can read it, our key and
 * communicator are right. If it says otherwise, our JOIN was damaged on its way. Return: false if
 * it means nothing
 */
bool cnr_trouble_refused(struct cnr_comm *c, const struct cnr_in *in)
{
	u32 kind = be16_to_cpu(in->hdr->refused.what);

	if (kind == CNR_TROUBLE_KEY || kind == CNR_TROUBLE_COMM)
		return false;
	if (kind > CNR_TROUBLE_NONE && kind <= CNR_TROUBLE_OFFER)
		cnr_trouble_add(c, in, kind, be16_to_cpu(in->hdr->refused.size));
	return true;
}

u32 cnr_troubles(const struct cnr_comm *c, struct cnr_trouble *list, u32 max)
{
	const struct cnr_trouble *t;
	u32 i, n = 0;

	for (i = 1; i <= CNR_TROUBLES && n < max; i++) {
		t = &c->trouble.list[(c->trouble.next - i) % CNR_TROUBLES];
		if (t->kind != CNR_TROUBLE_NONE)
			list[n++] = *t;
	}
	return n;
}
