// SPDX-License-Identifier: BSD-2-Clause
/*
 * Greetings that are repeated, lost or late, and members that leave before all are in. None of that
 * may end a communicator whose members live. PROTOCOL.md, "Greetings"
 */
#include <errno.h>

#include "core/inside.h"
#include "testnet_inside.h"
#include "trial.h"

#define RANKS	4
#define KEPT	4000
#define STORMS	200

/* Greetings that were sent, and whether to lose the next one */
static struct {
	struct canary_hdr hdr[KEPT];
	int	to[KEPT];
	u32	kept;
	u32	sent;		/* by rank 1 */
	u64	rng;
	u32	lose;		/* of those that @lost says */
	bool	(*lost)(int to, const struct canary_hdr *h);
} seen;

/* Return: a number less than @n */
static u64 any(u64 n)
{
	seen.rng = seen.rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seen.rng >> 33) % n;
}

static bool watch(void *arg, int from, int to, const struct canary_hdr *h)
{
	if (h->type != CANARY_GREETING)
		return false;
	seen.sent += be16_to_cpu(h->rank) == 1 && to >= 0;
	if (seen.kept < KEPT && to >= 0) {
		seen.hdr[seen.kept] = *h;
		seen.to[seen.kept++] = to;
	}
	if (!seen.lose || !seen.lost(to, h))
		return false;
	seen.lose--;
	return true;
}

static struct tnet *formed(u64 seed, u64 within, struct cnr_table *t, struct canary_peer *peer)
{
	struct tnet_config cfg = {
		.members = RANKS, .aggregate = true, .seed = seed, .key = seed & 1,
		.algorithm = CANARY_ALG_AUTO, .formed = true,
	};
	u16 room[8 * RANKS] = { 0 };
	struct tnet *s = tnet_new(&cfg);
	u32 rank;

	tnet_table(s, t, peer);
	t->start_within = within;
	if (cnr_table_room(t->members) > sizeof(room) || cnr_table_check(t, room, &rank))
		abort();
	memset(&seen, 0, sizeof(seen));
	seen.rng = seed;
	tnet_faults(s)->filter = watch;
	return s;
}

static void form(struct tnet *s, u32 rank, const struct cnr_table *t)
{
	if (tnet_form(s, rank, t))
		abort();
}

static void again(struct tnet *s, u32 rank, const struct cnr_table *t)
{
	tnet_restart(s, rank);
	form(s, rank, t);
}

/* Send greeting @i once more. */
static void repeat(struct tnet *s, u32 i)
{
	tnet_inject(s, seen.to[i], &seen.hdr[i], sizeof(seen.hdr[i]), 77);
}

/*
 * Ranks 0 and 1 were in a session that has ended: all processes are started again, and have formed
 * nothing yet. Return: the number of a greeting from it to rank 1, for repeat()
 */
static u32 earlier(struct tnet *s, const struct cnr_table *t)
{
	u32 first, i;

	form(s, 0, t);
	form(s, 1, t);
	tnet_pass(s, tnet_now(s) + 500 * MS);
	for (first = 0; first < seen.kept && seen.to[first] != 1; first++)
		;
	if (first == seen.kept)
		abort();
	for (i = 0; i < RANKS; i++)
		tnet_restart(s, i);
	return first;
}

/* Return: how many members have an error */
static u32 failed(struct tnet *s)
{
	enum canary_abort why;
	u32 i, n = 0;

	for (i = 0; i < RANKS; i++)
		n += !!cnr_failure(tnet_comm(s, i), &why);
	return n;
}

/* Return: do all have the sum of a vector that all post now? */
static bool sums(struct tnet *s)
{
	u32 i, good = 0;

	for (i = 0; i < RANKS; i++)
		if (tnet_post(s, i, 3000))
			return false;
	tnet_wait_completed(s, tnet_completed(s, 0) + 1, 5 * S);
	for (i = 0; i < RANKS; i++)
		good += tnet_completed(s, i) && !tnet_last_error(s, i);
	return good == RANKS && !tnet_wrong(s) && !failed(s);
}

/* All greetings of a process whose place another one has taken are said again. */
static void test_replaced(bool late)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(5, 3 * S, &t, peer);
	u32 i, kept;
	bool good;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 1 * S);
	kept = seen.kept;
	again(s, 1, &t);
	tnet_pass(s, tnet_now(s) + 100 * MS);
	if (late) {
		form(s, 3, &t);
		good = sums(s);
	} else {
		good = true;
	}
	for (i = 0; i < kept; i++)
		repeat(s, i);
	tnet_pass(s, tnet_now(s) + 1 * S);
	if (!late)
		form(s, 3, &t);
	tap(good && kept && sums(s), "repeated: greetings of who was replaced, %s all are in: exact",
	    late ? "when" : "before");
	tnet_free(s);
}

/* What rank 0 of an earlier session said is said to rank 1 again and again. */
static void test_earlier(u64 every)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(6, 3 * S, &t, peer);
	u32 first = earlier(s, &t), i, sent, n = 0;
	u64 until;

	for (i = 0; i < RANKS; i++)
		form(s, i, &t);
	sent = seen.sent;
	until = tnet_now(s) + 200 * MS;
	while (tnet_now(s) < until) {
		repeat(s, first);
		n++;
		tnet_pass(s, tnet_now(s) + every);
	}
	sent = seen.sent - sent;
	tap(sums(s) && sent < 200 / 10 + 10,
	    "repeated: what an earlier rank 0 said, every %llu ns: exact, %u greetings for %u",
	    (unsigned long long)every, sent, n);
	tnet_free(s);
}

static bool to_rank1_in(int to, const struct canary_hdr *h)
{
	return to == 1 && (h->flags & CANARY_F_WAITING);
}

/* A repeated greeting does not say that anybody needs the others. */
static void test_idle(bool lost)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(7, 8 * S, &t, peer);
	u32 i;

	seen.lose = lost;
	seen.lost = to_rank1_in;
	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 30 * S);
	tap(!seen.lose && !failed(s), "idle%s: nobody is missed",
	    lost ? ", an answer is lost" : "");
	form(s, 3, &t);
	tap(sums(s), "idle%s: after 30 s: exact", lost ? ", an answer is lost" : "");
	tnet_free(s);
}

/* But who has an operation needs them, and says so. */
static void test_needed(u32 rank)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(8, 8 * S, &t, peer);
	u16 who[RANKS] = { 0 };
	enum canary_abort why;
	u32 i, named = 0;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tap(cnr_missing(tnet_comm(s, 0), who, RANKS) == 1 && who[0] == 3,
	    "needed by rank %u: rank 0 knows who is missing", rank);
	if (tnet_post(s, rank, 10))
		abort();
	tnet_pass(s, tnet_now(s) + 20 * S);
	for (i = 0; i < 3; i++)
		named += cnr_failure(tnet_comm(s, i), &why) == -EHOSTDOWN &&
			 cnr_missing(tnet_comm(s, i), who, 1) == 1 && who[0] == 3;
	tap(named == 3, "needed by rank %u: who does not come is named (%u of 3)", rank, named);
	tnet_free(s);
}

static bool from_rank1(int to, const struct canary_hdr *h)
{
	return to == 0 && be16_to_cpu(h->rank) == 1 && h->greeting.session;
}

/* Rank 1 gave up long before others come, and then greetings are lost. */
static void test_gave_up(u32 lose)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(9, 3 * S, &t, peer);
	u32 i;

	form(s, 1, &t);
	tnet_pass(s, tnet_now(s) + 20 * S);
	t.start_within = 30 * S;
	seen.lose = lose;
	seen.lost = from_rank1;
	for (i = 0; i < RANKS; i++)
		if (i != 1)
			form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 10 * S);
	tap(!seen.lose && sums(s), "late: all but rank 1, which lives, %u greetings lost: exact",
	    lose);
	tnet_free(s);
}

/* A rank leaves before all are in. Another process takes its place, before rank 3 or after. */
static void test_left(bool last, bool abort_it)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(10, 3 * S, &t, peer);
	u32 i, kept;
	bool right;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tnet_close(s, 1, abort_it);
	tnet_pass(s, tnet_now(s) + 500 * MS);
	kept = seen.kept;
	if (last) {
		form(s, 3, &t);
		tnet_pass(s, tnet_now(s) + 500 * MS);
	}
	again(s, 1, &t);
	if (!last)
		form(s, 3, &t);
	right = sums(s);
	for (i = 0; i < kept; i++)
		repeat(s, i);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tap(right && sums(s), "left%s: another process is let in %s rank 3: exact, twice",
	    abort_it ? " at once" : "", last ? "after" : "before");
	tnet_free(s);
}

/* Who leaves and has not heard that all are in tells rank 0. */
static void test_left_unaware(void)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(11, 3 * S, &t, peer);
	u32 i, told = 0;
	u64 began;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 1 * S);
	tnet_kill(s, 1);
	form(s, 3, &t);
	tnet_pass(s, tnet_now(s) + 100 * MS);
	tnet_revive(s, 1);
	tnet_close(s, 1, true);
	tnet_pass(s, tnet_now(s) + 100 * MS);
	began = tnet_now(s);
	for (i = 0; i < RANKS; i++)
		if (i != 1 && !tnet_post(s, i, 10))
			told++;
	tnet_pass(s, began + 3 * S);
	for (i = 0, told = 0; i < RANKS; i++)
		told += i != 1 && tnet_last_error(s, i) == -ECONNRESET;
	tap(told >= 2, "left: nobody told it that all are in: others know (%u)", told);
	tnet_free(s);
}

/*
 * What an earlier rank 0 said is repeated, while rank 0 is dead, or never comes. That does not put
 * off the end.
 */
static void test_dead_root(bool came)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(12, 3 * S, &t, peer);
	u32 first = earlier(s, &t);
	u64 began;

	form(s, 1, &t);
	if (came) {
		form(s, 0, &t);
		tnet_pass(s, tnet_now(s) + 200 * MS);
	}
	tnet_kill(s, 0);
	if (tnet_post(s, 1, 10))
		abort();
	began = tnet_now(s);
	while (!tnet_completed(s, 1) && tnet_now(s) < began + 60 * S) {
		repeat(s, first);
		tnet_pass(s, tnet_now(s) + 12 * MS);
	}
	tap(tnet_last_error(s, 1) == -EHOSTDOWN && tnet_now(s) - began < 10 * S,
	    "repeated: rank 0 %s: known after %llu ms", came ? "died" : "never came",
	    (unsigned long long)((tnet_now(s) - began) / MS));
	tnet_free(s);
}

/* A second process of rank 1 was let in, and left. The first one lives, and is let in again. */
static void test_bumped(void)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(13, 3 * S, &t, peer);
	struct cnr_comm *first;
	u32 i;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 300 * MS);
	first = s->node[1].comm;
	s->node[1].comm = NULL;
	again(s, 1, &t);
	tnet_pass(s, tnet_now(s) + 50 * MS);
	tnet_close(s, 1, true);
	tnet_pass(s, tnet_now(s) + 50 * MS);
	free(s->node[1].comm);
	s->node[1].comm = first;
	s->run[1]--;
	form(s, 3, &t);
	for (i = 0; i < RANKS; i++)
		if (i != 1 && tnet_post(s, i, 100))
			abort();
	tnet_pass(s, tnet_now(s) + 20 * S);
	if (!tnet_post(s, 1, 100))
		tnet_wait_completed(s, 1, 5 * S);
	tap(tnet_completed(s, 0) && !failed(s) && !tnet_wrong(s),
	    "two processes of a rank: one leaves, the other one is let in again: exact");
	tnet_free(s);
}

static struct canary_hdr held;

/* Hold the first greeting of rank 3 that would let it in, and lose the next ones. */
static bool hold(int to, const struct canary_hdr *h)
{
	if (to != 0 || be16_to_cpu(h->rank) != 3 || !h->greeting.session)
		return false;
	if (!held.type)
		held = *h;
	return true;
}

/* One packet of a dead process comes when its successor is about to be let in. */
static void test_held(u64 after)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(14, 3600 * S, &t, peer);

	memset(&held, 0, sizeof(held));
	seen.lose = ~0U;
	seen.lost = hold;
	tnet_form(s, -1, &t);
	tnet_pass(s, tnet_now(s) + 1 * MS);
	tnet_kill(s, 3);
	seen.lose = 0;
	tnet_pass(s, tnet_now(s) + after);
	again(s, 3, &t);
	tnet_run(s, tnet_now(s) + 25000);
	tnet_inject(s, 0, &held, sizeof(held), 3);
	tap(held.type && sums(s), "held: a greeting of who died %llu s before: exact",
	    (unsigned long long)(after / S));
	tnet_free(s);
}

/* Who closes before all are in does not wait for long, whatever is repeated. */
static void test_close_soon(void)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(15, 3 * S, &t, peer);
	u32 first = earlier(s, &t);
	u64 began;

	form(s, 0, &t);
	form(s, 1, &t);
	tnet_pass(s, tnet_now(s) + 5 * S);
	began = tnet_now(s);
	repeat(s, first);
	tnet_close(s, 1, false);
	while (cnr_state(tnet_comm(s, 1)) != CNR_CLOSED && tnet_now(s) < began + 10 * S) {
		repeat(s, first);
		tnet_pass(s, tnet_now(s) + 12 * MS);
	}
	tap(tnet_now(s) - began < 300 * MS, "repeated: who closes is gone after %llu ms",
	    (unsigned long long)((tnet_now(s) - began) / MS));
	tnet_free(s);
}

static u32 under_key;

/* READY to rank 1 is lost. It says nothing but greetings. */
static bool watch_rank1(void *arg, int from, int to, const struct canary_hdr *h)
{
	under_key += from == 1 && be16_to_cpu(h->rank) == 1 && h->type != CANARY_GREETING;
	return h->type == CANARY_GREETING && to == 1 && (h->flags & CANARY_F_READY);
}

static void test_says_nothing(void)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(16, 3 * S, &t, peer);
	u32 i;

	for (i = 0; i < 3; i++)
		form(s, i, &t);
	tnet_pass(s, tnet_now(s) + 20 * MS);
	under_key = 0;
	tnet_faults(s)->filter = watch_rank1;
	form(s, 3, &t);
	tnet_pass(s, tnet_now(s) + 20 * MS);
	if (tnet_post(s, 1, 200000))
		abort();
	for (i = 0; i < RANKS; i++)
		if (i != 1 && tnet_post(s, i, 202924))
			abort();
	tnet_pass(s, tnet_now(s) + 50 * MS);
	tap(tnet_comm(s, 1)->waits && !under_key,
	    "before READY: nothing under the session key (%u packets)", under_key);
	tnet_free(s);
}

/*
 * Ranks other than 0 start, leave, are killed and start again, while all greetings that were ever
 * sent are said again in any order. When rank 3 comes, the latest ones are in: whoever is killed
 * while it is let in may be in when all are, and then its successor comes too late.
 */
static bool storm(u64 seed)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(seed, 20 * S, &t, peer);
	enum canary_abort why;
	u32 i, rank;
	u16 who;
	bool good;

	*tnet_faults(s) = (struct tnet_faults){
		.filter = watch, .drop = 50000, .repeat = 50000, .delay = 50000,
		.delay_ns = 50 * MS,
	};
	form(s, 0, &t);
	form(s, 1, &t);
	form(s, 2, &t);
	for (i = 0; i < 30; i++) {
		rank = 1 + any(2);
		if (any(10) < 3)
			tnet_close(s, rank, any(2));
		tnet_pass(s, tnet_now(s) + any(30 * MS));
		again(s, rank, &t);
		tnet_pass(s, tnet_now(s) + any(30 * MS));
		if (seen.kept)
			repeat(s, any(seen.kept));
	}
	for (i = 0; i < 1000 && !(tnet_comm(s, 1)->table && tnet_comm(s, 2)->table); i++)
		tnet_pass(s, tnet_now(s) + 10 * MS);
	for (i = 0; i < 200; i++) {
		if (i == 100)
			form(s, 3, &t);
		repeat(s, any(seen.kept));
		tnet_pass(s, tnet_now(s) + any(1 * MS));
	}
	good = sums(s);
	for (i = 0; i < 200; i++) {
		repeat(s, any(seen.kept));
		tnet_pass(s, tnet_now(s) + any(1 * MS));
	}
	good = good && sums(s);
	if (!good)
		printf("# seed %llu: %u failed (%d, rank %u), %u wrong\n",
		       (unsigned long long)seed, failed(s), cnr_failure(tnet_comm(s, 0), &why),
		       cnr_missing(tnet_comm(s, 0), &who, 1) ? who : 0, tnet_wrong(s));
	tnet_free(s);
	return good;
}

static void test_storm(void)
{
	u32 seed, good = 0;

	for (seed = 0; seed < STORMS; seed++)
		good += storm(seed);
	tap(good == STORMS, "storm: ranks come and go, greetings are repeated: exact (%u of %u)",
	    good, STORMS);
}

int main(void)
{
	test_replaced(false);
	test_replaced(true);
	test_earlier(2000);
	test_earlier(50000);
	test_earlier(5 * MS);
	test_idle(false);
	test_idle(true);
	test_needed(0);
	test_needed(2);
	test_gave_up(0);
	test_gave_up(1);
	test_gave_up(3);
	test_left(false, false);
	test_left(true, false);
	test_left(false, true);
	test_left(true, true);
	test_left_unaware();
	test_dead_root(true);
	test_dead_root(false);
	test_bumped();
	test_held(20 * S);
	test_held(3000 * S);
	test_close_soon();
	test_says_nothing();
	test_storm();
	return tap_done("core-greet");
}
