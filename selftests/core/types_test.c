// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each operator on each type of integers, in trees and rings, with loss. What is right comes from
 * the reference of canary perf, which shares nothing with the core. Switches merge all of them,
 * those of the simulated network and those of bpf/lib (@native).
 */
#include "core/inside.h"
#include "tools/canary/reference.h"
#include "testnet_inside.h"
#include "trial.h"

struct type {
	const char *name;
	u8	dtype;
};

static const struct type types[] = {
	{ "int8", CANARY_INT8 }, { "uint8", CANARY_UINT8 },
	{ "int16", CANARY_INT16 }, { "uint16", CANARY_UINT16 },
	{ "int32", CANARY_INT32 }, { "uint32", CANARY_UINT32 },
	{ "int64", CANARY_INT64 }, { "uint64", CANARY_UINT64 },
};

static const struct {
	const char *name;
	u8	op;
	u8	how;
} operators[] = {
	{ "sum", CANARY_OP_SUM }, { "prod", CANARY_OP_PROD }, { "min", CANARY_OP_MIN },
	{ "max", CANARY_OP_MAX }, { "and", CANARY_OP_AND }, { "or", CANARY_OP_OR },
	{ "xor", CANARY_OP_XOR }, { "land", CANARY_OP_LAND }, { "lor", CANARY_OP_LOR },
	{ "lxor", CANARY_OP_LXOR }, { "avg", CANARY_OP_AVG },
	{ "saturated sum", CANARY_OP_SUM, CANARY_HOW_SATURATE },
};

static const struct shape {
	u32	members;
	u32	elements;
	u8	algorithm;
	bool	aggregate;
	bool	pinned;
	u32	drop;
	bool	native;
} shapes[] = {
	{ 1, 10, CANARY_ALG_AUTO },
	{ 2, 0, CANARY_ALG_TREE },
	{ 3, 1, CANARY_ALG_TREE },
	{ 4, 3201, CANARY_ALG_TREE, .aggregate = true },
	{ 4, 3201, CANARY_ALG_TREE, .aggregate = true, .native = true },
	{ 5, 1999, CANARY_ALG_RING },
	{ 9, 1003, CANARY_ALG_TREE, .aggregate = true, .pinned = true, .drop = 20000 },
	{ 9, 1003, CANARY_ALG_TREE, .aggregate = true, .native = true, .drop = 20000 },
	{ 4, 2047, CANARY_ALG_RING, .pinned = true, .drop = 20000 },
};

/* Of the trial that runs */
static const struct type *type;
static u8 operator, how;

static u64 reduce(const u64 *given, u32 n)
{
	const struct reference r = {
		.dtype = type->dtype, .op = operator, .members = n, .how = how,
	};

	return reference_reduce(&r, given);
}

static bool trial(const struct shape *sh, u64 seed)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = sh->aggregate, .seed = seed, .key = seed & 1,
		.algorithm = sh->algorithm, .pinned = sh->pinned, .faults.drop = sh->drop,
		.dtype = type->dtype, .op = operator, .how = how,
		.element = reference_bits(type->dtype) / 8, .reduce = reduce,
		.switches = sh->native ? &tnet_native : NULL,
	};
	struct cnr_info info;
	struct tnet *s = tnet_new(&cfg);
	u32 i, good = 0;

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
		good &= info.op == operator && info.dtype == type->dtype &&
			info.switches == (sh->algorithm != CANARY_ALG_RING);
	}
	tnet_free(s);
	return good;
}

/* ---- sums of as many members as there may be ---- */

#define LANE_WORDS	4

/* What the leader makes of one element, which all members have */
static u64 of_all(u64 element, u32 members, u8 op, u8 flags)
{
	struct cnr_comm *c = calloc(1, sizeof(*c));
	struct cnr_operation o = {
		.op = { .op = op, .dtype = type->dtype, .how = flags, .source = &element,
			.elements = 1 },
		.element = cnr_element(op, type->dtype), .each = 1,
	};
	u32 words[LANE_WORDS] = { 0 }, sum[LANE_WORDS] = { 0 }, i;
	struct cnr_part p = { .index = 0 };
	u64 result = 0;

	c->cfg.members = members;
	o.encoding = cnr_encoding_of(c, &o.op);
	o.encoding->part(c, &o, &p);
	for (i = 0; i < members; i++) {
		o.encoding->encode(c, &o, &p, words);
		canary_combine(p.kind, sum, sum, words, p.length / 4);
	}
	o.encoding->finish(c, &o, &p, sum);
	memcpy(&result, sum, o.element);
	free(c);
	return result;
}

static bool of_most(u8 op, u8 flags)
{
	const u32 n = reference_bits(type->dtype), members[] = { 65535, 65534, 32769, 257, 2 };
	const u64 all = ~0ULL >> (64 - n), sign = 1ULL << (n - 1);
	const u64 edge[] = { all, sign, sign - 1, sign + 1, all / 3, 1, 0, all - 1, all / 65535,
			     all / 65534 / 2, ~(all / 65535) & all };
	u64 given[65535], want;
	u32 i, k, m;

	for (i = 0; i < ARRAY_SIZE(edge); i++) {
		for (m = 0; m < ARRAY_SIZE(members); m++) {
			struct reference r = {
				.dtype = type->dtype, .op = op, .members = members[m], .how = flags,
			};

			for (k = 0; k < members[m]; k++)
				given[k] = edge[i];
			want = reference_reduce(&r, given);
			if (of_all(edge[i], members[m], op, flags) != want) {
				printf("# %s: %u times %#llx: not %#llx\n", type->name, members[m],
				       (unsigned long long)edge[i], (unsigned long long)want);
				return false;
			}
		}
	}
	return true;
}

static void test_most(void)
{
	u32 t, averages = 0, sums = 0;

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		type = &types[t];
		averages += of_most(CANARY_OP_AVG, 0);
		sums += of_most(CANARY_OP_SUM, CANARY_HOW_SATURATE);
	}
	tap(averages == t, "averages of 65535 members: %u of %u types", averages, t);
	tap(sums == t, "saturated sums of 65535 members: %u of %u types", sums, t);
}

int main(void)
{
	u32 o, t, i, good;

	test_most();

	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		operator = operators[o].op;
		how = operators[o].how;
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			type = &types[t];
			for (good = 0, i = 0; i < ARRAY_SIZE(shapes); i++)
				good += trial(&shapes[i], 100 * o + 10 * t + i);
			tap(good == ARRAY_SIZE(shapes), "%s of %s: %u of %zu shapes",
			    operators[o].name, type->name, good, ARRAY_SIZE(shapes));
		}
	}
	return tap_done("core-types");
}
