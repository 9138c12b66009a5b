// SPDX-License-Identifier: BSD-2-Clause
/* See pairs.h. */
#include "core/inside.h"
#include "pairs.h"

u64 pairs_blocks(const struct cnr_comm *c, const struct cnr_encoding *e, const struct cnr_op *op)
{
	return cnr_blocks_of(op->elements, c->length / sizeof(u32));
}

void pairs_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p)
{
	cnr_part_same(c, o, p);
	p->kind = CANARY_KIND_ADD32;
	p->list = CANARY_KIND_PAIRS32;
}

void pairs_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		  const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector_source(o, p), p->length);
}

/*
 * How many pairs a packet has: from a third of what fits to all of it. It differs between ranks,
 * blocks and packets, so nothing can rely on it.
 */
static u32 pairs_in(const struct cnr_comm *c, const struct cnr_part *p, u32 number)
{
	u32 most = c->length / 8, least = most / 3;

	return least + (c->cfg.rank * 7 + p->index * 3 + number * 11) % (most - least + 1);
}

u16 pairs_shard(const struct cnr_comm *c, const struct cnr_operation *o, const struct cnr_part *p,
		u8 number, u32 *words, bool *last)
{
	u32 i, shard = 0, n = 0, pairs = pairs_in(c, p, 0);
	const u32 *data = cnr_vector_source(o, p);

	for (i = 0; i < p->elements; i++) {
		if (!data[i])
			continue;
		if (n == pairs) {
			if (shard == number)
				break;
			pairs = pairs_in(c, p, ++shard);
			n = 0;
		}
		if (shard == number) {
			words[2 * n] = i;
			words[2 * n + 1] = data[i];
		}
		n++;
	}
	*last = i == p->elements;
	return n * 8;
}

void pairs_store(const struct cnr_comm *c, const struct cnr_operation *o,
		 const struct cnr_part *p, const u32 *words)
{
	cnr_put(o, p, 0, words, p->length);
}

void pairs_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		 const struct cnr_part *p, u32 *words)
{
	memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->length);
}
