/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Node leaders: of the ranks of a communicator on one host, the lowest one is a member of libcanary,
 * and contributes the vectors of all of them. The others put theirs into memory that these ranks
 * share, and take the result from there. Vectors go through it in chunks.
 *
 * node_form.c finds out who is where, and makes the memory (node_memory.c). node.c carries out
 * calls, node_thread.c goes on with those that the program does not wait for.
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
 * struct node_rank - what others see of a rank. Numbers of chunks count all of a communicator.
 * @put:	so many of its chunks are in memory
 * @taken:	it has the results of so many
 * @what:	by slot: a number for the call that the chunk is of
 * @bell:	changes if there is news for it
 * @asleep:	threads of it that wait for that
 */
struct node_rank {
	uint64_t	put;
	uint64_t	taken;
	uint64_t	what[NODE_SLOTS];
	uint32_t	bell;
	uint32_t	asleep;
	int32_t		pid;
} __attribute__((aligned(64)));

/**
 * struct node_shared - the head of the memory; NODE_SLOTS results and the chunks of ranks follow
 * @token:	so ranks know that it is theirs
 * @done:	the results of so many chunks are here
 * @error:	0; or a call failed, and so do all that follow
 * @why:	a sentence about it, once @error is set
 */
struct node_shared {
	uint64_t	token;
	uint64_t	done;
	int32_t		error;
	uint32_t	failing;
	char		why[NODE_WHY];
	struct node_rank rank[];
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
 * @shared:	NULL: there are no others here
 * @fd:	of the memory, until all have it
 * @canary:	of the member
 * @lock:	of all below
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
	struct node_shared	*shared;
	size_t			bytes;
	int			fd;
	struct canary		*canary;
	pid_t			pid;

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

/* Bytes of the memory of so many ranks; where a result is; where the chunk of a rank is */
size_t node_memory_bytes(unsigned int ranks);
void *node_result(const struct cmpi_node *n, uint64_t chunk);
void *node_chunk(const struct cmpi_node *n, unsigned int rank, uint64_t chunk);

/*
 * node_memory_make() - the member makes it. Return: 0, or a negative errno; @why gets a sentence of
 * NODE_WHY bytes at most
 */
int node_memory_make(struct cmpi_node *n, uint64_t token, char *why);

/* node_memory_attach() - the others open that of process @pid there. Return: likewise */
int node_memory_attach(struct cmpi_node *n, const struct cmpi_offer *offer, char *why);

void node_memory_free(struct cmpi_node *n);

/* node_thread.c */
void node_thread_end(struct cmpi_node *n);

#endif /* CANARY_MPI_NODE_H */
