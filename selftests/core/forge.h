/* SPDX-License-Identifier: BSD-2-Clause */
/* Forged packets: aggregates, and JOINs of another session */
#ifndef SELFTESTS_CORE_FORGE_H
#define SELFTESTS_CORE_FORGE_H

#include "core/inside.h"

/*
 * Forge an aggregate of @count members for @block, which @c leads. It contains what somebody
 * without the key can know. If the block is not posted, that is less. @h has room for it. Return:
 * its length
 */
static inline u32 forge_aggregate(struct cnr_comm *c, u32 block, u16 count, struct canary_hdr *h)
{
	struct cnr_operation *o = cnr_find_op(c, block);
	struct cnr_part p = { .length = c->length };

	if (o)
		cnr_part(c, o, block, &p);
	memset(h, 0, sizeof(*h) + p.length);
	h->version = CANARY_VERSION;
	h->type = CANARY_CONTRIBUTION;
	h->flags = CANARY_F_LAST;
	h->attempt = cnr_block(c, block)->attempt;
	h->comm = cpu_to_be32(c->cfg.comm);
	h->epoch = cpu_to_be32(c->epoch);
	h->block = cpu_to_be32(block);
	h->opsig = cpu_to_be32(o ? o->opsig : 1);
	h->members = cpu_to_be16(c->cfg.members);
	h->contribution.count = cpu_to_be16(count);
	h->contribution.kind = CANARY_KIND_ADD32;
	cnr_set_length(h, p.length);
	h->contribution.acked = cpu_to_be32(c->una);
	return sizeof(*h) + p.length;
}

/* The first block at or after the earliest one that @c leads */
static inline u32 forge_block(struct cnr_comm *c)
{
	u32 block = c->una;

	while (cnr_leader(c, block) != c->cfg.rank)
		block++;
	return block;
}

/*
 * Forge a JOIN to @c by @rank of @members. Whoever has the pre-shared key can make it. @h has room
 * for it. Return: its length
 */
static inline u32 forge_join(struct cnr_comm *c, u16 rank, u16 members, struct canary_hdr *h)
{
	const u8 *key;
	u32 len = sizeof(struct canary_join);

	memset(h, 0, sizeof(*h) + len);
	h->version = CANARY_VERSION;
	h->type = CANARY_JOIN;
	h->comm = cpu_to_be32(c->cfg.comm);
	h->members = cpu_to_be16(members);
	h->rank = cpu_to_be16(rank);
	h->join.nonce = cpu_to_be64(1);
	h->join.window = cpu_to_be16(c->cfg.window);
	h->join.length = cpu_to_be16(c->length);
	h->join.number = cpu_to_be32(1);
	key = cnr_mac_key(c, h);
	h->join.digest = cpu_to_be32(cnr_digest(key, h + 1, len));
	h->mac = cpu_to_be64(cnr_mac(c, h, h + 1, 0));
	return sizeof(*h) + len;
}

#endif /* SELFTESTS_CORE_FORGE_H */
