/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one strict parser of Canary headers, and the one list of reasons for which a packet is
 * dropped. The module, the user engine, the simulator, the switch (BPF) and fuzzers use it.
 *
 * The includer has fixed-width types and canary_wire.h in scope. Its platform header maps
 * cnr_be16() and cnr_be32() onto its functions for byte order.
 */
#ifndef CANARY_CORE_PARSE_H
#define CANARY_CORE_PARSE_H

#include "../addr.h"
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
	X(FLAGS,	"flags",	"unknown flags, or a field that has to be 0 so far") \
	X(LENGTH,	"length",	"length does not match the header")		\
	X(MEMBERS,	"members",	"no members, or another number than ours")	\
	X(COUNT,	"count",	"count impossible for this many members")	\
	X(RANK,		"rank",		"rank outside of the communicator")		\
	X(OPERATOR,	"operator",	"unknown kind (how data are combined)")		\
	X(ELEMENTS,	"elements",	"more elements than agreed")			\
	X(COMM,		"communicator",	"no such communicator here")			\
	X(EPOCH,	"epoch",	"another incarnation of the communicator")	\
	X(STATE,	"state",	"not expected in the present state")		\
	X(BLOCK,	"block",	"block outside of the window")			\
	X(LEADER,	"leader",	"we do not lead that block")			\
	X(ATTEMPT,	"attempt",	"attempt that was given up, or has not begun")	\
	X(OPSIG,	"opsig",	"belongs to another operation")			\
	X(DUPLICATE,	"duplicate",	"it is here already")				\
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
	X(EARLY,	"early",	"not posted here yet; asked for again when it is") \
	X(ADMISSION,	"admission",	"switch: source not admitted, and no mac tells") \
	X(FORM,		"form",		"switch: IP options or fragments hide what it is") \
	X(COOKIE,	"cookie",	"JOIN with a cookie of another address or time") \
	X(OTHER,	"other",	"meant for another rank")			\
	X(BUSY,		"busy",		"switch: its descriptor or list was locked")	\
	X(FILTER,	"filter",	"control group or security module refused it")	\
	X(PEER,		"peer",		"rendezvous: no member can have this address or port") \
	X(AGGREGATE,	"aggregate",	"aggregate from a source that we do not believe") \
	X(CHECKSUM,	"checksum",	"UDP checksum missing or wrong")

enum canary_drop {
#define X(name, text, help) CANARY_DROP_##name,
	CANARY_DROP_REASONS(X)
#undef X
	CANARY_DROPS
};

/* Did the switch that bypassed this contribution leave a cookie? */
static __always_inline int canary_has_cookie(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION && (h->flags & CANARY_F_BYPASS) &&
	       h->contribution.switch_id && h->contribution.cookie;
}

/* Is a contribution as one member sent it, with the rank and the mac of that member? */
static __always_inline int canary_is_single(const struct canary_hdr *h)
{
	return canary_is_list(h) ? !!h->mac : cnr_be16(h->contribution.count) == 1;
}

/* Is @h a shard as its member sent it? Only then the field says something. */
static __always_inline int canary_has_shard(const struct canary_hdr *h)
{
	return h->type == CANARY_CONTRIBUTION && canary_is_list(h) && canary_is_single(h);
}

/* Checks that contributions, results and the data messages of rings have in common */
static __always_inline enum canary_drop canary_parse_data(const struct canary_hdr *h, __u32 len)
{
	__u32 length = canary_length(h);

	if (!canary_kind_known(canary_kind(h)))
		return CANARY_DROP_OPERATOR;
	/* Results and sums of rings have words. */
	if (canary_is_list(h) && h->type != CANARY_CONTRIBUTION)
		return CANARY_DROP_OPERATOR;
	if (h->contribution.shard >= (canary_has_shard(h) ? CANARY_SHARDS_MAX : 1))
		return CANARY_DROP_FLAGS;
	if (length > CANARY_PAYLOAD_MAX)
		return CANARY_DROP_ELEMENTS;
	return len == sizeof(*h) + length && !(length & 3) &&
	       !(length & (canary_kind_lane(canary_kind(h)) - 1)) ? CANARY_DROP_NONE :
								    CANARY_DROP_LENGTH;
}

static __always_inline enum canary_drop canary_parse_sum(const struct canary_hdr *h, __u32 len)
{
	__u32 count = cnr_be16(h->contribution.count);

	if (count >= cnr_be16(h->members))
		return CANARY_DROP_COUNT;
	/* A member counts with its last shard. So aggregates of others count nobody. */
	if (canary_has_shard(h) ? count != !!(h->flags & CANARY_F_LAST) :
				  !count && !canary_is_list(h))
		return CANARY_DROP_COUNT;
	return canary_parse_data(h, len);
}

static __always_inline enum canary_drop canary_parse_contribution(const struct canary_hdr *h,
								  __u32 len)
{
	__u8 flags = h->flags & ~(CANARY_F_BYPASS | CANARY_F_STATIC | CANARY_F_SILENT);

	/* Without shards, a contribution is one packet, which is its last one. */
	if (canary_is_list(h))
		flags |= CANARY_F_LAST;
	if (flags != CANARY_F_LAST || (h->contribution.cookie && !canary_has_cookie(h)))
		return CANARY_DROP_FLAGS;
	if ((h->flags & CANARY_F_BYPASS) && !h->contribution.switch_id && !canary_is_single(h))
		return CANARY_DROP_COUNT;
	return canary_parse_sum(h, len);
}

/* Does a result follow another one down the same tree, or will another one follow it? */
static __always_inline int canary_is_kept(const struct canary_hdr *h)
{
	return h->result.tree || !(h->flags & CANARY_F_LAST);
}

static __always_inline enum canary_drop canary_parse_result(const struct canary_hdr *h, __u32 len)
{
	__u32 follow = !(h->flags & CANARY_F_LAST);

	if ((h->flags & ~(CANARY_F_BYPASS | CANARY_F_LAST)) ||
	    cnr_be32(h->result.tree) >= CANARY_TREE_MAX - follow)
		return CANARY_DROP_FLAGS;
	if (cnr_be16(h->result.list) >= cnr_be16(h->members))
		return CANARY_DROP_COUNT;
	return canary_parse_data(h, len);
}

static __always_inline enum canary_drop canary_parse_restoration(const struct canary_hdr *h,
								 __u32 len)
{
	__u32 entries = cnr_be16(h->restoration.entries), i;
	const __be16 *part = (const __be16 *)&h->restoration;

	if (h->flags & ~CANARY_F_BYPASS)
		return CANARY_DROP_FLAGS;
	if (!entries)
		return CANARY_DROP_COUNT;
	if (canary_length(h) > CANARY_PAYLOAD_MAX)
		return CANARY_DROP_ELEMENTS;
	/* All 16 parts but list, entries and length are 0. */
	for (i = 2; i < 16; i++)
		if (part[i] && i != 9)
			return CANARY_DROP_FLAGS;
	return len == sizeof(*h) + entries * sizeof(struct canary_restored) ?
	       CANARY_DROP_NONE : CANARY_DROP_LENGTH;
}

/* The messages that switches look at */
static __always_inline enum canary_drop canary_parse_for_switch(const struct canary_hdr *h,
								__u32 len)
{
	switch (h->type) {
	case CANARY_CONTRIBUTION:
		return canary_parse_contribution(h, len);
	case CANARY_RESULT:
		return canary_parse_result(h, len);
	case CANARY_RESTORATION:
		return canary_parse_restoration(h, len);
	default:
		return CANARY_DROP_TYPE;
	}
}

/*
 * Messages between members: which flags may be set, and how many bytes of the part for the type are
 * in use. Return: false if the type is unknown.
 */
static __always_inline int canary_session_form(const struct canary_hdr *h, __u8 *flags,
					       __u32 *used)
{
	*flags = 0;
	switch (h->type) {
	case CANARY_FAILURE:
		*flags = CANARY_F_BYPASS;
		*used = 8;
		return 1;
	case CANARY_ACK:
		*flags = CANARY_F_ASKS | CANARY_F_SILENT;
		*used = 8;
		return 1;
	case CANARY_RING_WAIT:
	case CANARY_PLAN:
		*used = 8;
		return 1;
	case CANARY_WAIT:
	case CANARY_RING_REQUEST:
	case CANARY_PROBE:
	case CANARY_LEAVE:
	case CANARY_REFUSED:
		*used = 12;
		return 1;
	case CANARY_ABORT:
		*used = 14;
		return 1;
	case CANARY_REQUEST:
	case CANARY_ALIVE:
		*used = 16;
		return 1;
	case CANARY_JOIN:
		*flags = CANARY_F_READY;
		*used = 20;
		return 1;
	case CANARY_WELCOME:
		*flags = CANARY_F_READY | CANARY_F_WAITING;
		*used = 26;
		return 1;
	case CANARY_GREETING:
		*flags = CANARY_F_READY | CANARY_F_WAITING | CANARY_F_ASKS;
		*used = 32;
		return 1;
	case CANARY_COOKIE:
		*used = 32;
		return 1;
	default:
		return 0;
	}
}

/* Is it for one rank, named in @to? That field is at the same place in all these messages. */
static __always_inline int canary_has_to(const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_REQUEST:
	case CANARY_FAILURE:
	case CANARY_WAIT:
	case CANARY_RING_REQUEST:
	case CANARY_RING_WAIT:
	case CANARY_PROBE:
	case CANARY_ALIVE:
	case CANARY_ACK:
	case CANARY_LEAVE:
	case CANARY_ABORT:
	case CANARY_PLAN:
	case CANARY_GREETING:
		return 1;
	default:
		return 0;
	}
}

/* Are the two bytes after @to unused? */
static __always_inline int canary_has_gap(const struct canary_hdr *h)
{
	return canary_has_to(h) && h->type != CANARY_RING_REQUEST && h->type != CANARY_ABORT &&
	       h->type != CANARY_PLAN && h->type != CANARY_GREETING;
}

/* Messages between members: is everything 0 that is not in use? */
static __always_inline int canary_zeros(const struct canary_hdr *h, __u32 used)
{
	const __be16 *part = (const __be16 *)&h->request;
	__u32 i;

	if (canary_has_gap(h) && part[1])
		return 0;
	for (i = used / 2; i < 16; i++)
		if (part[i])
			return 0;
	return 1;
}

/* Bytes that follow the header; of JOIN, the least */
static __always_inline __u32 canary_session_payload(const struct canary_hdr *h)
{
	switch (h->type) {
	case CANARY_JOIN:
		return sizeof(struct canary_join);
	case CANARY_WELCOME:
		return CANARY_SALT + cnr_be16(h->welcome.entries) *
		       ((h->flags & CANARY_F_WAITING) ? sizeof(__be16) :
			sizeof(struct canary_peer));
	case CANARY_ABORT:
		return cnr_be16(h->abort.entries) * sizeof(__be16);
	default:
		return 0;
	}
}

static __always_inline enum canary_drop canary_parse_session(const struct canary_hdr *h, __u32 len)
{
	__u32 used, want;
	__u8 flags;

	if (!canary_session_form(h, &flags, &used))
		return CANARY_DROP_TYPE;
	if ((h->flags & ~flags) || !canary_zeros(h, used) ||
	    (h->type == CANARY_WELCOME && !CANARY_RUN_OK(cnr_be16(h->welcome.run))))
		return CANARY_DROP_FLAGS;
	want = sizeof(*h) + canary_session_payload(h);
	if (h->type == CANARY_JOIN)
		return len >= want && len <= sizeof(*h) + CANARY_PAYLOAD_MAX ?
		       CANARY_DROP_NONE : CANARY_DROP_LENGTH;
	return len == want ? CANARY_DROP_NONE : CANARY_DROP_LENGTH;
}

/* Checks that are the same for all types */
static __always_inline enum canary_drop canary_parse_common(const struct canary_hdr *h, __u32 len)
{
	if (len < sizeof(*h))
		return CANARY_DROP_SHORT;
	if (h->version != CANARY_VERSION)
		return CANARY_DROP_VERSION;
	if (!h->members)
		return CANARY_DROP_MEMBERS;
	return cnr_be16(h->rank) < cnr_be16(h->members) ? CANARY_DROP_NONE : CANARY_DROP_RANK;
}

/**
 * canary_parse() - is this a well-formed Canary message?
 * @h:		the header; @len bytes are readable from here, at least sizeof(*h)
 * @len:	length of the UDP payload
 *
 * Checks everything that needs no state: version, type, flags, that counts and ranks fit the
 * members, and that the length is exactly what the header says. It accepts nothing that a
 * conforming sender does not send. A field for later versions has to be 0, or the one value that it
 * has today. Touches only the header.
 *
 * Return: CANARY_DROP_NONE, or the reason to drop.
 */
static __always_inline enum canary_drop canary_parse(const struct canary_hdr *h, __u32 len)
{
	enum canary_drop drop = canary_parse_common(h, len);

	if (drop != CANARY_DROP_NONE)
		return drop;
	switch (h->type) {
	case CANARY_RING_SUM:
		if (h->flags || h->contribution.path || h->contribution.switch_id ||
		    h->contribution.cookie)
			return CANARY_DROP_FLAGS;
		return canary_parse_sum(h, len);
	case CANARY_RING_RESULT:
		if (h->flags || h->result.finished || h->result.held || h->result.list ||
		    h->result.waited || h->result.switch_id || h->result.tree)
			return CANARY_DROP_FLAGS;
		return canary_parse_data(h, len);
	case CANARY_CONTRIBUTION:
	case CANARY_RESULT:
	case CANARY_RESTORATION:
		return canary_parse_for_switch(h, len);
	default:
		return canary_parse_session(h, len);
	}
}

/* Serial numbers: is @a before @b? They wrap, and compare as in TCP. */
static __always_inline int canary_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Return: the earlier one of two serial numbers */
static __always_inline __u32 canary_earlier(__u32 a, __u32 b)
{
	return canary_before(b, a) ? b : a;
}

#endif /* CANARY_CORE_PARSE_H */
