/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside libcanary: the communicator as the API sees it, and the interface of the engines.
 *
 * The API keeps requests in the order of posting, in which engines also complete them; so an
 * engine only has to post, and to hand back the oldest operation that it was given.
 */
#ifndef CANARY_LIB_H
#define CANARY_LIB_H

#include <canary.h>
#include <pthread.h>
#include <stdbool.h>
#include "core/core.h"

#define CANARY_EXPORT	__attribute__((visibility("default")))

/* An operation that was posted. Linked in the order of posting until it is waited for. */
struct lib_request {
	struct lib_request	*next;
	u64			id;
	const void		*sendbuf;
	void			*recvbuf;
	u32			count;
	u8			op;
	u8			dtype;
	bool			lent;		/* sendbuf stays as it is until the end */
	bool			ended;
	int			error;
	u32			attempts;
	void			*engine;	/* the engine's */
};

/**
 * struct lib_engine - what an engine can do
 *
 * post, reap, room, and close are given the engine's own pointer, which open returns. Timeouts are
 * absolute times of lib_now(), CNR_NEVER for none.
 *
 * @name:	for people
 * @probe:	can it be used here? Return: 0, or a negative errno; *@why says what was found
 * @open:	create a member; sets *@engine
 * @connect:	rendezvous; -ETIMEDOUT leaves it going on
 * @post:	take @req; must not touch sendbuf any more on return, unless lent; -EAGAIN if full
 * @reap:	wait until @req, the oldest one, has ended; write its recvbuf, error, attempts.
 *		Return: 0, or -ETIMEDOUT. Called by one thread at a time
 * @room:	wait until post might succeed, without reaping; -ETIMEDOUT
 * @missing:	ranks missing or at fault; returns how many
 * @troubles:	as cnr_troubles()
 * @failure:	negative errno that ended the communicator, or 0, and why
 * @info:	fill in all but comm, rank, members, local and root where they are known
 * @stats:	as canary_stats()
 * @poll_fd:	as canary_poll_fd()
 * @close:	end and free
 */
struct lib_engine {
	const char *name;
	int (*probe)(const struct canary_params *params, char *why, size_t len);
	int (*open)(const struct canary_params *params, void **engine);
	int (*connect)(void *engine, u64 until);
	int (*post)(void *engine, struct lib_request *req);
	int (*reap)(void *engine, struct lib_request *req, u64 until);
	int (*room)(void *engine, u64 until);
	unsigned int (*missing)(void *engine, u16 *ranks, unsigned int max);
	unsigned int (*troubles)(void *engine, struct cnr_trouble *list, unsigned int max);
	int (*failure)(void *engine, u32 *why);
	void (*info)(void *engine, struct canary_info *info);
	int (*stats)(void *engine, struct canary_stat *stats, int max);
	int (*poll_fd)(void *engine);
	void (*close)(void *engine);
};

extern const struct lib_engine lib_engine_kernel;
extern const struct lib_engine lib_engine_user;

struct canary {
	const struct lib_engine	*ops;
	void			*engine;
	struct canary_params	params;
	char			reason[160];
	pthread_mutex_t		lock;		/* all below; never held while waiting */
	pthread_cond_t		ended;		/* requests ended, or nobody reaps any more */
	bool			reaping;	/* a thread is in ops->reap() */
	u64			next_id;
	struct lib_request	*head;		/* oldest request not waited for */
	struct lib_request	**tail;
};

/* ns of CLOCK_MONOTONIC */
u64 lib_now(void);

/* Absolute time of a timeout in ms (CANARY_FOREVER: CNR_NEVER) */
u64 lib_until(int timeout_ms);

/* Timeout for poll(2) in ms, rounded up, of an absolute time */
int lib_poll_timeout(u64 until);

struct timespec lib_timespec(u64 ns);

/*
 * lib_error() - remember a sentence for canary_errmsg()
 * Return: @error, so that it can be returned at once.
 */
int __attribute__((format(printf, 2, 3))) lib_error(int error, const char *format, ...);

/* "3, 5-7 and 12 more" of @n ranks (@known of them in @ranks) */
void lib_rank_list(char *text, size_t len, const u16 *ranks, u32 known, u32 n);

/* Sentence for canary_errmsg() about an error that an engine reported */
int lib_comm_error(struct canary *c, int error);

/*
 * lib_params_check() - copy @params to @p with root and, for rank 0, bind filled in
 * Return: 0, -EINVAL or -ERANGE with a sentence.
 */
int lib_params_check(const struct canary_params *params, struct canary_params *p);

/*
 * keys.c: lib_key_parse() - 32 hexadecimal digits; lib_key_file() - the key of one file;
 * lib_keys_lookup() - that of the administrator's table, if @params has none.
 * Return 0, also if there is none, or a negative errno with a sentence.
 */
int lib_key_parse(const char *value, u8 key[16]);
int lib_key_file(struct canary_params *params, const char *path);
int lib_keys_lookup(struct canary_params *params);

/*
 * lib_open_routed() - a UDP socket connected to rank 0, to ask the kernel about the route
 * @local: address, or none: receives what the kernel chooses; its port is not looked at
 * Return: the socket, or a negative errno with a sentence.
 */
int lib_open_routed(const struct canary_params *params, struct canary_peer *local);

/*
 * lib_bind() - bind a member's socket
 * @family: AF_INET or the family of the module
 * @local: as far as it is given; receives address and port
 * Return: 0, or a negative errno with a sentence.
 */
int lib_bind(int fd, int family, const struct canary_params *params, struct canary_peer *local);

/*
 * lib_share_check() - can a member with these parameters have @local, which another one has?
 * Return: 0, or -EINVAL with a sentence.
 */
int lib_share_check(const struct canary_params *params, const struct canary_peer *local);

/* Between the addresses of the library and those of UDP sockets */
void lib_to_sockaddr(struct sockaddr_in *sin, const struct canary_addr *addr, __be16 port);
struct canary_peer lib_of_sockaddr(const struct sockaddr_in *sin);

/* Address and port as text, in one of a few static buffers of the thread */
const char *lib_address(const struct canary_addr *addr, __be16 port);
const char *lib_peer(const struct canary_peer *peer);

#endif /* CANARY_LIB_H */
