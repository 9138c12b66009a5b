/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: what the vector code of float32 (float_avx2.c) and of bfloat16 (bfloat_avx2.c)
 * have in common. Numbers are taken eight groups at a time: one look tells whether all of these are
 * as nearly all groups are.
 *
 * Units are powers of two, so a product with one is exact, and each result is rounded once. Neither
 * subnormal numbers nor how the processor treats them matter:
 *  - A number in units that are normal is at least half of one, or becomes 0.
 *  - A sum is a multiple of its unit.
 * Zeros need no unit, and many vectors have more of them than of other numbers. So they are done
 * here whatever the unit is.
 *
 * The kernel compiles these files with the vector unit (Kbuild), and nothing else. So they must be
 * called between cnr_vector_begin() and cnr_vector_end() only. Other compilers than GCC have other
 * names for some instructions; without, numbers are done one by one.
 */
#ifndef CANARY_CORE_FLOAT_AVX2_H
#define CANARY_CORE_FLOAT_AVX2_H

#include "float_lanes.h"

#if defined(__x86_64__) && !defined(__CHECKER__) && !defined(__clang__)
#define CNR_AVX2

#ifndef __KERNEL__
#pragma GCC target("avx2")
#endif

/* Vectors of 32 bytes, wherever they are in memory */
typedef s32 cnr_v8s __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef u32 cnr_v8u __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef float cnr_v8f __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef u16 cnr_v16h __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef short cnr_v16i __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef char cnr_v32b __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef long long cnr_v4q __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef char cnr_v16b __attribute__((__vector_size__(16)));
typedef long long cnr_v2q __attribute__((__vector_size__(16)));
typedef u8 cnr_v8b __attribute__((__vector_size__(8), __aligned__(1), __may_alias__));
typedef u16 cnr_v8h __attribute__((__vector_size__(16), __aligned__(1), __may_alias__));

#define CNR_ALL(type, value)	\
	((type) { value, value, value, value, value, value, value, value })

#define CNR_EIGHT	8	/* groups that are looked at together */
#define CNR_CHUNK	32	/* most groups of a chunk */

/*
 * The exponent fields of @n groups from @group on, at most eight, in the order of bytes. Nothing is
 * read that is behind them.
 */
static __always_inline u64 cnr_some_fields(const u8 *fields, u32 group, u32 n)
{
	u64 some = 0;
	u32 i;

	if (group + n >= CNR_EIGHT) {
		memcpy(&some, fields + group + n - CNR_EIGHT, sizeof(some));
		return some >> 8 * (CNR_EIGHT - n);
	}
	for (i = 0; i < n; i++)
		some |= (u64)fields[group + i] << 8 * i;
	return some;
}

/* struct cnr_look - what cnr_look_at() needs */
struct cnr_look {
	cnr_v8s	least;
	cnr_v8s	marked;
	cnr_v8u	less;
	cnr_v8u	more;
};

/* cnr_chunk() for eight groups, with these @fields */
static __always_inline u32 cnr_look_at(const struct cnr_look *look, u64 fields, float *lanes,
				       float *units)
{
	cnr_v8s f = (cnr_v8s)__builtin_ia32_pmovzxbd256((cnr_v16b)(cnr_v2q) { fields, 0 });
	cnr_v8s odd = (f < look->least) | (f == look->marked);

	/* The exponent of the unit is the field less 126 + scale. */
	f = (cnr_v8s)__builtin_ia32_pmaxsd256(f, look->least);
	if (lanes)
		*(cnr_v8u *)lanes = (look->less - (cnr_v8u)f) << 23;
	if (units)
		*(cnr_v8u *)units = (look->more + (cnr_v8u)f) << 23;
	return __builtin_ia32_movmskps256((cnr_v8f)odd);
}

/*
 * Look at @n groups from @group on, at most CNR_CHUNK. @lanes: gets what makes lanes of numbers,
 * 1 by the unit of each group. @units: gets the units. One of them may be NULL. All are normal
 * numbers, right or not, and up to seven more follow.
 *
 * Return: a bit for each group that is odd. It is marked, or its unit is so small that neither that
 * nor 1 by it are sure to be normal. Averages are smaller than the unit by up to 2^16. What is in
 * @lanes and @units for odd groups is right for zeros only
 */
static __always_inline u32 cnr_chunk(const struct cnr_lanes *l, u32 group, u32 n, float *lanes,
				     float *units)
{
	const struct cnr_look look = {
		CNR_ALL(cnr_v8s, 17 + l->scale), CNR_ALL(cnr_v8s, 0xff),
		CNR_ALL(cnr_v8u, 253U + l->scale), CNR_ALL(cnr_v8u, 1U - l->scale),
	};
	const u8 *at = l->fields + group;
	u32 i, odd = 0;
	u64 fields;

	for (i = 0; i + CNR_EIGHT <= n; i += CNR_EIGHT) {
		memcpy(&fields, at + i, sizeof(fields));
		odd |= cnr_look_at(&look, fields, lanes ? lanes + i : NULL,
				   units ? units + i : NULL) << i;
	}
	if (i == n)
		return odd;
	fields = cnr_some_fields(l->fields, group + i, n - i);
	odd |= cnr_look_at(&look, fields, lanes ? lanes + i : NULL, units ? units + i : NULL) << i;
	return odd & ((1U << n) - 1);
}

static __always_inline u32 cnr_vector_sum(cnr_v8u v)
{
	v += __builtin_shuffle(v, (cnr_v8u){ 4, 5, 6, 7, 0, 1, 2, 3 });
	v += __builtin_shuffle(v, (cnr_v8u){ 2, 3, 0, 1, 6, 7, 4, 5 });
	return v[0] + v[1];
}

/*
 * Return: the largest of the four bytes of each group, in the order of groups. @fields has the
 * groups 0 2 4 6 1 3 5 7
 */
static __always_inline u64 cnr_chunk_largest(cnr_v8u fields)
{
	const cnr_v32b lowest = { 0, -1, 4, -1, 8, -1, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1,
				  -1, 0, -1, 4, -1, 8, -1, 12, -1, -1, -1, -1, -1, -1, -1, -1 };
	cnr_v4q bytes;

	fields = (cnr_v8u)__builtin_ia32_pmaxub256((cnr_v32b)fields, (cnr_v32b)(fields >> 16));
	fields = (cnr_v8u)__builtin_ia32_pmaxub256((cnr_v32b)fields, (cnr_v32b)(fields >> 8));
	bytes = (cnr_v4q)__builtin_ia32_pshufb256((cnr_v32b)fields, lowest);
	return (u64)(bytes[0] | bytes[2]);
}

/* Elements of one group after the other, one by one */
static inline void cnr_encode_one(const struct cnr_lanes *l, void *words, u32 at, const u8 *from,
				  u32 first, u32 n)
{
	u32 i, some, group;

	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		group = (first + i) / l->group;
		if (l->fields[group] == 0xff)
			cnr_lanes_count(l, words, at + i, from + i * l->f->bytes, some);
		else
			cnr_lanes_put(l, words, at + i, from + i * l->f->bytes, some,
				      cnr_unit(l, l->fields[group]), false);
	}
}

/* The same for their sums */
static inline void cnr_finish_one(const struct cnr_lanes *l, void *words, u32 at, u32 first, u32 n)
{
	u32 i, some, group;

	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		group = (first + i) / l->group;
		if (l->fields[group] == 0xff)
			cnr_lanes_counted(l, words, at + i, some);
		else
			cnr_lanes_sum(l, words, at + i, some, cnr_unit(l, l->fields[group]));
	}
}

/*
 * Do all the numbers or lanes in @bytes at @at, of 4 bytes or 2, have the bits @value, where @mask
 * has any?
 */
static inline bool cnr_all_are(const u8 *at, u32 bytes, u32 value, u32 mask)
{
	cnr_v8u any = CNR_ALL(cnr_v8u, 0);
	u32 i, some, last = 0;

	for (i = 0; i + 32 <= bytes; i += 32)
		any |= *(const cnr_v8u *)(at + i) ^ CNR_ALL(cnr_v8u, value);
	for (; i + 4 <= bytes; i += 4) {
		memcpy(&some, at + i, 4);
		last |= some ^ value;
	}
	if (i < bytes)
		last |= (u32)(at[i] | at[i + 1] << 8) ^ (value & 0xffff);
	any |= CNR_ALL(cnr_v8u, last);
	return __builtin_ia32_ptestz256((cnr_v4q)any, (cnr_v4q)CNR_ALL(cnr_v8u, mask));
}

/* Return: @value, of lanes of 16 bits twice */
static inline u32 cnr_in_word(const struct cnr_lanes *l, u32 value)
{
	return l->lane == 16 ? value << 16 | value : value;
}

/*
 * Return: whether any of the groups in @odd, behind @group, is really not like others. It does not
 * matter what makes lanes or results of zeros. @from: NULL, or our own numbers. @sums: NULL, or
 * lanes of so many @members. Both are of the chunk.
 */
static inline bool cnr_is_odd(const struct cnr_lanes *l, u32 odd, u32 group, const u8 *from,
			      const u8 *sums, u32 members)
{
	const u32 size = l->group * (l->lane / 8), zeros = cnr_in_word(l, members << l->scale);
	const u32 magnitude = cnr_in_word(l, (1U << (l->lane - 1)) - 1);
	u64 left = odd;
	u32 i, k, run;

	for (; left; left &= ~0ULL << (i + run)) {
		i = __builtin_ctzll(left);
		run = __builtin_ctzll(~(left >> i));
		for (k = i; k < i + run; k++)
			if (l->fields[group + k] == 0xff)
				return true;
		if ((from && !cnr_all_are(from + i * size, run * size, 0, magnitude)) ||
		    (sums && !cnr_all_are(sums + i * size, run * size, zeros, ~0U)))
			return true;
	}
	return false;
}

#endif /* with AVX2 */

#endif /* CANARY_CORE_FLOAT_AVX2_H */
