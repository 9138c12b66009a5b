// SPDX-License-Identifier: BSD-2-Clause
/*
 * The least and the largest value with its index, in trees and rings, with loss. What is right
 * comes from the reference of canary perf, and of some cases from a table. Switches merge all of
 * it, those of the simulated network and those of bpf/lib (@native).
 */
#include "core/inside.h"
#include "tools/canary/reference.h"
#include "testnet_inside.h"
#include "trial.h"

#define NAN32	0x7fc00000
#define INF32	0x7f800000
#define ZERO32	0x80000000	/* below 0 */

static const struct type {
	const char *name;
	u8	dtype;
} types[] = {
	{ "int16", CANARY_INT16_INDEX }, { "int32", CANARY_INT32_INDEX },
	{ "int64", CANARY_INT64_INDEX }, { "float32", CANARY_FLOAT32_INDEX },
	{ "float64", CANARY_FLOAT64_INDEX },
};

static const struct shape {
	u32	members;
	u32	elements;
	u8	algorithm;
	bool	aggregate;
	bool	pinned;
	u32	drop;
	u32	mtu;
	bool	native;
} shapes[] = {
	{ 1, 10, CANARY_ALG_AUTO },
	{ 2, 0, CANARY_ALG_TREE },
	{ 3, 1, CANARY_ALG_TREE },
	{ 4, 1601, CANARY_ALG_TREE, .aggregate = true },
	{ 4, 1601, CANARY_ALG_TREE, .aggregate = true, .native = true },
	{ 5, 999, CANARY_ALG_RING },
	{ 9, 1003, CANARY_ALG_TREE, .aggregate = true, .pinned = true, .drop = 20000 },
	{ 7, 1003, CANARY_ALG_TREE, .aggregate = true, .mtu = 600, .drop = 20000 },
	{ 4, 2047, CANARY_ALG_RING, .pinned = true, .drop = 20000 },
};

/* Of the trial that runs */
static struct reference r;

static bool is_float(u8 dtype)
{
	return dtype == CANARY_FLOAT32 || dtype == CANARY_FLOAT64;
}

/* Values that many ranks have, so that indices decide; those of floats may be no numbers. */
static uint64_t give(const struct reference *of, uint32_t rank, size_t i)
{
	u64 random = (i + 1) * 0x9e3779b97f4a7c15ULL + (rank + 1) * 0xd6e8feb86659fd93ULL;
	const u32 bits = reference_bits(of->dtype), fraction = bits == 32 ? 23 : 52;
	const u64 sign = 1ULL << (bits - 1), infinity = sign - (1ULL << fraction);
	const u64 integer[] = { 0, sign, sign - 1, sign + 1, 1, ~0ULL };
	const u64 number[] = {
		0, sign, infinity, sign | infinity, infinity | random, 1, sign | 1, infinity - 1,
	};

	random += of->seed;
	random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9ULL;
	random ^= random >> 32;
	/* An element in three has zeros alone, or the same value at all ranks. */
	if (!(i % 2) && i / 2 % 3 == 0)
		random = i / 2 % 6 ? random % 2 + (random & ~7ULL) : 8 * i;
	if (random % 8 == 7)
		random *= 0x94d049bb133111ebULL;
	else if (is_float(of->dtype))
		random = number[random / 8 % (i % 2 ? 8 : i / 2 % 3 ? 8 : 2)];
	else
		random = integer[random / 8 % ARRAY_SIZE(integer)];
	return random & ~0ULL >> (64 - bits);
}

static void fill(void *to, u32 rank, u32 op, u32 elements)
{
	reference_fill(&r, rank, to, elements);
}

static bool right(u32 op, const void *got, u32 elements)
{
	return !reference_wrong(&r, got, elements, true);
}

static bool trial(const struct shape *sh, u64 seed)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = sh->aggregate, .seed = seed, .key = seed & 1,
		.algorithm = sh->algorithm, .pinned = sh->pinned, .faults.drop = sh->drop,
		.mtu = sh->mtu, .dtype = r.dtype, .op = r.op,
		.element = reference_bits(r.dtype) / 8, .fill = fill, .right = right,
		.switches = sh->native ? &tnet_native : NULL,
	};
	struct tnet *s = tnet_new(&cfg);
	struct cnr_info info;
	u32 i, good = 0;

	r.members = sh->members;
	r.seed = seed;
	tnet_connect(s, -1);
	if (!tnet_wait_state(s, CNR_CONNECTED, 10 * S))
		abort();
	for (i = 0; i < sh->members; i++)
		if (tnet_post(s, i, sh->elements) || tnet_post(s, i, sh->elements))
			abort();
	tnet_wait_completed(s, 2, 20 * S);
	for (i = 0; i < sh->members; i++)
		good += tnet_completed(s, i) == 2 && !tnet_last_error(s, i);
	good = good == sh->members && !tnet_wrong(s);
	if (sh->aggregate)
		good &= counter(s, sh->members, CNR_C_contributions_merged) > 0;
	if (sh->elements) {
		cnr_info(tnet_comm(s, 0), &info);
		good &= info.op == r.op && info.dtype == r.dtype &&
			info.switches == (sh->algorithm != CANARY_ALG_RING);
	}
	tnet_free(s);
	return good;
}

/* ---- a table, of three ranks: float32 and index ---- */

struct pair {
	u32	value;
	s32	index;
};

static const struct row {
	struct pair given[3], least, largest;
} rows[] = {
	/* the lowest index of those that have it, whatever its sign */
	{ { { 0x3f800000, 5 }, { 0x3f800000, -5 }, { 0x3f800000, 0 } },
	  { 0x3f800000, -5 }, { 0x3f800000, -5 } },
	{ { { 0x3f800000, INT32_MAX }, { 0x40000000, INT32_MAX }, { 0x40000000, INT32_MIN } },
	  { 0x3f800000, INT32_MAX }, { 0x40000000, INT32_MIN } },
	/* zeros are equal, and the one of the lowest index comes out */
	{ { { 0, 1 }, { ZERO32, 2 }, { ZERO32, 3 } }, { 0, 1 }, { 0, 1 } },
	{ { { 0, 3 }, { ZERO32, 2 }, { 0, 4 } }, { ZERO32, 2 }, { ZERO32, 2 } },
	{ { { 0, 3 }, { ZERO32, 3 }, { 0, 4 } }, { ZERO32, 3 }, { 0, 3 } },
	{ { { 1, 9 }, { ZERO32, 2 }, { ZERO32 | 1, 4 } }, { ZERO32 | 1, 4 }, { 1, 9 } },
	/* a NaN comes out, whatever its bits, with the lowest index of NaNs */
	{ { { INF32, 1 }, { 0xff800001, 8 }, { NAN32, 7 } }, { NAN32, 7 }, { NAN32, 7 } },
	{ { { INF32, 1 }, { INF32 | ZERO32, 2 }, { 0x7f7fffff, 0 } },
	  { INF32 | ZERO32, 2 }, { INF32, 1 } },
};

static void fill_rows(void *to, u32 rank, u32 op, u32 elements)
{
	struct pair *pair = to;
	u32 i;

	for (i = 0; i < elements; i++)
		pair[i] = rows[i].given[rank];
}

static bool right_rows(u32 op, const void *got, u32 elements)
{
	const struct pair *want, *pair = got;
	u32 i, wrong = 0;

	for (i = 0; i < elements; i++) {
		want = r.op == CANARY_OP_MINLOC ? &rows[i].least : &rows[i].largest;
		if (pair[i].value == want->value && pair[i].index == want->index)
			continue;
		printf("# row %u: %#x, %d\n", i, pair[i].value, pair[i].index);
		wrong++;
	}
	return !wrong;
}

static bool table(void)
{
	struct tnet_config cfg = {
		.members = 3, .dtype = CANARY_FLOAT32_INDEX, .op = r.op, .element = 8,
		.fill = fill_rows, .right = right_rows, .aggregate = true,
	};
	struct tnet *s = tnet_new(&cfg);
	bool good;
	u32 i;

	tnet_connect(s, -1);
	good = tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	for (i = 0; i < 3; i++)
		good &= !tnet_post(s, i, ARRAY_SIZE(rows));
	good &= tnet_wait_completed(s, 1, 20 * S) && !tnet_wrong(s);
	tnet_free(s);
	return good;
}

int main(void)
{
	static const char *const name[] = { "least", "largest" };
	u32 o, t, i, good;

	r.give = give;
	for (o = 0; o < 2; o++) {
		r.op = CANARY_OP_MINLOC + o;
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			r.dtype = types[t].dtype;
			for (good = 0, i = 0; i < ARRAY_SIZE(shapes); i++)
				good += trial(&shapes[i], 100 * o + 10 * t + i);
			tap(good == ARRAY_SIZE(shapes), "%s %s, and its index: %u of %zu shapes",
			    name[o], types[t].name, good, ARRAY_SIZE(shapes));
		}
		tap(table(), "the %s: %zu cases", name[o], ARRAY_SIZE(rows));
	}
	return tap_done("core-located");
}
