// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ending a communicator at all its members, when this rank cannot take part any more: it runs an
 * operation that none of them runs, and they find that.
 */
#include "cmpi.h"

/* MPI has no averages, so that no rank of a program runs this. */
void cmpi_spoil(struct canary *canary, unsigned int ms)
{
	static uint8_t v;	/* it belongs to the library until the operation ends */
	const struct canary_call odd = {
		.sendbuf = &v, .recvbuf = &v, .count = 1, .dtype = CANARY_UINT8,
		.op = CANARY_OP_AVG,
	};
	uint64_t id;

	if (!canary_post_call(canary, &odd, sizeof(odd), &id) && ms)
		canary_wait(canary, id, ms);
}
