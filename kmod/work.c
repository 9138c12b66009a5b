// SPDX-License-Identifier: GPL-2.0
/* The work queue, for work that has to sleep: giving back pages, ending engines. */

#include "canary.h"

struct workqueue_struct *canary_wq;

int canary_work_init(void)
{
	canary_wq = alloc_workqueue("canary", 0, 0);
	return canary_wq ? 0 : -ENOMEM;
}

/*
 * Waits for all queued work. An engine that ends releases the module as its last act, so the work
 * may still be running.
 */
void canary_work_exit(void)
{
	destroy_workqueue(canary_wq);
}
