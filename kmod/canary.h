/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the module share: its objects, who owns them, and the locking.
 *
 * A socket has two halves. struct canary_sock is the face that system calls see; it dies with
 * close(). struct canary_comm is the engine: the protocol core, the timer, the vectors and a UDP
 * socket to send from. The engine is made with the socket and may outlive it, to serve other
 * members for a bounded time (core.h, "lingering"). struct canary_endpoint is a UDP port, of one
 * engine or of several that share it.
 *
 * Locking
 * -------
 * lock_sock(sk)	process context. Serialises bind(), connect(), setsockopt(), shutdown()
 *		and close(). Protects how a communicator is configured, and its port.
 *		Nobody holds it for two sockets. sendmsg() and recvmsg() do not take it:
 *		posting must neither wait for reading nor for a copy of 16 MiB.
 * canary_comm.lock	spin lock, softirqs off. It is held around every call into the
 *		protocol core. Protects the vectors, the budget and the pointer to the face.
 *		Packets and the timer (softirqs) and sendmsg() take it.
 * canary_endpoint.lock	spin lock, softirqs off. Protects who shares a port, and under which
 *		names. Readers of the names use RCU.
 * canary_net.lock	mutex. Protects the list of engines of a namespace.
 * canary_net.rules_lock	mutex. Protects the rules of a namespace. Taken under lock_sock.
 * canary_net.stats_lock	spin lock, softirqs off. Protects the counters of ended engines.
 *
 * Order: lock_sock, net_rwsem, canary_net.lock, canary_comm.lock; then canary_endpoint.lock, wait
 * queue locks or stats_lock. Waiters are woken under canary_comm.lock, so that the face cannot go
 * away meanwhile.
 *
 * Nothing is transmitted under canary_comm.lock. canary_comm_round() collects packets under it,
 * releases it, and only then hands the packets to IP. So the lock of no queue or device nests in
 * it, a packet that comes back at once (loopback, veth) finds it free, and no engine ever holds two
 * of these locks. Packets of two processors may then overtake each other. The protocol does not
 * mind that.
 *
 * Lifetime
 * --------
 * An engine ends exactly once, in canary_comm_end(). The bit CANARY_COMM_ENDING gives the right to
 * end it, either to close() or to the work queue. Packets find the endpoint through the UDP socket,
 * and the engine through the endpoint, under RCU. The memory of both goes after a grace period; an
 * engine that ended has no core any more. An endpoint, and its port, ends with the last engine that
 * shares it. Every engine holds a reference to the module, so rmmod is refused while one lingers.
 * It holds none to the namespace, which ends its engines when it goes.
 */
#ifndef CANARY_KMOD_H
#define CANARY_KMOD_H

#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <linux/canary.h>
#include "core/core.h"

#define CANARY_VECTOR_DEFAULT	(16U << 20)	/* CANARY_MAX_VECTOR */
#define CANARY_VECTOR_LIMIT	(256U << 20)	/* highest value of that option */
#define CANARY_VECTOR_PAGED	SZ_64K		/* vectors from this size on are in single pages */
#define CANARY_MEMORY_NEAR	128		/* so much memory is part of a copied vector */
#define CANARY_VECTORS_BUDGET	8		/* vectors of that size in sysctl wmem_default */
#define CANARY_LINGER_DEFAULT	60000U		/* ms */
#define CANARY_LINGER_LIMIT	60000U
#define CANARY_DEAD_DEFAULT	5000U		/* ms */
#define CANARY_DEAD_MIN		100U
#define CANARY_DEAD_LIMIT	3600000U
#define CANARY_ROUTES		16		/* destinations remembered, a power of two */
#define CANARY_TIMER_GAP	(50 * NSEC_PER_USEC)	/* least time from timer to timer */
#define CANARY_TRAIN_DEFAULT	16		/* net.canary.train_max */
#define CANARY_TRAIN_LIMIT	64		/* its highest value */
#define CANARY_BATCH		64		/* packets collected before the lock is released */
#define CANARY_BATCHES		64		/* batches of a process, then the tasklet goes on */
#define CANARY_MEMBERS_DEFAULT	1048576		/* net.canary.members_max */
#define CANARY_SLICE		256		/* members that the core looks at in one call */
#define CANARY_FEW		4		/* packets collected if the tasklet has to go on */
#define CANARY_ENDPOINT_MAX	4096	/* most engines that share a port */
#define CANARY_GOODBYE_TRIES	200	/* ms that goodbyes may wait for a full UDP socket */
#define CANARY_GOODBYE_GOING	10	/* the same, when the namespace goes */

/* CANARY_STATS and /proc/net/canary_stats: counters, then drop reasons from "none" on */
#define CANARY_STATS_COUNT	(CNR_COUNTER_COUNT + CANARY_DROPS)

/**
 * struct canary_pin - pinned pages of an application, see pin.c
 * @pages:	all of them
 * @pinned:	how many are pinned
 * @write:	the kernel writes to them
 * @map:	the kernel's mapping, from the first page on
 * @data:	where the data begin in @map
 */
struct canary_pin {
	struct page	**pages;
	u32		pinned;
	bool		write;
	u8		*map;
	void		*data;
};

/**
 * struct canary_vector - an operation: its data and how it ended
 * @all:	in canary_comm.vectors, until the memory is given back; then maybe in
 *		canary_comm.spares
 * @done:	in canary_comm.ended from completion on, then in canary_comm.done until it is
 *		received
 * @refs:	one of the core (from posting to release), one of the application (from posting
 *		until it is received), one of each recvmsg() that copies from it
 * @tag:	canary_operation.tag
 * @charge:	what it adds to canary_comm.charged
 * @bytes:	length of @data
 * @pinned:	its data are in the application's memory
 * @released:	the core needs it no longer
 * @method:	see struct canary_completion. Like the next three, it is valid from completion on
 * @error:	0 or negative errno
 * @attempts:	see struct canary_completion
 * @seq:	see struct canary_completion
 * @data:	results: in @own, or in the mapping of @to
 * @source:	contributions: in the mapping of @from; NULL: they are in @data
 * @hashes:	of the results, if @pinned (cnr_op.hashes)
 * @memory:	NULL, or what the encoding keeps (cnr_op.memory)
 * @kept:	bytes of @memory, unless @pinned
 * @process:	tgid that allocated it, unless @pinned
 * @near:	@memory is behind @own
 * @idle:	a spare one that was not used for a while
 * @locked:	counts its pages against RLIMIT_MEMLOCK
 * @to:		pages of the results, if @pinned
 * @from:	pages of the contributions, if these are elsewhere
 * @own:	memory of the data, unless @pinned
 *
 * Owner: the engine. Lock: canary_comm.lock, but for @data, which belongs to sendmsg() before
 * posting and is only read after completion.
 */
struct canary_vector {
	struct list_head	all;
	struct list_head	done;
	refcount_t		refs;
	u64			tag;
	size_t			charge;
	u32			bytes;
	bool			pinned;
	bool			released;
	bool			near;
	bool			idle;
	u8			method;
	int			error;
	u32			attempts;
	u32			seq;
	u32			*data;
	const u32		*source;
	u64			*hashes;
	void			*memory;
	size_t			kept;
	pid_t			process;
	struct mmpin		locked;
	struct canary_pin	to;
	struct canary_pin	from;
	u32			own[] __aligned(8);
};

/**
 * struct canary_route - a destination, how to get there, and what is being sent there
 * @rt:		NULL, or a route (may have expired: dst_check())
 * @addr:	destination
 * @port:	destination port: equal-cost paths may be chosen by it
 * @size:	bytes of the first packet of @train from the Canary header on; others are not longer
 * @train:	NULL, or the last packet to there, while others may join it (train.c). It is in a
 *		queue of canary_comm_round()
 * @last:	the last packet that joined @train; NULL: none did
 *
 * Owner: the engine. Lock: canary_comm.lock.
 */
struct canary_route {
	struct rtable		*rt;
	struct canary_addr	addr;
	__be16			port;
	u16			size;
	struct sk_buff		*train;
	struct sk_buff		*last;
};

struct canary_comm;
struct canary_names;

/**
 * struct canary_table - CANARY_TABLE, copied and checked
 * @size:	bytes that it takes from the namespace's memory
 * @of:		as the core has it; its @peer is @peer here
 * @peer:	address and port of each rank
 *
 * Owner: the engine. Lock: lock_sock; constant while there is a core, which uses @peer.
 */
struct canary_table {
	size_t			size;
	struct cnr_table	of;
	struct canary_peer	peer[];
};

/**
 * struct canary_name - by what packets name an engine, see endpoint.c
 * @node:	in canary_endpoint.names, if that is used. Read under RCU
 * @comm:	the engine that it is part of; constant
 * @id:		communicator
 * @epoch:	its epoch; 0: the name is the communicator alone
 * @given:	the engine has this name now
 *
 * Owner: the engine. Lock: canary_endpoint.lock.
 */
struct canary_name {
	struct hlist_node	node;
	struct canary_comm	*comm;
	u32			id;
	u32			epoch;
	bool			given;
};

/**
 * struct canary_endpoint - a UDP port
 * @names:	NULL, or the engine of each name, once several engines have shared the port. Read
 *		under RCU
 * @only:	the first engine, until it goes; all packets are for it while @names is NULL
 * @net:	its namespace
 * @usock:	UDP socket that is bound to the port and gets its packets; constant
 * @addr:	address that it is bound to; constant
 * @port:	its number; constant
 * @uid:	user that it belongs to; constant
 * @lock:	see above
 * @engines:	how many share it. Lock: @lock; READ_ONCE()
 * @rcu:	frees it
 *
 * Owner: the engines that share it.
 */
struct canary_endpoint {
	struct canary_names __rcu	*names;
	struct canary_comm __rcu	*only;
	struct net			*net;
	struct socket			*usock;
	struct canary_addr		addr;
	__be16				port;
	kuid_t				uid;
	spinlock_t			lock;	/* of @names, @engines */
	u32				engines;
	struct rcu_head			rcu;
};

enum canary_comm_flags {
	CANARY_COMM_ENDING,	/* somebody has the right and the duty to end it */
	CANARY_COMM_BLOCKED,	/* packets wait for room in the UDP socket */
	CANARY_COMM_MORE,	/* the tasklet is going to go on */
};

/* What is left to do for the core */
enum canary_left {
	CANARY_LEFT_NOTHING,
	CANARY_LEFT_MORE,	/* more can be done at once */
	CANARY_LEFT_BLOCKED,	/* packets wait for room in the UDP socket */
};

/**
 * struct canary_comm - the engine of one rank of one communicator
 * @lock:	see above
 * @sk:		the face, NULL after close(). Lock: @lock
 * @core:	the protocol's state; NULL before connect() and after the end. Lock: @lock
 * @core_size:	bytes of @core. Lock: @lock
 * @counted:	members that it counts in canary_net.members. Lock: lock_sock, until it ends
 * @state:	of @core, when it was last read. Lock: @lock
 * @connected:	@core has been connected. Lock: @lock
 * @dead:	it ends, so the timer is not armed any more. Lock: @lock
 * @pending:	operations that were posted and are not in @done yet. Lock: @lock
 * @charged:	bytes of all vectors. Lock: @lock
 * @wanted:	bytes for which there was no room when it was last asked for, or 0. Lock: @lock
 * @draining:	packets wait until half of the earlier ones have left the machine. Lock: @lock
 * @armed:	when @timer fires, or CNR_NEVER. Lock: @lock
 * @fired:	when @timer last fired. Lock: @lock
 * @vectors:	all of them. Lock: @lock
 * @spares:	vectors that no operation has, for later ones (spare.c). Lock: @lock
 * @spared:	bytes of these. Lock: @lock
 * @spare_count: how many. Lock: @lock
 * @spare_work:	frees those that are not used. Process context
 * @ended:	completed operations, in order, that wait behind one whose memory the core still
 *		needs. Lock: @lock
 * @done:	completed operations to be received, in order. Lock: @lock
 * @routes:	by destination. Lock: @lock
 * @trains:	bits of the @routes that have a train. Lock: @lock
 * @train_most:	packets that a train may have in the latest round; 0 or 1: there are none. Lock:
 *		@lock
 * @placed:	NULL, or a packet whose data the core is making (canary_send_place()). Lock: @lock
 * @flags:	enum canary_comm_flags, atomic
 * @timer:	the core's deadline. Softirq
 * @space:	in the wait queue of @usk: called when there is room again
 * @go_on:	tasklet that goes on when there is room, and after a full batch. Softirq
 * @end_work:	ends an engine that lingered. Process context
 * @list:	in canary_net.comms. Lock: canary_net.lock
 * @rcu:	frees it
 * @net:	its namespace; alive as long as the engine is (see netns.c)
 * @ep:		NULL before bind(). Lock: lock_sock and @lock; constant once there is a core
 * @usock:	UDP socket to send from. An engine that opened the port sends from @ep's socket, one
 *		that shares it from an unbound one. Lock: lock_sock; constant once there is a core
 * @usk:	@usock->sk; it lives for a grace period longer
 * @joining:	its name in packets of rendezvous to @ep
 * @session:	its name in all other packets, once the epoch is known
 * @addr:	own address; 0.0.0.0 may stand until connect() chooses one. Lock: as @usock
 * @port:	own port, that of @ep. Lock: as @usock
 * @uid:	user of the socket; constant
 * @bound:	address that was given to bind(). Lock: lock_sock
 * @found:	connect() chose the port, not bind(). Lock: lock_sock
 * @root:	address of rank 0. Lock: as @usock
 * @root_port:	port of rank 0. Lock: as @usock
 * @configured:	CANARY_COMM was set. Lock: lock_sock
 * @req:	value of CANARY_COMM. Lock: as @usock
 * @linger:	CANARY_LINGER, ms. Lock: as @usock
 * @algorithm:	CANARY_ALGORITHM. Lock: as @usock
 * @dead_after:	CANARY_DEAD_AFTER, ms. Lock: as @usock
 * @table:	NULL, or CANARY_TABLE. Lock: lock_sock and @lock
 * @believed:	CANARY_AGGREGATES; the prefixes of a rule replace them. Lock: lock_sock
 * @believe:	how many prefixes @believed has. Lock: lock_sock
 * @flat:	the payload of a packet that came in pieces. Lock: @lock
 *
 * Owner: the face until close(), then itself.
 */
struct canary_comm {
	/* protects the core and what belongs to it: see the top of this file */
	spinlock_t		lock;
	struct sock		*sk;
	struct cnr_comm		*core;
	size_t			core_size;
	u32			counted;
	enum cnr_state		state;
	bool			connected;
	bool			dead;
	bool			draining;
	u32			pending;
	size_t			charged;
	size_t			wanted;
	u64			armed;
	u64			fired;
	struct list_head	vectors;
	struct list_head	spares;
	size_t			spared;
	u32			spare_count;
	struct delayed_work	spare_work;
	struct list_head	ended;
	struct list_head	done;
	struct canary_route	routes[CANARY_ROUTES];
	u32			trains;
	u32			train_most;
	struct sk_buff		*placed;

	unsigned long		flags;
	struct hrtimer		timer;
	wait_queue_entry_t	space;
	struct tasklet_struct	go_on;
	struct work_struct	end_work;
	struct list_head	list;
	struct rcu_head		rcu;

	struct net		*net;
	struct canary_endpoint	*ep;
	struct socket		*usock;
	struct sock		*usk;
	struct canary_name	joining;
	struct canary_name	session;
	struct canary_addr	addr;
	struct canary_addr	bound;
	struct canary_addr	root;
	__be16			port;
	__be16			root_port;
	kuid_t			uid;
	bool			found;
	bool			configured;
	struct canary_comm_req	req;
	u32			linger;
	u32			dead_after;
	u32			algorithm;
	struct canary_table	*table;
	struct canary_prefix	believed[CANARY_AGGREGATES_MAX];
	u32			believe;
	u8			flat[CANARY_PAYLOAD_MAX] __aligned(8);
};

/**
 * struct canary_sock - the face of a socket
 * @sk:		has to be first
 * @comm:	the engine; constant
 * @max_vector:	CANARY_MAX_VECTOR; READ_ONCE()
 *
 * Owner: the file, as of any socket.
 */
struct canary_sock {
	struct sock		sk;
	struct canary_comm	*comm;
	u32			max_vector;
};

/* Fill in what %pIS prints: struct sockaddr_in6, or for IPv4 a struct sockaddr_in in its place. */
static inline void canary_sockaddr_fill(void *to, const struct canary_addr *addr, __be16 port)
{
	struct sockaddr_in6 *sin6 = to;
	struct sockaddr_in *sin = to;

	memset(to, 0, sizeof(*sin6));
	if (canary_addr_is_ip4(addr) || canary_addr_is_any(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = canary_addr_ip4(addr);
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = port;
		memcpy(&sin6->sin6_addr, addr, sizeof(*addr));
	}
}

static inline struct canary_sock *canary_sk(const struct sock *sk)
{
	return (struct canary_sock *)sk;
}

/**
 * struct canary_rule - who may be a member of which communicators
 * @list:	in canary_net.rules
 * @first:	first communicator
 * @last:	last one
 * @uid:	effective user that it is for, or INVALID_UID
 * @gid:	group that the caller has to be in, or INVALID_GID. If neither is given, the rule is
 *		for anybody
 * @keyed:	@key is the pre-shared key of the communicators
 * @believe:	how many prefixes @believed has; 0: the rule says nothing about aggregates
 * @key:	never shown to anybody
 * @believed:	sources whose aggregates members take
 *
 * Owner: the list. Lock: canary_net.rules_lock.
 */
struct canary_rule {
	struct list_head	list;
	u32			first;
	u32			last;
	kuid_t			uid;
	kgid_t			gid;
	bool			keyed;
	u32			believe;
	u8			key[CANARY_KEY_BYTES];
	struct canary_prefix	believed[CANARY_AGGREGATES_MAX];
};

/**
 * struct canary_net - the module in a network namespace
 * @lock:	see above
 * @comms:	all engines, lingering ones too. Lock: @lock
 * @engines:	how many engines have not ended completely. A waiter for 0 waits for the variable
 * @going:	the namespace goes, so nobody waits long to say goodbye
 * @rules_lock:	see above
 * @rules:	struct canary_rule, in the order in which they are tried. Lock: @rules_lock
 * @rule_count:	how many. Lock: @rules_lock
 * @rules_seq:	changes whenever @rules changes. Lock: @rules_lock
 * @rules_refused:	how often a member was refused. Lock: @rules_lock
 * @stats_lock:	see above
 * @ended:	counters of engines that have ended, and of events without a core. Lock: @stats_lock
 * @memory:	bytes that its sockets and engines have taken. Atomic
 * @spares:	bytes of spare vectors, beside @memory. Atomic
 * @memory_max:	sysctl mem_max; READ_ONCE()
 * @wmem_default: sysctl wmem_default; READ_ONCE()
 * @members_max: sysctl members_max; READ_ONCE()
 * @train_max:	sysctl train_max; READ_ONCE()
 * @members:	sum of the members of the communicators of all engines that have a core. Atomic
 * @share:	NULL, or what the guests of its user take together (budget.c); constant
 * @sysctl:	/proc/sys/net/canary; constant
 * @sysctl_table: memory of @sysctl
 *
 * Owner: the namespace (net_generic).
 */
struct canary_net {
	struct mutex		lock;	/* of @comms */
	struct list_head	comms;
	atomic_t		engines;
	bool			going;
	struct mutex		rules_lock;	/* of @rules */
	struct list_head	rules;
	u32			rule_count;
	u32			rules_seq;
	u64			rules_refused;
	spinlock_t		stats_lock;	/* of @ended */
	struct cnr_stats	ended;
	atomic_long_t		memory;
	atomic_long_t		spares;
	unsigned long		memory_max;
	int			wmem_default;
	int			members_max;
	int			train_max;
	atomic_long_t		members;
	struct canary_share	*share;
	struct ctl_table_header	*sysctl;
	struct ctl_table	*sysctl_table;
};

/* address.c */
extern int canary_family;
int canary_check_addr(const struct sockaddr *addr, int len);

/* work.c */
extern struct workqueue_struct *canary_wq;
int canary_work_init(void);
void canary_work_exit(void);

/* pernet.c */
extern unsigned int canary_net_id;
struct canary_net *canary_net(const struct net *net);

/* af_canary.c */
extern struct proto canary_proto;
int canary_family_register(void);
void canary_family_unregister(void);

/* sockopt.c */
int canary_setsockopt(struct socket *sock, int level, int name, sockptr_t val, unsigned int len);
int canary_getsockopt(struct socket *sock, int level, int name, char __user *val,
		      int __user *len);

/* table.c */
struct canary_table *canary_table_copy(const struct net *net, sockptr_t val, unsigned int len);
void canary_table_free(const struct net *net, struct canary_table *t);
void canary_table_set(struct canary_comm *comm, struct canary_table *t);
size_t canary_table_bytes(const struct canary_comm *comm);

/* connect.c */
int canary_connect(struct socket *sock, struct sockaddr *addr, int len, int flags);

/* operation.c */
int canary_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int canary_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);

/* comm.c */
struct canary_comm *canary_comm_alloc(struct sock *sk);
int canary_comm_start(struct canary_comm *comm, const struct cnr_config *cfg);
void canary_comm_answer(struct canary_comm *comm, u64 now, bool late, u32 n, bool taken)
	__releases(comm->lock);
enum canary_left canary_comm_drive(struct canary_comm *comm) __releases(comm->lock);
void canary_comm_close(struct canary_comm *comm);
void canary_comm_give_port(struct canary_comm *comm);
void canary_comm_schedule_end(struct canary_comm *comm);

/* turn.c */
enum canary_turn_kind {
	CANARY_TURN_TIMER,
	CANARY_TURN_TASKLET,
	CANARY_TURN_PACKET,
	CANARY_TURNS
};

u64 canary_turn_begin(enum canary_turn_kind kind, const struct canary_comm *comm, u64 now);
void canary_turn_end(enum canary_turn_kind kind);

/* port.c */
typedef int canary_receiver(struct sock *usk, struct sk_buff *skb);

int canary_port_open(struct canary_comm *comm, const struct canary_addr *addr, __be16 port,
		     int ifindex, canary_receiver *receive);
int canary_port_share(struct canary_comm *comm, struct canary_endpoint *ep);
int canary_port_device(struct canary_comm *comm, int ifindex);
void canary_port_put(struct canary_endpoint *ep, const struct canary_comm *comm);
void canary_port_close(struct canary_comm *comm);

/* endpoint.c */
struct canary_endpoint *canary_endpoint_alloc(struct canary_comm *comm);
void canary_endpoint_free(struct canary_endpoint *ep);
int canary_endpoint_hold(struct canary_endpoint *ep);
bool canary_endpoint_put(struct canary_endpoint *ep, const struct canary_comm *comm);
int canary_endpoint_begin(struct canary_comm *comm);
bool canary_endpoint_know(struct canary_comm *comm, u32 epoch);
void canary_endpoint_forget(struct canary_comm *comm);
struct canary_comm *canary_endpoint_find(struct canary_endpoint *ep, const struct sk_buff *skb);

/* receive.c */
int canary_receive(struct sock *usk, struct sk_buff *skb);

/* route.c */
struct rtable *canary_route_lookup(struct canary_comm *comm, struct canary_addr *from,
				   const struct canary_addr *to, __be16 port);
u32 canary_route_mtu(const struct rtable *rt);
bool canary_route_is_local(struct canary_comm *comm, const struct canary_addr *addr);

/* send.c */
void *canary_send_place(void *driver, const struct cnr_out *out);
void canary_send_unplace(struct canary_comm *comm);
void canary_send_add(struct canary_comm *comm, const struct cnr_out *out,
		     struct sk_buff_head *queue);
void canary_send_queue(struct canary_comm *comm, struct sk_buff_head *queue);
void canary_send_forget_routes(struct canary_comm *comm);

/* train.c */
void canary_trains_begin(struct canary_comm *comm, u64 now);
void canary_train_begin(struct canary_comm *comm, struct canary_route *r, struct sk_buff *skb);
void canary_train_end(struct canary_comm *comm, struct canary_route *r);
void canary_trains_end(struct canary_comm *comm);
bool canary_train_takes(const struct canary_route *r, u32 size);
void canary_train_add(struct canary_comm *comm, struct canary_route *r, struct sk_buff *skb);
u32 canary_train_close(struct sk_buff *skb);
struct sk_buff *canary_train_apart(struct sock *usk, struct sk_buff *skb);

/* pages.c */
void *canary_pages_cut(unsigned int size);
void canary_pages_exit(void);

/* budget.c */
extern unsigned long canary_memory_max;
void canary_budget_init(void);
void canary_budget_exit(void);
bool canary_budget_guest(const struct net *net);
int canary_budget_net_init(struct net *net);
void canary_budget_net_exit(struct net *net);
int canary_memory_take(const struct net *net, size_t bytes);
void canary_memory_give(const struct net *net, size_t bytes);
bool canary_spares_take(const struct net *net, size_t bytes);
void canary_spares_give(const struct net *net, size_t bytes);
int canary_members_take(const struct net *net, u32 members);
void canary_members_give(const struct net *net, u32 members);

/* memory.c */
size_t canary_vector_charge(u32 bytes, size_t memory);
size_t canary_memory_charge(size_t bytes);
bool canary_vector_fits(const struct canary_comm *comm, size_t charge);
int canary_vector_reserve(struct canary_comm *comm, size_t charge);
void canary_vector_unreserve(struct canary_comm *comm, size_t charge);
struct canary_vector *canary_vector_alloc(struct canary_comm *comm, u32 bytes, size_t memory,
					  size_t charge);
int canary_vector_keep(struct canary_vector *v, size_t bytes);
void canary_vector_free(struct canary_vector *v);
void canary_vector_put_locked(struct canary_comm *comm, struct canary_vector *v,
			      struct list_head *freed);
void canary_vector_put(struct canary_comm *comm, struct canary_vector *v);
void canary_vectors_free(struct list_head *freed, bool may_sleep);

/* spare.c */
void canary_vector_release(struct canary_vector *v);
void canary_spares_init(struct canary_comm *comm);
void canary_spares_end(struct canary_comm *comm);
bool canary_spare_keep(struct canary_comm *comm, struct canary_vector *v, struct list_head *freed);
struct canary_vector *canary_spare_take(struct canary_comm *comm, u32 bytes, size_t memory);
void canary_spares_drop(void);

/* pin.c */
size_t canary_pin_charge(u32 bytes, u32 blocks);
struct canary_vector *canary_vector_pin(const struct iov_iter *iter, u64 to, u32 bytes, u32 blocks,
					size_t charge);
void canary_vector_unpin(struct canary_vector *v);

/* simd.c */
void canary_simd_init(void);

/* rules.c */
int canary_rule_add(struct canary_net *cn, struct canary_rule *rule);
int canary_rule_delete(struct canary_net *cn, const struct canary_rule *like);
void canary_rule_free(struct canary_rule *rule);
void canary_rules_clear(struct canary_net *cn);
int canary_rules_check(struct canary_net *cn, struct cnr_config *cfg);
int canary_rules_check_port(struct canary_comm *comm);
int canary_rules_check_any(struct canary_net *cn);
void canary_prefixes_set(struct cnr_config *cfg, const struct canary_prefix *list, u32 n);
bool canary_prefixes_ok(const struct canary_prefix *list, u32 n);

/* netlink.c */
int canary_netlink_init(void);
void canary_netlink_exit(void);

/* netns.c */
int canary_net_init(void);
void canary_net_exit(void);

/* sysctl.c */
int canary_sysctl_net_init(struct net *net);
void canary_sysctl_net_exit(struct net *net);

/* stats.c */
void canary_count_drop(struct canary_comm *comm, enum canary_drop why, u32 n);
void canary_count_stray(const struct net *net, enum canary_drop why, u32 n);
void canary_stats_fold(struct canary_comm *comm, const struct cnr_stats *stats);
void canary_stats_read(struct canary_comm *comm, u64 *values);
void canary_stats_net(struct canary_net *cn, u64 *values);
const char *canary_stats_name(u32 index, const char **prefix);

/* proc.c */
int canary_proc_net_init(struct net *net);
void canary_proc_net_exit(struct net *net);

#endif /* CANARY_KMOD_H */
