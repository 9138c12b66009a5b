/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Admission: whose packets make switches act, for which communicators, by which port. Nothing in a
 * contribution that is to be merged binds its data to a key, so who may send one is a question of
 * where it comes from: PROTOCOL.md, "Admission".
 */
#ifndef CANARY_BPF_LIB_ADMIT_H
#define CANARY_BPF_LIB_ADMIT_H

/* May the sender of @p have switches act for its communicator? The entry that says so, else 0. */
static __always_inline __u32 csw_admitted(csw_xdp *ctx, const struct csw_packet *p)
{
	struct canary_addr from = csw_source(p);
	const struct csw_admission *a;
	__u32 comm, i;

	a = csw_admission(ctx, csw_ingress_ifindex(ctx), &from);
	if (!a)
		return 0;
	comm = cnr_be32(p->h->comm);
	CSW_LOOP
	for (i = 0; i < CSW_ADMIT_RANGES && i < a->ranges; i++)
		if (comm - a->range[i].first <= a->range[i].last - a->range[i].first)
			return a->id;
	return 0;
}

/* The same where it need not be fast */
CSW_FUNC int csw_is_admitted(csw_xdp *ctx)
{
	struct csw_packet p;

	return csw_packet_at(ctx, &p) == 0 && csw_admitted(ctx, &p) != 0;
}

/*
 * A contribution from a source that is not admitted. Of a single one the leader knows by its mac
 * whether it is right, and answers its member; others have none, and a leader takes them for
 * switches' work. No cookie: it does not become a child by restoration either. The kernel forwards
 * it, so that what its packet filter and its reverse path filter say of strangers holds.
 */
CSW_FUNC int csw_unadmitted(csw_xdp *ctx)
{
	struct csw_packet p;
	__u32 before;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	csw_count(ctx, CSW_RX_CONTRIBUTION, 1);
	csw_count(ctx, CSW_RX_BYTES, csw_length(&p));
	if (p.h->contribution.count != csw_be16(1))
		return csw_refuse(ctx, CANARY_DROP_ADMISSION);
	csw_count(ctx, CSW_BYPASS_ADMISSION, 1);
	csw_check_look(&p);
	before = csw_headers(ctx);
	p.h->flags |= CANARY_F_BYPASS;
	p.h->contribution.switch_id = csw_config(ctx)->id;
	p.h->contribution.cookie = 0;
	csw_check_after(&p, before, csw_headers(ctx));
	if (p.ip->ttl > 1)
		return csw_to_kernel(ctx);
	csw_drop(ctx, CANARY_DROP_TTL);
	return CSW_XDP_PASS;
}

/*
 * A contribution that is not as a switch wants it, from a source that is not admitted? Hosts read
 * what switches don't, such as what has a UDP checksum: a leader might take it for the work of
 * switches, or, unmarked as it is, for one that came through them and is to be answered.
 */
CSW_FUNC int csw_is_unadmitted(csw_xdp *ctx)
{
	struct csw_packet p;

	return csw_packet_at(ctx, &p) == 0 && p.h->version == CANARY_VERSION &&
	       p.h->type == CANARY_CONTRIBUTION && !csw_admitted(ctx, &p);
}

static __always_inline bool csw_is_tag(__be16 type)
{
	return type == csw_be16(CSW_ETH_8021Q) || type == csw_be16(CSW_ETH_8021AD);
}

/* What comes in the VLAN of this first tag is a port's, whose program judges it. */
static __always_inline bool csw_is_vlan_port(csw_xdp *ctx, const struct ethhdr *eth)
{
	const __be16 *tag = (const __be16 *)(eth + 1);

	return csw_is_tag(eth->h_proto) &&
	       csw_vlan(ctx, csw_ingress_ifindex(ctx), eth->h_proto,
			tag[0] & csw_be16(CSW_VLAN_MASK));
}

/*
 * Type of what is behind the tags, and *@at moved to its start; a tag's, if there are too many. The
 * kernel takes them off one by one, and routes what is inside.
 */
static __always_inline __be16 csw_behind_tags(csw_xdp *ctx, __be16 type, __u32 *at)
{
	const __be16 *tag;
	__u32 i;

	CSW_LOOP
	for (i = 0; i < CSW_TAGS && csw_is_tag(type); i++) {
		tag = csw_data(ctx) + CSW_OFF_IP + i * CSW_TAG_BYTES;
		if ((void *)(tag + 2) > csw_end(ctx))
			return 0;
		type = tag[1];
		*at += CSW_TAG_BYTES;
	}
	return type;
}

/* IPv4 and UDP to a Canary port? Of a fragment the first one: without it the others are nothing. */
static __always_inline bool csw_is_for_canary(csw_xdp *ctx, const struct iphdr *ip)
{
	const struct udphdr *udp;
	__u32 start;

	if ((void *)(ip + 1) > csw_end(ctx))
		return false;
	start = *(const __u8 *)ip;
	if (start >> 4 != 4 || ip->protocol != CSW_UDP ||
	    (ip->frag_off & csw_be16(CSW_IP_OFFSET)))
		return false;
	udp = (const void *)ip + (start & 15) * 4;
	return (void *)(udp + 1) <= csw_end(ctx) &&
	       (__u16)(cnr_be16(udp->dest) - CANARY_PORT_BASE) < CANARY_PORTS;
}

/*
 * Is a frame that we do not look into for a Canary port? With tags, options, in fragments, in
 * pieces, to another's address or by a port that is another's: we do not see what it is, but the
 * kernel may have a device that takes it, and routes it on. No member sends such packets.
 */
CSW_FUNC int csw_is_hidden(csw_xdp *ctx)
{
	const struct ethhdr *eth = csw_data(ctx);
	__u32 at = CSW_OFF_IP;
	__be16 type;

	if ((void *)(eth + 1) + CSW_TAG_BYTES > csw_end(ctx) || csw_is_vlan_port(ctx, eth))
		return false;
	type = csw_behind_tags(ctx, eth->h_proto, &at);
	if (csw_is_tag(type))
		return true;
	return type == csw_be16(CSW_ETH_IP) && csw_is_for_canary(ctx, csw_data(ctx) + at);
}

/* None of ours to look into. Where not all are admitted, nothing may hide there. */
static __always_inline int csw_not_ours(csw_xdp *ctx)
{
	if (!csw_config(ctx)->admit || !csw_is_hidden(ctx))
		return CSW_XDP_PASS;
	csw_drop(ctx, CANARY_DROP_FORM);
	return CSW_XDP_DROP;
}

/* A result or restoration: from others than those, no switch shall believe it. */
static __always_inline void csw_mark(csw_xdp *ctx, const struct csw_packet *p)
{
	struct csw_packet q;
	__u32 before;

	if ((p->h->flags & CANARY_F_BYPASS) || csw_is_admitted(ctx) || csw_packet_at(ctx, &q))
		return;
	csw_check_look(&q);
	before = csw_headers(ctx);
	q.h->flags |= CANARY_F_BYPASS;
	csw_check_after(&q, before, csw_headers(ctx));
	csw_count(ctx, CSW_MARKED, 1);
}

#endif /* CANARY_BPF_LIB_ADMIT_H */
