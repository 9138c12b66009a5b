// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 3, session: how many blocks a member leads in a row. Rank 0 is told, the agreed window
 * limits it, and WELCOME says it. docs/decisions/leaders-take-turns.md
 */
#include "session.h"

/*
 * Return: how many blocks a member may lead in a row, at most. Each member leads a run in every
 * window: otherwise the load would be out of balance, and members would need more slots.
 */
u32 cnr_run_most(u32 members, u32 window)
{
	u32 run = CANARY_RUN_MAX;

	while (run > 1 && run * members > window)
		run /= 2;
	return run;
}

/* Rank 0 wants runs of @run blocks. All members know the window, so all know how long runs are. */
void cnr_run_settle(struct cnr_comm *c, u32 run)
{
	run = min_t(u32, run ? run : 1, cnr_run_most(c->cfg.members, c->window));
	c->run_bits = cnr_fls64(run) - 1;
}

/* Return: what goes with the agreed algorithm, number of trees or blocks in a run; 0: nothing */
u32 cnr_algorithm_number(const struct cnr_comm *c)
{
	return c->run_bits ? 1U << c->run_bits : c->trees;
}
