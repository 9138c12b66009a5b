/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulation: links and queues, switches that run bpf/lib, hosts that run kmod/core. struct sim
 * has all of its state.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdio.h>

#include "core/core.h"
#include "engine.h"
#include "scenario.h"
#include "topo.h"
#include "util.h"

struct sim;
struct sim_switch;
struct sim_host;

enum event_kind {
	EVENT_SENT,		/* ptr: link; the packet on it is sent */
	EVENT_ARRIVED,		/* ptr: packet; arg: link that it came over */
	EVENT_CLOCK,		/* arg: switch; the head of its deadline queue is due */
	EVENT_TIMER,		/* arg: host; its core's deadline is over */
	EVENT_DELAYED,		/* ptr: packet; arg: host; its noise delay is over */
	EVENT_FAIL,		/* arg: switch */
	EVENT_REPAIR,		/* arg: switch */
	EVENT_REROUTE,
	EVENT_TRAFFIC,		/* arg: host; it may send background traffic again */
};

/*
 * Buffer space of several copies of a packet, which a switch counts once. A run ends with packets
 * still on their way, so there are lists of all shares and bodies besides those of free ones.
 */
struct share {
	struct share *next;	/* of free ones */
	struct share *older;	/* of all: the one that was made before */
	uint32_t link;
	uint32_t bytes;
	uint32_t copies;
};

#define NO_LINK		(~0U)

/* Elements that several packets share: copies of a result */
struct body {
	struct body *next;	/* of free ones */
	struct body *older;	/* of all: the one that was made before */
	uint32_t users;
	uint32_t data[];
};

enum packet_kind {
	PACKET_TRAFFIC,		/* background traffic, without a frame */
	PACKET_HEAD,		/* headers of a frame; @body, @maker or nobody has the rest */
	PACKET_WHOLE,		/* a whole frame */
	PACKET_KINDS
};

#define FRAME_HEADERS	106	/* offset of the elements */

/*
 * struct packet - a frame on its way
 *
 * @wire:		bytes that it takes on a link
 * @length:		of the frame, with its elements wherever they are; 0: background traffic
 * @destination:	node, for background traffic
 * @link:		lossless: the link that it came over, whose space it takes in the present
 *			switch
 * @share:		lossless: space that it shares with copies, instead of @link
 * @arrived:		time of arrival, at a host that has not looked at it yet
 * @maker, @index:	the elements are this host's input, which is made where it is read
 *			(vector.c). For background traffic @index is the number of its message
 * @frame:		begins 6 bytes past a multiple of 8, as bpf/ctx/native.h asks for
 */
struct packet {
	struct packet *next;
	uint32_t wire;
	uint32_t length;
	uint32_t destination;
	uint32_t link;
	union {
		struct share *share;
		uint64_t arrived;
	};
	struct body *body;
	struct sim_host *maker;
	uint32_t index;
	uint8_t kind;
	uint8_t pad[9];
	uint8_t frame[];
};

/* Append to a list of packets. @last is only valid if the list is not empty. */
static inline void packet_append(struct packet **first, struct packet **last, struct packet *p)
{
	p->next = NULL;
	if (*first)
		(*last)->next = p;
	else
		*first = p;
	*last = p;
}

/*
 * One direction of a cable, with the queue of the port that sends into it. The first cache line has
 * what each packet changes.
 */
struct link {
	struct packet *head;
	struct packet *tail;
	struct packet *sending;
	uint32_t queued;	/* bytes that wait, without the packet that is being sent */
	uint32_t held;		/* lossless: bytes in the switch at @to that came this way */
	uint32_t to;
	uint32_t from;
	uint16_t port;		/* at @to */
	uint16_t time_size[2];	/* the two sizes sent last ... */
	int8_t time_lane[2];	/* ... and their lanes */
	int8_t latency_lane;
	bool paused;
	bool down;
	uint32_t packets;
	uint64_t bytes;

	uint64_t drops;
	uint32_t longest;	/* longest queue so far */
	uint32_t reverse;	/* the other direction */
	uint64_t rate;
	uint64_t latency;
	uint64_t paid_until;	/* with a burst: when all that was sent is paid for */
} __attribute__((__aligned__(2 * LINE)));

struct ports {
	uint32_t n;
	uint32_t *link;		/* by port: the link that leads out of it */
};

/* Packets of one kind. They are allocated as needed, and never returned. @free is a stack. */
struct pool {
	struct packet **free;
	uint32_t count;
	size_t size;
	void **slab;
	uint32_t slabs;
};

/*
 * struct net_users - functions that the network calls
 *
 * @lost:	background traffic was lost; nobody sends it again
 * @stopped:	the port of @host has nothing left to send
 */
struct net_users {
	void (*lost)(struct sim *s, const struct packet *p);
	void (*stopped)(struct sim *s, uint32_t host);
};

struct sim {
	struct scenario cfg;
	struct topo topo;
	struct engine engine;

	uint32_t nodes;
	uint32_t links;
	struct link *link;
	const struct net_users *users;
	struct ports *ports;		/* by node */
	uint32_t *edge;			/* by host: its switch */
	struct sim_switch **sw;		/* by switch */
	struct sim_switch *switch_memory;
	size_t descriptor_size;
	char *descriptors;		/* of all switches that have hosts */
	size_t descriptors_size;
	struct sim_host *host;		/* by host */
	struct job *job;
	struct traffic *traffic;
	struct fan_ins *configured;

	struct routes *routes;		/* by switch */

	struct pool pool[PACKET_KINDS];
	struct body *bodies;		/* free ones */
	struct body *all_bodies;
	struct packet *bench;		/* a frame, where switches put parts together */
	struct share *shares;		/* free ones */
	struct share *all_shares;
	uint64_t loss_random;

	uint64_t hops;			/* packets that arrived over a link */
	uint64_t data_hops;		/* of these, those with a frame */
	uint64_t lost;			/* by loss, dead switches, full queues */
	uint64_t begin;			/* when operations were posted */
	uint64_t end;
	uint32_t running;		/* hosts whose operations are not complete */
	uint32_t failed;		/* hosts that gave up */
	uint64_t wrong;			/* blocks with a wrong result */
	uint64_t checked;		/* elements compared */
	uint32_t blocks;		/* of an operation */
	uint64_t *op_time;		/* by operation: sum over all members */
	uint32_t *scratch;		/* one block */
	struct sim_host *maker;		/* whose input is in @scratch, or NULL */
	uint32_t made;			/* index of its first element */
	struct vector_cache *vectors;
	uint64_t wall;			/* ns of wall clock that it took */
	uint64_t processor;		/* ns of processor time that it took */
};

/* net.c: links, queues, packets */
void net_build(struct sim *s);
void net_free(struct sim *s);
struct packet *packet_new(struct sim *s, enum packet_kind kind);
void packet_free(struct sim *s, struct packet *p);
void packet_body(struct sim *s, struct packet *p, const void *data, uint32_t bytes);
void packet_done(struct sim *s, struct packet *p);
void net_charge(struct sim *s, struct packet *p, uint32_t link);
struct share *net_share(struct sim *s, uint32_t link, uint32_t bytes);
void net_send(struct sim *s, uint32_t link, struct packet *p);
void net_lose(struct sim *s, struct packet *p);
void net_sent(struct sim *s, struct link *l);
uint32_t net_wire(const struct sim *s, uint32_t length);
void net_link_down(struct sim *s, uint32_t link, bool down);

/*
 * route.c: shortest paths. Destinations with the same next hops at a switch share a set of ports.
 */
#define PORT_SET_MAX	64
#define NO_SET		0xffff

struct port_set {
	uint32_t n;
	uint16_t port[PORT_SET_MAX];
};

struct routes {
	uint32_t sets;
	struct port_set *set;
	uint16_t *towards;	/* by switch: number of a set, or NO_SET */
};

void route_build(struct sim *s);
void route_free(struct sim *s);
uint32_t route_uplinks(const struct sim *s);
uint32_t route_roots(const struct sim *s);

/* switch.c: switches that run bpf/lib */
void switch_build(struct sim *s);
void switch_free(struct sim *s);
void switch_touch(struct sim *s, __be32 comm, __be32 epoch, uint32_t first);
void switch_input(struct sim *s, uint32_t node, struct packet *p, struct link *from);
void switch_clock(struct sim *s, uint32_t node);
void switch_fetch_self(const struct sim *s, uint32_t node);
void switch_fetch(const struct sim *s, uint32_t node, const struct packet *p);
void switch_fetch_data(const struct sim *s, uint32_t node, const struct packet *p);
void switch_fail(struct sim *s, uint32_t node, bool down);
void switch_counters(struct sim *s, uint64_t *sum);
uint64_t switch_busiest(const struct sim *s);
uint32_t switch_counter_count(void);
const char *switch_counter_name(uint32_t i);

/* router.c: the router of each switch */
void switch_routes(struct sim *s);

/* fan_in.c: the fan-in that is configured for static trees */
void fan_in_build(struct sim *s);
void fan_in_free(struct sim *s);
uint32_t fan_in_of(const struct sim *s, uint32_t node, uint32_t leader);

/* host.c: hosts that run kmod/core */
void host_build(struct sim *s);
bool host_takes_part(const struct sim *s, uint32_t host);
uint32_t host_progress(const struct sim *s);
void host_free(struct sim *s);
void host_start(struct sim *s);
void host_input(struct sim *s, uint32_t host, struct packet *p);
void host_timer(struct sim *s, uint32_t host);
bool host_waits(const struct sim *s, uint32_t host);
void host_fetch_self(const struct sim *s, uint32_t host);
void host_fetch(const struct sim *s, uint32_t host);
void host_fetch_block(const struct sim *s, uint32_t host, const struct packet *p);
void host_pump(struct sim *s, uint32_t host);
void host_finish(struct sim *s);
void host_counters(struct sim *s, uint64_t *sum);
void host_make(struct sim *s, const struct packet *p, uint32_t *to);

/*
 * held.c: write the vectors of the first job's ranks, as rank0 and so on, and what has to come out,
 * as result, to files of a folder. Return: false after an error message
 */
bool held_write(struct sim *s, const char *folder);

/* sim.c: the simulation as a whole */
bool sim_build(struct sim *s);
void sim_free(struct sim *s);
bool sim_run(struct sim *s, bool progress);

/* report.c */
void report_json(struct sim *s, FILE *to, bool speed);
void report_links(const struct sim *s, FILE *to);

/* traffic.c */
void traffic_build(struct sim *s);
void traffic_free(struct sim *s);
void traffic_start(struct sim *s);
void traffic_fill(struct sim *s, uint32_t host);
void traffic_turn(struct sim *s, uint32_t host);
void traffic_input(struct sim *s, const struct packet *p);

static inline uint32_t sim_addr(const struct sim *s, uint32_t node)
{
	return node < s->topo.switches ? 0x0aff0000U + node : 0x0a000000U + node;
}

/* Address of a node, as core and switches have it */
static inline struct canary_addr sim_address(const struct sim *s, uint32_t node)
{
	return canary_addr_of_ip4(htobe32(sim_addr(s, node)));
}

/* Node of an address, or ~0 */
static inline uint32_t sim_node(const struct sim *s, const struct canary_addr *address)
{
	uint32_t addr = be32toh(canary_addr_ip4(address));
	uint32_t node = (addr >> 16) == 0x0aff ? addr & 0xffff : addr - 0x0a000000U;

	return node < s->nodes ? node : ~0U;
}

static inline uint64_t sim_ns(const struct sim *s)
{
	return s->engine.now / PS_PER_NS;
}

#endif /* SIM_SIM_H */
