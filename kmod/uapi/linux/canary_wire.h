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
	CANARY_ACK		= 11,	/* how far a member, or everybody, has all results */
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

/*
 * What a header has beside what all have, a struct for each type. A field has one meaning within a
 * type. (Version 1 has them all over the header; PROTOCOL.md, "Messages".)
 */

/**
 * struct canary_contribution - CONTRIBUTION
 * @count:	how many members' data are in this packet, 1 .. members - 1
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @elements:	in the payload
 * @load:	highest queue occupancy met on the way, 0 (idle) .. 255 (full)
 * @path:	which of the equal-cost paths is pinned, if CANARY_F_STATIC; else how often it was
 *		sent again in this attempt, so that it takes another path each time
 * @tag:	sum (mod 2^64) of the keyed tags of all members in this packet
 * @sum:	linear checksum, sum (mod 2^32) of the payload's 32-bit words
 * @acked:	the sender(s) hold all results of blocks before this one (serial)
 * @switch_addr: IPv4 address of the switch that set CANARY_F_BYPASS, or 0
 * @cookie:	if bypassed by @switch_addr: lets that switch recognise it in a restoration; 0 if
 *		it takes none
 */
struct canary_contribution {
	__u8	common[22];
	__be16	count;
	__u8	op;
	__u8	dtype;
	__be16	elements;
	__u8	load;
	__u8	path;
	__u8	rank[2];
	__be64	tag;
	__be32	sum;
	__be32	acked;
	__be32	switch_addr;
	__be32	cookie;
	__u8	mac[8];
};

/**
 * struct canary_result - RESULT
 * @count:	members
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @elements:	in the payload
 * @load:	of contributions, the highest
 * @held:	us since the leader had the first contribution, 0 if sent again
 * @finished:	which of the 32 blocks that the leader led before are finished, the latest in bit 0
 * @sum:	as in contributions
 * @acked:	everybody has all results of blocks before this one (serial)
 * @waited:	how full the egress queue was that it went through last, 0 .. 255
 * @list:	number of the restoration that it follows, 0 also if there was none
 */
struct canary_result {
	__u8	common[22];
	__be16	count;
	__u8	op;
	__u8	dtype;
	__be16	elements;
	__u8	load;
	__u8	path;
	__u8	rank[2];
	__be32	held;
	__be32	finished;
	__be32	sum;
	__be32	acked;
	__u8	zero[3];
	__u8	waited;
	__be16	list;
	__be16	reserved;
	__u8	mac[8];
};

/**
 * struct canary_restoration - RESTORATION; the payload is a struct canary_restored for each entry
 * @list:	number of the list, from 0 on
 * @elements:	of the block
 * @entries:	in the payload
 */
struct canary_restoration {
	__u8	common[22];
	__be16	list;
	__u8	zero[2];
	__be16	elements;
	__u8	zero2[24];
	__be16	entries;
	__be16	reserved;
	__u8	mac[8];
};

/**
 * struct canary_request - REQUEST
 * @wanted:	in rings: members in what is asked for, all for the result
 * @question:	number of the question
 * @switch_addr: IPv4 address of the sender's first aggregator, 0: unknown
 * @acked:	as in contributions
 * @to:		the rank that is meant, as in all that members say to each other without data
 */
struct canary_request {
	__u8	common[22];
	__be16	wanted;
	__u8	zero[12];
	__be32	question;
	__be32	switch_addr;
	__be32	acked;
	__u8	zero2[2];
	__be16	to;
	__u8	end[12];
};

/** struct canary_failure - FAILURE: @question: number of the question; @to: see REQUEST */
struct canary_failure {
	__u8	common[36];
	__be32	question;
	__u8	zero[10];
	__be16	to;
	__u8	end[12];
};

/**
 * struct canary_waiting - WAIT
 * @sent:	all members contributed all blocks before this one (serial)
 * @answer:	number of the REQUEST
 * @to:		see REQUEST
 */
struct canary_waiting {
	__u8	common[36];
	__be32	sent;
	__be32	answer;
	__u8	zero[6];
	__be16	to;
	__u8	end[12];
};

/** struct canary_probe - PROBE: @question, @acked, @to: as in REQUEST */
struct canary_probe {
	__u8	common[36];
	__be32	question;
	__u8	zero[4];
	__be32	acked;
	__u8	zero2[2];
	__be16	to;
	__u8	end[12];
};

/**
 * struct canary_alive - ALIVE
 * @sent:	the sender contributed all blocks before this one (serial)
 * @switch_addr: as in REQUEST
 * @answer:	number of the PROBE, 0 if it answers something else
 * @to:		see REQUEST
 */
struct canary_alive {
	__u8	common[36];
	__be32	sent;
	__be32	switch_addr;
	__be32	answer;
	__u8	zero[2];
	__be16	to;
	__u8	end[12];
};

/**
 * struct canary_ack - ACK
 * @acked:	from a member: it holds all results of blocks before this one; from the collector:
 *		everybody does
 * @to:		see REQUEST
 */
struct canary_ack {
	__u8	common[44];
	__be32	acked;
	__u8	zero[2];
	__be16	to;
	__u8	end[12];
};

/**
 * struct canary_leave - LEAVE
 * @acked:	everybody has all results of blocks before this one
 * @end:	the sender contributes nothing from this one on
 * @to:		see REQUEST
 */
struct canary_leave {
	__u8	common[36];
	__be32	acked;
	__u8	zero[4];
	__be32	end;
	__u8	zero2[2];
	__be16	to;
	__u8	rest[12];
};

/**
 * struct canary_aborting - ABORT; the payload is a __be16 for each rank named
 * @why:	enum canary_abort_why
 * @faults:	ranks at fault in all
 * @digest:	keyed hash of the payload
 * @to:		see REQUEST
 * @entries:	ranks in the payload
 */
struct canary_aborting {
	__u8	common[22];
	__be16	why;
	__u8	zero[12];
	__be32	faults;
	__be32	digest;
	__u8	zero2[6];
	__be16	to;
	__be16	entries;
	__be16	reserved;
	__u8	mac[8];
};

/**
 * struct canary_refused - ABORT without epoch: a JOIN is refused
 * @why:	CANARY_ABORT_REFUSED
 * @nonce:	of the JOIN
 * @size:	members that rank 0 counts
 */
struct canary_refused {
	__u8	common[22];
	__be16	why;
	__u8	zero[8];
	__be64	nonce;
	__be32	digest;
	__be32	size;
	__u8	end[16];
};

/**
 * struct canary_plan - PLAN
 * @algorithm:	enum canary_algorithm, 0 asks
 * @sequence:	number of the operation
 * @why:	enum canary_why
 * @to:		see REQUEST
 */
struct canary_plan {
	__u8	common[23];
	__u8	algorithm;
	__u8	zero[8];
	__be32	sequence;
	__u8	zero2[3];
	__u8	why;
	__u8	zero3[10];
	__be16	to;
	__u8	end[12];
};

/**
 * struct canary_joining - JOIN; the payload begins with struct canary_join
 * @window:	the largest that the sender takes
 * @elements:	what its path takes
 * @nonce:	of the sender
 * @digest:	keyed hash of the payload
 */
struct canary_joining {
	__u8	common[22];
	__be16	window;
	__u8	zero[2];
	__be16	elements;
	__u8	zero2[4];
	__be64	nonce;
	__be32	digest;
	__u8	end[20];
};

/**
 * struct canary_welcoming - WELCOME; the payload begins with struct canary_welcome
 * @elements:	agreed
 * @nonce:	of the JOIN
 * @digest:	keyed hash of the payload
 * @entries:	in the payload
 */
struct canary_welcoming {
	__u8	common[26];
	__be16	elements;
	__u8	zero[4];
	__be64	nonce;
	__be32	digest;
	__u8	zero2[8];
	__be16	entries;
	__be16	reserved;
	__u8	mac[8];
};

/**
 * struct canary_cookie - WELCOME with a cookie
 * @port:	the cookie is good there, ...
 * @elements:	that the JOIN offered
 * @nonce:	of the JOIN
 * @addr:	... and there
 */
struct canary_cookie {
	__u8	common[22];
	__be16	port;
	__u8	zero[2];
	__be16	elements;
	__u8	zero2[4];
	__be64	nonce;
	__be32	digest;
	__u8	zero3[4];
	__be32	addr;
	__u8	end[12];
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
 * @rank:	the sender; in contributions only meaningful while their count is 1
 * @reserved:	0, but where a contribution has its cookie
 * @mac:	keyed hash of the header without @mac and what a switch may set (PROTOCOL.md,
 *		"Keys, tags, sums"), in everything that is never merged
 *
 * The rest is that of the type: see above.
 */
__extension__ struct canary_hdr {
	__extension__ union {
		__extension__ struct {
			__u8	version;
			__u8	type;
			__u8	flags;
			__u8	attempt;
			__be32	comm;
			__be32	epoch;
			__be32	block;
			__be32	opsig;
			__be16	members;
			__u8	of_type[8];
			__be16	rank;
			__u8	of_type_too[22];
			__be16	reserved;
			__be64	mac;
		};
		struct canary_contribution contribution;
		struct canary_result result;
		struct canary_restoration restoration;
		struct canary_request request;
		struct canary_failure failure;
		struct canary_waiting wait;
		struct canary_probe probe;
		struct canary_alive alive;
		struct canary_ack ack;
		struct canary_leave leave;
		struct canary_aborting abort;
		struct canary_refused refused;
		struct canary_plan plan;
		struct canary_joining join;
		struct canary_welcoming welcome;
		struct canary_cookie cookie;
	};
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
 * Followed by canary_welcoming.entries entries: struct canary_peer of the ranks from @first on, or
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
CANARY_WIRE_ASSERT(contribution, sizeof(struct canary_contribution) == 64);
CANARY_WIRE_ASSERT(result, sizeof(struct canary_result) == 64);
CANARY_WIRE_ASSERT(restoration, sizeof(struct canary_restoration) == 64);
CANARY_WIRE_ASSERT(request, sizeof(struct canary_request) == 64);
CANARY_WIRE_ASSERT(failure, sizeof(struct canary_failure) == 64);
CANARY_WIRE_ASSERT(wait, sizeof(struct canary_waiting) == 64);
CANARY_WIRE_ASSERT(probe, sizeof(struct canary_probe) == 64);
CANARY_WIRE_ASSERT(alive, sizeof(struct canary_alive) == 64);
CANARY_WIRE_ASSERT(ack, sizeof(struct canary_ack) == 64);
CANARY_WIRE_ASSERT(leave, sizeof(struct canary_leave) == 64);
CANARY_WIRE_ASSERT(abort, sizeof(struct canary_aborting) == 64);
CANARY_WIRE_ASSERT(refused, sizeof(struct canary_refused) == 64);
CANARY_WIRE_ASSERT(plan, sizeof(struct canary_plan) == 64);
CANARY_WIRE_ASSERT(joining, sizeof(struct canary_joining) == 64);
CANARY_WIRE_ASSERT(welcoming, sizeof(struct canary_welcoming) == 64);
CANARY_WIRE_ASSERT(cookie, sizeof(struct canary_cookie) == 64);
CANARY_WIRE_ASSERT(peer, sizeof(struct canary_peer) == 8);
CANARY_WIRE_ASSERT(restored, sizeof(struct canary_restored) == 12);
CANARY_WIRE_ASSERT(welcome, sizeof(struct canary_welcome) == 24);
CANARY_WIRE_ASSERT(join, sizeof(struct canary_join) == 16);
CANARY_WIRE_ASSERT(elements, CANARY_ELEMENTS(1500) == 352);
#undef CANARY_WIRE_ASSERT

#endif /* _UAPI_LINUX_CANARY_WIRE_H */
