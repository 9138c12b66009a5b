// SPDX-License-Identifier: BSD-2-Clause
/* The switch logic as an ordinary program: bpf/lib over bpf/ctx/native.h */
#include <stdlib.h>

#include "bpf/ctx/native.h"
#include "bpf/lib/all.h"
#include "backend.h"

static struct csw_native sw;
static uint32_t wakes;	/* with no bucket locked, as others would give up meanwhile */
static struct csw_restoration restoration[CSW_RESTORE_SLOTS];
static struct csw_port port_table[PORTS + 1];
static struct outputs *sink;
static uint32_t configured_fan_in;

static void wake(struct csw_native *s)
{
	uint32_t i, locked = 0;

	for (i = 0; i <= s->config.slot_mask; i++)
		locked += s->descriptor[i].lock;
	wakes += !locked;
}

static struct csw_route *route(struct csw_native *s, const struct canary_addr *addr)
{
	static struct csw_route best, r;
	uint32_t longest = 0;
	struct csw_route_key key;
	bool found = false;
	int i;

	for (i = 0; world_routes(&key, &r, i); i++) {
		if (!canary_addr_within(addr, &key.addr, key.prefixlen) || key.prefixlen < longest)
			continue;
		longest = key.prefixlen;
		best = r;
		found = true;
	}
	return found ? &best : NULL;
}

static const struct csw_neigh *neigh(struct csw_native *s, __u32 ifindex,
				     const struct canary_addr *addr)
{
	static struct csw_neigh n;
	struct csw_neigh_key key;
	int i;

	for (i = 0; world_neighbours(&key, &n, i); i++)
		if (key.ifindex == ifindex && canary_addr_equal(&key.addr, addr))
			return &n;
	return NULL;
}

static const struct csw_port *port(struct csw_native *s, __u32 ifindex)
{
	return ifindex && ifindex <= PORTS ? &port_table[ifindex] : NULL;
}

static __u32 fan_in_of(struct csw_native *s, const struct canary_addr *leader)
{
	return canary_addr_ip4(leader) == people[LEADER].addr ? configured_fan_in : 0;
}

static const struct csw_admission *admission(struct csw_native *s, __u32 ifindex,
					     const struct canary_addr *addr)
{
	static struct csw_admission best, a;
	struct csw_admission_key key;
	uint32_t longest = 0;
	int i;

	for (i = 0; world_admissions(&key, &a, i); i++) {
		if (key.ifindex != ifindex || key.prefixlen < longest ||
		    !canary_addr_within(addr, &key.addr, key.prefixlen - 32))
			continue;
		longest = key.prefixlen;
		best = a;
	}
	return longest ? &best : NULL;
}

static bool vlan(struct csw_native *s, __u32 ifindex, __be16 type, __be16 number)
{
	return ifindex == VLAN_PORT && type == htobe16(VLAN_TAG >> 16) &&
	       number == htobe16(VLAN_TAG & 0xfff);
}

static bool kernel_neigh(struct csw_frame *f, __u32 ifindex, const struct canary_addr *gateway)
{
	struct csw_neigh_key key;
	struct csw_neigh n;
	int i;

	for (i = 0; world_kernel_neighbours(&key, &n, i); i++) {
		if (key.ifindex != ifindex || !canary_addr_equal(&key.addr, gateway))
			continue;
		memcpy(f->data, n.mac, 6);
		memcpy(f->data + 6, port_table[ifindex].mac, 6);
		return true;
	}
	return false;
}

static void transmit(struct csw_frame *f, __u32 ifindex)
{
	output(sink, ifindex, f->data, f->length);
}

static struct csw_spread spreads[CSW_SPREADS];
static uint32_t wants;
static bool first_port_down;	/* the kernel leaves it out of groups */

static void *group(struct csw_native *s, __u64 key)
{
	static uint64_t found;

	found = key;
	return world_group(key) ? &found : NULL;
}

static void want(struct csw_native *s, const struct csw_spread *spread)
{
	wants++;
}

/* A copy for each child behind each port, as the kernel does it with a map of devices */
static int broadcast(struct csw_frame *f, void *group)
{
	uint64_t key = *(uint64_t *)group;
	uint32_t i, port;
	struct csw_frame copy;

	for (port = 1 + first_port_down; port <= PORTS; port++) {
		for (i = 0; i < WORLD_KEY_COUNT(key, port); i++) {
			copy = *f;
			copy.ifindex = port;
			copy.data = (uint8_t *)malloc(f->room + 6) + 6;
			memcpy(copy.data, f->data, f->length);
			if (csw_copy(&copy) == CSW_XDP_PASS)
				transmit(&copy, port);
			free(copy.data - 6);
		}
	}
	return CSW_XDP_REDIRECT;
}

static struct csw_backlog backlogs[PORTS + 1];
static bool backlog_known[PORTS + 1];

static struct csw_backlog *backlog(struct csw_native *s, __u32 ifindex)
{
	return ifindex <= PORTS && backlog_known[ifindex] ? &backlogs[ifindex] : NULL;
}

static __u32 randomly(struct csw_native *s)
{
	static __u32 state = 1;

	state = state * 1103515245 + 12345;
	return state >> 16 | state << 16;
}

static const char *start(void)
{
	sw.backlog = backlog;
	sw.random = randomly;
	sw.route = route;
	sw.neigh = neigh;
	sw.port = port;
	sw.configured_fan_in = fan_in_of;
	sw.admission = admission;
	sw.vlan = vlan;
	sw.kernel_neigh = kernel_neigh;
	sw.spread = spreads;
	sw.group = group;
	sw.want = want;
	sw.broadcast = broadcast;
	sw.transmit = transmit;
	sw.wake = wake;
	return NULL;
}

static void reset(const struct setting *s)
{
	int i;

	free(sw.descriptor);
	free(sw.queue);
	/* exactly as many as needed, so that the sanitizer sees accesses beyond the end */
	sw.descriptor = calloc(s->slots, sizeof(*sw.descriptor));
	sw.queue = calloc(s->queue * (s->more_queues + 1), sizeof(*sw.queue));
	memset(restoration, 0, sizeof(restoration));
	sw.restoration = restoration;
	memset(sw.fan_in, 0, sizeof(sw.fan_in));
	memset(&sw.queue_ctl, 0, sizeof(sw.queue_ctl));
	sw.queue_ctl.open_until = ~0ULL;
	memset(sw.counter, 0, sizeof(sw.counter));
	memset(sw.own_macs, 0, sizeof(sw.own_macs));
	memset(sw.flowlet, 0, sizeof(sw.flowlet));
	memset(backlog_known, 0, sizeof(backlog_known));
	sw.config.choice = CSW_CHOOSE_ADAPTIVE;
	sw.config.spread = 0;
	wakes = 0;
	sw.now = 1000 * MSEC;
	sw.config.addr = canary_addr_of_ip4(people[SELF].addr);
	sw.config.id = people[SELF].addr;
	sw.config.port = people[SELF].udp;
	sw.config.slot_mask = s->slots - 1;
	sw.config.queue_mask = s->queue - 1;
	sw.config.queues_mask = s->more_queues;
	sw.config.restore = 1;
	memcpy(sw.config.secret, world_secret, sizeof(world_secret));
	sw.restore_credit = s->credit;
	sw.config.children_max = s->children;
	sw.config.root_waits = s->root_waits;
	sw.config.fan_in = s->learn;
	sw.config.fan_ins_configured = !!s->configured;
	sw.config.admit = s->admit;
	sw.config.forward = s->stack ? CSW_FORWARD_STACK : CSW_FORWARD_FAST;
	configured_fan_in = s->configured;
	sw.config.timeout_ns = s->timeout;
	sw.config.timeout_min = s->min;
	sw.config.timeout_max = s->max;
	sw.config.lifetime_ns = s->lifetime;
	wants = 0;
	first_port_down = false;
	memset(spreads, 0, sizeof(spreads));
	for (i = 1; i <= PORTS; i++) {
		world_port(i, &port_table[i], s->shaped);
		port_table[i].key = s->groups ? WORLD_KEY(i) : 0;
	}
}

static void at(uint64_t ns)
{
	sw.now = 1000 * MSEC + ns;
}

/* @room: the frame's maximal length; exactly so much memory is allocated */
static void run(int in_port, const uint8_t *bytes, uint32_t length, uint32_t room, bool flush,
		struct outputs *out)
{
	uint8_t *memory = malloc(room + 6);
	struct csw_frame f = {
		.owner = &sw,
		.data = memory + 6,
		.length = length,
		.room = room,
		.ifindex = in_port,
	};
	int action;

	memcpy(f.data, bytes, length);
	out->n = 0;
	sink = out;
	action = flush ? csw_flush(&f) : csw_ingress(&f);
	if (action == CSW_XDP_PASS && (!f.has_meta || csw_tc(&f) == CSW_TC_NEXT))
		output(out, KERNEL, f.data, f.length);
	free(memory);
}

static void receive(const struct frame *in, struct outputs *out)
{
	run(in->port, in->bytes, in->length, 3400, false, out);
}

static void flush(struct outputs *out)
{
	static const uint8_t blank[CSW_OFF_DATA + CANARY_PAYLOAD_MAX];

	run(1, blank, sizeof(blank), sizeof(blank), true, out);
}

static uint64_t counter(uint32_t index)
{
	return sw.counter[index];
}

static const struct csw_descriptor *descriptor(uint32_t slot)
{
	return &sw.descriptor[slot];
}

static struct csw_queue_ctl *queue_ctl(void)
{
	return &sw.queue_ctl;
}

static void lose_copies(void)
{
	first_port_down = true;
}

static bool processor(uint32_t number)
{
	sw.processor = number;
	return true;
}

static uint32_t woken(void)
{
	return wakes;
}

static uint32_t wanted(void)
{
	return wants;
}

static void hold(uint32_t slot, bool locked)
{
	sw.descriptor[slot & ~(CSW_WAYS - 1)].lock = locked;
}

static struct csw_config *configuration(void)
{
	return &sw.config;
}

static void captive(int port, bool is)
{
	port_table[port].captive = is;
}

static void set_backlog(int port, const struct csw_backlog *b)
{
	backlog_known[port] = b;
	if (b)
		backlogs[port] = *b;
}

const struct backend backend_native = {
	.name = "native",
	.start = start,
	.reset = reset,
	.at = at,
	.receive = receive,
	.flush = flush,
	.counter = counter,
	.descriptor = descriptor,
	.queue_ctl = queue_ctl,
	.processor = processor,
	.lose_copies = lose_copies,
	.woken = woken,
	.wanted = wanted,
	.hold = hold,
	.config = configuration,
	.captive = captive,
	.backlog = set_backlog,
};
