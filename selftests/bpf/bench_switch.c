// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures what the switch costs, in ns per packet, compared with a plain XDP redirect of the same
 * packets. The two are measured in turn. The switch makes one packet of 8 contributions, the
 * redirect leaves 8.
 *
 *	bench_switch [ROUNDS [FRAMES [NAME]]]
 *
 * bench_stamp makes frames. BPF_PROG_RUN runs it with live frames. The frames
 * - arrive at a port (a veth pair), are received and handled there, and what is sent on arrives at
 * another port: "switch.aggregate.N", which includes everything on one processor;
 * - or go to the program directly, without being received: "switch.aggregate.N.live";
 * - or are not live and go nowhere: "switch.aggregate.N.program", which is the instructions alone.
 *
 * The cost of making frames is measured, and subtracted on both sides.
 *
 * With NAME only that one is measured. Prints a JSON list of {name, value, unit, baseline, ratio,
 * command}. "router" and "router_ratio" have a plain XDP router as the baseline (route, neighbour
 * and time to live beside the redirect). "forward" is what the switch takes for bypassed packets.
 *
 * The run of "switch.aggregate.256" also gives "switch.aggregate.router", which is measured with
 * the router again, and "switch.aggregate.floor", a program that only adds in the same way. The
 * latter shows which part of the ratio is the price of exact additions in BPF.
 * "switch.aggregate.admission" is the switch with RULES admitted hosts compared with itself without
 * rules.
 *
 * "switch.kind.NAME" is what COMPARED words of that kind take, by the program alone. The baseline is
 * the first kind, sums of 32 bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "bench_run.h"
#include "selftests/die.h"

#define FAN_IN		8
#define COMPARED	256	/* elements for which there are more comparisons */
#define SLOTS		1024
#define QUEUE		(4 * SLOTS)
#define RULES		64

static struct canary_switch *sw;
static struct bench *bench;
static int ifindex[PORTS + 1], other_end[PORTS + 1];
static int rounds = 15, frames = 20000;
static const char *only;
static uint32_t round;	/* runs so far */

static void attach(int dev, struct bpf_program *prog)
{
	if (kernel_attach_xdp(dev, prog))
		die_errno("attach");
}

/* The switch is on ports 1 and 4, the plain redirect on 2, router and floor in turn on 3. */
static void make_ports(void)
{
	int i;

	if (kernel_make_ports(ifindex, other_end))
		die_errno("ports");
	for (i = 1; i <= PORTS; i++)
		attach(other_end[i], bench->progs.bench_drop);
	attach(ifindex[1], sw->progs.canary_xdp);
	attach(ifindex[2], bench->progs.bench_redirect);
	attach(ifindex[3], bench->progs.bench_route);
	attach(ifindex[4], sw->progs.canary_xdp);
}

/* ns a frame */
static double run(struct bpf_program *prog, const struct frame *f, int n, bool live)
{
	return bench_run(prog, f, ifindex[1], n, live ? 64 : 0);
}

static void contribution(struct frame *f, uint8_t kind, int elements, bool bypassed)
{
	struct msg m = { .from = H1, .ranks = R(1), .members = FAN_IN + 1, .elements = elements,
			 .kind = kind, .flags = bypassed ? CANARY_F_BYPASS : 0,
			 /* stamping does not change that */
			 .checksum = LEFT_OUT };

	frame_in(f, 1, &m);
	bench_headers(bench, f);
}

static void result(const char *name, double value, double baseline, double router, double forward)
{
	char more[128] = "";

	if (router)
		snprintf(more, sizeof(more),
			 ", \"router\": %.1f, \"router_ratio\": %.3f, \"forward\": %.1f",
			 router, value / router, forward);
	bench_figure(name, value, "ns/packet", baseline, more);
}

enum way { PORT, LIVE, PROGRAM };

static const char * const way_names[] = { "", ".live", ".program" };

/* Run the stamped frames through @prog, or send them by port @port to what is attached there. */
static double stamped(struct bpf_program *prog, int port, const struct frame *f, enum way way)
{
	/* so that no block is one of the blocks before */
	bench->bss->serial = round++ << 24;
	bench->bss->to_port = way == PORT ? other_end[port] : 0;
	if (way != PORT)
		bench_under_test(bench, prog);
	return run(bench->progs.bench_stamp, f, frames, way != PROGRAM);
}

struct samples {
	double making[BENCH_ROUNDS_MAX], nothing[BENCH_ROUNDS_MAX], redirect[BENCH_ROUNDS_MAX],
	       router[BENCH_ROUNDS_MAX], merge[BENCH_ROUNDS_MAX], forward[BENCH_ROUNDS_MAX], floor[BENCH_ROUNDS_MAX],
	       admission[BENCH_ROUNDS_MAX];
};

/* All are measured in turn, so that other work of the machine affects all alike. */
static void sample(struct samples *s, int i, int elements, enum way way)
{
	struct frame f;

	contribution(&f, CANARY_KIND_ADD32, elements, false);
	s->nothing[i] = run(bench->progs.bench_drop, &f, frames, way != PROGRAM);
	s->making[i] = stamped(bench->progs.bench_drop, 3, &f, way == PORT ? LIVE : way);
	s->redirect[i] = stamped(bench->progs.bench_redirect, 2, &f, way);
	s->router[i] = stamped(bench->progs.bench_route, 3, &f, way);
	attach(ifindex[3], bench->progs.bench_floor);
	s->floor[i] = stamped(bench->progs.bench_floor, 3, &f, way);
	attach(ifindex[3], bench->progs.bench_route);
	s->merge[i] = stamped(sw->progs.canary_xdp, 1, &f, way);
	sw->bss->config.admit = 1;
	s->admission[i] = stamped(sw->progs.canary_xdp, 1, &f, way);
	sw->bss->config.admit = 0;
	contribution(&f, CANARY_KIND_ADD32, elements, true);
	s->forward[i] = stamped(sw->progs.canary_xdp, 1, &f, way);
}

static void aggregate(int elements, enum way way)
{
	static struct samples s;
	uint64_t sent, bypassed, dropped = 0;
	double making, redirect, router, merge;
	char name[64];
	int i;

	snprintf(name, sizeof(name), "switch.aggregate.%d%s", elements, way_names[way]);
	if (only && strcmp(only, name))
		return;
	sent = kernel_counter(sw, CSW_SENT_COMPLETE);
	bypassed = kernel_counter(sw, CSW_BYPASSED);
	sample(&s, 0, elements, way);
	for (i = 0; i < rounds; i++)
		sample(&s, i, elements, way);
	sent = kernel_counter(sw, CSW_SENT_COMPLETE) - sent;
	bypassed = kernel_counter(sw, CSW_BYPASSED) - bypassed;
	for (i = CSW_COUNTER_COUNT; i < CSW_COUNTER_COUNT + CANARY_DROPS; i++)
		dropped += kernel_counter(sw, i);
	if (sent != 2 * (uint64_t)frames / FAN_IN * (rounds + 1) || dropped ||
	    bypassed != (uint64_t)frames * (rounds + 1)) {
		fprintf(stderr, "bench_switch: %llu blocks sent on, %llu bypassed, %llu dropped\n",
			(unsigned long long)sent, (unsigned long long)bypassed,
			(unsigned long long)dropped);
		exit(1);
	}
	making = bench_median(s.making, rounds) - bench_median(s.nothing, rounds);
	redirect = bench_median(s.redirect, rounds) - making;
	router = bench_median(s.router, rounds) - making;
	merge = bench_median(s.merge, rounds) - making;
	result(name, merge, redirect, router, bench_median(s.forward, rounds) - making);
	if (way != PORT || elements != COMPARED)
		return;
	result("switch.aggregate.floor", bench_median(s.floor, rounds) - making, redirect, 0, 0);
	result("switch.aggregate.router", merge, router, 0, 0);
	result("switch.aggregate.admission", bench_median(s.admission, rounds) - making, merge, 0, 0);
}

static const struct {
	const char *name;
	uint8_t kind;
	uint32_t flags;
} kinds[] = {
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	{ "switch.kind." #name, CANARY_KIND_##name, flags },
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
};

#define KINDS	((int)(sizeof(kinds) / sizeof(kinds[0])))

/* All kinds that the switch combines, in turn */
static void compare_kinds(void)
{
	static double making[BENCH_ROUNDS_MAX], merge[KINDS][BENCH_ROUNDS_MAX];
	double base;
	uint64_t sent, blocks = 0;
	struct frame f;
	int i, k;

	sent = kernel_counter(sw, CSW_SENT_COMPLETE);
	for (i = -1; i < rounds; i++) {
		for (k = 0; k < KINDS; k++) {
			if (!(kinds[k].flags & CANARY_K_SWITCHES))
				continue;
			contribution(&f, kinds[k].kind, COMPARED, false);
			merge[k][i < 0 ? 0 : i] = stamped(sw->progs.canary_xdp, 1, &f, PROGRAM);
			blocks += frames / FAN_IN;
		}
		making[i < 0 ? 0 : i] = stamped(bench->progs.bench_drop, 3, &f, PROGRAM);
	}
	sent = kernel_counter(sw, CSW_SENT_COMPLETE) - sent;
	if (sent != blocks) {
		fprintf(stderr, "bench_switch: %llu of %llu blocks of all kinds sent on\n",
			(unsigned long long)sent, (unsigned long long)blocks);
		exit(1);
	}
	base = bench_median(merge[0], rounds) - bench_median(making, rounds);
	for (k = 0; k < KINDS; k++) {
		if (kinds[k].flags & CANARY_K_SWITCHES)
			result(kinds[k].name, bench_median(merge[k], rounds) - bench_median(making, rounds),
			       base, 0, 0);
	}
}

/* Blocks of one contribution each. When they are due, frames of the clock carry them away. */
static void emit(int elements)
{
	const struct timespec wait = { .tv_nsec = 70 * MSEC };
	const struct timespec due = { .tv_sec = 1, .tv_nsec = 10 * MSEC };
	static struct frame blank = { .length = FRAME_DATA + CANARY_PAYLOAD_MAX };
	int n = SLOTS / 2, i;
	double flush[BENCH_ROUNDS_MAX];
	struct frame f;
	uint64_t sent;
	char name[64];

	snprintf(name, sizeof(name), "switch.flush.%d", elements);
	if (only && strcmp(only, name))
		return;
	contribution(&f, CANARY_KIND_ADD32, elements, false);
	bench->bss->to_port = 0;
	sw->bss->config.timeout_ns = 60 * MSEC;
	bench->data->fan_in = 1;
	bench->data->blocks = n;
	bench_under_test(bench, sw->progs.canary_xdp);
	/* Wait until what aggregate() left in the queue is due, as it would be sent first. */
	nanosleep(&due, NULL);
	run(sw->progs.canary_flush, &blank, QUEUE, true);
	sent = kernel_counter(sw, CSW_SENT_CLOCK);
	for (i = 0; i < rounds; i++) {
		bench->bss->serial = round++ << 24;
		run(bench->progs.bench_stamp, &f, n, true);
		nanosleep(&wait, NULL);
		flush[i] = run(sw->progs.canary_flush, &blank, n, true);
	}
	sent = kernel_counter(sw, CSW_SENT_CLOCK) - sent;
	if (sent < (uint64_t)n * rounds / 2) {
		fprintf(stderr, "bench_switch: %llu blocks emitted\n", (unsigned long long)sent);
		exit(1);
	}
	sw->bss->config.timeout_ns = 1000 * MSEC;
	bench->data->fan_in = FAN_IN;
	bench->data->blocks = 64;
	result(name, bench_median(flush, rounds), 0, 0, 0);
}

/* Add so many rules to that of the sender, which is in the table of world.c. */
static int rules(void)
{
	struct csw_admission_key key = { .prefixlen = 32 + CANARY_ADDR_BITS };
	struct csw_admission admission = { .ranges = 1, .range = { { 1, 99 } } };
	int i, ret = 0;

	for (i = 0; i < RULES; i++) {
		key.ifindex = htobe32(ifindex[1 + i % PORTS]);
		key.addr = canary_addr_of_ip4(htobe32(0x0a000110 + i));
		admission.id = 1000 + i;
		ret |= bpf_map_update_elem(bpf_map__fd(sw->maps.admissions), &key, &admission, 0);
	}
	return ret;
}

int main(int argc, char **argv)
{
	static const int elements[] = { 32, 256, 352, 800 };
	int i;

	bench_command(argc, argv);
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		frames = atoi(argv[2]);
	if (argc > 3)
		only = argv[3];
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX || frames < 1000 || frames > 1000000) {
		fprintf(stderr, "usage: bench_switch [ROUNDS [FRAMES [NAME]]]\n");
		return 2;
	}
	if (kernel_own_network())
		die_errno("network namespace");
	sw = kernel_load(SLOTS, QUEUE, 1, false);
	if (!sw)
		die_errno("load");
	bench = bench_load_programs(sw);
	make_ports();
	sw->bss->config.timeout_ns = 1000 * MSEC;
	sw->bss->config.lifetime_ns = 1;	/* so that each slot may be taken again */
	frames -= frames % FAN_IN;
	bench->bss->egress = ifindex[4];
	bench->data->fan_in = FAN_IN;
	bench_may_send(bench, ifindex[4]);
	for (i = 1; i <= 3; i++)
		bench_may_send(bench, other_end[i]);
	if (kernel_fill_maps(sw, ifindex, false) || rules())
		die_errno("maps");
	for (i = 0; i < 12; i++)
		aggregate(elements[i % 4], i / 4);
	if (!only || !strcmp(only, "switch.kind"))
		compare_kinds();
	for (i = 0; i < 4; i++)
		emit(elements[i]);
	bench_end();
	return 0;
}
