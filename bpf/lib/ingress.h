/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What canary_xdp does with a frame.
 */
#ifndef CANARY_BPF_LIB_INGRESS_H
#define CANARY_BPF_LIB_INGRESS_H

/*
 * A packet that is malformed, or of a version or kind that only newer switches know. It is
 * forwarded untouched, and never added to anything. The kernel drops what no router forwards.
 */
static __always_inline int csw_bad(csw_xdp *ctx, enum canary_drop reason)
{
	if (csw_config(ctx)->admit && csw_is_unadmitted(ctx))
		return reason == CANARY_DROP_OPERATOR ? csw_unadmitted(ctx) :
		       csw_refuse(ctx, CANARY_DROP_ADMISSION);
	if (reason != CANARY_DROP_NONE)
		csw_drop(ctx, reason);
	return csw_to_kernel(ctx);
}

static __always_inline int csw_ingress(csw_xdp *ctx)
{
	const struct csw_config *c = csw_config(ctx);
	enum canary_drop reason;
	enum csw_class class;
	struct csw_packet p;
	__u32 holder = 0;
	int action;

	class = csw_classify(ctx, &p, &reason);
	if (class == CSW_NOT_OURS)
		return csw_not_ours(ctx);
	if (class == CSW_MEMBERS)
		return CSW_XDP_PASS;
	if (class == CSW_BAD)
		return csw_bad(ctx, reason);
	if (c->admit && p.h->type == CANARY_CONTRIBUTION) {
		holder = csw_admitted(ctx, &p);
		if (!holder)
			return csw_unadmitted(ctx);
	}
	if (p.h->type == CANARY_CONTRIBUTION && !csw_is_to(&p, &c->addr))
		return csw_contribution(ctx, &p, holder);
	if (c->admit && (p.h->type == CANARY_RESULT || p.h->type == CANARY_RESTORATION)) {
		csw_mark(ctx, &p);
		if (csw_packet_at(ctx, &p))
			return CSW_XDP_PASS;
	}
	if (!csw_is_to(&p, &c->addr) || p.udp->dest != c->port)
		return CSW_XDP_PASS;
	if (p.h->type == CANARY_RESULT) {
		action = csw_result(ctx);
		return action == CSW_COPIES ? csw_replicate(ctx) : csw_finish(ctx, action);
	}
	if (p.h->type == CANARY_RESTORATION)
		return csw_restoration(ctx);
	return CSW_XDP_PASS;
}

/* What canary_flush does. The frame is a blank of the largest size. */
static __always_inline int csw_flush(csw_xdp *ctx)
{
	return csw_carry(ctx, csw_queue_first(ctx), CSW_SENT_CLOCK);
}

#endif /* CANARY_BPF_LIB_INGRESS_H */
