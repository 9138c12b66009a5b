// SPDX-License-Identifier: GPL-2.0
/*
 * Turns of engines on a processor. The kernel serves all timers that fell due, all tasklets, or 64
 * packets before it looks whether others wait, and a user may have very many engines. So those that
 * come one after the other have a turn together, and who comes too late in it waits until others
 * have had theirs: the longer, the more of them there are, so that they do not all come at once
 * again. A packet cannot wait: its engine takes it, and leaves most of what follows to its tasklet.
 *
 * Context: softirq; the owner of a struct canary_turn is the processor.
 */

#include <linux/percpu.h>
#include <linux/ktime.h>
#include "canary.h"

#define CANARY_TURN		(400 * NSEC_PER_USEC)	/* as long may a turn be when one begins */
#define CANARY_TURN_PAUSE	(20 * NSEC_PER_USEC)	/* without engines: others had their turn */
#define CANARY_TURN_WAIT	(100 * NSEC_PER_USEC)	/* what each that waits is given */

/*
 * struct canary_turn - engines that come one after the other
 * @first:	the first one, only to be compared with; if it comes again, others had their turn
 * @began:	when it came
 * @ended:	when the last one was done
 * @waiting:	how many were put off
 */
struct canary_turn {
	const struct canary_comm	*first;
	u64				began;
	u64				ended;
	u32				waiting;
};

static DEFINE_PER_CPU(struct canary_turn, canary_turns[CANARY_TURNS]);

/*
 * Is it the turn of @comm? Return: 0, and canary_turn_end() has to follow; or the time (ns) to come
 * again. Who does something all the same calls canary_turn_end(), too.
 */
u64 canary_turn_begin(enum canary_turn_kind kind, const struct canary_comm *comm, u64 now)
{
	struct canary_turn *t = this_cpu_ptr(&canary_turns[kind]);

	if (comm == t->first || now - t->ended > CANARY_TURN_PAUSE) {
		t->first = comm;
		t->began = now;
		t->waiting = 0;
	}
	if (now - t->began < CANARY_TURN)
		return 0;
	t->ended = now;
	return now + ++t->waiting * CANARY_TURN_WAIT;
}

void canary_turn_end(enum canary_turn_kind kind)
{
	this_cpu_write(canary_turns[kind].ended, ktime_get_ns());
}
