/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * socket(AF_CANARY, SOCK_SEQPACKET, 0): addresses, options and control messages.
 *
 *	bind	local address (and port, 0 = any free one of the range)
 *	setsockopt(SOL_CANARY, CANARY_COMM)	communicator, rank, members, key
 *	connect	address of rank 0: rendezvous, returns when every rank is in
 *	sendmsg	posts one operation (control message CANARY_OPERATION; without it: sum of int32)
 *	recvmsg	completes the oldest one: the result (control message CANARY_COMPLETION)
 *
 * canary(7) documents every call, option and errno.
 */
#ifndef _UAPI_LINUX_CANARY_H
#define _UAPI_LINUX_CANARY_H

#include <linux/types.h>
#include <linux/socket.h>
#include <asm/byteorder.h>
#include <linux/canary_wire.h>

/*
 * The kernel gives modules no new family numbers, so an unused one is borrowed. The module
 * parameter "family" overrides it; read /sys/module/canary/parameters/family.
 */
#ifndef AF_CANARY
#define AF_CANARY	25
#define PF_CANARY	AF_CANARY
#endif

#ifndef SOL_CANARY
#define SOL_CANARY	300
#endif

/**
 * struct sockaddr_canary - address of a member
 * @scan_family:	AF_CANARY
 * @scan_port:		UDP port, network order; 0 in bind() picks a free one, 0 in connect()
 *			means CANARY_PORT_BASE
 * @scan_zero:		0
 * @scan_addr:		CANARY_ADDR_IP4(), or all zeros: any. IPv6 addresses fit, but give
 *			EAFNOSUPPORT so far
 * @scan_scope:		0
 *
 * Fields are where struct sockaddr_in6 has them.
 */
struct sockaddr_canary {
	__kernel_sa_family_t	scan_family;
	__be16			scan_port;
	__u32			scan_zero;
	struct canary_addr	scan_addr;
	__u32			scan_scope;
};

/* The canary_addr of an IPv4 address @ip, a constant or variable in network byte order */
#define CANARY_ADDR_IP4(ip)	{ { 0, 0, __cpu_to_be32(0xffff), (ip) } }

/* socket options, level SOL_CANARY */
/* struct canary_comm_req; set before connect(), get (without key) any time */
#define CANARY_COMM		1
/* __u32 bytes: longest vector that sendmsg() takes; longer ones give EMSGSIZE */
#define CANARY_MAX_VECTOR	2
/* struct canary_status; get only */
#define CANARY_STATUS		3
/* __u16[]: ranks missing (connecting) or at fault (failed); get only */
#define CANARY_RANKS		4
/* __u64[] of this socket, in the order of /proc/net/canary_stats; get only */
#define CANARY_STATS		5
/* __u32 ms that close() lets the engine serve others; default 60000 */
#define CANARY_LINGER		6
/* __u32 ms of silence that make a rank dead; default 5000 */
#define CANARY_DEAD_AFTER	7
/*
 * __u32 enum canary_algorithm (canary_wire.h), CANARY_STATIC_TREES(n) or CANARY_TREE_RUNS(n). That
 * of rank 0 holds for all. Default: CANARY_ALG_AUTO
 */
#define CANARY_ALGORITHM	8
/* struct canary_trouble[]: the latest things that others did wrong; get only */
#define CANARY_TROUBLES		9

/*
 * struct canary_prefix[], up to CANARY_AGGREGATES_MAX. As a leader, take packets with the data of
 * several members only from these sources. Nothing else tells such packets from forged ones. None
 * (default): take them from anybody. Set before connect(), get any time
 */
#define CANARY_AGGREGATES	10
#define CANARY_AGGREGATES_MAX	16

/*
 * Set, in place of bind(): int, the descriptor of another AF_CANARY socket, bound and of the same
 * user. Both sockets then share its UDP port, and so can more sockets. Packets are told apart by
 * communicator and epoch. So ranks of one communicator cannot join by one port at the same time
 * (EADDRINUSE).
 * Get: __u32, how many sockets and lingering engines share the port of this one; 0 before bind()
 */
#define CANARY_ENDPOINT		11

/*
 * struct canary_table_req; set only, before connect() and after CANARY_COMM, which removes it.
 * connect() then needs no rendezvous: the socket is connected at once. Operations begin when all
 * members are
 */
#define CANARY_TABLE		12

/* control messages, level SOL_CANARY */
#define CANARY_OPERATION	1	/* sendmsg: struct canary_operation */
#define CANARY_COMPLETION	2	/* recvmsg: struct canary_completion */
#define CANARY_DESTINATION	3	/* sendmsg: struct canary_destination */

/**
 * struct canary_comm_req - CANARY_COMM
 * @id:		communicator, the same at all members
 * @rank:	0 .. @members - 1
 * @members:	1 .. 65535
 * @window:	most blocks in flight, a power of two up to 1024; 0 = default (256)
 * @mtu:	largest IP packet to use; 0 = of the route
 * @key:	pre-shared key; all zero = none
 */
struct canary_comm_req {
	__u32	id;
	__u16	rank;
	__u16	members;
	__u16	window;
	__u16	mtu;
	__u8	reserved[4];
	__u8	key[16];
};

/**
 * struct canary_table_req - CANARY_TABLE: where the members are, and what makes their session
 * unique. It has to be the same at all members, except @start_within
 * @epoch:	not 0. Sessions at one port differ in it
 * @start_within: ms within which all ranks connect after this one, up to 3600000; 0 = default
 *		(60000)
 * @salt:	random, drawn with @epoch; zeros only where canary_comm_req has no key
 * @reserved:	0, for what may be added
 * @peer:	address and port of each rank, in this order
 *
 * canary_comm_req (with 1500 for @mtu 0) and CANARY_ALGORITHM have what a rendezvous would agree
 * on. They have to be the same at all members. Members that were given different values do not
 * understand each other.
 *
 * Entries follow this head, so it cannot grow: its size is fixed, and only @reserved can change.
 */
struct canary_table_req {
	__u32			epoch;
	__u32			start_within;
	__u8			salt[CANARY_SALT];
	__u32			reserved[2];
	struct canary_peer	peer[];
};

/**
 * struct canary_prefix - addresses
 * @addr:	the first address
 * @length:	how many bits they have in common, 0 .. 128; of IPv4 prefixes 96 more
 */
struct canary_prefix {
	struct canary_addr	addr;
	__u8			length;
	__u8			reserved[3];
};

/**
 * struct canary_operation - what to reduce and how
 * @op:		enum canary_operator (canary_wire.h)
 * @dtype:	enum canary_dtype
 * @flags:	CANARY_HOW_* (canary_wire.h) that @op on @dtype takes: how numbers are added up
 * @root:	0 (allreduce)
 * @tag:	returned in the completion, not interpreted
 */
struct canary_operation {
	__u8	op;
	__u8	dtype;
	__u16	flags;
	__u32	root;
	__u64	tag;
};

/**
 * struct canary_destination - where the result goes, without copies
 * @addr:	address, a multiple of 4 for any type, of as many bytes as the message has. It may
 *		be the message's own address, but may not overlap it otherwise
 *
 * The message has to be in one piece, and at a multiple of 4, too. The kernel owns both message and
 * destination from sendmsg() until recvmsg() has returned the completion. They are locked in memory
 * (RLIMIT_MEMLOCK). recvmsg() returns 0 then, or the length with MSG_TRUNC; the completion has the
 * length.
 */
struct canary_destination {
	__aligned_u64	addr;
};

/**
 * struct canary_completion - how an operation ended
 * @tag:	canary_operation.tag
 * @bytes:	length of the vector
 * @error:	0, or a positive errno; the data are then undefined
 * @attempts:	blocks of this operation that needed more than one attempt here
 * @seq:	sequence number of the operation on this communicator, from 0
 * @method:	enum canary_method (canary_wire.h), how it was carried out
 * @reserved:	0
 *
 * Later versions may have more members. A control message has as many of them as there is room for:
 * all, or the first CANARY_COMPLETION_LEAST bytes.
 */
struct canary_completion {
	__u64	tag;
	__u32	bytes;
	__s32	error;
	__u32	attempts;
	__u32	seq;
	__u32	method;
	__u32	reserved;
};

/* Bytes up to canary_completion.seq */
#define CANARY_COMPLETION_LEAST	24

enum canary_sock_state {
	CANARY_ST_NEW		= 0,
	CANARY_ST_JOINING	= 1,
	CANARY_ST_CONNECTED	= 2,
	CANARY_ST_FAILED	= 3,
	CANARY_ST_CLOSED	= 4,
};

/**
 * struct canary_status - CANARY_STATUS
 * @state:	enum canary_sock_state
 * @error:	positive errno that ended the communicator, or 0
 * @elements:	elements of 4 bytes a packet, as agreed
 * @window:	blocks in flight, as agreed
 * @epoch:	of the communicator
 * @missing:	how many ranks are missing (joining) or at fault (failed): the length of
 *		CANARY_RANKS
 * @srtt_us:	smoothed time from contribution to result
 * @reason:	enum canary_abort (PROTOCOL.md), why it failed
 * @algorithm:	enum canary_algorithm that rank 0 was told: one for all operations, or automatic
 * @last:	enum canary_algorithm of the latest operation that was not short; 0 before one
 * @why:	enum canary_why, of @last
 * @wanted:	enum canary_algorithm, as CANARY_ALGORITHM of this socket says
 * @number:	of @algorithm: of static trees; or, once connected, of blocks in a run, if it is
 *		more than one; else 0
 */
struct canary_status {
	__u32	state;
	__u32	error;
	__u16	elements;
	__u16	window;
	__u32	epoch;
	__u32	missing;
	__u32	srtt_us;
	__u32	reason;
	__u8	algorithm;
	__u8	last;
	__u8	why;
	__u8	wanted;
	__u8	number;
	__u8	zero[3];
};

enum canary_trouble_kind {
	CANARY_TROUBLE_KEY	= 1,	/* wants to join with another pre-shared key */
	CANARY_TROUBLE_COMM	= 2,	/* wants to join, or is in, communicator @value */
	CANARY_TROUBLE_MEMBERS	= 3,	/* counts @value members */
	CANARY_TROUBLE_RANK	= 4,	/* claims a rank that another process has */
	CANARY_TROUBLE_EPOCH	= 5,	/* belongs to an earlier run */
	CANARY_TROUBLE_OFFER	= 6,	/* offers a packet size or window out of range */
	CANARY_TROUBLE_FORGED	= 7,	/* sends packets that fail authentication */
	CANARY_TROUBLE_VERSION	= 8,	/* speaks version @value of the protocol */
	CANARY_TROUBLE_UNKNOWN	= 9,	/* uses an unknown kind or flag (@value) */
	CANARY_TROUBLE_TABLE	= 10,	/* has another table, key or other parameters than we */
};

/**
 * struct canary_trouble - CANARY_TROUBLES: a hint for people; most of it is not authenticated
 * @kind:	enum canary_trouble_kind; if @addr is that of rank 0, what rank 0 says about us
 * @rank:	that the sender claims
 * @addr:	source
 * @port:	its UDP port, network order
 * @value:	see enum canary_trouble_kind
 * @count:	packets
 */
struct canary_trouble {
	__u8			kind;
	__u8			pad;
	__u16			rank;
	struct canary_addr	addr;
	__be16			port;
	__u16			pad2;
	__u32			value;
	__u32			count;
};

/*
 * Generic netlink: rules say who may be a member of which communicator, and under which key. They
 * belong to the network namespace of the netlink socket. CAP_NET_ADMIN there may change them.
 *
 * Without rules, anybody may be a member of any communicator. With rules, the first rule that has
 * the communicator and the caller allows it. If there is none, CANARY_COMM, bind() and connect()
 * give EACCES. Before CANARY_COMM, bind() gives EACCES if no rule is about the caller.
 *
 * A rule's key replaces canary_comm_req.key, which has to be zero or the same (else EPERM). It is
 * never returned. At connect(), a rule's AGGREGATES replace CANARY_AGGREGATES, which stay as they
 * were set.
 */
#define CANARY_GENL_NAME	"canary"
#define CANARY_GENL_VERSION	1
#define CANARY_KEY_BYTES	16
#define CANARY_RULES_MAX	1024	/* of a namespace */

enum {
	CANARY_CMD_UNSPEC	= 0,
	CANARY_CMD_ALLOW	= 1,	/* FIRST, LAST; optional: UID or GID, KEY, AGGREGATES */
	CANARY_CMD_REVOKE	= 2,	/* FIRST, LAST; UID or GID; all such rules go */
	CANARY_CMD_GET_RULE	= 3,	/* dump, in order; as ALLOW, with KEYED instead of KEY */
};

enum {
	CANARY_A_UNSPEC		= 0,
	CANARY_A_FIRST		= 1,	/* u32: first communicator */
	CANARY_A_LAST		= 2,	/* u32: last communicator */
	CANARY_A_UID		= 3,	/* u32: effective user */
	CANARY_A_GID		= 4,	/* u32: effective or supplementary group */
	CANARY_A_KEY		= 5,	/* 16 bytes, not all zero */
	CANARY_A_KEYED		= 6,	/* flag: there is a key */
	CANARY_A_AGGREGATES	= 7,	/* struct canary_prefix[]: sources that are believed */
	CANARY_A_MAX		= 7,
};

#endif /* _UAPI_LINUX_CANARY_H */
