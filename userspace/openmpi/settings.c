// SPDX-License-Identifier: BSD-2-Clause
/* What is set when the component is opened, and does not change until it is closed */
#include "component.h"
#include "ompi/mca/rte/rte.h"

struct cmpi_settings coll_settings;

/* Above all components that are parts of Open MPI */
int coll_priority = 95;

uint32_t coll_job(void)
{
	return OMPI_PROC_MY_NAME->jobid;
}
