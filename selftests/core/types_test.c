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
} operators[] = {
	{ "sum", CANARY_OP_SUM }, { "prod", CANARY_OP_PROD }, { "min", CANARY_OP_MIN },
	{ "max", CANARY_OP_MAX }, { "and", CANARY_OP_AND }, { "or", CANARY_OP_OR },
	{ "xor", CANARY_OP_XOR }, { "land", CANARY_OP_LAND }, { "lor", CANARY_OP_LOR },
	{ "lxor", CANARY_OP_LXOR }, { "avg", CANARY_OP_AVG },
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
static u8 operator;

static u64 reduce(const u64 *given, u32 n)
{
	const struct reference r = { .dtype = type->dtype, .op = operator, .members = n };

	return reference_reduce(&r, given);
}

static bool trial(const struct shape *sh, u64 seed)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = sh->aggregate, .seed = seed, .key = seed & 1,
		.algorithm = sh->algorithm, .pinned = sh->pinned, .faults.drop = sh->drop,
		.dtype = type->dtype, .op = operator,
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
		good &= info.op == operator && info.dtype == type->dtype && info.switches;
	}
	tnet_free(s);
	return good;
}

int main(void)
{
	u32 o, t, i, good;

	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		operator = operators[o].op;
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
