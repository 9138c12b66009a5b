// SPDX-License-Identifier: BSD-2-Clause
/*
 * A processor may be stopped between any two instructions, for as long as its hypervisor likes. A
 * child process runs the logic step by step. After each step a clock thread looks at the queue as
 * the daemon's does, at its tail a step later than at its head. If the queue is empty, the clock
 * sleeps until it is woken.
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

static uint32_t head_of(pid_t pid, const struct csw_queue_ctl *q)
{
	return look(pid, &q->queue[0].head);
}

static uint32_t tail_of(pid_t pid, const struct csw_queue_ctl *q)
{
	return look(pid, &q->queue[0].tail);
}

static void fall_asleep(pid_t pid, struct csw_queue_ctl *q)
{
	uint64_t word = look(pid, &q->sleeping);

	ptrace(PTRACE_POKEDATA, pid, &q->sleeping, (word & ~0xffffffffULL) | 1);
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
static int watch(pid_t pid, const struct backend *b, const struct said *said, bool *asleep)
{
	struct csw_queue_ctl *q = b->queue_ctl();
	uint32_t head = 0;
	int status, steps = 0;
	bool slept = false;

	while (steps < STEPS_LIMIT && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (said->done) {
			*asleep = slept && !said->woken && head_of(pid, q) != tail_of(pid, q);
			return steps;
		}
		if (!slept && steps && head == tail_of(pid, q)) {
			fall_asleep(pid, q);
			slept = true;
		}
		head = head_of(pid, q);
		steps++;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0))
			break;
	}
	return 0;
}

/* Run the logic for the frame @in, or the flush program if @in is NULL. */
static void step_through(const struct backend *b, const char *what, const struct frame *in)
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
		steps = watch(pid, b, said, &asleep);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	check(steps && !asleep, "%s: stopped anywhere (%d places): %s", b->name, steps, what);
	munmap(said, sizeof(*said));
}

static void begin(const struct backend *b, uint32_t root_waits)
{
	const struct setting s = {
		.slots = 16, .queue = 32, .children = 8, .root_waits = root_waits, .timeout = MSEC,
		.lifetime = 5000 * MSEC,
	};

	b->reset(&s);
	b->woken();
}

static void frame_of(struct frame *f, uint32_t block)
{
	/* The leader is on link, so this is the root switch, which waits longer. */
	frame_in(f, 1, &(struct msg) { .from = H1, .to = H4, .ranks = R(1), .block = block });
}

void stopped_run(const struct backend *b)
{
	struct frame f;

	begin(b, 0);
	frame_of(&f, 5);
	step_through(b, "the first block wakes the clock", &f);
	begin(b, 3);
	b->receive(&f, &outs);
	b->at(2 * MSEC);
	step_through(b, "a block that gets another timeout is not forgotten", NULL);
}
