// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processors work on the same descriptors: two threads run canary_xdp with contributions to the
 * same blocks, and a third one runs canary_flush. Combine what comes out, as a leader would. Each
 * contribution must be in it exactly once, whether it was merged, bypassed, carried or late. Blocks
 * take turns with all kinds.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "kernel.h"
#include "selftests/tap.h"

#define MEMBERS		9	/* the leader is one of them */
#define BLOCKS		2048
#define ELEMENTS	40
#define LENGTH		(FRAME_DATA + ELEMENTS * 4)

/* What a thread's frames brought to the leader. @wrong: packets with a wrong checksum */
struct sums {
	uint32_t count, packets, wrong;
	uint64_t tag;
	uint8_t data[ELEMENTS * 4];
};

struct thread {
	pthread_t thread;
	int first, step;	/* ranks it plays */
	bool flush;
	struct sums *block;
	uint64_t lost;		/* frames that left by a port without a leader */
};

static struct canary_switch *sw;
static int ifindex[PORTS + 1], ends[PORTS + 1];
/*
 * Contributors that are not done, and contributors that have begun, over all rounds. They begin in
 * pairs.
 */
static atomic_int running, started;

static const uint8_t kinds[] = {
#define CANARY_KIND_X(name, ...) CANARY_KIND_##name,
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
};

static uint8_t kind_of(uint32_t block)
{
	return kinds[block % sizeof(kinds)];
}

/* The first data are copied, as no number is neutral for all kinds. */
static void add_data(struct sums *s, uint32_t block, const uint8_t *data)
{
	if (s->packets)
		payload_combine(kind_of(block), s->data, data, sizeof(s->data));
	else
		memcpy(s->data, data, sizeof(s->data));
}

static void leader(struct thread *t, const uint8_t *frame, uint32_t length)
{
	struct canary_hdr h;
	struct sums *s;

	memcpy(&h, frame + FRAME_DATA - sizeof(h), sizeof(h));
	if (length != LENGTH || h.type != CANARY_CONTRIBUTION || be32toh(h.block) >= BLOCKS) {
		t->lost++;
		return;
	}
	s = &t->block[be32toh(h.block)];
	add_data(s, be32toh(h.block), frame + FRAME_DATA);
	s->packets++;
	s->count += be16toh(h.contribution.count);
	s->tag += be64toh(h.contribution.tag);
	s->wrong += be32toh(h.contribution.sum) !=
		    payload_checksum(frame + FRAME_DATA, sizeof(s->data));
}

static void run(struct thread *t, int fd, const uint8_t *in, uint32_t length)
{
	struct xdp_md ctx = { .data_end = length, .ingress_ifindex = ifindex[1] };
	uint8_t bytes[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = length,
		    .data_out = bytes, .data_size_out = sizeof(bytes),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));

	if (bpf_prog_test_run_opts(fd, &opts)) {
		t->lost++;
		return;
	}
	if (opts.retval == XDP_REDIRECT)
		leader(t, bytes, opts.data_size_out);
	else if (opts.retval != XDP_DROP)
		t->lost++;
}

static void message(struct msg *m, int rank, uint32_t block)
{
	memset(m, 0, sizeof(*m));
	m->from = H1;
	m->ranks = R(rank);
	m->members = MEMBERS;
	m->elements = ELEMENTS;
	m->block = block;
	m->kind = kind_of(block);
}

static void *contribute(void *arg)
{
	int fd = bpf_program__fd(sw->progs.canary_xdp);
	struct thread *t = arg;
	struct frame f;
	uint32_t block;
	struct msg m;
	int rank;

	atomic_fetch_add(&started, 1);
	while (atomic_load(&started) % 2)
		;
	for (block = 1; block < BLOCKS; block++) {
		for (rank = t->first; rank < MEMBERS; rank += t->step) {
			message(&m, rank, block);
			frame_in(&f, 1, &m);
			f.bytes[35] += rank;	/* each rank has its UDP port */
			frame_checksum(&f);
			run(t, fd, f.bytes, f.length);
		}
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void flush(struct thread *t)
{
	static const uint8_t blank[FRAME_DATA + CANARY_PAYLOAD_MAX];

	run(t, bpf_program__fd(sw->progs.canary_flush), blank, sizeof(blank));
}

static void *clock_thread(void *arg)
{
	struct thread *t = arg;

	while (atomic_load(&running)) {
		flush(t);
		usleep(20);
	}
	return NULL;
}

/* Combine rank by rank, independently of the switch. */
static void expect(struct sums *s, uint32_t block)
{
	uint8_t data[ELEMENTS * 4];
	struct msg m;
	int rank;

	memset(s, 0, sizeof(*s));
	for (rank = 1; rank < MEMBERS; rank++) {
		message(&m, rank, block);
		payload_of(rank, &m, data);
		add_data(s, block, data);
		s->packets++;
		s->count++;
		s->tag += tag_of(rank, &m);
	}
}

static uint32_t wrong_blocks(struct thread *t, int threads, uint64_t *packets)
{
	uint32_t wrong = 0, block;
	struct sums want, got;
	int n;

	for (block = 1; block < BLOCKS; block++) {
		expect(&want, block);
		memset(&got, 0, sizeof(got));
		for (n = 0; n < threads; n++) {
			const struct sums *s = &t[n].block[block];

			if (!s->packets)
				continue;
			add_data(&got, block, s->data);
			got.packets += s->packets;
			got.count += s->count;
			got.tag += s->tag;
			got.wrong += s->wrong;
		}
		*packets += got.packets;
		wrong += got.wrong || got.count != want.count || got.tag != want.tag ||
			 memcmp(got.data, want.data, sizeof(got.data));
	}
	return wrong;
}

static void clear(uint32_t slots)
{
	size_t stride = (sizeof(struct csw_descriptor) + 7) & ~7UL;
	void *d = mmap(NULL, BLOCKS * stride, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(sw->maps.descriptors), 0);

	if (d == MAP_FAILED)
		exit(1);
	memset(d, 0, BLOCKS * stride);
	munmap(d, BLOCKS * stride);
	memset(&sw->bss->queue_ctl, 0, sizeof(sw->bss->queue_ctl));
	sw->bss->queue_ctl.open_until = ~0ULL;
	sw->bss->config.slot_mask = slots - 1;
	sw->bss->config.queue_mask = 2 * slots - 1;
	sw->bss->config.lifetime_ns = 1000000 * MSEC;
}

static void round_of(const char *what, uint32_t slots, uint64_t timeout_ns, uint32_t children)
{
	struct thread t[3] = {
		{ .first = 1, .step = 2 }, { .first = 2, .step = 2 }, { .flush = true },
	};
	uint64_t packets = 0, lost = 0, merged, before = kernel_counter(sw, CSW_MERGED);
	uint32_t wrong;
	int i;

	clear(slots);
	sw->bss->config.timeout_ns = timeout_ns;
	sw->bss->config.children_max = children;
	atomic_store(&running, 2);
	for (i = 0; i < 3; i++) {
		t[i].block = calloc(BLOCKS, sizeof(*t[i].block));
		if (pthread_create(&t[i].thread, NULL, t[i].flush ? clock_thread : contribute,
				   &t[i]))
			exit(1);
	}
	for (i = 0; i < 3; i++)
		pthread_join(t[i].thread, NULL);
	usleep(timeout_ns / 1000 + 1000);
	for (i = 0; i < 2 * BLOCKS; i++)
		flush(&t[2]);
	wrong = wrong_blocks(t, 3, &packets);
	for (i = 0; i < 3; i++)
		lost += t[i].lost;
	merged = kernel_counter(sw, CSW_MERGED) - before;
	tap(!wrong && !lost && merged && packets < (MEMBERS - 1) * BLOCKS,
	    "%s: %u of %d blocks wrong, %llu frames astray; %llu merged, %llu packets sent on",
	    what, wrong, BLOCKS - 1, (unsigned long long)lost, (unsigned long long)merged,
	    (unsigned long long)packets);
	for (i = 0; i < 3; i++)
		free(t[i].block);
}

static const char * const names[] = {
#define X(name, text, help) text,
	CSW_COUNTERS(X)
#undef X
};

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3, i;
	const char *why = NULL;

	if (geteuid())
		why = "needs root";
	else if (kernel_own_network())
		why = "cannot make a network namespace";
	else
		why = kernel_make_ports(ifindex, ends);
	if (why) {
		tap_skip("stress", why);
		return tap_done("bpf-stress") ? 4 : 0;
	}
	sw = kernel_load(BLOCKS, 2 * BLOCKS, CSW_QUEUES, false);
	if (!sw || kernel_fill_maps(sw, ifindex, false) ||
	    kernel_attach_xdp(ifindex[1], sw->progs.canary_xdp)) {
		tap(false, "programs load");
		return tap_done("bpf-stress");
	}
	for (i = 0; i < rounds; i++) {
		round_of("all complete", BLOCKS, 1000 * MSEC, CSW_CHILDREN_MAX);
		round_of("timeouts, stragglers, carriers", BLOCKS, MSEC / 50, CSW_CHILDREN_MAX);
		round_of("few slots", 64, MSEC / 50, CSW_CHILDREN_MAX);
		round_of("few children", BLOCKS, MSEC, 3);
	}
	for (i = 0; i < CSW_COUNTER_COUNT; i++)
		if (kernel_counter(sw, i))
			printf("# %s: %llu\n", names[i],
			       (unsigned long long)kernel_counter(sw, i));
	return tap_done("bpf-stress");
}
