/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Layer 2, outbox: what outbox.c does */
#ifndef CANARY_CORE_OUTBOX_H
#define CANARY_CORE_OUTBOX_H

#include "comm.h"

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
