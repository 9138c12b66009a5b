// SPDX-License-Identifier: BSD-2-Clause
/*
 * Leaving. A member that is done closes at once, and late members still get their results. A dead
 * member delays nobody for longer than it takes to be sure. Everything has a limit.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"

#define MEMBERS		6
#define ELEMENTS	(352 * 12)	/* so that every rank leads two blocks */
#define DEAD		(5 * S)

/* A link over which no results come until some time, or no packets at all */
struct deaf {
	struct tnet *s;
	int	rank;
	int	but;		/* it hears this rank; if it is the rank itself: nobody */
	u64	until;
	bool	all;
};

static bool deaf(void *arg, int from, int to, const struct canary_hdr *h)
{
	const struct deaf *d = arg;

	if (tnet_now(d->s) >= d->until)
		return false;
	return (to == d->rank && (d->all || (h->type == CANARY_RESULT && from != d->but))) ||
	       (from == d->rank && d->all);
}

static struct tnet *joined(u8 algorithm, bool aggregate, u64 seed, u64 linger)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = seed, .key = true, .algorithm = algorithm,
		.aggregate = aggregate, .linger = linger,
	};
	struct tnet *s = tnet_new(&cfg);

	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	return s;
}

/*
 * Let time pass. Members close when their operations are complete. Stop when at most @stay members
 * are not CLOSED or FAILED. Return: their number
 */
static u32 leave_until(struct tnet *s, u64 until, u32 stay)
{
	u32 i, here;

	do {
		tnet_pass(s, tnet_now(s) + MS / 2);
		for (i = 0, here = 0; i < MEMBERS; i++) {
			if (tnet_completed(s, i) && cnr_state(tnet_comm(s, i)) == CNR_CONNECTED)
				tnet_close(s, i, false);
			here += cnr_state(tnet_comm(s, i)) != CNR_CLOSED &&
				cnr_state(tnet_comm(s, i)) != CNR_FAILED;
		}
	} while (here > stay && tnet_now(s) < until);
	return here;
}

static u32 exact(struct tnet *s)
{
	u32 i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += tnet_completed(s, i) == 1 && !tnet_last_error(s, i);
	return tnet_wrong(s) ? 0 : n;
}

/* All other members are done, and closed by their applications. One gets no result for long. */
static void test_slow(u8 algorithm, bool aggregate, bool silent, const char *name)
{
	u32 slow, good = 0, gone = 0;
	u64 end, last = 0;
	struct deaf d;

	for (slow = 0; slow < MEMBERS; slow++) {
		d = (struct deaf){ .rank = slow, .but = slow };
		d.s = joined(algorithm, aggregate, 40 + slow, 0);
		tnet_faults(d.s)->filter = deaf;
		tnet_faults(d.s)->filter_arg = &d;
		d.until = tnet_now(d.s) + 4 * S;
		post_all(d.s, MEMBERS, ELEMENTS);
		leave_until(d.s, tnet_now(d.s) + S / 2, 0);
		d.all = silent;
		end = d.until + S;
		gone += !leave_until(d.s, end + 10 * S, 0);
		last = max_t(u64, last, tnet_now(d.s) > end ? tnet_now(d.s) - end : 0);
		good += exact(d.s);
		tnet_free(d.s);
	}
	tap(good == MEMBERS * MEMBERS && gone == MEMBERS,
	    "%s: one hears %s for 4 s, all others have closed: %u of %u have results, all left %u of %u times",
	    name, silent ? "nothing" : "no result", good, MEMBERS * MEMBERS, gone, MEMBERS);
	tap(!last, "%s: all are gone within a second of that (%llu ms later)", name,
	    (unsigned long long)(last / MS));
}

/*
 * A member crashes with its result before it could say so, and another one is slow. That one still
 * gets its result. Then nobody waits longer than it takes to know who is dead.
 */
static void test_dead(u32 dead, u32 slow, bool silent)
{
	struct deaf d = { .rank = slow, .but = dead };
	u64 begin, took;
	u32 here;

	d.s = joined(CANARY_ALG_TREE, false, 50 + dead, 0);
	tnet_faults(d.s)->filter = deaf;
	tnet_faults(d.s)->filter_arg = &d;
	begin = tnet_now(d.s);
	d.until = begin + 3 * S;
	post_all(d.s, MEMBERS, ELEMENTS);
	while (!tnet_completed(d.s, dead))
		tnet_run(d.s, tnet_now(d.s) + MS / 10);
	tnet_run(d.s, tnet_now(d.s) + MS);
	tnet_kill(d.s, dead);
	d.all = silent;
	here = leave_until(d.s, begin + 60 * S, 1);
	took = tnet_now(d.s) - begin;
	tap(exact(d.s) == MEMBERS && here == 1 && took >= DEAD && took < 3 * S + DEAD + S,
	    "rank %u dies, rank %u hears %s for 3 s: %u have results, %u leave, after %llu ms",
	    dead, slow, silent ? "nothing" : "no result", exact(d.s), MEMBERS - here,
	    (unsigned long long)(took / MS));
	tnet_free(d.s);
}

static u32 blaming_comms(struct tnet *s, u16 culprit)
{
	enum canary_abort why;
	u16 rank[2];
	u32 i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += cnr_failure(tnet_comm(s, i), &why) == -EHOSTDOWN &&
		     cnr_missing(tnet_comm(s, i), rank, 2) == 1 && rank[0] == culprit;
	return n;
}

/*
 * Members that go on do not wait for the dead, either. They get their vectors back, and the name of
 * the dead rank.
 */
static void test_dead_idle(u32 dead)
{
	struct tnet *s = joined(CANARY_ALG_TREE, true, 60 + dead, 0);
	u32 i, held, named;

	post_all(s, MEMBERS, ELEMENTS);
	while (!tnet_completed(s, dead))
		tnet_run(s, tnet_now(s) + MS / 10);
	tnet_kill(s, dead);
	tnet_pass(s, tnet_now(s) + DEAD + 2 * S);
	held = tnet_vectors_held(s) - tnet_holds(s, dead);
	for (i = 0; i < MEMBERS; i++)
		tnet_post(s, i, ELEMENTS);
	tnet_pass(s, tnet_now(s) + 10 * MS);
	named = blaming_comms(s, dead);
	tap(!held, "rank %u dies with its result: others keep %u vectors for it", dead, held);
	tap(named == MEMBERS - 1, "rank %u dies with its result: who posts names it (%u of %u)",
	    dead, named, MEMBERS - 1);
	tnet_free(s);
}

/* Rank 0 goes without a word. The others agree without it, and a slow one gets what they have. */
static void test_root_gone(bool word)
{
	struct deaf d = { .rank = 5, .but = 5 };
	u64 begin, took;
	u32 here, good;

	d.s = joined(CANARY_ALG_TREE, false, 70, 0);
	tnet_faults(d.s)->filter = deaf;
	tnet_faults(d.s)->filter_arg = &d;
	begin = tnet_now(d.s);
	d.until = begin + 12 * S;
	d.but = 0;
	post_all(d.s, MEMBERS, ELEMENTS);
	while (!tnet_completed(d.s, 0))
		tnet_run(d.s, tnet_now(d.s) + MS / 10);
	tnet_run(d.s, tnet_now(d.s) + MS);
	if (word)
		tnet_close(d.s, 0, true);
	else
		tnet_kill(d.s, 0);
	here = leave_until(d.s, begin + 60 * S, !word);
	took = tnet_now(d.s) - begin;
	good = exact(d.s);
	tap(good == MEMBERS && here == !word && took >= 12 * S &&
	    took < 12 * S + (word ? 0 : DEAD) + S,
	    "rank 0 %s, rank 5 hears no result for 12 s: %u have results, %u leave after %llu ms",
	    word ? "leaves at once" : "dies", good, MEMBERS - here,
	    (unsigned long long)(took / MS));
	tnet_free(d.s);
}

/* Drop what the collector says to one member. */
static bool drop_told(void *arg, int from, int to, const struct canary_hdr *h)
{
	return !h->rank && ((h->type == CANARY_ACK && h->ack.to == cpu_to_be16(3)) ||
			    h->type == CANARY_LEAVE);
}

/*
 * The collector goes when it has told all members but one that everybody has everything. Its
 * successor lacks nothing, so it looks for nobody, but it has to answer.
 */
static void test_collector_disputed(bool closes)
{
	struct tnet *s = joined(CANARY_ALG_TREE, true, 75, 0);
	u64 begin, took;
	u32 i;

	tnet_faults(s)->filter = drop_told;
	post_all(s, MEMBERS, ELEMENTS);
	tnet_wait_completed(s, 1, 10 * S);
	begin = tnet_now(s);
	tnet_pass(s, begin + 40 * MS);
	if (closes)
		tnet_close(s, 0, false);
	else
		tnet_kill(s, 0);
	for (i = 0; i < 40 && tnet_vectors_held(s) != tnet_holds(s, 0); i++)
		tnet_pass(s, tnet_now(s) + S);
	took = tnet_now(s) - begin;
	tap(tnet_vectors_held(s) == tnet_holds(s, 0) && took < DEAD + 3 * S,
	    "rank 0 %s, rank 3 was not told: others keep %u vectors after %llu ms",
	    closes ? "closes" : "dies", tnet_vectors_held(s) - tnet_holds(s, 0),
	    (unsigned long long)(took / MS));
	tnet_pass(s, tnet_now(s) + DEAD + S);
	tap(tnet_comm(s, 1)->progress.collector == 1 && tnet_comm(s, 3)->progress.collector == 1,
	    "rank 0 %s, rank 3 was not told: it and its successor agree",
	    closes ? "closes" : "dies");
	tnet_free(s);
}

enum end { END_LIMIT, END_ABORT, END_TWICE };

/*
 * A closed member goes when its application's limit is over, or when the application says so.
 * Closing it again changes nothing.
 */
static void test_limit(enum end end, const char *name)
{
	struct deaf d = { .rank = 5, .but = 5 };
	u64 begin, went = 0;
	u32 i;

	d.s = joined(CANARY_ALG_TREE, true, 80, end == END_TWICE ? 0 : S);
	tnet_faults(d.s)->filter = deaf;
	tnet_faults(d.s)->filter_arg = &d;
	d.until = tnet_now(d.s) + 4 * S;
	post_all(d.s, MEMBERS, ELEMENTS);
	while (!tnet_completed(d.s, 0))
		tnet_run(d.s, tnet_now(d.s) + MS / 10);
	begin = tnet_now(d.s);
	tnet_close(d.s, 0, false);
	for (i = 0; i < 80 && !went; i++) {
		tnet_pass(d.s, tnet_now(d.s) + S / 10);
		if (i == 5 && end != END_LIMIT)
			tnet_close(d.s, 0, end == END_ABORT);
		if (cnr_state(tnet_comm(d.s, 0)) == CNR_CLOSED)
			went = (tnet_now(d.s) - begin) / (S / 10);
	}
	if (end == END_TWICE)
		tap(went >= 40 && went < 50 && exact(d.s) == MEMBERS, "%s: it served on for %llu00 ms", name,
		    (unsigned long long)went);
	else
		tap(went == (end == END_LIMIT ? 10 : 6) && tnet_wait_over(d.s, 10 * S) &&
		    tnet_last_error(d.s, 5) == -ECONNRESET,
		    "%s: it left after %llu00 ms, who lacks a result is told", name,
		    (unsigned long long)went);
	tnet_free(d.s);
}

/* Each member closes when it is done, over links that lose and delay. All get their results. */
static void test_lossy(bool aggregate)
{
	u32 seed, good = 0, gone = 0;
	struct tnet *s;

	for (seed = 0; seed < 10; seed++) {
		s = joined(CANARY_ALG_TREE, aggregate, 600 + seed, 0);
		tnet_faults(s)->drop = 350000;
		tnet_faults(s)->repeat = 20000;
		tnet_faults(s)->delay = 50000;
		tnet_faults(s)->delay_ns = 50 * MS;
		post_all(s, MEMBERS, 10 * ELEMENTS);
		gone += !leave_until(s, tnet_now(s) + 100 * S, 0);
		good += exact(s);
		tnet_free(s);
	}
	tap(good == 10 * MEMBERS && gone == 10,
	    "35 %% loss%s, each closes when done: %u of %u have results, all left %u of 10 times",
	    aggregate ? ", aggregated" : "", good, 10 * MEMBERS, gone);
}

/* The last member hears neither that all have everything, nor that the others leave. */
static bool drop_goodbye(void *arg, int from, int to, const struct canary_hdr *h)
{
	return to == 15 && (h->type == CANARY_ACK || h->type == CANARY_LEAVE);
}

static void test_goodbye_missed(void)
{
	struct tnet *s = connected(16, true);
	bool over;
	u64 begin;
	u32 i;

	tnet_faults(s)->filter = drop_goodbye;
	post_all(s, 16, 352 * 16);
	if (!tnet_wait_completed(s, 1, 5 * S))
		abort();
	for (i = 0; i < 16; i++)
		tnet_close(s, i, false);
	begin = tnet_now(s);
	over = tnet_wait_state(s, CNR_CLOSED, 20 * S);
	tap(over, "15 leave, and one does not hear it: over after %llu ms",
	    (unsigned long long)((tnet_now(s) - begin) / MS));
	tnet_free(s);
}

int main(void)
{
	test_slow(CANARY_ALG_TREE, false, false, "tree, no switch");
	test_slow(CANARY_ALG_TREE, true, false, "tree, one switch");
	test_slow(CANARY_ALG_TREE, true, true, "tree, one switch");
	test_slow(CANARY_ALG_RING, false, false, "ring");
	test_dead(1, 5, false);
	test_dead(0, 5, false);
	test_dead(4, 0, true);
	test_dead_idle(0);
	test_dead_idle(3);
	test_root_gone(true);
	test_root_gone(false);
	test_collector_disputed(false);
	test_collector_disputed(true);
	test_limit(END_LIMIT, "a limit of a second");
	test_limit(END_ABORT, "close, then abort");
	test_limit(END_TWICE, "closed twice");
	test_lossy(false);
	test_lossy(true);
	test_goodbye_missed();
	return tap_done("core-leave");
}
