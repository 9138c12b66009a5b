/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Addresses: functions on struct canary_addr. Only this file knows how an IPv4 address is kept in
 * it. The core, the module, BPF, the native switch and user space use it.
 * userspace/common/address.h reads and writes addresses as text.
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

/* The same function turns the byte order in both directions. */
#define CANARY_ADDR_MARK	((__force __be32)cnr_be32((__force __be32)0xffff))

static __always_inline struct canary_addr canary_addr_of_ip4(__be32 ip)
{
	return (struct canary_addr){ .word = { 0, 0, CANARY_ADDR_MARK, ip } };
}

static __always_inline int canary_addr_is_ip4(const struct canary_addr *a)
{
	return !(a->word[0] | a->word[1] | (a->word[2] ^ CANARY_ADDR_MARK));
}

/* Return: the IPv4 address in @a, which has to be one */
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

/* Does @a name no host: is it all zeros, or the 0.0.0.0 of IPv4? */
static __always_inline int canary_addr_is_any(const struct canary_addr *a)
{
	return !(a->word[0] | a->word[1] | a->word[3]) &&
	       (!a->word[2] || a->word[2] == CANARY_ADDR_MARK);
}

/* Is @a all zeros? 0.0.0.0 of IPv4 is not. */
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

/* Are the first @bits of @a and @b the same? */
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

/* Are there at most CANARY_ADDR_BITS @bits, and is @a zero behind the first @bits? */
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

/* Clear all bits of @a behind the first @bits. */
static __always_inline void canary_addr_cut(struct canary_addr *a, __u32 bits)
{
	__u32 i;

	for (i = 0; i < 4; i++, bits -= bits < 32 ? bits : 32)
		if (bits < 32)
			a->word[i] &= ~(__force __be32)cnr_be32((__force __be32)(~0U >> bits));
}

/*
 * Fold all four words into one, for hashes. An attacker can choose addresses with the same result.
 */
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

/*
 * Is @a a unicast address of IPv4? Only routes can tell which ones are broadcast addresses of a
 * network.
 */
static __always_inline int canary_addr_is_host_ip4(const struct canary_addr *a)
{
	__u32 host = cnr_be32(a->word[3]);

	return canary_addr_is_ip4(a) && host >> 24 && host >> 28 < 0xe;
}

/*
 * May a member be at @p? It has to be an address of one host, with a port of the range. Members are
 * reached by IPv4 so far, and this is where other addresses are refused (CANARY_DROP_PEER).
 */
static __always_inline int canary_peer_ok(const struct canary_peer *p)
{
	return canary_addr_is_host_ip4(&p->addr) && canary_port_ok(p->port) && !p->zero;
}

/* Return: bytes of the IP header of packets to and from @a */
static __always_inline __u32 canary_addr_ip_header(const struct canary_addr *a)
{
	return canary_addr_is_ip4(a) ? 20 : 40;
}

#endif /* CANARY_ADDR_H */
