/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the core's tests: a connected communicator, posts, counters */
#ifndef SELFTESTS_CORE_FIXTURE_H
#define SELFTESTS_CORE_FIXTURE_H

#include <stdlib.h>

#include "testnet.h"

#define MS	CNR_MSEC
#define S	CNR_SEC

/* All members join. Return: @s */
static inline struct tnet *connect_all(struct tnet *s)
{
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

static inline struct tnet *connected_as(u32 members, bool aggregate, u8 algorithm)
{
	struct tnet_config cfg = {
		.members = members,
		.aggregate = aggregate,
		.seed = 99,
		.key = true,
		.algorithm = algorithm,
	};

	return connect_all(tnet_new(&cfg));
}

/* Most tests are about trees, so their operations must not become rings. */
static inline struct tnet *connected(u32 members, bool aggregate)
{
	return connected_as(members, aggregate, CANARY_ALG_TREE);
}

static inline void post_all(struct tnet *s, u32 members, u32 elements)
{
	u32 i;

	for (i = 0; i < members; i++)
		if (tnet_post(s, i, elements))
			abort();
}

static inline u64 counter(struct tnet *s, u32 members, enum cnr_counter which)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < members; i++)
		sum += cnr_stats(tnet_comm(s, i))->counter[which];
	return sum;
}

/* Return: number of members whose operations ended with @error, and which blame only @culprit */
static inline u32 blaming(struct tnet *s, u32 members, int error, u16 culprit)
{
	u16 rank[4];
	u32 i, n = 0;

	for (i = 0; i < members; i++)
		n += tnet_last_error(s, i) == error &&
		     cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == culprit;
	return n;
}

#endif /* SELFTESTS_CORE_FIXTURE_H */
