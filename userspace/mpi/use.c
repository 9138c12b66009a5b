// SPDX-License-Identifier: BSD-2-Clause
/* What happens to a call: the decision, forming the communicator if that is due, the counter. */
#include "cmpi.h"

int cmpi_use(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	     uint32_t job, const struct cmpi_args *args, enum cmpi_why *why)
{
	bool blocking = args->call != CMPI_IALLREDUCE;
	int err;

	*why = cmpi_decide(s, c, args);
	/* Calls that could not wait have missed it before: then any call that can wait forms it. */
	if (c->state == CMPI_NEW && blocking && (*why == CMPI_CANARY || c->missed)) {
		err = cmpi_form(c, s, host, job);
		if (err)
			return err;
		*why = cmpi_decide(s, c, args);
	}
	if (*why == CMPI_CANARY && c->state != CMPI_FORMED) {
		c->missed++;
		*why = CMPI_NOT_FORMED;
	}
	cmpi_count(args->call, *why, args->count * canary_dtype_size(args->dtype));
	return 0;
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
