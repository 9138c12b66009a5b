// SPDX-License-Identifier: BSD-2-Clause
/*
 * Switches: instances of bpf/lib over bpf/ctx/native.h, each with the clock thread of a real one.
 */
#include <stdlib.h>
#include <string.h>

#include "switch.h"
#include "util.h"

#define CACHE_WAY	(128UL << 10)	/* addresses this far apart share a place in a cache */
#define MANY_DESCRIPTORS	(1024UL << 20)	/* bytes */
#define RESTORATIONS	(CSW_RESTORE_SLOTS * sizeof(struct csw_restoration))
#define SWITCH_COUNTERS	(CSW_COUNTER_COUNT + CANARY_DROPS)

/* A frame in a switch: what the logic sees, and the packet that it belongs to */
struct sim_frame {
	struct csw_frame frame;
	struct packet *packet;	/* NULL: it was sent */
	struct sim_switch *sw;
	uint32_t link;		/* that it came over; NO_LINK: made in this switch */
};

/* All ports have one address, as no packet reaches a node that it is not meant for. */
static const struct csw_neigh *neigh(struct csw_native *n, __u32 ifindex,
				     const struct canary_addr *addr)
{
	static const struct csw_neigh everybody = { .mac = { 2, 0xca, 0, 0, 0, 1 } };

	return &everybody;
}

static const struct csw_port *port(struct csw_native *n, __u32 ifindex)
{
	return &switch_of(n)->port;
}

static struct csw_backlog *backlog(struct csw_native *n, __u32 ifindex)
{
	struct sim_switch *sw = switch_of(n);
	struct csw_backlog *b = &sw->backlog[ifindex - 1];
	const struct sim *s = sw->sim;
	const struct link *l = &s->link[s->ports[sw->node].link[ifindex - 1]];

	b->bytes = l->queued;
	b->changed = n->now;
	b->refused = l->down ? n->now : 0;
	return b;
}

static __u32 any(struct csw_native *n)
{
	return random_next(&switch_of(n)->random);
}

static __u32 configured_fan_in(struct csw_native *n, const struct canary_addr *leader)
{
	struct sim_switch *sw = switch_of(n);

	return fan_in_of(sw->sim, sw->node, sim_node(sw->sim, leader));
}

static void send(struct sim_frame *f, struct packet *p, uint32_t ifindex)
{
	struct sim *s = f->sw->sim;

	p->length = f->frame.length;
	p->wire = net_wire(s, p->length);
	if (f->link != NO_LINK)
		net_charge(s, p, f->link);
	net_send(s, s->ports[f->sw->node].link[ifindex - 1], p);
}

/*
 * Does the frame still have the elements with which it arrived? Switches change only headers of
 * results.
 */
static bool keeps_body(const struct sim_frame *f)
{
	const struct canary_hdr *h = (const void *)(f->frame.data + CSW_OFF_CANARY);

	return f->packet->body && h->type == CANARY_RESULT;
}

/* The packet to be sent. A frame that was put together on the bench gets a new one. */
static struct packet *finished(struct sim_frame *f)
{
	struct sim *s = f->sw->sim;
	struct packet *p = f->packet;

	f->packet = NULL;
	if (f->frame.data == p->frame)
		return p;
	packet_free(s, p);
	p = packet_new(s, PACKET_WHOLE);
	memcpy(p->frame, f->frame.data, f->frame.length);
	return p;
}

static void transmit(struct csw_frame *frame, __u32 ifindex)
{
	struct sim_frame *f = (struct sim_frame *)frame;
	struct packet *p = f->packet;

	if (keeps_body(f)) {
		memcpy(p->frame, frame->data, FRAME_HEADERS);
		f->packet = NULL;
	} else {
		p = finished(f);
	}
	send(f, p, ifindex);
}

static void copy(struct csw_frame *frame, __u32 ifindex)
{
	struct sim_frame *f = (struct sim_frame *)frame;
	struct sim *s = f->sw->sim;
	bool body = keeps_body(f);
	struct packet *p = packet_new(s, body ? PACKET_HEAD : PACKET_WHOLE);

	memcpy(p->frame, frame->data, body ? FRAME_HEADERS : frame->length);
	if (body) {
		p->body = f->packet->body;
		p->body->users++;
	}
	if (!f->packet->share && f->link != NO_LINK) {
		f->packet->share = net_share(s, f->link, net_wire(s, frame->length));
		if (f->packet->share)
			f->packet->share->copies = 1;
	}
	p->share = f->packet->share;
	if (p->share)
		p->share->copies++;
	send(f, p, ifindex);
}

static struct csw_frame *frame_init(struct sim_frame *f, struct sim_switch *sw, struct packet *p,
				    uint32_t length, uint32_t ifindex, uint32_t link)
{
	memset(f, 0, sizeof(*f));
	f->frame.owner = &sw->native;
	f->frame.data = p->frame;
	f->frame.length = length;
	f->frame.room = sw->sim->pool[PACKET_WHOLE].size - offsetof(struct packet, frame);
	f->frame.ifindex = ifindex;
	f->packet = p;
	f->sw = sw;
	f->link = link;
	return &f->frame;
}

/* Make sure that the head of the deadline queue is served. */
static void arm(struct sim_switch *sw)
{
	const struct csw_queue *q = sw->native.queue_ctl.queue;
	struct engine *e = &sw->sim->engine;
	uint64_t at;

	if (sw->armed || q->head == q->tail)
		return;
	at = sw->native.queue[q->head & sw->native.config.queue_mask].deadline * PS_PER_NS;
	sw->armed = true;
	engine_at(e, at > e->now ? at : e->now, EVENT_CLOCK, sw->node, NULL);
}

static void finish(struct sim_frame *f, int action)
{
	struct sim_switch *sw = f->sw;
	struct packet *p;

	if (action == CSW_XDP_PASS && f->frame.has_meta)
		action = csw_tc(&f->frame) == CSW_TC_NEXT ? CSW_XDP_PASS : CSW_XDP_DROP;
	p = f->packet;
	if (!p)
		return;
	if (f->frame.data != p->frame)
		memcpy(p->frame, f->frame.data, FRAME_HEADERS);
	if (action == CSW_XDP_PASS && f->link != NO_LINK)
		router_forward_frame(sw, p, f->link);
	else
		packet_done(sw->sim, p);
}

/*
 * Put a frame together on the bench if its packet has only headers. Elements of results are left
 * out, as nobody here reads them.
 */
static void assemble(struct sim *s, struct sim_frame *f)
{
	struct packet *p = f->packet;

	if (p->kind == PACKET_WHOLE)
		return;
	f->frame.data = s->bench->frame;
	memcpy(f->frame.data, p->frame, FRAME_HEADERS);
	if (p->maker)
		host_make(s, p, (uint32_t *)(f->frame.data + FRAME_HEADERS));
}

static void note_taken(struct sim_switch *sw)
{
	const __u64 *c = sw->native.counter;
	uint64_t taken = c[CSW_NEW] - c[CSW_EVICTED] - c[CSW_RESTARTED] - c[CSW_RESULTS];

	if (taken > sw->most && taken <= sw->native.config.slot_mask + 1U)
		sw->most = taken;
}

static struct csw_descriptor *bucket_of(const struct sim_switch *sw, const struct packet *p)
{
	const struct csw_native *n = &sw->native;
	const struct canary_hdr *h = (const void *)(p->frame + CSW_OFF_CANARY);

	return csw_native_descriptor(n, csw_bucket(&n->config, h, h->block));
}

/*
 * switch_fetch_self() fetches the switch into the cache, switch_fetch() the block's bucket,
 * switch_fetch_data() the rest of its descriptor.
 */
void switch_fetch_self(const struct sim *s, uint32_t node)
{
	const struct sim_switch *sw = &s->switch_memory[node];
	const char *at = (const char *)sw, *end = (const char *)&sw->native.counter[CSW_LEARNED];

	for (; at < end; at += 64)
		__builtin_prefetch(at, 1);
}

void switch_fetch(const struct sim *s, uint32_t node, const struct packet *p)
{
	const struct csw_descriptor *d;

	if (!p->length || !s->sw[node]->program)
		return;
	d = bucket_of(s->sw[node], p);
	__builtin_prefetch(d, 1);
	__builtin_prefetch(&d->members, 1);
	__builtin_prefetch(&d->child_bits, 1);
}

void switch_fetch_data(const struct sim *s, uint32_t node, const struct packet *p)
{
	const struct csw_descriptor *d;
	uint32_t i;

	if (!p->maker || !s->sw[node]->program)
		return;
	d = bucket_of(s->sw[node], p);
	for (i = 0; i < s->cfg.elements; i += 16)
		__builtin_prefetch(d->data + i, 1);
	__builtin_prefetch(&d->child[d->children], 1);
}

void switch_input(struct sim *s, uint32_t node, struct packet *p, struct link *from)
{
	struct sim_switch *sw = s->sw[node];
	uint32_t link = from - s->link;
	struct sim_frame f;

	if (sw->down) {
		net_lose(s, p);
		return;
	}
	if (!p->length) {
		router_forward(sw, p, p->destination, link);
		return;
	}
	if (!sw->program) {
		router_forward_frame(sw, p, link);
		return;
	}
	sw->native.now = sim_ns(s);
	frame_init(&f, sw, p, p->length, from->port + 1, link);
	assemble(s, &f);
	finish(&f, csw_ingress(&f.frame));
	note_taken(sw);
	arm(sw);
}

/* Send on what is due, as the clock thread does. */
void switch_clock(struct sim *s, uint32_t node)
{
	struct sim_switch *sw = s->sw[node];
	struct csw_queue *q = sw->native.queue_ctl.queue;
	uint32_t mask = sw->native.config.queue_mask, head;
	struct sim_frame f;
	struct packet *p;

	sw->armed = false;
	if (sw->down)
		return;
	sw->native.now = sim_ns(s);
	while (q->head != q->tail && sw->native.queue[q->head & mask].deadline <= sw->native.now) {
		head = q->head;
		p = packet_new(s, PACKET_WHOLE);
		frame_init(&f, sw, p, 0, 1, NO_LINK);
		f.frame.length = f.frame.room;
		finish(&f, csw_flush(&f.frame));
		if (q->head == head)
			break;
	}
	arm(sw);
}

static void switch_reset(struct sim_switch *sw)
{
	struct csw_native *n = &sw->native;
	struct csw_descriptor *d;
	uint32_t slot;

	if (!sw->program)
		return;
	for (slot = 0; slot <= n->config.slot_mask; slot++) {
		d = csw_native_descriptor(n, slot);
		if (d->generation)	/* it has been used */
			memset(d, 0, sw->sim->descriptor_size);
	}
	for (slot = 0; slot < CSW_RESTORE_SLOTS; slot++)
		if (n->restoration[slot].children)
			n->restoration[slot].children = 0;
	memset(&n->queue_ctl, 0, sizeof(n->queue_ctl));
	n->queue_ctl.open_until = ~0ULL;
}

/* Does it run the program, and have hosts? */
static bool is_edge(const struct sim_switch *sw)
{
	return sw->program && !sw->sim->topo.level[sw->node];
}

/*
 * Place the descriptors of switches that have hosts, which all blocks pass. Those of one block at
 * all switches lie side by side, as they are needed at about the same time.
 *
 * The first slots of all buckets come first, then all second ones, and so on. Most blocks are in
 * the first slot of their bucket, so the memory in use is dense and fits large pages. The other
 * slots are only read, unless block numbers come around: then zero pages are enough.
 */
static void place_edge(struct sim *s, struct sim_switch *sw)
{
	uint64_t blocks = (uint64_t)s->blocks * s->cfg.operations * s->cfg.jobs;
	uint32_t buckets = s->cfg.slots / CSW_WAYS, i, n = 0, at = 0;
	struct csw_native *native = &sw->native;
	size_t way;

	for (i = 0; i < s->topo.switches; i++) {
		at += i < sw->node && is_edge(s->sw[i]);
		n += is_edge(s->sw[i]);
	}
	native->stride = n * s->descriptor_size + LINE;
	way = buckets * native->stride;
	native->apart = way + 5 * LINE;
	if (!s->descriptors) {
		s->descriptors_size = CSW_WAYS * native->apart;
		s->descriptors = sim_space(s->descriptors_size);
		sim_large_pages(s->descriptors, way < MANY_DESCRIPTORS || blocks <= buckets ?
				s->descriptors_size : way);
	}
	native->descriptor = (void *)(s->descriptors + at * s->descriptor_size);
}

/* Place the descriptors of other switches. Blocks that take the same way up lie side by side. */
static void place_upper(const struct sim *s, struct sim_switch *sw)
{
	uint64_t blocks = (uint64_t)s->blocks * s->cfg.operations * s->cfg.jobs;
	uint32_t buckets = s->cfg.slots / CSW_WAYS, ways = route_uplinks(s);
	struct csw_native *n = &sw->native;

	n->stride = s->descriptor_size;
	n->apart = buckets * n->stride + 5 * LINE;
	sw->memory_size = CSW_WAYS * n->apart + CACHE_WAY;
	sw->memory = sim_space(sw->memory_size);
	/* Shift each switch by some lines, so that a block has different places of the cache. */
	n->descriptor = (void *)(sw->memory + sw->node * 37 * LINE % CACHE_WAY);
	for (n->turn = 0; 2U << n->turn <= ways && 2U << n->turn <= buckets; n->turn++)
		;
	if (buckets * n->stride * s->topo.switches < MANY_DESCRIPTORS)
		sim_large_pages(sw->memory, sw->memory_size);
	else if (blocks <= buckets)
		sim_large_pages((char *)n->descriptor + n->apart, (CSW_WAYS - 1) * n->apart);
}

static void configure(struct sim *s, struct sim_switch *sw)
{
	struct csw_native *n = &sw->native;
	struct csw_config *c = &n->config;

	c->addr = sim_address(s, sw->node);
	c->id = canary_addr_ip4(&c->addr);
	c->port = htobe16(CANARY_PORT_BASE);
	c->restore = 1;
	c->slot_mask = s->cfg.slots - 1;
	c->queue_mask = 2 * s->cfg.slots - 1;
	c->children_max = s->cfg.children < CSW_CHILDREN_MAX ? s->cfg.children : CSW_CHILDREN_MAX;
	c->root_waits = s->cfg.root_waits;
	c->timeout_ns = s->cfg.timeout / PS_PER_NS;
	if (s->cfg.timeout_max) {
		c->timeout_min = c->timeout_ns;
		c->timeout_max = s->cfg.timeout_max / PS_PER_NS;
	}
	c->lifetime_ns = s->cfg.lifetime / PS_PER_NS;
	c->fan_in = s->cfg.fan_in == FAN_IN_LEARN ? CSW_FAN_IN_LEARN : CSW_FAN_IN_OFF;
	if (s->cfg.algorithm == ALGORITHM_STATIC) {
		c->fan_in = CSW_FAN_IN_OFF;
		c->fan_ins_configured = 1;
	}
	n->queue_ctl.open_until = ~0ULL;
	n->configured_fan_in = configured_fan_in;
	n->route = router_route;
	n->neigh = neigh;
	n->port = port;
	n->transmit = transmit;
	n->copy = copy;
	n->backlog = backlog;
	n->random = any;
	c->choice = s->cfg.choice;
	c->spread = s->topo.level[sw->node] ? route_uplinks(s) : 1;
	c->flowlet_ns = s->cfg.flowlet / PS_PER_NS;
	sw->random = random_stream(s->cfg.seed, 10, sw->node);
	sw->hash = random_stream(s->cfg.seed, 11, sw->node);
	memcpy(sw->port.mac, neigh(n, 0, NULL)->mac, sizeof(sw->port.mac));
	sw->port.mode = CSW_FAST;
	sw->port.mtu = CANARY_IP_OVERHEAD + CANARY_PAYLOAD_MAX;
	sw->port.queue = s->topo.shape.queue;
	if (is_edge(sw))
		place_edge(s, sw);
	else if (sw->program)
		place_upper(s, sw);
	n->queue = sim_zalloc(2 * s->cfg.slots, sizeof(*n->queue));
	n->restoration = sim_space(RESTORATIONS);
}

/* A part of the switches, in a random order, runs the program. */
static void deploy(struct sim *s)
{
	uint32_t i, n = s->topo.switches, *order = sim_zalloc(n, sizeof(*order));
	uint64_t random = random_stream(s->cfg.seed, 2, 0);

	random_order(&random, order, n);
	for (i = 0; i < n; i++)
		s->sw[order[i]]->program = (uint64_t)i * 1000000 < (uint64_t)n * s->cfg.deployed;
	free(order);
}

void switch_build(struct sim *s)
{
	uint32_t i;

	s->sw = sim_zalloc(s->topo.switches, sizeof(*s->sw));
	s->switch_memory = sim_region(s->topo.switches * sizeof(**s->sw));
	s->descriptor_size = lines(offsetof(struct csw_descriptor, data) + s->cfg.elements * 4);
	for (i = 0; i < s->topo.switches; i++) {
		struct sim_switch *sw = s->switch_memory + i;

		s->sw[i] = sw;
		sw->sim = s;
		sw->node = i;
		router_build(sw);
		sw->backlog = sim_zalloc(s->ports[i].n, sizeof(*sw->backlog));
	}
	deploy(s);
	for (i = 0; i < s->topo.switches; i++)
		configure(s, s->sw[i]);
	switch_routes(s);
}

/*
 * Touch the descriptors at edge switches that a job will use, before it starts. Otherwise the time
 * in which the kernel clears pages would be part of a packet's way.
 */
void switch_touch(struct sim *s, __be32 comm, __be32 epoch, uint32_t first)
{
	struct canary_hdr h = { .comm = comm, .epoch = epoch };
	uint32_t i, k, blocks = s->blocks * s->cfg.operations;
	volatile uint8_t *at;

	for (i = 0; i < s->topo.switches; i++) {
		struct csw_native *n = &s->sw[i]->native;

		if (!is_edge(s->sw[i]))
			continue;
		for (k = 0; k < blocks && k <= n->config.slot_mask / CSW_WAYS; k++) {
			h.block = htobe32(first + k);
			at = (uint8_t *)csw_native_descriptor(n, csw_bucket(&n->config, &h, h.block));
			*at |= 0;
		}
	}
}

void switch_free(struct sim *s)
{
	uint32_t i;

	for (i = 0; s->sw && i < s->topo.switches; i++) {
		sim_region_free(s->sw[i]->memory, s->sw[i]->memory_size);
		free(s->sw[i]->native.queue);
		sim_region_free(s->sw[i]->native.restoration, RESTORATIONS);
		router_free(s->sw[i]);
		free(s->sw[i]->backlog);
	}
	sim_region_free(s->descriptors, s->descriptors_size);
	sim_region_free(s->switch_memory, s->topo.switches * sizeof(**s->sw));
	free(s->sw);
}

/* A switch goes down and loses its state, or comes back empty. */
void switch_fail(struct sim *s, uint32_t node, bool down)
{
	uint32_t i;

	s->sw[node]->down = down;
	switch_reset(s->sw[node]);
	for (i = 0; i < s->ports[node].n; i++) {
		net_link_down(s, s->ports[node].link[i], down);
		net_link_down(s, s->link[s->ports[node].link[i]].reverse, down);
	}
}

void switch_counters(struct sim *s, uint64_t *sum)
{
	uint32_t i, k;

	memset(sum, 0, SWITCH_COUNTERS * sizeof(*sum));
	for (i = 0; i < s->topo.switches; i++)
		for (k = 0; k < SWITCH_COUNTERS; k++)
			sum[k] += s->sw[i]->native.counter[k];
}

uint32_t switch_counter_count(void)
{
	return CSW_COUNTER_COUNT;
}

const char *switch_counter_name(uint32_t i)
{
	static const char *const names[] = {
#define X(name, text, help) text,
		CSW_COUNTERS(X)
#undef X
	};

	return names[i];
}

/* Return: the largest number of descriptors that one switch held at a time */
uint64_t switch_busiest(const struct sim *s)
{
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < s->topo.switches; i++)
		if (s->sw[i]->most > most)
			most = s->sw[i]->most;
	return most;
}
