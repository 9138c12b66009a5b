/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: a vector of numbers is read, rounded and written, and sums of lanes become
 * results in units. Part of float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_SUMS_H
#define CANARY_CORE_FLOAT_SUMS_H

#include "float_vectors.h"

/* ---- numbers ---- */

/* Return: CNR_W numbers of a type of at most 32 bits */
static __always_inline cnr_vf cnr_read(const u8 type, const u8 *from)
{
	if (type == CANARY_FLOAT32)
		return *(const cnr_vf *)from;
	if (type == CANARY_FLOAT16)
		return cnr_from_half(*(const cnr_vh *)from);
	/* A bfloat16 is the upper half of a float32. */
	return (cnr_vf)(cnr_longer(*(const cnr_vh *)from) << 16);
}

/* Return: bits of @x, rounded to a number of 16 bits, in the lower half of 32 */
static __always_inline cnr_vu cnr_rounded(const u8 type, cnr_vf x)
{
	cnr_vu bits = (cnr_vu)x;

	if (type == CANARY_FLOAT16)
		return cnr_longer(cnr_to_half(x));
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* Return: as it was put */
static __always_inline cnr_vu cnr_write(const u8 type, u8 *to, cnr_vf x)
{
	cnr_vu bits = (cnr_vu)x;

	if (type == CANARY_FLOAT32) {
		*(cnr_vu *)to = bits;
		return bits;
	}
	bits = cnr_rounded(type, x);
	*(cnr_vh *)to = cnr_narrow(bits);
	return bits;
}

/* Return: CNR_D numbers */
static __always_inline cnr_vd cnr_read_wide(const u8 type, const u8 *from)
{
	if (type == CANARY_FLOAT64)
		return *(const cnr_vd *)from;
	return __builtin_convertvector(*(const cnr_hf *)from, cnr_vd);
}

/* ---- what loops do ---- */

/* What is done with elements */
enum cnr_do {
	CNR_ENCODE,	/* numbers at @from become lanes at @to */
	CNR_FINISH,	/* lanes at @sums become results at @to */
	CNR_TOTAL,	/* numbers, and lanes of all others, become results */
};

/* What all loops know when they are compiled */
struct cnr_kind {
	enum cnr_do what;
	u8	type;
	u8	lane;
	u8	group;
	bool	average;
};

/* Return: elements of one turn of a loop: whole groups, and whole vectors */
static __always_inline u32 cnr_turn_of(const u32 lane, const u32 group)
{
	const u32 step = lane == 16 ? 2 * CNR_W : lane == 64 ? CNR_D : CNR_W;

	return max_t(u32, group, step);
}

/* ---- sums in lanes of up to 32 bits ---- */

/*
 * Return: @sums, but the last 7 bits of long ones are in the one before these. Results have fewer
 * bits than what is left.
 */
static __always_inline cnr_vs cnr_odd_sums(cnr_vs sums)
{
	cnr_vu x = (cnr_vu)sums, odd = (x | ((x & 0x7f) + 0x7f)) & ~0x7fU;
	cnr_vu longer = (cnr_vu)((x + (1U << 24)) >> 25 != 0);

	return (cnr_vs)((odd & longer) | (x & ~longer));
}

/* Half of cnr_averages(). @odd: the last bit of a float says if something was cut off */
static __always_inline cnr_hf cnr_half_averages(cnr_hs sums, double members, const bool odd)
{
	cnr_vd quotient = __builtin_convertvector(sums, cnr_vd) / cnr_vd_all(members);
	const u64 cut = (1ULL << 29) - 1;
	cnr_vq bits;

	if (odd) {
		bits = (cnr_vq)quotient;
		bits = (bits | ((bits & cut) + cut)) & ~cut;
		quotient = (cnr_vd)bits;
	}
	return __builtin_convertvector(quotient, cnr_hf);
}

/*
 * Return: @sums by @members. A quotient of doubles has more than twice the bits of a float, so it
 * does not matter that it is rounded twice.
 */
static __always_inline cnr_vf cnr_averages(cnr_vs sums, u32 members, const bool odd)
{
	union { cnr_vs all; cnr_hs half[2]; } x = { .all = sums };
	union { cnr_vf all; cnr_hf half[2]; } y;

	y.half[0] = cnr_half_averages(x.half[0], members, odd);
	y.half[1] = cnr_half_averages(x.half[1], members, odd);
	return y.all;
}

/**
 * struct cnr_way - how lanes are made and taken
 * @own:	bias of a lane
 * @all:	bias of the sum of all lanes
 * @longer:	sums may have more bits than a float
 * @average:	results are averages
 */
struct cnr_way {
	u64	own;
	u64	all;
	u32	members;
	bool	longer;
	bool	average;
};

static __always_inline struct cnr_way cnr_way(const struct cnr_lanes *l)
{
	const u64 all = (u64)l->members << l->scale;

	return (struct cnr_way){
		.own = 1ULL << l->scale, .all = all, .members = l->members,
		.longer = all > 1U << 24,
		.average = l->average,
	};
}

/* Return: results in units */
static __always_inline cnr_vf cnr_sums(const struct cnr_kind k, const struct cnr_way *way,
				       cnr_vs sums)
{
	if (k.average)
		return cnr_averages(sums, way->members, k.type != CANARY_FLOAT32);
	if (k.type != CANARY_FLOAT32 && k.lane == 32 && way->longer)
		sums = cnr_odd_sums(sums);
	return __builtin_convertvector(sums, cnr_vf);
}

/* ---- sums in lanes of 64 bits ---- */

/* struct cnr_pair - a number of up to 106 bits: @low is at most half of the last bit of @high */
struct cnr_pair {
	cnr_vd	high;
	cnr_vd	low;
};

/* Return: @a + @b, where a is 0 or not less than b */
static __always_inline struct cnr_pair cnr_pair(cnr_vd a, cnr_vd b)
{
	cnr_vd sum = a + b;

	return (struct cnr_pair){ sum, b - (sum - a) };
}

/* Return: integers, as they are */
static __always_inline struct cnr_pair cnr_pair_of(cnr_vl sums)
{
	/* In the last bits of 2^84 + 2^63, and in those of 2^52 */
	cnr_vq high = (cnr_vq)sums >> 32 ^ 0x4530000080000000ULL;
	cnr_vq low = ((cnr_vq)sums & 0xffffffff) | 0x4330000000000000ULL;

	return cnr_pair((cnr_vd)high - (0x1p84 + 0x1p63), (cnr_vd)low - 0x1p52);
}

/*
 * Return: @x by @members, which have up to 16 bits. The rest is exact, so is what it gives when it
 * can be: no quotient comes close to one that is halfway.
 */
static __always_inline struct cnr_pair cnr_pair_divide(struct cnr_pair x, double members)
{
	const cnr_vd by = cnr_vd_all(members);
	cnr_vd quotient = x.high / by, upper, rest;

	upper = (cnr_vd)((cnr_vq)quotient & ~0x1ffffULL);
	rest = x.high - upper * by - (quotient - upper) * by + x.low;
	return cnr_pair(quotient, rest / by);
}

/* Return: @x, shortened. Its last bit says if something was cut off. */
static __always_inline cnr_vd cnr_pair_odd(struct cnr_pair x)
{
	cnr_vq bits = (cnr_vq)x.high;
	/* 1, or -1 where the lower part has the other sign */
	cnr_vq step = (cnr_vq)((cnr_vl)(bits ^ (cnr_vq)x.low) < 0) | 1;
	cnr_vq inexact = (cnr_vq)(x.low != 0), even = (bits & 1) - 1;

	return (cnr_vd)(bits + (step & inexact & even));
}

/* Return: @sums as results that are rounded when they are written */
static __always_inline cnr_vd cnr_sums_wide(const u8 type, const struct cnr_way *way, cnr_vl sums,
					    const bool average)
{
	struct cnr_pair x;

	if (type == CANARY_FLOAT64 && !average)
		return cnr_from_long(sums);
	x = cnr_pair_of(sums);
	if (average)
		x = cnr_pair_divide(x, way->members);
	return type == CANARY_FLOAT64 ? x.high : cnr_pair_odd(x);
}

#endif /* CANARY_CORE_FLOAT_SUMS_H */
