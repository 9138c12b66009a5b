/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the simulated network (testnet.h): events and members (testnet.c), their vectors
 * (testnet_vector.c), links with their faults (testnet_link.c), routers and aggregators
 * (testnet_switch.c).
 *
 * A place is a member (its rank) or a switch: TNET_SWITCH(k). Leaves come first, then spines.
 */
#ifndef SELFTESTS_CORE_TESTNET_INSIDE_H
#define SELFTESTS_CORE_TESTNET_INSIDE_H

#include "core/driver.h"
#include "testnet.h"

#define TNET_HOP_NS	20000
#define TNET_WORK_NS	1000	/* time until a member continues its work */
#define TNET_SLOTS	512
#define TNET_LISTS	4	/* restorations of one block that a switch keeps */
#define TNET_SWITCHES	16
#define TNET_PLACES	(TNET_MEMBERS_MAX + TNET_SWITCHES)
#define TNET_SWITCH(k)	(-1 - (int)(k))
#define TNET_NOWHERE	(-1000)
#define TNET_ROOT_WAITS	3	/* factor of the timeout at the root switch, as in bpf/lib */

enum tnet_kind {
	TNET_PACKET,
	TNET_FLUSH,
	TNET_WORK,		/* a member continues work that takes long */
};

struct tnet_event {
	u64	at;
	u64	seq;
	enum tnet_kind kind;
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

struct tnet_vector {
	u32	*data;
	void	*apart;		/* contribution outside @data, until the sum has ended */
	void	*target;	/* where results are wanted, maybe @apart, as long; NULL: @data */
	u64	*hashes;	/* NULL unless the vectors are pinned */
	void	*memory;	/* of the encoding */
	int	source;		/* all get what this rank has; -1: the sum */
	u32	elements;
	struct tnet_vector *next;
};

#define TNET_MADE	1024	/* contributions that are remembered */

/* A contribution whose words the core made at tnet_node.place */
struct tnet_made {
	bool	known;
	__be32	block;
	__be32	opsig;
	u64	digest;		/* of the words, in their order */
};

struct tnet_node {
	struct cnr_comm *comm;
	u8	*place;		/* for the data of a packet */
	u8	fill;		/* what was there before */
	struct tnet_made made[TNET_MADE];
	bool	dead;
	bool	working;	/* a TNET_WORK is scheduled */
	u32	posted;
	u32	completed;
	int	last_error;
	u8	with[TNET_MEMBERS_MAX];	/* tnet.run, when it formed its communicator */
	struct tnet_vector *held;
};

struct tnet_slot {
	bool	used;
	bool	sent;
	u8	waits;
	u64	since;
	u32	generation;
	struct canary_hdr hdr;
	u32	count;
	u32	packets;	/* merged */
	u32	length;
	u64	tag;
	u32	sum;
	u32	done;
	u32	data[CANARY_ELEMENTS_MAX];
	u32	children;
	struct { struct canary_addr addr; __be16 port; u64 tag; } child[TNET_MEMBERS_MAX];
	struct canary_addr daddr;
	__be16	dport;
};

/* The list of a restoration, which is kept until its result comes */
struct tnet_restored {
	struct canary_hdr hdr;
	u32	children;
	struct canary_restored child[CANARY_RESTORED_MAX];
};

/* One direction of a link */
struct tnet_link {
	u64	free_at;	/* when the last queued packet has left */
	u64	bad_until;	/* end of a burst of losses */
};

struct tnet {
	struct tnet_config cfg;
	u64	now;
	u64	seq;
	u64	rng;
	struct tnet_node node[TNET_MEMBERS_MAX];
	struct tnet_event *heap;
	u32	events;
	u32	room;
	u32	switches;
	struct tnet_slot *slot[TNET_SWITCHES];
	struct tnet_restored *restored[TNET_SWITCHES];
	u64	restorations;	/* accepted */
	u64	refused;
	struct tnet_link link[TNET_PLACES][TNET_PLACES];
	struct tnet_traffic traffic;
	const void *payload;	/* of the packet that is being sent */
	u32	wrong;
	struct tnet_native *native;
	u8	run[TNET_MEMBERS_MAX];	/* how often each rank's process was replaced */
};

/* testnet.c */
u64 tnet_random(struct tnet *s);
bool tnet_chance(struct tnet *s, u32 ppm);
void tnet_push(struct tnet *s, struct tnet_event e);
enum cnr_left tnet_pump(struct tnet *s, int rank);

/*
 * testnet_vector.c. tnet_complete(): count the operation @d, and whether its result is wrong.
 * tnet_release(): free its vector. tnet_free_vectors(): free all
 */
void tnet_complete(struct tnet *s, int rank, const struct cnr_done *d);
void tnet_release(struct tnet_node *n, const struct cnr_done *d);
void tnet_free_vectors(struct tnet_node *n);

/* testnet_link.c: send @e over the link from @from to @e.to. Its content is copied. */
void tnet_send(struct tnet *s, struct tnet_event e, const void *hdr, const void *payload,
	       u32 payload_len, int from);

/* Other switches than those of testnet_switch.c */
struct tnet_switches {
	void	(*begin)(struct tnet *s);
	void	(*end)(struct tnet *s);
	void	(*input)(struct tnet *s, struct tnet_event *e);
	void	(*clock)(struct tnet *s, const struct tnet_event *e);
};

/* native_switch.c, which is only in some tests: bpf/lib */
extern const struct tnet_switches tnet_native;

/* What its switches have counted, all together */
struct tnet_native_counts {
	u64	merged;		/* contributions added */
	u64	passed;		/* because switches do not combine their kind */
};

struct tnet_native_counts tnet_native_counts(const struct tnet *s);

/* testnet_switch.c */
void tnet_switches(struct tnet *s);
int tnet_next_hop(const struct tnet *s, int from, const struct canary_addr *daddr, u32 block);
void tnet_switch(struct tnet *s, struct tnet_event *e);
struct canary_addr tnet_switch_addr(int place);
void tnet_route(struct tnet *s, int at, struct tnet_event e, const struct canary_hdr *h,
		const void *payload);
void tnet_flush(struct tnet *s, const struct tnet_event *e);

static inline struct canary_addr tnet_addr(int rank)
{
	return canary_addr_of_ip4(cpu_to_be32(0x0a000100 + rank));
}

#endif /* SELFTESTS_CORE_TESTNET_INSIDE_H */
