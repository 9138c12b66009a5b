/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the core have in common: a connected communicator, posts, counters. */
#ifndef SELFTESTS_CORE_FIXTURE_H
#define SELFTESTS_CORE_FIXTURE_H

#include <stdlib.h>

#include "simnet.h"

#define MS	CNR_MSEC
#define S	CNR_SEC

static inline struct sim *connected_as(u32 members, bool aggregate, u8 algorithm)
{
	struct sim_config cfg = {
		.members = members,
		.aggregate = aggregate,
		.seed = 99,
		.key = true,
		.algorithm = algorithm,
	};
	struct sim *s = sim_new(&cfg);

	sim_connect(s, -1);
	if (!sim_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/* Trees are what most tests are about: their vectors should not become rings. */
static inline struct sim *connected(u32 members, bool aggregate)
{
	return connected_as(members, aggregate, CANARY_ALG_TREE);
}

static inline void post_all(struct sim *s, u32 members, u32 elements)
{
	u32 i;

	for (i = 0; i < members; i++)
		if (sim_post(s, i, elements))
			abort();
}

static inline u64 counter(struct sim *s, u32 members, enum cnr_counter which)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < members; i++)
		sum += cnr_stats(sim_comm(s, i))->counter[which];
	return sum;
}

/* How many members' operations ended with @error, which names @culprit and nobody else? */
static inline u32 blaming(struct sim *s, u32 members, int error, u16 culprit)
{
	u16 rank[4];
	u32 i, n = 0;

	for (i = 0; i < members; i++)
		n += sim_last_error(s, i) == error &&
		     cnr_missing(sim_comm(s, i), rank, 4) == 1 && rank[0] == culprit;
	return n;
}

#endif /* SELFTESTS_CORE_FIXTURE_H */
