// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cost of losses: one packet in an idle network, one percent of all packets on every link, a
 * rank that is late. Time is simulated, so times and counters are exact.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
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
	u32	window;
};

static const struct net nets[] = {
	{ "one switch", 4, true, 1, 0, 100000000, 500 * CNR_USEC },
	{ "leaves and spines", 8, true, 2, 2, 100000000, 1000 * CNR_USEC },
	{ "a router", 4, false, 1, 0, 100000000, 0 },
};

static struct tnet *net_new(const struct net *n, u64 seed)
{
	struct tnet_config cfg = {
		.members = n->members,
		.window = n->window,
		.aggregate = n->aggregate,
		.leaves = n->leaves,
		.spines = n->spines,
		.rate = n->rate,
		.queue = 1000,
		.timeout_ns = n->timeout_ns,
		.seed = seed,
		.algorithm = CANARY_ALG_TREE,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/* Time in ns of @operations of @blocks each, one after the other, from the second one on */
static u64 transfer(const struct net *n, u32 loss, u32 blocks, u32 operations, u64 seed)
{
	struct tnet *s = net_new(n, seed);
	u64 begin = 0;
	u32 i;

	tnet_faults(s)->drop = loss;
	for (i = 0; i < operations; i++) {
		if (i == 1)
			begin = tnet_now(s);
		post_all(s, n->members, blocks * BLOCK);
		if (!tnet_wait_completed(s, i + 1, 100 * S))
			abort();
	}
	begin = tnet_now(s) - begin;
	if (tnet_wrong(s))
		begin = CNR_NEVER;
	tnet_free(s);
	return begin;
}

static void test_goodput(const struct net *n)
{
	u64 whole = transfer(n, 0, 3000, 3, 1);
	u64 lossy = transfer(n, 10000, 3000, 3, 1);
	double limit = 2.0 * 3000 * 1514 * 8 / n->rate * 1e9 / whole;
	double ratio = (double)whole / lossy;

	tap(ratio >= 0.6 && limit > 0.6, "1 %% loss on every link, %s: %.2f of the lossless "
	    "goodput, that is %.2f of the link", n->name, ratio, limit);
}

/* Drops the first packet that matches; all of them if @large. */
struct drop {
	enum canary_type type;
	int	from, to;
	u16	count;		/* members in it; 0: any number */
	u32	skip;
	u32	done;
	bool	large;
};

static bool drop_one(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct drop *d = arg;

	if (h->type != d->type || from != d->from || (d->to != -99 && to != d->to) ||
	    (d->count && h->contribution.count != cpu_to_be16(d->count)))
		return false;
	if (!d->large && (d->done || d->skip--))
		return false;
	d->done++;
	return true;
}

static const struct net idle = {
	"idle", 8, true, 2, 1, 0, CNR_MSEC
};

/*
 * Nothing is lost, but results of one leader overtake each other. That is no reason to have less in
 * flight.
 */
static void test_overtaken(void)
{
	struct tnet *s = net_new(&idle, 7);
	u32 i, least = ~0U;

	for (i = 1; i <= 4; i++) {
		post_all(s, 8, 640 * BLOCK);
		if (!tnet_wait_completed(s, i, 5 * S))
			abort();
	}
	for (i = 0; i < 8; i++)
		least = min_t(u32, least, tnet_comm(s, i)->net.cwnd);
	tap(counter(s, 8, CNR_C_losses_told) && least >= CNR_CWND_FIRST && !tnet_wrong(s),
	    "results overtake each other (%llu): all still have %u blocks or more in flight",
	    (unsigned long long)counter(s, 8, CNR_C_losses_told), least);
	tnet_free(s);
}

/* Drops every other result to rank 7, but not again what it asks for. */
static bool drop_results(void *arg, int from, int to, const struct canary_hdr *h)
{
	u32 *last = arg, block = be32_to_cpu(h->block);

	if (h->type != CANARY_RESULT || to != 7 || block % 2 || !canary_before(*last, block))
		return false;
	*last = block;
	return true;
}

/* So many losses are congestion: who has them sends less. */
static void test_many(void)
{
	struct tnet *s = net_new(&idle, 7);
	u32 last = tnet_comm(s, 7)->first - 1, cwnd;
	bool good;

	tnet_faults(s)->filter = drop_results;
	tnet_faults(s)->filter_arg = &last;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 1, 5 * S) && !tnet_wrong(s);
	cwnd = tnet_comm(s, 7)->net.cwnd;
	tap(good && cwnd < CNR_CWND_FIRST && tnet_comm(s, 6)->net.cwnd > CNR_CWND_FIRST,
	    "every other result is lost: %u blocks in flight, %u where none is", cwnd,
	    tnet_comm(s, 6)->net.cwnd);
	tnet_free(s);
}

/* One packet is lost. The cost of that is exact. */
static void test_single(const char *what, struct drop d, u64 asked, u64 again, u64 requests,
			u64 results, u64 groups)
{
	struct tnet *s = net_new(&idle, 7);
	u64 begin;
	bool good;

	/* Members know their first aggregators, and say so after each question. */
	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	if (groups)
		for (u32 i = 0; i < 8; i++)
			for (u32 k = 0; k < 8; k++)
				tnet_comm(s, i)->member[k].first_aggregator = tnet_comm(s, k)->first_aggregator;
	tnet_faults(s)->filter = drop_one;
	tnet_faults(s)->filter_arg = &d;
	begin = tnet_now(s);
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && d.done;
	tap(good, "lost: %s: exact, within %llu us", what,
	    (unsigned long long)(tnet_now(s) - begin) / 1000);
	tap(!counter(s, 8, CNR_C_attempts) && counter(s, 8, CNR_C_failures_out) == asked &&
	    counter(s, 8, CNR_C_retransmissions) == again &&
	    counter(s, 8, CNR_C_requests_out) == requests &&
	    counter(s, 8, CNR_C_results_again) == results &&
	    counter(s, 8, CNR_C_groups) == groups,
	    "lost: %s: %llu asked to send again, %llu did, %llu results asked for, %llu sent, "
	    "%llu found as a group, nothing redone", what,
	    (unsigned long long)counter(s, 8, CNR_C_failures_out),
	    (unsigned long long)counter(s, 8, CNR_C_retransmissions),
	    (unsigned long long)counter(s, 8, CNR_C_requests_out),
	    (unsigned long long)counter(s, 8, CNR_C_results_again),
	    (unsigned long long)counter(s, 8, CNR_C_groups));
	tnet_free(s);
}

/* Drops what some ranks contribute to one block, once. */
struct few {
	u32	ranks;		/* one bit each */
	u32	block;
	u32	done;
};

static bool drop_few(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct few *f = arg;

	if (from < 0 || h->type != CANARY_CONTRIBUTION || h->block != cpu_to_be32(f->block) ||
	    !(f->ranks >> from & 1) || f->done >> from & 1)
		return false;
	f->done |= 1U << from;
	return true;
}

/* The block that @leader leads, @blocks after the earliest one */
static u32 block_of(struct tnet *s, u16 leader, u32 blocks)
{
	u32 block = tnet_comm(s, leader)->next + blocks;

	while (cnr_leader(tnet_comm(s, leader), block) != leader)
		block++;
	return block;
}

/*
 * Contributions of @ranks are lost before they are merged. Only these ranks are asked for theirs.
 */
static void test_few(u32 ranks, u32 missing)
{
	struct tnet *s = net_new(&idle, 7);
	struct few few = { .ranks = ranks };
	bool good;

	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	few.block = block_of(s, 7, 200);
	tnet_faults(s)->filter = drop_few;
	tnet_faults(s)->filter_arg = &few;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && few.done == ranks;
	tap(good && !counter(s, 8, CNR_C_attempts) &&
	    counter(s, 8, CNR_C_failures_out) == missing &&
	    counter(s, 8, CNR_C_retransmissions) == missing,
	    "lost: contributions of %u ranks to a block: %llu asked again, %llu did, %llu times anew",
	    missing, (unsigned long long)counter(s, 8, CNR_C_failures_out),
	    (unsigned long long)counter(s, 8, CNR_C_retransmissions),
	    (unsigned long long)counter(s, 8, CNR_C_attempts));
	tnet_free(s);
}

/*
 * The contributions of three of four ranks are lost before their leaf. The leaf holds the fourth
 * one until its timeout. That says nothing about how late packets may be that nobody holds.
 */
static void test_held(void)
{
	struct few few = { .ranks = 0x07 };
	struct tnet *s = net_new(&idle, 7);
	const struct cnr_comm *leader = tnet_comm(s, 7);
	u64 usual;
	bool good;

	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	few.block = block_of(s, 7, 200);
	tnet_faults(s)->filter = drop_few;
	tnet_faults(s)->filter_arg = &few;
	usual = leader->net.reordering;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && few.done == few.ranks;
	tap(good && leader->net.reordering <= usual, "what a switch held is no reordering (%llu us)",
	    (unsigned long long)leader->net.reordering / 1000);
	tnet_free(s);
}

/*
 * Contributions of some ranks are lost. When the block has been begun anew, one of them is lost
 * again.
 */
struct twice {
	struct tnet *s;
	struct few first, again;
	u64	lost_at;
	u64	anew_at;
	u64	asked_at;
};

static bool drop_twice(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct twice *t = arg;

	if (h->type == CANARY_FAILURE && h->block == cpu_to_be32(t->first.block)) {
		if (!t->anew_at)
			t->anew_at = tnet_now(t->s);
		else if ((h->flags & CANARY_F_BYPASS) && !t->asked_at)
			t->asked_at = tnet_now(t->s);
	}
	if (!drop_few(h->attempt ? &t->again : &t->first, from, to, h))
		return false;
	if (!h->attempt)
		t->lost_at = tnet_now(t->s);
	return true;
}

/*
 * A leader waits no longer for what switches may hold than a block takes. A block that was begun
 * anew is looked at when answers are overdue. 10 ms: 5 for timeouts of two switches, and two round
 * trips with a large window.
 */
static void test_twice(void)
{
	struct tnet *s = net_new(&idle, 7);
	struct twice t = { .s = s, .first.ranks = 0x33, .again.ranks = 0x01 };
	bool good;

	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	t.first.block = block_of(s, 7, 200);
	t.again.block = t.first.block;
	tnet_faults(s)->filter = drop_twice;
	tnet_faults(s)->filter_arg = &t;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && t.again.done;
	tap(good && t.anew_at - t.lost_at < 10 * MS, "lost: four ranks: begun anew after %llu us",
	    (unsigned long long)(t.anew_at - t.lost_at) / 1000);
	tap(good && t.asked_at && t.asked_at - t.anew_at < 6 * MS,
	    "lost: four ranks and, anew, one of them: that is asked for after %llu us more",
	    (unsigned long long)(t.asked_at - t.anew_at) / 1000);
	tnet_free(s);
}

/*
 * Drops one rank's contribution until the leader has said WAIT to @victim, and then the victim's
 * result.
 */
struct waited {
	struct tnet *s;
	u32	block;
	int	from, victim;
	bool	wait;
	u32	room;		/* blocks that might still have been contributed when it asked */
	u64	lost_at;
	u64	came_at;
};

static bool drop_after_wait(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct waited *w = arg;
	const struct cnr_comm *v = tnet_comm(w->s, w->victim);

	if (h->block != cpu_to_be32(w->block))
		return false;
	if (h->type == CANARY_WAIT && to == w->victim)
		w->wait = true;
	if (h->type == CANARY_REQUEST && from == w->victim && !w->room)
		w->room = v->una + v->window - v->next;
	if (h->type == CANARY_CONTRIBUTION && from == w->from)
		return !w->wait;
	if (h->type != CANARY_RESULT || to != w->victim)
		return false;
	if (!w->lost_at) {
		w->lost_at = tnet_now(w->s);
		return true;
	}
	w->came_at = tnet_now(w->s);
	return false;
}

/*
 * A member asks for the earliest block in time, though others are finished. When later results say
 * that this one is finished, too, it no longer waits as WAIT told it.
 */
static void test_wait(void)
{
	struct net wide = { "wide window", 32, true, 1, 0, 400000000, 500 * CNR_USEC, 1024 };
	struct tnet *s = net_new(&wide, 7);
	struct waited w = { .s = s, .from = 1, .victim = 2 };
	bool good;

	post_all(s, 32, 3000 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	w.block = block_of(s, 3, 1000);
	tnet_faults(s)->filter = drop_after_wait;
	tnet_faults(s)->filter_arg = &w;
	post_all(s, 32, 3000 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && w.lost_at;
	tap(good && w.room > 256, "lost: the earliest block is asked for while %u more may come",
	    w.room);
	tap(good && w.came_at && w.came_at - w.lost_at < 6 * MS,
	    "lost: a result after WAIT: comes again %llu us later",
	    (unsigned long long)(w.came_at - w.lost_at) / 1000);
	tnet_free(s);
}

/* Rank 0 gets nothing that switches merge, so they hold everything. They do not hold answers. */
struct answers {
	struct tnet *s;
	u32	block;
	u64	asked_at, again_at;
};

static bool drop_answer(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct answers *a = arg;
	u64 now = tnet_now(a->s);

	if (h->type == CANARY_FAILURE && a->asked_at && !a->again_at &&
	    h->block == cpu_to_be32(a->block) && from == 7)
		a->again_at = now;
	if (from || h->type != CANARY_CONTRIBUTION)
		return false;
	if (!(h->flags & CANARY_F_BYPASS))
		return true;
	if (h->block != cpu_to_be32(a->block) || a->asked_at)
		return false;
	a->asked_at = now;
	return true;
}

/*
 * How soon a question is repeated depends on the time that answers take, and not on what switches
 * hold.
 */
static void test_answer(void)
{
	struct tnet *s = net_new(&idle, 7);
	struct answers a = { .s = s };
	bool good;

	a.block = block_of(s, 7, 600);
	tnet_faults(s)->filter = drop_answer;
	tnet_faults(s)->filter_arg = &a;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s) && a.asked_at;
	tap(good && a.again_at && a.again_at - a.asked_at < MS,
	    "lost: an answer: asked for again %llu us later, of a round trip of %llu us",
	    (unsigned long long)(a.again_at - a.asked_at) / 1000,
	    (unsigned long long)tnet_comm(s, 7)->net.srtt / 1000);
	tnet_free(s);
}

/* One member loses the last results of six leaders, but not that of the seventh. */
struct tail {
	struct tnet *s;
	u32	first, done;
	int	victim;
	u64	asked_at, last_at;
};

static bool drop_tail(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct tail *t = arg;
	u32 k = be32_to_cpu(h->block) - t->first;

	if (h->type == CANARY_REQUEST && from == t->victim && k < 6) {
		if (!t->asked_at)
			t->asked_at = tnet_now(t->s);
		t->last_at = tnet_now(t->s);
	}
	if (h->type != CANARY_RESULT || to != t->victim || k >= 6 || t->done >> k & 1)
		return false;
	t->done |= 1U << k;
	return true;
}

/*
 * No later result tells of the lost ones. But all ranks have contributed, so they are asked for
 * together.
 */
static void test_tail(void)
{
	struct tnet *s = net_new(&idle, 7);
	struct tail t = { .s = s };
	bool good;

	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	t.first = tnet_comm(s, 0)->next + 633;
	t.victim = cnr_leader(tnet_comm(s, 0), t.first - 1);
	tnet_faults(s)->filter = drop_tail;
	tnet_faults(s)->filter_arg = &t;
	post_all(s, 8, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s) && t.done == 0x3f;
	tap(good && t.last_at - t.asked_at < 200 * CNR_USEC,
	    "lost: the last results of six leaders: all are asked for within %llu us",
	    (unsigned long long)(t.last_at - t.asked_at) / 1000);
	tnet_free(s);
}

/* A rank computes 300 ms longer: that costs 300 ms and nothing else. */
static void test_slow(void)
{
	struct tnet *s = net_new(&idle, 3);
	u64 usual, begin;
	bool good;
	u32 i;

	begin = tnet_now(s);
	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	usual = tnet_now(s) - begin;
	begin = tnet_now(s);
	for (i = 0; i < 7; i++)
		(void)!tnet_post(s, i, 640 * BLOCK);
	tnet_run(s, begin + 300 * MS);
	(void)!tnet_post(s, 7, 640 * BLOCK);
	good = tnet_wait_completed(s, 2, 5 * S) && !tnet_wrong(s);
	tap(good && tnet_now(s) - begin < 300 * MS + usual + usual / 4,
	    "slow rank: %llu us instead of %llu us", (unsigned long long)(tnet_now(s) - begin) / 1000,
	    (unsigned long long)usual / 1000);
	tap(!counter(s, 8, CNR_C_attempts) && !counter(s, 8, CNR_C_retransmissions) &&
	    !counter(s, 8, CNR_C_results_again) && !counter(s, 8, CNR_C_bypass),
	    "slow rank: nothing is sent again");
	tap(counter(s, 8, CNR_C_requests_out) + counter(s, 8, CNR_C_probes_out) +
	    counter(s, 8, CNR_C_failures_out) < 8 * 8 * 8, "slow rank: few questions (%llu)",
	    (unsigned long long)(counter(s, 8, CNR_C_requests_out) +
	    counter(s, 8, CNR_C_probes_out) + counter(s, 8, CNR_C_failures_out)));
	tnet_free(s);
}

/* From some moment on, contributions of one rank vanish, but small packets arrive. */
static void test_path(void)
{
	struct drop d = { .type = CANARY_CONTRIBUTION, .from = 5, .to = -99, .large = true };
	struct tnet *s = net_new(&idle, 3);
	u32 named;

	tnet_faults(s)->filter = drop_one;
	tnet_faults(s)->filter_arg = &d;
	post_all(s, 8, 64 * BLOCK);
	tnet_wait_state(s, CNR_FAILED, 120 * S);
	named = blaming(s, 8, -EMSGSIZE, 5);
	tap(named == 8, "large packets vanish: %u of 8 end with EMSGSIZE and name the rank (%llu s)",
	    named, (unsigned long long)(tnet_now(s) / S));
	tnet_free(s);
}

/* The vector of a large operation is given back although no other operation is posted. */
static void test_release(void)
{
	struct tnet *s = net_new(&idle, 3);

	post_all(s, 8, 640 * BLOCK);
	tnet_wait_completed(s, 1, 5 * S);
	tnet_run(s, tnet_now(s) + 2 * MS);
	tap(!tnet_vectors_held(s), "large operations are released at once");
	tnet_free(s);
}

static void test_halves(void)
{
	static const u32 posts[2][2] = { { 100 * BLOCK, 100 * BLOCK }, { 101 * BLOCK, 99 * BLOCK } };
	struct tnet *s = net_new(&idle, 3);
	u32 i, k, failed;

	for (i = 0; i < 8; i++)
		for (k = 0; k < 2; k++)
			(void)!tnet_post(s, i, posts[i == 6][k]);
	tnet_wait_state(s, CNR_FAILED, 20 * S);
	failed = blaming(s, 8, -EPROTO, 6);
	tap(failed == 8 && !tnet_wrong(s), "100 + 100 against 101 + 99 blocks: %u of 8 name the rank",
	    failed);
	tnet_free(s);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(nets); i++)
		test_goodput(&nets[i]);
	test_overtaken();
	test_many();
	test_single("a contribution before the leaf",
		    (struct drop){ .type = CANARY_CONTRIBUTION, .from = 3, .to = -1, .skip = 200 },
		    1, 1, 0, 0, 0);
	test_single("an aggregate before the spine",
		    (struct drop){ .type = CANARY_CONTRIBUTION, .from = -1, .to = -3, .count = 4,
			    .skip = 20 },
		    4, 4, 0, 0, 1);
	test_single("a result behind the leaf",
		    (struct drop){ .type = CANARY_RESULT, .from = -2, .to = 6, .skip = 200 },
		    0, 0, 1, 1, 0);
	test_few(0x05, 2);
	test_few(0x1a, 3);
	test_held();
	test_twice();
	test_wait();
	test_answer();
	test_tail();
	test_slow();
	test_path();
	test_release();
	test_halves();
	return tap_done("core-loss");
}
