// SPDX-License-Identifier: BSD-2-Clause
/*
 * Exact sums of doubles of eight ranks are what MPFR rounds them to, in 100,000 cases. A sum of one
 * double takes no more packets than one of one int32.
 */
#include <mpfr.h>

#include "core/inside.h"
#include "trial.h"

#define MEMBERS		8
#define ELEMENTS	2000
#define TRIALS		10	/* for each kind of data */
#define FRACTION	52
#define FIELD_MAX	2047
#define SIGN		(1ULL << 63)

enum data {
	ANY,			/* any finite bits */
	WINDOW,			/* most fit the first, short accumulators */
	CANCEL,			/* pairs cancel out, and something small is left */
	TIES,			/* half way between two doubles, or just beside that */
	EDGES,			/* subnormal, or next to overflow */
	DATA
};

static const char *const data_name[] = { "any", "window", "cancel", "ties", "edges" };

static enum data data;
static u64 seed;
static u64 want[ELEMENTS];

static u64 any(u64 a, u64 b)
{
	u64 x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + seed * 0xd6e8feb86659fd93ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static u64 bits_of(u64 random, u32 field)
{
	return (random & (SIGN | ((1ULL << FRACTION) - 1))) | (u64)field << FRACTION;
}

/*
 * Rank 0 has a number, rank 1 half of its last bit, rank 2 something much smaller or nothing. The
 * others cancel out.
 */
static u64 tie(u32 rank, u32 i, u64 random)
{
	u32 field = 60 + any(99, i) % (FIELD_MAX - 61);

	if (rank == 0)
		return bits_of(random, field);
	if (rank == 1)
		return (u64)(field - FRACTION - 1) << FRACTION | (random & SIGN);
	if (rank == 2)
		return random % 3 ? bits_of(random, random % 3 == 1 ? 0 : random % (field - 55)) : 0;
	if (rank == 3)
		return 0;
	random = any(rank / 2, i);
	return bits_of(random, random % FIELD_MAX) ^ (rank % 2 ? SIGN : 0);
}

static u64 give(u32 rank, u32 i)
{
	u64 random = any(rank, i), pair = any(rank / 2, i + ELEMENTS);

	switch (data) {
	case WINDOW:
		return bits_of(random, 1023 - 60 + random % 120);
	case CANCEL:
		if (rank == 6)
			return bits_of(random, random % 900);
		return rank == 7 ? 0 : bits_of(pair, pair % FIELD_MAX) ^ (rank % 2 ? SIGN : 0);
	case TIES:
		return tie(rank, i, random);
	case EDGES:
		if (i % 2)
			return bits_of(random, random % 3);
		return bits_of(random, FIELD_MAX - 1 - random % 4);
	default:
		return bits_of(random, random % FIELD_MAX);
	}
}

/* Return: what MPFR rounds the sum of element @i to */
static u64 rounded(u32 i)
{
	mpfr_t number[MEMBERS], sum;
	mpfr_ptr table[MEMBERS];
	double value;
	u64 bits;
	int which;
	u32 r;

	mpfr_init2(sum, FRACTION + 1);
	for (r = 0; r < MEMBERS; r++) {
		bits = give(r, i);
		memcpy(&value, &bits, sizeof(value));
		mpfr_init2(number[r], FRACTION + 1);
		mpfr_set_d(number[r], value, MPFR_RNDN);
		table[r] = number[r];
	}
	which = mpfr_sum(sum, table, MEMBERS, MPFR_RNDN);
	mpfr_subnormalize(sum, which, MPFR_RNDN);
	value = mpfr_get_d(sum, MPFR_RNDN);
	memcpy(&bits, &value, sizeof(bits));
	mpfr_clear(sum);
	for (r = 0; r < MEMBERS; r++)
		mpfr_clear(number[r]);
	return bits == SIGN ? 0 : bits;
}

static bool right(u32 op, const void *got, u32 elements)
{
	u64 bits;
	u32 i;

	for (i = 0; i < elements; i++) {
		memcpy(&bits, (const u64 *)got + i, sizeof(bits));
		if (bits != want[i]) {
			printf("# %s, seed %llu, element %u: %#llx, not %#llx\n", data_name[data],
			       (unsigned long long)seed, i, (unsigned long long)bits,
			       (unsigned long long)want[i]);
			return false;
		}
	}
	return true;
}

/* Have all ranks post a vector. Return: the network, when all are done; NULL if one has failed */
static struct tnet *run(struct tnet_config cfg, u32 elements)
{
	struct tnet *s;
	u32 i, good = 0;

	cfg.members = MEMBERS;
	cfg.seed = seed;
	s = tnet_new(&cfg);
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 0; i < MEMBERS; i++)
		if (tnet_post(s, i, elements))
			abort();
	tnet_wait_completed(s, 1, 20 * S);
	for (i = 0; i < MEMBERS; i++)
		good += tnet_completed(s, i) == 1 && !tnet_last_error(s, i);
	if (good == MEMBERS && !tnet_wrong(s))
		return s;
	tnet_free(s);
	return NULL;
}

static bool trial(void)
{
	struct tnet_config cfg = {
		.dtype = CANARY_FLOAT64, .how = CANARY_HOW_EXACT, .element = 8, .give = give,
		.right = right, .aggregate = seed & 1,
	};
	struct tnet *s;
	u32 i;

	for (i = 0; i < ELEMENTS; i++)
		want[i] = rounded(i);
	s = run(cfg, ELEMENTS);
	if (s)
		tnet_free(s);
	return s;
}

/* What the members have sent */
struct sent {
	u64	contributions;
	u64	results;
	u64	again;
	u64	blocks;
};

static struct sent packets(struct tnet_config cfg)
{
	const struct cnr_stats *stats;
	struct sent sent = { 0 };
	struct tnet *s;
	u32 i;

	want[0] = rounded(0);
	s = run(cfg, 1);
	for (i = 0; s && i < MEMBERS; i++) {
		stats = cnr_stats(tnet_comm(s, i));
		sent.contributions += stats->counter[CNR_C_contributions_out];
		sent.results += stats->counter[CNR_C_results_out];
		sent.again += stats->counter[CNR_C_retransmissions];
		sent.blocks += stats->counter[CNR_C_blocks_done];
	}
	if (s)
		tnet_free(s);
	return sent;
}

static bool are_same(const struct sent *a, const struct sent *b, u32 times)
{
	return b->blocks && a->contributions == times * b->contributions &&
	       a->results == times * b->results && a->blocks == times * b->blocks &&
	       !a->again && !b->again;
}

static void one_element(bool aggregate)
{
	const char *where = aggregate ? "a switch adds" : "no switch adds";
	struct tnet_config integer = { .aggregate = aggregate }, number = {
		.dtype = CANARY_FLOAT64, .element = 8, .give = give, .right = right,
		.aggregate = aggregate,
	};
	struct sent one, two;

	data = WINDOW;
	one = packets(integer);
	two = packets(number);
	tap(are_same(&two, &one, 1), "a double takes the packets of an int32, %s: %llu and %llu",
	    where, (unsigned long long)two.contributions, (unsigned long long)two.results);
	data = ANY;
	two = packets(number);
	tap(are_same(&two, &one, 2), "and twice as many if it does not fit the window: %llu",
	    (unsigned long long)two.contributions);
}

int main(void)
{
	u32 good, i;

	mpfr_set_emin(-1073);
	mpfr_set_emax(1024);
	for (data = 0; data < DATA; data++) {
		for (good = 0, i = 0; i < TRIALS; i++) {
			seed = 100 * data + i + 1;
			good += trial();
		}
		tap(good == TRIALS, "%s: %u sums of %u doubles are correctly rounded",
		    data_name[data], good * ELEMENTS, MEMBERS);
	}
	one_element(false);
	one_element(true);
	mpfr_free_cache();
	return tap_done("core-double");
}
