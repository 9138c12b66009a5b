// SPDX-License-Identifier: BSD-2-Clause
/*
 * The packets that forge.c sends: guesses, changed packets of members, and hostile ones, which may
 * be anything.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/canary.h>
#include "forge.h"

static uint64_t rnd(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static unsigned int below(unsigned int n)
{
	return n ? rnd() % n : 0;
}

static uint32_t checksum(const struct packet *p)
{
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < ntohs(p->h.contribution.length) / 4 && i < CANARY_ELEMENTS_MAX; i++)
		sum += le32toh(p->data[i]);
	return sum;
}

/* Number of bytes of UDP payload that the header claims */
static unsigned int payload(const struct packet *p)
{
	switch (p->h.type) {
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
	case CANARY_RING_SUM:
	case CANARY_RING_RESULT:
		return sizeof(p->h) + ntohs(p->h.contribution.length);
	case CANARY_RESTORATION:
		return sizeof(p->h) +
		       ntohs(p->h.restoration.entries) * sizeof(struct canary_restored);
	case CANARY_JOIN:
		return sizeof(p->h) + 1408;
	case CANARY_WELCOME:
		return sizeof(p->h) + CANARY_SALT + ntohs(p->h.welcome.entries) *
			(p->h.flags & CANARY_F_WAITING ? 2 : sizeof(struct canary_peer));
	case CANARY_ABORT:
		return sizeof(p->h) + ntohs(p->h.abort.entries) * 2;
	}
	return sizeof(p->h);
}

static void address(struct packet *p, struct in_addr from, struct in_addr to, uint16_t port)
{
	p->ip.saddr = from.s_addr;
	p->ip.daddr = to.s_addr;
	p->udp.source = htons(CANARY_PORT_BASE);
	p->udp.dest = port;
}

static const struct sockaddr_in *any_member(void)
{
	return &opt.member[below(opt.nmember)];
}

static struct in_addr any_switch(void)
{
	return opt.nswitches ? opt.switches[below(opt.nswitches)] : any_member()->sin_addr;
}

/* The forger's own address, a member's, or a switch's */
static struct in_addr any_source(void)
{
	switch (below(3)) {
	case 0: return own;
	case 1: return any_member()->sin_addr;
	}
	return any_switch();
}

static void randomize(struct packet *p, unsigned int elements)
{
	unsigned int i;

	p->h.contribution.length = htons(4 * elements);
	for (i = 0; i < elements; i++)
		p->data[i] = rnd();
	p->h.contribution.sum = htonl(checksum(p));
}

/* Make a header as somebody does who knows the protocol, but not the communicator's secrets. */
static void guess(struct packet *p, enum canary_type type)
{
	memset(p, 0, sizeof(p->ip) + sizeof(p->udp) + sizeof(p->h));
	p->h.version = CANARY_VERSION;
	p->h.type = type;
	p->h.comm = htonl(opt.comm);
	p->h.epoch = rnd();
	p->h.block = rnd();
	p->h.opsig = rnd();
	p->h.members = htons(opt.members);
	p->h.rank = htons(below(opt.members));
	p->h.contribution.tag = rnd();
	p->h.mac = rnd();
	p->h.contribution.acked = rnd();
}

/* Take a packet that was seen, with its data, or guess if there is none. */
static bool observe(struct packet *p, enum canary_type type)
{
	unsigned int i, at;

	for (i = 0; opt.nsniff && i < 32; i++) {
		at = below(count.observed < SEEN_MAX ? count.observed : SEEN_MAX);
		if (count.observed && (seen[at].h.type == type || i > 16)) {
			memcpy(p, &seen[at], sizeof(*p));
			if (p->h.type == type)
				return true;
			/* change the type, and keep the secrets */
			p->h.type = type;
			p->h.flags = 0;
			if (type != CANARY_RESTORATION)
				p->h.contribution.cookie = 0;
			return true;
		}
	}
	guess(p, type);
	return false;
}

static void alter(struct packet *p)
{
	switch (below(8)) {
	case 0: p->h.contribution.tag = rnd(); break;
	case 1: p->h.block = htonl(ntohl(p->h.block) + below(64)); break;
	case 2: p->h.attempt += 1 + below(2); break;
	case 3: p->h.contribution.acked = htonl(ntohl(p->h.block) + below(128)); break;
	case 4: p->h.rank = htons(below(opt.members)); break;
	case 5: p->h.flags ^= CANARY_F_BYPASS; break;
	case 6: p->h.contribution.load = rnd(); break;
	}
}

static void contribution(struct packet *p)
{
	bool real = observe(p, CANARY_CONTRIBUTION);
	struct in_addr to = { real ? p->ip.daddr : any_member()->sin_addr.s_addr };
	uint16_t port = real ? p->udp.dest : any_member()->sin_port;
	uint32_t sum;

	p->h.flags |= CANARY_F_LAST;
	p->h.contribution.kind = CANARY_KIND(1, 2);
	if (!real)
		randomize(p, CANARY_ELEMENTS(1500));
	if (!p->h.contribution.count || ntohs(p->h.contribution.count) >= opt.members || !below(4))
		p->h.contribution.count = htons(1 + below(opt.members - 1));
	switch (real ? below(3) : 3) {
	case 0:
		break;
	case 1:
		sum = p->h.contribution.sum;
		randomize(p, ntohs(p->h.contribution.length) / 4);
		p->h.contribution.sum = sum;
		break;
	default:
		alter(p);
	}
	address(p, any_source(), to, port);
}

static void overtaking(struct packet *p)
{
	struct in_addr to;

	if (!observe(p, CANARY_CONTRIBUTION) || p->h.contribution.kind != CANARY_KIND(1, 2))
		return contribution(p);
	to.s_addr = p->ip.daddr;
	randomize(p, ntohs(p->h.contribution.length) / 4);
	address(p, any_source(), to, p->udp.dest);
}

static void result(struct packet *p)
{
	const struct sockaddr_in *to = any_member();

	observe(p, CANARY_RESULT);
	p->h.flags |= CANARY_F_LAST;
	p->h.result.kind = CANARY_KIND(1, 2);
	p->h.result.list = 0;
	p->h.result.tree = 0;
	/* The sender is the leader of the block. The caller chooses the receiver. */
	p->h.rank = htons(ntohl(p->h.block) % opt.members);
	randomize(p, ntohs(p->h.contribution.length) / 4 ?: CANARY_ELEMENTS(1500));
	if (below(2))
		alter(p);
	address(p, any_source(), below(3) ? to->sin_addr : any_switch(), to->sin_port);
}

static void restoration(struct packet *p)
{
	struct canary_restored child = {
		.addr = CANARY_ADDR_IP4(0), .port = htons(CANARY_PORT_BASE),
	};
	unsigned int n = 1 + below(8), i;

	observe(p, CANARY_RESTORATION);
	/* the cookie of a bypassed contribution, if one was seen */
	child.cookie = p->h.contribution.cookie;
	memset(&p->h.restoration, 0, sizeof(p->h.restoration));
	p->h.restoration.entries = htons(n);
	for (i = 0; i < n; i++) {
		child.addr.word[3] = any_source().s_addr;
		memcpy((char *)p->data + i * sizeof(child), &child, sizeof(child));
	}
	address(p, any_source(), any_switch(), htons(CANARY_PORT_BASE));
}

/* Fill in the fields that only this type has. */
static void session(struct packet *p)
{
	memset(&p->h.request, 0, sizeof(p->h.request));
	p->h.flags = 0;
	switch (p->h.type) {
	case CANARY_JOIN:
		p->h.join.nonce = rnd();
		p->h.join.window = htons(64);
		p->h.join.length = htons(4 * CANARY_ELEMENTS(1500));
		break;
	case CANARY_COOKIE:
		p->h.cookie.nonce = rnd();
		p->h.cookie.cookie = rnd();
		break;
	case CANARY_WELCOME:
		p->h.welcome.nonce = rnd();
		p->h.welcome.window = htons(64);
		p->h.welcome.length = htons(4 * CANARY_ELEMENTS(1500));
		p->h.welcome.entries = htons(1 + below(opt.members));
		p->h.welcome.run = htons(1);
		break;
	case CANARY_ABORT:
		p->h.abort.to = htons(below(opt.members));
		p->h.abort.why = htons(1 + below(4));
		p->h.abort.entries = htons(1 + below(opt.members));
		break;
	default:
		p->h.request.to = htons(below(opt.members));
		p->h.request.question = rnd();
	}
	if ((p->h.type == CANARY_JOIN || p->h.type == CANARY_WELCOME) && below(2))
		p->h.epoch = 0;
}

/* Make a message of those that begin, keep and end communicators. */
static void rendezvous(struct packet *p)
{
	static const enum canary_type types[] = {
		CANARY_JOIN, CANARY_COOKIE, CANARY_WELCOME, CANARY_ABORT, CANARY_LEAVE,
		CANARY_FAILURE,
		CANARY_REQUEST, CANARY_WAIT, CANARY_PROBE, CANARY_ALIVE, CANARY_ACK,
	};
	const struct sockaddr_in *to = any_member();
	unsigned int i;

	observe(p, types[below(sizeof(types) / sizeof(types[0]))]);
	session(p);
	if (p->h.type == CANARY_FAILURE)
		p->h.attempt++;
	if (p->h.type == CANARY_ACK || p->h.type == CANARY_LEAVE)
		p->h.ack.acked = htonl(ntohl(p->h.block) + 1 + below(1000));
	for (i = 0; i < 360; i++)
		p->data[i] = rnd();
	address(p, any_source(), to->sin_addr, to->sin_port);
}

/*
 * Make a packet of any type, with any header and data. The port has to be in use, or nobody would
 * get it.
 */
static void noise(struct packet *p)
{
	const struct sockaddr_in *to = any_member();
	uint8_t *byte = (uint8_t *)&p->h;
	unsigned int i;

	for (i = 0; i < sizeof(p->h) + sizeof(p->data); i++)
		byte[i] = rnd();
	p->h.version = CANARY_VERSION;
	p->h.type = below(4) ? CANARY_CONTRIBUTION + below(CANARY_GREETING) : rnd();
	p->h.contribution.length = htons(4 * below(CANARY_ELEMENTS_MAX));
	if (below(4))
		p->h.comm = htonl(opt.comm);
	address(p, any_source(), below(3) ? to->sin_addr : any_switch(), to->sin_port);
}

/* Return: number of bytes of UDP payload to send */
static unsigned int hostile(struct packet *p)
{
	unsigned int i, n, length, how = below(4);

	if (!how || !count.observed) {
		noise(p);
		return below(CANARY_ELEMENTS(1500) * 4 + sizeof(p->h));
	}
	*p = seen[below(count.observed < SEEN_MAX ? count.observed : SEEN_MAX)];
	length = payload(p);
	/* it also sees its own packets */
	if (length > sizeof(p->h) + CANARY_ELEMENTS(1500) * 4)
		length = sizeof(p->h) + CANARY_ELEMENTS(1500) * 4;
	n = how == 2 ? 1 + below(3) : 0;
	for (i = 0; i < n; i++)
		((uint8_t *)&p->h)[below(below(2) ? sizeof(p->h) : length)] = rnd();
	if (n && p->h.type == CANARY_CONTRIBUTION && below(2))
		p->h.contribution.sum = htonl(checksum(p));
	if (below(2))
		p->ip.saddr = any_source().s_addr;
	return how == 3 ? below(length) : length;
}

/* Packets without a checksum are refused for that. */
static uint16_t udp_checksum(const struct packet *p)
{
	const uint8_t *from = (const uint8_t *)&p->ip.saddr, *udp = (const uint8_t *)&p->udp;
	unsigned int i, n = ntohs(p->udp.len);
	uint32_t sum = IPPROTO_UDP + n;

	for (i = 0; i < 8; i++)
		sum += from[i] << (i & 1 ? 0 : 8);
	for (i = 0; i < n; i++)
		sum += udp[i] << (i & 1 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(sum == 0xffff ? sum : 0xffff - sum);
}

void forge(struct packet *p)
{
	static void (*const make[])(struct packet *) = {
		contribution, result, restoration, rendezvous, NULL, overtaking,
	};
	enum kind kind = opt.kind == ALL ? below(ALL) : opt.kind;
	unsigned int length;

	if (kind == HOSTILE) {
		length = hostile(p);
	} else {
		make[kind](p);
		length = payload(p);
	}
	count.kind[kind]++;
	p->ip.version = 4;
	p->ip.ihl = 5;
	p->ip.tos = 0;
	p->ip.id = 0;
	p->ip.frag_off = htons(IP_DF);
	p->ip.ttl = 64;
	p->ip.protocol = IPPROTO_UDP;
	p->ip.tot_len = htons(sizeof(p->ip) + sizeof(p->udp) + length);
	p->ip.check = 0;
	p->udp.len = htons(sizeof(p->udp) + length);
	p->udp.check = 0;
	p->udp.check = udp_checksum(p);
}
