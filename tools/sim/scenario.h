/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be simulated. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "config.h"

enum algorithm {
	ALGORITHM_DYNAMIC,	/* the protocol as it ships */
	ALGORITHM_STATIC,	/* blocks pinned to trees, fan-in configured at switches */
	ALGORITHM_RING,		/* of hosts, in the order of their addresses */
};

enum traffic_pattern {
	TRAFFIC_NONE,
	TRAFFIC_PERMUTATION,	/* each sends to one and receives from one, changing */
	TRAFFIC_DERANGEMENT,	/* likewise, and never to itself */
	TRAFFIC_UNIFORM,	/* each sends to anyone, changing */
};

/* How a port is chosen for what the switch program does not choose it for */
enum router_port {
	ROUTER_PORT_SAME,	/* as the program does, the default one by destination */
	ROUTER_PORT_FLOW,	/* by addresses and ports, each switch in its own way */
	ROUTER_PORT_SOCKET,	/* by a number of the sender's, all switches alike */
};

enum flow_control {
	FLOW_LOSSLESS,		/* a switch stops who sent what it cannot pass on */
	FLOW_DROP,		/* full queues drop */
};

enum cwnd {
	CWND_AUTO,		/* fixed if nothing is dropped */
	CWND_ADAPTIVE,		/* as shipped */
	CWND_FIXED,		/* the whole window, as in the paper */
};

enum fan_in {
	FAN_IN_LEARN,		/* as shipped */
	FAN_IN_OFF,		/* timeouts alone, as in the paper */
};

enum placement {
	PLACE_RANDOM,
	PLACE_PACKED,		/* ranks fill leaf after leaf */
};

struct scenario {
	char topology[CONFIG_TEXT_MAX];
	uint32_t seed;
	uint32_t algorithm;
	uint32_t trees;
	uint32_t first_tree;	/* these follow each other from there on; 0: random ones */
	uint32_t members;	/* hosts that take part, all jobs together; 0: all */
	uint32_t jobs;
	uint32_t operations;	/* one after the other */
	uint64_t bytes;		/* of a vector */
	uint32_t elements;	/* of a packet */
	uint64_t headers;	/* of a data packet on the wire, all but elements */
	uint32_t window;
	uint32_t cwnd;
	uint64_t host_delay;
	uint64_t rto_min;
	uint32_t placement;
	char hosts[CONFIG_TEXT_MAX];	/* that take part, as numbers by rank; "": by @placement */

	uint32_t traffic;
	uint64_t traffic_message;
	uint64_t traffic_packet;
	uint32_t traffic_rate;	/* ppm of the link's */
	uint32_t traffic_port;	/* enum router_port, of this traffic, */
	uint32_t router_port;	/* and of frames */

	uint32_t port_choice;	/* enum csw_choice */
	uint64_t flowlet;
	uint32_t flow;
	uint64_t pause;
	uint64_t burst;		/* 0: packets take their time on a link */
	uint64_t timeout;
	uint64_t timeout_max;
	uint32_t patience;
	uint32_t fan_in;
	uint32_t descriptors;
	uint64_t lifetime;
	uint32_t children;
	uint32_t deployed;	/* ppm of the switches */

	uint32_t noise;		/* ppm of packets */
	uint64_t noise_delay;
	uint32_t loss;		/* ppm of packets on each link */
	struct config_list fail;
	uint64_t reroute;
	uint64_t give_up;	/* simulated time after which it is a failure */
};

extern const struct config_key scenario_keys[];

void scenario_defaults(struct scenario *s);

/*
 * Hosts that take part, by rank, as @order, which has room for @hosts. Return: how many; 0 if they
 * are not numbers of different hosts
 */
uint32_t scenario_hosts(const struct scenario *s, uint32_t hosts, uint32_t *order);

/* What keys say is fine each; is it together? Return: false, and said why on stderr */
bool scenario_check(const struct scenario *s, uint32_t hosts);

#endif /* SIM_SCENARIO_H */
