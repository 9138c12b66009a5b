// SPDX-License-Identifier: BSD-2-Clause
/*
 * The part of the kernel of a real switch: routes, and forwarding what the program leaves to it,
 * both frames and background traffic.
 */
#include <stdlib.h>
#include <string.h>

#include "switch.h"
#include "util.h"

struct csw_route *router_route(struct csw_native *n, const struct canary_addr *addr)
{
	struct sim_switch *sw = switch_of(n);
	struct sim *s = sw->sim;
	uint32_t node = sim_node(s, addr), edge;
	uint16_t set;

	if (node == ~0U || node == sw->node)
		return NULL;
	edge = node < s->topo.switches ? node : s->edge[node - s->topo.switches];
	if (edge == sw->node) {
		uint32_t link = s->ports[node].link[0];

		return &sw->host_route[s->link[link].port];
	}
	set = s->routes[sw->node].towards[edge];
	return set == NO_SET ? NULL : &sw->route[set];
}

/* Hash of a router that chooses by flow */
static uint32_t hash_of(const struct sim_switch *sw, const struct packet *p, uint32_t node,
			enum router_port how)
{
	const struct iphdr *ip = (const void *)(p->frame + CSW_OFF_IP);
	__be32 from = p->length ? ip->saddr : htobe32(p->index + 1);
	struct csw_flow flow = { 0 };

	if (how == ROUTER_PORT_FLOW) {
		from ^= sw->hash;
		flow.dst.addr = sim_address(sw->sim, node);
		flow.dst.port = sw->node;
	} else {
		from ^= sw->sim->cfg.seed;
		flow.dst.addr = canary_addr_of_ip4(0);
	}
	flow.src = canary_addr_of_ip4(from);
	return csw_flow_hash(&flow);
}

/*
 * Return: the port for a packet to @node; -1 if there is no way. The home hop depends on the
 * destination.
 */
static int choose(struct sim_switch *sw, const struct packet *p, uint32_t node)
{
	struct csw_flow flow = { .dst.addr = sim_address(sw->sim, node), .hash = node };
	enum router_port how = p->length ? sw->sim->cfg.router_port : sw->sim->cfg.traffic_port;
	struct csw_frame f = { .owner = &sw->native };
	struct csw_route *r = csw_route(&f, &flow.dst.addr);

	if (!r)
		return -1;
	if (how != ROUTER_PORT_SAME)
		return r->nexthop[hash_of(sw, p, node, how) % r->nexthops].ifindex - 1;
	sw->native.now = sim_ns(sw->sim);
	return r->nexthop[csw_choose(&f, r, &flow)].ifindex - 1;
}

void router_forward(struct sim_switch *sw, struct packet *p, uint32_t node, uint32_t link)
{
	struct sim *s = sw->sim;
	int out = node == ~0U || node == sw->node ? -1 : choose(sw, p, node);

	if (out < 0) {
		net_lose(s, p);
		return;
	}
	net_charge(s, p, link);
	net_send(s, s->ports[sw->node].link[out], p);
}

/* Forward a frame that the program left to the kernel's router. */
void router_forward_frame(struct sim_switch *sw, struct packet *p, uint32_t link)
{
	struct iphdr *ip = (struct iphdr *)(p->frame + CSW_OFF_IP);
	struct canary_addr to;

	if (!ip->ttl--) {
		sw->sim->lost++;
		packet_done(sw->sim, p);
		return;
	}
	csw_ip_checksum(ip);
	to = canary_addr_of_ip4(ip->daddr);
	router_forward(sw, p, sim_node(sw->sim, &to), link);
}

static void set_route(struct csw_route *r, uint32_t n)
{
	memset(r, 0, sizeof(*r));
	r->kind = CSW_ROUTE_UNICAST;
	r->nexthops = n;
}

/* Do what the daemon does after routes have changed. */
void switch_routes(struct sim *s)
{
	uint32_t i, j, k;

	for (i = 0; i < s->topo.switches; i++) {
		const struct routes *r = &s->routes[i];
		struct sim_switch *sw = s->sw[i];

		free(sw->route);
		sw->route = sim_zalloc(r->sets, sizeof(*sw->route));
		for (j = 0; j < r->sets; j++) {
			set_route(&sw->route[j], r->set[j].n);
			for (k = 0; k < r->set[j].n; k++) {
				uint32_t out = r->set[j].port[k];
				uint32_t to = s->link[s->ports[i].link[out]].to;

				sw->route[j].nexthop[k].ifindex = out + 1;
				sw->route[j].nexthop[k].gateway = sim_address(s, to);
			}
		}
	}
}

/* Set the routes to hosts at this switch. switch_routes() sets the others. */
void router_build(struct sim_switch *sw)
{
	uint32_t i, n = sw->sim->ports[sw->node].n;

	sw->host_route = sim_zalloc(n, sizeof(*sw->host_route));
	for (i = 0; i < n; i++) {
		set_route(&sw->host_route[i], 1);
		sw->host_route[i].nexthop[0].ifindex = i + 1;
	}
}

void router_free(struct sim_switch *sw)
{
	free(sw->route);
	free(sw->host_route);
}
