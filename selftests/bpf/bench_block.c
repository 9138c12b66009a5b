// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures what a whole block costs the switch: FAN_IN contributions come and one leaves, then one
 * result comes and FAN_IN leave. It is compared with a plain XDP router (bench_route), which
 * forwards 2 * FAN_IN packets of the same length.
 *
 *	bench_block [ROUNDS [BLOCKS [plain] [clones]]]
 *
 * Everything runs on one processor. bench_stamp makes live frames, and sends them by one end of a
 * veth pair. The program under test is at the other end, which is a port. What leaves by another
 * port is received and dropped at the end of that pair. So the time includes the copies that
 * the kernel makes, and what the peers of ports do to receive a frame. A peer with an XDP program
 * copies each packet that comes from tc, which a network card would not do. So some of the time of
 * copies is not the switch's. With "plain", the peer that gets the copies has no such program, and
 * its network stack drops them. Then they are clones, since such a peer takes no others.
 * "switch.block.copies" is the time of a result and its copies.
 *
 * Results are broadcast to a group. With "clones", all copies are made by canary_tc.
 *
 * The table has the default size. A round fills a slot in each of its buckets, block by block, and
 * then brings all results. So a block and its result each find memory that no cache has. The
 * timeout is short: contributions also take the slots of earlier blocks off the deadline queue.
 *
 * The cost of making frames is measured, and subtracted on both sides. All parts are measured in
 * turn, so that other work of the machine affects all alike.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bench_run.h"
#include "selftests/die.h"

#define FAN_IN		8
#define ELEMENTS	256
#define BLOCKS		(BENCH_SLOTS / CSW_WAYS)
/* The copies of so many results fit the ring of a veth pair. */
#define BATCH		16
#define TRIES		20
/* Percent of blocks that a round may lose, if the processor did something else for a while */
#define LOST_MAX	1

static struct canary_switch *sw;
static struct bench *bench;
static int ifindex[PORTS + 1], other_end[PORTS + 1];
static int rounds = 15;
static uint32_t blocks = BLOCKS;
static uint32_t number;		/* of the round */
static bool plain, clones;

/* The switch is on ports 1 and 4, the router on 3. What leaves goes to 4, and copies to 1. */
static void set_up(void)
{
	int i;

	sw = bench_load_switch(ifindex, other_end);
	if (!clones && (kernel_use_groups(sw, ifindex) ||
			kernel_make_group(sw, ifindex, FAN_IN * WORLD_KEY(1))))
		die_errno("groups");
	bench = bench_load_programs(sw);
	for (i = 1; i <= PORTS; i++) {
		bench_may_send(bench, ifindex[i]);
		bench_may_send(bench, other_end[i]);
		if ((!(plain && i == 1) &&
		     kernel_attach_xdp(other_end[i], bench->progs.bench_count)) ||
		    kernel_attach_xdp(ifindex[i], i == 3 ? bench->progs.bench_route :
				      sw->progs.canary_xdp) ||
		    (i != 3 && kernel_attach_tc(ifindex[i], sw->progs.canary_tc)))
			die_errno("ports");
	}
}

/* One processor, so that nothing happens at the same time */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		die_errno("sched_setaffinity");
}

static void contribution(struct frame *f)
{
	const struct msg m = { .from = H1, .ranks = R(1), .members = FAN_IN + 1,
			       .elements = ELEMENTS, .checksum = LEFT_OUT };

	frame_in(f, 1, &m);
	bench_headers(bench, f);
	bench->data->fan_in = FAN_IN;
	bench->bss->serial = number << 24;
}

static void result(struct frame *f)
{
	const struct msg m = { .type = CANARY_RESULT, .members = FAN_IN + 1,
			       .elements = ELEMENTS, .checksum = LEFT_OUT };

	frame_in(f, 4, &m);
	bench_headers(bench, f);
	bench->data->fan_in = 1;
	bench->bss->serial = (number << 24) / FAN_IN;
}

/* Frames come by @port; 0: they go to @prog directly. Return: ns for each of @n frames */
static double stamped(struct bpf_program *prog, int port, const struct frame *f, int n)
{
	bench->bss->to_port = port ? other_end[port] : 0;
	if (!port)
		bench_under_test(bench, prog);
	return bench_run(bench->progs.bench_stamp, f, ifindex[1], n, BATCH);
}

struct samples {
	double making[BENCH_ROUNDS_MAX], nothing[BENCH_ROUNDS_MAX], router[BENCH_ROUNDS_MAX],
	       merge[BENCH_ROUNDS_MAX], copies[BENCH_ROUNDS_MAX];
};

/* Did so much happen, or hardly less? */
static bool nearly(uint64_t count, uint64_t want)
{
	return count <= want && count >= want - want * LOST_MAX / 100;
}

/* Return: false if the round is not valid */
static bool sample(struct samples *s, int i)
{
	uint64_t sent, replicated, spread, arrived = bench->bss->arrived;
	struct frame f;

	number++;
	contribution(&f);
	s->nothing[i] = bench_run(bench->progs.bench_drop, &f, ifindex[1], blocks, BATCH);
	s->making[i] = stamped(bench->progs.bench_drop, 0, &f, blocks);
	contribution(&f);
	f.port = 3;
	s->router[i] = stamped(NULL, 3, &f, FAN_IN * blocks);
	contribution(&f);
	sent = kernel_counter(sw, CSW_SENT_COMPLETE);
	s->merge[i] = stamped(NULL, 1, &f, FAN_IN * blocks);
	sent = kernel_counter(sw, CSW_SENT_COMPLETE) - sent;
	result(&f);
	replicated = kernel_counter(sw, CSW_REPLICATED);
	spread = kernel_counter(sw, CSW_SPREAD);
	s->copies[i] = stamped(NULL, 4, &f, blocks);
	spread = kernel_counter(sw, CSW_SPREAD) - spread;
	replicated = kernel_counter(sw, CSW_REPLICATED) - replicated;
	arrived = bench->bss->arrived - arrived;
	if (!nearly(spread, clones ? 0 : blocks))
		die("%llu of %u results were broadcast", (unsigned long long)spread, blocks);
	if (nearly(sent, blocks) && nearly(replicated, FAN_IN * blocks) &&
	    nearly(arrived, (FAN_IN + 1 + (plain ? 0 : FAN_IN)) * blocks))
		return true;
	fprintf(stderr, "bench_block: again: %llu of %u blocks complete, %llu copies, %llu frames arrived\n",
		(unsigned long long)sent, blocks, (unsigned long long)replicated,
		(unsigned long long)arrived);
	return false;
}

static void measure(void)
{
	static struct samples s;
	double making, router, merge, copies;
	char more[128];
	int i, tries = 0;

	sample(&s, 0);
	for (i = 0; i < rounds; i++) {
		while (!sample(&s, i))
			if (++tries > TRIES)
				die("the machine is busy: %d rounds were not valid", tries);
	}
	making = bench_median(s.making, rounds) - bench_median(s.nothing, rounds);
	router = bench_median(s.router, rounds) - making;
	merge = bench_median(s.merge, rounds) - making;
	copies = bench_median(s.copies, rounds) - making;
	snprintf(more, sizeof(more), ", \"contribution\": %.1f, \"result\": %.1f, \"router\": %.1f",
		 merge, copies, router);
	bench_figure("switch.block", FAN_IN * merge + copies, "ns/block", 2 * FAN_IN * router,
		     more);
	bench_figure("switch.block.copies", copies, "ns/result", FAN_IN * router, "");
}

int main(int argc, char **argv)
{
	int i;

	bench_command(argc, argv);
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		blocks = atoi(argv[2]);
	for (i = 3; i < argc; i++) {
		plain |= !strcmp(argv[i], "plain");
		clones |= plain || !strcmp(argv[i], "clones");
	}
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX || blocks < 64 || blocks > BLOCKS ||
	    (blocks & (blocks - 1))) {
		fprintf(stderr, "usage: bench_block [ROUNDS [BLOCKS [plain] [clones]]]\n");
		return 2;
	}
	stay_here();
	set_up();
	bench->data->blocks = blocks;
	measure();
	bench_end();
	return 0;
}
