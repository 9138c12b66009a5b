// SPDX-License-Identifier: BSD-2-Clause
/*
 * The world of the switch tests: see world.h.
 */
#include <stddef.h>
#include <string.h>
#include <arpa/inet.h>

#include "world.h"

uint64_t cnr_siphash(const uint8_t key[16], const void *data, size_t len);

#define IP(a, b, c, d)	__builtin_bswap32((a) << 24 | (b) << 16 | (c) << 8 | (d))
#define UDP(p)		__builtin_bswap16(p)
#define MAC(a, b)	{ 2, 0, 0, 0, a, b }

const struct person people[PEOPLE] = {
	[SELF]		= { IP(10U, 0, 0, 100), UDP(22600), { 0 }, 0 },
	[LEADER]	= { IP(10U, 0, 9, 9), UDP(22603), MAC(4, 254), 4 },
	[H1]		= { IP(10U, 0, 1, 1), UDP(22600), MAC(1, 1), 1 },
	[H1B]		= { IP(10U, 0, 1, 1), UDP(22601), MAC(1, 1), 1 },
	[H2]		= { IP(10U, 0, 5, 2), UDP(22600), MAC(1, 254), 1 },
	[H3]		= { IP(10U, 0, 2, 3), UDP(22600), MAC(2, 3), 2 },
	[H4]		= { IP(10U, 0, 3, 4), UDP(22663), MAC(3, 4), 3 },
	[SWITCH2]	= { IP(10U, 0, 0, 200), UDP(22600), MAC(2, 200), 2 },
	[MULTI]		= { IP(10U, 0, 8, 8), UDP(22600), MAC(4, 254), 4 },
	[ABSENT]	= { IP(10U, 0, 3, 77), UDP(22600), MAC(3, 77), 3 },
	[ABSENT2]	= { IP(10U, 0, 3, 78), UDP(22600), MAC(3, 78), 3 },
	[NOWHERE]	= { IP(10U, 99, 0, 1), UDP(22600), { 0 }, 0 },
	[LOCAL]		= { IP(10U, 0, 7, 7), UDP(22600), { 0 }, 0 },
	[FAR]		= { IP(10U, 0, 6, 6), UDP(22600), MAC(4, 66), 4 },
};

/* gateway, port: for @kind UNICAST. Port 5 is not one of the switch's. */
static const struct {
	__be32 addr;
	uint32_t prefix;
	uint32_t kind;
	struct {
		__be32 gateway;
		uint32_t port;
	} hop[2];
} routes[] = {
	{ IP(10U, 0, 1, 0), 24, CSW_ROUTE_UNICAST, { { 0, 1 } } },
	{ IP(10U, 0, 2, 0), 24, CSW_ROUTE_UNICAST, { { 0, 2 } } },
	{ IP(10U, 0, 3, 0), 24, CSW_ROUTE_UNICAST, { { 0, 3 } } },
	{ IP(10U, 0, 5, 0), 24, CSW_ROUTE_UNICAST, { { IP(10U, 0, 1, 254), 1 } } },
	{ IP(10U, 0, 9, 0), 24, CSW_ROUTE_UNICAST, { { IP(10U, 0, 4, 254), 4 } } },
	{ IP(10U, 0, 8, 0), 24, CSW_ROUTE_UNICAST,
	  { { IP(10U, 0, 3, 254), 3 }, { IP(10U, 0, 4, 254), 4 } } },
	{ IP(10U, 0, 0, 200), 32, CSW_ROUTE_UNICAST, { { IP(10U, 0, 2, 200), 2 } } },
	{ IP(10U, 0, 7, 7), 32, CSW_ROUTE_LOCAL },
	{ IP(10U, 0, 0, 100), 32, CSW_ROUTE_LOCAL },
	{ IP(10U, 98, 0, 0), 16, CSW_ROUTE_OTHER },
};

struct neighbour {
	__be32 addr;
	uint32_t port;
	uint8_t mac[6];
};

static const struct neighbour neighbours[] = {
	{ IP(10U, 0, 1, 1), 1, MAC(1, 1) },
	{ IP(10U, 0, 1, 254), 1, MAC(1, 254) },
	{ IP(10U, 0, 2, 3), 2, MAC(2, 3) },
	{ IP(10U, 0, 2, 200), 2, MAC(2, 200) },
	{ IP(10U, 0, 3, 4), 3, MAC(3, 4) },
	{ IP(10U, 0, 3, 254), 3, MAC(3, 254) },
	{ IP(10U, 0, 4, 254), 4, MAC(4, 254) },
};

static const struct neighbour kernel_neighbours[] = {
	{ IP(10U, 0, 3, 77), 3, MAC(3, 77) },
	{ IP(10U, 0, 3, 78), 3, MAC(3, 78) },
};

/*
 * Admitted are hosts 77 at their own ports (H1 from 70 to 80, those of port 3 more), and everything
 * from the other switch and from beyond port 4. Sorted by port and address.
 */
static const struct {
	uint32_t port;
	__be32 addr;
	uint32_t prefix;
	struct csw_comm_range range[3];
} admissions[] = {
	{ 1, IP(10U, 0, 1, 1), 32, { { 70, 80 } } },
	{ 2, IP(10U, 0, 2, 3), 32, { { 77, 77 } } },
	{ 2, IP(10U, 0, 0, 200), 32, { { 0, ~0U } } },
	{ 3, IP(10U, 0, 3, 0), 24, { { 200, 300 }, { 77, 77 }, { ~0U, ~0U } } },
	/* longer than the one above, so this one counts */
	{ 3, IP(10U, 0, 3, 77), 32, { { 5, 5 } } },
	{ 4, 0, 0, { { 0, ~0U } } },
};

int world_admissions(struct csw_admission_key *key, struct csw_admission *admission, int i)
{
	if (i >= sizeof(admissions) / sizeof(admissions[0]))
		return 0;
	key->prefixlen = 32 + CANARY_ADDR_IP4_START + admissions[i].prefix;
	key->ifindex = admissions[i].port;
	key->addr = canary_addr_of_ip4(admissions[i].addr);
	memset(admission, 0, sizeof(*admission));
	admission->id = i + 1;
	memcpy(admission->range, admissions[i].range, sizeof(admissions[i].range));
	while (admission->ranges < 3 && admission->range[admission->ranges].last)
		admission->ranges++;
	return 1;
}

static void port_mac(int port, uint8_t *mac)
{
	const uint8_t m[6] = { 2, 0, 0, 0, 0xff, port };

	memcpy(mac, m, 6);
}

void world_port(int port, struct csw_port *p, bool shaped)
{
	memset(p, 0, sizeof(*p));
	port_mac(port, p->mac);
	p->mode = shaped ? CSW_SHAPED : CSW_FAST;
	p->mtu = port == 2 ? 1500 : 3400;
	p->queue = WORLD_QUEUE;
}

bool world_group(uint64_t key)
{
	int port, n = 0;

	for (port = 1; port <= PORTS; port++)
		n += WORLD_KEY_COUNT(key, port);
	return n > 1 && n <= WORLD_GROUP_MAX && !(key >> 8 * PORTS);
}

int world_routes(struct csw_route_key *key, struct csw_route *route, int i)
{
	int hop;

	if (i >= sizeof(routes) / sizeof(routes[0]))
		return 0;
	key->prefixlen = CANARY_ADDR_IP4_START + routes[i].prefix;
	key->addr = canary_addr_of_ip4(routes[i].addr);
	memset(route, 0, sizeof(*route));
	route->kind = routes[i].kind;
	for (hop = 0; hop < 2 && routes[i].hop[hop].port; hop++) {
		if (routes[i].hop[hop].gateway)
			route->nexthop[hop].gateway =
				canary_addr_of_ip4(routes[i].hop[hop].gateway);
		route->nexthop[hop].ifindex = routes[i].hop[hop].port;
		route->nexthops++;
	}
	return 1;
}

static int neighbour(const struct neighbour *table, int n, struct csw_neigh_key *key,
		     struct csw_neigh *neigh, int i)
{
	if (i >= n)
		return 0;
	key->ifindex = table[i].port;
	key->addr = canary_addr_of_ip4(table[i].addr);
	memset(neigh, 0, sizeof(*neigh));
	memcpy(neigh->mac, table[i].mac, 6);
	return 1;
}

int world_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i)
{
	return neighbour(neighbours, sizeof(neighbours) / sizeof(neighbours[0]), key, neigh, i);
}

int world_kernel_neighbours(struct csw_neigh_key *key, struct csw_neigh *neigh, int i)
{
	return neighbour(kernel_neighbours,
			 sizeof(kernel_neighbours) / sizeof(kernel_neighbours[0]), key, neigh, i);
}

/* ---- frames ---- */

uint64_t tag_of(int rank, const struct msg *m)
{
	return mix(0x7461670000ULL ^ rank ^ (uint64_t)m->block << 16 ^
		   (uint64_t)m->attempt << 48 ^ (uint64_t)m->salt << 56);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

/* Checksum of RFC 1071, over bytes in their order */
static void ip_checksum(uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	put16(ip + 10, 0);
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~sum);
}

const uint64_t world_secret[2][2] = {
	{ 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL }, { 0x1122334455667788ULL, 0x99 },
};

/* Write an IPv4 address as lists have it. */
static void put_mapped(uint8_t *p, const void *addr)
{
	memset(p, 0, 10);
	put16(p + 10, 0xffff);
	memcpy(p + 12, addr, 4);
}

/*
 * Write the cookie that the switch gives to bypassed members: PROTOCOL.md, "Restoration carries no
 * data".
 */
static void put_cookie(uint8_t *p, const struct msg *m, __be32 addr, __be16 port, bool old)
{
	uint8_t claim[40] = { 0 };
	uint64_t hash;
	uint32_t word;

	put32(claim, m->comm);
	put32(claim + 4, m->epoch);
	put32(claim + 8, m->block);
	put32(claim + 12, m->opsig);
	put_mapped(claim + 16, &addr);
	memcpy(claim + 32, &port, 2);
	put16(claim + 34, 4 * m->elements);
	claim[36] = m->attempt;
	hash = cnr_siphash((const uint8_t *)world_secret[old], claim, sizeof(claim));
	word = hash ^ hash >> 32;
	memcpy(p, &word, 4);
}

static uint32_t payload_children(uint8_t *p, const struct msg *m)
{
	uint32_t n = 0, addr;

	for (; n < m->children; n++) {
		put32((uint8_t *)&addr, 0x0a000100 + n);
		put_mapped(p + n * 24, &addr);
		put16(p + n * 24 + 16, 22600);
		put16(p + n * 24 + 18, 0);
		put32(p + n * 24 + 20, 0);
	}
	for (; !m->children && n < 4 && m->child[n]; n++) {
		const struct person *who = &people[m->child[n]];

		put_mapped(p + n * 24, &who->addr);
		memcpy(p + n * 24 + 16, &who->udp, 2);
		put16(p + n * 24 + 18, 0);
		put_cookie(p + n * 24 + 20, m, who->addr, who->udp, m->old_cookies);
	}
	if (m->bad_cookie)
		p[n * 24 - 1] ^= 1;
	return n;
}

static void canary(uint8_t *h, const struct msg *m, uint32_t *payload)
{
	uint32_t count = __builtin_popcount(m->ranks);
	bool single = count == 1 && m->type == CANARY_CONTRIBUTION;
	uint64_t tag = 0;
	int rank;

	memset(h, 0, 64);
	for (rank = 0; rank < 32; rank++)
		if (m->ranks & R(rank))
			tag += tag_of(rank, m);
	h[0] = CANARY_VERSION;
	h[1] = m->type;
	h[2] = m->flags;
	h[3] = m->attempt;
	put32(h + 4, m->comm);
	put32(h + 8, m->epoch);
	put32(h + 12, m->block);
	put32(h + 16, m->opsig);
	put16(h + 20, m->members);
	*payload = 0;
	if (m->type == CANARY_RESTORATION) {
		uint32_t n = payload_children(h + 64, m);

		put16(h + 32, m->list);
		put16(h + 34, n);
		put16(h + 50, 4 * m->elements);
		*payload = n * 24;
		return;
	}
	if (m->type != CANARY_CONTRIBUTION && m->type != CANARY_RESULT)
		return;
	if (!m->no_last)
		h[2] |= CANARY_F_LAST;
	put32(h + 44, m->done);
	put16(h + 50, 4 * m->elements);
	h[52] = m->kind;
	h[53] = m->load;
	/* A switch's number is its address in these tests. */
	memcpy(h + 56, &people[m->origin ? m->origin : m->from == SELF ? SELF : 0].addr, 4);
	if (m->type == CANARY_CONTRIBUTION) {
		put16(h + 22, single ? __builtin_ctz(m->ranks) : 0);
		put64(h + 32, tag);
		put16(h + 48, count);
		h[54] = m->path;
		if (m->origin == SELF)
			put_cookie(h + 60, m, people[m->from].addr, people[m->from].udp, false);
	} else {
		put16(h + 48, m->list);
		put32(h + 60, m->tree);
	}
	put32(h + 40, payload_elements(h + 64, m));
	*payload = m->elements * 4;
}

/* The mac is an arbitrary number that the switch has to pass on unchanged. */
static void canary_mac(uint8_t *h, const struct msg *m)
{
	bool single = __builtin_popcount(m->ranks) == 1;

	if (m->type == CANARY_CONTRIBUTION && !single)
		return;
	put64(h + 24, mix(m->block ^ (uint64_t)m->ranks << 32));
}

uint8_t world_kind = CANARY_KIND_ADD32;

static void usual(struct msg *m)
{
	if (!m->type)
		m->type = CANARY_CONTRIBUTION;
	if (!m->to)
		m->to = m->type == CANARY_CONTRIBUTION ? LEADER : SELF;
	if (!m->from)
		m->from = LEADER;
	if (!m->block)
		m->block = 5;
	if (!m->opsig)
		m->opsig = 0x0b5161;
	if (!m->done)
		m->done = 3;
	if (!m->comm)
		m->comm = 77;
	if (!m->epoch)
		m->epoch = 0xe90c4;
	if (!m->members)
		m->members = 4;
	if (!m->elements && !m->no_elements)
		m->elements = 37;
	if (!m->kind)
		m->kind = world_kind;
	if (!m->ttl)
		m->ttl = m->type == CANARY_RESULT && m->from == SELF ? 255 : 64;
	if (m->type == CANARY_RESULT)
		m->ranks = R(m->members) - 1;
}

static uint32_t ones_sum(const uint8_t *p, uint32_t n)
{
	uint32_t sum = 0, i;

	for (i = 0; i < n; i += 2)
		sum += p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
	return sum;
}

/* Set the checksum of RFC 768. @b is a frame whose UDP packet has @n bytes. */
static void udp_checksum(uint8_t *b, uint32_t n, enum udp_checksum how)
{
	uint32_t sum = ones_sum(b + 26, 8) + 17 + n;

	put16(b + 40, 0);
	if (how == NONE)
		return;
	if (how != LEFT_OUT && how != LEFT_OUT_STILL)
		sum += ones_sum(b + 34, n);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	if (how != LEFT_OUT && how != LEFT_OUT_STILL)
		sum = 0xffff - sum;
	if (!sum)
		sum = 0xffff;
	put16(b + 40, how == WRONG ? sum ^ 0x100 : sum);
}

void frame_checksum(struct frame *f)
{
	udp_checksum(f->bytes, f->bytes[38] << 8 | f->bytes[39], WHOLE);
}

static void put_tag(struct frame *f, uint32_t tag)
{
	memmove(f->bytes + 16, f->bytes + 12, f->length - 12);
	put32(f->bytes + 12, tag);
	f->length += 4;
}

static void frame(struct frame *f, const struct msg *m, const uint8_t *dst, const uint8_t *src)
{
	uint8_t *b = f->bytes;
	uint32_t payload;
	int i;

	memset(b, 0, sizeof(f->bytes));
	memcpy(b, dst, 6);
	memcpy(b + 6, src, 6);
	put16(b + 12, 0x0800);
	canary(b + 42, m, &payload);
	canary_mac(b + 42, m);
	f->length = 42 + 64 + payload;
	b[14] = 0x45;
	put16(b + 16, f->length - 14);
	put16(b + 20, 0x4000);
	b[22] = m->ttl;
	b[23] = 17;
	memcpy(b + 26, &people[m->from].addr, 4);
	memcpy(b + 30, &people[m->to].addr, 4);
	ip_checksum(b + 14);
	memcpy(b + 34, &people[m->from].udp, 2);
	memcpy(b + 36, &people[m->to].udp, 2);
	put16(b + 38, f->length - 34);
	for (i = 0; i < (int)(sizeof(m->poke) / sizeof(m->poke[0])) && m->poke[i].offset; i++)
		b[m->poke[i].offset] = m->poke[i].value;
	if (m->fix_ip)
		ip_checksum(b + 14);
	udp_checksum(b, 8 + 64 + payload, m->checksum);
	for (i = 0; i < (int)(sizeof(m->poke) / sizeof(m->poke[0])); i++)
		if (m->poke[i].offset == 40 || m->poke[i].offset == 41)
			b[m->poke[i].offset] = m->poke[i].value;
	f->length += m->cut;
	for (i = 4; i >= 0; i--)
		if (m->tag[i])
			put_tag(f, m->tag[i]);
}

bool world_shaped;
bool world_groups;

void frame_in(struct frame *f, int port, const struct msg *given)
{
	struct msg m = *given;
	uint8_t mac[6];

	usual(&m);
	port_mac(m.other_mac ? 99 : port, mac);
	f->port = port;
	frame(f, &m, mac, people[m.from].mac);
}

void frame_out(struct frame *f, int port, int in_port, const struct msg *given)
{
	const uint8_t multi[6] = MAC(3, 254);
	struct msg m = *given;
	uint8_t mac[6];

	usual(&m);
	if (port == KERNEL) {
		frame_in(f, in_port, &m);
		f->port = KERNEL;
		return;
	}
	if ((m.checksum == LEFT_OUT && !world_shaped) ||
	    (m.checksum == LEFT_OUT_STILL && world_groups))
		m.checksum = WHOLE;
	port_mac(port, mac);
	f->port = port;
	frame(f, &m, m.to == MULTI && port == 3 ? multi : people[m.to].mac, mac);
}
