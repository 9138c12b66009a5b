// SPDX-License-Identifier: BSD-2-Clause
/*
 * Forged aggregates. They have no mac, so everybody who can send to a leader may make them up.
 * Their cost is bounded, and neither a sum nor a communicator is lost.
 */
#include "selftests/tap.h"
#include "fixture.h"
#include "forge.h"

#define MEMBERS	5
#define BLOCK	352	/* elements at an MTU of 1500 */
#define FORGER	77	/* an address that no member has */

static enum canary_drop inject_forged(struct tnet *s, u32 block, u16 count, u64 tag, int from)
{
	u32 packet[(sizeof(struct canary_hdr) + BLOCK * 4) / 4];
	u16 leader = cnr_leader(tnet_comm(s, 0), block);
	struct canary_hdr *h = (void *)packet;
	u32 len = forge_aggregate(tnet_comm(s, leader), block, count, h);

	h->contribution.tag = cpu_to_be64(tag);
	return tnet_inject(s, leader, h, len, from);
}

static u32 alive(struct tnet *s)
{
	u32 i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += cnr_state(tnet_comm(s, i)) == CNR_CONNECTED;
	return n;
}

/*
 * Rank 0 has posted, the others are idle. Its first block gets wrong aggregates: of all members, or
 * of some. Nobody spins, nobody is asked on and on, nobody is blamed.
 */
static void test_idle(const char *what, const u16 *counts)
{
	struct tnet *s = connected(MEMBERS, false);
	u64 begin, probes, packets;
	u32 i;

	tnet_post(s, 0, 10 * BLOCK);
	tnet_pass(s, tnet_now(s) + 100 * MS);
	probes = counter(s, MEMBERS, CNR_C_probes_out);
	packets = tnet_traffic(s)->packets;
	for (i = 0; counts[i]; i++)
		inject_forged(s, forge_block(tnet_comm(s, 0)), counts[i], 1, FORGER);
	begin = tnet_now(s);
	tnet_pass(s, begin + 16 * S);
	tap(alive(s) == MEMBERS, "%s, others idle: all live after 16 s", what);
	probes = counter(s, MEMBERS, CNR_C_probes_out) - probes;
	tap(probes < 16 * 5 * (MEMBERS - 1), "%s, others idle: %llu PROBEs in 16 s", what,
	    (unsigned long long)probes);
	packets = tnet_traffic(s)->packets - packets;
	for (i = 1; i < MEMBERS; i++)
		tnet_post(s, i, 10 * BLOCK);
	begin = tnet_now(s);
	tap(tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s) && alive(s) == MEMBERS &&
	    !tnet_last_error(s, 0), "%s, others idle: then exact, within %llu ms", what,
	    (unsigned long long)((tnet_now(s) - begin) / MS));
	tnet_free(s);
}

/* What is between the members, and how the forger appears */
struct stage {
	const char *name;
	bool	aggregate;
	int	from;		/* FORGER, or SWITCH, whose address it uses */
	u16	count;		/* members in each aggregate */
	u32	posts;		/* ranks that post at once; the others are late */
};

#define SWITCH		0xef00	/* tnet_addr() makes the address of the first switch of it */
#define FLOOD		(400 * MS)
#define FLOOD_GAP	(20 * CNR_USEC)
#define OPERATIONS	40

static const struct stage stages[] = {
	{ "a router, all post, whole ones", false, FORGER, 4, 5 },
	{ "a router, all post, parts", false, FORGER, 2, 5 },
	{ "a router, one posts, whole ones", false, FORGER, 4, 1 },
	{ "a router, one posts, parts", false, FORGER, 2, 1 },
	{ "a router, four post, parts", false, FORGER, 3, 4 },
	{ "a switch, all post, whole ones", true, FORGER, 4, 5 },
	{ "a switch, all post, parts", true, FORGER, 2, 5 },
	{ "a switch, one posts, parts", true, FORGER, 2, 1 },
	{ "a switch, in its name, all post", true, SWITCH, 2, 5 },
	{ "a switch, in its name, one posts", true, SWITCH, 3, 1 },
};

/* Counters of all members, before and after the flood */
struct cost {
	u64	packets;	/* that members sent */
	u64	probes;
	u64	attempts;
	u64	again;		/* attempts after the flood */
	u64	merged;		/* aggregates after the flood */
	u64	time;
	u32	hostile;
	u32	operations;
	u32	highest;	/* attempt of any block */
	bool	spoilt;		/* the core believes something wrong about the network */
};

static u64 sent(struct tnet *s)
{
	static const enum cnr_counter all[] = {
		CNR_C_contributions_out, CNR_C_results_out, CNR_C_results_again,
		CNR_C_retransmissions, CNR_C_requests_out, CNR_C_failures_out,
		CNR_C_restorations_out, CNR_C_waits_out, CNR_C_probes_out, CNR_C_probes_in,
	};
	u64 sum = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		sum += counter(s, MEMBERS, all[i]);
	return sum;
}

static u32 highest_attempt(struct tnet *s)
{
	u32 i, k, highest = 0;
	struct cnr_comm *c;

	for (i = 0; i < MEMBERS; i++) {
		c = tnet_comm(s, i);
		for (k = 0; k <= c->block_mask; k++)
			highest = max_t(u32, highest, c->block[k].attempt);
	}
	return highest;
}

/* Is everything as usual some time after the flood? */
static bool afterwards(struct tnet *s, const struct stage *st, struct cost *cost)
{
	u64 usual = 2 * tnet_comm(s, 0)->cfg.rto_min;
	struct cnr_comm *c;
	bool good = true;
	u32 i, op;

	cost->again = counter(s, MEMBERS, CNR_C_attempts);
	cost->merged = counter(s, MEMBERS, CNR_C_contributions_merged);
	for (op = OPERATIONS; op < 2 * OPERATIONS && good; op++) {
		post_all(s, MEMBERS, 10 * BLOCK);
		good = tnet_wait_completed(s, op + 1, 5 * S) && !tnet_wrong(s) &&
		       alive(s) == MEMBERS;
	}
	cost->again = counter(s, MEMBERS, CNR_C_attempts) - cost->again;
	cost->merged = counter(s, MEMBERS, CNR_C_contributions_merged) - cost->merged;
	for (i = 0; i < MEMBERS; i++) {
		c = tnet_comm(s, i);
		cost->spoilt |= c->net.held_back > usual || c->tree.merges != st->aggregate;
	}
	return good;
}

/*
 * A first operation makes the switch known. Then operations follow one after the other. Late ranks
 * post when the others have waited as long as the flood lasts. The flood goes to the leaders of the
 * blocks in turn.
 */
static struct cost run_stage(const struct stage *st, bool flood)
{
	struct tnet *s = connected(MEMBERS, st->aggregate);
	struct cost cost = { 0 };
	u32 i, op, turn = 0;
	u64 until;

	post_all(s, MEMBERS, 10 * BLOCK);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	cost.time = tnet_now(s);
	for (op = 1; op < OPERATIONS; op++) {
		for (i = 0; i < st->posts; i++)
			tnet_post(s, i, 10 * BLOCK);
		until = tnet_now(s) + (st->posts == MEMBERS ? 0 : FLOOD / OPERATIONS);
		while (tnet_now(s) < until ||
		       (st->posts == MEMBERS && tnet_completed(s, 0) <= op)) {
			for (i = 0; flood && i < 10; i++, turn++)
				inject_forged(s, tnet_comm(s, 0)->una + turn % 10, st->count, turn,
					      st->from);
			tnet_pass(s, tnet_now(s) + FLOOD_GAP);
			cost.highest = max_t(u32, cost.highest, highest_attempt(s));
		}
		for (i = st->posts; i < MEMBERS; i++)
			tnet_post(s, i, 10 * BLOCK);
		if (!tnet_wait_completed(s, op + 1, 5 * S) || tnet_wrong(s) ||
		    tnet_last_error(s, 0) || alive(s) != MEMBERS)
			break;
	}
	cost.operations = op;
	cost.hostile = turn;
	cost.time = tnet_now(s) - cost.time;
	cost.packets = sent(s);
	cost.probes = counter(s, MEMBERS, CNR_C_probes_out);
	cost.attempts = counter(s, MEMBERS, CNR_C_attempts);
	tnet_pass(s, tnet_now(s) + 2 * CNR_SPOILT_BURST * CNR_SPOILT_GAP);
	cost.operations += afterwards(s, st, &cost);
	tnet_free(s);
	return cost;
}

static void test_flood(const struct stage *st)
{
	struct cost with = run_stage(st, true), without = run_stage(st, false);
	u64 more = with.packets > without.packets ? with.packets - without.packets : 0;
	u64 blocks = MEMBERS * (CNR_SPOILT_BURST + with.time / CNR_SPOILT_GAP + 1);

	tap(with.operations > OPERATIONS && without.operations > OPERATIONS,
	    "flood, %s: all live, exact", st->name);
	tap(more <= 2 * with.hostile && with.probes <= without.probes + 2 * MEMBERS,
	    "flood, %s: %u hostile packets cost %llu, %llu PROBEs instead of %llu", st->name,
	    with.hostile, (unsigned long long)more, (unsigned long long)with.probes,
	    (unsigned long long)without.probes);
	/* What a known switch merges correctly earns further attempts. */
	if (st->from == SWITCH)
		blocks += 10 * OPERATIONS / 2;
	tap(with.attempts <= blocks && with.highest <= CNR_BYPASS_ATTEMPT,
	    "flood, %s: %llu attempts of at most %llu, %u of a block", st->name,
	    (unsigned long long)with.attempts, (unsigned long long)blocks, with.highest);
	tap(!with.again && !with.spoilt && with.merged == without.merged,
	    "flood, %s: over and forgotten, %llu aggregates", st->name,
	    (unsigned long long)with.merged);
}

/*
 * In the name of a known switch, each block gets an aggregate of some members that leaves no room
 * for the switch's own. So the block stays incomplete, as after a loss, and is begun anew.
 */
static void test_known(void)
{
	struct tnet *s = connected(MEMBERS, true);
	u64 begin, attempts, bound;
	u32 op, i, step;

	post_all(s, MEMBERS, 10 * BLOCK);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	begin = tnet_now(s);
	for (op = 1; op <= 10 * OPERATIONS; op++) {
		for (i = 0; i < MEMBERS - 1; i++)
			tnet_post(s, i, 10 * BLOCK);
		for (step = 0; step < 10; step++) {
			for (i = 0; i < 10; i++)
				inject_forged(s, tnet_comm(s, 0)->una + i, 2, 1, SWITCH);
			tnet_pass(s, tnet_now(s) + 100 * CNR_USEC);
		}
		tnet_post(s, MEMBERS - 1, 10 * BLOCK);
		if (!tnet_wait_completed(s, op + 1, 5 * S))
			break;
	}
	tap(op > 10 * OPERATIONS && !tnet_wrong(s) && alive(s) == MEMBERS,
	    "parts in the name of a known switch: all live, exact");
	attempts = counter(s, MEMBERS, CNR_C_attempts);
	bound = MEMBERS * (CNR_SPOILT_BURST + (tnet_now(s) - begin) / CNR_SPOILT_GAP + 1) +
		10 * op / 2;
	tap(attempts <= bound, "parts in the name of a known switch: %llu attempts of at most %llu",
	    (unsigned long long)attempts, (unsigned long long)bound);
	tnet_free(s);
}

/*
 * `acked` of aggregates is changed on the way and claims that everybody has all results, but rank 3
 * lacks one of the first operation. Who believed that would have freed it before rank 3 asks.
 */
struct flip {
	struct tnet *s;
	u32	block;		/* rank 3 does not get its result */
	bool	deaf;
	u32	flipped;
};

static bool flip_done(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct canary_hdr *forged = (struct canary_hdr *)h;
	struct flip *f = arg;

	if (h->type == CANARY_CONTRIBUTION && from < 0 && cnr_is_merged(h)) {
		forged->contribution.acked = cpu_to_be32(be32_to_cpu(h->block) + 1000);
		f->flipped++;
	}
	return f->deaf && to == 3 && h->type == CANARY_RESULT && be32_to_cpu(h->block) == f->block;
}

static void test_done(void)
{
	struct flip f = { .s = connected(MEMBERS, true), .deaf = true };
	u32 op;

	f.block = forge_block(tnet_comm(f.s, 0));
	tnet_faults(f.s)->filter = flip_done;
	tnet_faults(f.s)->filter_arg = &f;
	for (op = 0; op < 20; op++)
		post_all(f.s, MEMBERS, 8 * BLOCK);
	tnet_pass(f.s, tnet_now(f.s) + S);
	f.deaf = false;
	tap(f.flipped > 8 && !tnet_completed(f.s, 3), "done of %u aggregates flipped: one lacks a result",
	    f.flipped);
	tap(tnet_wait_completed(f.s, 20, 30 * S) && !tnet_wrong(f.s) && alive(f.s) == MEMBERS,
	    "done of aggregates flipped: who lacks one still gets it");
	tnet_free(f.s);
}

/* Everything is merged, so members say what they have only by their contributions. */
static void test_release(void)
{
	struct tnet *s = connected(MEMBERS, true);
	u64 packets = tnet_traffic(s)->packets;
	u32 op, most = 0;

	for (op = 0; op < 200; op++) {
		post_all(s, MEMBERS, BLOCK);
		if (!tnet_wait_completed(s, op + 1, 5 * S))
			abort();
		most = max_t(u32, most, tnet_holds(s, 1));
	}
	packets = tnet_traffic(s)->packets - packets;
	tap(most == CNR_OPS_BEGUN, "small operations: at most %u are kept", most);
	/*
	 * Each packet takes two hops up or two hops down. Only the aggregate takes one, to the
	 * leader.
	 */
	tap(packets == 200 * 2 * MEMBERS, "small operations: nothing else is sent (%llu packets)",
	    (unsigned long long)packets);
	tnet_pass(s, tnet_now(s) + S);
	tap(!tnet_vectors_held(s), "small operations: then all are released");
	tnet_free(s);
}

int main(void)
{
	test_idle("a whole one", (u16[]){ 4, 0 });
	test_idle("two halves", (u16[]){ 2, 2, 0 });
	test_idle("a part", (u16[]){ 3, 0 });
	for (u32 i = 0; i < ARRAY_SIZE(stages); i++)
		test_flood(&stages[i]);
	test_known();
	test_done();
	test_release();
	return tap_done("core-forged");
}
