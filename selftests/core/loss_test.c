// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a loss costs: one packet in an idle network, a percent of all packets on every link, a rank
 * that is late. In simulated time, so that times and counters are exact.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/comm.h"
#include "fixture.h"

#define BLOCK	352	/* elements at an MTU of 1500 */

struct net {
	const char *name;
	u32	members;
	bool	aggregate;
	u32	leaves;
	u32	spines;
	u64	rate;
	u64	timeout_ns;
};

static const struct net nets[] = {
	{ "one switch", 4, true, 1, 0, 100000000, 500 * CNR_USEC },
	{ "leaves and spines", 8, true, 2, 2, 100000000, 1000 * CNR_USEC },
	{ "a router", 4, false, 1, 0, 100000000, 0 },
};

static struct sim *net_new(const struct net *n, u64 seed)
{
	struct sim_config cfg = {
		.members = n->members,
		.aggregate = n->aggregate,
		.leaves = n->leaves,
		.spines = n->spines,
		.rate = n->rate,
		.queue = 1000,
		.timeout_ns = n->timeout_ns,
		.seed = seed,
		.algorithm = CANARY_ALG_TREE,
	};
	struct sim *s = sim_new(&cfg);

	sim_connect(s, -1);
	if (!sim_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/* Nanoseconds that @operations of @blocks take, one after the other, from the second on. */
static u64 transfer(const struct net *n, u32 loss, u32 blocks, u32 operations, u64 seed)
{
	struct sim *s = net_new(n, seed);
	u64 begin = 0;
	u32 i;

	sim_faults(s)->drop = loss;
	for (i = 0; i < operations; i++) {
		if (i == 1)
			begin = sim_now(s);
		post_all(s, n->members, blocks * BLOCK);
		if (!sim_wait_completed(s, i + 1, 100 * S))
			abort();
	}
	begin = sim_now(s) - begin;
	if (sim_wrong(s))
		begin = CNR_NEVER;
	sim_free(s);
	return begin;
}

static void test_goodput(const struct net *n)
{
	u64 whole = transfer(n, 0, 3000, 3, 1);
	u64 lossy = transfer(n, 10000, 3000, 3, 1);
	double limit = 2.0 * 3000 * 1514 * 8 / n->rate * 1e9 / whole;
	double ratio = (double)whole / lossy;

	tap(ratio >= 0.6 && limit > 0.6, "1 %% loss on every link, %s: %.2f of the lossless goodput, that is %.2f of "
	    "the link", n->name, ratio, limit);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(nets); i++)
		test_goodput(&nets[i]);
	return tap_done("core-loss");
}
