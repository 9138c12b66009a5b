/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in simulated time around real protocol cores: every member is a struct cnr_comm,
 * packets travel with delay, and a seeded fault plan drops, repeats, delays and corrupts
 * them on every hop. Between the members is nothing, one switch, or leaves and spines; switches
 * may aggregate (written for the test, independent of bpf/lib).
 */
#ifndef SELFTESTS_CORE_SIMNET_H
#define SELFTESTS_CORE_SIMNET_H

#include "core/core.h"

#define SIM_MEMBERS_MAX	96

struct sim_faults {
	u32	drop;		/* all in ppm */
	u32	repeat;
	u32	delay;
	u32	corrupt;
	u64	delay_ns;	/* how long, for packets that are delayed */
	u32	burst;		/* ppm of packets that begin a burst of losses */
	u64	burst_ns;	/* how long, on the average */
	/* exact: return true to drop this packet; overrides nothing else */
	bool	(*filter)(void *arg, int from, int to, const struct canary_hdr *h);
	void	*filter_arg;
};

struct sim_config {
	u32	members;
	u32	window;
	u32	mtu;
	u32	slice;		/* as cnr_config has it */
	bool	aggregate;	/* switches do; without leaves: there is one switch */
	u32	leaves;		/* with spines; ranks are spread over them in order */
	u32	spines;		/* at least 1 if there are leaves */
	u64	timeout_ns;	/* of aggregators */
	bool	numbered;	/* switches' numbers in headers are not their addresses */
	u32	children;	/* of a block; 0: no limit. More are bypassed, with a cookie */
	bool	unforgiving;	/* switches give cookies, but refuse restorations */
	u64	rate;		/* of each link, bit/s; 0: no limit */
	u32	queue;		/* packets before each link; 0: no limit */
	bool	fixed_first;
	u32	first_block;
	u64	seed;
	u64	dead_after;
	u64	linger;
	bool	key;
	bool	pinned;		/* vectors are where the application can write to them */
	u8	algorithm;	/* enum canary_algorithm, of rank 0 */
	u8	trees;		/* of rank 0, with CANARY_ALG_STATIC */
	struct sim_faults faults;
};

/* What all links did together */
struct sim_traffic {
	u64	packets;	/* hop by hop */
	u64	lost;		/* by chance */
	u64	overflows;	/* queues were full */
};

struct sim;

struct sim *sim_new(const struct sim_config *cfg);
void sim_free(struct sim *s);

struct cnr_comm *sim_comm(struct sim *s, int rank);
u64 sim_now(const struct sim *s);

/* Silence a member (its process died, or its link), and let it be heard again. */
void sim_kill(struct sim *s, int rank);
void sim_revive(struct sim *s, int rank);

/* The process of a member that has posted nothing is replaced by a new one. */
void sim_restart(struct sim *s, int rank);

/* Let time pass until @until (ns) or nothing more happens; false if nothing is left to happen. */
bool sim_run(struct sim *s, u64 until);

/* The same, and time passes even if nothing happens. */
void sim_pass(struct sim *s, u64 until);

/* Start the rendezvous of @rank; of everybody with -1. */
void sim_connect(struct sim *s, int rank);

/* Run until everybody is in @state, at most @ns of simulated time. */
bool sim_wait_state(struct sim *s, enum cnr_state state, u64 ns);

/* Run until everybody alive is CLOSED or FAILED, at most @ns of simulated time. */
bool sim_wait_over(struct sim *s, u64 ns);

/* Post a vector at @rank; its content is a function of (seed, rank, operation, index). */
int sim_post(struct sim *s, int rank, u32 elements);

/* The application at @rank writes to its vectors, pinned and not released. */
void sim_scribble(struct sim *s, int rank);

/* The same, but all checksums stay what they were. */
void sim_permute(struct sim *s, int rank);

/* Operations that completed at @rank so far; checked against the independent sum. */
u32 sim_completed(const struct sim *s, int rank);
u32 sim_wrong(const struct sim *s);
int sim_last_error(const struct sim *s, int rank);
u32 sim_posted(const struct sim *s, int rank);
u32 sim_holds(const struct sim *s, int rank);
u32 sim_vectors_held(const struct sim *s);

bool sim_wait_completed(struct sim *s, u32 operations, u64 ns);

void sim_close(struct sim *s, int rank, bool abort);

struct sim_faults *sim_faults(struct sim *s);

/* What follows the header of the packet that the filter is being asked about. */
const void *sim_payload(const struct sim *s);
const struct sim_traffic *sim_traffic(const struct sim *s);

/* Hand a packet to @rank as if it came from @from. */
enum canary_drop sim_inject(struct sim *s, int rank, const void *packet, u32 len, int from);

#endif /* SELFTESTS_CORE_SIMNET_H */
