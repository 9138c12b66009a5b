/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The Canary packet format: everything that two machines must agree on.
 *
 * Packets are IPv4/UDP, with destination port in [CANARY_PORT_BASE, CANARY_PORT_BASE +
 * CANARY_PORTS). The UDP payload is one struct canary_hdr, followed by the payload of its type. The
 * header is in network byte order; vector elements are little-endian. docs/wire-format.md has the
 * meaning of each field for each type. The header compiles for the kernel, for BPF (after
 * ctx/kernel.h) and for user space.
 */
#ifndef _UAPI_LINUX_CANARY_WIRE_H
#define _UAPI_LINUX_CANARY_WIRE_H

/*
 * Elements are added as they arrive, in words of 64 bits. Makefile and Kbuild print this sentence,
 * too, before they compile anything.
 */
#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) || \
	(defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ < 8)
#error "Canary is for little-endian machines of 64 bits: this compiler is for another one"
#endif

#include <linux/types.h>

#define CANARY_VERSION		2

#define CANARY_PORT_BASE	22600
#define CANARY_PORTS		64

#define CANARY_MEMBERS_MAX	65535

/* Largest payload that a switch aggregates: an XDP frame must hold headers and data. */
#define CANARY_ELEMENTS_MAX	800
#define CANARY_PAYLOAD_MAX	(CANARY_ELEMENTS_MAX * 4)
#define CANARY_TREE_MAX		32	/* most blocks whose results go down one tree */
#define CANARY_SHARDS_MAX	16	/* of lists: most packets of a member for a block */

/* Bytes of UDP header and struct canary_hdr; the same with an IPv4 header without options */
#define CANARY_UDP_HEADERS	(8 + 64)
#define CANARY_IP_OVERHEAD	(20 + CANARY_UDP_HEADERS)

/* Elements of 4 bytes that fit into an IP packet of @mtu bytes */
#define CANARY_ELEMENTS(mtu)	(((mtu) - CANARY_IP_OVERHEAD) / 4)

/* Switches look at types up to CANARY_SWITCH_TYPES, and forward everything else untouched. */
#define CANARY_SWITCH_TYPES	7

enum canary_type {
	CANARY_CONTRIBUTION	= 1,	/* up: data to be combined, towards the leader */
	CANARY_RESULT		= 2,	/* down: the reduced block */
	CANARY_RESTORATION	= 3,	/* leader to a switch: children of a bypassed block */

	CANARY_REQUEST		= 8,	/* member to leader: where is the result of a block? */
	CANARY_FAILURE		= 9,	/* leader to member: contribute again, in this attempt */
	CANARY_WAIT		= 10,	/* leader to member: not all have contributed */

	CANARY_RING_SUM		= 16,	/* member to the next one of the ring: a partial sum */
	CANARY_RING_RESULT	= 17,	/* likewise: the result */
	CANARY_RING_REQUEST	= 18,	/* member to the one before: one of these is missing */
	CANARY_RING_WAIT	= 19,	/* answers that: it is not here yet */

	CANARY_JOIN		= 32,	/* rendezvous: member to rank 0 */
	CANARY_COOKIE		= 33,	/* rendezvous: rank 0 to member: JOINs have to show it */
	CANARY_WELCOME		= 34,	/* rendezvous: rank 0 to member */
	CANARY_PROBE		= 35,	/* are you alive, and how far are you? */
	CANARY_ALIVE		= 36,	/* answer to a probe */
	CANARY_ACK		= 37,	/* the results that a member has, or that all have */
	CANARY_LEAVE		= 38,	/* this rank leaves */
	CANARY_ABORT		= 39,	/* the communicator ends with an error */
	CANARY_REFUSED		= 40,	/* rendezvous: rank 0 does not take a JOIN */
	CANARY_PLAN		= 41,	/* which algorithm runs an operation */
	CANARY_GREETING		= 42,	/* from a table: which processes are in */
};

/* flags */
#define CANARY_F_BYPASS		0x01	/* no switch may merge it; FAILURE: go around switches */
#define CANARY_F_STATIC		0x02	/* the path of a contribution is the route itself */
#define CANARY_F_LAST		0x04	/* last shard of its sender; RESULT: last one of its tree */
#define CANARY_F_SILENT		0x08	/* no result comes back; ACK: from their leader */
#define CANARY_F_READY		0x10	/* JOIN: has the table; WELCOME, GREETING: all are in */
#define CANARY_F_WAITING	0x20	/* WELCOME: lists missing ranks; GREETING: you are in */
#define CANARY_F_ASKS		0x40	/* ACK, GREETING: it wants an answer */

/*
 * A kind: the operator in the high 5 bits, the size of lanes in the low 3. kmod/kinds.h has the
 * meaning of kinds.
 */
#define CANARY_KIND(combine, lanes)	((combine) << 3 | (lanes))

/* What an application asks for. Hosts map these onto kinds. */
enum canary_operator {
	CANARY_OP_SUM		= 1,	/* integers wrap around */
	CANARY_OP_PROD		= 2,	/* integers wrap around */
	CANARY_OP_MIN		= 3,
	CANARY_OP_MAX		= 4,
	CANARY_OP_AND		= 5,	/* of bits, as the next two */
	CANARY_OP_OR		= 6,
	CANARY_OP_XOR		= 7,
	CANARY_OP_LAND		= 8,	/* 0 or 1: all are not 0 */
	CANARY_OP_LOR		= 9,	/* 0 or 1: not all are 0 */
	CANARY_OP_LXOR		= 10,	/* 0 or 1: an odd number is not 0 */
	CANARY_OP_AVG		= 11,	/* the exact sum by members, towards 0 */
	CANARY_OP_MINLOC	= 12,	/* of types with an index: the least value, and where */
	CANARY_OP_MAXLOC	= 13,	/* likewise the largest one */
};

/*
 * Types of elements, in the byte order of the machine. Integers are two's complement. Types with an
 * index are struct { value; int32_t index; } of C: 8 bytes, or 16 if the value has 8. What C leaves
 * unused is 0 in results.
 */
enum canary_dtype {
	CANARY_INT32		= 1,
	CANARY_UINT32		= 2,
	CANARY_INT8		= 3,
	CANARY_UINT8		= 4,
	CANARY_INT16		= 5,
	CANARY_UINT16		= 6,
	CANARY_INT64		= 7,
	CANARY_UINT64		= 8,
	CANARY_FLOAT16		= 9,	/* IEEE 754 binary16, as the next ones but one */
	CANARY_BFLOAT16		= 10,	/* the high half of a binary32 */
	CANARY_FLOAT32		= 11,
	CANARY_FLOAT64		= 12,
	CANARY_INT16_INDEX	= 13,	/* MPI_SHORT_INT */
	CANARY_INT32_INDEX	= 14,	/* MPI_2INT */
	CANARY_INT64_INDEX	= 15,	/* MPI_LONG_INT */
	CANARY_FLOAT32_INDEX	= 16,	/* MPI_FLOAT_INT */
	CANARY_FLOAT64_INDEX	= 17,	/* MPI_DOUBLE_INT */
	CANARY_COMPLEX64	= 18,	/* two FLOAT32: real part, imaginary part */
	CANARY_COMPLEX128	= 19,	/* two FLOAT64 */
};

/*
 * How numbers are added up, where that is not as usual. Floating-point numbers have the first ones
 * (docs/floating-point.md); without any, the length of the vector decides. Sums of integers have
 * the last one; without it, they wrap around.
 */
#define CANARY_HOW_EXACT	0x01	/* correctly rounded sums, at any length */
#define CANARY_HOW_ELEMENTWISE	0x02	/* each element has an exponent of its own */
#define CANARY_HOW_NARROW	0x04	/* FLOAT32: lanes of 32 bits up to 1024 members */
#define CANARY_HOW_FLOATS	0x07	/* those above */
#define CANARY_HOW_SATURATE	0x08	/* the exact sum, or the end of the type next to it */
#define CANARY_HOW_ALL		0x0f

/* How an operation was carried out, as completions tell */
enum canary_method {
	CANARY_METHOD_ELEMENTS	= 0,	/* word by word; no sum of floats */
	CANARY_METHOD_EXACT	= 1,	/* exact accumulators */
	CANARY_METHOD_EACH	= 2,	/* an exponent for each element */
	CANARY_METHOD_GROUPS	= 3,	/* elements share exponents */
	CANARY_METHOD_RANKS	= 4,	/* in the order of ranks */
};

/* Who contributes, and who gets the result; part of opsig */
enum canary_shape {
	CANARY_ALLREDUCE	= 0,	/* all contribute, and all get the result */
};

/* How an operation is carried out; in PLAN and WELCOME, and part of opsig */
enum canary_algorithm {
	CANARY_ALG_AUTO		= 0,	/* rank 0 decides for each operation */
	CANARY_ALG_TREE		= 1,	/* dynamic trees through switches */
	CANARY_ALG_RING		= 2,	/* hosts alone: reduce-scatter, then allgather */
	CANARY_ALG_STATIC	= 3,	/* trees whose ports are fixed: CANARY_F_STATIC */
	CANARY_ALG_MAX		= CANARY_ALG_STATIC,
};

/* Blocks take static trees in turn. An application gives their number like this: */
#define CANARY_TREES_MAX	32
#define CANARY_STATIC_TREES(n)	(CANARY_ALG_STATIC | (n) << 8)

/* Dynamic trees whose leaders lead runs of blocks: 1, 2, 4, 8 or 16 in a row */
#define CANARY_RUN_MAX		16
#define CANARY_RUN_OK(n)	((n) && (n) <= CANARY_RUN_MAX && !((n) & ((n) - 1)))
#define CANARY_TREE_RUNS(n)	(CANARY_ALG_TREE | (n) << 8)

/* Why rank 0 chose an algorithm; in PLAN */
enum canary_why {
	CANARY_WHY_NONE		= 0,	/* nothing was decided yet */
	CANARY_WHY_FIXED	= 1,	/* rank 0 was told to */
	CANARY_WHY_MEMBERS	= 2,	/* with two members, a ring is a tree */
	CANARY_WHY_SMALL	= 3,	/* too short for a ring to pay */
	CANARY_WHY_UNKNOWN	= 4,	/* nothing was observed yet */
	CANARY_WHY_MERGED	= 5,	/* switches add up contributions */
	CANARY_WHY_PLAIN	= 6,	/* no switch adds up much */
	CANARY_WHY_LOSSES	= 7,	/* many blocks had to be begun anew */
	CANARY_WHY_LOOK		= 8,	/* looks whether trees are better by now */
	CANARY_WHY_SHAPE	= 9,	/* rings cannot run this shape */
	CANARY_WHY_MAX		= CANARY_WHY_SHAPE,
};

/**
 * struct canary_addr - an IPv4 or IPv6 address, in lists of packets and in programs
 * @word:	network byte order; IPv4 addresses are mapped (::ffff:a.b.c.d)
 */
struct canary_addr {
	__be32	word[4];
};

/**
 * struct canary_peer - address and port of a member or a switch. The member table in WELCOME has
 * these entries, after CANARY_SALT bytes
 */
struct canary_peer {
	struct canary_addr	addr;
	__be16			port;	/* of UDP */
	__be16			zero;
};

/**
 * struct canary_hdr - the header of every Canary packet: 32 bytes for all types, 32 for the type
 * @version:	CANARY_VERSION
 * @type:	enum canary_type
 * @flags:	CANARY_F_*
 * @attempt:	how often this block was begun anew; contributions of different attempts never merge
 * @comm:	communicator, chosen by its users
 * @epoch:	random, agreed at rendezvous, or given by a table. Packets of an earlier run have
 *		another one, or another session key
 * @block:	serial number of the block within the epoch; wraps
 * @opsig:	hash of the operation: its number, operator, type, algorithm, how, shape, root,
 *		elements; only contributions with the same one merge
 * @members:	size of the communicator, 1 .. CANARY_MEMBERS_MAX
 * @rank:	of the sender; 0 in aggregates
 * @mac:	keyed hash of header and payload, without what a switch may set (PROTOCOL.md, "Keys,
 *		tags, sums"); 0 in aggregates
 * @contribution: CONTRIBUTION and RING_SUM
 * @result:	RESULT and RING_RESULT
 * @request:	REQUEST. FAILURE, PROBE and RING_REQUEST have @to and @question at the same place
 *
 * A field has one meaning within a type. A field that a type does not name is 0, and is checked to
 * be 0. Messages between members without data have the rank that is meant in @to, always at the
 * same place.
 */
struct canary_hdr {
	__u8	version;
	__u8	type;
	__u8	flags;
	__u8	attempt;
	__be32	comm;
	__be32	epoch;
	__be32	block;
	__be32	opsig;
	__be16	members;
	__be16	rank;
	__be64	mac;

	__extension__ union {
		struct {
			__be64	tag;		/* sum of its members' tags mod 2^64 */
			__be32	sum;		/* of the payload's 32-bit words, mod 2^32 */
			__be32	acked;		/* its members need no blocks before (serial) */
			__be16	count;		/* members whose data are in it */
			__be16	length;		/* bytes of payload, a multiple of 4 and of lanes */
			__u8	kind;		/* how lanes are combined */
			__u8	load;		/* fullest queue on the way, 0 .. 255 */
			__u8	path;		/* STATIC: the path; else repeats in attempt */
			__u8	shard;		/* of lists: number of this packet; else 0 */
			__be32	switch_id;	/* switch that merged or bypassed it last */
			__be32	cookie;		/* if bypassed: for restorations */
		} contribution;

		struct {
			__be32	finished;	/* of 32 blocks led before; bit 0: latest */
			__be32	held;		/* us from first contribution; 0: sent again */
			__be32	sum;		/* as above */
			__be32	acked;		/* nobody needs anything of blocks before */
			__be16	list;		/* restoration that it follows, or 0 */
			__be16	length;		/* as above */
			__u8	kind;		/* as above */
			__u8	load;		/* highest one of the contributions */
			__u8	waited;		/* fullness of the last egress queue, 0 .. 255 */
			__u8	shard;		/* later: 0 */
			__be32	switch_id;	/* switch that copied it last */
			__be32	tree;		/* its tree is that of so many blocks earlier */
		} result;

		struct {
			__be16	list;		/* number of this list, from 0 on */
			__be16	entries;	/* how many canary_restored follow */
			__u8	zero[14];
			__be16	length;		/* payload bytes of the block */
			__u8	zero2[12];
		} restoration;

		struct {
			__be16	to;		/* the rank that is meant */
			__be16	zero;
			__be32	question;	/* number of the question */
			__be32	acked;		/* as in contributions */
			__be32	switch_id;	/* first aggregator of the sender, 0: unknown */
			__u8	zero2[16];
		} request;

		struct {
			__be16	to;
			__be16	zero;
			__be32	question;
			__u8	zero2[24];
		} failure;

		struct {
			__be16	to;
			__be16	zero;
			__be32	answer;		/* number of the REQUEST */
			__be32	sent;		/* all contributed the blocks before (serial) */
			__u8	zero2[20];
		} wait;

		struct {
			__be16	to;
			__be16	wanted;		/* members in the sum; all: the result */
			__be32	question;
			__be32	acked;
			__u8	zero[20];
		} ring_request;

		struct {
			__be16	to;
			__be16	zero;
			__be32	answer;		/* number of the RING_REQUEST */
			__u8	zero2[24];
		} ring_wait;

		struct {
			__be64	nonce;		/* of the sender */
			__be32	digest;		/* keyed hash of the payload */
			__be32	number;		/* JOINs with this nonce so far */
			__be16	window;		/* largest that the sender takes */
			__be16	length;		/* payload bytes that its path takes */
			__u8	zero[12];
		} join;

		struct {
			__be64	nonce;		/* of the JOIN that is answered */
			__be64	cookie;		/* what the next JOIN has to show */
			struct canary_addr address; /* good for it, and for the UDP port */
		} cookie;

		struct {
			__be64	nonce;		/* of the JOIN that is answered */
			__be32	digest;		/* keyed hash of the payload */
			__be32	first;		/* entry of the table; WAITING: ranks missing */
			__be16	entries;	/* in the payload */
			__be16	length;		/* agreed payload bytes; WAITING: offered */
			__be16	window;		/* agreed: most blocks in flight */
			__u8	algorithm;	/* enum canary_algorithm of all operations */
			__u8	trees;		/* number of static trees, else 0 */
			__be16	run;		/* consecutive blocks that one rank leads */
			__u8	zero[6];
		} welcome;

		struct {
			__be16	to;
			__be16	zero;
			__be32	question;
			__be32	acked;		/* as in contributions */
			__u8	zero2[20];
		} probe;

		struct {
			__be16	to;
			__be16	zero;
			__be32	answer;		/* number of the PROBE; 0: answers none */
			__be32	sent;		/* sender contributed blocks before (serial) */
			__be32	switch_id;	/* as in REQUEST */
			__u8	zero2[16];
		} alive;

		struct {
			__be16	to;
			__be16	zero;
			__be32	acked;		/* a member's own; the collector's: all's */
			__be32	sent;		/* later: 0 */
			__u8	zero2[20];
		} ack;

		struct {
			__be16	to;
			__be16	zero;
			__be32	end;		/* sender contributes nothing from there on */
			__be32	acked;		/* nobody needs anything of blocks before */
			__u8	zero2[20];
		} leave;

		struct {
			__be16	to;
			__be16	why;		/* PROTOCOL.md, "Errors" */
			__be32	faults;		/* how many ranks are at fault */
			__be32	digest;		/* keyed hash of the payload */
			__be16	entries;	/* ranks in the payload, __be16 */
			__u8	zero[18];
		} abort;

		struct {
			__be64	nonce;		/* of the JOIN that is refused */
			__be16	what;		/* what is wrong with it */
			__be16	size;		/* members that rank 0 counts */
			__u8	zero[20];
		} refused;

		struct {
			__be16	to;
			__u8	algorithm;	/* enum canary_algorithm; 0 asks */
			__u8	why;		/* enum canary_why */
			__be32	sequence;	/* of the operation */
			__u8	zero[24];
		} plan;

		struct {
			__be16	to;
			__be16	why;		/* it ends; as in ABORT */
			__be32	question;	/* its number; from rank 0: what it answers */
			__be64	nonce;		/* of the member that asks */
			__be64	session;	/* drawn by rank 0; 0: not known yet */
			__be64	challenge;	/* whoever repeats it lives; 0: not known yet */
		} greeting;
	};
};

/* Bytes of the salt of the session key (PROTOCOL.md, "Keys, tags, sums"); zeros if WAITING */
#define CANARY_SALT	16

/* Most children of one restoration */
#define CANARY_RESTORED_MAX	64

/**
 * struct canary_restored - entry of the list in a RESTORATION, which is sorted by @addr and @port
 * @cookie:	the cookie that its contribution brought from the switch
 */
struct canary_restored {
	struct canary_addr	addr;
	__be16			port;
	__be16			zero;
	__be32			cookie;
};

/**
 * struct canary_join - fixed part of the payload of JOIN, zero-padded to the size it offers
 * @first:	first entry of the member table that the sender still lacks
 * @mtu:	IP packet size that this JOIN offers; the packet has this size
 * @full:	largest size that the sender would like; more than @mtu if that was not answered
 * @cookie:	the cookie that rank 0 gave to this sender at this address (COOKIE), or 0. Rank 0
 *		believes nothing without it
 */
struct canary_join {
	__be32	first;
	__be16	mtu;
	__be16	full;
	__be64	cookie;
};

#define CANARY_WIRE_ASSERT(name, cond) typedef char canary_assert_##name[(cond) ? 1 : -1]
CANARY_WIRE_ASSERT(hdr, sizeof(struct canary_hdr) == 64);
CANARY_WIRE_ASSERT(peer, sizeof(struct canary_peer) == 20);
CANARY_WIRE_ASSERT(restored, sizeof(struct canary_restored) == 24);
CANARY_WIRE_ASSERT(join, sizeof(struct canary_join) == 16);
CANARY_WIRE_ASSERT(elements, CANARY_ELEMENTS(1500) == 352);
#undef CANARY_WIRE_ASSERT

#endif /* _UAPI_LINUX_CANARY_WIRE_H */
