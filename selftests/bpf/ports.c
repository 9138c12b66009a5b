// SPDX-License-Identifier: BSD-2-Clause
/* Ports that have a master */
#include "backend.h"

static struct outputs outs;

static void begin(const struct backend *b, bool admit)
{
	const struct setting s = {
		.slots = 16, .queue = 32, .children = 8, .timeout = MSEC, .lifetime = 5000 * MSEC,
		.admit = admit,
	};

	b->reset(&s);
}

/* Does @m, which arrives at port 1, leave by this port? -1: does it leave by none? */
static bool comes_out(const struct backend *b, const struct msg *m, int port)
{
	struct frame f;

	frame_in(&f, 1, m);
	b->receive(&f, &outs);
	return port < 0 ? !outs.n : outs.n == 1 && outs.frame[0].port == port;
}

/*
 * A port that has a master. What is addressed to the master, maybe by the port's own address, is
 * not for the switch. With rules nobody gets past them that way.
 */
void ports_run(const struct backend *b)
{
	const struct msg single = { .from = H1, .ranks = R(1) }, merged = { .from = H1, .ranks = 6 },
			 master = { .from = H1, .ranks = 6, .other_mac = true },
			 result = { .type = CANARY_RESULT, .other_mac = true },
			 other = { .from = H1, .ranks = R(1), .other_mac = true,
				   .poke = { { 36, 1 } } };

	begin(b, false);
	b->captive(1, true);
	check(comes_out(b, &single, KERNEL) && comes_out(b, &master, KERNEL) &&
	      !b->counter(CSW_NEW), "%s: by a port with a master: none of the switch's business", b->name);
	begin(b, true);
	b->captive(1, true);
	check(comes_out(b, &single, -1) && comes_out(b, &merged, -1) && comes_out(b, &master, -1) &&
	      comes_out(b, &result, -1) && b->counter(CSW_COUNTER_COUNT + CANARY_DROP_FORM) == 4,
	      "%s: ... with rules nothing for Canary's ports passes there", b->name);
	check(comes_out(b, &other, KERNEL), "%s: ... and everything else does", b->name);
	b->captive(1, false);
	check(comes_out(b, &single, -1) && b->counter(CSW_NEW) == 1,
	      "%s: ... until it has no master any more", b->name);
}
