/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the switch programs and the switch daemon share: layout of map values, counters and
 * the configuration. Compiles after ctx/kernel.h (BPF) and after <linux/types.h> (daemon, native).
 *
 * Owners: the daemon writes configuration, ports, routes and neighbours; the programs write
 * descriptors, the deadline queue and counters. The daemon reads all of it, through mmap where
 * the map allows that.
 */
#ifndef CANARY_BPF_SHARED_H
#define CANARY_BPF_SHARED_H

/* The simulator has switches with more ports than BPF programs shall have to walk through. */
#ifndef CSW_CHILDREN_MAX
#define CSW_CHILDREN_MAX	32	/* children of one descriptor; more are bypassed */
#endif
#ifndef CSW_NEXTHOPS_MAX
#define CSW_NEXTHOPS_MAX	16	/* equal-cost next hops of one route; a power of two */
#endif
#define CSW_WAYS		4	/* slots of a bucket */
#define CSW_SLOTS_MIN		16
#define CSW_SLOTS_MAX		(1 << 20)
#define CSW_OWN_MACS		64	/* remembered addresses of ports; a power of two */
#define CSW_RESTORE_MAX		CANARY_RESTORED_MAX
#define CSW_RESTORE_BLOCKS	256	/* blocks with restorations at a time, by hash; ... */
#define CSW_RESTORE_LISTS	8	/* ... lists of one of them; both are powers of two */
#define CSW_RESTORE_SLOTS	(CSW_RESTORE_BLOCKS * CSW_RESTORE_LISTS)
#define CSW_CREDIT_MAX		4096	/* bypassed contributions that may still get copies */
#define CSW_FAN_INS		4096U	/* flows whose fan-in is remembered; a power of two */
#define CSW_FAN_IN_WAYS		2	/* places where a flow's may be */
#define CSW_FAN_IN_LOWER		3	/* blocks in a row that lower what is expected */
#define CSW_FAN_IN_CONFIG_MAX		256	/* prefixes of leaders whose fan-in is configured */
#define CSW_ADMISSIONS		16384	/* prefixes of admitted sources, of all ports together */
#define CSW_ADMIT_RANGES	16	/* ranges of communicators of one of them */

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

#define CSW_FULL		255	/* fullness of a queue that takes no more */
#define CSW_HALF_FULL		127
#define CSW_EIGHTH_FULL		32
#define CSW_BACK_BELIEVED	32	/* times as long as a block took: what its result says */
#define CSW_FLOWLETS		1024	/* flows that are told apart; a power of two */

enum csw_mode {
	CSW_FAST	= 0,	/* XDP redirect: bypasses the egress qdisc */
	CSW_SHAPED	= 1,	/* metadata, XDP_PASS -> clsact -> redirect: through the qdisc */
};

/* Contributions that are neither added nor come from here: bypassed, or complete on arrival */
enum csw_forward_by {
	CSW_FORWARD_FAST	= 0,	/* as what is sent on: netfilter does not see them */
	CSW_FORWARD_STACK	= 1,	/* the kernel's router does it, netfilter and all */
};

enum csw_fan_in_mode {
	CSW_FAN_IN_OFF		= 0,	/* a block is only complete with all members */
	CSW_FAN_IN_LEARN	= 1,	/* or with all that come here, as learned from results */
};

/* One per switch; in a global variable (mmapped), the daemon may change it at any time. */
struct csw_config {
	struct canary_addr addr;	/* the switch's own */
	__be16	port;		/* CANARY_PORT_BASE */
	__u16	restore;	/* honour restorations */
	__u32	slot_mask;	/* descriptors - 1; their number is a power of two */
	__u32	queue_mask;	/* queue entries - 1; a power of two, more than descriptors */
	__u16	children_max;	/* 1 .. CSW_CHILDREN_MAX */
	__u16	root_patience;	/* further timeouts that the root switch of a block waits */
	__u64	timeout_ns;	/* from first contribution to sending on; at first, if it adapts */
	__u64	lifetime_ns;	/* soft state older than this may be evicted */
	__u16	fan_in;		/* enum csw_fan_in_mode */
	__u16	fan_ins_configured;	/* entries in the map "fan_in_config" */
	__u32	secret_now;	/* of @secret the one for new cookies; both are honoured */
	__u64	secret[2][2];
	__u64	timeout_min;	/* it adapts to the skew of arrivals between these, ... */
	__u64	timeout_max;	/* ... or not, if this is 0 */
	__u32	seed;		/* of the table's hash */
	__u32	admit;		/* only sources in the map "admissions"; 0: everybody */
	__u64	netns;		/* cookie of our network namespace; 0: backlogs are unknown */
	__u64	flowlet_ns;	/* a flow's pause after which it may take another port */
	__u32	spread;		/* block or path is divided by it before it chooses; 0: by 1 */
	__u32	choice;		/* enum csw_choice */
	__u32	trees;		/* static: blocks take turns among so many, all if 0 */
	__u32	first_tree;
	__u32	forward;	/* enum csw_forward_by */
	__be32	id;		/* the switch's number in headers, not 0 */
};

/* Child of a descriptor: where a result has to go. */
struct csw_child {
	struct canary_peer at;
	__u32	reserved;
	__be64	tag;		/* of its last contribution: repeats are dropped */
};

enum csw_state {
	CSW_FREE	= 0,
	CSW_COLLECTING	= 1,	/* on the deadline queue, or about to be sent on */
	CSW_SENT	= 2,	/* sent on; kept for stragglers and for the result */
};

/*
 * struct csw_descriptor - soft state of one block
 * Lifetime: the slot exists for ever; its content from the first contribution to the result,
 * or until older than csw_config.lifetime_ns and wanted for another block.
 * Lock: @lock of the first slot of the bucket (slot & ~(CSW_WAYS - 1)) covers all its slots, so
 * that two processors can't take two slots for one block. A bounded cmpxchg try-lock (0 free,
 * 1 held); who fails to get it bypasses.
 * @generation changes whenever the slot is taken or freed, so that a result that waits for its
 * copies recognises a later holder. @queued stays when the slot is freed.
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
	__u8	pad;
	__u8	load;
	__u8	path;
	__u8	flags;
	__u8	waits_left;	/* timeouts that it may still wait after the next one */
	__u16	members;
	__u16	count;
	__u16	length;		/* bytes of data */
	__u16	children;
	__u16	expect;		/* with so many it is sent on: all that come here */
	__u16	stragglers;	/* members in them */
	__u8	waits;		/* further timeouts that it may wait in all */
	__u8	queued;		/* the slot is in the deadline queue */
	__u16	port;		/* low bits of the ifindex that it leaves by, as a rule */
	struct canary_peer leader;
	__be16	rank;		/* of the only contribution while count is 1 */
	__u16	reserved2;
	__u64	tag;
	__be64	mac;		/* of the only contribution while count is 1 */
	__u32	sum;
	__u32	done;
	__u32	holder;		/* csw_admission.id of the first contribution, 0 without */
	__u32	reserved;
	__u64	out;		/* sum of the data's words as they leave, for the UDP checksum */
	__u64	child_bits;	/* a bit by hash of each child: most packets are from a new one */
	struct csw_child child[CSW_CHILDREN_MAX];
	__u32	data[CANARY_ELEMENTS_MAX];
};

/*
 * struct csw_restoration - children that a block has beside those in a descriptor
 * Map "restorations" (ARRAY): direct-mapped soft state, the newest wins. From RESTORATION to the
 * RESULT that follows it, or until older than csw_config.lifetime_ns. A block's lists have places
 * of their own: copies are made in tc, and the next list may be here before that. Lock: as a
 * descriptor's, but each its own.
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
	__u16	number;		/* of the block's lists */
	struct canary_peer child[CSW_RESTORE_MAX];
};

/*
 * struct csw_fan_in - how many members' contributions come by here for the blocks of one leader, or
 * of any leader behind one port (addr 0.x.x.x, see fan_in.h)
 * Map "fan_ins" (ARRAY): soft state, the flow that was not served for the longest time makes room.
 * Learned when a result comes: by then all that goes through this switch has, stragglers too.
 * More than expected is believed at once (waiting is safe), fewer after CSW_FAN_IN_LOWER blocks in
 * a row that agree. Lock: a try-lock of its own; who fails to get it learns nothing. Readers take
 * none: a wrong number costs stragglers or a timeout.
 */
struct csw_fan_in {
	__u32	lock;
	__be32	comm;
	__be32	epoch;
	struct canary_peer leader;
	__u32	blocks;		/* learned from */
	__u16	expect;		/* 0: free */
	__u16	lower;		/* what came instead, lately, ... */
	__u16	lower_blocks;	/* ... with so many blocks in a row */
	__u16	reserved;
	__u64	used;		/* ns, CLOCK_MONOTONIC */
};

/* Where canary_tc puts the children of a result together; one per processor */
#define CSW_COPIES_MAX	(CSW_CHILDREN_MAX + CSW_RESTORE_MAX)

struct csw_copies {
	__u32 n;
	__u32 own;		/* the first so many are the descriptor's, others restored */
	__u32 waiting;		/* one without neighbour goes last; n for none */
	__u32 reserved;
	struct canary_peer peer[CSW_COPIES_MAX];
};

/*
 * Deadline queue: a FIFO, sorted because the timeout is constant, and where it gets shorter no
 * deadline is before the last one given. A slot is in it once at most (csw_descriptor.queued); if
 * it is taken again before its turn, it goes back to the end then, to wait for the rest of its
 * time, by up to a timeout longer. The root switch of a block
 * (the one next to its leader) has to wait for what waited at other switches before: there a
 * block that falls due goes back to the end, csw_config.root_patience times.
 */
struct csw_queue_entry {
	__u64	deadline;
	__u32	slot;
	__u32	reserved;
};

/*
 * Queue control, in a global variable (mmapped). @tail: next to write (programs, under @lock);
 * @head: next to emit (programs, under @lock). What goes back to the end moves @tail before @head:
 * while something is queued, nobody ever sees them equal. @sleeping: set by the clock thread before
 * it sleeps without a deadline; whoever enqueues and finds it set clears it and writes to the
 * "wake" ring buffer. @seen: when a program last looked at the clock. @last: latest deadline given.
 * @timeout: the present one if it adapts, from @mean and @deviation of the skew of arrivals.
 * @open_until: new blocks are taken until then (ns, CLOCK_MONOTONIC): the clock thread, which sends
 * them on, moves it forward while it works. 0: the switch is about to end, all that is held is due.
 */
struct csw_queue_ctl {
	__u32	lock;
	__u32	head;
	__u32	tail;
	__u32	sleeping;
	__u64	seen;
	__u64	last;
	__u64	timeout;
	__u64	mean;
	__u64	deviation;
	__u64	open_until;
};

/* map "ports": ifindex -> struct csw_port */
struct csw_port {
	__u8	mac[6];		/* first, so that it is aligned */
	__u8	mode;		/* enum csw_mode */
	__u8	captive;	/* it has a master: what comes is not ours */
	__u32	mtu;		/* largest IP packet */
	__u32	queue;		/* bytes that may wait at its egress; 0: unknown */
};

/*
 * map "canary_backlog", one for all switches of a machine: who waits at which device. The daemon
 * makes and deletes the entries of its ports; the tracepoint programs (canary_backlog.bpf.c) know
 * what waits, the switch's own programs count what they chose.
 */
struct csw_backlog_key {
	__u64	netns;		/* cookie of the network namespace: never used again */
	__u32	ifindex;
	__u32	reserved;
};

#define CSW_BACKLOG_PORTS	16384	/* of all switches of a machine */
#define CSW_BACKLOG_QUEUES	8	/* transmit queues that are told apart; a power of two */
#define CSW_DROPS_UNKNOWN	(~0U)	/* by processor, which nobody adds up here */
#define CSW_BACKLOG_STALE_NS	1000000000ULL	/* what waits so long without a sign is no more */
#define CSW_BACKLOG_REFUSED_NS	1000000ULL	/* who refused frames is full for so long */

struct csw_backlog {
	__u64	changed;	/* when, CLOCK_MONOTONIC ns */
	__u64	refused;	/* when the driver last refused redirected frames */
	__u64	refusals;	/* frames that it refused */
	__u64	chosen;		/* packets sent here where another next hop was possible */
	__u64	diverted;	/* of these: not the default port of the block */
	__u32	bytes;		/* waiting, all transmit queues */
	__u32	peak;		/* the most that ever waited */
	__u32	drops;		/* dropped by the queueing disciplines, as they count them */
	__u32	back;		/* fullness of the queue at the other end of the link, ... */
	__u64	back_until;	/* ... which is believed until then */
	__u32	queue[CSW_BACKLOG_QUEUES];	/* bytes waiting, by transmit queue */
	__u32	dropped[CSW_BACKLOG_QUEUES];
	__u64	root;		/* the device's discipline that this is about */
	__u32	handle;		/* and its */
	__u32	reserved;
};

/* A flow's last port and packet: see CSW_CHOOSE_FLOWLET. Torn ones do no harm. */
struct csw_flowlet {
	__u64	last;		/* ns */
	__u32	index;		/* of the next hop */
	__u32	flow;		/* hash: another flow begins anew */
};

/* map "routes" (LPM): */
struct csw_route_key {
	__u32	prefixlen;	/* of IPv4 96 and that of a.b.c.d */
	struct canary_addr addr;
};

enum csw_route_kind {
	CSW_ROUTE_UNICAST	= 1,
	CSW_ROUTE_LOCAL		= 2,	/* this machine: leave it to the kernel */
	CSW_ROUTE_OTHER		= 3,	/* blackhole, other devices, ...: leave it to the kernel */
};

struct csw_nexthop {
	struct canary_addr gateway;	/* zeros: on link, the destination is the neighbour */
	__u32	ifindex;
};

struct csw_route {
	__u32	kind;
	__u32	nexthops;
	struct csw_nexthop nexthop[CSW_NEXTHOPS_MAX];
};

/*
 * map "admissions" (LPM): sources at a port whose packets make this switch act, and the
 * communicators for which they do. The longest prefix counts: the daemon gives it the ranges of
 * shorter ones, too.
 */
struct csw_admission_key {
	__u32	prefixlen;	/* of both: 32 more than that of the address */
	__be32	ifindex;
	struct canary_addr addr;
};

struct csw_comm_range {
	__u32	first;
	__u32	last;
};

struct csw_admission {
	__u32	id;		/* not 0: whose descriptors are whose */
	__u32	ranges;
	struct csw_comm_range range[CSW_ADMIT_RANGES];
};

/* map "vlans": what comes with this tag by this port is judged by the port that is that VLAN */
struct csw_vlan_key {
	__u32	ifindex;
	__be16	type;		/* 802.1Q or 802.1ad */
	__be16	vlan;
};

/* map "neighbours": only reachable ones are in it; a miss leaves the packet to the kernel */
struct csw_neigh_key {
	__u32	ifindex;
	struct canary_addr addr;
};

struct csw_neigh {
	__u8	mac[6];
	__u8	pad[2];
};

/*
 * What canary_xdp asks of canary_tc, in the packet's metadata. That survives a veth pair, so who
 * is at the other end can send some, too: canary_tc honours only what has the number that this
 * switch drew when it started, and wipes it before the packet leaves.
 */
enum csw_meta_kind {
	CSW_META_EMIT	= 1,	/* the frame is finished: send it through that port's qdisc */
	CSW_META_NEIGH	= 2,	/* the same, but the kernel has to find the neighbour */
	CSW_META_COPY	= 3,	/* a result: copies to children of a descriptor and a restoration */
};

struct csw_meta {
	__u64	secret;
	__u32	kind;		/* enum csw_meta_kind */
	__u32	ifindex;	/* EMIT, NEIGH: to this port */
	union {				/* the kernel has room for 32 bytes in all */
		struct {
			__u32 slot;		/* COPY: this descriptor, ~0 for none */
			__u32 generation;	/* COPY: if it still has this generation */
			__u32 restoration;	/* COPY: 1 if there is one to look for */
			__u32 reserved;
		} copy;
		struct canary_addr gateway;	/* NEIGH: the neighbour */
	};
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
	X(BYPASS_OPERATOR,	"bypass-operator",	"bypass: kind not for switches") \
	X(BYPASSED,		"bypassed",		"passing by, marked by somebody else") \
	X(REPLICATED,		"replicated",		"result copies sent to children") \
	X(RESTORED,		"restored",		"result copies sent by restoration") \
	X(RESULTS,		"results",		"results served, descriptor freed") \
	X(TO_KERNEL,		"to-kernel",		"left to the kernel's router")	\
	X(TX_BYTES,		"tx-bytes",		"bytes of contributions, results") \
	X(RX_BYTES,		"rx-bytes",		"bytes of contributions, results") \
	X(PASSED,		"passed",		"complete on arrival: nothing to add") \
	X(SENT_EXPECTED,	"sent-expected",	"sent on: all has come that comes here") \
	X(LEARNED,		"learned",		"fan-ins learned or corrected") \
	X(DIVERTED,		"diverted",		"sent by another port than the block's") \
	X(RESTORATIONS,		"restorations",		"restorations accepted")	\
	X(BYPASS_ADMISSION,	"bypass-admission",	"bypass: source not admitted")	\
	X(MARKED,		"marked",		"results, restorations: not admitted") \
	X(BYPASS_QUEUE_LOCK,	"bypass-queue-lock",	"bypass: deadline queue busy")	\
	X(DISPLACED,		"displaced",		"evicted for the share of others") \
	X(UNATTENDED,		"unattended",		"only forwarded: no clock, or it ends")

enum csw_counter {
#define X(name, text, help) CSW_##name,
	CSW_COUNTERS(X)
#undef X
	CSW_COUNTER_COUNT
};

#endif /* CANARY_BPF_SHARED_H */
