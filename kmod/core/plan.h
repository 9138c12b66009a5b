/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which algorithm runs what, and ranks that run something else: what plan.c keeps and does */
#ifndef CANARY_CORE_PLAN_H
#define CANARY_CORE_PLAN_H

#include "core.h"

struct cnr_comm;
struct cnr_lead;
struct cnr_operation;

/* struct cnr_told - what rank 0 has told of an operation that is not posted here yet */
struct cnr_told {
	bool	valid;
	u8	algorithm;
	u8	why;
	u32	seq;
	u32	plansig;
};

/*
 * struct cnr_plan - which algorithm runs what, plan.c
 * @held:	operations posted whose algorithm is not known
 * @ask_at:	then: when rank 0 is asked (again)
 * @told:	by sequence number
 * @tell, @tell_end: rank 0: sequence numbers of operations that are being told
 * @algorithm, @why: rank 0: what was found best
 * @rings:	rank 0: operations since trees were looked at
 * @blocks, @sources, @again: rank 0: observed in blocks led: how many, contribution packets of
 *		them, and how many were begun anew
 * @last, @last_algorithm, @last_why: the latest operation that was not short, if there was one
 */
struct cnr_plan {
	u32	held;
	u64	ask_at;
	u32	tries;
	struct cnr_told told[CNR_OPS];
	u32	tell;
	u32	tell_end;
	u8	algorithm;
	u8	why;
	u32	rings;
	u64	blocks;
	u64	sources;
	u64	again;
	u32	last;
	u8	last_algorithm;
	u8	last_why;
};

/* struct cnr_odd - a rank with another operation than ours, until a third one was asked */
struct cnr_odd {
	u16	rank;		/* CNR_NONE: none */
	u32	block;
	u32	sig;
};

void cnr_plan_post(struct cnr_comm *c, u64 now, struct cnr_operation *o);
void cnr_plan_heard(struct cnr_comm *c, u64 now, u32 block, u32 opsig, u8 algorithm);
void cnr_plan_observe(struct cnr_comm *c, const struct cnr_lead *l,
		      const struct cnr_operation *o);
void cnr_plan_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_plan_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_plan_build(struct cnr_comm *c, u32 block, u16 rank, struct cnr_out *out);
bool cnr_plan_tell(struct cnr_comm *c, struct cnr_out *out);
bool cnr_plan_told(struct cnr_comm *c);
void cnr_differs(struct cnr_comm *c, u64 now, u32 block, u16 rank, u32 sig, u32 agree);
void cnr_differs_heard(struct cnr_comm *c, u64 now, const struct canary_hdr *h);

#endif /* CANARY_CORE_PLAN_H */
