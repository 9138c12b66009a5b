/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch inside: shared by switch.c, which runs the program, and router.c. */
#ifndef SIM_SWITCH_H
#define SIM_SWITCH_H

#include "sim.h"
#include "bpf/ctx/native.h"
#include "bpf/lib/all.h"

/*
 * struct sim_switch - one switch
 * @route:	by number of a port set (struct routes), then by port for hosts
 * @program:	runs the program; otherwise it is a plain router
 * @armed:	an EVENT_CLOCK is under way
 */
struct sim_switch {
	struct sim *sim;
	struct csw_route *route;
	struct csw_route *host_route;
	struct csw_backlog *backlog;	/* by port */
	struct csw_port port;		/* all are alike */
	uint64_t random;
	uint32_t node;
	uint32_t hash;		/* mixed into its router's */
	bool program;
	bool down;
	bool armed;
	uint64_t most;		/* descriptors that it had taken at a time */
	char *memory;		/* its descriptors; NULL: they are among others', or it has none */
	size_t memory_size;
	struct csw_native native;	/* large: the last one */
};

static inline struct sim_switch *switch_of(struct csw_native *n)
{
	return (struct sim_switch *)((char *)n - offsetof(struct sim_switch, native));
}

/* router.c: what the kernel does that a switch runs on */
void router_build(struct sim_switch *sw);
void router_free(struct sim_switch *sw);
struct csw_route *router_route(struct csw_native *n, const struct canary_addr *addr);
void router_forward(struct sim_switch *sw, struct packet *p, uint32_t node, uint32_t link);
void router_forward_frame(struct sim_switch *sw, struct packet *p, uint32_t link);

#endif /* SIM_SWITCH_H */
