/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the user engine: the socket with packets that wait to be sent, the socket that tells
 * other processes about a member, the endpoint that members share, and the member.
 */
#ifndef CANARY_LIB_USER_H
#define CANARY_LIB_USER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "lib.h"

#define USER_BATCH	64	/* most packets that wait to be sent, and most of a train */
#define USER_PACKET	4096	/* more than the longest message, to notice longer ones */
#define USER_MESSAGES	32	/* most messages of one receiving system call */

/* Counters of an endpoint, for all its members */
#define USER_COUNTERS(X)							\
	X(trains_out, "trains-out")		/* trains sent */		\
	X(train_packets_out, "train-packets-out") /* packets in them */		\
	X(trains_in, "trains-in")		/* trains received */		\
	X(train_packets_in, "train-packets-in")	/* packets in them */		\
	X(trains_refused, "trains-refused")	/* sent one by one instead */	\
	X(trains_off, "trains-off")		/* 1: none are sent any more */

enum user_counter {
#define X(name, text) USER_C_##name,
	USER_COUNTERS(X)
#undef X
	USER_COUNTER_COUNT
};

/* The length of a train's packets (out), or what the kernel says about a message (in) */
union user_control {
	struct cmsghdr	head;
	u8		room[64];
};

/* Packets that the core gave out and the socket has not taken yet, each in a slot */
struct user_out {
	struct mmsghdr		msg[USER_BATCH];
	union user_control	control[USER_BATCH];
	struct iovec		iov[USER_BATCH];	/* in the order of sending */
	struct sockaddr_in	addr[USER_BATCH];	/* by slot, as the following */
	u64			*drop[USER_BATCH];	/* drop counters of its member */
	u32			len[USER_BATCH];
	u8			data[USER_BATCH][USER_PACKET] __attribute__((aligned(64)));
	u8			order[USER_BATCH];	/* slots in the order of sending */
	unsigned int		first, n;
	unsigned int		alone;		/* packets before this place are in no train */
	u64			refused_at;	/* since when the first packet is; 0: it is not */
	bool			gave_up;	/* one of these packets was refused for too long */
	bool			failed;		/* the first packet failed once otherwise */
	bool			trains;		/* the kernel cuts trains */
	bool			limited;	/* a queue of this host was full: no trains */
	u64			counter[USER_COUNTER_COUNT];
};

/* Messages that were received. A message is a packet or a train. */
struct user_in {
	struct mmsghdr		msg[USER_MESSAGES];
	union user_control	control[USER_MESSAGES];
	struct iovec		iov[USER_MESSAGES];
	struct sockaddr_in	addr[USER_MESSAGES];
	u64			copy[USER_PACKET / 8];	/* of a packet that is not aligned */
	u8			*data;
	int			n, next;	/* messages, and the one to look at */
	u32			at, segment;	/* in that: the next packet, length of packets */
	u64			counter[USER_COUNTER_COUNT];	/* protected by the endpoint's lock */
};

enum user_flush {
	USER_SENT,	/* all packets are sent */
	USER_FULL,	/* the socket is full: wait until it is writable */
	USER_LATER,	/* a queue of this host is full: try again later */
};

/*
 * user_socket_open() - open the UDP socket of a member
 * @local:	port 0 means a free one; no address means that of the route to @root. Receives both
 * Return: the socket, or a negative errno with a sentence.
 */
int user_socket_open(const struct canary_params *params, struct canary_peer *local);

/*
 * user_path_mtu() - size of IP packets that can be sent
 * It is that of the route to rank 0. At rank 0 it is that of the interface with @local's address.
 */
int user_path_mtu(const struct canary_params *params, const struct canary_peer *local);

/* user_out_room() - limit the socket to @bytes, and one message beyond */
void user_out_room(int sock, u32 bytes);

/* ---- packets in and out, in user_train.c ---- */

/* user_out_init() - @out is zero. Finds out whether the kernel takes trains */
void user_out_init(struct user_out *out, int sock);

/* user_in_init() - @in is zero. Asks the kernel for trains. Return: 0 or -ENOMEM */
int user_in_init(struct user_in *in, int sock);

/*
 * user_out_add() - queue a packet; there has to be room (n < USER_BATCH)
 * @drop:	counters by reason, in case that it cannot be sent
 */
void user_out_add(struct user_out *out, const struct cnr_out *packet, u64 *drop);

/*
 * user_out_flush() - send all, in trains if that is of use. Packets to one address keep their
 * order. A packet that fails, or is refused for too long, is counted and dropped. After that, the
 * rest of its batch has one try each
 */
enum user_flush user_out_flush(struct user_out *out, int sock);

/* user_out_refused() - after USER_LATER: the drop counters of the packet that was refused */
const u64 *user_out_refused(const struct user_out *out);

/* user_out_disown() - packets that wait count at @heir if they counted at @drop */
void user_out_disown(struct user_out *out, const u64 *drop, u64 *heir);

/* user_out_waiting() - Return: bytes of this socket that wait in queues of this host */
u32 user_out_waiting(int sock);

/* user_in_forget_errors() - discard errors that ICMP reported */
void user_in_forget_errors(struct user_in *in, int sock);

/* user_in_receive() - Return: number of messages in @in, 0 if there are none */
int user_in_receive(struct user_in *in, int sock);

/*
 * user_in_next() - the next packet of these messages, in their order. It is good until the next
 * call. Return: false if there is none
 */
bool user_in_next(struct user_in *in, struct cnr_in *packet);

/* A UNIX socket in the file system. Who connects is told about this member. */
struct user_publish {
	int	fd;		/* listening, or -1 if it could not be made */
	char	path[108];
};

void user_publish_open(struct user_publish *p);

/* user_publish_answer() - answer one connection. @trouble is the latest one. */
void user_publish_answer(struct user_publish *p, const struct canary_info *info,
			 const struct cnr_info *core,
			 const struct cnr_trouble *trouble,
			 const struct canary_stat *stats, int count);

void user_publish_close(struct user_publish *p);

/* ---- memory of operations, in user_buffers.c ---- */

#define USER_BUFFER_ALIGN	64
#define USER_BUFFERS_KEPT	(128UL << 20)	/* most bytes that are kept for later operations */
#define USER_BUFFER_LISTS	48		/* lengths from 32 KiB to USER_BUFFERS_KEPT */

/* Buffers that no operation has at the moment, by length. All zero: there are none. */
struct user_buffers {
	struct user_buffer	*list[USER_BUFFER_LISTS];
	size_t			bytes;
};

/* user_buffer_take() - Return: a buffer of at least @bytes that was given back, or NULL */
void *user_buffer_take(struct user_buffers *kept, size_t bytes);

/* user_buffer_new() - Return: a new buffer of at least @bytes, not cleared; or NULL */
void *user_buffer_new(size_t bytes);

/* user_buffer_give() - keep a buffer, or free it. It may be NULL, as in the next function */
void user_buffer_give(struct user_buffers *kept, void *data);

/* user_buffer_free() - free a buffer that is not kept */
void user_buffer_free(void *data);

/* user_buffers_empty() - free all that are kept */
void user_buffers_empty(struct user_buffers *kept);

/* ---- the engine, in engine_user.c and in user_{endpoint,members,op,progress,timer,wait}.c ---- */

/* An operation. The core holds it until nobody can ask for it, the API until it is reaped. */
struct user_op {
	struct user_op	*next, **link;
	u32		*data;
	u64		*memory;	/* that the core asked for, or NULL */
	const void	**more;		/* further vectors, or NULL */
	u16		*places;	/* of all vectors, or NULL */
	u32		attempts;
	u8		method;
	bool		in_target;	/* the results are where the application wants them */
	int		error;
	bool		ended;		/* the core has reported its end */
	bool		released;	/* the core does not need the data any more */
	bool		reaped;		/* the API does not need it any more */
};

struct user;
struct user_endpoint;

/*
 * user_op_new() - an operation with room for @bytes of data and @memory zero bytes for the core.
 * The caller does not hold the lock. Return: NULL if there is no memory
 */
struct user_op *user_op_new(struct user_endpoint *ep, size_t bytes, size_t memory);

/* user_op_free() - free one that nobody has any more, whether or not its endpoint still exists */
void user_op_free(struct user_op *op);

#define USER_LISTS_BITS	8
#define USER_CREDIT_TRY	4	/* user_endpoint.credit, at first and after a pause */

/*
 * A UDP port, its thread, and the members that share it. user_endpoint_open() makes it. It is freed
 * when the last member has left and the thread has ended.
 *
 * The lock protects all below and all members. Who receives holds @input, too, and takes it first.
 * It protects @in, but for its counters.
 */
struct user_endpoint {
	pthread_mutex_t		input;
	pthread_mutex_t		lock;
	pthread_t		thread;
	struct user		*first;		/* members, oldest first, linked by user.next */
	struct user		*turn;		/* who sends next, or NULL */
	struct user		*by_comm[1 << USER_LISTS_BITS];	/* lists linked by user.same */
	bool			shared;		/* there has been a second member */
	u64			begun;		/* number of rendezvous begun so far */
	u64			armed;		/* when the timer fires, or CNR_NEVER */
	u64			due;		/* not later than any deadline: user_timer.c */
	u64			retry;		/* when to send again after USER_LATER, or 0 */
	u32			room;		/* bytes that the socket may queue; 0: any */
	bool			full;		/* socket not writable: do not ask cores */
	unsigned int		polled;		/* members with a descriptor to poll */
	u32			watched;	/* events of @sock that @epoll has, or 0 */
	bool			away;		/* the thread does not watch for packets */
	u64			back_at;	/* when it does again, if nobody waits */
	struct user		*waiter;	/* whose waiting thread receives, or NULL */
	pthread_t		waiting;	/* that thread */
	u64			keep_until;	/* when to lend the processor again: lend() */
	int			credit;		/* of the processor's other users: lend() */
	u64			lost[CANARY_DROPS];	/* drop counters of members that left */

	int			sock, epoll, timer, wake;
	int			nudge;		/* eventfd: @waiter has to look again */
	struct canary_peer	local;
	struct user_out		out;
	struct user_in		in;
	struct user_buffers	buffers;
};

/*
 * A member. user_open() makes it; user_close() frees it after it has left its endpoint. The
 * endpoint's lock protects it.
 */
struct user {
	struct user_endpoint	*ep;		/* constant */
	struct user		*next, *same;	/* of the endpoint; of user_endpoint.by_comm */
	u64			began;		/* when it began to join; 0: not yet */
	bool			known;		/* user_member_know() has seen its epoch */
	bool			refused;	/* another member has the same session */
	struct user		*also;		/* the next member that @touched is set of */
	bool			touched;	/* packets came for it in these messages */
	pthread_cond_t		changed;	/* state, or an operation that ended */
	u64			changes;	/* how many there have been */
	unsigned int		sleepers;	/* threads that wait for @changed */
	struct cnr_comm		*core;
	enum cnr_state		state;
	struct user_op		*ops;
	unsigned int		ended;		/* operations that ended and are not reaped */
	int			event;		/* eventfd of canary_poll_fd(), or -1 */
	struct canary_peer	local;		/* constant, as are @publish and @cfg */
	struct canary_peer	root;
	struct user_publish	publish;
	struct cnr_config	cfg;
};

/*
 * user_endpoint_open() - make an endpoint with a new port. Return: 0, or a negative errno with a
 * sentence
 */
int user_endpoint_open(const struct canary_params *params, struct user_endpoint **endpoint);

/* user_endpoint_close() - free an endpoint that has no members */
void user_endpoint_close(struct user_endpoint *ep);

/* user_endpoint_join() - add @u, which is complete. It has joined even if the result is an errno */
int user_endpoint_join(struct user_endpoint *ep, struct user *u);

/*
 * user_endpoint_leave() - remove @u, whose core still exists; close the endpoint if @u was the last
 * one
 */
void user_endpoint_leave(struct user_endpoint *ep, struct user *u);

/* The caller of the following functions holds the lock. */

/* user_member_add(), user_member_remove() - change the endpoint's lists of members */
void user_member_add(struct user_endpoint *ep, struct user *u);
void user_member_remove(struct user_endpoint *ep, struct user *u);

/* user_member_begin() - called before the rendezvous. Return: 0 or -EADDRINUSE */
int user_member_begin(struct user *u);

/* user_member_exists() - is there a member of this session? */
bool user_member_exists(struct user_endpoint *ep, u32 comm, u32 epoch);

/* user_member_know() - called when the core may have learned its epoch */
void user_member_know(struct user *u, u64 now);

/*
 * user_member_find() - whom a packet is for. A packet that is for nobody is counted; the result is
 * NULL
 */
struct user *user_member_find(struct user_endpoint *ep, const struct canary_hdr *h, u32 len);

/* user_op_put() - give it back if neither the core nor the API needs it */
void user_op_put(struct user *u, struct user_op *op);

void user_set_event(struct user *u);
void user_fill_info(struct user *u, struct canary_info *info);

/*
 * user_fill_stats() - counters of the member and its endpoint, then drop counters; @max of them
 * Return: how many there are. There are at most USER_STATS
 */
int user_fill_stats(struct user *u, struct canary_stat *stats, int max);

#define USER_STATS	(CNR_COUNTER_COUNT + USER_COUNTER_COUNT + CANARY_DROPS)

/* user_settle() - called after each call of the core: send, wake waiting threads, arm */
void user_settle(struct user *u, u64 now);

/* user_resume() - there may be room again: send packets of all members in turn */
void user_resume(struct user_endpoint *ep, u64 now);

/* user_watch() - the thread watches for packets, or does not, as user_endpoint.away is changed */
void user_watch(struct user_endpoint *ep, bool away);

/* user_timers() - handle all deadlines that are over, and note the next ones */
void user_timers(struct user_endpoint *ep, u64 now);

/* user_arm() - @deadline is one of a member: make sure that somebody looks then (user_timer.c) */
void user_arm(struct user_endpoint *ep, u64 deadline, u64 now);

/* user_set_timer() - set the timer, if it has to be set to an earlier time */
void user_set_timer(struct user_endpoint *ep);

/* user_nudge() - make the thread that waits look again, if that is another one */
void user_nudge(struct user_endpoint *ep);

/* user_polled() - another member has a descriptor to poll */
void user_polled(struct user_endpoint *ep);

/*
 * user_wait() - wait until something of @u has changed: a sum of @bytes, if not 0. The calling
 * thread may handle packets meanwhile, of all members. It holds the lock, which is released
 * meanwhile
 * Return: 0 or -ETIMEDOUT
 */
int user_wait(struct user *u, u64 until, size_t bytes);

/* The caller of the following functions holds no lock. */

/* user_receive() - handle packets that are there, at most some batches of them */
void user_receive(struct user_endpoint *ep);

/* user_forget_errors() - discard errors of the socket */
void user_forget_errors(struct user_endpoint *ep);

/* user_progress() - main function of the thread; it runs until user_endpoint.wake is written */
void *user_progress(void *endpoint);

#endif /* CANARY_LIB_USER_H */
