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

int coll_form(struct coll_module *m)
{
	const struct cmpi_host host = {
		.allgather = host_allgather,
		.least = host_least,
		.sum = host_sum,
		.progress = opal_progress,
		.arg = m,
	};

	return cmpi_form(&m->c, &coll_settings, &host, coll_job());
}

int coll_use(struct coll_module *m, const struct cmpi_args *args, bool blocking,
	     enum cmpi_why *why)
{
	int err = OMPI_SUCCESS;

	*why = cmpi_decide(&coll_settings, &m->c, args);
	/* Calls that could not wait have missed it before: then any call that can wait forms it. */
	if (m->c.state == CMPI_NEW && blocking && (*why == CMPI_CANARY || m->c.missed)) {
		err = coll_form(m);
		if (err)
			return err;
		*why = cmpi_decide(&coll_settings, &m->c, args);
	}
	if (*why == CMPI_CANARY && m->c.state != CMPI_FORMED) {
		m->c.missed++;
		*why = CMPI_NOT_FORMED;
	}
	cmpi_count(args->call, *why, args->count * canary_dtype_size(args->dtype));
	return OMPI_SUCCESS;
}

struct canary_call coll_describe(const struct cmpi_args *args, const void *sbuf, void *rbuf)
{
	return (struct canary_call) {
		.sendbuf = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.recvbuf = rbuf,
		.count = args->count,
		.dtype = args->dtype,
		.op = args->op,
		.how = coll_settings.how & canary_how_supported(args->dtype, args->op),
	};
}
