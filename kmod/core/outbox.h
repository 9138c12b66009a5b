/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Layer 2, outbox: what outbox.c does */
#ifndef CANARY_CORE_OUTBOX_H
#define CANARY_CORE_OUTBOX_H

#include "comm.h"

/*
 * struct cnr_faults - ranks at fault, in the order in which they were added, for cnr_fail()
 * @n:		how many
 * @rank:	the first CNR_FAULTS of them
 */
struct cnr_faults {
	u32	n;
	u16	rank[CNR_FAULTS];
};

static inline void cnr_fault_add(struct cnr_faults *f, u16 rank)
{
	if (f->n < CNR_FAULTS)
		f->rank[f->n] = rank;
	f->n++;
}

struct cnr_control *cnr_control(struct cnr_comm *c, u8 type, u16 rank, u32 block);
void cnr_cast(struct cnr_comm *c, enum cnr_broadcast cast);
void cnr_fail(struct cnr_comm *c, u64 now, enum canary_abort why, const u16 *ranks, u32 n,
	      bool tell);

/* Return: how many messages to single ranks wait to be sent */
static inline u32 cnr_outbox_length(const struct cnr_comm *c)
{
	return c->control_head - c->control_tail;
}

/*
 * May we send anything under the session key? From a table, not before all are in: till then
 * another process of our rank may take our place.
 */
static inline bool cnr_may_speak(const struct cnr_comm *c)
{
	return c->table && !(c->waits && c->cfg.rank);
}

#endif /* CANARY_CORE_OUTBOX_H */
