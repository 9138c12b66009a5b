/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the switch programs and the switch daemon share: the layout of map values, counters and
 * settings. Compiles after ctx/kernel.h (BPF) and after <linux/types.h> (daemon, native).
 *
 * Owners: the daemon writes configuration, ports, routes and neighbours. The programs write
 * descriptors, the deadline queue and counters. The daemon reads all of it, by mmap where the map
 * allows that.
 */
#ifndef CANARY_BPF_SHARED_H
#define CANARY_BPF_SHARED_H

/*
 * The simulator sets larger values. BPF programs should not have to walk through so many entries.
 */
#ifndef CSW_CHILDREN_MAX
#define CSW_CHILDREN_MAX	32	/* most children of one descriptor; others bypass */
#endif
#ifndef CSW_NEXTHOPS_MAX
#define CSW_NEXTHOPS_MAX	16	/* most next hops of one route; a power of two */
#endif
#define CSW_WAYS		4	/* slots of a bucket */
#define CSW_SLOTS_MIN		16
#define CSW_SLOTS_MAX		(1 << 20)
#define CSW_OWN_MACS		64	/* places for addresses of ports; a power of two */
#define CSW_RESTORE_MAX		CANARY_RESTORED_MAX
#define CSW_RESTORE_BLOCKS	256	/* blocks with restorations, by hash; a power of two */
#define CSW_RESTORE_LISTS	8	/* lists of one such block; a power of two */
#define CSW_RESTORE_SLOTS	(CSW_RESTORE_BLOCKS * CSW_RESTORE_LISTS)
#define CSW_CREDIT_MAX		(1 << 24) /* most bytes of copies that are left to restorations */
#define CSW_FAN_INS		4096U	/* places for learned fan-ins; a power of two */
#define CSW_FAN_IN_WAYS		2	/* places where one fan-in may be */
#define CSW_FAN_IN_LOWER		3	/* blocks in a row that lower a fan-in */
#define CSW_FAN_IN_CONFIG_MAX		256	/* most prefixes with a configured fan-in */
#define CSW_ADMISSIONS		16384	/* most admission entries of all ports */
#define CSW_ADMIT_RANGES	16	/* most ranges of communicators of an entry */

/* How a port is chosen among equal-cost next hops */
#define CSW_CHOICES(X)									\
	X(ADAPTIVE,	"adaptive",	"the block's port until half full, then the emptiest") \
	X(BLOCK,	"block",	"by the block alone")				\
	X(FLOW,		"flow",		"by addresses and ports, as routers do")	\
	X(FLOWLET,	"flowlet",	"the emptiest, after each pause of a flow")	\
	X(RANDOM,	"random",	"any, for each packet")				\
	X(TWO,		"two",		"the emptier of two at random, for each packet") \
	X(BOTH,		"both",		"the block's port while it hardly waits both ways") \
	X(STATIC,	"static",	"by the block's static tree (--trees)")		\
	X(EARLY,	"early",	"the block's port until 1/8 full, then the emptiest")

enum csw_choice {
#define X(name, text, help) CSW_CHOOSE_##name,
	CSW_CHOICES(X)
#undef X
	CSW_CHOICE_COUNT
};

#define CSW_FULL		255	/* fullness of a full queue */
#define CSW_HALF_FULL		127
#define CSW_EIGHTH_FULL		32
#define CSW_BACK_BELIEVED	32	/* a result's `waited` holds so many block times */
#define CSW_FLOWLETS		1024	/* places for flows; a power of two */

enum csw_mode {
	CSW_FAST	= 0,	/* XDP redirect: bypasses the egress qdisc */
	CSW_SHAPED	= 1,	/* metadata, XDP_PASS -> clsact -> redirect: through the qdisc */
};

/*
 * How to forward contributions that this switch does not add to: bypassed ones, and complete ones
 */
enum csw_forward_by {
	CSW_FORWARD_FAST	= 0,	/* by XDP: netfilter does not see them */
	CSW_FORWARD_STACK	= 1,	/* by the kernel's router, with netfilter */
};

enum csw_fan_in_mode {
	CSW_FAN_IN_OFF		= 0,	/* a block is only complete with all members */
	CSW_FAN_IN_LEARN	= 1,	/* or with all that come here, as learned */
};

/* Settings of a switch, in a global variable (mmapped). The daemon may change them at any time. */
struct csw_config {
	struct canary_addr addr;	/* the switch's own address */
	__be16	port;		/* CANARY_PORT_BASE */
	__u16	restore;	/* honour restorations */
	__u32	slot_mask;	/* descriptors - 1; their number is a power of two */
	__u32	queue_mask;	/* entries of a queue - 1; a power of two, more than descriptors */
	__u32	queues_mask;	/* queues - 1; a power of two, at most CSW_QUEUES */
	__u32	reserved;
	__u16	children_max;	/* 1 .. CSW_CHILDREN_MAX */
	__u16	root_waits;	/* extra timeouts that a root switch waits */
	__u64	timeout_ns;	/* the timeout; the first one, if it adapts */
	__u64	lifetime_ns;	/* soft state that is older may be evicted */
	__u16	fan_in;		/* enum csw_fan_in_mode */
	__u16	fan_ins_configured;	/* entries in the map "fan_in_config" */
	__u32	secret_now;	/* index in @secret for new cookies; both are valid */
	__u64	secret[2][2];
	__u64	timeout_min;	/* least timeout, if it adapts to the skew */
	__u64	timeout_max;	/* most timeout; 0: it does not adapt */
	__u32	seed;		/* for the hash of the table */
	__u32	admit;		/* only sources in the map "admissions"; 0: everybody */
	__u64	netns;		/* cookie of our namespace; 0: backlogs are unknown */
	__u64	flowlet_ns;	/* pause after which a flow may change its port */
	__u32	spread;		/* a block's number is divided by it; 0: by 1 */
	__u32	choice;		/* enum csw_choice */
	__u32	trees;		/* static: number of trees; 0: no limit */
	__u32	first_tree;
	__u32	forward;	/* enum csw_forward_by */
	__be32	id;		/* the switch's number in headers, not 0 */
};

/* A child of a descriptor: a result goes there */
struct csw_child {
	struct canary_peer at;
	__u32	reserved;
	__be64	tag;		/* of its last contribution, to find repeats */
};

#define CSW_NO_SHARD	0xff	/* more than one list */

enum csw_state {
	CSW_FREE	= 0,
	CSW_COLLECTING	= 1,	/* in the deadline queue, or about to leave */
	CSW_SENT	= 2,	/* sent on; kept for stragglers and for the result */
};

/*
 * struct csw_descriptor - soft state of one block
 *
 * Lifetime: the slot exists for ever. Its content lasts from the first contribution to the result,
 * in a kept tree to the last one. If it is older than csw_config.lifetime_ns, another block may
 * take the slot. Lock: @lock of the first slot of the bucket (slot & ~(CSW_WAYS - 1)) covers all
 * slots of the bucket. So two processors cannot take two slots for one block. It is a bounded
 * cmpxchg try-lock (0 free, 1 held). A packet that does not get it bypasses.
 * @generation changes whenever the slot is taken or freed. So a result that waits for its copies
 * recognises a later block. @queued stays when the slot is freed.
 */
struct csw_descriptor {
	__u32	lock;
	__u32	generation;
	__u64	deadline;	/* ns, CLOCK_MONOTONIC */
	__u64	born;		/* ns, CLOCK_MONOTONIC */
	__be32	comm;
	__be32	epoch;
	__be32	block;
	__be32	opsig;
	__u8	state;		/* enum csw_state */
	__u8	attempt;
	__u8	kind;		/* enum canary_kind */
	__u8	shard;		/* of the only list, or CSW_NO_SHARD */
	__u8	load;
	__u8	path;
	__u8	flags;
	__u8	waits_left;	/* extra timeouts that are left */
	__u16	members;
	__u16	count;
	__u16	length;		/* bytes of data */
	__u16	children;
	__u16	expect;		/* it is sent on with so many: all that come here */
	__u16	stragglers;	/* members whose contributions were stragglers */
	__u8	waits;		/* extra timeouts in all */
	__u8	queued;		/* the slot is in the deadline queue */
	__u16	port;		/* low bits of the ifindex that it usually leaves by */
	struct canary_peer leader;
	__be16	rank;		/* of the only contribution, see csw_is_single() */
	__u16	room;		/* of lists: how long the data may become */
	__u64	tag;
	__be64	mac;		/* of the only contribution */
	__u32	sum;
	__u32	done;
	__u32	holder;		/* csw_admission.id of the first source; 0: no rules */
	__u32	kept_for;	/* results that went down it and have no LAST: 1 << tree */
	__u64	out;		/* sum of the words of the data that leave, for the UDP checksum */
	__u64	child_bits;	/* a bit by hash of each child: most packets have a new one */
	struct csw_child child[CSW_CHILDREN_MAX];
	__u32	data[CANARY_ELEMENTS_MAX];
};

/*
 * struct csw_restoration - children that a block has besides those in its descriptor
 *
 * Map "restorations" (ARRAY): direct-mapped soft state, the newest list wins. It lasts from the
 * RESTORATION to the RESULT that follows, or until it is older than csw_config.lifetime_ns. Each
 * list of a block has its own place: copies are made in tc, and the next list may arrive before
 * that. Lock: as that of a descriptor, but one for each list.
 */
struct csw_restoration {
	__u32	lock;
	__u32	generation;
	__u64	born;
	__be32	comm;
	__be32	epoch;
	__be32	block;
	__be32	opsig;
	__u8	attempt;
	__u8	pad;
	__u16	children;	/* 0: free */
	__u16	length;		/* of the block's contributions, bytes */
	__u16	number;		/* number of this list of the block */
	struct canary_peer child[CSW_RESTORE_MAX];
};

/*
 * struct csw_fan_in - how many members' contributions come by here for the blocks of one leader, or
 * of any leader behind one port (address 0.x.x.x, see fan_in.h)
 *
 * Map "fan_ins" (ARRAY): soft state. The entry that was not used for the longest time makes room.
 * The switch learns when a result comes: by then all contributions that come by have come,
 * stragglers included. It believes a larger number at once, since waiting is safe, and a smaller
 * one after CSW_FAN_IN_LOWER blocks in a row that agree. Lock: a try-lock of its own; who does not
 * get it learns nothing. Readers take no lock, as a wrong number costs only stragglers or a
 * timeout.
 */
struct csw_fan_in {
	__u32	lock;
	__be32	comm;
	__be32	epoch;
	struct canary_peer leader;
	__u32	blocks;		/* how many blocks it was learned from */
	__u16	expect;		/* 0: free */
	__u16	lower;		/* a smaller number that came lately */
	__u16	lower_blocks;	/* of how many blocks in a row it came */
	__u16	reserved;
	__u64	used;		/* ns, CLOCK_MONOTONIC */
};

/*
 * Deadline queue: a FIFO. It is sorted, since no deadline is earlier than the last one given, even
 * where the timeout gets shorter.
 *
 * A slot is in the queue at most once (csw_descriptor.queued). If another block takes the slot
 * before its turn, the slot goes back to the end when its turn comes. It waits for the rest of the
 * block's time, and up to one timeout longer.
 *
 * The root switch of a block is next to its leader, and waits for what waited at other switches
 * before. There an overdue block goes back to the end, at most csw_config.root_waits times.
 */
struct csw_queue_entry {
	__u64	deadline;
	__u32	slot;
	__u32	reserved;
};

/*
 * struct csw_queue - one deadline queue
 *
 * There are several, so that processors do not wait for each other: each uses one of its own, as
 * far as they suffice. The clock serves all of them. A slot stays in the queue that it was put in.
 *
 * @tail:	next entry to write. Programs change it under @lock
 * @head:	next entry to emit. Programs change it under @lock. What goes back to the end moves
 *		@tail before @head: while something is queued, nobody ever sees them equal
 * @last:	latest deadline that was given
 */
struct csw_queue {
	__u32	lock;
	__u32	head;
	__u32	tail;
	__u32	reserved;
	__u64	last;
	__u64	reserved_too[5];
};

#define CSW_QUEUES	8	/* a power of two */
#define CSW_SEEN_NS	4096	/* how coarse csw_queue_ctl.seen is */

/*
 * Queue control, in a global variable (mmapped)
 * @sleeping:	the clock thread sets it before it sleeps without a deadline. A program that
 *		enqueues and finds it set clears it, and writes to the "wake" ring buffer
 * @seen:	about when a program last read the clock. It moves in steps: all processors read it
 * @timeout:	the present one, if it adapts
 * @mean, @deviation: of the skew of arrivals
 * @open_until:	new blocks are taken until then (ns, CLOCK_MONOTONIC). The clock thread, which sends
 *		them on, moves it forward while it works. 0: the switch is about to end, and
 *		everything that is held is due
 */
struct csw_queue_ctl {
	__u32	sleeping;
	__u32	reserved;
	__u64	seen;
	__u64	timeout;
	__u64	mean;
	__u64	deviation;
	__u64	open_until;
	__u64	reserved_too[2];
	struct csw_queue queue[CSW_QUEUES];
} __attribute__((aligned(64)));

/* map "ports": ifindex -> struct csw_port */
struct csw_port {
	__u8	mac[6];		/* comes first, so that it is aligned */
	__u8	mode;		/* enum csw_mode */
	__u8	captive;	/* it has a master, so its packets are not ours */
	__u32	mtu;		/* largest IP packet */
	__u32	queue;		/* bytes that its egress queue holds; 0: unknown */
	__u64	key;		/* see map "groups"; 0: no broadcasts come or go by it */
};

/*
 * Broadcasts: a group is a map of devices with an entry for each copy of a result. The kernel
 * copies a frame for each entry. canary_copy runs on each copy at its device, and addresses it to
 * the next child behind that device. So the group of a result is the ports of its children, each
 * as often as it has children there.
 *
 * Map "groups": from the sum of the keys of these ports, which are random, to the group. Programs
 * cannot make groups. They write down those that they miss in the map "wanted", for the daemon.
 */
#define CSW_GROUPS		64	/* most groups */
#define CSW_WANTED		64	/* most groups that are written down */
#define CSW_SPREADS		128	/* results a processor; more than it takes at a time */

struct csw_want {
	__u32	count;		/* how often it was missed */
	__u32	n;
	__u32	ifindex[CSW_CHILDREN_MAX];
};

/* What canary_copy writes into a copy */
struct csw_spread_to {
	struct canary_peer at;
	__u32	waited;		/* see csw_waited() */
	__u8	to[6];		/* link-layer addresses */
	__u8	from[6];
};

/*
 * struct csw_spread - a result whose copies have not left yet; map "spreads" has CSW_SPREADS for
 * each processor
 *
 * A processor sends copies when it has looked at all frames that wait, up to 64. All that happens
 * on that processor, so there is no lock. A copy has the number of its result in its metadata.
 * @left: copies that were broadcast and have not left. When another result takes the place, the
 *	kernel has lost them: a port is down, or there was no memory. They are counted then.
 * @group: its ports, those of copies that have left are 0
 */
struct csw_spread {
	__u32	serial;		/* of the result; in the first place also the latest one */
	__u32	left;
	__u64	key;
	struct csw_want group;
	struct csw_spread_to child[CSW_CHILDREN_MAX];
};

/*
 * map "canary_backlog", one for all switches of a machine: what waits at which device. The daemon
 * makes and deletes the entries of its ports. The tracepoint programs (canary_backlog.bpf.c) know
 * what waits. The switch's own programs count what they chose.
 */
struct csw_backlog_key {
	__u64	netns;		/* cookie of the network namespace: never used again */
	__u32	ifindex;
	__u32	reserved;
};

#define CSW_BACKLOG_PORTS	16384	/* of all switches of a machine */
#define CSW_BACKLOG_QUEUES	8	/* places for transmit queues; a power of two */
#define CSW_DROPS_UNKNOWN	(~0U)	/* counted per processor, not added up here */
#define CSW_BACKLOG_STALE_NS	1000000000ULL	/* a backlog without events is void after this */
#define CSW_BACKLOG_REFUSED_NS	1000000ULL	/* a port that refused frames is full for this */

struct csw_backlog {
	__u64	changed;	/* time of the last event, CLOCK_MONOTONIC ns */
	__u64	refused;	/* when the driver last refused redirected frames */
	__u64	refusals;	/* frames that it refused */
	__u64	chosen;		/* packets sent here where another next hop was possible */
	__u64	diverted;	/* of these: not to the block's home hop */
	__u32	bytes;		/* waiting in all transmit queues */
	__u32	peak;		/* the most that ever waited */
	__u32	drops;		/* dropped by the queueing disciplines, as they count them */
	__u32	back;		/* fullness of the queue at the other end of the link */
	__u64	back_until;	/* @back is believed until then */
	__u32	queue[CSW_BACKLOG_QUEUES];	/* bytes waiting, by transmit queue */
	__u32	dropped[CSW_BACKLOG_QUEUES];
	__u64	root;		/* root discipline of the device, when this began */
	__u32	handle;		/* handle of that discipline */
	__u32	reserved;
};

/* A flow's last port and packet: see CSW_CHOOSE_FLOWLET. A torn read does no harm. */
struct csw_flowlet {
	__u64	last;		/* ns */
	__u32	index;		/* of the next hop */
	__u32	flow;		/* hash of the flow; another one begins anew */
};

/* map "routes" (LPM): */
struct csw_route_key {
	__u32	prefixlen;	/* in bits; of IPv4 prefixes 96 more */
	struct canary_addr addr;
};

enum csw_route_kind {
	CSW_ROUTE_UNICAST	= 1,
	CSW_ROUTE_LOCAL		= 2,	/* this machine: left to the kernel */
	CSW_ROUTE_OTHER		= 3,	/* blackhole, other devices, ...: left to the kernel */
};

struct csw_nexthop {
	struct canary_addr gateway;	/* zeros: the destination is on link */
	__u32	ifindex;
};

struct csw_route {
	__u32	kind;
	__u32	nexthops;
	struct csw_nexthop nexthop[CSW_NEXTHOPS_MAX];
};

/*
 * map "admissions" (LPM): which sources at a port may use this switch, and for which communicators.
 * Only the longest prefix counts. So the daemon gives it the ranges of shorter prefixes, too.
 */
struct csw_admission_key {
	__u32	prefixlen;	/* 32 of the port and those of the address */
	__be32	ifindex;
	struct canary_addr addr;
};

struct csw_comm_range {
	__u32	first;
	__u32	last;
};

struct csw_admission {
	__u32	id;		/* number of the entry, not 0; see csw_descriptor.holder */
	__u32	ranges;
	struct csw_comm_range range[CSW_ADMIT_RANGES];
};

/* map "vlans": frames with this tag at this port are judged by the port that is that VLAN */
struct csw_vlan_key {
	__u32	ifindex;
	__be16	type;		/* 802.1Q or 802.1ad */
	__be16	vlan;
};

/* map "neighbours": has only reachable ones; on a miss the packet is left to the kernel */
struct csw_neigh_key {
	__u32	ifindex;
	struct canary_addr addr;
};

struct csw_neigh {
	__u8	mac[6];
	__u8	pad[2];
};

/*
 * What canary_xdp asks of canary_tc, in the packet's metadata. Metadata survives a veth pair, so
 * the other end can send some, too. canary_tc honours only metadata with the number that this
 * switch drew when it started, and wipes that number before the packet leaves.
 */
enum csw_meta_kind {
	CSW_META_EMIT	= 1,	/* finished: send it through that port's discipline */
	CSW_META_NEIGH	= 2,	/* the same, but the kernel finds the neighbour */
	CSW_META_COPY	= 3,	/* result: copy to descriptor's and restored children */
	CSW_META_SPREAD	= 4,	/* for canary_copy: a copy of a result */
};

struct csw_meta {
	__u64	secret;
	__u32	kind;		/* enum csw_meta_kind */
	__u32	ifindex;	/* EMIT, NEIGH: to this port */
	union {				/* the kernel has room for 32 bytes of metadata */
		struct {
			__u32 slot;		/* COPY: this descriptor, ~0 for none */
			__u32 generation;	/* COPY: only if it still has this generation */
			__u32 restoration;	/* COPY: 1 if there is one to look for */
			__u32 last;		/* COPY: 1 if the descriptor is free then */
		} copy;
		struct {
			__u32 place;		/* SPREAD: in the map "spreads" */
			__u32 serial;
			__u64 key;		/* SPREAD: of the group */
		} spread;
		struct canary_addr gateway;	/* NEIGH: the neighbour */
	};
};

/* The children of a result, as canary_tc collects them; one per processor */
#define CSW_COPIES_MAX	(CSW_CHILDREN_MAX + CSW_RESTORE_MAX)

struct csw_copies {
	struct csw_meta meta;	/* in canary_xdp: which result it is */
	__u32 n;
	__u32 own;		/* how many are the descriptor's; others are restored */
	__u32 waiting;		/* a child without neighbour, which goes last; n: none */
	__u32 reserved;
	struct canary_peer peer[CSW_COPIES_MAX];
};

/*
 * Counters besides the drop reasons of kmod/core/parse.h. Map "counters" (per CPU):
 * first these, then CANARY_DROPS drop reasons.
 */
#define CSW_COUNTERS(X)									\
	X(RX_CONTRIBUTION,	"rx-contribution",	"contributions received")	\
	X(RX_RESULT,		"rx-result",		"results addressed to us")	\
	X(RX_RESTORATION,	"rx-restoration",	"restorations addressed to us")	\
	X(NEW,			"new",			"descriptors taken")		\
	X(MERGED,		"merged",		"contributions added")		\
	X(SENT_COMPLETE,	"sent-complete",	"sent on: count complete")	\
	X(SENT_CARRIER,		"sent-carrier",		"sent on: timeout, carried away") \
	X(SENT_CLOCK,		"sent-clock",		"sent on: timeout, by the clock thread") \
	X(STRAGGLER,		"straggler",		"contributions after sending on") \
	X(EVICTED,		"evicted",		"descriptors too old, replaced")	\
	X(RESTARTED,		"restarted",		"descriptors begun anew") \
	X(BYPASS_COLLISION,	"bypass-collision",	"bypass: bucket full")		\
	X(BYPASS_CHILDREN,	"bypass-children",	"bypass: child list full")	\
	X(BYPASS_OPSIG,		"bypass-opsig",		"bypass: other operation in the slot") \
	X(BYPASS_LOCK,		"bypass-lock",		"bypass: slot busy")	\
	X(BYPASS_OPERATOR,	"bypass-operator",	"bypass: switches do not add this kind") \
	X(BYPASSED,		"bypassed",		"contributions that came with BYPASS") \
	X(REPLICATED,		"replicated",		"result copies sent to children") \
	X(RESTORED,		"restored",		"result copies sent by restoration") \
	X(RESULTS,		"results",		"results served, descriptor freed") \
	X(TO_KERNEL,		"to-kernel",		"left to the kernel's router")	\
	X(TX_BYTES,		"tx-bytes",		"bytes of contributions, results") \
	X(RX_BYTES,		"rx-bytes",		"bytes of contributions, results") \
	X(PASSED,		"passed",		"complete on arrival: nothing to add") \
	X(SENT_EXPECTED,	"sent-expected",	"sent on: all expected ones have come") \
	X(LEARNED,		"learned",		"fan-ins learned or corrected") \
	X(DIVERTED,		"diverted",		"sent to another than the home hop") \
	X(RESTORATIONS,		"restorations",		"restorations accepted")	\
	X(BYPASS_ADMISSION,	"bypass-admission",	"bypass: source not admitted")	\
	X(MARKED,		"marked",		"results, restorations: not admitted") \
	X(BYPASS_QUEUE_LOCK,	"bypass-queue-lock",	"bypass: deadline queue busy")	\
	X(DISPLACED,		"displaced",		"evicted for the share of others") \
	X(UNATTENDED,		"unattended",		"only forwarded: no clock, or ending") \
	X(SPREAD,		"spread",		"results copied by broadcast, not clones")

enum csw_counter {
#define X(name, text, help) CSW_##name,
	CSW_COUNTERS(X)
#undef X
	CSW_COUNTER_COUNT
};

#endif /* CANARY_BPF_SHARED_H */
