// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: float_lanes.c for eight numbers at a time, on x86 processors with AVX2. It does
 * FLOAT32 in lanes of 32 bits and BFLOAT16 in lanes of 16, as long as units are normal numbers.
 *
 * Units are powers of two, so a product with one is exact, and each result is rounded once. Neither
 * subnormal numbers nor how the processor treats them matter:
 *  - A number in units that are normal is at least half of one, or becomes 0.
 *  - A sum is a multiple of its unit.
 * Zeros need no unit, and many vectors have more of them than of other numbers. So they are done
 * here whatever the unit is.
 *
 * The kernel compiles this file with the vector unit (Kbuild), and nothing else. So it must be
 * called between cnr_vector_begin() and cnr_vector_end() only. Other compilers than GCC have other
 * names for some instructions; without, numbers are done one by one.
 */
#include "float_lanes.h"

#if defined(__x86_64__) && !defined(__CHECKER__) && !defined(__clang__)

#ifndef __KERNEL__
#pragma GCC target("avx2")
#endif

/* Vectors of 8, wherever they are in memory */
typedef s32 cnr_v8s __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef u32 cnr_v8u __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef float cnr_v8f __attribute__((__vector_size__(32), __aligned__(1), __may_alias__));
typedef double cnr_v4d __attribute__((__vector_size__(32), __may_alias__));
typedef s32 cnr_v4s __attribute__((__vector_size__(16), __aligned__(1), __may_alias__));
typedef float cnr_v4f __attribute__((__vector_size__(16), __aligned__(1), __may_alias__));
typedef u8 cnr_v8b __attribute__((__vector_size__(8), __aligned__(1), __may_alias__));
typedef u16 cnr_v8h __attribute__((__vector_size__(16), __aligned__(1), __may_alias__));

#define CNR_ALL(type, value)	\
	((type) { value, value, value, value, value, value, value, value })

/* Return: 2^@exponent, which is normal */
static __always_inline float cnr_power(s32 exponent)
{
	union {
		u32 bits;
		float value;
	} power = { .bits = (u32)(exponent + 127) << 23 };

	return power.value;
}

/* Groups that are smaller than a vector: 4 or 1 */
static bool cnr_is_small(const struct cnr_lanes *l)
{
	return l->group < CNR_EIGHT;
}

/* Averages are smaller than the unit by up to 2^16. */
static bool cnr_unit_can(s32 unit)
{
	return unit >= -109 && unit <= 126;
}

/* Eight numbers of @dtype at @from */
static __always_inline cnr_v8f cnr_eight(u8 dtype, const u8 *from, u32 i)
{
	const void *at = from + i * (dtype == CANARY_FLOAT32 ? 4 : 2);

	if (dtype == CANARY_FLOAT32)
		return *(const cnr_v8f *)at;
	return (cnr_v8f)(__builtin_convertvector(*(const cnr_v8h *)at, cnr_v8u) << 16);
}

static __always_inline void cnr_eight_put(u8 dtype, u8 *words, u32 i, cnr_v8s lanes)
{
	if (dtype == CANARY_FLOAT32)
		*(cnr_v8s *)(words + 4 * i) = lanes;
	else
		*(cnr_v8h *)(words + 2 * i) = __builtin_convertvector(lanes, cnr_v8h);
}

static __always_inline bool cnr_eight_any(cnr_v8s are)
{
	return __builtin_ia32_movmskps256((cnr_v8f)are);
}

/* Are @n numbers at @from all zero? */
static __always_inline bool cnr_are_zeros(const struct cnr_lanes *l, u8 dtype, const u8 *from,
					  u32 n)
{
	cnr_v8u all = CNR_ALL(cnr_v8u, 0);
	u32 i;

	for (i = 0; i + CNR_EIGHT <= n; i += CNR_EIGHT)
		all |= (cnr_v8u)cnr_eight(dtype, from, i) << 1;
	for (; i < n; i++)
		all[0] |= (u32)(cnr_bits_at(l->f, from, i) << (32 - 8 * l->f->bytes)) << 1;
	return !cnr_eight_any((cnr_v8s)(all != CNR_ALL(cnr_v8u, 0)));
}

/* Return: the lanes of eight numbers; @scale: 1 by their unit */
static __always_inline cnr_v8s cnr_eight_lanes(const struct cnr_lanes *l, cnr_v8f numbers,
					       cnr_v8f scale)
{
	const s32 bias = (s32)(1U << l->scale), most = bias - 1;
	cnr_v8s k = (cnr_v8s)__builtin_ia32_cvtps2dq256(numbers * scale);

	k = (cnr_v8s)__builtin_ia32_pminsd256(k, CNR_ALL(cnr_v8s, most));
	k = (cnr_v8s)__builtin_ia32_pmaxsd256(k, CNR_ALL(cnr_v8s, -most));
	return k + CNR_ALL(cnr_v8s, bias);
}

static __always_inline void cnr_avx2_lanes(const struct cnr_lanes *l, u8 dtype, u8 *words, u32 at,
					   const u8 *from, u32 n, s32 unit)
{
	cnr_v8f scale = CNR_ALL(cnr_v8f, cnr_power(-unit));
	u32 i;

	for (i = 0; i + CNR_EIGHT <= n; i += CNR_EIGHT)
		cnr_eight_put(dtype, words, at + i,
			      cnr_eight_lanes(l, cnr_eight(dtype, from, i), scale));
	if (i < n)
		cnr_lanes_put(l, words, at + i, from + i * l->f->bytes, n - i, unit, false);
}

/* Return: the fields of eight elements of small groups, the first of which begins @group */
static __always_inline cnr_v8u cnr_eight_fields(const struct cnr_lanes *l, u32 group)
{
	const u8 *f = l->fields + group;

	if (l->group == 4)
		return (cnr_v8u){ f[0], f[0], f[0], f[0], f[1], f[1], f[1], f[1] };
	return __builtin_convertvector(*(const cnr_v8b *)f, cnr_v8u);
}

/* Is a group marked that has one of these @fields? */
static __always_inline bool cnr_eight_marked(cnr_v8u fields)
{
	return cnr_eight_any((cnr_v8s)(fields == CNR_ALL(cnr_v8u, 0xff)));
}

/* cnr_unit_can() the units of all these @fields? Those of marked groups it cannot. */
static __always_inline bool cnr_eight_units_can(const struct cnr_lanes *l, cnr_v8u fields)
{
	return !cnr_eight_any((cnr_v8s)(fields < CNR_ALL(cnr_v8u, 17U + l->scale))) &&
	       !cnr_eight_marked(fields);
}

/* The exponent of the unit of a field is the field less this. */
static __always_inline u32 cnr_unit_less(const struct cnr_lanes *l)
{
	return 126 + l->scale;
}

/* Return: how many elements are done one by one until a small group begins */
static u32 cnr_small_first(const struct cnr_lanes *l, u32 first, u32 n)
{
	return first % l->group ? cnr_group_left(l, first, n) : 0;
}

/* Elements of one group after the other, one by one */
static void cnr_encode_one(const struct cnr_lanes *l, u8 *words, u32 at, const u8 *from, u32 first,
			   u32 n)
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

static __always_inline void cnr_avx2_encode_small(const struct cnr_lanes *l, u8 dtype, u8 *words,
						  const u8 *from, u32 first, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	cnr_v8u fields, one = CNR_ALL(cnr_v8u, 127U + cnr_unit_less(l));
	u32 i = cnr_small_first(l, first, n);

	cnr_encode_one(l, words, 0, from, first, i);
	for (; i + CNR_EIGHT <= n; i += CNR_EIGHT) {
		fields = cnr_eight_fields(l, (first + i) / l->group);
		if (cnr_eight_units_can(l, fields))
			cnr_eight_put(dtype, words, i,
				      cnr_eight_lanes(l, cnr_eight(dtype, from, i),
						      (cnr_v8f)((one - fields) << 23)));
		else if (!cnr_eight_marked(fields) &&
			 cnr_are_zeros(l, dtype, from + i * bytes, CNR_EIGHT))
			cnr_avx2_lanes(l, dtype, words, i, from + i * bytes, CNR_EIGHT, 0);
		else
			cnr_encode_one(l, words, i, from + i * bytes, first + i, CNR_EIGHT);
	}
	cnr_encode_one(l, words, i, from + i * bytes, first + i, n - i);
}

static __always_inline void cnr_avx2_encode_as(const struct cnr_lanes *l, u8 dtype, u8 *words,
					       const u8 *from, u32 first, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	u32 i, some, group = first / l->group;
	s32 unit;

	some = cnr_group_left(l, first, n);
	for (i = 0; i < n; i += some, group++, some = min_t(u32, l->group, n - i)) {
		unit = cnr_unit(l, l->fields[group]);
		if (l->fields[group] == 0xff)
			cnr_lanes_count(l, words, i, from + i * bytes, some);
		else if (cnr_unit_can(unit))
			cnr_avx2_lanes(l, dtype, words, i, from + i * bytes, some, unit);
		else if (cnr_are_zeros(l, dtype, from + i * bytes, some))
			cnr_avx2_lanes(l, dtype, words, i, from + i * bytes, some, 0);
		else
			cnr_lanes_put(l, words, i, from + i * bytes, some, unit, false);
	}
}

bool cnr_avx2_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	if (l->dtype == CANARY_FLOAT32 && cnr_is_small(l))
		cnr_avx2_encode_small(l, CANARY_FLOAT32, words, from, first, n);
	else if (cnr_is_small(l))
		cnr_avx2_encode_small(l, CANARY_BFLOAT16, words, from, first, n);
	else if (l->dtype == CANARY_FLOAT32)
		cnr_avx2_encode_as(l, CANARY_FLOAT32, words, from, first, n);
	else
		cnr_avx2_encode_as(l, CANARY_BFLOAT16, words, from, first, n);
	return true;
}

/*
 * Return: @sums by @members. A quotient of doubles has more than twice the bits of a float, so it
 * does not matter that it is rounded twice.
 */
static __always_inline cnr_v8f cnr_averages(cnr_v8s sums, u32 members)
{
	cnr_v4d by = { members, members, members, members };
	cnr_v4s low = { sums[0], sums[1], sums[2], sums[3] };
	cnr_v4s high = { sums[4], sums[5], sums[6], sums[7] };
	cnr_v4f one, two;

	one = __builtin_convertvector(__builtin_convertvector(low, cnr_v4d) / by, cnr_v4f);
	two = __builtin_convertvector(__builtin_convertvector(high, cnr_v4d) / by, cnr_v4f);
	return (cnr_v8f){ one[0], one[1], one[2], one[3], two[0], two[1], two[2], two[3] };
}

/* Return: the sums of eight lanes at @at, in units */
static __always_inline cnr_v8s cnr_eight_at(const struct cnr_lanes *l, u8 dtype, const void *at)
{
	cnr_v8u bias = CNR_ALL(cnr_v8u, l->members << l->scale);

	if (dtype == CANARY_FLOAT32)
		return (cnr_v8s)(*(const cnr_v8u *)at - bias);
	return (cnr_v8s)(__builtin_convertvector(*(const cnr_v8h *)at, cnr_v8u) - bias);
}

/* Eight lanes at @at become results; @scale: their unit */
static __always_inline void cnr_eight_sums(const struct cnr_lanes *l, u8 dtype, void *at,
					   cnr_v8f scale)
{
	cnr_v8u bits, half = CNR_ALL(cnr_v8u, 0x7fff), one = CNR_ALL(cnr_v8u, 1);
	cnr_v8s lanes = cnr_eight_at(l, dtype, at);
	cnr_v8f sum;

	if (dtype == CANARY_FLOAT32) {
		sum = l->average ? cnr_averages(lanes, l->members) :
		      __builtin_convertvector(lanes, cnr_v8f);
		*(cnr_v8f *)at = sum * scale;
	} else {
		bits = (cnr_v8u)(__builtin_convertvector(lanes, cnr_v8f) * scale);
		bits = (bits + half + (bits >> 16 & one)) >> 16;
		*(cnr_v8h *)at = __builtin_convertvector(bits, cnr_v8h);
	}
}

static __always_inline void cnr_avx2_sums(const struct cnr_lanes *l, u8 dtype, u8 *words, u32 n,
					  s32 unit)
{
	cnr_v8f scale = CNR_ALL(cnr_v8f, cnr_power(unit));
	u32 i;

	for (i = 0; i + CNR_EIGHT <= n; i += CNR_EIGHT)
		cnr_eight_sums(l, dtype, words + i * (dtype == CANARY_FLOAT32 ? 4 : 2), scale);
}

/* Are the sums of @n lanes, a multiple of eight, all zero? */
static __always_inline bool cnr_sums_are_zeros(const struct cnr_lanes *l, u8 dtype,
					       const u8 *words, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	cnr_v8s all = CNR_ALL(cnr_v8s, 0);
	u32 i;

	for (i = 0; i < n; i += CNR_EIGHT)
		all |= cnr_eight_at(l, dtype, words + i * bytes);
	return !cnr_eight_any(all != CNR_ALL(cnr_v8s, 0));
}

static void cnr_finish_one(const struct cnr_lanes *l, u8 *words, u32 at, u32 first, u32 n)
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

static __always_inline void cnr_avx2_finish_small(const struct cnr_lanes *l, u8 dtype, u8 *words,
						  u32 first, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	cnr_v8u fields, one = CNR_ALL(cnr_v8u, 127U - cnr_unit_less(l));
	u32 i = cnr_small_first(l, first, n);

	cnr_finish_one(l, words, 0, first, i);
	for (; i + CNR_EIGHT <= n; i += CNR_EIGHT) {
		fields = cnr_eight_fields(l, (first + i) / l->group);
		if (cnr_eight_units_can(l, fields))
			cnr_eight_sums(l, dtype, words + i * bytes,
				       (cnr_v8f)((fields + one) << 23));
		else if (!cnr_eight_marked(fields) &&
			 cnr_sums_are_zeros(l, dtype, words + i * bytes, CNR_EIGHT))
			cnr_avx2_sums(l, dtype, words + i * bytes, CNR_EIGHT, 0);
		else
			cnr_finish_one(l, words, i, first + i, CNR_EIGHT);
	}
	cnr_finish_one(l, words, i, first + i, n - i);
}

static __always_inline void cnr_avx2_finish_as(const struct cnr_lanes *l, u8 dtype, u8 *words,
					       u32 first, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	u32 i, some, fast, group = first / l->group;
	s32 unit;

	some = cnr_group_left(l, first, n);
	for (i = 0; i < n; i += some, group++, some = min_t(u32, l->group, n - i)) {
		unit = cnr_unit(l, l->fields[group]);
		if (l->fields[group] == 0xff) {
			cnr_lanes_counted(l, words, i, some);
			continue;
		}
		fast = some & ~(CNR_EIGHT - 1U);
		if (cnr_unit_can(unit))
			cnr_avx2_sums(l, dtype, words + i * bytes, fast, unit);
		else if (cnr_sums_are_zeros(l, dtype, words + i * bytes, fast))
			cnr_avx2_sums(l, dtype, words + i * bytes, fast, 0);
		else
			fast = 0;
		if (fast < some)
			cnr_lanes_sum(l, words, i + fast, some - fast, unit);
	}
}

bool cnr_avx2_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (l->dtype == CANARY_FLOAT32 && cnr_is_small(l))
		cnr_avx2_finish_small(l, CANARY_FLOAT32, words, first, n);
	else if (cnr_is_small(l))
		cnr_avx2_finish_small(l, CANARY_BFLOAT16, words, first, n);
	else if (l->dtype == CANARY_FLOAT32)
		cnr_avx2_finish_as(l, CANARY_FLOAT32, words, first, n);
	else
		cnr_avx2_finish_as(l, CANARY_BFLOAT16, words, first, n);
	return true;
}

/* Return: the largest of eight numbers without signs */
static __always_inline u32 cnr_largest(cnr_v8u v)
{
	v = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)v, (cnr_v8s)
		__builtin_shuffle(v, (cnr_v8u){ 4, 5, 6, 7, 0, 1, 2, 3 }));
	v = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)v, (cnr_v8s)
		__builtin_shuffle(v, (cnr_v8u){ 2, 3, 0, 1, 6, 7, 4, 5 }));
	v = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)v, (cnr_v8s)
		__builtin_shuffle(v, (cnr_v8u){ 1, 0, 3, 2, 5, 4, 7, 6 }));
	return v[0];
}

static __always_inline void cnr_avx2_fields_as(const struct cnr_lanes *l, u8 dtype, u8 *fields,
					       const u8 *from, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	u32 i, k, some;
	cnr_v8u most;

	for (i = 0; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		if (some < l->group) {
			*fields = cnr_largest_field(l, from + i * bytes, some, false);
			return;
		}
		most = (cnr_v8u)cnr_eight(dtype, from, i) << 1;
		for (k = CNR_EIGHT; k < l->group; k += CNR_EIGHT)
			most = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)most, (cnr_v8s)
				((cnr_v8u)cnr_eight(dtype, from, i + k) << 1));
		*fields++ = cnr_largest(most) >> 24;
	}
}

static __always_inline void cnr_avx2_fields_small(const struct cnr_lanes *l, u8 dtype, u8 *fields,
						  const u8 *from, u32 n)
{
	const u32 bytes = dtype == CANARY_FLOAT32 ? 4 : 2;
	u32 i, some;
	cnr_v8u v;

	for (i = 0; i + CNR_EIGHT <= n; i += CNR_EIGHT) {
		v = (cnr_v8u)cnr_eight(dtype, from, i) << 1;
		if (l->group == 1) {
			*(cnr_v8b *)fields = __builtin_convertvector(v >> 24, cnr_v8b);
			fields += CNR_EIGHT;
			continue;
		}
		v = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)v, (cnr_v8s)
			__builtin_shuffle(v, (cnr_v8u){ 2, 3, 0, 1, 6, 7, 4, 5 }));
		v = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)v, (cnr_v8s)
			__builtin_shuffle(v, (cnr_v8u){ 1, 0, 3, 2, 5, 4, 7, 6 }));
		*fields++ = v[0] >> 24;
		*fields++ = v[4] >> 24;
	}
	for (; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		*fields++ = cnr_largest_field(l, from + i * bytes, some, false);
	}
}

bool cnr_avx2_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	if (l->dtype == CANARY_FLOAT32 && cnr_is_small(l))
		cnr_avx2_fields_small(l, CANARY_FLOAT32, fields, from, n);
	else if (cnr_is_small(l))
		cnr_avx2_fields_small(l, CANARY_BFLOAT16, fields, from, n);
	else if (l->dtype == CANARY_FLOAT32)
		cnr_avx2_fields_as(l, CANARY_FLOAT32, fields, from, n);
	else
		cnr_avx2_fields_as(l, CANARY_BFLOAT16, fields, from, n);
	return true;
}

#else

bool cnr_avx2_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	return false;
}

bool cnr_avx2_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	return false;
}

bool cnr_avx2_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	return false;
}

#endif
