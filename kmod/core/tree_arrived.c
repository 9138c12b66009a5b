// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 5, tree: what has come of each rank, of a block that is led here. Only single contributions
 * are known by rank. What aggregates contain is known by their tags (tree_missing.c).
 *
 * Lists come in shards. A member is counted with its last shard, which may come before the others.
 * So such a block is complete when all are counted and the tag is right. What a rank can make us
 * keep is bounded: each of its shards is taken once, and only up to the last one. Aggregates of
 * lists may count nobody, so the room for sources bounds these.
 */
#include "message.h"
#include "tree.h"

/* Forget all that has come for the block of @l. */
void cnr_arrived_clear(const struct cnr_comm *c, struct cnr_lead *l)
{
	l->count = 0;
	l->tag = 0;
	memset(l->arrived, 0, (c->cfg.members + 63) / 64 * sizeof(*l->arrived));
	if (l->shards)
		memset(l->shards, 0, c->cfg.members * sizeof(*l->shards));
}

/* May the list @h be added to what has come? */
static enum canary_drop cnr_shard_admit(const struct cnr_comm *c, const struct cnr_lead *l,
					const struct canary_hdr *h)
{
	const struct cnr_shards *s;
	u8 shard = h->contribution.shard;

	/* Nobody here runs such operations. */
	if (!l->shards)
		return CANARY_DROP_OPERATOR;
	if (l->sources == c->cfg.members * c->cfg.shards)
		return CANARY_DROP_FULL;
	if (cnr_is_merged(h))
		return CANARY_DROP_NONE;
	s = &l->shards[be16_to_cpu(h->rank)];
	if (s->here >> shard & 1)
		return CANARY_DROP_DUPLICATE;
	/* Nothing follows the last one, and there is only one last one. */
	if (shard >= c->cfg.shards || (s->all && shard >= s->all) ||
	    ((h->flags & CANARY_F_LAST) && (s->all || s->here >> shard)))
		return CANARY_DROP_COUNT;
	return CANARY_DROP_NONE;
}

/* May @h be added to what has come? */
enum canary_drop cnr_arrived_admit(const struct cnr_comm *c, const struct cnr_lead *l,
				   const struct canary_hdr *h)
{
	enum canary_drop drop = CANARY_DROP_NONE;
	u16 rank = be16_to_cpu(h->rank);

	if (!cnr_is_merged(h) && rank == c->cfg.rank)
		return CANARY_DROP_RANK;
	if (!cnr_is_merged(h) && cnr_arrived_has(l, rank))
		return CANARY_DROP_DUPLICATE;
	if (canary_is_list(h))
		drop = cnr_shard_admit(c, l, h);
	if (drop == CANARY_DROP_NONE &&
	    l->count + be16_to_cpu(h->contribution.count) > l->contributors)
		drop = CANARY_DROP_COUNT;
	return drop;
}

/* A shard of @rank was added. Return: are all of its shards here? */
static bool cnr_shard_took(struct cnr_lead *l, u16 rank, const struct canary_hdr *h)
{
	struct cnr_shards *s = &l->shards[rank];

	s->here |= 1U << h->contribution.shard;
	if (h->flags & CANARY_F_LAST)
		s->all = h->contribution.shard + 1;
	return s->all && s->here == (1U << s->all) - 1;
}

/* @h was added. */
void cnr_arrived_took(struct cnr_lead *l, const struct canary_hdr *h)
{
	u16 rank = be16_to_cpu(h->rank);

	l->count += be16_to_cpu(h->contribution.count);
	l->tag += be64_to_cpu(h->contribution.tag);
	if (!cnr_is_merged(h) && (!canary_is_list(h) || cnr_shard_took(l, rank, h)))
		l->arrived[rank / 64] |= 1ULL << (rank % 64);
}

/*
 * Has everything come that is contributed to the block of @l, as far as can be told? Of words the
 * count tells, and cnr_lead_finish() looks at the tag.
 */
bool cnr_arrived_all(struct cnr_comm *c, struct cnr_lead *l)
{
	if (!cnr_arrived_counted(l) || !cnr_lead_lists(l))
		return cnr_arrived_counted(l);
	return (l->flags & CNR_L_POSTED) && cnr_tags_known(c, l) &&
	       l->tag == cnr_lead_expected(c, l);
}

/* Was a single contribution added? */
bool cnr_arrived_any(const struct cnr_comm *c, const struct cnr_lead *l)
{
	u32 i;

	for (i = 0; i < (c->cfg.members + 63) / 64; i++)
		if (l->arrived[i])
			return true;
	for (i = 0; l->shards && i < c->cfg.members; i++)
		if (l->shards[i].here)
			return true;
	return false;
}

/* Return: how many bits are set in @bits */
static u32 cnr_ones(u64 bits)
{
	u32 n;

	for (n = 0; bits; n++)
		bits &= bits - 1;
	return n;
}

/*
 * Add the ranks to @want that did not come singly, or not as a whole, except our own. Return: how
 * many, if nothing but single contributions came
 */
u32 cnr_arrived_missing(const struct cnr_comm *c, const struct cnr_lead *l, u64 *want)
{
	u32 i, n = c->cfg.members, missing = 0;

	for (i = 0; i < (n + 63) / 64; i++)
		want[i] |= ~l->arrived[i];
	if (n % 64)
		want[n / 64] &= (1ULL << (n % 64)) - 1;
	want[c->cfg.rank / 64] &= ~(1ULL << (c->cfg.rank % 64));
	if (!cnr_lead_lists(l))
		return l->contributors - l->count;
	for (i = 0; i < (n + 63) / 64; i++)
		missing += cnr_ones(want[i]);
	return missing;
}
