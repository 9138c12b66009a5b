/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cookies: a switch that bypasses a contribution keeps nothing of it, but marks it with a cookie.
 * So it recognises the source when a leader names it in a restoration. Only who has seen the
 * contribution behind this switch can show the cookie, and nobody can make one up.
 */
#ifndef CANARY_BPF_LIB_COOKIE_H
#define CANARY_BPF_LIB_COOKIE_H

#include "userspace/common/siphash.h"

/* What a cookie proves: a contribution to this block, of this length, came from this source */
struct csw_claim {
	__be32 comm;
	__be32 epoch;
	__be32 block;
	__be32 opsig;
	struct canary_addr addr;
	__be16 port;
	__be16 length;
	__u32 attempt;
};

static __always_inline void csw_claim_of(struct csw_claim *c, const struct canary_hdr *h,
					 const struct canary_addr *addr, __be16 port)
{
	c->comm = h->comm;
	c->epoch = h->epoch;
	c->block = h->block;
	c->opsig = h->opsig;
	c->addr = *addr;
	c->port = port;
	c->length = h->contribution.length;
	c->attempt = h->attempt;
}

/* Return: SipHash-2-4 of the claim, folded to 32 bits; never 0 */
CSW_FUNC __u32 csw_cookie(struct csw_claim *c, __u64 k0, __u64 k1)
{
	const __u64 *word = (const __u64 *)c;
	struct sip_state s;
	__u64 hash;

	if (!c)
		return 0;
	sip_start(&s, k0, k1);
	sip_word(&s, word[0]);
	sip_word(&s, word[1]);
	sip_word(&s, word[2]);
	sip_word(&s, word[3]);
	sip_word(&s, word[4]);
	sip_word(&s, (__u64)sizeof(*c) << 56);
	hash = sip_end(&s);
	return (__u32)(hash ^ hash >> 32) ?: 1;
}

/*
 * Make the cookie for a contribution that is bypassed here. Return: the cookie; 0 if this switch
 * takes no restorations
 */
static __always_inline __be32 csw_give_cookie(csw_xdp *ctx, const struct csw_packet *p)
{
	const struct csw_config *config = csw_config(ctx);
	__u32 *credit = csw_credit(ctx);
	struct canary_addr from = csw_source(p);
	struct csw_claim claim;
	__u32 now;

	if (!config->restore)
		return 0;
	if (CSW_READ(*credit) < CSW_CREDIT_MAX)
		__sync_fetch_and_add(credit, csw_frame_length(canary_length(p->h)));
	now = config->secret_now & 1;
	csw_claim_of(&claim, p->h, &from, p->udp->source);
	return csw_cookie(&claim, config->secret[now][0], config->secret[now][1]);
}

#endif /* CANARY_BPF_LIB_COOKIE_H */
