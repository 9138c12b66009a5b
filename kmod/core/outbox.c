// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 2, outbox: what is to be sent, to one rank or to all, and how a communicator fails, of
 * which all are told. poll.c makes the packets.
 *
 * States: any -> FAILED. No timers.
 */
#include "outbox.h"

/*
 * Queue a message of @type for @rank. Return: the message, to be filled in; NULL if there is no
 * room
 */
struct cnr_control *cnr_control(struct cnr_comm *c, u8 type, u16 rank, u32 block)
{
	struct cnr_control *m;

	if (c->control_head - c->control_tail == CNR_CONTROLS) {
		cnr_count(c, CNR_C_control_lost);
		return NULL;
	}
	m = &c->control[c->control_head++ % CNR_CONTROLS];
	memset(m, 0, sizeof(*m));
	m->type = type;
	m->rank = rank;
	m->block = block;
	return m;
}

/* Send @cast to all members, from the first one on. */
void cnr_cast(struct cnr_comm *c, enum cnr_broadcast cast)
{
	c->broadcast |= 1U << cast;
	c->cast_cursor[cast] = 0;
}

static int cnr_abort_error(enum canary_abort why)
{
	switch (why) {
	case CANARY_ABORT_DEAD:
		return -EHOSTDOWN;
	case CANARY_ABORT_LEFT:
		return -ECONNRESET;
	case CANARY_ABORT_PATH:
		return -EMSGSIZE;
	case CANARY_ABORT_RESTARTED:
		return -ESTALE;
	default:
		return -EPROTO;
	}
}

/*
 * The communicator fails because of @n ranks, of which the first CNR_FAULTS are in @ranks. @tell:
 * the others do not know yet. The roof drops what layers above hold, when they return to it.
 */
void cnr_fail(struct cnr_comm *c, u64 now, enum canary_abort why, const u16 *ranks, u32 n,
	      bool tell)
{
	if (c->state == CNR_FAILED || c->state == CNR_CLOSED)
		return;
	c->state = CNR_FAILED;
	c->end.why = why;
	c->end.error = cnr_abort_error(why);
	c->end.faults = n;
	c->end.known = min_t(u32, n, CNR_FAULTS);
	memcpy(c->end.fault, ranks, c->end.known * sizeof(*ranks));
	c->control_tail = c->control_head;
	c->broadcast = 0;
	c->deadline = CNR_NEVER;
	if (tell && cnr_may_speak(c))
		cnr_cast(c, CNR_CAST_ABORT);
}
