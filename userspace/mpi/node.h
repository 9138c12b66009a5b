/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Node leaders: of the ranks of a communicator on one host, the lowest one is a member of
 * libcanary, and contributes the vectors of all of them. Each rank has a piece of memory, its seat.
 * The others put their vectors into theirs, where the member finds them, and the member puts
 * results into its own. Vectors go through it in chunks.
 *
 * node_form.c finds out who is where, node_memory.c has the seats. node.c carries out calls,
 * node_thread.c goes on with those that the program does not wait for.
 */
#ifndef CANARY_MPI_NODE_H
#define CANARY_MPI_NODE_H

#include "cmpi.h"

#define NODE_SLOTS	4		/* chunks under way */
#define NODE_CHUNK	(192 << 10)	/* bytes of a chunk, but for the last one */
#define NODE_LAST	4096		/* elements that the last one may have more */
#define NODE_ROOM	(256 << 10)	/* bytes that hold both, of elements of 16 bytes */
#define NODE_WHY	CMPI_NODE_WHY

/**
 * struct node_seat - the memory of a rank. Numbers of chunks count all of a communicator.
 * @token:	so that others know whose it is
 * @bell:	changes if there is news for it
 * @asleep:	threads of it that wait for that
 * @put:	so many of its chunks are here
 * @taken:	it has the results of so many
 * @done:	the member: the results of so many are here
 * @what:	by slot: a number for the call that the chunk is of
 * @error:	the member: 0; or a call failed, and so do all that follow
 * @why:	the member: a sentence about it, once @error is set
 * @slot:	chunks of the rank; of the member, results
 */
struct node_seat {
	uint64_t	token;
	uint32_t	bell;
	uint32_t	asleep;
	uint64_t	put;
	uint64_t	taken;
	uint64_t	done;
	uint64_t	what[NODE_SLOTS];
	int32_t		error;
	char		why[NODE_WHY];
	char		slot[NODE_SLOTS][NODE_ROOM] __attribute__((aligned(4096)));
};

/**
 * struct node_call - a call that has not been waited for
 * @what:	tells it from others
 * @first:	number of its first chunk
 * @chunks:	how many it has
 * @each:	elements of a chunk, but for the last one
 */
struct node_call {
	struct node_call	*next;
	struct canary_call	call;
	uint64_t		id;
	uint64_t		what;
	uint64_t		first;
	uint64_t		chunks;
	size_t			each;
	bool			ended;
	int			err;
};

/**
 * struct cmpi_node - the ranks of a communicator on this host
 * @nodes:	hosts; @node: which one this is, its member's rank
 * @leads:	by host: the rank that is the member
 * @local:	ranks here; @own: which one this is. The first one is the member
 * @ranks:	which ranks of the communicator they are
 * @all:	ranks of the communicator
 * @seat:	by local rank: all of them at the member; its own and the member's at the others
 * @pids:	by local rank: the process
 * @fd:		of its own seat, until all have it
 * @canary:	of the member
 * @more:	of the member: vectors of the others, of the chunk that is posted
 * @lock:	of @more and of all below
 * @calls:	in the order of the program's calls
 * @next:	number of the next chunk of a new call
 * @put, @posted, @taken: chunks that were put into memory; the member: that were posted; that have
 *		their results
 * @request:	the member: by slot, the operation
 * @error:	all calls fail; @why says why
 * @looked:	when it was last looked whether the others live, in ms
 * @thread:	it goes on with calls that nobody waits for, if @threaded; @wake tells it that there
 *		are some; @stop: to end
 */
struct cmpi_node {
	unsigned int		nodes, node;
	unsigned int		*leads;
	unsigned int		local, own;
	uint16_t		*ranks;
	unsigned int		all;
	struct node_seat	**seat;
	pid_t			*pids;
	int			fd;
	struct canary		*canary;
	pid_t			pid;
	const void		**more;

	pthread_mutex_t		lock;
	struct node_call	*calls, **tail;
	uint64_t		next_id;
	uint64_t		next, put, posted, taken;
	uint64_t		request[NODE_SLOTS];
	int			error;
	char			why[NODE_WHY];
	uint64_t		looked;

	pthread_t		thread;
	pthread_cond_t		wake;
	bool			threaded, stop;
};

/* node.c */

/* node_step() - go on with all calls as far as it goes now. The caller holds the lock. */
void node_step(struct cmpi_node *n);

/* node_bell() - Return: what to give node_sleep(). To be called before node_step() */
uint32_t node_bell(struct cmpi_node *n);

/* node_sleep() - wait until there is news since node_bell(), for @ms at most. Without the lock */
void node_sleep(struct cmpi_node *n, uint32_t bell, unsigned int ms);

/* node_busy() - has a call not ended? The caller holds the lock. */
bool node_busy(const struct cmpi_node *n);

/* node_memory.c */

/*
 * node_seat_make() - make that of this process
 * @fd:		receives a descriptor of it
 * @why:	receives a sentence of NODE_WHY bytes at most if that fails
 * Return: the seat, or NULL
 */
struct node_seat *node_seat_make(int *fd, char *why);

/* node_seat_open() - open that of another process. Return: likewise */
struct node_seat *node_seat_open(const struct cmpi_offer *offer, char *why);

/* node_seat_close() - @s may be NULL */
void node_seat_close(struct node_seat *s);

/* node_thread.c */
void node_thread_end(struct cmpi_node *n);

#endif /* CANARY_MPI_NODE_H */
