// SPDX-License-Identifier: GPL-2.0
/*
 * Turns of engines on a processor. The kernel serves all timers that are due, all tasklets, or 64
 * packets, before it looks whether others wait. A user may have very many engines. So engines that
 * come one after the other share one turn. An engine that comes too late in it waits until others
 * have had theirs. The more engines wait, the longer each new one is put off, so that they do not
 * all come at once again. A packet cannot wait: its engine takes it, and leaves most of the work
 * that follows to its tasklet.
 *
 * Context: softirq; a struct canary_turn belongs to its processor.
 */

#include <linux/percpu.h>
#include <linux/ktime.h>
#include "canary.h"

#define CANARY_TURN		(400 * NSEC_PER_USEC)	/* no engine begins later in a turn */
#define CANARY_TURN_PAUSE	(20 * NSEC_PER_USEC)	/* after such a pause a new turn begins */
#define CANARY_TURN_WAIT	(100 * NSEC_PER_USEC)	/* time for each engine that waits */

/*
 * struct canary_turn - engines that come one after the other
 * @first:	the first engine, only to be compared with; if it comes again, others had their turn
 * @began:	when it came
 * @ended:	when the latest engine was done
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
 * Is it the turn of @comm? Return: 0, then canary_turn_end() has to follow; or the time (ns) to
 * come again. An engine that goes on nevertheless calls canary_turn_end(), too.
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
