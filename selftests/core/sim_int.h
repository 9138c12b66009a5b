/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the simulated network (simnet.h): events and members (simnet.c), links with their
 * faults (simlink.c), routers and aggregators (simswitch.c).
 *
 * A place is a member (its rank) or a switch: SIM_SWITCH(k). Leaves come first, then spines.
 */
#ifndef SELFTESTS_CORE_SIM_INT_H
#define SELFTESTS_CORE_SIM_INT_H

#include "simnet.h"

#define SIM_HOP_NS	20000
#define SIM_WORK_NS	1000	/* until a member goes on */
#define SIM_SLOTS	512
#define SIM_LISTS	4	/* restorations of one block that are held */
#define SIM_SWITCHES	16
#define SIM_PLACES	(SIM_MEMBERS_MAX + SIM_SWITCHES)
#define SIM_SWITCH(k)	(-1 - (int)(k))
#define SIM_NOWHERE	(-1000)
#define SIM_ROOT_WAITS	3	/* as bpf/lib: what waited elsewhere gets more time at the root */

enum sim_kind {
	SIM_PACKET,
	SIM_FLUSH,
	SIM_WORK,		/* a member goes on with what takes long */
};

struct sim_event {
	u64	at;
	u64	seq;
	enum sim_kind kind;
	int	to;		/* the next place */
	struct canary_addr addr;	/* source */
	__be16	port;
	struct canary_addr daddr;
	__be16	dport;
	u32	slot;
	u32	generation;
	u32	len;
	u8	*data;
};

struct sim_vector {
	u32	*data;
	u64	*hashes;	/* NULL unless pinned */
	u32	elements;
	struct sim_vector *next;
};

struct sim_node {
	struct cnr_comm *comm;
	bool	dead;
	bool	working;	/* goes on soon */
	u32	posted;
	u32	completed;
	int	last_error;
	struct sim_vector *held;
};

struct sim_slot {
	bool	used;
	bool	sent;
	u8	waits;
	u64	since;
	u32	generation;
	struct canary_hdr hdr;
	u32	count;
	u64	tag;
	u32	sum;
	u32	done;
	u32	data[CANARY_ELEMENTS_MAX];
	u32	children;
	struct { struct canary_addr addr; __be16 port; u64 tag; } child[SIM_MEMBERS_MAX];
	struct canary_addr daddr;
	__be16	dport;
};

/* The list of a restoration, until its result comes */
struct sim_restored {
	struct canary_hdr hdr;
	u32	children;
	struct canary_restored child[CANARY_RESTORED_MAX];
};

/* One direction of a link */
struct sim_link {
	u64	free_at;	/* when the last packet queued has left */
	u64	bad_until;	/* in a burst of losses */
};

struct sim {
	struct sim_config cfg;
	u64	now;
	u64	seq;
	u64	rng;
	struct sim_node node[SIM_MEMBERS_MAX];
	struct sim_event *heap;
	u32	events;
	u32	room;
	u32	switches;
	struct sim_slot *slot[SIM_SWITCHES];
	struct sim_restored *restored[SIM_SWITCHES];
	u64	restorations;	/* accepted */
	u64	refused;
	struct sim_link link[SIM_PLACES][SIM_PLACES];
	struct sim_traffic traffic;
	const void *payload;	/* of the packet that is being sent */
	u32	wrong;
};

/* simnet.c */
u64 sim_random(struct sim *s);
bool sim_chance(struct sim *s, u32 ppm);
void sim_push(struct sim *s, struct sim_event e);

/* simlink.c: @e goes from @from over the link to @e.to; its content is copied */
void sim_send(struct sim *s, struct sim_event e, const void *hdr, const void *payload,
	      u32 payload_len, int from);

/* simswitch.c */
void sim_switches(struct sim *s);
int sim_next_hop(const struct sim *s, int from, const struct canary_addr *daddr, u32 block);
void sim_switch(struct sim *s, struct sim_event *e);
void sim_flush(struct sim *s, const struct sim_event *e);

static inline struct canary_addr sim_addr(int rank)
{
	return canary_addr_of_ip4(cpu_to_be32(0x0a000100 + rank));
}

#endif /* SELFTESTS_CORE_SIM_INT_H */
