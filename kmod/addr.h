/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Addresses: what can be asked of a struct canary_addr. The one place that knows how an IPv4
 * address is kept in it. For the core, the module, BPF, the native switch and user space; text is
 * read and written by userspace/common/address.h.
 *
 * Includer: as of core/parse.h.
 */
#ifndef CANARY_ADDR_H
#define CANARY_ADDR_H

#define CANARY_ADDR_BITS	128
#define CANARY_ADDR_IP4_BITS	32
#define CANARY_ADDR_IP4_START	(CANARY_ADDR_BITS - CANARY_ADDR_IP4_BITS)

#ifndef __force
#define __force
#endif

/* Byte order is turned by the same function in both directions. */
#define CANARY_ADDR_MARK	((__force __be32)cnr_be32((__force __be32)0xffff))

static __always_inline struct canary_addr canary_addr_of_ip4(__be32 ip)
{
	return (struct canary_addr){ .word = { 0, 0, CANARY_ADDR_MARK, ip } };
}

static __always_inline int canary_addr_is_ip4(const struct canary_addr *a)
{
	return !(a->word[0] | a->word[1] | (a->word[2] ^ CANARY_ADDR_MARK));
}

/* Of an IPv4 one */
static __always_inline __be32 canary_addr_ip4(const struct canary_addr *a)
{
	return a->word[3];
}

static __always_inline int canary_addr_equal(const struct canary_addr *a,
					     const struct canary_addr *b)
{
	return !((a->word[0] ^ b->word[0]) | (a->word[1] ^ b->word[1]) |
		 (a->word[2] ^ b->word[2]) | (a->word[3] ^ b->word[3]));
}

/* Is none given: all zeros, or the 0.0.0.0 of IPv4? */
static __always_inline int canary_addr_is_any(const struct canary_addr *a)
{
	return !(a->word[0] | a->word[1] | a->word[3]) &&
	       (!a->word[2] || a->word[2] == CANARY_ADDR_MARK);
}

/* Does nothing stand there, not even 0.0.0.0? */
static __always_inline int canary_addr_is_zero(const struct canary_addr *a)
{
	return !(a->word[0] | a->word[1] | a->word[2] | a->word[3]);
}

static __always_inline int canary_addr_compare(const struct canary_addr *a,
					       const struct canary_addr *b)
{
	int i;

	for (i = 0; i < 4; i++)
		if (a->word[i] != b->word[i])
			return cnr_be32(a->word[i]) < cnr_be32(b->word[i]) ? -1 : 1;
	return 0;
}

/* Do @a and @b have the first @bits in common? */
static __always_inline int canary_addr_within(const struct canary_addr *a,
					      const struct canary_addr *b, __u32 bits)
{
	__u32 i, differ;

	for (i = 0; i < 4 && bits; i++) {
		differ = cnr_be32(a->word[i] ^ b->word[i]);
		if (bits < 32)
			return !(differ >> (32 - bits));
		if (differ)
			return 0;
		bits -= 32;
	}
	return 1;
}

/* Are there no ones behind the first @bits, of which there are so many? */
static __always_inline int canary_addr_is_prefix(const struct canary_addr *a, __u32 bits)
{
	__u32 i;

	if (bits > CANARY_ADDR_BITS)
		return 0;
	for (i = 0; i < 4; i++, bits -= bits < 32 ? bits : 32)
		if (bits < 32 && cnr_be32(a->word[i]) & ~0U >> bits)
			return 0;
	return 1;
}

/* Nothing behind the first @bits */
static __always_inline void canary_addr_cut(struct canary_addr *a, __u32 bits)
{
	__u32 i;

	for (i = 0; i < 4; i++, bits -= bits < 32 ? bits : 32)
		if (bits < 32)
			a->word[i] &= ~(__force __be32)cnr_be32((__force __be32)(~0U >> bits));
}

/* All four words in one, for hashes: an attacker can choose others that come out the same. */
static __always_inline __u32 canary_addr_fold(const struct canary_addr *a)
{
	return (__force __u32)a->word[0] * 0x9e3779b1U ^
	       (__force __u32)a->word[1] * 0x85ebca6bU ^
	       (__force __u32)(a->word[2] ^ CANARY_ADDR_MARK) * 0xc2b2ae35U ^
	       (__force __u32)a->word[3];
}

static __always_inline int canary_peer_equal(const struct canary_peer *a,
					     const struct canary_peer *b)
{
	return a->port == b->port && canary_addr_equal(&a->addr, &b->addr);
}

static __always_inline int canary_peer_compare(const struct canary_peer *a,
					       const struct canary_peer *b)
{
	int order = canary_addr_compare(&a->addr, &b->addr);

	return order ? order : (int)cnr_be16(a->port) - (int)cnr_be16(b->port);
}

static __always_inline int canary_port_ok(__be16 port)
{
	__u32 number = cnr_be16(port);

	return number >= CANARY_PORT_BASE && number < CANARY_PORT_BASE + CANARY_PORTS;
}

/* Is it a unicast address of IPv4? Which ones are those of a whole network only routes can tell. */
static __always_inline int canary_addr_is_host_ip4(const struct canary_addr *a)
{
	__u32 host = cnr_be32(a->word[3]);

	return canary_addr_is_ip4(a) && host >> 24 && host >> 28 < 0xe;
}

/*
 * May a member be there? At an address of one host, at a port of the range. Members are reached by
 * IPv4 so far: this is where others are refused (CANARY_DROP_PEER).
 */
static __always_inline int canary_peer_ok(const struct canary_peer *p)
{
	return canary_addr_is_host_ip4(&p->addr) && canary_port_ok(p->port) && !p->zero;
}

/* Bytes of the IP header of packets to and from there */
static __always_inline __u32 canary_addr_ip_header(const struct canary_addr *a)
{
	return canary_addr_is_ip4(a) ? 20 : 40;
}

#endif /* CANARY_ADDR_H */
