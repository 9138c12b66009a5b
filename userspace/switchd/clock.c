// SPDX-License-Identifier: BSD-2-Clause
/*
 * The clock emits blocks that are due and that no traffic carried away. It runs canary_flush on
 * live frames. It sleeps until the deadline of the first block that is still collecting. When the
 * queue is empty, it sleeps until a program writes to the "wake" ring buffer. A live frame pretends
 * to be received on a port, so that it meets the tc filter of that port if it is passed to the
 * kernel.
 *
 * Programs take blocks only while this thread says that it works, see beat(). If this thread hangs
 * or cannot emit, or if the main thread hangs, packets are forwarded as by a plain router.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "internal.h"

#define NS_PER_S	1000000000ULL
#define BURST		256	/* frames between two looks at the stop flag */
#define LOOK_AHEAD	64	/* queue entries examined for one that is still collecting */
#define STUCK_NS	200000	/* pause if the head does not move, as somebody holds the lock */
#define NAP_NS		(NS_PER_S / 10)	/* longest sleep; also after an error */
#define NAP_EMPTY_MS	500		/* longest sleep while nothing is queued */
#define NAP_DRAIN_NS	(NS_PER_S / 1000)
#define BEAT_NS		(2 * NS_PER_S)	/* after a beat, programs take blocks for this time */
#define HANG_NS		(10 * NS_PER_S)	/* the main loop hangs if its last turn was so long ago */
#define BEAT_AGAIN_NS	(NS_PER_S / 10)	/* between beats: programs use that memory */
#define RT_PRIORITY	10

/* Large enough for the largest block. The program writes headers and cuts the frame. */
#define FRAME_SIZE	(ETH_HLEN + CANARY_IP_OVERHEAD + CANARY_PAYLOAD_MAX)

static uint8_t frame[FRAME_SIZE];

uint64_t sw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static bool stopping(struct clock *c)
{
	return __atomic_load_n(&c->stop, __ATOMIC_RELAXED);
}

static bool draining(const struct clock *c)
{
	return __atomic_load_n(&c->drain, __ATOMIC_RELAXED);
}

void clock_turned(struct switchd *sw)
{
	__atomic_store_n(&sw->clock.turned, sw_now(), __ATOMIC_RELAXED);
}

/* If the main thread hangs, routes and neighbours are out of date. It normally turns every tick. */
static bool main_hangs(const struct clock *c, uint64_t now)
{
	return now > __atomic_load_n(&c->turned, __ATOMIC_RELAXED) + HANG_NS;
}

/* Tell programs that blocks will be sent on, or, when draining, that they must not take any. */
static void beat(struct switchd *sw)
{
	uint64_t *until = (uint64_t *)&sw->dp.queue_ctl->open_until, now = sw_now();
	struct clock *c = &sw->clock;

	if (draining(c)) {
		__atomic_store_n(until, 0, __ATOMIC_RELEASE);
	} else if (!c->failed && now >= c->beat_at && !main_hangs(c, now)) {
		__atomic_store_n(until, now + BEAT_NS, __ATOMIC_RELEASE);
		c->beat_at = now + BEAT_AGAIN_NS;
	}
}

bool clock_works(struct switchd *sw)
{
	return __atomic_load_n(&sw->dp.queue_ctl->open_until, __ATOMIC_RELAXED) > sw_now();
}

static const struct csw_queue_entry *entry(const struct dataplane *dp, uint32_t number, uint32_t i)
{
	return &dp->queue[number * dp->queue_len + (i & (dp->queue_len - 1))];
}

/* Return: the heads of all queues, added up. None goes back, so if the sum is equal, none moved. */
static uint32_t heads(const struct dataplane *dp)
{
	uint32_t number, sum = 0;

	for (number = 0; number < dp->queues; number++)
		sum += __atomic_load_n(&dp->queue_ctl->queue[number].head, __ATOMIC_SEQ_CST);
	return sum;
}

/*
 * The same of the tails. If it is what heads() said just before, all queues were empty then: no
 * head passes its tail, and no tail goes back.
 */
static uint32_t tails(const struct dataplane *dp)
{
	uint32_t number, sum = 0;

	for (number = 0; number < dp->queues; number++)
		sum += __atomic_load_n(&dp->queue_ctl->queue[number].tail, __ATOMIC_SEQ_CST);
	return sum;
}

/* Called by the main thread with every tick */
void clock_tick(struct switchd *sw)
{
	uint64_t errors = __atomic_load_n(&sw->clock.errors, __ATOMIC_RELAXED);

	if (errors != sw->clock.errors_told)
		sw_warn(sw, "the clock could not emit, %llu times: %s",
			(unsigned long long)(errors - sw->clock.errors_told),
			strerror(-__atomic_load_n(&sw->clock.last_error, __ATOMIC_RELAXED)));
	sw->clock.errors_told = errors;
}

/* Run canary_flush with one live frame. */
static int flush_one(struct switchd *sw)
{
	struct clock *c = &sw->clock;
	struct xdp_md ctx = {
		.data_end = FRAME_SIZE,
		.ingress_ifindex = load(&c->ingress),
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = frame, .data_size_in = FRAME_SIZE,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = 1, .batch_size = 1, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	int ret;

	if (!ctx.ingress_ifindex)
		return -ENODEV;
	ret = bpf_prog_test_run_opts(sw->dp.flush_fd, &opts);
	__atomic_add_fetch(&c->frames, 1, __ATOMIC_RELAXED);
	c->failed = ret && ret != -EINTR;
	if (c->failed) {
		__atomic_add_fetch(&c->errors, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&c->last_error, ret, __ATOMIC_RELAXED);
	}
	return ret;
}

/* When the block of @d has to leave: after its extra timeouts. Programs move its deadline. */
static uint64_t due_at(const struct dataplane *dp, const struct csw_descriptor *d)
{
	return d->deadline + d->waits_left * dataplane_timeout(dp);
}

/* Has that queue a block that is due and still collecting, or may it have one? */
static bool has_due(const struct dataplane *dp, uint32_t number, uint64_t now)
{
	const struct csw_queue *q = &dp->queue_ctl->queue[number];
	uint32_t i, head = load(&q->head), tail = load(&q->tail);
	const struct csw_descriptor *d;
	const struct csw_queue_entry *e;

	for (i = 0; head + i != tail && i < LOOK_AHEAD; i++) {
		e = entry(dp, number, head + i);
		if (e->deadline > now)
			return false;
		if (e->slot >= dp->slots)
			return true;
		d = dataplane_slot(dp, e->slot);
		if (d->state == CSW_COLLECTING && due_at(dp, d) <= now)
			return true;
	}
	return i == LOOK_AHEAD;
}

/*
 * The head of a queue is due. Does it take a frame? Slots of completed blocks, and of those with
 * extra timeouts left, are taken off by packets, too, for next to nothing. A frame takes as long as
 * dozens of packets. So these slots are left to packets while packets come, unless that makes the
 * queue long.
 */
static bool must_flush(const struct switchd *sw, uint64_t now)
{
	uint32_t number;

	if (sw->clock.quiet || sw->clock.failed || draining(&sw->clock))
		return true;
	for (number = 0; number < sw->dp.queues; number++)
		if (has_due(&sw->dp, number, now))
			return true;
	return false;
}

/* Return: the earliest deadline at the heads of the queues; ~0 if all are empty */
static uint64_t first_deadline(const struct dataplane *dp)
{
	uint64_t first = ~0ULL, deadline;
	const struct csw_queue *q;
	uint32_t number, head;

	for (number = 0; number < dp->queues; number++) {
		q = &dp->queue_ctl->queue[number];
		head = load(&q->head);
		if (head == load(&q->tail))
			continue;
		deadline = entry(dp, number, head)->deadline;
		first = deadline < first ? deadline : first;
	}
	return first;
}

/*
 * Nothing is queued. After a failed emission, try one without a block. Otherwise no block would
 * ever be taken again.
 */
static uint64_t emit_nothing(struct switchd *sw)
{
	if (!sw->clock.failed)
		return ~0ULL;
	return flush_one(sw) ? sw_now() + NAP_NS : 0;
}

/* Emit what is due. Return: the time to look again (0: at once); ~0 if the queue is empty */
static uint64_t emit(struct switchd *sw)
{
	const struct dataplane *dp = &sw->dp;
	uint64_t now, first;
	uint32_t before, n;

	for (n = 0; n < BURST; n++) {
		first = first_deadline(dp);
		if (first == ~0ULL)
			return emit_nothing(sw);
		now = sw_now();
		if (first > now && !draining(&sw->clock))
			return first;
		if (!must_flush(sw, now))
			return now;
		before = heads(dp);
		if (flush_one(sw))
			return now + NAP_NS;
		if (heads(dp) == before)
			return now + STUCK_NS;
	}
	return 0;
}

/* Return: the deadline of the first block of that queue, if it is before @next, else @next */
static uint64_t next_of(const struct dataplane *dp, uint32_t number, uint64_t next)
{
	const struct csw_queue *q = &dp->queue_ctl->queue[number];
	uint32_t i, head = load(&q->head), tail = load(&q->tail);
	const struct csw_descriptor *d;
	const struct csw_queue_entry *e;
	uint64_t due;

	for (i = 0; head + i != tail; i++) {
		e = entry(dp, number, head + i);
		due = e->deadline;
		if (due >= next)
			break;
		if (i == LOOK_AHEAD || e->slot >= dp->slots)
			return due;
		d = dataplane_slot(dp, e->slot);
		if (d->state != CSW_COLLECTING)
			continue;
		if (due_at(dp, d) > due)
			due = due_at(dp, d);
		next = due < next ? due : next;
	}
	return next;
}

static uint64_t shortest_timeout(const struct dataplane *dp)
{
	const struct csw_config *config = dp->config;

	return config->timeout_max ? config->timeout_min : config->timeout_ns;
}

/*
 * Slots of completed blocks stay in the queue until they are due. Sleep past them, and past blocks
 * whose deadline has moved. What is queued from now on is due in at least one timeout.
 */
static uint64_t next_deadline(const struct dataplane *dp)
{
	uint64_t next = sw_now() + shortest_timeout(dp);
	uint32_t number;

	for (number = 0; number < dp->queues; number++)
		next = next_of(dp, number, next);
	return next;
}

/* Have no blocks begun for the shortest timeout? Two looks can be some microseconds apart. */
static bool is_quiet(struct clock *c, const struct dataplane *dp)
{
	uint64_t now = sw_now();
	uint32_t tail = tails(dp);

	if (tail != c->tail)
		c->moved_at = now;
	c->tail = tail;
	return now - c->moved_at >= shortest_timeout(dp);
}

static void sleep_until(uint64_t when)
{
	struct timespec ts = { .tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/*
 * Sleep while nothing is queued. Programs that enqueue after the flag is set wake this thread. It
 * also has to wake for the next beat.
 */
static void sleep_empty(struct switchd *sw)
{
	struct csw_queue_ctl *ctl = sw->dp.queue_ctl;
	struct epoll_event event;
	uint32_t head;

	__atomic_store_n(&ctl->sleeping, 1, __ATOMIC_SEQ_CST);
	/* The order matters: a slot that is queued again moves the tail before the head. */
	head = heads(&sw->dp);
	if (head == tails(&sw->dp)) {
		epoll_wait(sw->clock.epoll, &event, 1, NAP_EMPTY_MS);
		ring_buffer__consume(sw->clock.wake);
	}
	__atomic_store_n(&ctl->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void *clock_main(void *arg)
{
	struct switchd *sw = arg;
	struct clock *c = &sw->clock;
	bool poll = sw->opt->clock == SWITCHD_CLOCK_POLL;
	uint64_t next, deadline, nap;

	prctl(PR_SET_NAME, "clock");
	/* The default slack of 50 us would be most of a short timeout. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	while (!stopping(c)) {
		beat(sw);
		c->quiet = is_quiet(c, &sw->dp);
		next = emit(sw);
		if (poll || !next)
			continue;
		if (draining(c)) {
			sleep_until(sw_now() + NAP_DRAIN_NS);
			continue;
		}
		__atomic_add_fetch(&c->wakeups, 1, __ATOMIC_RELAXED);
		if (next == ~0ULL) {
			sleep_empty(sw);
			continue;
		}
		deadline = next_deadline(&sw->dp);
		nap = sw_now() + NAP_NS;
		next = deadline > next ? deadline : next;
		sleep_until(next < nap ? next : nap);
	}
	return NULL;
}

static int ignore_sample(void *ctx, void *data, size_t size)
{
	return 0;
}

static void set_realtime(struct switchd *sw)
{
	struct sched_param param = { .sched_priority = RT_PRIORITY };
	int ret = pthread_setschedparam(sw->clock.thread, SCHED_FIFO, &param);

	if (ret)
		sw_warn(sw, "clock thread without real-time priority: %s", strerror(ret));
}

int clock_start(struct switchd *sw)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct clock *c = &sw->clock;
	sigset_t all, old;
	int ret;

	c->wake = ring_buffer__new(sw->dp.wake_fd, ignore_sample, NULL, NULL);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->wake || c->epoll < 0 || c->stop_fd < 0) {
		ret = -errno;
		goto fail;
	}
	if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->stop_fd, &event) ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(c->wake), &event)) {
		ret = -errno;
		goto fail;
	}
	/* This has to happen before the first packet comes. */
	clock_turned(sw);
	beat(sw);
	/* The main thread gets all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&c->thread, NULL, clock_main, sw);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		goto fail;
	c->running = true;
	if (sw->opt->realtime)
		set_realtime(sw);
	return 0;
fail:
	sw_error(sw, "cannot start the clock: %s", strerror(-ret));
	clock_stop(sw);
	return ret;
}

static void end_nap(struct switchd *sw)
{
	uint64_t one = 1;

	if (write(sw->clock.stop_fd, &one, sizeof(one)) < 0)
		sw_error(sw, "cannot wake the clock: %s", strerror(errno));
}

void clock_drain(struct switchd *sw)
{
	__atomic_store_n(&sw->clock.drain, true, __ATOMIC_RELAXED);
	end_nap(sw);
}

void clock_stop(struct switchd *sw)
{
	struct clock *c = &sw->clock;

	if (c->running) {
		__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
		end_nap(sw);
		pthread_join(c->thread, NULL);
		c->running = false;
	}
	ring_buffer__free(c->wake);
	c->wake = NULL;
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	c->epoll = -1;
	c->stop_fd = -1;
}

/* Choose a port with an XDP program; any will do. */
void clock_choose_ingress(struct switchd *sw)
{
	uint32_t ifindex = 0;
	unsigned int i;

	for (i = 0; i < sw->ports && !ifindex; i++)
		if (sw->port[i].xdp_link >= 0 && sw->port[i].tc_attached)
			ifindex = sw->port[i].ifindex;
	__atomic_store_n(&sw->clock.ingress, ifindex, __ATOMIC_RELEASE);
}
