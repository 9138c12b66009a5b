// SPDX-License-Identifier: BSD-2-Clause
/* Which way a call of the program goes, and carrying it out */
#include "preload.h"

/*
 * Arguments that only this rank has wrong. MPICH says so, and nobody else hears of it. What is not
 * for canary in any case may have all buffers, and counts at all ranks.
 */
static bool is_wrong(const struct preload_call *call, const struct cmpi_args *args,
		     const struct preload_comm *m)
{
	bool result = call->call != CMPI_REDUCE || call->root == m->c.rank;

	if (call->call == CMPI_BARRIER || !args->dtype || !args->op || !args->count)
		return false;
	if (call->count < 0 || (call->call == CMPI_IALLREDUCE && !call->request))
		return true;
	if (call->call == CMPI_REDUCE && (call->root < 0 || call->root >= m->c.members))
		return true;
	if (!call->sendbuf || (call->sendbuf == MPI_IN_PLACE && !result))
		return true;
	return result && (!call->recvbuf || call->recvbuf == MPI_IN_PLACE ||
			  call->recvbuf == call->sendbuf);
}

/* Call the error handler. Return: @err, which is an error of MPI, or MPI_SUCCESS */
static int handle(struct preload_comm *m, int err)
{
	if (err)
		PMPI_Comm_call_errhandler(m->comm, err);
	return err;
}

/* Return: an error of MPI, for which no handler was called yet, or MPI_SUCCESS */
static int carry_out(struct preload_comm *m, const struct preload_call *call,
		     const struct cmpi_args *args)
{
	bool in_place = call->sendbuf == MPI_IN_PLACE;
	struct canary_call what = cmpi_describe(&preload_settings, args,
						in_place ? call->recvbuf : call->sendbuf,
						call->recvbuf);

	if (call->call == CMPI_IALLREDUCE)
		return preload_start(m, &what, call->request);
	return preload_error(cmpi_run(&m->queue, &preload_settings, args, &what,
				      call->call != CMPI_REDUCE || call->root == m->c.rank,
				      preload_progress));
}

bool preload_call(const struct preload_call *call, int *err)
{
	const struct cmpi_args args = {
		.call = call->call,
		.dtype = call->call == CMPI_BARRIER ? 0 : preload_dtype(call->type),
		.op = call->call == CMPI_BARRIER ? 0 : preload_operator(call->type, call->op),
		.count = call->count,
	};
	struct preload_comm *m = preload_on ? preload_comm_find(call->comm) : NULL;
	struct cmpi_host host;
	enum cmpi_why why;

	/* Communicators of one are none of canary's, and not counted. */
	if (!m || m->c.members < 2 || is_wrong(call, &args, m))
		return false;
	host = preload_comm_host(m);
	*err = cmpi_use(&m->c, &preload_settings, &host, preload_job, &args, &why);
	/* MPICH has called the handler for errors of its own, which are not negative. */
	if (*err < 0)
		*err = handle(m, preload_error(*err));
	if (*err)
		return true;
	if (why != CMPI_CANARY)
		return false;
	*err = handle(m, carry_out(m, call, &args));
	return true;
}
