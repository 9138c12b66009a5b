// SPDX-License-Identifier: GPL-2.0
/* The work queue of what has to sleep: pages are given back, engines end. */

#include "canary.h"

struct workqueue_struct *canary_wq;

int canary_work_init(void)
{
	canary_wq = alloc_workqueue("canary", 0, 0);
	return canary_wq ? 0 : -ENOMEM;
}

/* Waits for what is queued: the last deed of an engine's end is to let the module go. */
void canary_work_exit(void)
{
	destroy_workqueue(canary_wq);
}
