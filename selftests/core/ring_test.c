// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rings under simulated faults, and the choice between ring and tree. Every sum is compared with
 * one that is computed without the protocol. Every run must end, and no vector may be left.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"
#include "trial.h"

#define RING	.algorithm = CANARY_ALG_RING

static const struct trial trials[] = {
	{ "one member",			1, 5000, 2, 2, RING },
	{ "two members",		2, 5000, 3, 2, RING },
	{ "three, one element",		3, 1, 5, 2, RING },
	{ "three, not divisible",	3, 352 * 7 + 5, 3, 2, RING },
	{ "five, barrier",		5, 0, 4, 2, RING },
	{ "eight, less than a block each", 8, 352 * 3, 4, 3, RING },
	{ "eight",			8, 100000, 2, 1, RING },
	{ "eight, aggregator in between", 8, 40000, 2, 1, RING, .aggregate = true },
	{ "16, not divisible",		16, 352 * 100 + 77, 2, 2, RING },
	{ "33",				33, 352 * 330 + 1, 1, 1, RING },
	{ "window of 1",		4, 8000, 2, 1, RING, .window = 1 },
	{ "one member in a slice",	16, 20000, 3, 2, RING, .slice = 1 },
	{ "less blocks than members, in slices", 33, 30000, 3, 2, RING, .slice = 2, .window = 8 },
	{ "slices, 2 % loss",		33, 30000, 3, 2, RING, .slice = 5, .window = 16,
	  .faults.drop = 20000 },
	{ "slices, blocks wrap",	17, 30000, 2, 2, RING, .slice = 2, .window = 8,
	  .first_block = 0xffffffd0 },
	{ "slices, blocks wrap, 2 % loss", 17, 30000, 2, 2, RING, .slice = 2, .window = 8,
	  .first_block = 0xffffffd0, .faults.drop = 20000 },
	{ "window of 1024",		4, 400000, 2, 2, RING, .window = 1024 },
	{ "blocks wrap",		5, 50000, 2, 2, RING, .first_block = 0xffffffc0 },
	{ "blocks wrap with loss",	6, 30000, 3, 2, RING, .first_block = 0xffffffe0,
	  .faults.drop = 20000 },
	{ "1 % loss",			8, 60000, 3, 2, RING, .faults.drop = 10000 },
	{ "10 % loss",			8, 30000, 2, 2, RING, .faults.drop = 100000 },
	{ "30 % loss",			5, 8000, 2, 1, RING, .faults.drop = 300000 },
	{ "10 % loss, 33 members",	33, 352 * 66, 1, 1, RING, .faults.drop = 100000 },
	{ "all repeated",		4, 10000, 2, 2, RING, .faults.repeat = 1000000 },
	{ "10 % late by 3 ms",		8, 30000, 2, 2, RING, .faults.delay = 100000,
	  .faults.delay_ns = 3 * MS },
	{ "10 % late by 300 ms",	8, 10000, 2, 2, RING, .faults.delay = 100000,
	  .faults.delay_ns = 300 * MS },
	{ "1 % corrupt",		8, 30000, 2, 2, RING, .faults.corrupt = 10000 },
	{ "everything at once",		8, 20000, 3, 3, RING, .faults.drop = 20000,
	  .faults.repeat = 20000, .faults.delay = 50000, .faults.delay_ns = 5 * MS,
	  .faults.corrupt = 5000 },
	{ "auto, no switch",		4, 40000, 6, 2 },
	{ "auto, aggregated",		4, 40000, 6, 2, .aggregate = true },
	{ "auto, everything at once",	5, 20000, 6, 3, .faults.drop = 20000,
	  .faults.repeat = 20000, .faults.delay = 50000, .faults.delay_ns = 5 * MS,
	  .faults.corrupt = 5000 },
};

/* Without faults every member sends 2 (N - 1) / N of the vector, and nothing twice. */
static void test_traffic(void)
{
	u32 n = 8, blocks = 8 * 50, i, even = 0;
	struct tnet *s = connected_as(n, false, CANARY_ALG_RING);
	u64 *of;

	post_all(s, n, 352 * blocks);
	tnet_wait_completed(s, 1, 10 * S);
	for (i = 0; i < n; i++) {
		of = cnr_stats(tnet_comm(s, i))->counter;
		even += of[CNR_C_ring_out] + of[CNR_C_results_out] == 2 * (n - 1) * blocks / n;
	}
	tap(even == n, "traffic: %u of %u members send 2 (N - 1) / N of the vector", even, n);
	tap(!counter(s, n, CNR_C_ring_again) && !counter(s, n, CNR_C_results_again) &&
	    !counter(s, n, CNR_C_requests_out) && !counter(s, n, CNR_C_timeouts),
	    "traffic: nothing is asked for or sent twice");
	tnet_free(s);
}

/* Drops the n-th packet of a type, once. */
struct drop_nth {
	enum canary_type type;
	u32	skip;
	u32	times;
};

static bool drop_nth(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct drop_nth *d = arg;

	if (!d->times || h->type != d->type)
		return false;
	if (d->skip) {
		d->skip--;
		return false;
	}
	d->times--;
	return true;
}

/* How one lost packet of @type was replaced. @skip packets of that type go before it. */
struct loss {
	bool	exact;
	u64	requests;
	u64	partials;
	u64	results;
	u64	ns;
};

static struct loss lose_one(enum canary_type type, u32 skip)
{
	struct tnet *s = connected_as(8, false, CANARY_ALG_RING);
	struct drop_nth d = { .type = type, .skip = skip, .times = 1 };
	struct loss l;
	u64 begin;

	post_all(s, 8, 352 * 64);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_faults(s)->filter = drop_nth;
	tnet_faults(s)->filter_arg = &d;
	begin = tnet_now(s);
	post_all(s, 8, 352 * 640);
	l.exact = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && !d.times;
	l.requests = counter(s, 8, CNR_C_requests_out);
	l.partials = counter(s, 8, CNR_C_ring_again);
	l.results = counter(s, 8, CNR_C_results_again);
	l.ns = tnet_now(s) - begin;
	tnet_free(s);
	return l;
}

#define LOSSES		20	/* lost packets, one in each run */

static void test_single_losses(void)
{
	static const struct {
		const char *name;
		enum canary_type type;
		u64 ring;
	} cases[] = {
		{ "a partial sum", CANARY_RING_SUM, 1 },
		{ "a result", CANARY_RING_RESULT, 0 },
	};
	u32 i, j, exact, cheap, soon;
	struct loss l;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		exact = cheap = soon = 0;
		for (j = 0; j < LOSSES; j++) {
			l = lose_one(cases[i].type, 1000 + 37 * j);
			exact += l.exact;
			/*
			 * Members further along the ring may ask, too, before the first one has it.
			 */
			cheap += l.partials <= 2 * cases[i].ring && l.results <= 1 &&
				 l.requests <= 1 + 7 * cases[i].ring;
			soon += l.ns < 10 * MS;
		}
		tap(exact == LOSSES, "lost: %s: %u of %u complete, exact", cases[i].name, exact,
		    LOSSES);
		tap(cheap == LOSSES, "lost: %s: nothing else is sent again in %u of %u",
		    cases[i].name, cheap, LOSSES);
		tap(soon >= LOSSES * 3 / 4, "lost: %s: no timer was waited for in %u of %u",
		    cases[i].name, soon, LOSSES);
	}
}

static void test_slow_rank(void)
{
	struct tnet *s = connected_as(8, false, CANARY_ALG_RING);
	u64 begin, sent;
	u32 i;

	post_all(s, 8, 50000);
	tnet_wait_completed(s, 1, 5 * S);
	begin = tnet_now(s);
	sent = counter(s, 8, CNR_C_ring_out);
	for (i = 0; i < 7; i++)
		tnet_post(s, i, 50000);
	tnet_run(s, begin + 3 * S);
	tnet_post(s, 7, 50000);
	tap(tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s), "slow rank: 3 s late, exact");
	tap(tnet_now(s) - begin < 3 * S + 100 * MS, "slow rank: costs its lateness only (%llu ms)",
	    (unsigned long long)((tnet_now(s) - begin) / MS));
	sent = counter(s, 8, CNR_C_ring_out) - sent;
	tap(counter(s, 8, CNR_C_ring_again) <= 64, "slow rank: a window at most is sent twice (%llu of %llu)",
	    (unsigned long long)counter(s, 8, CNR_C_ring_again), (unsigned long long)sent);
	tnet_free(s);
}

static bool all_name(struct tnet *s, u32 members, u32 odd, int error)
{
	enum canary_abort why;
	u16 rank[4] = { 0 };
	bool named = true;
	u32 i;

	for (i = 0; i < members; i++)
		if (i != odd || error == -EPROTO)
			named &= cnr_missing(tnet_comm(s, i), rank, 4) == 1 && rank[0] == odd &&
				 cnr_failure(tnet_comm(s, i), &why) == error;
	return named;
}

static void test_ends(void)
{
	struct tnet *s = connected_as(6, false, CANARY_ALG_RING);
	u32 i;

	post_all(s, 6, 1000);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_kill(s, 4);
	for (i = 0; i < 6; i++)
		tnet_post(s, i, 100000);
	tap(tnet_wait_state(s, CNR_FAILED, 60 * S) && all_name(s, 6, 4, -EHOSTDOWN),
	    "dead rank: everybody else ends and names it");
	tnet_free(s);

	s = connected_as(6, false, CANARY_ALG_RING);
	for (i = 0; i < 5; i++)
		tnet_post(s, i, 100000);
	tnet_run(s, tnet_now(s) + 10 * MS);
	tnet_close(s, 5, false);
	tnet_run(s, tnet_now(s) + 10 * MS);
	tap(cnr_state(tnet_comm(s, 0)) == CNR_FAILED && tnet_last_error(s, 0) == -ECONNRESET,
	    "leaving in the middle: others end with ECONNRESET");
	tnet_free(s);
}

/* One of several ranks runs another length. It is named, whoever starts the first block. */
static void test_mismatch(u8 algorithm, u32 elements, u32 other, const char *what)
{
	struct tnet_config cfg = { .fixed_first = true, .seed = 8, .algorithm = algorithm };
	u32 odd, i, right = 0, runs = 0;
	struct tnet *s;

	for (cfg.members = 3; cfg.members <= 5; cfg.members++)
		for (cfg.first_block = 20; cfg.first_block < 20 + cfg.members; cfg.first_block++)
			for (odd = 0; odd < cfg.members; odd++) {
				s = tnet_new(&cfg);
				tnet_connect(s, -1);
				tnet_wait_state(s, CNR_CONNECTED, 10 * S);
				for (i = 0; i < cfg.members; i++)
					tnet_post(s, i, i == odd ? other : elements);
				tnet_wait_state(s, CNR_FAILED, 20 * S);
				right += all_name(s, cfg.members, odd, -EPROTO);
				runs++;
				tnet_free(s);
			}
	tap(right == runs, "another length: %s: named rightly by all in %u of %u runs", what, right,
	    runs);
}

static void test_mismatch_two(void)
{
	struct tnet *s = connected_as(2, false, CANARY_ALG_RING);

	tnet_post(s, 0, 100);
	tnet_post(s, 1, 101);
	tnet_wait_state(s, CNR_FAILED, 20 * S);
	tap(cnr_missing(tnet_comm(s, 0), NULL, 0) == 2 && tnet_last_error(s, 1) == -EPROTO,
	    "another length: among two, both are named");
	tnet_free(s);
}

/* Do all members say this about the latest operation? */
static bool said(struct tnet *s, u32 members, u8 algorithm, u8 why)
{
	struct cnr_info info;
	bool good = true;
	u32 i;

	for (i = 0; i < members; i++) {
		cnr_info(tnet_comm(s, i), &info);
		good &= info.last == algorithm && info.why == why;
	}
	return good;
}

static bool once(struct tnet *s, u32 members, u32 elements, u32 *done)
{
	post_all(s, members, elements);
	if (!tnet_wait_completed(s, ++*done, 60 * S) || tnet_wrong(s))
		return false;
	tnet_run(s, tnet_now(s) + 50 * MS);	/* the last PLAN may still be on its way */
	return true;
}

#define LONG	(352 * 200)

static bool drop_aggregates(void *arg, int from, int to, const struct canary_hdr *h)
{
	return cnr_is_merged(h);
}

static void test_decisions(void)
{
	struct tnet *s = connected_as(5, false, CANARY_ALG_AUTO);
	u32 i, done = 0;
	bool good;

	once(s, 5, 352 * 39, &done);
	tap(said(s, 5, CANARY_ALG_TREE, CANARY_WHY_SMALL), "auto: short: tree");
	once(s, 5, LONG, &done);
	tap(said(s, 5, CANARY_ALG_TREE, CANARY_WHY_UNKNOWN), "auto: first long one: tree");
	for (good = true, i = 0; i < 32; i++)
		good &= once(s, 5, LONG, &done) &&
			said(s, 5, CANARY_ALG_RING, CANARY_WHY_PLAIN);
	tap(good, "auto: no switch adds up: 32 rings");
	once(s, 5, 10, &done);
	tap(said(s, 5, CANARY_ALG_RING, CANARY_WHY_PLAIN), "auto: short ones do not hide that");
	once(s, 5, LONG, &done);
	tap(said(s, 5, CANARY_ALG_TREE, CANARY_WHY_LOOK), "auto: then a tree, to look again");
	once(s, 5, LONG, &done);
	tap(said(s, 5, CANARY_ALG_RING, CANARY_WHY_PLAIN), "auto: nothing has changed: ring");
	tap(counter(s, 5, CNR_C_ring_again) + counter(s, 5, CNR_C_requests_out) == 0,
	    "auto: nothing is sent twice because somebody does not know yet");
	tnet_free(s);

	done = 0;
	s = connected_as(5, true, CANARY_ALG_AUTO);
	once(s, 5, LONG, &done);
	once(s, 5, LONG, &done);
	tap(said(s, 5, CANARY_ALG_TREE, CANARY_WHY_MERGED), "auto: switches add up: tree");
	tnet_faults(s)->filter = drop_aggregates;
	once(s, 5, LONG, &done);
	once(s, 5, LONG, &done);
	tap(said(s, 5, CANARY_ALG_RING, CANARY_WHY_LOSSES), "auto: trees fail: ring");
	tnet_free(s);

	s = connected_as(2, false, CANARY_ALG_AUTO);
	done = 0;
	once(s, 2, LONG, &done);
	tap(said(s, 2, CANARY_ALG_TREE, CANARY_WHY_MEMBERS), "auto: two members: tree");
	tnet_free(s);
}

/* The setting of rank 0 holds, whatever the others ask for. */
static void test_overruled(void)
{
	struct tnet *s = connected_as(3, false, CANARY_ALG_RING);
	struct cnr_info info;
	u32 done = 0;

	once(s, 3, 10, &done);
	cnr_info(tnet_comm(s, 2), &info);
	tap(info.wanted == CANARY_ALG_AUTO && info.algorithm == CANARY_ALG_RING &&
	    said(s, 3, CANARY_ALG_RING, CANARY_WHY_FIXED), "overruled, and told so");
	tnet_free(s);
}

struct pins {
	u32	trees;
	u32	right;
	u32	wrong;
	u32	used;		/* set of paths */
};

static bool look_at_pin(void *arg, int from, int to, const struct canary_hdr *h)
{
	bool pinned = h->flags & CANARY_F_STATIC;
	struct pins *p = arg;

	if (h->type != CANARY_CONTRIBUTION)
		return false;
	if (p->trees ? pinned && h->contribution.path == be32_to_cpu(h->block) % p->trees :
		       !pinned && !h->contribution.path)
		p->right++;
	else
		p->wrong++;
	p->used |= 1U << (h->contribution.path & 31);
	return false;
}

/*
 * Rank 0 is told to use static trees. All members pin the contributions of a block to the same one
 * of @trees trees.
 */
static void test_static(u8 trees)
{
	struct tnet_config cfg = {
		.members = 5, .seed = 3, .aggregate = true, .fixed_first = true,
		.algorithm = trees ? CANARY_ALG_STATIC : CANARY_ALG_TREE, .trees = trees,
	};
	struct tnet *s = tnet_new(&cfg);
	struct pins p = { .trees = trees };
	u32 done = 0;
	bool sums;

	tnet_faults(s)->filter = look_at_pin;
	tnet_faults(s)->filter_arg = &p;
	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	sums = once(s, 5, LONG, &done);
	tap(sums && said(s, 5, cfg.algorithm, CANARY_WHY_FIXED) && p.right > 400 && !p.wrong &&
	    p.used == (trees ? (1U << trees) - 1 : 1),
	    "%u static trees: all members pin all blocks, block by block in turn", trees);
	tnet_free(s);
}

/* Which numbers of trees, and of blocks in a run, there are */
static void test_numbers(void)
{
	static const struct {
		u8	algorithm, number;
		bool	good;
	} cases[] = {
		{ CANARY_ALG_STATIC, 1, true }, { CANARY_ALG_STATIC, CANARY_TREES_MAX, true },
		{ CANARY_ALG_STATIC, 0, false }, { CANARY_ALG_STATIC, CANARY_TREES_MAX + 1, false },
		{ CANARY_ALG_TREE, 0, true }, { CANARY_ALG_TREE, 1, true },
		{ CANARY_ALG_TREE, 3, false }, { CANARY_ALG_TREE, CANARY_RUN_MAX, true },
		{ CANARY_ALG_TREE, 2 * CANARY_RUN_MAX, false }, { CANARY_ALG_AUTO, 0, true },
		{ CANARY_ALG_AUTO, 2, false }, { CANARY_ALG_RING, 2, false },
	};
	const char *what;
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 value = cases[i].algorithm | cases[i].number << 8;
		struct cnr_config c = {
			.members = 2, .mtu = 1500, .algorithm = cases[i].algorithm,
		};

		*(c.algorithm == CANARY_ALG_TREE ? &c.run : &c.trees) = cases[i].number;
		good &= !cnr_check(&c, &what) == cases[i].good;
		good &= cnr_algorithm_is(value) == cases[i].good;
	}
	tap(good && !cnr_algorithm_is(CANARY_ALG_MAX + 1) && !cnr_algorithm_is(1 << 16),
	    "algorithms that are none are refused");
}

static void test_plan_lost(void)
{
	struct drop_nth d = { .type = CANARY_PLAN, .times = 4 };
	struct tnet *s = connected_as(5, false, CANARY_ALG_AUTO);
	u32 i;

	tnet_faults(s)->filter = drop_nth;
	tnet_faults(s)->filter_arg = &d;
	post_all(s, 5, LONG);
	tap(tnet_wait_completed(s, 1, 1 * S) && !tnet_wrong(s) && !d.times,
	    "PLAN lost to all: completes, exact");
	for (i = 1; i < 5; i++)
		tnet_post(s, i, LONG);
	tnet_run(s, tnet_now(s) + 3 * S);
	tnet_post(s, 0, LONG);
	tap(tnet_wait_completed(s, 2, 100 * MS) && !tnet_wrong(s) &&
	    said(s, 5, CANARY_ALG_RING, CANARY_WHY_PLAIN),
	    "rank 0 posts 3 s late: others wait for it, and no longer");
	tnet_kill(s, 0);
	for (i = 1; i < 5; i++)
		tnet_post(s, i, LONG);
	tap(tnet_wait_state(s, CNR_FAILED, 60 * S) && all_name(s, 5, 0, -EHOSTDOWN),
	    "rank 0 dies before it has decided: it is named");
	tnet_free(s);
}

/* All links are busy. The goodput is what a ring can carry, however many members there are. */
static void test_goodput(u32 members, u32 leaves, u32 drop, u32 percent)
{
	struct tnet_config cfg = {
		.members = members, .leaves = leaves, .spines = leaves ? 1 : 0, .rate = 100000000,
		.queue = 100, .seed = 5, .algorithm = CANARY_ALG_RING, .faults.drop = drop,
	};
	u32 blocks = (drop ? 200 : 40) * members, done = 0, reached;
	struct tnet *s = tnet_new(&cfg);
	u64 begin, least;

	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	once(s, members, 352 * blocks, &done);
	begin = tnet_now(s);
	post_all(s, members, 352 * blocks);
	tnet_wait_completed(s, 2, 60 * S);
	/* Lower bound: 2 (N - 1) / N of the vector, 1514 bytes for each block, over one link */
	least = 2ULL * (members - 1) * blocks / members * 1514 * 8 * 10;
	reached = 100 * least / (tnet_now(s) - begin);
	tap(!tnet_wrong(s) && reached >= percent,
	    "goodput: %u members, %u leaves, %u ppm lost on each link: %u %% of the limit", members,
	    leaves, drop, reached);
	tnet_free(s);
}

/* Return: what an operation of so many doubles keeps among @members */
static size_t kept(u32 members, u8 algorithm, u32 elements)
{
	struct tnet_config cfg = { .members = members, .seed = 3, .algorithm = algorithm };
	struct cnr_op op = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT64, .elements = elements };
	struct tnet *s = tnet_new(&cfg);
	size_t bytes;

	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	bytes = cnr_memory(tnet_comm(s, 0), &op);
	tnet_free(s);
	return bytes;
}

/* Room for partial sums is only where a ring may run the operation. */
static void test_memory(void)
{
	tap(kept(4, CANARY_ALG_AUTO, 1) == kept(4, CANARY_ALG_TREE, 1) &&
	    kept(4, CANARY_ALG_AUTO, 1) < kept(4, CANARY_ALG_RING, 1),
	    "to be decided: a short operation has no room for partial sums");
	tap(kept(4, CANARY_ALG_AUTO, 100000) == kept(4, CANARY_ALG_RING, 100000),
	    "to be decided: a long one has");
}

int main(int argc, char **argv)
{
	run_trials("ring: ", trials, ARRAY_SIZE(trials), CANARY_ALG_AUTO,
		   argc > 1 ? atoi(argv[1]) : 2);
	test_traffic();
	test_memory();
	test_single_losses();
	test_slow_rank();
	test_ends();
	test_mismatch(CANARY_ALG_RING, 1000, 1001, "ring");
	test_mismatch(CANARY_ALG_RING, 352 * 100, 352 * 100 + 1, "long ring");
	test_mismatch(CANARY_ALG_RING, 100, 101, "ring of one block");
	test_mismatch(CANARY_ALG_AUTO, LONG, LONG + 1, "long, to be decided");
	test_mismatch(CANARY_ALG_AUTO, LONG, 100, "one is short, others are to be decided");
	test_mismatch(CANARY_ALG_AUTO, 100, LONG, "one is to be decided, others are short");
	test_mismatch_two();
	test_decisions();
	test_overruled();
	test_static(0);
	test_static(1);
	test_static(3);
	test_numbers();
	test_plan_lost();
	test_goodput(8, 0, 0, 97);
	test_goodput(8, 2, 0, 97);
	test_goodput(32, 4, 0, 97);
	test_goodput(8, 0, 10000, 60);
	return tap_done("ring");
}
