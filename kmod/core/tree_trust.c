// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: whose aggregates are taken. An aggregate has no mac, so anybody may have made it
 * up. When its block is complete, the tag shows whether it was right: nobody can make up a tag
 * without the key.
 *
 * An aggregate that completes its block is right or wrong at once. A wrong one is dropped, and
 * costs nothing but a look at it. Other aggregates are added to the block on trust, and may spoil
 * it.
 *
 * A source that has merged rightly before is a known merger. All others together are strangers.
 * Strangers are charged for each block that has data of theirs, until it turns out right. So they
 * spoil at most CNR_SPOILT_BURST blocks at once, and then one in CNR_SPOILT_GAP. More is refused.
 *
 * Known mergers are charged for blocks that are begun anew without strangers' data in them. One of
 * them was wrong, or somebody used its address, or the network lost something. Nobody can tell
 * which, so all of them pay. Each aggregate in a block that turns out right pays half of that back.
 * So losses hardly stop them. An attacker who takes the address of a switch spoils one block for
 * each two that the switch merged rightly, besides what strangers may spoil.
 *
 * A debt is a time: when it comes, the debt is paid.
 */
#include "message.h"
#include "tree.h"

void cnr_trust_begin(struct cnr_comm *c)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c->trust.key); i++)
		c->trust.key[i] = cnr_secret(c, CNR_LABEL_TRUST + i) | 1;
}

/*
 * Return: the place of a source in the table. It depends on a secret, since otherwise an attacker
 * could choose an address that takes the place of a switch. The high bits of products with secret
 * odd numbers are enough for that, and cheap.
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

/* Is it known what the tag of @h, an aggregate for the block of @l, has to be? */
static bool cnr_merged_comparable(struct cnr_comm *c, const struct cnr_lead *l,
				  const struct canary_hdr *h)
{
	return (l->flags & CNR_L_POSTED) && cnr_tags_known(c, l) &&
	       be32_to_cpu(h->opsig) == l->opsig && cnr_lead_alike(l, h);
}

/* Does @h have all contributions, and are they right? */
static bool cnr_merged_whole(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return cnr_lead_whole(l, h) &&
	       cnr_merged_comparable(c, l, h) &&
	       be64_to_cpu(h->contribution.tag) == cnr_lead_expected(c, l);
}

/* Does @h have all contributions, or just those that @l lacks, and are they right? */
static bool cnr_merged_right(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return cnr_merged_whole(c, l, h) ||
	       (cnr_arrived_counted_with(l, h) &&
		cnr_merged_comparable(c, l, h) &&
		l->tag + be64_to_cpu(h->contribution.tag) == cnr_lead_expected(c, l));
}

/* Does @h, with everybody's data, take the place of aggregates that were collected? */
bool cnr_trust_replaces(struct cnr_comm *c, struct cnr_lead *l, const struct canary_hdr *h)
{
	return (l->flags & CNR_L_MERGED) && cnr_is_merged(h) && cnr_merged_whole(c, l, h);
}

/* May @in, an aggregate for the block of @l and its present attempt, be taken? */
enum canary_drop cnr_trust_admit(struct cnr_comm *c, u64 now, struct cnr_lead *l,
				 const struct cnr_in *in)
{
	const struct canary_hdr *h = in->hdr;

	/*
	 * Nobody merges contributions with BYPASS. So forged aggregates have no effect from here
	 * on.
	 */
	if (l->attempt >= CNR_BYPASS_ATTEMPT)
		return CANARY_DROP_MAC;
	if (l->state != CNR_L_COLLECTING || cnr_merged_right(c, l, h))
		return CANARY_DROP_NONE;
	/*
	 * The block would be complete and wrong, and all its other contributions have macs. Of
	 * lists, others may follow.
	 */
	if (!(l->flags & CNR_L_MERGED) && !canary_is_list(h) && cnr_merged_comparable(c, l, h) &&
	    cnr_arrived_counted_with(l, h)) {
		cnr_count(c, CNR_C_tag_mismatch);
		return CANARY_DROP_TAG;
	}
	if (*cnr_debt(c, &in->addr, in->port) >= now + CNR_SPOILT_BURST * CNR_SPOILT_GAP) {
		cnr_count(c, CNR_C_refused);
		return CANARY_DROP_MAC;
	}
	return CANARY_DROP_NONE;
}

/*
 * Are the contributions collected in @l complete, but wrong? The block is not posted. With slices
 * that is not known so early, and the answer is no. Nor is it of lists.
 */
static bool cnr_merged_crowds(struct cnr_comm *c, struct cnr_lead *l)
{
	return cnr_arrived_counted(l) && !cnr_lead_lists(l) && !c->slice &&
	       l->tag != cnr_lead_expected(c, l);
}

/*
 * @h is a single contribution and has a mac. Aggregates for a block that is not posted prove
 * nothing. If they do not agree with @h, they are dropped and their sources are charged, since they
 * might keep all others out. But if they are of another operation or length, @h may be wrong: then
 * they stay if another single contribution agrees with them.
 */
void cnr_trust_doubt(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct canary_hdr *h)
{
	bool agrees = l->opsig == be32_to_cpu(h->opsig) && cnr_lead_alike(l, h);

	if ((l->flags & (CNR_L_POSTED | CNR_L_MERGED)) != CNR_L_MERGED ||
	    cnr_arrived_has(l, be16_to_cpu(h->rank)))
		return;
	if (agrees ? !cnr_merged_crowds(c, l) : cnr_arrived_any(c, l))
		return;
	c->stats.drop[agrees ? CANARY_DROP_TAG : CANARY_DROP_OPSIG] += l->sources;
	cnr_trust_spoilt(c, now, l);
	cnr_lead_discard(c, l);
	l->flags &= ~CNR_L_EXPECTED;	/* the operation may be another one */
}

/*
 * Does another member run our operation at the block of @l, although cnr_lead.dissenter does not?
 * Aggregates show that only if nothing but the dissenter's contribution is missing. Otherwise
 * nobody knows who sent them.
 */
bool cnr_trust_witness(struct cnr_comm *c, struct cnr_lead *l)
{
	if (cnr_arrived_any(c, l))
		return true;
	return l->count == l->contributors - 1 && cnr_tags_known(c, l) &&
	       cnr_lead_expected(c, l) - l->tag == cnr_tags_of(c, l, l->dissenter);
}

/* An aggregate was added to @l. */
void cnr_trust_taken(struct cnr_comm *c, u64 now, struct cnr_lead *l, const struct cnr_source *s)
{
	l->flags |= CNR_L_MERGED;
	if (cnr_merger(c, &s->addr, s->port) || (l->flags & CNR_L_STRANGE))
		return;
	l->flags |= CNR_L_STRANGE;
	cnr_charge(&c->trust.strangers, now);
}

/*
 * The block of @l is complete and right, so all its aggregates are. From now on their sources are
 * known.
 */
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
		/* If it was bypassed, the number is that of another switch. */
		if (!s->bypassed)
			m->switch_id = s->switch_id;
	}
	if (l->flags & CNR_L_STRANGE)
		cnr_pay(&c->trust.strangers, CNR_SPOILT_GAP);
}

/* The block of @l is begun anew: it was complete and wrong, or it cannot be told what is in it. */
void cnr_trust_spoilt(struct cnr_comm *c, u64 now, const struct cnr_lead *l)
{
	const struct cnr_source *s;
	u32 i;

	if (!(l->flags & CNR_L_MERGED))
		return;
	if (cnr_arrived_counted(l))
		cnr_count(c, CNR_C_spoilt);
	if (l->flags & CNR_L_STRANGE)
		return;		/* strangers were charged already */
	for (i = 0; i < l->sources; i++) {
		s = &l->source[i];
		if (s->merged)
			cnr_charge(cnr_debt(c, &s->addr, s->port), now);
	}
}
