/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 5, ring: a block on its way around (ring.c), its words meanwhile (ring_words.c), the order
 * of the members (ring_order.c), and what tags have to add up to (ring_tags.c).
 */
#ifndef CANARY_CORE_RING_H
#define CANARY_CORE_RING_H

#include "blocks.h"

/*
 * struct cnr_ring_item - a block that the next member of the ring is to be sent
 * @sum:	checksum of the result, if @result
 * @result:	it is the result; else whatever is here when it is sent
 * @again:	the next member asked for it
 */
struct cnr_ring_item {
	u32	block;
	u32	sum;
	bool	result;
	bool	again;
};

/* Have we begun @block, as a ring? Each packet asks this, and mostly no ring runs at all. */
static inline bool cnr_is_ring(struct cnr_comm *c, u32 block)
{
	const struct cnr_algorithm *run;

	if (!c->ops_run_by[CNR_RING])
		return false;
	run = cnr_block_run(c, block);
	return run && run->collective == CNR_RING;
}

/* ring.c */
extern const struct cnr_algorithm cnr_ring;

/* ring_words.c: partial sums */
u32 cnr_partial_begin(struct cnr_comm *c, struct cnr_operation *o, u32 block, bool first);
u32 cnr_partial_add(struct cnr_comm *c, struct cnr_operation *o, u32 block, const u32 *payload);
const u32 *cnr_partial_words(struct cnr_comm *c, struct cnr_operation *o, const struct cnr_part *p);

/* ring_order.c: the order of the ring */
void cnr_ring_begin(struct cnr_comm *c);
bool cnr_ring_order_work(struct cnr_comm *c);

/* ring_tags.c: what tags have to add up to */
void cnr_ring_tags_begin(struct cnr_comm *c, u32 block);
bool cnr_ring_tags_known(const struct cnr_comm *c, u32 block);
u64 cnr_ring_tags_sum(const struct cnr_comm *c, u32 block, u32 opsig);
bool cnr_ring_tags_work(struct cnr_comm *c);

#endif /* CANARY_CORE_RING_H */
