/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user engine's parts: a socket with packets waiting to be sent, the place where other processes
 * can look at a member, the endpoint that members share, and a member itself.
 */
#ifndef CANARY_LIB_USER_H
#define CANARY_LIB_USER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "lib.h"

#define USER_BATCH	64	/* packets a system call */
#define USER_PACKET	4096	/* room for the longest message, and to see that one is longer */

/* Packets that the core gave out and the socket has not taken yet */
struct user_out {
	struct mmsghdr		msg[USER_BATCH];
	struct iovec		iov[USER_BATCH];
	struct sockaddr_in	addr[USER_BATCH];
	u64			*drop[USER_BATCH];	/* where it is counted if it is not sent */
	u8			data[USER_BATCH][USER_PACKET] __attribute__((aligned(64)));
	unsigned int		first, n;
	unsigned int		refused;	/* times in a row that a queue was full */
	bool			failed;		/* the first packet, for another reason */
};

/* Packets as they come */
struct user_in {
	struct mmsghdr		msg[USER_BATCH];
	struct iovec		iov[USER_BATCH];
	struct sockaddr_in	addr[USER_BATCH];
	u8			data[USER_BATCH][USER_PACKET] __attribute__((aligned(64)));
};

enum user_flush {
	USER_SENT,	/* all is gone */
	USER_FULL,	/* wait until the socket is writable */
	USER_LATER,	/* a queue of this host is full: again in a while */
};

/*
 * user_socket_open() - the UDP socket of a member
 * @local:	address, port 0 for a free one; none for that of the route to @root. Receives
 *		both
 * Return: the socket, or a negative errno with a sentence.
 */
int user_socket_open(const struct canary_params *params, struct canary_peer *local);

/*
 * user_path_mtu() - IP packet size towards the others
 * That of the route to rank 0; at rank 0 that of the interface with @local's address.
 */
int user_path_mtu(const struct canary_params *params, const struct canary_peer *local);

void user_out_init(struct user_out *out);
void user_in_init(struct user_in *in);

/* user_out_add() - there is room (n < USER_BATCH); @drop: by reason, if it is not sent */
void user_out_add(struct user_out *out, const struct cnr_out *packet, u64 *drop);

/* user_out_flush() - send all; what fails, or is refused too often, is counted */
enum user_flush user_out_flush(struct user_out *out, int sock);

/* user_out_waiting() - Return: bytes that are in queues of this host */
u32 user_out_waiting(int sock);

/* user_out_room() - have it not take more than @bytes, or a packet beyond */
void user_out_room(int sock, u32 bytes);

/* user_in_forget_errors() - what ICMP said */
void user_in_forget_errors(struct user_in *in, int sock);

/* user_in_receive() - Return: packets in @in, 0 if there are none */
int user_in_receive(struct user_in *in, int sock);

/* A socket in the file system that tells about this member whoever connects */
struct user_publish {
	int	fd;		/* listening, or -1: nobody can look */
	char	path[108];
};

void user_publish_open(struct user_publish *p);

/* user_publish_answer() - tell one who asks; @info, @trouble (the latest) and @stats are up to date */
void user_publish_answer(struct user_publish *p, const struct canary_info *info,
			 const struct cnr_trouble *trouble,
			 const struct cnr_stats *stats);

void user_publish_close(struct user_publish *p);

/* ---- the engine, in engine_user.c, user_endpoint.c, user_members.c and user_progress.c ---- */

/* An operation, held by the core until nobody can ask for it, and by the API until reaped */
struct user_op {
	struct user_op	*next, **link;
	u32		*data;
	u64		*memory;	/* of the core, if it wants some */
	u32		attempts;
	int		error;
	bool		ended;		/* the core is through with it */
	bool		released;	/* the core needs data no longer */
	bool		reaped;		/* the API neither */
};

#define USER_LISTS_BITS	8

struct user;

/*
 * A UDP port, its thread, and the members that share it. Made by user_endpoint_open(), freed when
 * the last member has left and the thread has ended
 */
struct user_endpoint {
	pthread_mutex_t		lock;		/* all below but descriptors; all of members */
	pthread_t		thread;
	struct user		*first;		/* members, the oldest first, by user.next */
	struct user		*turn;		/* who sends first when there is room again, or NULL */
	struct user		*by_comm[1 << USER_LISTS_BITS];	/* by user.same */
	bool			shared;		/* there was a second one */
	u64			begun;		/* rendezvous so far */
	u64			armed;		/* when the timer fires */
	u64			retry;		/* when to send again after USER_LATER, or 0 */
	u32			room;		/* that the socket was told of, 0: nothing */
	bool			full;		/* socket not writable: do not ask cores */
	u64			lost[CANARY_DROPS];	/* packets of members that left */

	int			sock, epoll, timer, wake;
	struct canary_peer	local;
	struct user_out		out;
	struct user_in		in;
};

/* Made by user_open(), freed by user_close() after it has left its endpoint. Lock: the endpoint's */
struct user {
	struct user_endpoint	*ep;		/* constant */
	struct user		*next, *same;	/* of the endpoint; of its list of @cfg.comm */
	u64			began;		/* when it began to join, in the endpoint's order */
	bool			known;		/* the epoch was looked at */
	bool			refused;	/* another member of the endpoint has that session */
	bool			touched;	/* packets came for it in this batch */
	pthread_cond_t		changed;	/* state, operations ended or released */
	struct cnr_comm		*core;
	enum cnr_state		state;
	struct user_op		*ops;
	unsigned int		ended;		/* operations that ended and were not reaped */
	int			event;		/* eventfd of canary_poll_fd(), or -1 */
	struct canary_peer	local, root;	/* constant, as @publish and @cfg */
	struct user_publish	publish;
	struct cnr_config	cfg;
};

/* user_endpoint_open() - a port of its own. Return: 0, or a negative errno with a sentence */
int user_endpoint_open(const struct canary_params *params, struct user_endpoint **endpoint);

/* user_endpoint_close() - there are no members (any more) */
void user_endpoint_close(struct user_endpoint *ep);

/* user_endpoint_join() - @u is complete. Return: 0 or a negative errno; it has joined anyway */
int user_endpoint_join(struct user_endpoint *ep, struct user *u);

/* user_endpoint_leave() - and close it if @u was the last one. The core is still there */
void user_endpoint_leave(struct user_endpoint *ep, struct user *u);

/* The following are called with the lock held. */

/* The members of an endpoint */
void user_member_add(struct user_endpoint *ep, struct user *u);
void user_member_remove(struct user_endpoint *ep, struct user *u);

/* user_member_begin() - before the rendezvous. Return: 0 or -EADDRINUSE */
int user_member_begin(struct user *u);

/* user_member_know() - the core may have learned its epoch */
void user_member_know(struct user *u, u64 now);

/* user_member_find() - whom a packet is for, or NULL, which is counted */
struct user *user_member_find(struct user_endpoint *ep, const struct canary_hdr *h, u32 len);

void user_op_free(struct user_op *op);
void user_op_put(struct user *u, struct user_op *op);
void user_set_event(struct user *u);
void user_fill_info(struct user *u, struct canary_info *info);

/* user_settle() - after a call: send, tell who waits, and see that the timer fires in time */
void user_settle(struct user *u, u64 now);

/* user_resume() - there may be room again: send, all members in turn */
void user_resume(struct user_endpoint *ep, u64 now);

/* user_progress() - what the thread does until user_endpoint.wake is written to */
void *user_progress(void *endpoint);

#endif /* CANARY_LIB_USER_H */
