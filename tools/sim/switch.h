/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch, for switch.c, which runs the program, and router.c only. */
#ifndef SIM_SWITCH_H
#define SIM_SWITCH_H

#include "sim.h"
#include "bpf/ctx/native.h"
#include "bpf/lib/all.h"

/*
 * struct sim_switch - one switch
 *
 * @route:	by number of a port set (struct routes)
 * @host_route:	by port: to the host there
 * @program:	runs the program; otherwise it is a plain router
 * @armed:	an EVENT_CLOCK is scheduled
 */
struct sim_switch {
	struct sim *sim;
	struct csw_route *route;
	struct csw_route *host_route;
	struct csw_backlog *backlog;	/* by port */
	struct csw_port port;		/* all are alike */
	uint64_t random;
	uint32_t node;
	uint32_t hash;		/* mixed into the hash of its router */
	bool program;
	bool down;
	bool armed;
	uint64_t most;		/* largest number of descriptors in use so far */
	char *memory;		/* of its descriptors; NULL: none, or in sim.descriptors */
	size_t memory_size;
	struct csw_native native;	/* last, as it is large */
};

static inline struct sim_switch *switch_of(struct csw_native *n)
{
	return (struct sim_switch *)((char *)n - offsetof(struct sim_switch, native));
}

/* router.c: what the kernel of a switch does */
void router_build(struct sim_switch *sw);
void router_free(struct sim_switch *sw);
struct csw_route *router_route(struct csw_native *n, const struct canary_addr *addr);
void router_forward(struct sim_switch *sw, struct packet *p, uint32_t node, uint32_t link);
void router_forward_frame(struct sim_switch *sw, struct packet *p, uint32_t link);

#endif /* SIM_SWITCH_H */
