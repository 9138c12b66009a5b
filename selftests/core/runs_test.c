// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trees in which a member leads several blocks in a row: who leads what, what lost results cost,
 * and which lengths a member believes.
 */
#include "core/inside.h"
#include "trial.h"

#define LONG	(352 * 800)

struct turns {
	const char *name;
	u32	members;
	u32	window;
	u8	run;		/* as rank 0 is told */
	u8	agreed;
	u32	smaller;	/* window of the last rank, if it is another */
	u32	first_block;
	bool	formed;
};

static const struct turns turns[] = {
	{ "block by block", 4, 0, 0, 1 },
	{ "runs of 1", 4, 0, 1, 1 },
	{ "runs of 2", 4, 0, 2, 2 },
	{ "runs of 4", 5, 0, 4, 4 },
	{ "runs of 8", 8, 0, 8, 8 },
	{ "runs of 16", 3, 0, 16, 16 },
	{ "runs of 16, numbers wrap, the first run is cut", 3, 0, 16, 16, 0, 0xffffff07 },
	{ "runs of 16, a window has one of each", 8, 128, 16, 16 },
	{ "runs of 16, a window has less than one of each", 5, 64, 16, 8 },
	{ "runs of 16, a member has a smaller window", 4, 256, 16, 4, 16 },
	{ "runs of 16, a window of one block", 2, 1, 16, 1 },
	{ "runs of 16, 40 members", 40, 256, 16, 4 },
	{ "runs of 8, from a table", 6, 0, 8, 8, .formed = true },
};

struct seen {
	u32	members;
	u32	run;
	u32	right;
	u32	wrong;
};

static bool look_at_leader(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct seen *seen = arg;

	if (h->type != CANARY_CONTRIBUTION)
		return false;
	if ((u32)to == block / seen->run % seen->members)
		seen->right++;
	else
		seen->wrong++;
	return false;
}

static struct tnet *begin_turns(const struct turns *t, struct seen *seen)
{
	struct tnet_config cfg = {
		.members = t->members, .window = t->window, .seed = 11, .run = t->run,
		.algorithm = CANARY_ALG_TREE, .formed = t->formed,
		.fixed_first = t->first_block, .first_block = t->first_block,
		.faults.filter = look_at_leader, .faults.filter_arg = seen,
	};
	struct canary_peer peer[TNET_MEMBERS_MAX];
	struct cnr_table table = { 0 };
	u16 room[8 * TNET_MEMBERS_MAX] = { 0 };
	struct tnet *s = tnet_new(&cfg);
	u32 rank;

	if (t->smaller)
		tnet_comm(s, t->members - 1)->cfg.window = t->smaller;
	if (t->formed) {
		tnet_table(s, &table, peer);
		table.start_within = 3 * S;
		if (cnr_table_room(t->members) > sizeof(room) ||
		    cnr_table_check(&table, room, &rank) || tnet_form(s, -1, &table))
			abort();
		return s;
	}
	return connect_all(s);
}

/* All members send their contributions to whose turn it is, and know how long runs are. */
static void test_turns(const struct turns *t)
{
	struct seen seen = { .members = t->members, .run = t->agreed };
	struct tnet *s = begin_turns(t, &seen);
	u32 blocks, agreed = 0, full = 0, i;
	struct cnr_info info;
	bool sums, sent;

	post_all(s, t->members, LONG);
	sums = tnet_wait_completed(s, 1, 60 * S) && !tnet_wrong(s);
	for (i = 0; i < t->members; i++) {
		cnr_info(tnet_comm(s, i), &info);
		agreed += info.algorithm == CANARY_ALG_TREE &&
			  info.number == (t->agreed > 1 ? t->agreed : 0);
		full += cnr_stats(tnet_comm(s, i))->drop[CANARY_DROP_FULL];
	}
	cnr_info(tnet_comm(s, 0), &info);
	blocks = (LONG + info.elements - 1) / info.elements;
	/* From a table, contributions before the last greeting are sent again. */
	sent = seen.right == blocks * (t->members - 1) ||
	       (t->formed && seen.right > blocks * (t->members - 1));
	tap(sums && agreed == t->members && sent && !seen.wrong && !full,
	    "%s: %u members take turns", t->name, t->members);
	if (!sums || agreed != t->members || !sent || seen.wrong || full)
		printf("# sums %d, agreed %u, right %u of %u, wrong %u, full %u\n", sums, agreed,
		       seen.right, blocks * (t->members - 1), seen.wrong, full);
	tnet_free(s);
}

/* Return: how many of @n blocks from @first on the rank of the first one leads */
static u32 leads_of(u32 members, u32 run, u32 first, u32 n)
{
	u32 rank = first / run % members, leads = 0, i;

	for (i = 0; i < n; i++)
		leads += (first + i) / run % members == rank;
	return leads;
}

/* There is a slot for each block that a member may lead at a time, whatever window was agreed. */
static void test_slots(void)
{
	u32 members, window, run, i, few = 0, less = 0, cases = 0;
	struct cnr_config cfg = { 0 };

	for (members = 1; members <= 40; members++) {
		for (window = 1; window <= 256; window *= 2) {
			for (run = 1; run <= cnr_run_most(members, window); run *= 2) {
				u32 leads, own;

				cfg.members = members;
				leads = cnr_shapes_leads(&cfg, window, run);
				own = cnr_shapes_leads(&cfg, 256, cnr_run_most(members, 256));
				/* Places in the rotation, and where numbers wrap */
				for (i = 0; i < members * run; i++)
					few += leads_of(members, run, i, 2 * window) > leads;
				for (i = 0; i <= 2 * window; i++)
					few += leads_of(members, run, 0 - i, 2 * window) > leads;
				less += own < leads;
				cases++;
			}
		}
	}
	tap(!few && !less && cases > 500, "slots for all that a member leads in two windows");
	if (few || less || cases <= 500)
		printf("# too few %u, less %u, cases %u\n", few, less, cases);
}

static const struct trial trials[] = {
	{ "no switches", 4, 60000, 3, 2, .run = 16 },
	{ "aggregated", 8, 60000, 3, 2, .run = 16, .aggregate = true },
	{ "1 % loss", 8, 60000, 3, 2, .run = 8, .faults.drop = 10000 },
	{ "1 % loss, aggregated", 8, 60000, 3, 2, .run = 8, .aggregate = true,
	  .faults.drop = 10000 },
	{ "10 % loss, aggregated", 8, 30000, 2, 2, .run = 16, .aggregate = true,
	  .faults.drop = 100000 },
	{ "10 % late by 3 ms", 8, 30000, 2, 2, .run = 16, .aggregate = true,
	  .faults.delay = 100000, .faults.delay_ns = 3 * MS },
	{ "10 % repeated", 8, 30000, 2, 2, .run = 4, .aggregate = true, .faults.repeat = 100000 },
	{ "everything at once", 8, 20000, 3, 3, .run = 16, .aggregate = true,
	  .faults.drop = 20000, .faults.repeat = 20000, .faults.delay = 50000,
	  .faults.delay_ns = 5 * MS, .faults.corrupt = 5000 },
	{ "everything at once, a window of 8", 3, 20000, 3, 3, .run = 16, .window = 8,
	  .aggregate = true, .faults.drop = 20000, .faults.repeat = 20000,
	  .faults.delay = 50000, .faults.delay_ns = 5 * MS, .faults.corrupt = 5000 },
	{ "many small operations", 8, 10, 300, 16, .run = 16, .aggregate = true },
	{ "numbers wrap", 5, 60000, 3, 2, .run = 8, .aggregate = true,
	  .first_block = 0xffffffe3, .faults.drop = 20000 },
	{ "slices", 33, 20000, 2, 2, .run = 8, .slice = 7, .aggregate = true,
	  .faults.drop = 20000 },
	{ "64 members, 1 % loss", 64, 30000, 1, 1, .run = 16, .aggregate = true,
	  .faults.drop = 10000 },
};

/* Drops one result on its way to a member. Later results of its leader tell of it. */
struct lost {
	struct tnet *net;
	u32	at;		/* place of the block in its run */
	u32	run;
	u32	block;		/* that was dropped; 0: none yet */
	u64	dropped;	/* when */
	u64	asked;		/* when it was asked for */
};

static bool drop_result(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 block = be32_to_cpu(h->block);
	struct lost *l = arg;

	if (h->type == CANARY_REQUEST && from == 1 && block == l->block && !l->asked)
		l->asked = tnet_now(l->net);
	if (h->type != CANARY_RESULT || l->block || to != 1 || block % l->run != l->at ||
	    block < 64)
		return false;
	l->block = block;
	l->dropped = tnet_now(l->net);
	return true;
}

/* Without being told, the member would ask after a retransmission timeout, at least 5 ms. */
static void test_lost(u32 run, u32 at)
{
	struct lost l = { .run = run, .at = at };
	struct tnet_config cfg = {
		.members = 4, .seed = 5, .algorithm = CANARY_ALG_TREE, .run = run,
		.fixed_first = true, .first_block = 32,
		.faults.filter = drop_result, .faults.filter_arg = &l,
	};
	bool sums;

	l.net = connect_all(tnet_new(&cfg));
	post_all(l.net, 4, LONG);
	sums = tnet_wait_completed(l.net, 1, 60 * S) && !tnet_wrong(l.net);
	tap(sums && l.asked && l.asked - l.dropped < 3 * MS,
	    "runs of %u: later results tell that number %u is lost", run, at);
	if (l.asked - l.dropped >= 3 * MS)
		printf("# block %u, asked after %llu us\n", l.block,
		       (unsigned long long)(l.asked - l.dropped) / 1000);
	tnet_free(l.net);
}

/* Rank 0 says what no member should believe. */
struct lie {
	const char *name;
	u8	algorithm;
	u8	run_bits;
	u32	members;
	enum canary_drop drop;
	bool	given;		/* members were given runs of one block */
	struct tnet *net;
};

static bool lie_in_welcome(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct lie *l = arg;
	struct cnr_comm *root = tnet_comm(l->net, 0);

	if (from || h->type != CANARY_WELCOME || h->flags & CANARY_F_WAITING)
		return false;
	root->algorithm = l->algorithm;
	root->trees = l->algorithm == CANARY_ALG_STATIC ? 2 : 0;
	root->run_bits = l->run_bits;
	return h->welcome.algorithm != l->algorithm ||
	       be16_to_cpu(h->welcome.run) != 1U << l->run_bits;
}

static void test_lie(struct lie *l)
{
	struct tnet_config cfg = {
		.members = l->members, .window = 64, .seed = 8, .algorithm = CANARY_ALG_TREE,
		.faults.filter = lie_in_welcome, .faults.filter_arg = l,
	};
	u32 i, joined = 0, dropped = 0;

	l->net = tnet_new(&cfg);
	for (i = 1; i < l->members; i++)
		tnet_comm(l->net, i)->cfg.given = l->given;
	tnet_connect(l->net, -1);
	tnet_pass(l->net, tnet_now(l->net) + 5 * S);
	for (i = 1; i < l->members; i++) {
		joined += cnr_state(tnet_comm(l->net, i)) == CNR_CONNECTED;
		dropped += cnr_stats(tnet_comm(l->net, i))->drop[l->drop] > 0;
	}
	tap(l->drop ? !joined && dropped == l->members - 1 : joined == l->members - 1,
	    "%s: %s", l->name, l->drop ? "no member believes it" : "all members believe it");
	tnet_free(l->net);
}

int main(void)
{
	struct lie lies[] = {
		{ "runs of 16 of 4", CANARY_ALG_TREE, 4, 4, CANARY_DROP_NONE },
		{ "runs of 16 of 5 in 64 blocks", CANARY_ALG_TREE, 4, 5, CANARY_DROP_STATE },
		{ "runs of 1 that were given", CANARY_ALG_TREE, 0, 4, CANARY_DROP_NONE, true },
		{ "runs of 2 in place of those", CANARY_ALG_TREE, 1, 4, CANARY_DROP_STATE, true },
		{ "runs in a ring", CANARY_ALG_RING, 1, 4, CANARY_DROP_STATE },
		{ "runs, and rank 0 decides", CANARY_ALG_AUTO, 1, 4, CANARY_DROP_STATE },
		{ "static trees", CANARY_ALG_STATIC, 0, 4, CANARY_DROP_NONE },
		{ "runs of static trees", CANARY_ALG_STATIC, 1, 4, CANARY_DROP_STATE },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(turns); i++)
		test_turns(&turns[i]);
	test_slots();
	run_trials("runs: ", trials, ARRAY_SIZE(trials), CANARY_ALG_TREE, 3);
	for (i = 0; i < 8; i++)
		test_lost(8, i);
	test_lost(1, 0);
	for (i = 0; i < ARRAY_SIZE(lies); i++)
		test_lie(&lies[i]);
	return tap_done("core-runs");
}
