/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one strict parser of Canary headers, and the one list of reasons for which a packet is
 * dropped. Used by the module, the user engine, the simulator, the switch (BPF) and fuzzers.
 *
 * The includer has fixed-width types and canary_wire.h in scope and, for byte order,
 * cpu_to_be16() and friends or the bpf_hton*() macros mapped onto cnr_be16()/cnr_be32() by
 * its platform header.
 */
#ifndef CANARY_CORE_PARSE_H
#define CANARY_CORE_PARSE_H

#include "../kinds.h"

/*
 * X(NAME, "name shown to people", "explanation")
 * New reasons go to the end: user space reads counters by position.
 */
#define CANARY_DROP_REASONS(X)								\
	X(NONE,		"none",		"not dropped")					\
	X(SHORT,	"short",	"shorter than a Canary header")			\
	X(VERSION,	"version",	"another protocol version")			\
	X(TYPE,		"type",		"unknown message type")				\
	X(FLAGS,	"flags",	"unknown flags or reserved bits set")		\
	X(LENGTH,	"length",	"length does not match the header")		\
	X(MEMBERS,	"members",	"no members, or another number than ours")	\
	X(COUNT,	"count",	"count impossible for this many members")	\
	X(RANK,		"rank",		"rank outside of the communicator")		\
	X(OPERATOR,	"operator",	"operator or type unknown")			\
	X(ELEMENTS,	"elements",	"more elements than agreed")			\
	X(COMM,		"communicator",	"no such communicator here")			\
	X(EPOCH,	"epoch",	"another incarnation of the communicator")	\
	X(STATE,	"state",	"not expected in the present state")		\
	X(BLOCK,	"block",	"block outside of the window")			\
	X(LEADER,	"leader",	"we do not lead that block")			\
	X(ATTEMPT,	"attempt",	"attempt given up, or not begun")		\
	X(OPSIG,	"opsig",	"belongs to another operation")			\
	X(DUPLICATE,	"duplicate",	"already have it")				\
	X(MAC,		"mac",		"authentication failed")			\
	X(TAG,		"tag",		"tag does not fit the rank")			\
	X(SUM,		"sum",		"data do not fit their checksum")		\
	X(FULL,		"full",		"no room to hold it")				\
	X(ENDED,	"ended",	"communicator has ended")			\
	X(DESCRIPTOR,	"descriptor",	"switch: result without descriptor")		\
	X(STALE,	"stale",	"switch: attempt older than the descriptor's")	\
	X(IPHDR,	"ip-header",	"switch: IP header checksum or length wrong")	\
	X(TTL,		"ttl",		"switch: time to live exceeded")		\
	X(NOROUTE,	"no-route",	"no route or neighbour to send it on")		\
	X(NOMEM,	"no-memory",	"out of memory")				\
	X(MTU,		"mtu",		"packet larger than the next hop takes")	\
	X(XMIT,		"transmit",	"the device or socket refused it")		\
	X(EARLY,	"early",	"not posted here yet; asked for when it is")	\
	X(ADMISSION,	"admission",	"switch: source not admitted, nobody else could tell") \
	X(FORM,		"form",		"switch: IP options or fragments hide what it is") \
	X(COOKIE,	"cookie",	"JOIN with a cookie of another address or time") \
	X(OTHER,	"other",	"said to another rank")				\
	X(BUSY,		"busy",		"switch: somebody held the lock of what it is about") \
	X(FILTER,	"filter",	"control group or security module refused it")	\
	X(PEER,		"peer",		"rendezvous: an address or port that no member has") \
	X(AGGREGATE,	"aggregate",	"aggregate from a source that we were told not to believe")

enum canary_drop {
#define X(name, text, help) CANARY_DROP_##name,
	CANARY_DROP_REASONS(X)
#undef X
	CANARY_DROPS
};

/* A switch that bypasses a contribution may leave a cookie where others count children. */
static __always_inline int canary_has_cookie(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION && (h->flags & CANARY_F_BYPASS) &&
	       h->contribution.switch_addr;
}

/**
 * canary_parse() - is this a well-formed Canary message?
 * @h:		the header; @len bytes are readable from here, at least sizeof(*h)
 * @len:	length of the UDP payload
 *
 * Checks all that can be known without state: version, type, flags, that counts and ranks fit
 * the members, and that the length is exactly what the header says. Accepts nothing that a
 * conforming sender does not send. Touches only the header, so it is cheap in XDP.
 *
 * Return: CANARY_DROP_NONE, or the reason to drop.
 */
static __always_inline enum canary_drop canary_parse(const struct canary_hdr *h, __u32 len)
{
	__u32 members, count, rank, length, children, want;

	if (len < sizeof(*h))
		return CANARY_DROP_SHORT;
	if (h->version != CANARY_VERSION)
		return CANARY_DROP_VERSION;
	if (h->type == 0 || h->type > CANARY_TYPE_MAX)
		return CANARY_DROP_TYPE;
	if ((h->flags & ~CANARY_F_ALL) || (h->reserved && !canary_has_cookie(h)))
		return CANARY_DROP_FLAGS;
	members = cnr_be16(h->members);
	count = cnr_be16(h->contribution.count);
	rank = cnr_be16(h->rank);
	length = canary_length(h);
	children = cnr_be16(h->restoration.entries);
	if (members == 0)
		return CANARY_DROP_MEMBERS;
	if (rank >= members)
		return CANARY_DROP_RANK;
	if (length > CANARY_PAYLOAD_MAX)
		return CANARY_DROP_ELEMENTS;
	want = sizeof(*h);
	switch (h->type) {
	case CANARY_CONTRIBUTION:
		if (count == 0 || count >= members)
			return CANARY_DROP_COUNT;
		if ((h->flags & CANARY_F_RING) && !(h->flags & CANARY_F_BYPASS))
			return CANARY_DROP_FLAGS;
		if ((h->flags & (CANARY_F_BYPASS | CANARY_F_RING)) == CANARY_F_BYPASS &&
		    !h->contribution.switch_addr && count != 1)
			return CANARY_DROP_COUNT;
		if (!canary_kind_known(canary_kind(h)))
			return CANARY_DROP_OPERATOR;
		if (children && !canary_has_cookie(h))
			return CANARY_DROP_LENGTH;
		want += length;
		break;
	case CANARY_RESULT:
		if (count != members)
			return CANARY_DROP_COUNT;
		if (!canary_kind_known(canary_kind(h)))
			return CANARY_DROP_OPERATOR;
		if (children >= members)
			return CANARY_DROP_LENGTH;
		want += length;
		break;
	case CANARY_RESTORATION:
		if (children == 0)
			return CANARY_DROP_COUNT;
		want += children * sizeof(struct canary_restored);
		break;
	case CANARY_JOIN:
		if (len < want + sizeof(struct canary_join) || children ||
		    len > CANARY_PAYLOAD_MAX + sizeof(*h))
			return CANARY_DROP_LENGTH;
		want = len;
		break;
	case CANARY_WELCOME:
		want += sizeof(struct canary_welcome);
		want += children * ((h->flags & CANARY_F_WAITING) ? sizeof(__be16) :
				    sizeof(struct canary_peer));
		break;
	case CANARY_ABORT:
		want += children * sizeof(__be16);
		break;
	default:
		if (children)
			return CANARY_DROP_LENGTH;
		break;
	}
	return len == want ? CANARY_DROP_NONE : CANARY_DROP_LENGTH;
}

static __always_inline int canary_port_ok(__be16 port)
{
	__u32 number = cnr_be16(port);

	return number >= CANARY_PORT_BASE && number < CANARY_PORT_BASE + CANARY_PORTS;
}

/*
 * May a member be there? At an address of one host, at a port of the range. Which addresses are
 * those of a whole network only routes can tell.
 */
static __always_inline int canary_peer_ok(__be32 addr, __be16 port)
{
	__u32 host = cnr_be32(addr);

	return host >> 24 && host >> 28 < 0xe && canary_port_ok(port);
}

/* Serial numbers of blocks: is @a before @b, although both wrap? (as TCP compares) */
static __always_inline int canary_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Of two serial numbers the earlier one */
static __always_inline __u32 canary_earlier(__u32 a, __u32 b)
{
	return canary_before(b, a) ? b : a;
}

#endif /* CANARY_CORE_PARSE_H */
