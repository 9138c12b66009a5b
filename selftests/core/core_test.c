// SPDX-License-Identifier: BSD-2-Clause
/*
 * The protocol core under simulated faults. Every sum is compared with one that is computed without
 * the protocol. Every run must end, and no vector may be left.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"
#include "trial.h"

static const struct trial trials[] = {
	{ "one member",			1, 5000, 3, 3 },
	{ "two members",		2, 5000, 3, 1 },
	{ "two members, one element",	2, 1, 5, 2 },
	{ "barrier: no elements",	5, 0, 4, 2 },
	{ "eight members",		8, 40000, 2, 1 },
	{ "eight, aggregated",		8, 40000, 2, 1, .aggregate = true },
	{ "three, odd length",		3, 353, 3, 2 },
	{ "exactly one block",		4, 352, 3, 3 },
	{ "blocks wrap",		5, 50000, 2, 2, .aggregate = true,
	  .first_block = 0xffffffc0 },
	{ "blocks wrap with loss",	6, 30000, 3, 2, .aggregate = true,
	  .first_block = 0xffffffe0, .faults.drop = 20000 },
	{ "window of 1",		4, 4000, 2, 1, .window = 1 },
	{ "one member in a slice",	16, 20000, 3, 2, .slice = 1 },
	{ "one member in a slice, aggregated", 16, 20000, 3, 2, .slice = 1, .aggregate = true },
	{ "slices, everything at once",	33, 20000, 2, 2, .slice = 7, .window = 8,
	  .aggregate = true, .faults.drop = 20000, .faults.repeat = 20000,
	  .faults.delay = 50000, .faults.delay_ns = 5 * MS, .faults.corrupt = 5000 },
	{ "window of 1024",		4, 400000, 2, 2, .window = 1024, .aggregate = true },
	{ "jumbo packets",		4, 20000, 2, 1, .mtu = 3292, .aggregate = true },
	{ "smallest packets",		4, 2000, 2, 1, .mtu = 576 },
	{ "many small operations",	8, 10, 300, 16, .aggregate = true },
	{ "1 % loss",			8, 60000, 3, 2, .faults.drop = 10000 },
	{ "1 % loss, aggregated",	8, 60000, 3, 2, .aggregate = true, .faults.drop = 10000 },
	{ "10 % loss",			8, 30000, 2, 2, .faults.drop = 100000 },
	{ "10 % loss, aggregated",	8, 30000, 2, 2, .aggregate = true, .faults.drop = 100000 },
	{ "30 % loss, aggregated",	5, 8000, 2, 1, .aggregate = true, .faults.drop = 300000 },
	{ "10 % repeated",		8, 30000, 2, 2, .aggregate = true, .faults.repeat = 100000 },
	{ "all repeated",		4, 10000, 2, 2, .aggregate = true, .faults.repeat = 1000000 },
	{ "10 % late by 3 ms",		8, 30000, 2, 2, .aggregate = true, .faults.delay = 100000,
	  .faults.delay_ns = 3 * MS },
	{ "10 % late by 300 ms",	8, 10000, 2, 2, .aggregate = true, .faults.delay = 100000,
	  .faults.delay_ns = 300 * MS },
	{ "1 % corrupt",		8, 30000, 2, 2, .aggregate = true, .faults.corrupt = 10000 },
	{ "everything at once",		8, 20000, 3, 3, .aggregate = true, .faults.drop = 20000,
	  .faults.repeat = 20000, .faults.delay = 50000, .faults.delay_ns = 5 * MS,
	  .faults.corrupt = 5000 },
	{ "64 members, aggregated, 1 % loss", 64, 30000, 1, 1, .aggregate = true,
	  .faults.drop = 10000 },
};

/* Drops the n-th packet of a type, once. */
struct drop_nth {
	enum canary_type type;
	u32	skip;
	bool	done;
	int	from;	/* -2: anybody */
};

static bool drop_nth(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct drop_nth *d = arg;

	if (d->done || h->type != d->type || (d->from != -2 && d->from != from) || d->skip--)
		return false;
	d->done = true;
	return true;
}

static void test_single_losses(void)
{
	static const struct {
		const char *name;
		enum canary_type type;
		bool	aggregate;
		int	from;
		u64	attempts, retransmissions;
	} cases[] = {
		{ "a contribution, no switch", CANARY_CONTRIBUTION, false, -2, 0, 1 },
		{ "a contribution before the switch", CANARY_CONTRIBUTION, true, 3, 0, 1 },
		{ "an aggregate", CANARY_CONTRIBUTION, true, -1, 1, 7 },
		{ "a result", CANARY_RESULT, false, -2, 0, 0 },
	};
	struct drop_nth d;
	struct tnet *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		s = connected(8, cases[i].aggregate);
		d = (struct drop_nth){ .type = cases[i].type, .skip = 5, .from = cases[i].from };
		tnet_faults(s)->filter = drop_nth;
		tnet_faults(s)->filter_arg = &d;
		post_all(s, 8, 352 * 64);
		tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s) && d.done,
		    "lost: %s: completes, exact", cases[i].name);
		tap(counter(s, 8, CNR_C_attempts) == cases[i].attempts &&
		    counter(s, 8, CNR_C_retransmissions) == cases[i].retransmissions,
		    "lost: %s: %llu new attempts, %llu sent again (want %llu, %llu)",
		    cases[i].name, (unsigned long long)counter(s, 8, CNR_C_attempts),
		    (unsigned long long)counter(s, 8, CNR_C_retransmissions),
		    (unsigned long long)cases[i].attempts,
		    (unsigned long long)cases[i].retransmissions);
		tnet_free(s);
	}
}

static void test_slow_rank(void)
{
	struct tnet *s = connected(8, true);
	u64 begin;
	u32 i;

	post_all(s, 8, 50000);
	tnet_wait_completed(s, 1, 5 * S);
	begin = tnet_now(s);
	for (i = 0; i < 7; i++)
		tnet_post(s, i, 50000);
	tnet_run(s, begin + 3 * S);
	tnet_post(s, 7, 50000);
	tap(tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s), "slow rank: 3 s late, exact");
	tap(tnet_now(s) - begin < 3 * S + 100 * MS, "slow rank: costs its lateness only (%llu ms)",
	    (unsigned long long)((tnet_now(s) - begin) / MS));
	tap(!counter(s, 8, CNR_C_attempts) && !counter(s, 8, CNR_C_bypass),
	    "slow rank: no attempt, no fallback");
	tnet_free(s);
}

static void test_dead_rank(void)
{
	struct tnet *s = connected(6, true);
	u16 rank[4] = { 0 };
	bool named = true;
	u32 i;

	post_all(s, 6, 1000);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_kill(s, 4);
	for (i = 0; i < 6; i++)
		tnet_post(s, i, 100000);
	tap(tnet_wait_state(s, CNR_FAILED, 60 * S), "dead rank: everybody else ends");
	for (i = 0; i < 6; i++)
		if (i != 4)
			named &= cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 4 &&
				 tnet_last_error(s, i) == -EHOSTDOWN && tnet_completed(s, i) == 2;
	tap(named, "dead rank: all name rank 4, operations end with EHOSTDOWN");
	tap(tnet_post(s, 0, 10) == -EHOSTDOWN, "dead rank: posting is refused afterwards");
	tnet_free(s);
}

/* More ranks die than are remembered by name. Their number is right. */
static void test_many_dead(void)
{
	struct tnet_config cfg = { .members = 80, .seed = 4 };
	struct tnet *s = tnet_new(&cfg);
	u16 rank[100];
	u32 i, right = 0;

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 10; i < 80; i++)
		tnet_kill(s, i);
	for (i = 0; i < 10; i++)
		tnet_post(s, i, 352 * 80);
	tnet_wait_state(s, CNR_FAILED, 60 * S);
	for (i = 0; i < 10; i++)
		right += cnr_missing(tnet_comm(s, i), NULL, 0) == 70 &&
			 cnr_missing(tnet_comm(s, i), rank, 100) == CNR_FAULTS && rank[0] == 10;
	tap(right == 10, "70 of 80 die: %u of 10 others count them all", right);
	tnet_free(s);
}

/*
 * Return: ns from closing one of 8 ranks, which would linger for 2 s, until all others have failed
 */
static u64 leaving_took(u64 seed, int leaver)
{
	struct tnet_config cfg = {
		.members = 8, .seed = seed, .key = true, .algorithm = CANARY_ALG_TREE,
		.faults.drop = 50000,
	};
	struct tnet *s = tnet_new(&cfg);
	u64 end, took;
	int i, failed = 0;

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	post_all(s, 8, 3000);
	while (!tnet_completed(s, leaver))
		tnet_run(s, tnet_now(s) + MS / 10);
	for (i = 0; i < 8; i++)
		if (i != leaver)
			tnet_post(s, i, 3000);
	took = tnet_now(s);
	end = took + 10 * S;
	tnet_close(s, leaver, false);
	while (failed < 7 && tnet_now(s) < end) {
		tnet_run(s, tnet_now(s) + MS);
		for (i = 0, failed = 0; i < 8; i++)
			failed += i != leaver && tnet_last_error(s, i) == -ECONNRESET;
	}
	took = tnet_now(s) - took;
	tnet_free(s);
	return took;
}

/*
 * A rank that closes says goodbye when everybody has everything, whether others wait for more or
 * not.
 */
static void leaving_lossy(void)
{
	u64 longest = 0, took;
	u32 seed;

	for (seed = 0; seed < 20; seed++) {
		took = leaving_took(700 + seed, seed % 2 ? 7 : 0);
		longest = took > longest ? took : longest;
	}
	tap(longest < 500 * MS, "leaving, 5 %% loss: others that go on know within %llu ms",
	    (unsigned long long)(longest / MS));
}

static void test_leaving_rank(void)
{
	struct tnet *s = connected(4, false);
	u16 rank[4] = { 0 };
	u32 i;

	post_all(s, 4, 1000);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_close(s, 2, false);
	tnet_run(s, tnet_now(s) + 3 * S);
	tap(cnr_state(tnet_comm(s, 2)) == CNR_CLOSED, "leaving: closed rank is gone");
	tap(cnr_state(tnet_comm(s, 1)) == CNR_CONNECTED, "leaving: idle ranks do not mind");
	for (i = 0; i < 4; i++)
		if (i != 2)
			tnet_post(s, i, 10);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED &&
	    cnr_missing(tnet_comm(s, 0), rank, 4) == 1 && rank[0] == 2, "leaving: posting afterwards ends and names the rank");
	tnet_free(s);

	s = connected(4, false);
	for (i = 0; i < 3; i++)
		tnet_post(s, i, 100000);
	tnet_run(s, tnet_now(s) + 10 * MS);
	tnet_close(s, 3, false);
	tnet_run(s, tnet_now(s) + 10 * MS);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED && tnet_last_error(s, 0) == -ECONNRESET,
	    "leaving in the middle: others end with ECONNRESET");
	tnet_free(s);

	/* Questions about what a rank never posted do not keep it from leaving. */
	s = connected(3, false);
	post_all(s, 3, 352 * 3);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_close(s, 1, false);
	tnet_post(s, 0, 352 * 3);
	tnet_post(s, 2, 352 * 3);
	tnet_run(s, tnet_now(s) + 50 * MS);
	tap(cnr_missing(tnet_comm(s, 0), rank, 4) == 1 && rank[0] == 1 &&
	    tnet_last_error(s, 0) == -ECONNRESET && tnet_last_error(s, 2) == -ECONNRESET,
	    "leaving before the others post: they end with ECONNRESET within 50 ms");
	tnet_free(s);
	leaving_lossy();
}

static void test_mismatch(bool aggregate)
{
	struct tnet *s = connected(5, aggregate);
	u32 i, failed = 0;
	u16 rank[4];

	for (i = 0; i < 5; i++)
		tnet_post(s, i, i == 3 ? 1001 : 1000);
	tnet_wait_state(s, CNR_FAILED, 20 * S);
	for (i = 0; i < 5; i++) {
		enum canary_abort why;

		failed += cnr_failure(tnet_comm(s, i), &why) == -EPROTO &&
			  why == CANARY_ABORT_MISMATCH &&
			  cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 3;
	}
	tap(failed == 5 && !tnet_wrong(s), "another length: %u of 5 end with EPROTO, name it (%s)",
	    failed, aggregate ? "aggregated" : "plain");
	tnet_free(s);
}

/* Whoever leads the first block, the rank that differs is named, and not its neighbour. */
static void test_mismatch_named(void)
{
	struct tnet_config cfg = { .members = 3, .fixed_first = true, .seed = 8 };
	u32 odd, first, i, right = 0;
	struct tnet *s;
	u16 rank[4];

	for (odd = 0; odd < 3; odd++)
		for (first = 3; first < 6; first++) {
			cfg.first_block = first;
			s = tnet_new(&cfg);
			tnet_connect(s, -1);
			tnet_wait_state(s, CNR_CONNECTED, 10 * S);
			for (i = 0; i < 3; i++)
				tnet_post(s, i, i == odd ? 101 : 100);
			tnet_wait_state(s, CNR_FAILED, 20 * S);
			for (i = 0; i < 3; i++)
				right += cnr_missing(tnet_comm(s, i), rank, 4) == 1 &&
					 rank[0] == odd;
			tnet_free(s);
		}
	tap(right == 27, "another length among three: named rightly %u of 27 times", right);
}

/* The same with long vectors, of which rank 0 has to say how they are run, or was told */
static void test_mismatch_long(void)
{
	struct tnet_config cfg = { .members = 5 };
	u32 odd, way, i, right = 0, all = 0;
	struct tnet *s;
	u16 rank[4];

	for (odd = 0; odd < 5; odd++)
		for (way = 0; way < 12; way++) {
			cfg.seed = 8 + way;
			cfg.aggregate = way % 2;
			cfg.algorithm = way / 2 % 3;
			s = tnet_new(&cfg);
			tnet_connect(s, -1);
			tnet_wait_state(s, CNR_CONNECTED, 10 * S);
			for (i = 0; i < 5; i++)
				tnet_post(s, i, i == odd ? (way < 6 ? 99999 : 10) : 100000);
			tnet_wait_state(s, CNR_FAILED, 20 * S);
			for (i = 0; i < 5; i++, all++)
				right += cnr_missing(tnet_comm(s, i), rank, 4) == 1 &&
					 rank[0] == odd;
			tnet_free(s);
		}
	tap(right == all, "another length among five long ones: named rightly %u of %u times", right,
	    all);
}

/* No two ranks run the same: it ends all the same, whoever it names. */
static void test_mismatch_all(void)
{
	static const u32 lengths[][5] = {
		{ 100000, 99999, 99998, 99997, 99996 }, { 99996, 99997, 99998, 99999, 100000 },
		{ 100000, 50000, 20000, 10000, 5000 }, { 10, 100000, 50000, 20, 30000 },
		{ 1000, 999, 998, 997, 996 }, { 50000, 10, 11, 12, 13 },
	};
	static const u32 algorithms[] = { CANARY_ALG_AUTO, CANARY_ALG_TREE, CANARY_ALG_RING };
	u32 way, set, i, failed, ended = 0, all = 0;
	enum canary_abort why;

	for (way = 0; way < 3 * 2 * 3; way++)
		for (set = 0; set < ARRAY_SIZE(lengths); set++, all++) {
			struct tnet_config cfg = {
				.members = 3 + way / 6, .aggregate = way / 3 % 2, .seed = 8 + way,
				.algorithm = algorithms[way % 3],
			};
			struct tnet *s = tnet_new(&cfg);

			tnet_connect(s, -1);
			tnet_wait_state(s, CNR_CONNECTED, 10 * S);
			for (i = 0; i < cfg.members; i++)
				tnet_post(s, i, lengths[set][i]);
			tnet_wait_state(s, CNR_FAILED, 20 * S);
			for (i = 0, failed = 0; i < cfg.members; i++)
				failed += cnr_failure(tnet_comm(s, i), &why) == -EPROTO &&
					  why == CANARY_ABORT_MISMATCH;
			ended += failed == cfg.members;
			tnet_free(s);
		}
	tap(ended == all, "each rank has another length: %u of %u end with EPROTO", ended, all);
}

/* Each rank closes as soon as it is done. The last ones still get their results. */
static bool lossy_end(u64 seed, bool *exact)
{
	struct trial sc = {
		.members = 8, .aggregate = true, .algorithm = CANARY_ALG_TREE,
		.faults = { .drop = 190000, .repeat = 100000 },
	};
	struct tnet *s = start(&sc, seed);
	u32 i, op, left = 8, errors = 0;
	bool closed[8] = { false };
	u64 end;

	tnet_wait_state(s, CNR_CONNECTED, 60 * S);
	for (op = 0; op < 6; op++)
		post_all(s, 8, 3000);
	end = tnet_now(s) + 60 * S;
	while (left && tnet_now(s) < end) {
		tnet_run(s, tnet_now(s) + MS);
		for (i = 0; i < 8; i++) {
			if (closed[i] || tnet_completed(s, i) < 6)
				continue;
			tnet_close(s, i, false);
			closed[i] = true;
			left--;
		}
	}
	for (i = 0; i < 8; i++)
		errors += tnet_last_error(s, i) != 0;
	*exact = !left && !errors && !tnet_wrong(s);
	tnet_free(s);
	return !left;
}

static void test_lossy_end(void)
{
	u32 seed, ended = 0, exact = 0;
	bool good;

	for (seed = 0; seed < 20; seed++) {
		ended += lossy_end(500 + seed, &good);
		exact += good;
	}
	tap(ended == 20, "19 %% loss, closing when done: all end (%u of 20)", ended);
	tap(exact == 20, "19 %% loss, closing when done: all have results (%u of 20)", exact);
}

/* A leader that owes results is gone. The others get an error in the end. */
static void test_leader_gone(void)
{
	struct tnet *s = connected(3, false);
	struct drop_nth d = { .type = CANARY_RESULT, .from = 1 };
	u16 rank[4];
	u32 i;

	tnet_faults(s)->filter = drop_nth;
	tnet_faults(s)->filter_arg = &d;
	post_all(s, 3, 352 * 3);
	for (i = 0; i < 1000 && tnet_completed(s, 1) < 1; i++)
		tnet_run(s, tnet_now(s) + 10 * CNR_USEC);
	tnet_close(s, 1, true);
	tnet_wait_state(s, CNR_FAILED, 5 * S);
	for (i = 0; i < 3 && tnet_completed(s, i); i++)
		;
	tap(d.done, "leader gone: a result of its was lost");
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED || cnr_state(tnet_comm(s, 2)) == CNR_FAILED,
	    "leader gone: who lacks its result ends");
	i = cnr_state(tnet_comm(s, 0)) == CNR_FAILED ? 0 : 2;
	tap(cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == 1, "leader gone: named");
	tnet_free(s);
}

/* Rank 0 goes without waiting. Ranks that close properly still serve the others. */
static void test_root_gone(void)
{
	struct drop_nth d = { .type = CANARY_RESULT, .from = 1 };
	struct tnet *s = connected(3, false);
	u32 i;

	tnet_faults(s)->filter = drop_nth;
	tnet_faults(s)->filter_arg = &d;
	post_all(s, 3, 352 * 3);
	for (i = 0; i < 1000 && tnet_completed(s, 0) + tnet_completed(s, 1) < 2; i++)
		tnet_run(s, tnet_now(s) + 10 * CNR_USEC);
	tap(d.done && !tnet_completed(s, 2), "rank 0 gone: rank 2 lacks a result of rank 1");
	tnet_close(s, 1, false);
	tnet_close(s, 0, true);
	tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_last_error(s, 2) && !tnet_wrong(s),
	    "rank 0 gone: rank 1 still has it");
	tnet_free(s);
}

/* Act as if so many blocks had passed without a packet of a single member. */
static void skip_blocks(struct tnet *s, u32 members, u32 blocks)
{
	struct cnr_comm *c;
	u32 i;

	for (i = 0; i < members; i++) {
		c = tnet_comm(s, i);
		if (c->una != c->posted || c->all_done != c->una)
			abort();
		c->una += blocks;
		c->next += blocks;
		c->posted += blocks;
		c->all_done += blocks;
	}
}

/* Run blocks up to one that refreshes what is known of a member. */
static void refresh_one(struct tnet *s, u32 members)
{
	u32 done = tnet_completed(s, 0);

	skip_blocks(s, members, CNR_REFRESH - 1 - tnet_comm(s, 0)->una % CNR_REFRESH);
	post_all(s, members, 352 * 64);
	tnet_wait_completed(s, done + 1, 5 * S);
	tnet_run(s, tnet_now(s) + 5 * S);
}

/* After half of all serial numbers, what was heard at the beginning must still count as old. */
static void test_half_round(void)
{
	struct tnet *s = connected(6, true);
	u32 i, k;

	for (k = 0; k < 30; k++) {
		refresh_one(s, 6);
		if (k % 6 == 5)
			skip_blocks(s, 6, 0x20000000 - 6 * CNR_REFRESH);
	}
	for (i = 2; i < 6; i++)
		tnet_post(s, i, 352 * 6);
	tnet_run(s, tnet_now(s) + 3 * S);
	tap(!counter(s, 6, CNR_C_attempts), "half of all serials later: late is not lost");
	tnet_post(s, 0, 352 * 6);
	tnet_post(s, 1, 352 * 6);
	tap(tnet_wait_completed(s, 31, 5 * S) && !tnet_wrong(s),
	    "half of all serials later: exact");
	tnet_free(s);
}

/* Every packet comes twice while half of the block is missing. Nothing is spoilt. */
static void test_repeated_aggregates(void)
{
	struct tnet *s = connected(8, true);

	u32 i;

	tnet_faults(s)->repeat = 1000000;
	for (i = 0; i < 4; i++)
		tnet_post(s, i, 352 * 32);
	tnet_run(s, tnet_now(s) + 5 * MS);
	for (i = 4; i < 8; i++)
		tnet_post(s, i, 352 * 32);
	tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s), "all repeated: exact");
	tap(!counter(s, 8, CNR_C_attempts) && !counter(s, 8, CNR_C_tag_mismatch),
	    "all repeated: no block begun anew");
	tnet_free(s);
}

static void test_limits(void)
{
	struct cnr_config cfg = { .members = 65535, .rank = 65534, .mtu = 1500 };
	const char *what;
	struct tnet *s;
	int n = 0;

	tap(!cnr_check(&cfg, &what), "65535 members are accepted");
	tap(cnr_size(&cfg) < 16 << 20, "65535 members take %zu KiB", cnr_size(&cfg) >> 10);
	cfg.rank = 65535;
	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "rank"), "rank out of range");
	cfg = (struct cnr_config){ .members = 2, .mtu = 1500, .window = 3 };
	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "window"), "window no power of 2");
	cfg = (struct cnr_config){ .members = 2, .mtu = 575 };
	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "mtu"), "mtu too small");
	cfg = (struct cnr_config){ .mtu = 1500 };
	tap(cnr_check(&cfg, &what) == -EINVAL && !strcmp(what, "members"), "no members");

	s = connected(2, false);
	while (!tnet_post(s, 0, 10))
		n++;
	tap(n == CNR_OPS && tnet_post(s, 0, 10) == -EAGAIN, "%d operations in flight, then EAGAIN",
	    n);
	tnet_free(s);
}

/*
 * Rank 0 goes as soon as it has all results itself. Then nobody can tell what everybody has.
 * Vectors are given back all the same.
 */
static void test_root_gone_first(void)
{
	struct tnet *s = connected(4, false);
	u64 until;
	int i;

	post_all(s, 4, 352 * 100);
	while (!tnet_completed(s, 0))
		tnet_run(s, tnet_now(s) + 1000);
	tnet_close(s, 0, true);
	until = tnet_now(s) + 60 * S;
	while (tnet_now(s) < until && tnet_run(s, until))
		;
	for (i = 1; i < 4; i++)
		tap(tnet_completed(s, i) == 1 && !tnet_last_error(s, i) && !tnet_holds(s, i),
		    "root gone first: rank %d gets its vector back", i);
	tap(!tnet_wrong(s), "root gone first: exact");
	tnet_free(s);
}

int main(int argc, char **argv)
{
	run_trials("", trials, ARRAY_SIZE(trials), CANARY_ALG_TREE,
		   argc > 1 ? atoi(argv[1]) : 4);
	test_single_losses();
	test_slow_rank();
	test_dead_rank();
	test_many_dead();
	test_leaving_rank();
	test_mismatch(false);
	test_mismatch(true);
	test_mismatch_named();
	test_mismatch_long();
	test_mismatch_all();
	test_lossy_end();
	test_leader_gone();
	test_root_gone();
	test_root_gone_first();
	test_half_round();
	test_repeated_aggregates();
	test_limits();
	return tap_done("core");
}
