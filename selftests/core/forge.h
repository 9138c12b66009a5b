/* SPDX-License-Identifier: BSD-2-Clause */
/* Forged aggregates */
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

#endif /* SELFTESTS_CORE_FORGE_H */
