// SPDX-License-Identifier: BSD-2-Clause
/* Which way a call goes, and forming communicators by the functions that were there before */
#include "component.h"
#include "opal/runtime/opal_progress.h"

static int host_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
	struct coll_module *m = arg;

	return m->comm->c_coll->coll_allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, m->comm,
					       m->comm->c_coll->coll_allgather_module);
}

static int host_least(void *arg, int *value)
{
	struct coll_module *m = arg;

	return m->previous_allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_MIN, m->comm,
				     m->previous_allreduce_module);
}

static int host_sum(void *arg, double *v, size_t count)
{
	struct coll_module *m = arg;

	return m->previous_allreduce(MPI_IN_PLACE, v, count, MPI_DOUBLE, MPI_SUM, m->comm,
				     m->previous_allreduce_module);
}

static struct cmpi_host host_functions(struct coll_module *m)
{
	return (struct cmpi_host) {
		.allgather = host_allgather,
		.least = host_least,
		.sum = host_sum,
		.progress = opal_progress,
		.later = coll_late_possible(m) ? &coll_later : NULL,
		.queue = &m->queue,
		.arg = m,
	};
}

int coll_form(struct coll_module *m)
{
	const struct cmpi_host host = host_functions(m);

	return cmpi_form(&m->c, &coll_settings, &host, coll_job());
}

int coll_use(struct coll_module *m, const struct cmpi_args *args, enum cmpi_why *why)
{
	const struct cmpi_host host = host_functions(m);
	bool is_new = m->c.state == CMPI_NEW;
	int err;

	err = cmpi_use(&m->c, &coll_settings, &host, coll_job(), args, why);
	if (is_new && m->c.state == CMPI_FORMING) {
		coll_forming_began(m);
		coll_watch(m);
	}
	return err;
}

struct canary_call coll_describe(const struct cmpi_args *args, const void *sbuf, void *rbuf)
{
	return cmpi_describe(&coll_settings, args, sbuf == MPI_IN_PLACE ? rbuf : sbuf, rbuf);
}
