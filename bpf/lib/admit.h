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
	const struct csw_admission *a;
	__u32 comm, i;

	a = csw_admission(ctx, csw_ingress_ifindex(ctx), p->ip->saddr);
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
CSW_FUNC int csw_stranger(csw_xdp *ctx)
{
	struct csw_packet p;

	if (csw_packet_at(ctx, &p))
		return CSW_XDP_PASS;
	csw_count(ctx, CSW_RX_CONTRIBUTION, 1);
	csw_count(ctx, CSW_RX_BYTES, cnr_be16(p.ip->tot_len) + CSW_OFF_IP);
	if (p.h->count != csw_be16(1))
		return csw_refuse(ctx, CANARY_DROP_ADMISSION);
	csw_count(ctx, CSW_BYPASS_ADMISSION, 1);
	p.h->flags |= CANARY_F_BYPASS;
	p.h->origin = csw_config(ctx)->addr;
	p.h->cookie = 0;
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
CSW_FUNC int csw_bad_stranger(csw_xdp *ctx)
{
	struct csw_packet p;

	return csw_packet_at(ctx, &p) == 0 && p.h->version == CANARY_VERSION &&
	       p.h->type == CANARY_CONTRIBUTION && !(p.h->flags & CANARY_F_RING) &&
	       !csw_admitted(ctx, &p);
}

/*
 * A tag without a VLAN in it: the kernel takes it off, and routes what is inside as if it had
 * come without.
 */
static __always_inline bool csw_is_priority_tagged(const struct ethhdr *eth)
{
	const __be16 *tag = (const __be16 *)(eth + 1);
	__be16 inner = tag[1];

	if (eth->h_proto != csw_be16(CSW_ETH_8021Q) && eth->h_proto != csw_be16(CSW_ETH_8021AD))
		return false;
	return !(tag[0] & csw_be16(CSW_VLAN_MASK)) &&
	       (inner == csw_be16(CSW_ETH_IP) || inner == csw_be16(CSW_ETH_8021Q) ||
		inner == csw_be16(CSW_ETH_8021AD));
}

/*
 * Does it come by a device that is no port of ours, or whose master takes what is addressed to it?
 * Nobody can say then which rules hold.
 */
static __always_inline bool csw_is_captive(csw_xdp *ctx)
{
	const struct csw_port *port = csw_port(ctx, csw_ingress_ifindex(ctx));

	return !port || port->captive;
}

/*
 * May it be for a Canary port, but tagged, with options, in fragments, in pieces (not @whole) or by
 * a port that is another's, so that we do not see what it is, and others do? No member sends such
 * packets. Without their first fragment the others are nothing.
 */
CSW_FUNC int csw_is_hidden(csw_xdp *ctx, int whole)
{
	void *data = csw_data(ctx);
	const struct ethhdr *eth = data;
	const struct iphdr *ip = data + CSW_OFF_IP;
	const struct udphdr *udp;
	__u32 start;

	if (data + CSW_OFF_UDP > csw_end(ctx))
		return false;
	if (csw_is_priority_tagged(eth))
		return true;
	start = *(const __u8 *)ip;
	if (eth->h_proto != csw_be16(CSW_ETH_IP) || start >> 4 != 4 || ip->protocol != CSW_UDP)
		return false;
	if (ip->frag_off & csw_be16(CSW_IP_OFFSET))
		return false;
	udp = data + CSW_OFF_IP + (start & 15) * 4;
	if ((void *)(udp + 1) > csw_end(ctx))
		return false;
	if ((__u16)(cnr_be16(udp->dest) - CANARY_PORT_BASE) >= CANARY_PORTS)
		return false;
	return !whole || start != CSW_IP_START || (ip->frag_off & csw_be16(CSW_IP_MORE)) ||
	       csw_is_captive(ctx);
}

/* None of ours to look into. Where not all are admitted, nothing may hide there. */
static __always_inline int csw_not_ours(csw_xdp *ctx, bool whole)
{
	if (!csw_config(ctx)->admit || !csw_is_hidden(ctx, whole))
		return CSW_XDP_PASS;
	csw_drop(ctx, CANARY_DROP_FORM);
	return CSW_XDP_DROP;
}

/* A result or restoration: from others than those, no switch shall believe it. */
static __always_inline void csw_mark(csw_xdp *ctx, const struct csw_packet *p)
{
	struct csw_packet q;

	if ((p->h->flags & CANARY_F_BYPASS) || csw_is_admitted(ctx) || csw_packet_at(ctx, &q))
		return;
	q.h->flags |= CANARY_F_BYPASS;
	csw_count(ctx, CSW_MARKED, 1);
}

#endif /* CANARY_BPF_LIB_ADMIT_H */
