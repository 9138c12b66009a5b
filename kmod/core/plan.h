/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Layer 6, plan: which algorithm runs what */
#ifndef CANARY_CORE_PLAN_H
#define CANARY_CORE_PLAN_H

#include "comm.h"

void cnr_plan_post(struct cnr_comm *c, u64 now, struct cnr_operation *o);
void cnr_plan_heard(struct cnr_comm *c, u64 now, u32 block, u32 opsig, u8 algorithm);
void cnr_plan_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_plan_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_plan_build(struct cnr_comm *c, u32 block, u16 rank, struct cnr_out *out);
bool cnr_plan_announce(struct cnr_comm *c, struct cnr_out *out);
bool cnr_plan_announced(struct cnr_comm *c);

#endif /* CANARY_CORE_PLAN_H */
