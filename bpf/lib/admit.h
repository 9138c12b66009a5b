/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Admission: whose packets make switches act, for which communicators, by which port. No key binds
 * a contribution that is merged to its data. So the place where it comes in decides who may send
 * it: PROTOCOL.md, "Admission".
 */
#ifndef CANARY_BPF_LIB_ADMIT_H
#define CANARY_BPF_LIB_ADMIT_H

/*
 * May the sender of @p use switches for its communicator? Return: the number of the entry that says
 * so, else 0
 */
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

/* The same, as a function, where it need not be fast */
CSW_FUNC int csw_is_admitted(csw_xdp *ctx)
{
	struct csw_packet p;

	return csw_packet_at(ctx, &p) == 0 && csw_admitted(ctx, &p) != 0;
}

/*
 * A contribution from a source that is not admitted.
 *
 * The mac of a single contribution tells its leader whether it is right, and the leader answers its
 * member. An aggregate has no mac, and a leader takes it for the work of switches, so it is
 * dropped. There is no cookie, so that the source does not become a child by restoration either.
 * The kernel forwards the packet, so that its packet filter and reverse path filter apply.
 */
CSW_FUNC int csw_unadmitted(csw_xdp *ctx)
{
	struct csw_packet p;
	__u32 before;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	csw_count(ctx, CSW_RX_CONTRIBUTION, 1);
	csw_count(ctx, CSW_RX_BYTES, csw_length(&p));
	if (!canary_is_single(p.h))
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
 * Is it a contribution that switches do not take, from a source that is not admitted?
 *
 * Hosts read contributions that switches do not take. A leader might take such a packet for the
 * work of switches. Or, since nobody marked it, for one that came through switches, and answer its
 * source.
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

/* Is the VLAN of the first tag a port of the switch? Then that port's program judges the frame. */
static __always_inline bool csw_is_vlan_port(csw_xdp *ctx, const struct ethhdr *eth)
{
	const __be16 *tag = (const __be16 *)(eth + 1);

	return csw_is_tag(eth->h_proto) &&
	       csw_vlan(ctx, csw_ingress_ifindex(ctx), eth->h_proto,
			tag[0] & csw_be16(CSW_VLAN_MASK));
}

/*
 * Return: the type behind the tags, with *@at moved to its start; that of a tag if there are too
 * many tags
 *
 * The kernel removes tags one by one, and routes what is inside.
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

/*
 * Is it IPv4 and UDP to a Canary port? Of a fragmented packet only the first fragment is: without
 * that the others are useless.
 */
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
 * Is a frame that we do not look into meant for a Canary port?
 *
 * It has tags, options, fragments or several pieces, is for another MAC address, or came by a port
 * that belongs to a bridge or bond. We cannot see what it is, but the kernel may have a device that
 * takes it and routes it on. No member sends such packets.
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

/*
 * A frame that we do not look into. Where there are rules, no packet for a Canary port may hide in
 * it.
 */
static __always_inline int csw_not_ours(csw_xdp *ctx)
{
	if (!csw_config(ctx)->admit || !csw_is_hidden(ctx))
		return CSW_XDP_PASS;
	csw_drop(ctx, CANARY_DROP_FORM);
	return CSW_XDP_DROP;
}

/*
 * Mark a result or restoration from a source that is not admitted, so that no switch believes it.
 */
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
