/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Layer 7, roof: what comm.c offers to input.c and poll.c */
#ifndef CANARY_CORE_ROOF_H
#define CANARY_CORE_ROOF_H

#include "comm.h"

void cnr_begin(struct cnr_comm *c);
void cnr_drop_held(struct cnr_comm *c);
void cnr_settle_ops(struct cnr_comm *c, u64 now);

/* The communicator may have failed just now. Then nothing is collected or sent any more. */
static inline void cnr_over(struct cnr_comm *c)
{
	if (c->state == CNR_FAILED && !c->end.dropped)
		cnr_drop_held(c);
}

/* What a call ends with: an operation may have settled. Then those behind it get their numbers. */
static inline void cnr_go_on(struct cnr_comm *c, u64 now)
{
	if (c->settled)
		cnr_settle_ops(c, now);
	cnr_over(c);
}

#endif /* CANARY_CORE_ROOF_H */
