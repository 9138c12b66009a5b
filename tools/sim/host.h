/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts and jobs, for host.c, vector.c, cores.c and join.c only. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "sim.h"

/* Serial number of each communicator's first block */
#define FIRST_BLOCK	1000000

/*
 * struct cores - memory of a job's cores, see cores.c
 * @members:	of the job; each has a core
 * @near:	what packets touch: @each_near bytes for each rank
 * @far:	what packets hardly touch: @each_far bytes for each rank
 */
struct cores {
	uint32_t members;
	size_t each_near;
	char *near;
	size_t each_far;
	char *far;
};

/* A job: one communicator and its operations */
struct job {
	uint32_t members;
	uint32_t *host;		/* by rank */
	uint32_t *add;		/* by rank: the member's part of its data, see vector.c */
	uint32_t add_all;
	uint32_t *place;	/* by rank: place in the ring */
	uint32_t *before;	/* by place: sum of @add of the places before */
	uint32_t running;	/* ranks that are not done */
	uint64_t end;
	uint8_t tree[CANARY_TREES_MAX];
	uint32_t data_key[CNR_DATA_KEY];
	struct canary_peer *peers;	/* by rank: its address */
	struct cores cores;	/* of the members */
	struct held *held;	/* NULL: hosts hold no vectors */
};

struct host_op {
	struct sim *sim;
	struct sim_host *host;
	uint32_t seq;
	void *data;		/* the vector, if the host holds it */
};

/* The first cache line is what a packet that waits in the inbox touches. */
struct sim_host {
	struct cnr_comm *comm;
	struct job *job;	/* NULL: the host takes part in none */
	struct packet *inbox;	/* packets that the core has not seen yet, in order */
	struct packet *inbox_last;
	const struct host_op *op;	/* the last one posted; it may be released already */
	uint64_t timer_at;	/* time of the EVENT_TIMER that counts; ~0: none */
	uint64_t posted_at;	/* when the last operation was posted */
	uint32_t link;
	bool busy;		/* a packet waits at the port; its end calls host_pump() */
	bool more;		/* the core may have packets to send */

	uint32_t rank;
	uint32_t posted;
	uint32_t completed;
	uint32_t check_index;	/* what to compare: @check_n elements in the scratch block */
	uint32_t check_n;
	uint32_t check_block;
	bool check_partial;
	uint64_t random;	/* generator for noise */
	uint64_t *partial;	/* ring: one bit for each block that this member has added to */
} __attribute__((__aligned__(2 * LINE)));

/* vector.c: what is summed, and whether the sums are right */
void vector_build(struct sim *s);
void vector_free(struct sim *s);
void vector_job(struct sim *s, struct job *j, uint32_t number);
void *vector_at(const struct cnr_op *op, u32 first, u32 n, enum cnr_use use);
void vector_check(struct sim *s, struct sim_host *h);

/* held.c: vectors that hosts hold */
void held_job(struct sim *s, struct job *j, uint32_t number);
void held_free(struct job *j);
void held_fill(const struct sim_host *h, uint32_t seq, void *to);
void held_check(struct sim *s, struct sim_host *h, uint32_t seq, const void *data, uint8_t method);
uint32_t held_distinct(const struct job *j);
uint64_t held_hash(const struct job *j);
uint8_t held_method(const struct job *j);

/* cores.c: memory of a core; rank 0 has to come first */
struct cnr_comm *cores_member(struct cores *m, struct cnr_config *cfg);
void cores_free(struct cores *m);

/* join.c: rendezvous, before the network starts */
void join_all(struct sim *s, struct job *j);

#endif /* SIM_HOST_H */
