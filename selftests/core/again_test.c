// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ranks whose process is replaced, and which form a communicator from the same table again. Data of
 * both processes must never be in one sum.
 */
#include <errno.h>

#include "core/inside.h"
#include "trial.h"

#define RANKS	8
#define SEEDS	20

struct again {
	const char *name;
	u32	members;
	u32	ranks;		/* bits: whose process is replaced */
	u64	after;		/* ns from the first post */
	u64	pause;		/* ns between one and the next */
	u32	elements;
	u8	algorithm;
	struct tnet_faults faults;
};

static struct tnet *formed(const struct again *a, u64 seed, struct cnr_table *t,
			   struct canary_peer *peer)
{
	struct tnet_config cfg = {
		.members = a->members, .aggregate = true, .seed = seed, .key = seed & 1,
		.algorithm = a->algorithm, .faults = a->faults, .formed = true,
		.timeout_ns = seed % 3 ? 0 : 20 * MS, .dead_after = 1 * S,
	};
	u16 room[8 * RANKS] = { 0 };
	struct tnet *s = tnet_new(&cfg);
	u32 rank;

	tnet_table(s, t, peer);
	t->start_within = 3 * S;
	if (cnr_table_room(t->members) > sizeof(room) || cnr_table_check(t, room, &rank))
		abort();
	return s;
}

static void begin(struct tnet *s, u32 rank, const struct again *a, const struct cnr_table *t)
{
	if (tnet_form(s, rank, t))
		abort();
	if (tnet_post(s, rank, a->elements) || tnet_post(s, rank, a->elements))
		abort();
}

/* Return: do all end, by a sum or an error, and is no sum wrong? *@errors: how often ESTALE */
static bool replace(const struct again *a, u64 seed, u32 *stale)
{
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s = formed(a, seed, &t, peer);
	u32 i, ended = 0, wrong;

	for (i = 0; i < a->members; i++)
		begin(s, i, a, &t);
	tnet_pass(s, tnet_now(s) + a->after * (1 + seed % 8) / 4);
	for (i = 0; i < a->members; i++)
		if (a->ranks & 1U << i)
			tnet_kill(s, i);
	for (i = 0; i < a->members; i++) {
		if (!(a->ranks & 1U << i))
			continue;
		tnet_restart(s, i);
		begin(s, i, a, &t);
		tnet_pass(s, tnet_now(s) + a->pause);
	}
	tnet_wait_completed(s, 2, 60 * S);
	for (i = 0; i < a->members; i++) {
		ended += tnet_completed(s, i) == 2;
		*stale += tnet_last_error(s, i) == -ESTALE;
	}
	wrong = tnet_wrong(s);
	if (ended != a->members || wrong)
		printf("# seed %llu: %u ended, %u wrong, errors %d %d\n", (unsigned long long)seed,
		       ended, wrong, tnet_last_error(s, 0), tnet_last_error(s, a->members - 1));
	tnet_free(s);
	return ended == a->members && !wrong;
}

static void test_replaced(void)
{
	static const struct again list[] = {
		{ "rank 3 of four", 4, 1 << 3, 100 * MS, 0, 40000, CANARY_ALG_TREE },
		{ "rank 3, while data are on their way", 4, 1 << 3, 300000, 0, 40000,
		  CANARY_ALG_TREE },
		{ "rank 0", 4, 1 << 0, 400000, 0, 40000, CANARY_ALG_TREE },
		{ "two of eight", 8, 1 << 2 | 1 << 5, 400000, 50 * MS, 20000, CANARY_ALG_TREE },
		{ "ranks 0 and 1", 5, 3, 400000, 0, 20000, CANARY_ALG_TREE },
		{ "all", 4, 15, 300000, 0, 40000, CANARY_ALG_TREE },
		{ "all, one after the other", 4, 15, 300000, 30 * MS, 40000, CANARY_ALG_TREE },
		{ "all, in a ring", 5, 31, 400000, 0, 40000, CANARY_ALG_RING },
		{ "rank 1, in a ring", 5, 2, 400000, 0, 40000, CANARY_ALG_RING },
		{ "rank 2 of three, 5 % loss", 3, 4, 400000, 0, 40000, CANARY_ALG_TREE,
		  .faults = { .drop = 50000, .repeat = 20000 } },
		{ "all, old packets for 200 ms", 4, 15, 400000, 0, 30000, CANARY_ALG_AUTO,
		  .faults = { .delay = 200000, .delay_ns = 200 * MS, .repeat = 200000 } },
		{ "rank 1, old packets for 200 ms", 4, 2, 400000, 0, 30000, CANARY_ALG_AUTO,
		  .faults = { .delay = 200000, .delay_ns = 200 * MS, .repeat = 200000 } },
		{ "rank 1 at once", 4, 2, 0, 0, 20000, CANARY_ALG_TREE },
		{ "rank 1 of two", 2, 2, 300000, 0, 40000, CANARY_ALG_TREE },
	};
	u32 i, seed, good, stale;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		stale = 0;
		for (good = 0, seed = 0; seed < SEEDS; seed++)
			good += replace(&list[i], seed, &stale);
		tap(good == SEEDS, "replaced: %s: no sum is wrong (%u of %u seeds, %u ESTALE)",
		    list[i].name, good, SEEDS, stale);
	}
}

/* A vector at @rank */
static void post(struct tnet *s, u32 rank)
{
	if (tnet_post(s, rank, 3000))
		abort();
}

/* Return: is the sum there at all, without an error? */
static bool exact(struct tnet *s, u32 members)
{
	u32 i, good = 0;

	tnet_wait_completed(s, 1, 10 * S);
	for (i = 0; i < members; i++)
		good += tnet_completed(s, i) == 1 && !tnet_last_error(s, i);
	return good == members && !tnet_wrong(s);
}

/* Nobody has contributed anything before all are in. So who is replaced before that is no loss. */
static void test_before_all_are_in(void)
{
	static const struct again a = { .members = 4, .algorithm = CANARY_ALG_TREE };
	struct canary_peer peer[RANKS];
	u32 i, rank, good = 0;
	struct cnr_table t;
	struct tnet *s;

	for (rank = 0; rank < 3; rank++) {
		s = formed(&a, rank, &t, peer);
		for (i = 0; i < 3; i++) {
			tnet_form(s, i, &t);
			post(s, i);
		}
		tnet_pass(s, tnet_now(s) + 1 * S);
		tnet_restart(s, rank);
		tnet_form(s, rank, &t);
		post(s, rank);
		tnet_pass(s, tnet_now(s) + 1 * S);
		tnet_form(s, 3, &t);
		post(s, 3);
		/* Others were in the session of the rank 0 before, and say so. */
		good += exact(s, 4) == !!rank && !tnet_wrong(s) &&
			(rank || blaming(s, 4, -ESTALE, 0) == 4);
		tnet_free(s);
	}
	tap(good == 3, "before all are in: the sum, or an error if it was rank 0 (%u of 3)", good);
	s = formed(&a, 3, &t, peer);
	for (i = 0; i < 4; i++) {
		tnet_form(s, i, &t);
		if (i == 2) {
			tnet_restart(s, i);
			tnet_form(s, i, &t);
		}
		post(s, i);
	}
	tap(exact(s, 4), "before anybody heard of it: the sum");
	tnet_free(s);
}

/* Members that have nothing to do hear of it, too. */
static void test_idle(u32 rank)
{
	static const struct again a = { .members = 4, .algorithm = CANARY_ALG_TREE };
	struct canary_peer peer[RANKS];
	u32 i, told = 0;
	u16 who = 9;
	struct cnr_table t;
	struct tnet *s = formed(&a, 5, &t, peer);
	enum canary_abort why;
	u64 began;

	tnet_form(s, -1, &t);
	for (i = 0; i < 4; i++)
		post(s, i);
	if (!exact(s, 4))
		abort();
	tnet_pass(s, tnet_now(s) + 10 * S);
	began = tnet_now(s);
	tnet_restart(s, rank);
	tnet_form(s, rank, &t);
	tnet_pass(s, began + 1 * MS);
	for (i = 0; i < 4; i++)
		told += cnr_failure(tnet_comm(s, i), &why) == -ESTALE &&
			why == CANARY_ABORT_RESTARTED &&
			cnr_missing(tnet_comm(s, i), &who, 1) == 1 && who == rank;
	tap(told == 4, "idle: rank %u is started again: all know within 1 ms (%u of 4)", rank,
	    told);
	tnet_free(s);
}

#define KEPT	4000

/* Packets of an earlier session, all of them */
static struct kept {
	u64	bytes[(sizeof(struct canary_hdr) + CANARY_PAYLOAD_MAX) / 8];
	u32	len;
	int	from;
	int	to;
} kept[KEPT];
static u32 kepts;
static struct tnet *kept_of;

static bool keep(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct kept *k = &kept[kepts];
	u32 data = cnr_has_data(h) ? canary_length(h) : 0;

	if (kepts == KEPT || to < 0 || h->type == CANARY_ABORT)
		return false;
	k->from = from < 0 ? 1 : from;
	k->to = to;
	k->len = sizeof(*h) + data;
	memcpy(k->bytes, h, sizeof(*h));
	if (data)
		memcpy(&k->bytes[sizeof(*h) / 8], tnet_payload(kept_of), data);
	kepts++;
	return false;
}

/*
 * Somebody has seen all packets of an earlier session of the table, with what switches added up,
 * and sends all of them again while the next one runs.
 */
static void test_replayed(bool key)
{
	static const struct again a = { .members = 4, .algorithm = CANARY_ALG_TREE };
	struct canary_peer peer[RANKS];
	u32 i, seen, taken = 0, merged = 0;
	enum canary_drop drop;
	struct canary_hdr *h;
	struct cnr_table t;
	struct tnet *s = formed(&a, 6 + key, &t, peer);

	kepts = 0;
	kept_of = s;
	tnet_faults(s)->filter = keep;
	tnet_form(s, -1, &t);
	for (i = 0; i < 4; i++)
		post(s, i);
	if (!exact(s, 4))
		abort();
	tnet_faults(s)->filter = NULL;
	tnet_pass(s, tnet_now(s) + 1 * S);
	for (i = 0; i < 4; i++)
		tnet_restart(s, i);
	tnet_form(s, -1, &t);
	for (i = 0; i < 4; i++)
		post(s, i);
	seen = kepts;
	for (i = 0; i < seen; i++) {
		h = (void *)kept[i].bytes;
		drop = tnet_inject(s, kept[i].to, kept[i].bytes, kept[i].len, kept[i].from);
		if (cnr_is_merged(h))
			merged++;
		else if (h->type != CANARY_GREETING)
			taken += drop == CANARY_DROP_NONE;
		if (i % 4 == 0)
			tnet_pass(s, tnet_now(s) + 5000);
	}
	tap(exact(s, 4) && merged && !taken,
	    "replayed%s: %u packets of an earlier session, %u of several members: %u taken",
	    key ? ", with a key" : "", seen, merged, taken);
	tnet_free(s);
}

/* Greetings that get lost are said again. */
static void test_lost(void)
{
	struct again a = {
		.members = 6, .algorithm = CANARY_ALG_TREE,
		.faults = { .drop = 400000, .repeat = 100000 },
	};
	struct canary_peer peer[RANKS];
	struct cnr_table t;
	struct tnet *s;
	u32 i, seed, good = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		s = formed(&a, seed, &t, peer);
		tnet_form(s, -1, &t);
		tnet_pass(s, tnet_now(s) + 2500 * MS);
		tnet_faults(s)->drop = 0;
		for (i = 0; i < 6; i++)
			post(s, i);
		good += exact(s, 6);
		tnet_free(s);
	}
	tap(good == SEEDS, "lost: greetings, 40 %% of them: exact (%u of %u seeds)", good, SEEDS);
}

int main(void)
{
	test_replaced();
	test_before_all_are_in();
	test_idle(0);
	test_idle(3);
	test_replayed(false);
	test_replayed(true);
	test_lost();
	return tap_done("core-again");
}
