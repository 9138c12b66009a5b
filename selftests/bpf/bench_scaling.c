// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures what more processors gain: contributions by BPF_PROG_RUN from 1, 2, 4 and 8 threads,
 * which are pinned to the processors in turn.
 *
 *	bench_scaling [ROUNDS]
 *
 * "switch.scaling.distinct.N": each of N threads has all contributions of its own blocks.
 * "switch.scaling.shared.N": each block has contributions from all threads, which work on the same
 * blocks at the same time.
 *
 * Value: millions of contributions a second of all threads. The baseline is one thread. Further
 * members: what a plain redirect gains by the same number of threads, and percent of contributions
 * that were bypassed, by reason. Ratios are medians of those of single rounds, as both sides of a
 * ratio are measured one after the other.
 *
 * The programs alone are measured: frames are not live. The time to make frames is included on
 * both sides: a plain redirect takes less than that, so that nothing would be left but noise. A
 * block is silent: nobody waits for its result, so its slot is free when it is sent on. There is no
 * clock thread, so contributions take old slots off the queue.
 *
 * A chunk of CHUNK blocks begins at the same time in all threads. They have real-time priority, for a
 * fraction of a second each time, since other programs do not take the processor from softirqs
 * either. If the processors were used by others all the same (/proc/stat), a sample is repeated. If
 * that does not help, nothing is printed, and the exit status is 1.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bench_run.h"
#include "selftests/die.h"

#define FAN_IN		8
#define ELEMENTS	256
#define BLOCKS		(BENCH_SLOTS / CSW_WAYS)
#define THREADS		8
#define CHUNK		1024	/* blocks */
#define CHUNKS		64	/* in a sample */
#define FASTER		16	/* a redirect has so many times more frames in a chunk */
#define SPINS		4096	/* before a thread lets others run */
#define TRIES		40
#define REST_US		100000	/* for others, after each sample */
#define OTHERS_MAX	0.04	/* part of the processors that others may use */

static struct canary_switch *sw;
static int ifindex[PORTS + 1], other_end[PORTS + 1];
static int rounds = 9, processors;

struct worker {
	pthread_t thread;
	struct bench *bench;	/* of its own, as frames are numbered in it */
	struct frame frame;
	struct bpf_program *prog;
	int number, threads, times;
	bool shared;
};

static struct worker worker[THREADS];
static atomic_uint waiting;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* ---- who used the processors? ---- */

/* Return: seconds that the first @n processors were busy, or taken away by the hypervisor */
static double busy(int n)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq, steal, sum = 0;
	FILE *f = fopen("/proc/stat", "r");
	char line[256];
	int i;

	if (!f || !fgets(line, sizeof(line), f))
		die("cannot read /proc/stat");
	for (i = 0; i < n; i++) {
		if (!fgets(line, sizeof(line), f) ||
		    sscanf(line, "cpu%*d %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
			   &system, &idle, &wait, &irq, &softirq, &steal) != 8)
			die("cannot read /proc/stat");
		sum += user + nice + system + irq + softirq + steal;
	}
	fclose(f);
	return (double)sum / sysconf(_SC_CLK_TCK);
}

static double own(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec +
	       (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* ---- threads ---- */

static void pin(int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to % processors, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		die_errno("pthread_setaffinity_np");
}

/* Wait for the other threads. @turn counts the meetings. */
static void meet(int threads, unsigned int turn)
{
	unsigned int spins = 0;

	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&waiting) < turn * threads)
		if (threads > processors || ++spins % SPINS == 0)
			sched_yield();
}

/*
 * The frames of a chunk. Shared: this thread has its part of each block's contributions. Else it
 * has its part of the blocks.
 */
static void chunk(struct worker *w, uint32_t number)
{
	struct bench *b = w->bench;
	uint32_t frames = CHUNK * FAN_IN / w->threads;

	b->data->blocks = BLOCKS;
	b->data->fan_in = w->shared ? FAN_IN / w->threads : FAN_IN;
	b->bss->member = w->shared ? w->number * FAN_IN / w->threads : 0;
	b->bss->serial = number * CHUNK * b->data->fan_in;
	if (!w->shared)
		b->bss->serial += w->number * frames;
	bench_run(b->progs.bench_stamp, &w->frame, ifindex[1], w->times * frames, 0);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int turn = 0;
	int i;

	pin(w->number);
	for (i = 0; i < CHUNKS; i++) {
		meet(w->threads, ++turn);
		chunk(w, i);
	}
	return NULL;
}

/* @prog: NULL for a redirect. Each thread has its own, as the program of another one would be slow. */
static int times(struct bpf_program *prog)
{
	return prog ? 1 : FASTER;
}

/* Return: seconds of a sample */
static double sample_once(struct bpf_program *prog, int threads, bool shared)
{
	double start = seconds();
	int i;

	atomic_store(&waiting, 0);
	for (i = 0; i < threads; i++) {
		worker[i].threads = threads;
		worker[i].shared = shared;
		worker[i].times = times(prog);
		bench_under_test(worker[i].bench,
				 prog ? prog : worker[i].bench->progs.bench_redirect);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			die_errno("pthread_create");
	}
	for (i = 0; i < threads; i++)
		pthread_join(worker[i].thread, NULL);
	return seconds() - start;
}

/* Return: seconds for CHUNK * FAN_IN frames */
static double sample(struct bpf_program *prog, int threads, bool shared)
{
	int used = threads < processors ? threads : processors, i;
	double took, others = 0;

	for (i = 0; i < TRIES; i++) {
		others = busy(used) - own();
		took = sample_once(prog, threads, shared);
		others = (busy(used) - own() - others) / took / used;
		usleep(REST_US);
		if (others <= OTHERS_MAX)
			return took / CHUNKS / times(prog);
	}
	die("the machine is busy: others use %.0f %% of the processors", 100 * others);
}

/* ---- figures ---- */

static const int counters[] = { CSW_BYPASS_LOCK, CSW_BYPASS_QUEUE_LOCK, CSW_BYPASS_COLLISION,
				CSW_STRAGGLER };
#define COUNTERS	((int)(sizeof(counters) / sizeof(counters[0])))

struct result {
	double rate[BENCH_ROUNDS_MAX], gain[BENCH_ROUNDS_MAX], redirect[BENCH_ROUNDS_MAX];
	uint64_t count[COUNTERS], received;
};

static const int thread_numbers[] = { 1, 2, 4, 8 };
#define NUMBERS		4

static struct result results[2][NUMBERS];

/* Return: millions of packets a second; @took: seconds for CHUNK * FAN_IN */
static double rate(double took)
{
	return (double)CHUNK * FAN_IN / took / 1e6;
}

static void count(struct result *r, int sign)
{
	int i;

	for (i = 0; i < COUNTERS; i++)
		r->count[i] += sign * kernel_counter(sw, counters[i]);
	r->received += sign * kernel_counter(sw, CSW_RX_CONTRIBUTION);
}

static void one_round(int round)
{
	double redirect = 0, one = 0, forwarded;
	int shared, n;

	for (n = 0; n < NUMBERS; n++) {
		int threads = thread_numbers[n];

		forwarded = rate(sample(NULL, threads, false));
		if (!n)
			redirect = forwarded;
		for (shared = 0; shared < 2; shared++) {
			struct result *r = &results[shared][n];

			count(r, -1);
			r->rate[round] = rate(sample(sw->progs.canary_xdp, threads, shared));
			count(r, 1);
			if (!n && !shared)
				one = r->rate[round];
			r->gain[round] = r->rate[round] / one;
			r->redirect[round] = forwarded / redirect;
		}
	}
}

static void print(bool shared, int n)
{
	struct result *r = &results[shared][n];
	double percent[COUNTERS], value, gain;
	char name[64], more[320];
	int i;

	for (i = 0; i < COUNTERS; i++)
		percent[i] = 100.0 * r->count[i] / r->received;
	value = bench_median(r->rate, rounds);
	gain = bench_median(r->gain, rounds);
	snprintf(name, sizeof(name), "switch.scaling.%s.%d", shared ? "shared" : "distinct",
		 thread_numbers[n]);
	snprintf(more, sizeof(more), ", \"redirect_gains\": %.3f, \"percent\": {\"lock\": %.3f, "
		 "\"queue_lock\": %.3f, \"collision\": %.3f, \"straggler\": %.3f}",
		 bench_median(r->redirect, rounds), percent[0], percent[1], percent[2], percent[3]);
	bench_figure(name, value, "M/s", value / gain, more);
}

static void set_up(void)
{
	const struct msg m = { .from = H1, .ranks = R(1), .members = FAN_IN + 1,
			       .elements = ELEMENTS, .flags = CANARY_F_SILENT,
			       .checksum = LEFT_OUT };
	int i;

	sw = bench_load_switch(ifindex, other_end);
	for (i = 0; i < THREADS; i++) {
		worker[i].number = i;
		worker[i].bench = bench_load_programs(sw);
		worker[i].bench->bss->egress = ifindex[4];
		bench_may_send(worker[i].bench, ifindex[4]);
		frame_in(&worker[i].frame, 1, &m);
		bench_headers(worker[i].bench, &worker[i].frame);
		/* A program that is attached nowhere takes tens of ms to start. No frame comes. */
		if (kernel_attach_xdp(i < PORTS ? ifindex[i + 1] : other_end[i - PORTS + 1],
				      worker[i].bench->progs.bench_stamp))
			die_errno("attach");
	}
}

int main(int argc, char **argv)
{
	const struct sched_param priority = { .sched_priority = 1 };
	int i;

	bench_command(argc, argv);
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX) {
		fprintf(stderr, "usage: bench_scaling [ROUNDS]\n");
		return 2;
	}
	processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (processors < 2)
		die("needs two processors");
	set_up();
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		die_errno("sched_setscheduler");
	/* The first round only touches all memory. */
	for (i = -1; i < rounds; i++) {
		one_round(i < 0 ? 0 : i);
		if (i < 0)
			memset(results, 0, sizeof(results));
	}
	for (i = 0; i < 2 * NUMBERS; i++)
		print(i / NUMBERS, i % NUMBERS);
	bench_end();
	return 0;
}
