// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real programs in this machine's kernel, in a network namespace of their own. BPF_PROG_RUN
 * runs canary_xdp and canary_flush, so that their action and frame are visible. Frames that they
 * leave to canary_tc are put into a real port as live frames, with their metadata. What comes out
 * of the ports is captured at their other ends.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "backend.h"
#include "kernel.h"

#define LOAD_SLOTS	64
#define LOAD_QUEUE	128
#define LOAD_QUEUES	2
#define NETNS		7	/* a made-up cookie */
#define META_SECRET	0x5ec2e7
#define KERNEL_GROUPS	128
#define FOREIGN_BYTES	200	/* leaves no room for the switch's own */

static struct canary_switch *skel;
static struct inject *inject;
static struct csw_descriptor *descriptors;
static int ifindex[PORTS + 1];
static int capture[PORTS + 1];
static size_t stride;
static uint32_t foreign;	/* bytes of foreign metadata in front of each frame that arrives */

static int sh(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

static int packet_socket(int dev)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = dev,
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_IP));

	if (fd < 0 || bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		return -1;
	return fd;
}

const char *kernel_make_ports(int *ports, int *ends)
{
	struct csw_port port;
	char name[8];
	int i;

	for (i = 1; i <= PORTS; i++) {
		world_port(i, &port, false);
		if (sh("ip link add p%d mtu 3400 address %02x:%02x:%02x:%02x:%02x:%02x type veth"
		       " peer name q%d mtu 3400"
		       " && echo 1 > /proc/sys/net/ipv6/conf/p%d/disable_ipv6"
		       " && echo 1 > /proc/sys/net/ipv6/conf/q%d/disable_ipv6"
		       " && ip link set q%d up && ip link set p%d up", i, port.mac[0], port.mac[1],
		       port.mac[2], port.mac[3], port.mac[4], port.mac[5], i, i, i, i, i))
			return "cannot make veth pairs";
		snprintf(name, sizeof(name), "p%d", i);
		ports[i] = if_nametoindex(name);
		snprintf(name, sizeof(name), "q%d", i);
		ends[i] = if_nametoindex(name);
	}
	return NULL;
}

int kernel_attach_xdp(int dev, struct bpf_program *prog)
{
	return bpf_xdp_attach(dev, bpf_program__fd(prog), XDP_FLAGS_DRV_MODE, NULL);
}

int kernel_own_network(void)
{
	return unshare(CLONE_NEWNET) || sh("ip link set lo up") ? -1 : 0;
}

struct canary_switch *kernel_load(uint32_t slots, uint32_t queue, uint32_t queues,
				  bool test_clock)
{
	struct canary_switch *s = canary_switch__open();

	if (!s)
		return NULL;
	s->rodata->test_clock = test_clock;
	s->rodata->test_driver = test_clock;
	s->rodata->meta_secret = META_SECRET;
	bpf_map__set_max_entries(s->maps.descriptors, slots);
	bpf_map__set_max_entries(s->maps.queue, queues * queue);
	bpf_map__set_max_entries(s->maps.groups, KERNEL_GROUPS);
	if (canary_switch__load(s)) {
		canary_switch__destroy(s);
		return NULL;
	}
	s->bss->config.addr = canary_addr_of_ip4(people[SELF].addr);
	s->bss->config.id = people[SELF].addr;
	s->bss->config.port = people[SELF].udp;
	s->bss->config.slot_mask = slots - 1;
	s->bss->config.queue_mask = queue - 1;
	s->bss->config.queues_mask = queues - 1;
	s->bss->config.children_max = CSW_CHILDREN_MAX;
	s->bss->config.timeout_ns = MSEC;
	s->bss->config.lifetime_ns = 5000 * MSEC;
	s->bss->queue_ctl.open_until = ~0ULL;
	return s;
}

int kernel_attach_tc(int dev, struct bpf_program *prog)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = dev, .attach_point = BPF_TC_INGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(prog));

	return bpf_tc_hook_create(&hook) || bpf_tc_attach(&hook, &opts) ? -1 : 0;
}

/* The other ends need a program to take frames that are broadcast. */
static int attach(const int *ends)
{
	int i;

	for (i = 1; i <= PORTS; i++) {
		capture[i] = packet_socket(ends[i]);
		if (capture[i] < 0 || kernel_attach_xdp(ifindex[i], skel->progs.canary_xdp) ||
		    kernel_attach_tc(ifindex[i], skel->progs.canary_tc) ||
		    kernel_attach_tc(ends[i], inject->progs.inject_watch) ||
		    kernel_attach_xdp(ends[i], inject->progs.inject_pass))
			return -1;
	}
	return 0;
}

/* Make ABSENT and ABSENT2 known to the kernel, but not to the switch. */
static int kernel_neighbours(void)
{
	struct csw_neigh_key key;
	struct csw_neigh neigh;
	char addr[INET_ADDRSTRLEN];
	__be32 ip;
	int i;

	for (i = 0; world_kernel_neighbours(&key, &neigh, i); i++) {
		ip = canary_addr_ip4(&key.addr);
		inet_ntop(AF_INET, &ip, addr, sizeof(addr));
		if (sh("ip neigh add %s dev p%d lladdr %02x:%02x:%02x:%02x:%02x:%02x nud permanent",
		       addr, key.ifindex, neigh.mac[0], neigh.mac[1], neigh.mac[2], neigh.mac[3],
		       neigh.mac[4], neigh.mac[5]))
			return -1;
	}
	return 0;
}

/* What canary_xdp notes for canary_copy is on its processor. */
static int stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	return sched_setaffinity(0, sizeof(here), &here);
}

static const char *start(void)
{
	const char *why;
	int ends[PORTS + 1];

	if (geteuid())
		return "needs root";
	if (kernel_own_network())
		return "cannot make a network namespace";
	if (stay_here())
		return "cannot stay on a processor";
	why = kernel_make_ports(ifindex, ends);
	if (why)
		return why;
	skel = kernel_load(LOAD_SLOTS, LOAD_QUEUE, LOAD_QUEUES, true);
	inject = inject__open();
	if (inject)
		inject->rodata->meta_secret = META_SECRET;
	if (!skel || !inject ||
	    bpf_map__reuse_fd(inject->maps.groups, bpf_map__fd(skel->maps.groups)) ||
	    bpf_map__reuse_fd(inject->maps.devmap, bpf_map__fd(skel->maps.devmap)) ||
	    inject__load(inject))
		return "the kernel does not take the programs";
	if (attach(ends) || kernel_neighbours())
		return "cannot attach the programs";
	stride = (sizeof(*descriptors) + 7) & ~7UL;
	descriptors = mmap(NULL, LOAD_SLOTS * stride, PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(skel->maps.descriptors), 0);
	return descriptors == MAP_FAILED ? "cannot map the descriptors" : NULL;
}

static void zero_counters(void)
{
	uint64_t zero[libbpf_num_possible_cpus()];
	uint32_t i;

	memset(zero, 0, sizeof(zero));
	for (i = 0; i < CSW_COUNTER_COUNT + CANARY_DROPS; i++)
		bpf_map_update_elem(bpf_map__fd(skel->maps.counters), &i, zero, 0);
}

static void zero_restorations(void)
{
	static const struct csw_restoration zero;
	uint32_t i;

	for (i = 0; i < CSW_RESTORE_SLOTS; i++)
		bpf_map_update_elem(bpf_map__fd(skel->maps.restorations), &i, &zero, 0);
}

static void zero_fan_ins(void)
{
	static const struct csw_fan_in zero;
	uint32_t i;

	for (i = 0; i < CSW_FAN_INS; i++)
		bpf_map_update_elem(bpf_map__fd(skel->maps.fan_ins), &i, &zero, 0);
}

static void configure_fan_in(uint32_t expect)
{
	struct csw_route_key key = {
		.prefixlen = CANARY_ADDR_BITS,
		.addr = canary_addr_of_ip4(people[LEADER].addr),
	};

	bpf_map_update_elem(bpf_map__fd(skel->maps.fan_in_config), &key, &expect, 0);
}

static void set_backlog(int port, const struct csw_backlog *b);

/* All groups are made at the first call, as that takes the kernel some time. */
static int set_groups(bool use)
{
	static bool made;
	int fd = bpf_map__fd(skel->maps.wanted), ret = 0, port;
	uint64_t key = 0, next;

	while (!bpf_map_get_next_key(fd, NULL, &next))
		bpf_map_delete_elem(fd, &next);
	if (!use)
		return 0;
	while (!made && !ret && !(key >> 8 * PORTS)) {
		if (world_group(key))
			ret = kernel_make_group(skel, ifindex, key);
		/* the next number whose digits are 0 to WORLD_GROUP_MAX */
		for (key++, port = 1; WORLD_KEY_COUNT(key, port) > WORLD_GROUP_MAX; port++)
			key += WORLD_KEY(port + 1) - WORLD_KEY(port) * (WORLD_GROUP_MAX + 1);
	}
	made = true;
	return ret | kernel_use_groups(skel, ifindex);
}

static void reset(const struct setting *s)
{
	struct csw_config *c = &skel->bss->config;
	int i;

	memset(descriptors, 0, LOAD_SLOTS * stride);
	memset(&skel->bss->queue_ctl, 0, sizeof(skel->bss->queue_ctl));
	skel->bss->queue_ctl.open_until = ~0ULL;
	zero_counters();
	zero_restorations();
	zero_fan_ins();
	skel->bss->test_now = 1000 * MSEC;
	c->slot_mask = s->slots - 1;
	c->queue_mask = s->queue - 1;
	c->queues_mask = s->more_queues;
	c->restore = 1;
	skel->bss->test_no_meta = s->bare;
	foreign = s->foreign ? FOREIGN_BYTES : 0;
	memcpy(c->secret, world_secret, sizeof(world_secret));
	skel->bss->restore_credit = s->credit;
	c->children_max = s->children;
	c->root_waits = s->root_waits;
	c->fan_in = s->learn;
	c->fan_ins_configured = !!s->configured;
	c->admit = s->admit;
	c->forward = s->stack ? CSW_FORWARD_STACK : CSW_FORWARD_FAST;
	configure_fan_in(s->configured);
	c->timeout_ns = s->timeout;
	c->timeout_min = s->min;
	c->timeout_max = s->max;
	c->lifetime_ns = s->lifetime;
	c->choice = CSW_CHOOSE_ADAPTIVE;
	c->spread = 0;
	c->netns = NETNS;
	memset(skel->bss->flowlets, 0, sizeof(skel->bss->flowlets));
	for (i = 1; i <= PORTS; i++)
		set_backlog(i, NULL);
	if (kernel_fill_maps(skel, ifindex, s->shaped) || set_groups(s->groups)) {
		fprintf(stderr, "cannot fill the maps\n");
		exit(1);
	}
}

static void at(uint64_t ns)
{
	skel->bss->test_now = 1000 * MSEC + ns;
}

/* Collect what came out of the other ends since the last call. */
static void collect(struct outputs *out)
{
	uint8_t bytes[FRAME_MAX];
	ssize_t n;
	int i;

	for (i = 1; i <= PORTS; i++)
		while ((n = recv(capture[i], bytes, sizeof(bytes), 0)) > 0)
			output(out, i, bytes, n);
}

/* Run @prog on a frame with metadata that came by @port. The kernel does what it says. */
static void live(struct bpf_program *prog, int port, const uint8_t *bytes, uint32_t meta,
		 uint32_t length, struct outputs *out)
{
	struct xdp_md ctx = {
		.data = meta,
		.data_end = meta + length,
		.ingress_ifindex = ifindex[port],
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = bytes, .data_size_in = meta + length,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = inject->bss->plain_port ? 2 : 1, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct pollfd pfd[PORTS];
	int i;

	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &opts)) {
		fprintf(stderr, "cannot inject a frame: %s\n", strerror(errno));
		exit(1);
	}
	/* All is done when the call returns, unless softirqs were left to a thread. */
	for (i = 0; i < PORTS; i++) {
		pfd[i].fd = capture[i + 1];
		pfd[i].events = POLLIN;
	}
	collect(out);
	while (poll(pfd, PORTS, 2) > 0)
		collect(out);
}

/* Send a frame with metadata through the stack of @port, where canary_tc is attached. */
static void through_tc(int port, const uint8_t *bytes, uint32_t meta, uint32_t length,
		       struct outputs *out)
{
	live(inject->progs.inject_pass, port, bytes, meta, length, out);
}

/* Do what the kernel does after canary_xdp: send the frame to the group that its metadata names. */
static void through_group(int port, const uint8_t *bytes, uint32_t meta, uint32_t length,
			  struct outputs *out)
{
	live(inject->progs.inject_broadcast, port, bytes, meta, length, out);
}

static int port_of_mac(const uint8_t *mac)
{
	struct csw_port port;
	int i;

	for (i = 1; i <= PORTS; i++) {
		world_port(i, &port, false);
		if (!memcmp(mac, port.mac, 6))
			return i;
	}
	return -1;
}

/* Is there metadata of the switch at @at? */
static bool is_meta(const uint8_t *bytes, uint32_t length, uint32_t at)
{
	struct csw_meta m;

	if (at > length || length - at < sizeof(m))
		return false;
	memcpy(&m, bytes + at, sizeof(m));
	return m.secret == META_SECRET;
}

/* Is it in front of the frame, or behind it? */
static bool has_meta(const uint8_t *bytes, uint32_t length, uint32_t meta)
{
	return is_meta(bytes, length, length - sizeof(struct csw_meta)) ||
	       (meta && is_meta(bytes, length, 0));
}

static void run(int fd, int port, const uint8_t *in, uint32_t length, struct outputs *out)
{
	struct xdp_md ctx_in = { .data = foreign, .data_end = foreign + length,
				 .ingress_ifindex = ifindex[port] };
	struct xdp_md ctx_out = {};
	uint8_t bytes[FRAME_MAX], with[FOREIGN_BYTES + FRAME_MAX] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = with, .data_size_in = foreign + length,
		    .data_out = bytes, .data_size_out = sizeof(bytes),
		    .ctx_in = &ctx_in, .ctx_size_in = sizeof(ctx_in),
		    .ctx_out = &ctx_out, .ctx_size_out = sizeof(ctx_out));
	uint32_t meta;

	memcpy(with + foreign, in, length);
	out->n = 0;
	if (bpf_prog_test_run_opts(fd, &opts)) {
		fprintf(stderr, "cannot run a program: %s\n", strerror(errno));
		exit(1);
	}
	meta = ctx_out.data;
	length = opts.data_size_out - meta;
	if (opts.retval == XDP_PASS && has_meta(bytes, opts.data_size_out, meta))
		through_tc(port, bytes, meta, length, out);
	else if (opts.retval == XDP_REDIRECT && meta && is_meta(bytes, opts.data_size_out, 0))
		through_group(port, bytes, meta, length, out);
	else if (opts.retval == XDP_REDIRECT)
		output(out, port_of_mac(bytes + meta + 6), bytes + meta, length);
	else if (opts.retval == XDP_PASS)
		output(out, KERNEL, bytes + meta, length);
	else if (opts.retval != XDP_DROP)
		output(out, -1, bytes + meta, length);
}

static void receive(const struct frame *in, struct outputs *out)
{
	run(bpf_program__fd(skel->progs.canary_xdp), in->port, in->bytes, in->length, out);
}

static void flush(struct outputs *out)
{
	static const uint8_t blank[FRAME_DATA + CANARY_PAYLOAD_MAX];

	run(bpf_program__fd(skel->progs.canary_flush), 1, blank, sizeof(blank), out);
}

bool kernel_tc_ignores_plain(void)
{
	const struct msg m = { .from = H1, .ranks = R(1) };
	uint8_t bytes[FRAME_MAX];
	struct frame f;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.bytes, .data_out = bytes,
		    .data_size_out = sizeof(bytes));

	frame_in(&f, 1, &m);
	opts.data_size_in = f.length;
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.canary_tc), &opts))
		return false;
	return (int)opts.retval == -1 && opts.data_size_out == f.length &&
	       !memcmp(bytes, f.bytes, f.length);
}

bool kernel_tc_ignores_others(void)
{
	struct csw_meta m = { .secret = META_SECRET - 1, .kind = CSW_META_EMIT,
			      .ifindex = ifindex[4] };
	const struct msg say = { .from = H1, .ranks = R(1) };
	static struct outputs out;
	uint8_t bytes[sizeof(m) + FRAME_MAX];
	struct frame f;
	bool good;

	frame_in(&f, 1, &say);
	memcpy(bytes + sizeof(m), f.bytes, f.length);
	memcpy(bytes, &m, sizeof(m));
	out.n = 0;
	through_tc(1, bytes, sizeof(m), f.length, &out);
	good = out.n == 0;
	/* The same with our secret shows that the test above would have seen it. */
	m.secret = META_SECRET;
	memcpy(bytes, &m, sizeof(m));
	through_tc(1, bytes, sizeof(m), f.length, &out);
	return good && out.n == 1 && out.frame[0].port == 4;
}

bool kernel_tc_looks_behind(void)
{
	struct csw_meta m = { .secret = META_SECRET, .kind = CSW_META_EMIT, .ifindex = ifindex[4] };
	const struct msg say = { .from = H1, .ranks = R(1) };
	uint8_t bytes[2 * sizeof(m) + FRAME_MAX] = { 1 };
	static struct outputs out;
	struct frame f;

	frame_in(&f, 1, &say);
	memcpy(bytes + sizeof(m), f.bytes, f.length);
	memcpy(bytes + sizeof(m) + f.length, &m, sizeof(m));
	skel->bss->meta_at_end = true;
	out.n = 0;
	through_tc(1, bytes, sizeof(m), f.length + sizeof(m), &out);
	return out.n == 1 && out.frame[0].port == 4 && out.frame[0].length == f.length &&
	       !memcmp(out.frame[0].bytes, f.bytes, f.length);
}

void kernel_seen(uint64_t *frames, uint64_t *leaks)
{
	*frames = inject->bss->watched;
	*leaks = inject->bss->leaks;
}

void kernel_plain_first(int port)
{
	inject->bss->plain_port = ifindex[port];
}

void kernel_other_mac(bool other)
{
	struct csw_port port;

	world_port(1, &port, false);
	if (other)
		port.mac[4]--;
	bpf_map_update_elem(bpf_map__fd(skel->maps.ports), &ifindex[1], &port, 0);
}

uint64_t kernel_counter(struct canary_switch *s, uint32_t index)
{
	uint64_t value[libbpf_num_possible_cpus()], sum = 0;
	int i;

	memset(value, 0, sizeof(value));
	bpf_map_lookup_elem(bpf_map__fd(s->maps.counters), &index, value);
	for (i = 0; i < libbpf_num_possible_cpus(); i++)
		sum += value[i];
	return sum;
}

static uint64_t counter(uint32_t index)
{
	return kernel_counter(skel, index);
}

static struct csw_descriptor *slot_at(uint32_t slot)
{
	return (struct csw_descriptor *)((char *)descriptors + slot * stride);
}

static const struct csw_descriptor *descriptor(uint32_t slot)
{
	return slot_at(slot);
}

static struct csw_queue_ctl *queue_ctl(void)
{
	return (struct csw_queue_ctl *)&skel->bss->queue_ctl;
}

static int sample(void *ctx, void *data, size_t size)
{
	(*(uint32_t *)ctx)++;
	return 0;
}

static bool processor(uint32_t number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static uint32_t woken(void)
{
	uint32_t n = 0;
	struct ring_buffer *rb = ring_buffer__new(bpf_map__fd(skel->maps.wake), sample, &n, NULL);

	if (rb)
		ring_buffer__consume(rb);
	ring_buffer__free(rb);
	return n;
}

static uint32_t wanted(void)
{
	int fd = bpf_map__fd(skel->maps.wanted);
	struct csw_want want;
	uint64_t key, *last = NULL;
	uint32_t n = 0;

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key)
		if (!bpf_map_lookup_elem(fd, &key, &want))
			n += want.count;
	return n;
}

static void hold(uint32_t slot, bool locked)
{
	slot_at(slot & ~(CSW_WAYS - 1))->lock = locked;
}

static struct csw_config *configuration(void)
{
	return (struct csw_config *)&skel->bss->config;
}

static void captive(int number, bool is)
{
	struct csw_port port;

	world_port(number, &port, false);
	port.captive = is;
	bpf_map_update_elem(bpf_map__fd(skel->maps.ports), &ifindex[number], &port, 0);
	memset(skel->bss->own_macs, 0, sizeof(skel->bss->own_macs));
}

static void set_backlog(int port, const struct csw_backlog *b)
{
	const struct csw_backlog_key key = { .netns = NETNS, .ifindex = ifindex[port] };
	int fd = bpf_map__fd(skel->maps.canary_backlog);

	if (b)
		bpf_map_update_elem(fd, &key, b, 0);
	else
		bpf_map_delete_elem(fd, &key);
}

const struct backend backend_kernel = {
	.name = "kernel",
	.drivers = true,
	.start = start,
	.reset = reset,
	.at = at,
	.receive = receive,
	.flush = flush,
	.counter = counter,
	.descriptor = descriptor,
	.queue_ctl = queue_ctl,
	.processor = processor,
	.woken = woken,
	.wanted = wanted,
	.hold = hold,
	.config = configuration,
	.captive = captive,
	.backlog = set_backlog,
};
