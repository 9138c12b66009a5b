/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in simulated time around real protocol cores. Every member is a struct cnr_comm.
 * Packets travel with delay. A seeded fault plan drops, repeats, delays and corrupts them on every
 * hop. Between the members there is nothing, one switch, or leaves and spines. Switches may
 * aggregate, by code that is independent of bpf/lib.
 */
#ifndef SELFTESTS_CORE_TESTNET_H
#define SELFTESTS_CORE_TESTNET_H

#include "core/core.h"

#define TNET_MEMBERS_MAX	96

struct tnet_faults {
	u32	drop;		/* all chances are in ppm */
	u32	repeat;
	u32	delay;
	u32	corrupt;
	u64	delay_ns;	/* of packets that are delayed */
	u32	burst;		/* ppm of packets that begin a burst of losses */
	u64	burst_ns;	/* mean length of a burst */
	/* exact faults: return true to drop this packet; the other faults still apply */
	bool	(*filter)(void *arg, int from, int to, const struct canary_hdr *h);
	void	*filter_arg;
};

struct tnet_switches;

struct tnet_config {
	u32	members;
	u32	window;
	u32	mtu;
	u32	slice;		/* as cnr_config has it */
	bool	aggregate;	/* switches aggregate; without leaves there is one switch */
	u32	leaves;		/* with spines; ranks are spread over them in order */
	u32	spines;		/* at least 1 if there are leaves */
	u64	timeout_ns;	/* of aggregators */
	bool	numbered;	/* numbers of switches in headers are not their addresses */
	u32	children;	/* of a block; 0: no limit. More are bypassed */
	bool	unforgiving;	/* switches give cookies, but refuse restorations */
	u64	rate;		/* of each link, in bit/s; 0: no limit */
	u32	queue;		/* packets that may wait before each link; 0: no limit */
	bool	fixed_first;
	u32	first_block;
	u64	seed;
	u64	dead_after;
	u64	linger;
	bool	key;
	bool	pinned;		/* vectors are in memory that the application can write to */
	u8	shapes;		/* as cnr_config has it */
	u8	algorithm;	/* enum canary_algorithm, of rank 0; if @formed, of all */
	u8	trees;		/* likewise, with CANARY_ALG_STATIC */
	u8	run;		/* likewise, with CANARY_ALG_TREE */
	bool	formed;		/* from a table: tnet_form() in place of tnet_connect() */
	u8	dtype;		/* of vectors; 0: CANARY_INT32 */
	u8	op;		/* 0: CANARY_OP_SUM */
	u8	element;	/* bytes of an element, with @reduce */
	u64	(*reduce)(const u64 *given, u32 n); /* what is right; NULL: sums of 32 bits */
	u8	how;		/* CANARY_HOW_* */
	u64	(*give)(u32 rank, u32 i); /* elements of up to 8 bytes, with @right */
	/* in place of @give: the whole vector of operation @op */
	void	(*fill)(void *to, u32 rank, u32 op, u32 elements);
	/* is this the result of operation @op? NULL: @reduce tells */
	bool	(*right)(u32 op, const void *got, u32 elements);
	u8	shards;		/* as cnr_config has it */
	bool	sparse;		/* many elements are 0 */
	const struct tnet_switches *switches; /* NULL: those of testnet_switch.c */
	bool	open;		/* switches of bpf/lib have no rules */
	struct tnet_faults faults;
};

/* Counters over all links */
struct tnet_traffic {
	u64	packets;	/* each hop counts */
	u64	lost;		/* by chance */
	u64	overflows;	/* because a queue was full */
	u64	kept;		/* results that left their descriptor where it was */
	u64	freed;		/* results that freed one of these */
	u64	astray;		/* results of kept trees that found no descriptor */
};

struct tnet;

struct tnet *tnet_new(const struct tnet_config *cfg);
void tnet_free(struct tnet *s);

struct cnr_comm *tnet_comm(struct tnet *s, int rank);
u64 tnet_now(const struct tnet *s);

/* Silence a member, as if its process or its link is dead, and let it be heard again. */
void tnet_kill(struct tnet *s, int rank);
void tnet_revive(struct tnet *s, int rank);

/*
 * Replace the process of a member by a new one, which has posted nothing, and will post other
 * values. Packets of the old one stay on their way. Where communicators are formed from tables, a
 * right sum has data of one process of each rank in all its elements.
 */
void tnet_restart(struct tnet *s, int rank);

/* Let time pass until @until (ns), or until nothing is left to happen. Then it returns false. */
bool tnet_run(struct tnet *s, u64 until);

/* Let time pass until @until, even if nothing happens. */
void tnet_pass(struct tnet *s, u64 until);

/* Start the rendezvous of @rank; of everybody with -1. */
void tnet_connect(struct tnet *s, int rank);

/*
 * Make a table from which all members can form their communicator, without rendezvous. @peer has
 * room for all members.
 */
void tnet_table(const struct tnet *s, struct cnr_table *t, struct canary_peer *peer);

/* Form it at @rank, or at everybody with -1. Return: the last result of cnr_form() */
int tnet_form(struct tnet *s, int rank, const struct cnr_table *t);

/* Run until everybody is in @state, at most @ns of simulated time. */
bool tnet_wait_state(struct tnet *s, enum cnr_state state, u64 ns);

/* Run until everybody alive is CLOSED or FAILED, at most @ns of simulated time. */
bool tnet_wait_over(struct tnet *s, u64 ns);

/* Post a vector at @rank; its content is a function of (seed, rank, operation, index). */
int tnet_post(struct tnet *s, int rank, u32 elements);

/*
 * The same, any operation on int32. All have to get what @source has; -1: the sum. @op has neither
 * data nor memory.
 */
int tnet_post_op(struct tnet *s, int rank, struct cnr_op op, int source);

/* The application at @rank writes to its vectors, pinned and not released. */
void tnet_scribble(struct tnet *s, int rank);

/* The same, but all checksums stay what they were. */
void tnet_permute(struct tnet *s, int rank);

/*
 * Number of operations that have completed at @rank. They are checked against the independent sum.
 */
u32 tnet_completed(const struct tnet *s, int rank);
u32 tnet_wrong(const struct tnet *s);
int tnet_last_error(const struct tnet *s, int rank);
u32 tnet_posted(const struct tnet *s, int rank);
u32 tnet_holds(const struct tnet *s, int rank);
u32 tnet_vectors_held(const struct tnet *s);

bool tnet_wait_completed(struct tnet *s, u32 operations, u64 ns);

void tnet_close(struct tnet *s, int rank, bool abort);

struct tnet_faults *tnet_faults(struct tnet *s);

/* The data of the packet that the filter is asked about */
const void *tnet_payload(const struct tnet *s);
const struct tnet_traffic *tnet_traffic(const struct tnet *s);

/* Give @rank a packet as if it came from @from. */
enum canary_drop tnet_inject(struct tnet *s, int rank, const void *packet, u32 len, int from);

#endif /* SELFTESTS_CORE_TESTNET_H */
