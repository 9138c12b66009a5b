/* SPDX-License-Identifier: BSD-2-Clause */
/* What a scenario describes */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "config.h"
#include "linux/canary_wire.h"

enum algorithm {
	ALGORITHM_DYNAMIC,	/* the protocol as real hosts and switches run it */
	ALGORITHM_STATIC,	/* blocks pinned to trees, fan-in configured at switches */
	ALGORITHM_RING,		/* of hosts, in the order of their addresses */
};

enum traffic_pattern {
	TRAFFIC_NONE,
	TRAFFIC_PERMUTATION,	/* each host sends to one and receives from one; changes */
	TRAFFIC_DERANGEMENT,	/* the same, and nobody sends to itself */
	TRAFFIC_UNIFORM,	/* each host sends to anybody; changes */
};

/* How a port is chosen for packets that the switch program does not choose for */
enum router_port {
	ROUTER_PORT_SAME,	/* as the program does; the home hop depends on the destination */
	ROUTER_PORT_FLOW,	/* by addresses and ports, each switch in its own way */
	ROUTER_PORT_SOCKET,	/* by a number of the sender's, at all switches alike */
};

enum flow_control {
	FLOW_LOSSLESS,		/* a switch stops senders of what it cannot pass on */
	FLOW_DROP,		/* a full queue drops */
};

enum cwnd {
	CWND_AUTO,		/* fixed if no queue drops */
	CWND_ADAPTIVE,		/* as in a real host */
	CWND_FIXED,		/* the whole window, as in the paper */
};

enum fan_in {
	FAN_IN_LEARN,		/* as a real switch */
	FAN_IN_OFF,		/* timeouts alone, as in the paper */
};

enum placement {
	PLACE_RANDOM,
	PLACE_PACKED,		/* ranks fill leaf after leaf */
};

/* What is reduced, beside the sets of values.h */
enum data {
	DATA_AUTO,		/* sums of int32: made where they are added; else DATA_PERF */
	DATA_PERF,		/* what canary perf gives */
	DATA_SETS		/* the first set: enum values_set begins */
};

enum dealt {
	DEALT_RANKS,		/* rank r has the data of member r */
	DEALT_RANDOM,		/* of any member */
};

struct scenario {
	char topology[CONFIG_TEXT_MAX];
	uint32_t seed;
	uint32_t algorithm;
	uint32_t trees;
	uint32_t run;		/* blocks that a host leads in a row */
	uint32_t first_tree;	/* number of the first one, others follow it; 0: random ones */
	uint32_t members;	/* hosts that take part, in all jobs; 0: all */
	uint32_t jobs;
	uint32_t operations;	/* one after the other */
	uint64_t bytes;		/* of a vector */
	uint32_t type;		/* scenario_dtype() */
	uint32_t op;		/* scenario_operator() */
	char how[CONFIG_TEXT_MAX];	/* scenario_how() */
	uint32_t values;	/* enum data */
	uint32_t dealt;
	uint32_t elements;	/* of a packet */
	uint64_t headers;	/* of a data packet on the wire, without elements */
	uint32_t window;
	uint32_t cwnd;
	uint64_t host_delay;
	uint64_t rto_min;
	uint32_t placement;
	char hosts[CONFIG_TEXT_MAX];	/* that take part, as numbers by rank; "": by @placement */

	uint32_t traffic;
	uint64_t traffic_message;
	uint64_t traffic_packet;
	uint32_t traffic_rate;	/* ppm of the link's rate */
	uint32_t traffic_port;	/* enum router_port, for background traffic */
	uint32_t router_port;	/* enum router_port, for frames */

	uint32_t choice;	/* enum csw_choice */
	uint64_t flowlet;
	uint32_t flow;
	uint64_t pause;
	uint64_t burst;		/* 0: packets take time on a link */
	uint64_t timeout;
	uint64_t timeout_max;
	uint32_t root_waits;
	uint32_t fan_in;
	uint32_t slots;
	uint64_t lifetime;
	uint32_t children;
	uint32_t deployed;	/* ppm of the switches */

	uint32_t noise;		/* ppm of packets */
	uint64_t noise_delay;
	uint32_t loss;		/* ppm of packets on each link */
	struct config_list fail;
	uint64_t reroute;
	uint64_t give_up;	/* simulated time after which the run has failed */
};

extern const struct config_key scenario_keys[];

void scenario_defaults(struct scenario *s);

static inline enum canary_dtype scenario_dtype(const struct scenario *s)
{
	return s->type + 1;
}

static inline enum canary_operator scenario_operator(const struct scenario *s)
{
	return s->op + 1;
}

/* Return: CANARY_HOW_*; one that there is not, if there is such a word */
uint32_t scenario_how(const struct scenario *s);

/* Do hosts hold their vectors? Else elements are made where they are added. */
bool scenario_holds(const struct scenario *s);

/*
 * Write the hosts that take part to @order by rank. It has room for @hosts. Return: how many, or 0
 * if the list is not one of different hosts
 */
uint32_t scenario_hosts(const struct scenario *s, uint32_t hosts, uint32_t *order);

/* Each value is valid; check that they go together. Return: false after an error message */
bool scenario_check(const struct scenario *s, uint32_t hosts);

#endif /* SIM_SCENARIO_H */
