/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A communicator's own place in the ring, and what ring.c does with it */
#ifndef CANARY_CORE_RING_H
#define CANARY_CORE_RING_H

#include "core.h"

struct cnr_comm;

/*
 * struct cnr_ring_item - a block that the next member of the ring is to be given
 * @sum:	checksum of the result, if @result
 * @result:	it is the result; else what there is by then
 * @again:	it asked
 */
struct cnr_ring_item {
	u32	block;
	u32	sum;
	bool	result;
	bool	again;
};

/*
 * struct cnr_ring - own place in the ring, ring.c
 * @at:		ranks in the order of the ring
 * @place:	the reverse: place in the ring, by rank
 * @srtt, @rttvar, @rto, @shift, @late_at: as in struct cnr_comm, of blocks in the ring
 * @known:	the order is known; the same goes for @own, @next, @prev
 * @wanted:	the order is, and @steps of what it takes to find it were done
 * @tagged:	ranks whose tags are in @expected, for the block @led that is led here: work.c.
 *		@led is another one only when that is finished
 * @queue:	what is to be sent, [tail, head) by @mask
 * @ops:	operations held that run around it; looked at for packets outside of it, too
 */
struct cnr_ring {
	u16	*at;
	u16	*place;
	u64	srtt;
	u64	rttvar;
	u64	rto;
	u64	late_at;
	u16	own;
	u16	next;
	u16	prev;
	bool	known;
	bool	wanted;
	u32	steps;
	u32	led;
	u32	tagged;
	u64	expected;
	u8	shift;
	struct cnr_ring_item *queue;
	u32	mask;
	u32	ops;
	u32	head;
	u32	tail;
};

/* order.c */
void cnr_ring_begin(struct cnr_comm *c);
bool cnr_ring_work(struct cnr_comm *c);

bool cnr_ring_begun(struct cnr_comm *c, u32 block);
void cnr_ring_start(struct cnr_comm *c, u64 now, u32 block);
void cnr_ring_overdue(struct cnr_comm *c, u64 now, u32 block, u32 *budget);
enum canary_drop cnr_ring_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
bool cnr_ring_build(struct cnr_comm *c, u64 now, struct cnr_out *out);

#endif /* CANARY_CORE_RING_H */
