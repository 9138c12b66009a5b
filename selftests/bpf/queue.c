// SPDX-License-Identifier: BSD-2-Clause
/* The deadline queue: how much it holds, and what happens to blocks when nobody serves it. */
#include "backend.h"

#define SLOTS		16
#define COUNT_BYTE	(42 + 49)	/* low byte of `count` */
#define FLAGS_BYTE	(42 + 2)
#define OTHERS		100
#define USEC		(MSEC / 1000)

static struct outputs outs;
static const struct backend *b;

static void begin_queues(uint64_t timeout, uint32_t root_waits, uint32_t more_queues)
{
	const struct setting s = {
		.slots = SLOTS, .queue = 2 * SLOTS, .more_queues = more_queues, .children = 8,
		.root_waits = root_waits, .timeout = timeout, .lifetime = 5000 * MSEC,
	};

	b->reset(&s);
	b->woken();
}

static void begin(uint64_t timeout, uint32_t root_waits)
{
	begin_queues(timeout, root_waits, 0);
}

static uint32_t queued(void)
{
	const struct csw_queue *q = b->queue_ctl()->queue;

	return q->tail - q->head;
}

/*
 * @from contributes to @block, whose leader H4 is on link. Return: number of members in what comes
 * out
 */
static int contribute(enum who from, int rank, uint32_t block, uint16_t members)
{
	struct msg m = { .from = from, .to = H4, .ranks = R(rank), .block = block, .done = block,
			 .members = members };
	struct frame f;

	frame_in(&f, from == H1 ? 1 : 2, &m);
	b->receive(&f, &outs);
	return outs.n == 1 && outs.frame[0].port == 3 ? outs.frame[0].bytes[COUNT_BYTE] : -outs.n;
}

/* Return: number of blocks that leave by frames of the clock */
static int flush(int times)
{
	int n = 0;

	while (times--) {
		b->flush(&outs);
		n += outs.n;
	}
	return n;
}

/* While one block waits, any number of others come and go behind it. All are aggregated. */
static void run_long_wait(void)
{
	uint32_t block, most = 0, together = 0;

	begin(1000 * MSEC, 0);
	contribute(H1, 1, 5, 4);
	for (block = 6; block < 6 + OTHERS; block++) {
		contribute(H1, 1, block, 3);
		together += contribute(H3, 2, block, 3) == 2;
		most = queued() > most ? queued() : most;
	}
	check(together == OTHERS && most <= SLOTS,
	      "%s: while one block waits, %u of %d others are merged; %u are queued", b->name,
	      together, OTHERS, most);
	b->at(999 * MSEC);
	check(flush(4) == 0, "%s: it does not leave early", b->name);
	b->at(1000 * MSEC);
	check(flush(4) == 1 && !queued(), "%s: nor late, and nothing stays queued", b->name);
}

/* The clock that should send blocks on gives no sign of life. */
static void run_unattended(void)
{
	begin(MSEC, 0);
	b->queue_ctl()->open_until = 1000 * MSEC + 5 * MSEC;
	b->at(5 * MSEC - 1);
	check(contribute(H1, 1, 5, 4) == 0 && b->counter(CSW_NEW) == 1, "%s: attended: taken",
	      b->name);
	b->at(5 * MSEC);
	check(contribute(H1, 1, 6, 4) == 1 && b->counter(CSW_UNATTENDED) == 1 &&
	      !(outs.frame[0].bytes[FLAGS_BYTE] & CANARY_F_BYPASS) && b->counter(CSW_NEW) == 1,
	      "%s: unattended: forwarded as a router does, others may add to it", b->name);
	check(contribute(H3, 2, 5, 4) == 0 && b->counter(CSW_MERGED) == 1,
	      "%s: unattended: what is held is still added to", b->name);
	b->queue_ctl()->open_until = ~0ULL;
	check(contribute(H1, 1, 7, 4) == 0 && b->counter(CSW_NEW) == 2, "%s: attended again: taken",
	      b->name);
}

/* The daemon ends: no block begins, and held ones leave at once, whatever their deadline is. */
static void run_drain(void)
{
	begin(1000 * MSEC, 3);
	contribute(H1, 1, 5, 4);
	contribute(H3, 2, 5, 4);
	contribute(H1, 1, 6, 4);
	check(flush(2) == 0, "%s: two blocks are held", b->name);
	b->queue_ctl()->open_until = 0;
	check(contribute(H1, 1, 7, 4) == 1 && b->counter(CSW_UNATTENDED) == 1,
	      "%s: the end: no more are taken", b->name);
	check(flush(4) == 2 && !queued(), "%s: the end: both leave at once", b->name);
	check(contribute(H3, 2, 6, 4) == 1 && b->counter(CSW_STRAGGLER) == 1,
	      "%s: the end: who is late goes after them", b->name);
}

/* Processors with queues of their own carry only what they began. The clock serves all queues. */
static void run_processors(uint32_t more_queues)
{
	int carried;

	begin_queues(1000 * USEC, 0, more_queues);
	if (!b->processor(1)) {
		check(true, "%s: processors # SKIP there is only one", b->name);
		return;
	}
	b->at(0);
	b->processor(0);
	contribute(H1, 1, 5, 4);
	b->at(100 * USEC);
	b->processor(1);
	contribute(H1, 1, 6, 4);
	b->at(1050 * USEC);
	carried = contribute(H1, 1, 7, 4);
	check(carried == !more_queues, "%s, %u more queues: another processor carries %d", b->name,
	      more_queues, carried);
	check(flush(2) == more_queues, "%s, %u more queues: the clock takes the rest that is due",
	      b->name, more_queues);
	b->at(1100 * USEC);
	carried = contribute(H1, 1, 8, 4);
	check(carried == 1, "%s, %u more queues: the same processor carries %d", b->name,
	      more_queues, carried);
	b->at(5000 * USEC);
	b->processor(0);
	check(flush(4) == 2, "%s, %u more queues: the clock takes what others began", b->name,
	      more_queues);
}

void queue_run(const struct backend *backend)
{
	b = backend;
	run_long_wait();
	run_unattended();
	run_drain();
	run_processors(0);
	run_processors(1);
}
