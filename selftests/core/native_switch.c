// SPDX-License-Identifier: BSD-2-Clause
/*
 * Switches of the simulated network that are bpf/lib as an ordinary program, in the place of those
 * of testnet_switch.c. They have one port: the network knows where frames go.
 */
#include <stdlib.h>

#include "testnet_inside.h"

#define CSW_NO_CHECKSUMS
#include "bpf/ctx/native.h"
#include "bpf/lib/all.h"

#define SLOTS	2048

struct native {
	struct csw_native sw;	/* first, as functions get it */
	struct csw_port port;
	struct tnet *net;
	int at;
	bool armed;
};

struct tnet_native {
	struct native one[TNET_SWITCHES];
};

static const __u8 mac[6] = { 2, 0xca, 0, 0, 0, 1 };

static struct csw_route *route(struct csw_native *n, const struct canary_addr *addr)
{
	static struct csw_route any = {
		.kind = CSW_ROUTE_UNICAST, .nexthops = 1, .nexthop[0].ifindex = 1,
	};

	return &any;
}

static const struct csw_neigh *neigh(struct csw_native *n, __u32 ifindex,
				     const struct canary_addr *addr)
{
	static struct csw_neigh everybody = { .mac = { 2, 0xca, 0, 0, 0, 1 } };

	return &everybody;
}

static const struct csw_port *port(struct csw_native *n, __u32 ifindex)
{
	return &((struct native *)n)->port;
}

static const struct csw_admission *admission(struct csw_native *n, __u32 ifindex,
					     const struct canary_addr *addr)
{
	static const struct csw_admission everybody = {
		.id = 1, .ranges = 1, .range[0] = { 0, ~0U },
	};

	return &everybody;
}

/* A frame leaves: the network has it again. */
static void transmit(struct csw_frame *f, __u32 ifindex)
{
	struct native *n = (struct native *)f->owner;
	const struct iphdr *ip = (void *)(f->data + CSW_OFF_IP);
	const struct udphdr *udp = (void *)(f->data + CSW_OFF_UDP);
	struct canary_hdr *h = (void *)(f->data + CSW_OFF_CANARY);
	struct tnet_event e = {
		.addr = canary_addr_of_ip4(ip->saddr), .port = udp->source,
		.daddr = canary_addr_of_ip4(ip->daddr), .dport = udp->dest,
		.len = be16toh(udp->len) - sizeof(*udp),
	};

	if (csw_ip_sum(ip) != 0xffff || CSW_OFF_CANARY + e.len > f->length)
		abort();
	tnet_route(n->net, n->at, e, h, f->data + CSW_OFF_DATA);
}

static void arm(struct native *n)
{
	const struct csw_queue *q = n->sw.queue_ctl.queue;
	u64 at;

	if (n->armed || q->head == q->tail)
		return;
	n->armed = true;
	at = n->sw.queue[q->head & n->sw.config.queue_mask].deadline;
	tnet_push(n->net, (struct tnet_event){
		.kind = TNET_FLUSH, .at = at > n->net->now ? at : n->net->now, .to = n->at });
}

static void run(struct native *n, struct tnet_event *e)
{
	static __u8 memory[8 + CSW_OFF_DATA + CANARY_PAYLOAD_MAX + 128]
		__attribute__((__aligned__(8)));
	struct csw_frame f = {
		.owner = &n->sw, .data = memory + 6, .room = CSW_OFF_DATA + CANARY_PAYLOAD_MAX,
		.length = CSW_OFF_DATA + CANARY_PAYLOAD_MAX, .ifindex = 1,
	};
	struct ethhdr *eth = (void *)f.data;
	struct iphdr *ip = (void *)(f.data + CSW_OFF_IP);
	struct udphdr *udp = (void *)(f.data + CSW_OFF_UDP);
	int action;

	n->sw.now = n->net->now;
	if (!e) {
		csw_flush(&f);
		return;
	}
	f.length = CSW_OFF_CANARY + e->len;
	memcpy(eth->h_dest, mac, 6);
	memcpy(eth->h_source, mac, 6);
	eth->h_proto = htobe16(CSW_ETH_IP);
	memset(ip, 0, sizeof(*ip));
	*(__u8 *)ip = CSW_IP_START;
	ip->tot_len = htobe16(f.length - CSW_OFF_IP);
	ip->ttl = 64;
	ip->protocol = CSW_UDP;
	ip->saddr = canary_addr_ip4(&e->addr);
	ip->daddr = canary_addr_ip4(&e->daddr);
	csw_ip_checksum(ip);
	udp->source = e->port;
	udp->dest = e->dport;
	udp->len = htobe16(f.length - CSW_OFF_UDP);
	udp->check = 1;
	memcpy(f.data + CSW_OFF_CANARY, e->data, e->len);
	action = csw_ingress(&f);
	if (action == CSW_XDP_PASS && (!f.has_meta || csw_tc(&f) == CSW_TC_NEXT))
		transmit(&f, 1);
}

static void input(struct tnet *s, struct tnet_event *e)
{
	struct native *n = &s->native->one[-1 - e->to];

	run(n, e);
	arm(n);
}

static void clock_due(struct tnet *s, const struct tnet_event *e)
{
	struct native *n = &s->native->one[-1 - e->to];
	const struct csw_queue *q = n->sw.queue_ctl.queue;

	n->armed = false;
	while (q->head != q->tail &&
	       n->sw.queue[q->head & n->sw.config.queue_mask].deadline <= s->now)
		run(n, NULL);
	arm(n);
}

static void begin(struct tnet *s)
{
	struct native *n;
	u32 i;

	s->native = calloc(1, sizeof(*s->native));
	for (i = 0; i < s->switches; i++) {
		n = &s->native->one[i];
		n->net = s;
		n->at = TNET_SWITCH(i);
		n->port = (struct csw_port){ .mtu = s->cfg.mtu ? s->cfg.mtu : 1500 };
		memcpy(n->port.mac, mac, 6);
		n->sw.route = route;
		n->sw.neigh = neigh;
		n->sw.port = port;
		n->sw.admission = admission;
		n->sw.transmit = transmit;
		n->sw.descriptor = calloc(SLOTS, sizeof(*n->sw.descriptor));
		n->sw.queue = calloc(SLOTS, sizeof(*n->sw.queue));
		n->sw.restoration = calloc(CSW_RESTORE_SLOTS, sizeof(*n->sw.restoration));
		n->sw.queue_ctl.open_until = ~0ULL;
		n->sw.config = (struct csw_config){
			.addr = tnet_switch_addr(n->at),
			.port = htobe16(CANARY_PORT_BASE),
			.slot_mask = SLOTS - 1,
			.queue_mask = SLOTS - 1,
			.restore = 1,
			.children_max = s->cfg.children ? s->cfg.children : CSW_CHILDREN_MAX,
			.root_waits = s->cfg.leaves ? TNET_ROOT_WAITS : 0,
			.fan_in = CSW_FAN_IN_LEARN,
			.admit = !s->cfg.open,
			.timeout_ns = s->cfg.timeout_ns,
			.lifetime_ns = CNR_SEC,
		};
		n->sw.config.id = canary_addr_ip4(&n->sw.config.addr);
		n->sw.config.secret[0][0] = 0x1234;
		n->sw.restore_credit = CSW_CREDIT_MAX;
	}
}

static void end(struct tnet *s)
{
	u32 i;

	for (i = 0; i < s->switches; i++) {
		free(s->native->one[i].sw.descriptor);
		free(s->native->one[i].sw.queue);
		free(s->native->one[i].sw.restoration);
	}
	free(s->native);
}

struct tnet_native_counts tnet_native_counts(const struct tnet *s)
{
	struct tnet_native_counts all = { 0 };
	u32 i;

	for (i = 0; i < s->switches; i++) {
		all.merged += s->native->one[i].sw.counter[CSW_MERGED];
		all.passed += s->native->one[i].sw.counter[CSW_BYPASS_OPERATOR];
	}
	return all;
}

const struct tnet_switches tnet_native = {
	.begin = begin,
	.end = end,
	.input = input,
	.clock = clock_due,
};
