// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: whose aggregates are taken. An aggregate has no mac: anybody may have made it up.
 * That it was right is known when its block is complete, by the tag, which nobody makes up without
 * the key.
 *
 * One that completes its block is right or not at once, and what is not costs nothing but the look
 * at it. Others are added to the block on trust, which may spoil it. Who has merged rightly before
 * is a known merger, all others together are strangers. Each block that has something of strangers
 * is charged to them until it turns out right. So they spoil no more than CNR_SPOILT_BURST blocks
 * at once, and one in CNR_SPOILT_GAP later; what comes beyond is refused.
 *
 * Known mergers are charged for what they have in blocks that are begun anew without strangers.
 * Which of them was wrong, or in whose name somebody else was, or what the network lost: that
 * cannot be told, so all of them pay. What they have in blocks that turn out right pays half of
 * that back. So losses hardly stop them, and who takes their address spoils, beyond what strangers
 * may, one block for each two right ones.
 *
 * A debt is the time until which it is paid, by time going on.
 */
#include "message.h"
#include "tree.h"

void cnr_trust_begin(struct cnr_comm *c)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c->trust.key); i++)
		c->trust.key[i] = cnr_secret(c, 5 + i) | 1;
}

/*
 * Whose place it is hangs on a secret, or an address could be chosen that takes the place of a
 * switch. The high bits of products with secret odd numbers are enough for that, and cheap.
 */
static struct cnr_merger *cnr_merger_at(struct cnr_comm *c, const struct canary_addr *addr,
					__be16 port)
{
	u64 hash = ((u64)be32_to_cpu(addr->word[3]) << 16 | be16_to_cpu(port)) * c->trust.key[0];
	u32 i;

	for (i = 0; i < 3; i++)
		hash += be32_to_cpu(addr->word[i]) * c->trust.key[i + 1];
	return &c->trust.merger[hash >> (64 - CNR_MERGERS_BITS)];
}

/* Return: NULL for strangers */
static struct cnr_merger *cnr_merger(struct cnr_comm *c, const struct canary_addr *addr,
				     __be16 port)
{
	struct cnr_merger *m = cnr_merger_at(c, addr, port);

	return m->at.port == port && canary_addr_equal(&m->at.addr, addr) ? m : NULL;
}

bool cnr_merger_known(struct cnr_comm *c, const struct cnr_in *in)
{
	return cnr_merger(c, &in->addr, in->port);
}

static u64 *cnr_debt(struct cnr_comm *c, const struct canary_addr *addr, __be16 port)
{
	struct cnr_merger *m = cnr_merger(c, addr, port);

	return m ? &m->debt : &c->trust.strangers;
}

static void cnr_charge(u64 *debt, u64 now)
{
	*debt = min_t(u64, max_t(u64, *debt, now) + CNR_SPOILT_GAP,
		      now + 2 * CNR_SPOILT_BURST * CNR_SPOILT_GAP);
}

static void cnr_pay(u64 *debt, u64 time)
{
	*debt -= min_t(u64, *debt, time);
}

/* Can the tag of @h, an aggregate for the block of @l, be compared? */
static bool cnr_merged_comparable(struct cnr_comm *c, const struct cnr_lead *l,
				  const struct canary_hdr *h)
{
	return (l->flags & CNR_L_POSTED) && cnr_tags_known(c, l) &&
	       be32_to_cpu(h->opsig) == l->opsig && cnr_lead_alike(l, h);
}

/* Is it all there is, and right? */
static bool cnr_merged_whole(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return cnr_lead_whole(l, h) &&
	       cnr_merged_comparable(c, l, h) &&
	       be64_to_cpu(h->contribution.tag) == cnr_lead_expected(c, l);
}

/* Is it that, or what @l lacks? */
static bool cnr_merged_right(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return cnr_merged_whole(c, l, h) ||
	       (l->count + be16_to_cpu(h->contribution.count) == l->contributors &&
		cnr_merged_comparable(c, l, h) &&
		l->tag + be64_to_cpu(h->contribution.tag) == cnr_lead_expected(c, l));
}

/* Does a contribution with everybody's data take the place of aggregates that were collected? */
bool cnr_trust_replaces(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return (l->flags & CNR_L_MERGED) && cnr_is_merged(h) && cnr_merged_whole(c, l, h);
}

/* Is an aggregate for the block of @l, for the present attempt, to be taken? */
enum canary_drop cnr_trust_admit(struct cnr_comm *c, u64 now, struct cnr_lead *l,
				 const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	/* Nobody merges under bypass: this is where forgers of aggregates end. */
	if (l->attempt >= CNR_BYPASS_ATTEMPT)
		return CANARY_DROP_MAC;
	if (l->state != CNR_L_COLLECTING || cnr_merged_right(c, l, h))
		return CANARY_DROP_NONE;
	/* With single contributions, which have macs, it would be complete and wrong. */
	if (!(l->flags & CNR_L_MERGED) && cnr_merged_comparable(c, l, h) &&
	    l->count + be16_to_cpu(h->contribution.count) == l->contributors) {
		cnr_count(c, CNR_C_tag_mismatch);
		return CANARY_DROP_TAG;
	}
	if (*cnr_debt(c, &in->addr, in->port) >= now + CNR_SPOILT_BURST * CNR_SPOILT_GAP) {
		cnr_count(c, CNR_C_refused);
		return CANARY_DROP_MAC;
	}
	return CANARY_DROP_NONE;
}

/* Was a single contribution to the block of @l accepted? */
static bool cnr_seen_any(const struct cnr_comm *c, const struct cnr_lead *l)
{
	u32 i;

	for (i = 0; i < (c->cfg.members + 63) / 64; i++)
		if (l->seen[i])
			return true;
	return false;
}

/*
 * Does what was collected of the block of @l, which is not posted, leave no room and is wrong?
 * With slices that is not known so early.
 */
static bool cnr_merged_crowds(struct cnr_comm *c, struct cnr_lead *l)
{
	return cnr_lead_complete(l) && !c->slice && l->tag != cnr_lead_expected(c, l);
}

/*
 * @h, a single contribution, has a mac; aggregates of a block that is not posted, nothing. Those
 * that it does not agree with are dropped, as they might keep everybody else out, and who sent
 * them is charged. But what is of another operation or length may be the fault of @h, where a
 * single one agrees with them.
 */
void cnr_trust_doubt(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct canary_hdr *h)
{
	bool agrees = l->opsig == be32_to_cpu(h->opsig) && cnr_lead_alike(l, h);

	if ((l->flags & (CNR_L_POSTED | CNR_L_MERGED)) != CNR_L_MERGED ||
	    cnr_seen(l, be16_to_cpu(h->rank)))
		return;
	if (agrees ? !cnr_merged_crowds(c, l) : cnr_seen_any(c, l))
		return;
	c->stats.drop[agrees ? CANARY_DROP_TAG : CANARY_DROP_OPSIG] += l->sources;
	cnr_trust_spoilt(c, now, l);
	cnr_lead_discard(c, l);
	l->flags &= ~CNR_L_EXPECTED;	/* of which operation is open again */
}

/*
 * Does somebody but us run our operation at the block of @l, where cnr_lead.dissenter does not?
 * Aggregates say so if nothing but that one's contribution is missing; otherwise, nobody knows who
 * sent them.
 */
bool cnr_trust_witness(struct cnr_comm *c, struct cnr_lead *l)
{
	if (cnr_seen_any(c, l))
		return true;
	return l->count == l->contributors - 1 && cnr_tags_known(c, l) &&
	       cnr_lead_expected(c, l) - l->tag == cnr_tags_of(c, l, l->dissenter);
}

/* An aggregate was added. */
void cnr_trust_taken(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct cnr_source *s)
{
	l->flags |= CNR_L_MERGED;
	if (cnr_merger(c, &s->addr, s->port) || (l->flags & CNR_L_STRANGE))
		return;
	l->flags |= CNR_L_STRANGE;
	cnr_charge(&c->trust.strangers, now);
}

/* The block of @l is complete, and right: so are all aggregates in it. Their senders are known. */
void cnr_trust_proven(struct cnr_comm *c, struct cnr_lead *l)
{
	const struct cnr_source *s;
	struct cnr_merger *m;
	u32 i;

	c->tree.merges = true;
	for (i = 0; i < l->sources; i++) {
		s = &l->source[i];
		if (!s->merged)
			continue;
		m = cnr_merger_at(c, &s->addr, s->port);
		if (cnr_merger(c, &s->addr, s->port))
			cnr_pay(&m->debt, CNR_SPOILT_GAP / 2);
		else
			*m = (struct cnr_merger){ .at.addr = s->addr, .at.port = s->port };
		/* Who bypassed it is somebody else. */
		if (!s->bypassed)
			m->switch_id = s->switch_id;
	}
	if (l->flags & CNR_L_STRANGE)
		cnr_pay(&c->trust.strangers, CNR_SPOILT_GAP);
}

/* It is begun anew: it was complete and wrong, or it cannot be told what is in it. */
void cnr_trust_spoilt(struct cnr_comm *c, u64 now, const struct cnr_lead *l)
{
	const struct cnr_source *s;
	u32 i;

	if (!(l->flags & CNR_L_MERGED))
		return;
	if (cnr_lead_complete(l))
		cnr_count(c, CNR_C_spoilt);
	if (l->flags & CNR_L_STRANGE)
		return;		/* who has been charged */
	for (i = 0; i < l->sources; i++) {
		s = &l->source[i];
		if (s->merged)
			cnr_charge(cnr_debt(c, &s->addr, s->port), now);
	}
}
