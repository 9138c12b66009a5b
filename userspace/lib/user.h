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

#define USER_BATCH	64	/* packets of one system call */
#define USER_PACKET	4096	/* more than the longest message, to notice longer ones */

/* Packets that the core gave out and the socket has not taken yet */
struct user_out {
	struct mmsghdr		msg[USER_BATCH];
	struct iovec		iov[USER_BATCH];
	struct sockaddr_in	addr[USER_BATCH];
	u64			*drop[USER_BATCH];	/* drop counters of its member */
	u8			data[USER_BATCH][USER_PACKET] __attribute__((aligned(64)));
	unsigned int		first, n;
	u64			refused_at;	/* since when the first packet is; 0: it is not */
	bool			gave_up;	/* one of these packets was refused for too long */
	bool			failed;		/* the first packet failed once otherwise */
};

/* Packets that were received */
struct user_in {
	struct mmsghdr		msg[USER_BATCH];
	struct iovec		iov[USER_BATCH];
	struct sockaddr_in	addr[USER_BATCH];
	u8			data[USER_BATCH][USER_PACKET] __attribute__((aligned(64)));
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

void user_out_init(struct user_out *out);
void user_in_init(struct user_in *in);

/*
 * user_out_add() - queue a packet; there has to be room (n < USER_BATCH)
 * @drop:	counters by reason, in case that it cannot be sent
 */
void user_out_add(struct user_out *out, const struct cnr_out *packet, u64 *drop);

/*
 * user_out_flush() - send all. A packet that fails, or is refused for too long, is counted and
 * dropped. After that, the rest of its batch has one try each
 */
enum user_flush user_out_flush(struct user_out *out, int sock);

/* user_out_waiting() - Return: bytes of this socket that wait in queues of this host */
u32 user_out_waiting(int sock);

/* user_out_room() - limit the socket to @bytes, and one packet beyond */
void user_out_room(int sock, u32 bytes);

/* user_in_forget_errors() - discard errors that ICMP reported */
void user_in_forget_errors(struct user_in *in, int sock);

/* user_in_receive() - Return: number of packets in @in, 0 if there are none */
int user_in_receive(struct user_in *in, int sock);

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
			 const struct cnr_stats *stats);

void user_publish_close(struct user_publish *p);

/* ---- the engine, in engine_user.c, user_endpoint.c, user_members.c and user_progress.c ---- */

/* An operation. The core holds it until nobody can ask for it, the API until it is reaped. */
struct user_op {
	struct user_op	*next, **link;
	u32		*data;
	u64		*memory;	/* that the core asked for, or NULL */
	const void	**more;		/* further vectors, or NULL */
	u16		*places;	/* of all vectors, or NULL */
	u32		attempts;
	u8		method;
	int		error;
	bool		ended;		/* the core has reported its end */
	bool		released;	/* the core does not need the data any more */
	bool		reaped;		/* the API does not need it any more */
};

#define USER_LISTS_BITS	8

struct user;

/*
 * A UDP port, its thread, and the members that share it. user_endpoint_open() makes it. It is freed
 * when the last member has left and the thread has ended.
 */
struct user_endpoint {
	pthread_mutex_t		lock;		/* of all below and all members */
	pthread_t		thread;
	struct user		*first;		/* members, oldest first, linked by user.next */
	struct user		*turn;		/* who sends next, or NULL */
	struct user		*by_comm[1 << USER_LISTS_BITS];	/* lists linked by user.same */
	bool			shared;		/* there has been a second member */
	u64			begun;		/* number of rendezvous begun so far */
	u64			armed;		/* when the timer fires */
	u64			retry;		/* when to send again after USER_LATER, or 0 */
	u32			room;		/* bytes that the socket may queue; 0: any */
	bool			full;		/* socket not writable: do not ask cores */
	u64			lost[CANARY_DROPS];	/* drop counters of members that left */

	int			sock, epoll, timer, wake;
	struct canary_peer	local;
	struct user_out		out;
	struct user_in		in;
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
	bool			touched;	/* packets came for it in this batch */
	pthread_cond_t		changed;	/* state, or an operation that ended */
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

void user_op_free(struct user_op *op);
void user_op_put(struct user *u, struct user_op *op);
void user_set_event(struct user *u);
void user_fill_info(struct user *u, struct canary_info *info);

/* user_settle() - called after each call of the core: send, wake waiting threads, set the timer */
void user_settle(struct user *u, u64 now);

/* user_resume() - there may be room again: send packets of all members in turn */
void user_resume(struct user_endpoint *ep, u64 now);

/* user_progress() - main function of the thread; it runs until user_endpoint.wake is written */
void *user_progress(void *endpoint);

#endif /* CANARY_LIB_USER_H */
