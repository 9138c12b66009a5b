// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each operator on each type of integers, in trees and rings, with loss. What is right is computed
 * here once more, from what the names of operators and types say.
 */
#include "core/inside.h"
#include "trial.h"

#define MEMBERS_MOST	9

struct type {
	const char *name;
	u8	dtype;
	u8	bytes;
	bool	with_sign;
};

static const struct type types[] = {
	{ "int8", CANARY_INT8, 1, true },
	{ "uint8", CANARY_UINT8, 1, false },
	{ "int16", CANARY_INT16, 2, true },
	{ "uint16", CANARY_UINT16, 2, false },
	{ "int32", CANARY_INT32, 4, true },
	{ "uint32", CANARY_UINT32, 4, false },
	{ "int64", CANARY_INT64, 8, true },
	{ "uint64", CANARY_UINT64, 8, false },
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
} shapes[] = {
	{ 1, 10, CANARY_ALG_AUTO },
	{ 2, 0, CANARY_ALG_TREE },
	{ 3, 1, CANARY_ALG_TREE },
	{ 4, 3201, CANARY_ALG_TREE, .aggregate = true },
	{ 5, 1999, CANARY_ALG_RING },
	{ 9, 1003, CANARY_ALG_TREE, .aggregate = true, .pinned = true, .drop = 20000 },
	{ 4, 2047, CANARY_ALG_RING, .pinned = true, .drop = 20000 },
};

/* Of the trial that runs */
static const struct type *type;
static u8 operator;

static __int128 number(u64 bits)
{
	switch (type->with_sign ? type->bytes : 0) {
	case 1:
		return (int8_t)bits;
	case 2:
		return (int16_t)bits;
	case 4:
		return (int32_t)bits;
	case 8:
		return (int64_t)bits;
	default:
		return bits;
	}
}

static __int128 two(__int128 a, __int128 b)
{
	switch (operator) {
	case CANARY_OP_PROD:
		return (__int128)((unsigned __int128)a * (unsigned __int128)b);
	case CANARY_OP_MIN:
		return a < b ? a : b;
	case CANARY_OP_MAX:
		return a > b ? a : b;
	case CANARY_OP_AND:
		return a & b;
	case CANARY_OP_OR:
		return a | b;
	case CANARY_OP_XOR:
		return a ^ b;
	case CANARY_OP_LAND:
		return a && b;
	case CANARY_OP_LOR:
		return a || b;
	case CANARY_OP_LXOR:
		return !a != !b;
	default:
		return a + b;
	}
}

static u64 reduce(const u64 *given, u32 n)
{
	__int128 all = number(given[0]);
	u32 i;

	for (i = 1; i < n; i++)
		all = two(all, number(given[i]));
	if (operator == CANARY_OP_AVG) {
		if (type->bytes == 8)
			all = number((u64)all);
		all /= n;
	}
	return type->bytes == 8 ? (u64)all : (u64)all & ((1ULL << 8 * type->bytes) - 1);
}

static bool trial(const struct shape *sh, u64 seed)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = sh->aggregate, .seed = seed, .key = seed & 1,
		.algorithm = sh->algorithm, .pinned = sh->pinned, .faults.drop = sh->drop,
		.dtype = type->dtype, .op = operator, .element = type->bytes, .reduce = reduce,
	};
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
