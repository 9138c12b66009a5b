/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From a frame to the Canary message in it. A switch looks only into packets that it could rebuild
 * exactly: Ethernet, IPv4 without options or fragments, and UDP with a checksum.
 */
#ifndef CANARY_BPF_LIB_PARSE_H
#define CANARY_BPF_LIB_PARSE_H

#define CSW_ETH_IP	0x0800
#define CSW_ETH_8021Q	0x8100
#define CSW_ETH_8021AD	0x88a8
#define CSW_VLAN_MASK	0x0fff
#define CSW_TAGS	4	/* most tags of VLANs; a frame with more is hidden */
#define CSW_TAG_BYTES	4
#define CSW_IP_START	0x45	/* version 4, header of 5 words */
#define CSW_IP_DF	0x4000
#define CSW_IP_MORE	0x2000
#define CSW_IP_OFFSET	0x1fff
#define CSW_IP_FRAGMENT	(CSW_IP_MORE | CSW_IP_OFFSET)
#define CSW_UDP		17

#define CSW_OFF_IP	14
#define CSW_OFF_UDP	34
#define CSW_OFF_CANARY	42
#define CSW_OFF_DATA	106

/*
 * struct csw_packet - a frame whose headers are all readable and writable
 * @left_out:	it came without a whole UDP checksum, see checksum.h
 * @whole:	it has a whole UDP checksum now
 */
struct csw_packet {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct udphdr *udp;
	struct canary_hdr *h;
	bool left_out;
	bool whole;
};

enum csw_class {
	CSW_NOT_OURS,		/* no Canary packet that we look at */
	CSW_MEMBERS,		/* messages between members: ordinary traffic */
	CSW_BAD,		/* malformed; csw_packet.h may be unset */
	CSW_GOOD,
};

static __always_inline int csw_packet_at(csw_xdp *ctx, struct csw_packet *p)
{
	void *data = csw_data(ctx);

	if (data + CSW_OFF_DATA > csw_end(ctx))
		return -1;
	p->eth = data;
	p->ip = data + CSW_OFF_IP;
	p->udp = data + CSW_OFF_UDP;
	p->h = data + CSW_OFF_CANARY;
	return 0;
}

/* Addresses of a packet. Only these functions, and those that write headers, know the IP header. */
static __always_inline struct canary_addr csw_source(const struct csw_packet *p)
{
	return canary_addr_of_ip4(p->ip->saddr);
}

static __always_inline struct canary_addr csw_destination(const struct csw_packet *p)
{
	return canary_addr_of_ip4(p->ip->daddr);
}

static __always_inline bool csw_is_to(const struct csw_packet *p, const struct canary_addr *addr)
{
	struct canary_addr to = csw_destination(p);

	return canary_addr_equal(&to, addr);
}

static __always_inline struct canary_peer csw_sender(const struct csw_packet *p)
{
	return (struct canary_peer){ .addr = csw_source(p), .port = p->udp->source };
}

static __always_inline struct canary_peer csw_receiver(const struct csw_packet *p)
{
	return (struct canary_peer){ .addr = csw_destination(p), .port = p->udp->dest };
}

/* Return: the length of the frame */
static __always_inline __u32 csw_length(const struct csw_packet *p)
{
	return cnr_be16(p->ip->tot_len) + CSW_OFF_IP;
}

/* Return: the one's complement sum of a header without options; 0xffff if its checksum is right */
static __always_inline __u32 csw_ip_sum(const struct iphdr *ip)
{
	const __u32 *word = (const __u32 *)ip;
	__u64 sum = (__u64)word[0] + word[1] + word[2] + word[3] + word[4];

	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline void csw_ip_checksum(struct iphdr *ip)
{
	ip->check = 0;
	ip->check = ~csw_ip_sum(ip);
}

/* Return: address and low bits of the ifindex in one word, never 0 */
static __always_inline __u64 csw_mac_word(const __u8 *mac, __u32 ifindex)
{
	const __u16 *m = (const __u16 *)mac;

	return m[0] | (__u64)m[1] << 16 | (__u64)m[2] << 32 | (__u64)(ifindex << 1 | 1) << 48;
}

/* Is @mac the address of the port? Ask the map. */
static __always_inline bool csw_own_mac_checked(csw_xdp *ctx, const __u8 *mac)
{
	__u32 ifindex = csw_ingress_ifindex(ctx);
	const struct csw_port *port = csw_port(ctx, ifindex);
	__u64 own = port && !port->captive ? csw_mac_word(port->mac, ifindex) : 0;

	*csw_own_mac_hint(ctx, ifindex) = own;
	return own == csw_mac_word(mac, ifindex);
}

/*
 * The same from a remembered word, which nobody sees half written. To ask the map costs as much as
 * all the parsing. csw_own_mac_again() soon notices that an address has changed.
 */
static __always_inline bool csw_own_mac(csw_xdp *ctx, const __u8 *mac)
{
	__u32 ifindex = csw_ingress_ifindex(ctx);

	return CSW_READ(*csw_own_mac_hint(ctx, ifindex)) == csw_mac_word(mac, ifindex) ||
	       csw_own_mac_checked(ctx, mac);
}

/* Ask the map again, once in 16 blocks. */
static __always_inline bool csw_own_mac_again(csw_xdp *ctx, const struct csw_packet *p)
{
	return cnr_be32(p->h->block) % 16 || csw_own_mac_checked(ctx, p->eth->h_dest);
}

/*
 * Is it a Canary packet for this port? Cheap checks come first, since this runs for everything that
 * the machine receives. A packet with another machine's MAC address is not ours: to merge it would
 * count it twice.
 */
static __always_inline bool csw_is_canary(csw_xdp *ctx)
{
	void *data = csw_data(ctx);
	const struct ethhdr *eth = data;
	const struct iphdr *ip = data + CSW_OFF_IP;
	const struct udphdr *udp = data + CSW_OFF_UDP;

	if (data + CSW_OFF_CANARY > csw_end(ctx))
		return false;
	if (eth->h_proto != csw_be16(CSW_ETH_IP) || *(const __u8 *)ip != CSW_IP_START ||
	    ip->protocol != CSW_UDP || (ip->frag_off & csw_be16(CSW_IP_FRAGMENT)))
		return false;
	if ((__u16)(cnr_be16(udp->dest) - CANARY_PORT_BASE) >= CANARY_PORTS)
		return false;
	return csw_own_mac(ctx, eth->h_dest);
}

/* Return: what the frame is. *@reason says what is wrong with it */
static __always_inline enum csw_class csw_classify(csw_xdp *ctx, struct csw_packet *p,
						   enum canary_drop *reason)
{
	void *data = csw_data(ctx);
	struct iphdr *ip = data + CSW_OFF_IP;
	struct udphdr *udp = data + CSW_OFF_UDP;
	__u32 ip_len, udp_len;

	*reason = CANARY_DROP_NONE;
	if (!csw_is_canary(ctx) || data + CSW_OFF_CANARY > csw_end(ctx))
		return CSW_NOT_OURS;
	ip_len = cnr_be16(ip->tot_len);
	udp_len = cnr_be16(udp->len);
	*reason = CANARY_DROP_IPHDR;
	if (csw_ip_sum(ip) != 0xffff || csw_end(ctx) - data < CSW_OFF_IP + ip_len)
		return CSW_BAD;
	*reason = CANARY_DROP_LENGTH;
	if (udp_len + sizeof(*ip) != ip_len)
		return CSW_BAD;
	*reason = CANARY_DROP_SHORT;
	if (udp_len < sizeof(*udp) + sizeof(*p->h) || csw_packet_at(ctx, p))
		return CSW_BAD;
#ifndef CSW_NO_CHECKSUMS
	*reason = CANARY_DROP_CHECKSUM;
	if (!udp->check)
		return CSW_BAD;
#endif
	*reason = canary_parse_common(p->h, udp_len - sizeof(*udp));
	if (*reason != CANARY_DROP_NONE)
		return CSW_BAD;
	if (p->h->type > CANARY_SWITCH_TYPES)
		return CSW_MEMBERS;
	*reason = canary_parse_for_switch(p->h, udp_len - sizeof(*udp));
	return *reason == CANARY_DROP_NONE ? CSW_GOOD : CSW_BAD;
}

/* Return: the length of a frame with @length bytes of data */
static __always_inline __u32 csw_frame_length(__u32 length)
{
	return CSW_OFF_DATA + length;
}

#endif /* CANARY_BPF_LIB_PARSE_H */
