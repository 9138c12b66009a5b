/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The Canary packet format: everything that two machines must agree on.
 *
 * Packets are IPv4/UDP, destination port in [CANARY_PORT_BASE, CANARY_PORT_BASE + CANARY_PORTS).
 * The UDP payload is one struct canary_hdr followed by the payload of its type. The header is
 * in network byte order; vector elements are little-endian. The meaning of each field for
 * each type is in PROTOCOL.md, "Messages". The header compiles for the kernel, for BPF
 * (after ctx/kernel.h) and for user space.
 */
#ifndef _UAPI_LINUX_CANARY_WIRE_H
#define _UAPI_LINUX_CANARY_WIRE_H

#include <linux/types.h>

#define CANARY_VERSION		1

#define CANARY_PORT_BASE	22600
#define CANARY_PORTS		64

#define CANARY_MEMBERS_MAX	65535

/* Largest payload that a switch aggregates: an XDP frame must hold headers and elements. */
#define CANARY_ELEMENTS_MAX	800
#define CANARY_PAYLOAD_MAX	(CANARY_ELEMENTS_MAX * 4)

/* IPv4 header without options, UDP header, struct canary_hdr */
#define CANARY_IP_OVERHEAD	(20 + 8 + 64)

/* Elements of 4 bytes that fit into an IP packet of @mtu bytes */
#define CANARY_ELEMENTS(mtu)	(((mtu) - CANARY_IP_OVERHEAD) / 4)

enum canary_type {
	CANARY_CONTRIBUTION	= 1,	/* up: data to be added, towards the leader */
	CANARY_RESULT		= 2,	/* down: the reduced block */
	CANARY_RESTORATION	= 3,	/* leader to a switch: children of a bypassed block */
	CANARY_REQUEST		= 4,	/* member to leader: where is the result of this block */
	CANARY_FAILURE		= 5,	/* leader to member: contribute again, this attempt */
	CANARY_WAIT		= 6,	/* leader to member: not all have posted, be patient */
	CANARY_PROBE		= 7,	/* are you alive, and how far are you */
	CANARY_ALIVE		= 8,	/* answer to a probe */
	CANARY_JOIN		= 9,	/* rendezvous: member to rank 0 */
	CANARY_WELCOME		= 10,	/* rendezvous: rank 0 to member */
	CANARY_DONE		= 11,	/* how far a member, or everybody, has all results */
	CANARY_LEAVE		= 12,	/* this rank ends; it contributes nothing from @done on */
	CANARY_ABORT		= 13,	/* the communicator ends with an error */
	CANARY_PLAN		= 14,	/* which algorithm runs an operation; @count 0: asks */
	CANARY_TYPE_MAX		= CANARY_PLAN,
};

/* flags */
#define CANARY_F_BYPASS		0x01	/* no switch may aggregate this contribution any more */
#define CANARY_F_READY		0x02	/* JOIN: has the member table; WELCOME: all have it */
#define CANARY_F_WAITING	0x04	/* WELCOME: ranks are missing, listed; DONE: asks */
#define CANARY_F_STATIC		0x08	/* @path pins the route of this packet */
#define CANARY_F_RING		0x10	/* goes from member to member along the ring */
#define CANARY_F_ALL		0x1f

enum canary_operator {
	CANARY_OP_SUM		= 1,
};

enum canary_dtype {
	CANARY_INT32		= 1,
};

/* How an operation is carried out; in PLAN and WELCOME, and part of opsig */
enum canary_algorithm {
	CANARY_ALG_AUTO		= 0,	/* rank 0 decides for each operation */
	CANARY_ALG_TREE		= 1,	/* dynamic trees through switches */
	CANARY_ALG_RING		= 2,	/* hosts alone: reduce-scatter, then allgather */
	CANARY_ALG_STATIC	= 3,	/* trees whose ports nobody chooses: CANARY_F_STATIC */
	CANARY_ALG_MAX		= CANARY_ALG_STATIC,
};

/* Blocks take turns among static trees. How applications say how many: */
#define CANARY_TREES_MAX	32
#define CANARY_STATIC_TREES(n)	(CANARY_ALG_STATIC | (n) << 8)

/* Why rank 0 decided so; in PLAN */
enum canary_why {
	CANARY_WHY_NONE		= 0,	/* nothing was decided yet */
	CANARY_WHY_FIXED	= 1,	/* rank 0 was told to */
	CANARY_WHY_MEMBERS	= 2,	/* among two, a ring is a tree */
	CANARY_WHY_SMALL	= 3,	/* too short for a ring to pay */
	CANARY_WHY_UNKNOWN	= 4,	/* nothing was observed yet */
	CANARY_WHY_MERGED	= 5,	/* switches add up contributions */
	CANARY_WHY_PLAIN	= 6,	/* no switch adds up much */
	CANARY_WHY_LOSSES	= 7,	/* many blocks had to be begun anew */
	CANARY_WHY_LOOK		= 8,	/* looks whether trees have become better */
	CANARY_WHY_MAX		= CANARY_WHY_LOOK,
};

/**
 * struct canary_hdr - the header of every Canary packet
 * @version:	CANARY_VERSION
 * @type:	enum canary_type
 * @flags:	CANARY_F_*
 * @attempt:	how often this block was begun anew; contributions of different attempts never merge
 * @comm:	communicator, chosen by its users
 * @epoch:	random, agreed at rendezvous: a restarted job never meets its own past
 * @block:	serial number of the block within the epoch; wraps
 * @opsig:	hash of operation sequence, operator, type, root and length: only equals merge
 * @members:	size of the communicator, 1 .. CANARY_MEMBERS_MAX
 * @count:	how many members' data are in this packet, 1 .. @members - 1 in contributions; of
 *		RESTORATION: number of the list, from 0 on
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @elements:	elements in the payload of contributions and results
 * @load:	highest queue occupancy met on the way, 0 (idle) .. 255 (full)
 * @path:	which of the equal-cost paths is pinned, if CANARY_F_STATIC; else of contributions:
 *		how often it was sent again in this attempt, so that it takes another path each time
 * @rank:	the sender; in contributions only meaningful while @count is 1
 * @tag:	of contributions: sum (mod 2^64) of the keyed tags of all members in this packet; of
 *		REQUEST, FAILURE and PROBE: number of the question; others: PROTOCOL.md, "Messages"
 * @sum:	of contributions and results: linear checksum, sum (mod 2^32) of the payload's
 *		32-bit words; of JOIN, WELCOME and ABORT: keyed hash of the payload; of WAIT: number
 *		of the question
 * @done:	the sender(s) hold all results of blocks before this one (serial); of ALIVE: number
 *		of the question
 * @origin:	IPv4 address of the switch that set CANARY_F_BYPASS, or 0
 * @waited:	of a result: how full the egress queue was that it went through last, 0 .. 255
 * @to:		of what members say to each other without data: the rank that is meant
 * @children:	entries in the payload: child list, member table, rank list; of a result: number
 *		of the restoration that it follows, 0 also if there was none
 * @reserved:	0
 * @cookie:	of a contribution that was bypassed by @origin: lets @origin recognise it in a
 *		restoration; 0 if it takes none
 * @mac:	keyed hash of the header without @mac and what a switch may set (PROTOCOL.md,
 *		"Keys, tags, sums"), in everything that is never merged
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
	__be16	count;
	__u8	op;
	__u8	dtype;
	__be16	elements;
	__u8	load;
	__u8	path;
	__be16	rank;
	__be64	tag;
	__be32	sum;
	__be32	done;

	__extension__ union {
		__be32	origin;
		__be32	waited;
		__be32	to;
	};

	__extension__ union {
		__extension__ struct {
			__be16	children;
			__be16	reserved;
		};
		__be32	cookie;
	};
	__be64	mac;
};

/* Child of an aggregator, and entry of the member table: where to send to */
struct canary_peer {
	__be32	addr;
	__be16	port;
	__be16	reserved;
};

/* Children of one restoration */
#define CANARY_RESTORED_MAX	64

/**
 * struct canary_restored - entry of the list in a RESTORATION, which is sorted by @addr and @port
 * @cookie:	what its contribution brought from the switch
 */
struct canary_restored {
	__be32	addr;
	__be16	port;
	__be16	reserved;
	__be32	cookie;
};

/**
 * struct canary_welcome - fixed part of the payload of WELCOME
 * @salt:	goes into the session key, see PROTOCOL.md "Keys"; if CANARY_F_WAITING, 0, or in
 *		the first 8 bytes the cookie that JOINs of this sender have to show
 * @first:	first entry of the member table in this packet; or, if CANARY_F_WAITING, number
 *		of ranks missing in all
 * @window:	upper bound of blocks in flight that everybody keeps
 * @algorithm:	enum canary_algorithm, of all operations
 * @trees:	how many static ones, 0 with other algorithms
 *
 * Followed by canary_hdr.children entries: struct canary_peer of the ranks from @first on, or
 * (CANARY_F_WAITING) __be16 missing ranks, as many as fit.
 */
struct canary_welcome {
	__u8	salt[16];
	__be32	first;
	__be16	window;
	__u8	algorithm;
	__u8	trees;
};

/**
 * struct canary_join - fixed part of the payload of JOIN, zero-padded to the size it offers
 * @first:	first entry of the member table that the sender still lacks
 * @mtu:	IP packet size that this JOIN offers; the packet has it
 * @full:	the largest that the sender would like; more than @mtu if it got no answer to that
 * @cookie:	what rank 0 gave to this sender at this address (struct canary_welcome.salt), or 0:
 *		not before it shows that is anything believed
 */
struct canary_join {
	__be32	first;
	__be16	mtu;
	__be16	full;
	__be64	cookie;
};

#define CANARY_WIRE_ASSERT(name, cond) typedef char canary_assert_##name[(cond) ? 1 : -1]
CANARY_WIRE_ASSERT(hdr, sizeof(struct canary_hdr) == 64);
CANARY_WIRE_ASSERT(peer, sizeof(struct canary_peer) == 8);
CANARY_WIRE_ASSERT(restored, sizeof(struct canary_restored) == 12);
CANARY_WIRE_ASSERT(welcome, sizeof(struct canary_welcome) == 24);
CANARY_WIRE_ASSERT(join, sizeof(struct canary_join) == 16);
CANARY_WIRE_ASSERT(elements, CANARY_ELEMENTS(1500) == 352);
#undef CANARY_WIRE_ASSERT

#endif /* _UAPI_LINUX_CANARY_WIRE_H */
