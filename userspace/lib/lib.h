/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of libcanary: the communicator as the API sees it, and the interface of the engines.
 *
 * The API keeps requests in the order of posting, and engines complete them in that order. So an
 * engine only has to post, and to return the oldest operation that it was given.
 */
#ifndef CANARY_LIB_H
#define CANARY_LIB_H

#include <canary.h>
#include <pthread.h>
#include <stdbool.h>
#include "core/core.h"

#define CANARY_EXPORT	__attribute__((visibility("default")))

/*
 * An operation that was posted. It stays in the list, in the order of posting, until it is waited
 * for.
 */
struct lib_request {
	struct lib_request	*next;
	u64			id;
	const void		*sendbuf;
	void			*recvbuf;
	u32			count;
	size_t			bytes;		/* of @count elements */
	const void *const	*more;		/* of @mores, as in struct canary_call */
	const u16		*places;
	u16			mores;
	u16			addends;
	u8			op;
	u8			dtype;
	u8			how;
	u8			method;		/* enum canary_method; set when it has ended */
	bool			lent;		/* sendbuf is constant until the end */
	bool			ended;
	int			error;
	u32			attempts;
	void			*engine;	/* belongs to the engine */
};

/**
 * struct lib_engine - functions of an engine
 *
 * post, reap, room and close get the pointer that open returned. Timeouts are absolute times of
 * lib_now(), or CNR_NEVER.
 *
 * @name:	for people
 * @spin:	what CANARY_SPIN_AUTO is for short vectors, in ns
 * @probe:	can the engine be used here? Return: 0, or a negative errno; *@why explains either
 * @open:	create a member; sets *@engine
 * @connect:	rendezvous; it goes on after -ETIMEDOUT
 * @form:	in place of connect: form the communicator from a table that was checked
 * @post:	take @req; must not touch sendbuf after it returned, unless lent; -EAGAIN if full
 * @reap:	wait until @req, the oldest one, has ended; set its recvbuf, error and so on.
 *		Return: 0, or -ETIMEDOUT. Only one thread at a time calls it
 * @room:	wait until post might succeed, without reaping; -ETIMEDOUT
 * @missing:	write the ranks that are missing or at fault; return how many there are
 * @troubles:	as cnr_troubles()
 * @failure:	negative errno that ended the communicator, or 0; *@why is the reason
 * @info:	fill in everything but comm, rank and members; local and root if they are known
 * @stats:	as canary_stats()
 * @poll_fd:	as canary_poll_fd()
 * @close:	end and free
 */
struct lib_engine {
	const char *name;
	u64 spin;
	int (*probe)(const struct canary_params *params, char *why, size_t len);
	int (*open)(const struct canary_params *params, void **engine);
	int (*connect)(void *engine, u64 until);
	int (*form)(void *engine, const struct cnr_table *table);
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
	pthread_mutex_t		lock;		/* of all below; not held while waiting */
	pthread_cond_t		ended;		/* requests have ended, or nobody reaps any more */
	bool			reaping;	/* a thread is in ops->reap() */
	u64			next_id;
	struct lib_request	*head;		/* oldest request that was not waited for */
	struct lib_request	**tail;
};

/* ns of CLOCK_MONOTONIC */
u64 lib_now(void);

/* Absolute time of a timeout in ms (CANARY_FOREVER gives CNR_NEVER) */
u64 lib_until(int timeout_ms);

/* Timeout for poll(2) until an absolute time, in ms, rounded up */
int lib_poll_timeout(u64 until);

struct timespec lib_timespec(u64 ns);

/*
 * lib_error() - remember a sentence for canary_errmsg()
 * Return: @error, so that it can be returned at once.
 */
int __attribute__((format(printf, 2, 3))) lib_error(int error, const char *format, ...);

/* Write "3, 5-7 and 12 more" for @n ranks, of which @known are in @ranks. */
void lib_rank_list(char *text, size_t len, const u16 *ranks, u32 known, u32 n);

/* Remember a sentence for canary_errmsg() about an error that an engine reported. */
int lib_comm_error(struct canary *c, int error);

#define LIB_TABLE_MTU	1500	/* of a member that is formed from a table, by default */

/*
 * lib_params_check() - copy @params to @p, and fill in root, for rank 0 bind, and with a table mtu
 * Return: 0, -EINVAL or -ERANGE with a sentence.
 */
int lib_params_check(const struct canary_params *params, struct canary_params *p);

/*
 * lib_params_size() - are @params as long as this library's?
 * Return: 0, or -EINVAL with a sentence.
 */
int lib_params_size(const struct canary_params *params);

/*
 * lib_key_parse() - read a key of 32 hexadecimal digits
 * lib_key_file() - read the key in a file
 * lib_keys_lookup() - look up a key in the administrator's table if @params has none
 * Return: 0, also if there is no key, or a negative errno with a sentence.
 */
int lib_key_parse(const char *value, u8 key[16]);
int lib_key_file(struct canary_params *params, const char *path);
int lib_keys_lookup(struct canary_params *params);

/*
 * lib_open_routed() - open a UDP socket that is connected to rank 0, to ask the kernel for the
 * route
 * @local:	address to use, or none; receives the address that the kernel chose. Its port is
 *		ignored
 * Return: the socket, or a negative errno with a sentence.
 */
int lib_open_routed(const struct canary_params *params, struct canary_peer *local);

/*
 * lib_bind() - bind a member's socket
 * @family:	AF_INET or the family of the module
 * @local:	may be given in part; receives address and port
 * Return: 0, or a negative errno with a sentence.
 */
int lib_bind(int fd, int family, const struct canary_params *params, struct canary_peer *local);

/*
 * lib_share_check() - may a member with these parameters have @local, which another member has?
 * Return: 0, or -EINVAL with a sentence.
 */
int lib_share_check(const struct canary_params *params, const struct canary_peer *local);

/* Convert between addresses of the library and those of UDP sockets. */
void lib_to_sockaddr(struct sockaddr_in *sin, const struct canary_addr *addr, __be16 port);
struct canary_peer lib_of_sockaddr(const struct sockaddr_in *sin);

/* Address and port as text, in one of a few static buffers of the thread */
const char *lib_address(const struct canary_addr *addr, __be16 port);
const char *lib_peer(const struct canary_peer *peer);

#endif /* CANARY_LIB_H */
