// SPDX-License-Identifier: BSD-2-Clause
/*
 * Complex numbers, in trees and rings, with loss. Products are compared bit by bit with those of
 * this processor, which multiplies in the order of ranks and rounds each operation (this file is
 * compiled without contraction). Sums come from the reference of canary perf.
 */
#include "core/inside.h"
#include "tools/canary/reference.h"
#include "trial.h"

static const struct type {
	const char *name;
	u8	dtype;
	u8	bytes;		/* of a number */
	u8	fraction;
	u32	field_max;
} types[] = {
	{ "complex64", CANARY_COMPLEX64, 4, 23, 255 },
	{ "complex128", CANARY_COMPLEX128, 8, 52, 2047 },
};

/* Which numbers vectors have */
enum data {
	NEAR,			/* about 1; parts of products cancel out, or nearly so */
	ALL,			/* any finite bits */
	TINY,			/* products are about the least numbers */
	APART,			/* of a sum, one part is about the last bit of the other one */
	SPECIAL,		/* infinities, NaNs, zeros of both signs, the largest numbers */
	DATA
};

static const char *const data_name[] = { "near", "all", "tiny", "apart", "special" };

static const struct shape {
	u32	members;
	u32	elements;
	u8	algorithm;
	bool	aggregate;
	bool	pinned;
	u32	drop;
	u32	mtu;
	u8	how;
} shapes[] = {
	{ 1, 10, CANARY_ALG_TREE },
	{ 2, 0, CANARY_ALG_TREE },
	{ 2, 20000, CANARY_ALG_TREE, .aggregate = true },
	{ 3, 129, CANARY_ALG_TREE, .drop = 20000 },
	{ 5, 2999, CANARY_ALG_RING },
	{ 4, 1001, CANARY_ALG_RING, .pinned = true, .drop = 20000 },
	{ 40, 101, CANARY_ALG_TREE, .pinned = true, .mtu = 600, .drop = 5000 },
	{ 3, 2049, CANARY_ALG_TREE, .how = CANARY_HOW_EXACT },
};

/* Of the trial that runs */
static const struct type *type;
static struct reference r;
static enum data data;

static u64 make(u64 random, u32 field)
{
	u64 sign = 1ULL << (8 * type->bytes - 1), fraction = (1ULL << type->fraction) - 1;

	return (random & (sign | fraction)) | (u64)field << type->fraction;
}

static uint64_t give(const struct reference *of, uint32_t rank, size_t i)
{
	u64 x = (i + 1) * 0x9e3779b97f4a7c15ULL + (rank + 1) * 0xd6e8feb86659fd93ULL + of->seed;
	const u32 middle = type->field_max / 2;
	const u64 sign = 1ULL << 63 | 1ULL << 31;
	const u32 most = type->field_max;
	const u64 edge[] = {
		make(0, most), make(~0ULL, most), make(sign, most), 0, make(sign, 0),
		make(~0ULL, most - 1), make(1ULL << 22, middle), 1,
	};

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 32) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	switch (data) {
	case NEAR:
		/* few bits are set, so products are often equal */
		return make(x % 2 ? x & ~0ULL << (type->fraction - 4) : x, middle - x % 3);
	case TINY:
		return make(x, rank ? middle - x / 8 % 4 : x % 3 ? x / 8 % 3 : x / 8 % 64);
	case APART:
		return make(x, middle + (i % 2 ? x / 8 % 2 : type->fraction - 2 + x / 8 % 14));
	case SPECIAL:
		return x % 3 ? edge[x / 8 % ARRAY_SIZE(edge)] : make(x, middle);
	default:
		return make(x, x / 8 % type->field_max);
	}
}

#define PRODUCT(number)									\
static void product_##number(const struct reference *of, size_t i, number *re, number *im)	\
{											\
	number a[2], c[2];								\
	u64 bits;									\
	u32 rank, k;									\
											\
	for (rank = 0; rank < of->members; rank++) {					\
		for (k = 0; k < 2; k++) {						\
			bits = give(of, rank, 2 * i + k);				\
			memcpy(&c[k], &bits, sizeof(*c));				\
		}									\
		*re = rank ? a[0] * c[0] - a[1] * c[1] : c[0];				\
		*im = rank ? a[0] * c[1] + a[1] * c[0] : c[1];				\
		a[0] = *re;								\
		a[1] = *im;								\
	}										\
}

PRODUCT(float)
PRODUCT(double)

/* The processor has other NaNs. With one member, all bits are copied. */
static u64 bits_of(u64 bits)
{
	u64 infinity = (u64)type->field_max << type->fraction;

	if (r.members > 1 && (bits & (~0ULL >> (65 - 8 * type->bytes))) > infinity)
		return infinity | 1ULL << (type->fraction - 1);
	return bits;
}

static void product(size_t i, u64 want[2])
{
	double d[2];
	float f[2];

	memset(want, 0, 2 * sizeof(*want));
	if (type->bytes == 4) {
		product_float(&r, i, &f[0], &f[1]);
		memcpy(&want[0], &f[0], sizeof(*f));
		memcpy(&want[1], &f[1], sizeof(*f));
	} else {
		product_double(&r, i, &d[0], &d[1]);
		memcpy(want, d, sizeof(d));
	}
	want[0] = bits_of(want[0]);
	want[1] = bits_of(want[1]);
}

static bool right(u32 op, const void *got, u32 elements)
{
	u64 want[2], bits;
	u32 i, k;

	if (r.op != CANARY_OP_PROD)
		return !reference_wrong(&r, got, elements, true);
	for (i = 0; i < elements; i++) {
		product(i, want);
		for (k = 0; k < 2; k++) {
			bits = 0;
			memcpy(&bits, (const u8 *)got + (2 * i + k) * type->bytes, type->bytes);
			if (bits == want[k])
				continue;
			printf("# %s, element %u, part %u: %#llx, not %#llx\n", data_name[data], i,
			       k, (unsigned long long)bits, (unsigned long long)want[k]);
			return false;
		}
	}
	/* The reference of canary perf has to agree. */
	return !reference_wrong(&r, got, elements, true);
}

static void fill(void *to, u32 rank, u32 op, u32 elements)
{
	reference_fill(&r, rank, to, elements);
}

static bool trial(const struct shape *sh, u64 seed)
{
	struct tnet_config cfg = {
		.members = sh->members, .aggregate = sh->aggregate, .seed = seed, .key = seed & 1,
		.algorithm = sh->algorithm, .pinned = sh->pinned, .faults.drop = sh->drop,
		.mtu = sh->mtu, .dtype = type->dtype, .op = r.op, .how = sh->how,
		.element = 2 * type->bytes, .fill = fill, .right = right,
	};
	struct tnet *s = tnet_new(&cfg);
	u32 i, good = 0;

	r.dtype = type->dtype;
	r.members = sh->members;
	r.seed = seed;
	r.how = sh->how;
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
	static const struct {
		const char *name;
		u8	op;
	} operators[] = {
		{ "products", CANARY_OP_PROD }, { "sums", CANARY_OP_SUM },
		{ "averages", CANARY_OP_AVG },
	};
	u32 o, t, i, good, seed;

	r.give = give;
	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		r.op = operators[o].op;
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			type = &types[t];
			for (data = 0; data < DATA; data++) {
				seed = 1000 * o + 100 * t + 10 * data;
				for (good = 0, i = 0; i < ARRAY_SIZE(shapes); i++)
					good += trial(&shapes[i], seed + i);
				tap(good == ARRAY_SIZE(shapes), "%s of %s, %s: %u of %zu shapes",
				    operators[o].name, type->name, data_name[data], good,
				    ARRAY_SIZE(shapes));
			}
		}
	}
	return tap_done("core-complex");
}
