// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sparse vectors, as lists (pairs.h). Each member sends as many packets for a block as it needs,
 * of any length. The test knows what the sums are. There are faults, and two kinds of switches:
 * that of the tests, and bpf/lib.
 */
#include "core/inside.h"
#include "fixture.h"
#include "selftests/tap.h"
#include "testnet_inside.h"

struct run {
	const char *name;
	struct tnet_config net;
	u32 elements;
	u32 operations;
	bool quiet;	/* nobody has to ask for a result */
};

#define LEAVES	.aggregate = true, .leaves = 4, .spines = 2

static const struct run runs[] = {
	{ "2 members", { .members = 2 }, 10000, 3 },
	{ "5 members, no switch", { .members = 5 }, 20000, 3 },
	{ "2 members, aggregated", { .members = 2, .aggregate = true }, 10000, 3 },
	{ "5 members, aggregated", { .members = 5, .aggregate = true }, 20000, 6 },
	{ "barriers", { .members = 6, .aggregate = true }, 0, 20 },
	{ "window 1", { .members = 4, .aggregate = true, .window = 1 }, 5000, 2 },
	{ "large packets", { .members = 6, .aggregate = true, .mtu = 3000 }, 20000, 4 },
	{ "tree of switches", { .members = 24, LEAVES }, 20000, 4 },
	{ "1 % lost, no switch", { .members = 8, .faults.drop = 10000 }, 30000, 4 },
	{ "10 % lost, no switch", { .members = 8, .faults.drop = 100000 }, 30000, 4 },
	{ "2 % repeated", { .members = 8, .aggregate = true, .faults.repeat = 20000 }, 30000, 4 },
	{ "20 % repeated, no switch", { .members = 8, .faults.repeat = 200000 }, 30000, 4 },
	{ "1 % lost", { .members = 8, .aggregate = true, .faults.drop = 10000 }, 30000, 4 },
	{ "10 % lost, tree of switches", { .members = 24, LEAVES, .faults.drop = 100000 },
	  15000, 3 },
	{ "late", { .members = 8, .aggregate = true,
	  .faults = { .delay = 50000, .delay_ns = 500000 } }, 30000, 4 },
	{ "lost, repeated, late, damaged", { .members = 16, LEAVES,
	  .faults = { .drop = 20000, .repeat = 20000, .delay = 20000, .corrupt = 20000,
		      .delay_ns = 500000 } }, 20000, 4 },
	{ "few children", { .members = 12, .aggregate = true, .children = 3,
	  .faults.drop = 10000 }, 15000, 4 },
	{ "few children, nothing is lost", { .members = 12, .aggregate = true, .children = 3 },
	  5000, 3, .quiet = true },
	{ "no rules", { .members = 8, .aggregate = true, .open = true }, 5000, 3, .quiet = true },
	{ "pinned, 2 % lost", { .members = 6, .aggregate = true, .pinned = true,
	  .faults.drop = 20000 }, 20000, 4 },
	{ "in slices", { .members = 40, .aggregate = true, .slice = 8, .faults.drop = 10000 },
	  8000, 3 },
	{ "serials wrap", { .members = 5, .aggregate = true, .fixed_first = true,
	  .first_block = -20, .faults.drop = 10000 }, 20000, 4 },
	{ "a ring, which has words", { .members = 5, .algorithm = CANARY_ALG_RING,
	  .faults.drop = 10000 }, 30000, 4 },
};

static bool post_runs(struct tnet *s, const struct run *r)
{
	u32 i, op;
	bool good;

	for (op = 0; op < r->operations; op++) {
		post_all(s, r->net.members, r->elements);
		if (op % 3 == 2)
			tnet_wait_completed(s, op, 60 * S);
	}
	good = tnet_wait_completed(s, r->operations, 60 * S) && !tnet_wrong(s);
	/* They were lists: more packets than blocks, but for barriers and rings */
	if (r->elements && r->net.algorithm != CANARY_ALG_RING)
		good &= counter(s, r->net.members, CNR_C_contributions_out) >
			counter(s, r->net.members, CNR_C_blocks_led) * (r->net.members - 1);
	for (i = 0; i < r->net.members; i++)
		good &= tnet_completed(s, i) == r->operations && !tnet_last_error(s, i);
	if (r->quiet)
		good &= !counter(s, r->net.members, CNR_C_requests_out) &&
			!counter(s, r->net.members, CNR_C_restorations_out);
	return good;
}

static void say(struct tnet *s, const struct run *r, u64 seed, bool good, u64 began)
{
	static const struct {
		const char *what;
		enum cnr_counter which;
	} counts[] = {
		{ "led", CNR_C_blocks_led }, { "anew", CNR_C_attempts },
		{ "around", CNR_C_bypass }, { "packets out", CNR_C_contributions_out },
		{ "again", CNR_C_retransmissions }, { "came", CNR_C_contributions_in },
		{ "of them merged", CNR_C_contributions_merged },
		{ "restorations", CNR_C_restorations_out }, { "asked", CNR_C_requests_out },
	};
	u32 i;

	printf("# %s, seed %llu: %s after %llu us", r->name, (unsigned long long)seed,
	       good ? "right" : "WRONG", (unsigned long long)(tnet_now(s) - began) / 1000);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		printf(", %llu %s",
		       (unsigned long long)counter(s, r->net.members, counts[i].which),
		       counts[i].what);
	printf("\n");
}

static bool run(const struct run *r, u64 seed, bool native, bool tell)
{
	struct tnet_config cfg = r->net;
	struct tnet *s;
	u64 began;
	bool good;
	u32 i;

	cfg.seed = seed;
	cfg.key = true;
	cfg.dtype = PAIRS_DTYPE;
	cfg.shards = CANARY_SHARDS_MAX;
	cfg.sparse = true;
	cfg.switches = native ? &tnet_native : NULL;
	cfg.algorithm = cfg.algorithm ? cfg.algorithm : CANARY_ALG_TREE;
	s = tnet_new(&cfg);
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 60 * S))
		abort();
	began = tnet_now(s);
	good = post_runs(s, r);
	if (tell || !good)
		say(s, r, seed, good, began);
	for (i = 0; i < cfg.members; i++)
		tnet_close(s, i, false);
	good &= tnet_wait_over(s, 30 * S) && !tnet_vectors_held(s);
	tnet_free(s);
	return good;
}

/* The optional argument is how many seeds to try. */
int main(int argc, char **argv)
{
	u32 i, k, good, native, seeds = argc > 1 ? atoi(argv[1]) : 5;

	for (native = 0; native < 2; native++) {
		for (i = 0; i < ARRAY_SIZE(runs); i++) {
			if (native && !runs[i].net.aggregate)
				continue;
			for (k = 0, good = 0; k < seeds; k++)
				good += run(&runs[i], 100 * i + k, native, !k);
			tap(good == seeds, "%s%s: %u of %u seeds", native ? "bpf/lib: " : "",
			    runs[i].name, good, seeds);
		}
	}
	return tap_done("core-shards");
}
