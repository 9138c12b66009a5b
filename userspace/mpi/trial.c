// SPDX-License-Identifier: BSD-2-Clause
/*
 * A sum whose result every rank knows: it shows that packets of full length get through, and that
 * each member can lead a block.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "form.h"

#define TRIAL_BYTES	(256 << 10)	/* at most; every member leads a block, if that suffices */

/* Element @i of the trial's vector at @rank, and the sum over all ranks */
static uint32_t trial_value(unsigned int rank, size_t i)
{
	return (rank + 1) * 0x01000193U + i;
}

static uint32_t trial_sum(unsigned int members, size_t i)
{
	return members * (members + 1ULL) / 2 * 0x01000193U + members * i;
}

int cmpi_trial_begin(struct cmpi_trial *t, struct cmpi_comm *c,
		     const struct cmpi_settings *s, char *why, size_t len)
{
	struct canary_call call = { .dtype = CANARY_UINT32, .op = CANARY_OP_SUM };
	size_t i, block = TRIAL_BYTES / 4;
	int err;

	/* With node leaders, not all ranks know how long a block is. */
	if (!c->node)
		block = canary_block_elements(c->canary, call.dtype, call.op);
	t->count = block * c->members < TRIAL_BYTES / 4 ? block * c->members : TRIAL_BYTES / 4;
	t->until = cmpi_now_us() + s->trial * 1000ULL;
	t->v = malloc(TRIAL_BYTES);
	if (!t->v) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	for (i = 0; i < t->count; i++)
		t->v[i] = trial_value(c->rank, i);
	call.sendbuf = t->v;
	call.recvbuf = t->v;
	call.count = t->count;
	err = cmpi_post(c, &call, &t->request);
	if (err)
		snprintf(why, len, "%s", cmpi_errmsg(c));
	return err;
}

int cmpi_trial_wait(struct cmpi_trial *t, struct cmpi_comm *c,
		    const struct cmpi_settings *s, int ms, char *why, size_t len)
{
	int err = cmpi_await(c, t->request, ms);
	size_t i;

	if (err == -ETIMEDOUT && cmpi_now_us() < t->until)
		return 0;
	if (err == -ETIMEDOUT)
		snprintf(why, len, "no sum within %u ms: are UDP ports from %d on open?", s->trial,
			 CANARY_PORT_BASE);
	else if (err)
		snprintf(why, len, "%s", cmpi_errmsg(c));
	for (i = 0; !err && i < t->count; i++) {
		if (t->v[i] != trial_sum(c->members, i)) {
			snprintf(why, len, "a wrong sum");
			err = -EBADMSG;
		}
	}
	return err ? err : 1;
}
