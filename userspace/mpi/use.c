// SPDX-License-Identifier: BSD-2-Clause
/* What happens to a call: the decision, forming the communicator if that is due, the counter. */
#include "cmpi.h"

/*
 * A call that waits, and is worth it: the forming that requests began ends, and what was not
 * measured then is. Requests come first, as they do at other ranks. Their errors show when they
 * end.
 */
static int settle(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host)
{
	int err;

	while (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == CMPI_FORMING)
		host->progress();
	if (c->state != CMPI_FORMED || s->min_bytes || c->measured)
		return 0;
	if (host->queue)
		cmpi_queue_flush(host->queue, host->progress);
	err = cmpi_measure(c, s, host);
	if (err && host->queue)
		cmpi_queue_close(host->queue);
	else if (err)
		cmpi_close(c);
	return err;
}

static int use_waiting(struct cmpi_comm *c, const struct cmpi_settings *s,
		       const struct cmpi_host *host, uint32_t job, const struct cmpi_args *args,
		       enum cmpi_why *why)
{
	int err = 0;

	/* Calls that could not wait have missed it before: then any call that can wait forms it. */
	if (c->state == CMPI_NEW && (*why == CMPI_CANARY || c->missed))
		err = cmpi_form(c, s, host, job);
	else if (*why == CMPI_CANARY)
		err = settle(c, s, host);
	*why = cmpi_decide(s, c, args);
	return err;
}

/* The first call goes to the host functions, and forming begins. Then calls are for the queue. */
static int use_later(struct cmpi_comm *c, const struct cmpi_settings *s,
		     const struct cmpi_host *host, uint32_t job, enum cmpi_why *why)
{
	if (*why != CMPI_CANARY || c->state != CMPI_NEW)
		return 0;
	*why = CMPI_NOT_FORMED;
	if (host->later)
		return cmpi_forming_begin(c, s, host, job);
	c->missed++;
	return 0;
}

int cmpi_use(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	     uint32_t job, const struct cmpi_args *args, enum cmpi_why *why)
{
	bool later = args->call == CMPI_IALLREDUCE;
	int err;

	*why = cmpi_decide(s, c, args);
	err = later ? use_later(c, s, host, job, why) :
	      use_waiting(c, s, host, job, args, why);
	/* The queue counts what it carries out. */
	if (!err && !(later && *why == CMPI_CANARY))
		cmpi_count(args->call, *why, args->count * canary_dtype_size(args->dtype));
	return err;
}

struct canary_call cmpi_describe(const struct cmpi_settings *s, const struct cmpi_args *args,
				 const void *sendbuf, void *recvbuf)
{
	if (args->call == CMPI_BARRIER)
		return (struct canary_call) { .dtype = CANARY_UINT32, .op = CANARY_OP_SUM };
	return (struct canary_call) {
		.sendbuf = sendbuf,
		.recvbuf = recvbuf,
		.count = args->count,
		.dtype = args->dtype,
		.op = args->op,
		.how = s->how & canary_how_supported(args->dtype, args->op),
	};
}
