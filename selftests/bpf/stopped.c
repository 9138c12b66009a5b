// SPDX-License-Identifier: BSD-2-Clause
/*
 * A processor may be stopped between any two instructions, for as long as its hypervisor likes. A
 * child process runs the logic step by step. After each step a clock thread takes one step, too: it
 * looks at the head or the tail of one queue, in the order in which the daemon's does. If all queues
 * are empty, the clock sleeps until it is woken.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "backend.h"

#define STEPS_LIMIT	4000000
#define PACE_SLOW	40

static struct outputs outs;

/* What the child reports when it has done its work */
struct said {
	uint32_t woken;
	bool done;
};

/* Read a word of the child at @p. The two share only the addresses. */
static uint64_t look(pid_t pid, const void *p)
{
	return ptrace(PTRACE_PEEKDATA, pid, p, 0);
}

/* Look at the head of a queue, or behind those at the tails */
static uint32_t look_at(pid_t pid, const struct csw_queue_ctl *q, int queues, int place)
{
	return place < queues ? look(pid, &q->queue[place].head) :
	       look(pid, &q->queue[place - queues].tail);
}

static void set_sleeping(pid_t pid, struct csw_queue_ctl *q, bool sleeping)
{
	uint64_t word = look(pid, &q->sleeping);

	ptrace(PTRACE_POKEDATA, pid, &q->sleeping, (word & ~0xffffffffULL) | sleeping);
}

/*
 * The clock thread, in sleep_empty() of the daemon, beside the child
 * @place:	where it looks next
 * @pace:	steps of the child from look to look
 * @pause:	of these, how many are left
 * @sum:	of the heads, less that of the tails
 */
struct clock_thread {
	int queues, place, pace, pause;
	uint32_t sum;
	bool asleep;
};

static void clock_step(struct clock_thread *c, pid_t pid, struct csw_queue_ctl *q)
{
	uint32_t value;

	if (c->asleep || c->pause-- > 0)
		return;
	c->pause = c->pace - 1;
	if (!c->place)
		set_sleeping(pid, q, true);
	value = look_at(pid, q, c->queues, c->place);
	c->sum += c->place++ < c->queues ? value : -value;
	if (c->place < 2 * c->queues)
		return;
	c->asleep = !c->sum;
	if (!c->asleep)
		set_sleeping(pid, q, false);
	c->place = 0;
	c->sum = 0;
}

static bool any_waits(pid_t pid, const struct csw_queue_ctl *q, int queues)
{
	int i;

	for (i = 0; i < queues; i++)
		if (look_at(pid, q, queues, i) != look_at(pid, q, queues, queues + i))
			return true;
	return false;
}

static void child(const struct backend *b, const struct frame *in, struct said *said)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (in)
		b->receive(in, &outs);
	else
		b->flush(&outs);
	said->woken = b->woken();
	__atomic_store_n(&said->done, true, __ATOMIC_RELEASE);
	raise(SIGSTOP);
	_exit(0);
}

/*
 * Return: number of steps, 0 if the child cannot be watched. @asleep: in the end the clock sleeps
 * although a block waits
 */
static int watch(pid_t pid, const struct backend *b, const struct said *said,
		 struct clock_thread c, bool *asleep)
{
	struct csw_queue_ctl *q = b->queue_ctl();
	int status, steps = 0;

	while (steps < STEPS_LIMIT && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (said->done) {
			*asleep = c.asleep && !said->woken && any_waits(pid, q, c.queues);
			return steps;
		}
		clock_step(&c, pid, q);
		steps++;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0))
			break;
	}
	return 0;
}

/*
 * Run the logic for the frame @in, or the flush program if @in is NULL, beside the clock thread @c.
 * Return: number of steps; 0: it cannot be watched, or the clock sleeps
 */
static int step_once(const struct backend *b, const struct frame *in, struct clock_thread c)
{
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool asleep = true;
	int steps = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		child(b, in, said);
	if (pid > 0) {
		steps = watch(pid, b, said, c, &asleep);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	munmap(said, sizeof(*said));
	return asleep ? 0 : steps;
}

/*
 * The clock looks at all heads, then at all tails. It begins a little later each time. Once it is as
 * fast as the child, once it is slow.
 */
static void step_through(const struct backend *b, const char *what, const struct frame *in,
			 int queues)
{
	const int pace[] = { 1, PACE_SLOW };
	int i, late, steps = 1;

	for (i = 0; i < 2; i++)
		for (late = 0; steps && late < 2 * queues * pace[i]; late += pace[i] / 4 + 1)
			steps = step_once(b, in, (struct clock_thread) {
				.queues = queues, .pace = pace[i], .pause = late
			});
	check(steps, "%s, %d queues: stopped anywhere (%d places): %s", b->name, queues, steps,
	      what);
}

static void begin(const struct backend *b, uint32_t root_waits, int queues)
{
	const struct setting s = {
		.slots = 16, .queue = 32, .more_queues = queues - 1, .children = 8,
		.root_waits = root_waits, .timeout = MSEC, .lifetime = 5000 * MSEC,
	};

	b->reset(&s);
	b->woken();
}

static void frame_of(struct frame *f, uint32_t block)
{
	/* The leader is on link, so this is the root switch, which waits longer. */
	frame_in(f, 1, &(struct msg) { .from = H1, .to = H4, .ranks = R(1), .block = block });
}

/* What is done is about the last queue. */
static void run_queues(const struct backend *b, int queues)
{
	struct frame f;

	begin(b, 0, queues);
	b->processor(queues - 1);
	frame_of(&f, 5);
	step_through(b, "the first block wakes the clock", &f, queues);
	begin(b, 3, queues);
	b->receive(&f, &outs);
	b->at(2 * MSEC);
	step_through(b, "a block that gets another timeout is not forgotten", NULL, queues);
	b->processor(0);
}

void stopped_run(const struct backend *b)
{
	run_queues(b, 1);
	run_queues(b, 2);
}
