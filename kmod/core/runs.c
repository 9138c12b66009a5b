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

/*
 * Return: how long runs may be for the slots that this member has, if @window is agreed. Rank 0 and
 * members that were given the length know it from the beginning.
 */
u32 cnr_run_room(const struct cnr_config *cfg, u32 window)
{
	u32 most = cnr_run_most(cfg->members, window);

	if (cfg->rank && !cfg->given)
		return most;
	return min_t(u32, most, cfg->run ? cfg->run : 1);
}

/* Rank 0 wants runs of @run blocks. All members know the window, so all know how long runs are. */
void cnr_run_settle(struct cnr_comm *c, u32 run)
{
	run = min_t(u32, run ? run : 1, cnr_run_room(&c->cfg, c->window));
	c->run_bits = cnr_fls64(run) - 1;
}

/* Return: what goes with the agreed algorithm, number of trees or blocks in a run; 0: nothing */
u32 cnr_algorithm_number(const struct cnr_comm *c)
{
	return c->run_bits ? cnr_led_run(c) : c->trees;
}
