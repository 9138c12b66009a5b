/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kinds: how the lanes of payloads are combined. This is the one table of kinds, for the core, the
 * switch (BPF and native) and the simulator. reduce.h applies kinds to whole payloads. Hosts map
 * types and operators onto kinds (core/encoding.c). docs/how-to-add-an-operator.md
 *
 * The includer has fixed-width types and struct canary_hdr in scope, and cnr_be16().
 */
#ifndef CANARY_KINDS_H
#define CANARY_KINDS_H

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/* What is done to lanes */
enum canary_combine {
	CANARY_ADD	= 1,	/* wraps around */
	CANARY_MAX	= 2,	/* of unsigned numbers */
	CANARY_OR	= 3,
	CANARY_XOR	= 4,
	CANARY_MUL	= 5,	/* wraps around */
};

/* Size of a lane: 8 << n bits, or an entry of a list */
enum canary_lanes {
	CANARY_LANES_8		= 0,
	CANARY_LANES_16		= 1,
	CANARY_LANES_32		= 2,
	CANARY_LANES_64		= 3,
	CANARY_LANES_PAIR	= 4,	/* index and value, 32 bits each */
};

/* How canary_hdr.contribution.sum is made from the payload's words of 32 bits */
enum canary_check {
	CANARY_CHECK_SUM = 1,	/* their sum mod 2^32 */
};

/*
 * CANARY_K_SWITCHES:	switches may combine it; else they send it on as it is
 * CANARY_K_UNDONE:	combined data can be taken out again, see canary_take_back()
 * CANARY_K_LINEAR:	the checksum of a combination follows from the two checksums, see
 *			canary_check_join()
 * CANARY_K_SHARDS:	contributions are lists of any length. A member sends as many of them for a
 *			block as it needs (shards). CANARY_LISTS() in reduce.h says how to combine
 */
#ifndef CANARY_K_SWITCHES		/* a test has none: unmerged_test.c */
#define CANARY_K_SWITCHES	0x01
#endif
#define CANARY_K_UNDONE		0x02
#define CANARY_K_LINEAR		0x04
#define CANARY_K_SHARDS		0x08

/* A test may add kinds of its own: selftests/core/pairs.h */
#ifndef CANARY_TEST_KINDS
#define CANARY_TEST_KINDS(X, ...)
#endif

/*
 * X(name, operator, lanes, identity, check, flags), then the other arguments of CANARY_KINDS()
 * @identity: a word of 32 bits whose lanes change nothing when combined. It pads payloads. With
 *	CANARY_K_SHARDS it is that of the words that entries of lists are combined into
 */
#define CANARY_KINDS(X, ...)								\
	X(ADD32, CANARY_ADD, CANARY_LANES_32, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SWITCHES | CANARY_K_UNDONE | CANARY_K_LINEAR, ##__VA_ARGS__)		\
	X(ADD8, CANARY_ADD, CANARY_LANES_8, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SWITCHES | CANARY_K_UNDONE, ##__VA_ARGS__)				\
	X(ADD16, CANARY_ADD, CANARY_LANES_16, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SWITCHES | CANARY_K_UNDONE, ##__VA_ARGS__)				\
	X(ADD64, CANARY_ADD, CANARY_LANES_64, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SWITCHES | CANARY_K_UNDONE, ##__VA_ARGS__)				\
	X(MAX8, CANARY_MAX, CANARY_LANES_8, 0, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(MAX16, CANARY_MAX, CANARY_LANES_16, 0, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(MAX32, CANARY_MAX, CANARY_LANES_32, 0, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(MAX64, CANARY_MAX, CANARY_LANES_64, 0, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(OR, CANARY_OR, CANARY_LANES_32, 0, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(XOR, CANARY_XOR, CANARY_LANES_32, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SWITCHES | CANARY_K_UNDONE, ##__VA_ARGS__)				\
	X(MUL8, CANARY_MUL, CANARY_LANES_8, 0x01010101, CANARY_CHECK_SUM,		\
	  CANARY_K_SWITCHES, ##__VA_ARGS__)						\
	X(MUL16, CANARY_MUL, CANARY_LANES_16, 0x00010001, CANARY_CHECK_SUM,		\
	  CANARY_K_SWITCHES, ##__VA_ARGS__)						\
	X(MUL32, CANARY_MUL, CANARY_LANES_32, 1, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	X(MUL64, CANARY_MUL, CANARY_LANES_64, 1, CANARY_CHECK_SUM, CANARY_K_SWITCHES,	\
	  ##__VA_ARGS__)								\
	CANARY_TEST_KINDS(X, ##__VA_ARGS__)

enum canary_kind {
	CANARY_KIND_NONE = 0,
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	CANARY_KIND_##name = CANARY_KIND(operator, lanes),
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
};

/* If @kind is a constant, the results of these functions are constants, too. */

#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	kind == CANARY_KIND_##name ? (flags) :

static __always_inline __u32 canary_kind_flags(__u8 kind)
{
	return CANARY_KINDS(CANARY_KIND_X) 0;
}

#undef CANARY_KIND_X
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	kind == CANARY_KIND_##name ? (identity) :

static __always_inline __u32 canary_kind_identity(__u8 kind)
{
	return CANARY_KINDS(CANARY_KIND_X) 0;
}

#undef CANARY_KIND_X
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	kind == CANARY_KIND_##name ? (check) :

static __always_inline enum canary_check canary_kind_check(__u8 kind)
{
	return CANARY_KINDS(CANARY_KIND_X) CANARY_CHECK_SUM;
}

#undef CANARY_KIND_X
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	kind == CANARY_KIND_##name ||

static __always_inline int canary_kind_known(__u8 kind)
{
	return CANARY_KINDS(CANARY_KIND_X) 0;
}

#undef CANARY_KIND_X

/* Bytes of a lane */
static __always_inline __u32 canary_kind_lane(__u8 kind)
{
	return (kind & 7) == CANARY_LANES_PAIR ? 8 : 1U << (kind & 7);
}

/*
 * ---- one word of 32 bits, or two in a row, with one lane or more ----
 *
 * There are no branches: the verifier of BPF would walk both ways of each. @high has the highest
 * bit of each lane.
 */

/*
 * Functions for one word (@n 32), and for two (@n 64). No carry and no borrow leaves a lane. Of the
 * maximum, @bits are those of a lane, less than 64. It first asks without the highest bits whether
 * a >= b (rest), then with them (more).
 */
#define CANARY_LANE_FUNCTIONS(word, n)							\
static __always_inline word canary_add_lanes##n(word a, word b, word high)		\
{											\
	return ((a & ~high) + (b & ~high)) ^ ((a ^ b) & high);				\
}											\
											\
static __always_inline word canary_max_lanes##n(word a, word b, word high, __u32 bits)	\
{											\
	word rest = (a | high) - (b & ~high);						\
	word more = ((a & ~b) | (~(a ^ b) & rest)) & high;				\
											\
	return b ^ ((a ^ b) & ((more >> (bits - 1)) * (word)((1ULL << bits) - 1)));	\
}

CANARY_LANE_FUNCTIONS(__u32, 32)
CANARY_LANE_FUNCTIONS(__u64, 64)

static __always_inline __u64 canary_sub_lanes(__u64 a, __u64 b, __u64 high)
{
	return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

static __always_inline __u32 canary_mul_lanes(__u32 a, __u32 b, __u32 bits)
{
	__u32 mask = (1U << bits) - 1, to = 0, at;

	for (at = 0; at < 32; at += bits)
		to |= ((a >> at) * (b >> at) & mask) << at;
	return to;
}

static __always_inline __u32 canary_combine_word(__u8 kind, __u32 a, __u32 b)
{
	switch (kind) {
	case CANARY_KIND_ADD32:
		return a + b;
	case CANARY_KIND_ADD8:
		return canary_add_lanes32(a, b, 0x80808080);
	case CANARY_KIND_ADD16:
		return canary_add_lanes32(a, b, 0x80008000);
	case CANARY_KIND_MAX8:
		return canary_max_lanes32(a, b, 0x80808080, 8);
	case CANARY_KIND_MAX16:
		return canary_max_lanes32(a, b, 0x80008000, 16);
	case CANARY_KIND_MAX32:
		return canary_max_lanes32(a, b, 0x80000000, 32);
	case CANARY_KIND_OR:
		return a | b;
	case CANARY_KIND_XOR:
		return a ^ b;
	case CANARY_KIND_MUL8:
		return canary_mul_lanes(a, b, 8);
	case CANARY_KIND_MUL16:
		return canary_mul_lanes(a, b, 16);
	case CANARY_KIND_MUL32:
		return a * b;
	default:
		return a;
	}
}

/* Two words in a row, which may be one lane of 64 bits. The lower half is the first one. */
static __always_inline __u64 canary_combine_64(__u8 kind, __u64 a, __u64 b)
{
	__u64 less;

	switch (kind) {
	case CANARY_KIND_ADD8:
		return canary_add_lanes64(a, b, 0x8080808080808080ULL);
	case CANARY_KIND_ADD16:
		return canary_add_lanes64(a, b, 0x8000800080008000ULL);
	case CANARY_KIND_ADD64:
		return a + b;
	case CANARY_KIND_MAX8:
		return canary_max_lanes64(a, b, 0x8080808080808080ULL, 8);
	case CANARY_KIND_MAX16:
		return canary_max_lanes64(a, b, 0x8000800080008000ULL, 16);
	case CANARY_KIND_MAX32:
		return canary_max_lanes64(a, b, 0x8000000080000000ULL, 32);
	case CANARY_KIND_MAX64:
		less = ((~a & b) | (~(a ^ b) & (a - b))) >> 63;
		return a ^ ((a ^ b) & -less);
	case CANARY_KIND_OR:
		return a | b;
	case CANARY_KIND_XOR:
		return a ^ b;
	case CANARY_KIND_MUL64:
		return a * b;
	default:
		return (__u64)canary_combine_word(kind, a >> 32, b >> 32) << 32 |
		       canary_combine_word(kind, a, b);
	}
}

/*
 * Combine two words in a row. The first one has an even number, so a lane of 64 bits is always such
 * a pair.
 */
static __always_inline void canary_combine_two(__u8 kind, __u32 *a, __u32 *a2, __u32 b, __u32 b2)
{
	__u64 both;

	if ((kind & 7) == CANARY_LANES_64) {
		both = canary_combine_64(kind, (__u64)*a2 << 32 | *a, (__u64)b2 << 32 | b);
		*a = both;
		*a2 = both >> 32;
		return;
	}
	*a = canary_combine_word(kind, *a, b);
	*a2 = canary_combine_word(kind, *a2, b2);
}

/*
 * Take @b out of @a again: two words in a row, or one that is the lower half. With kinds that lack
 * CANARY_K_UNDONE this is impossible, and does nothing.
 */
static __always_inline __u64 canary_take_back(__u8 kind, __u64 a, __u64 b)
{
	switch (kind) {
	case CANARY_KIND_ADD8:
		return canary_sub_lanes(a, b, 0x8080808080808080ULL);
	case CANARY_KIND_ADD16:
		return canary_sub_lanes(a, b, 0x8000800080008000ULL);
	case CANARY_KIND_ADD32:
		return canary_sub_lanes(a, b, 0x8000000080000000ULL);
	case CANARY_KIND_ADD64:
		return a - b;
	case CANARY_KIND_XOR:
		return a ^ b;
	default:
		return a;
	}
}

/* ---- checksums ---- */

/*
 * Return: the checksum of two pieces of a payload; with CANARY_K_LINEAR also of two payloads
 * combined
 */
static __always_inline __u32 canary_check_join(enum canary_check check, __u32 a, __u32 b)
{
	switch (check) {
	case CANARY_CHECK_SUM:
	default:
		return a + b;
	}
}

/* ---- what the header says ---- */

static __always_inline __u8 canary_kind(const struct canary_hdr *h)
{
	return h->contribution.kind;
}

/*
 * Return: bytes of data in a packet, or of a block, or that a path takes. All types have it at one
 * place
 */
static __always_inline __u32 canary_length(const struct canary_hdr *h)
{
	return cnr_be16(h->contribution.length);
}

/* Is the payload of @h a list, which may be one of several of its sender for the block? */
static __always_inline int canary_is_list(const struct canary_hdr *h)
{
	return !!(canary_kind_flags(canary_kind(h)) & CANARY_K_SHARDS);
}

#endif /* CANARY_KINDS_H */
