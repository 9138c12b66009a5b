/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trials: operations on a simulated network. Their results have to be exact, and no vector may be
 * left.
 */
#ifndef SELFTESTS_CORE_TRIAL_H
#define SELFTESTS_CORE_TRIAL_H

#include "selftests/tap.h"
#include "fixture.h"

struct trial {
	const char *name;
	u32	members;
	u32	elements;	/* of each vector */
	u32	operations;	/* one after the other */
	u32	flight;		/* posted at the same time */
	u32	window;
	bool	aggregate;
	u8	algorithm;
	u8	run;
	struct tnet_faults faults;
	u32	first_block;
	u32	mtu;
	u32	slice;
};

static inline struct tnet *start(const struct trial *sc, u64 seed)
{
	struct tnet_config cfg = {
		.members = sc->members,
		.window = sc->window,
		.mtu = sc->mtu,
		.slice = sc->slice,
		.aggregate = sc->aggregate,
		.fixed_first = sc->first_block != 0,
		.first_block = sc->first_block,
		.faults = sc->faults,
		.algorithm = sc->algorithm,
		.run = sc->run,
		.seed = seed,
		.key = seed & 1,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	return s;
}

static inline bool settle(struct tnet *s, u32 members)
{
	u32 i;

	for (i = 0; i < members; i++)
		tnet_close(s, i, false);
	return tnet_wait_state(s, CNR_CLOSED, 10 * S) && !tnet_vectors_held(s);
}

static inline bool run_trial(const struct trial *sc, u64 seed)
{
	struct tnet *s = start(sc, seed);
	bool connected = tnet_wait_state(s, CNR_CONNECTED, 60 * S);
	u32 posted = 0, done = 0, i;
	bool good = connected;

	while (good && done < sc->operations) {
		while (posted < sc->operations && posted - done < sc->flight) {
			for (i = 0; i < sc->members; i++)
				good &= !tnet_post(s, i, sc->elements);
			posted++;
		}
		good &= tnet_wait_completed(s, ++done, 600 * S);
	}
	for (i = 0; i < sc->members; i++)
		good &= tnet_completed(s, i) == sc->operations && !tnet_last_error(s, i);
	good &= !tnet_wrong(s);
	if (sc->algorithm == CANARY_ALG_RING)
		good &= counter(s, sc->members, CNR_C_operations_ring) ==
			sc->operations * sc->members &&
			!counter(s, sc->members, CNR_C_contributions_out);
	if (good)
		good = settle(s, sc->members);
	if (!good)
		printf("# seed %llu: connected %d, done %u of %u, wrong %u, held %u, at %llu ms\n",
		       (unsigned long long)seed, connected, done, sc->operations, tnet_wrong(s),
		       tnet_vectors_held(s), (unsigned long long)(tnet_now(s) / MS));
	tnet_free(s);
	return good;
}

/* Run each of @n trials with so many seeds. @algorithm is for trials that name none. */
static inline void run_trials(const char *prefix, const struct trial *list, u32 n,
			      u8 algorithm, u32 seeds)
{
	struct trial sc;
	u32 i, k, good;

	for (i = 0; i < n; i++) {
		sc = list[i];
		sc.algorithm = sc.algorithm ?: algorithm;
		good = 0;
		for (k = 0; k < seeds; k++)
			good += run_trial(&sc, 1000 * i + k);
		tap(good == seeds, "%sexact: %s (%u of %u seeds)", prefix, sc.name, good, seeds);
	}
}

#endif /* SELFTESTS_CORE_TRIAL_H */
