// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: float_lanes.c for bfloat16 in lanes of 16 bits, on x86 processors with AVX2.
 * float_avx2.h says why it comes to the same bits. A bfloat16 is the upper half of a float32.
 *
 * Two lanes share a word. So they are clamped, whatever a member does to its vector.
 */
#include "float_avx2.h"

#ifdef CNR_AVX2

/* Sixteen numbers or lanes as 32 bits each: the first four of each eight, and the last four */
struct cnr_halves {
	cnr_v8u	low;
	cnr_v8u	high;
};

static __always_inline cnr_v16i cnr_sixteen(u32 value)
{
	return (cnr_v16i)CNR_ALL(cnr_v8u, value << 16 | value);
}

/* Return: the numbers @v, each in the upper half of 32 bits */
static __always_inline struct cnr_halves cnr_upper(cnr_v16i v)
{
	const cnr_v16i zero = { 0 };

	return (struct cnr_halves){
		(cnr_v8u)__builtin_ia32_punpcklwd256(zero, v),
		(cnr_v8u)__builtin_ia32_punpckhwd256(zero, v),
	};
}

/* Return: the lanes @v, each in 32 bits */
static __always_inline struct cnr_halves cnr_lower(cnr_v16i v)
{
	const cnr_v16i zero = { 0 };

	return (struct cnr_halves){
		(cnr_v8u)__builtin_ia32_punpcklwd256(v, zero),
		(cnr_v8u)__builtin_ia32_punpckhwd256(v, zero),
	};
}

/* struct cnr_biased - the most that a lane has, and the least, without the bias; the bias */
struct cnr_biased {
	cnr_v16i most;
	cnr_v16i least;
	cnr_v16h bias;
};

static __always_inline struct cnr_biased cnr_biased(const struct cnr_lanes *l)
{
	const u32 bias = 1U << l->scale;

	return (struct cnr_biased){
		cnr_sixteen(bias - 1),
		cnr_sixteen(0x10000 - (bias - 1)),
		(cnr_v16h)cnr_sixteen(bias),
	};
}

/* Return: the lanes of sixteen numbers at @from; @lane: 1 by their units */
static __always_inline cnr_v16i cnr_sixteen_lanes(const struct cnr_biased *b, const u8 *from,
						  struct cnr_halves lane)
{
	struct cnr_halves x = cnr_upper(*(const cnr_v16i *)from);
	cnr_v8s low, high;
	cnr_v16i k;

	low = (cnr_v8s)__builtin_ia32_cvtps2dq256((cnr_v8f)x.low * (cnr_v8f)lane.low);
	high = (cnr_v8s)__builtin_ia32_cvtps2dq256((cnr_v8f)x.high * (cnr_v8f)lane.high);
	k = (cnr_v16i)__builtin_ia32_packssdw256(low, high);
	k = (cnr_v16i)__builtin_ia32_pminsw256(k, b->most);
	k = (cnr_v16i)__builtin_ia32_pmaxsw256(k, b->least);
	return (cnr_v16i)((cnr_v16h)k + b->bias);
}

/* Return: the bits of eight sums of lanes, rounded to a bfloat16; @bias: of all members */
static __always_inline cnr_v8s cnr_eight_sums(cnr_v8u bias, cnr_v8u lanes, cnr_v8f unit)
{
	const cnr_v8u half = CNR_ALL(cnr_v8u, 0x7fff), one = CNR_ALL(cnr_v8u, 1);
	cnr_v8s sums = (cnr_v8s)(lanes - bias);
	cnr_v8u bits = (cnr_v8u)(__builtin_convertvector(sums, cnr_v8f) * unit);

	return (cnr_v8s)((bits + half + (bits >> 16 & one)) >> 16);
}

/* Return: the results of sixteen sums of lanes */
static __always_inline cnr_v16i cnr_sixteen_sums(cnr_v8u bias, cnr_v16i lanes,
						 struct cnr_halves unit)
{
	struct cnr_halves x = cnr_lower(lanes);
	cnr_v8s low = cnr_eight_sums(bias, x.low, (cnr_v8f)unit.low);
	cnr_v8s high = cnr_eight_sums(bias, x.high, (cnr_v8f)unit.high);

	return (cnr_v16i)__builtin_ia32_packusdw256(low, high);
}

/* How many groups of @size have sixteen numbers */
#define CNR_STEP(size)	(16 / (size))

#define CNR_SOME	16	/* elements that are converted one by one if some groups are odd */

/* Return: what @of has for sixteen numbers, of which the first is in its first group */
static __always_inline struct cnr_halves cnr_of_groups(const float *of, const u32 size)
{
	const cnr_v4q *eight = (const cnr_v4q *)of;
	cnr_v8u both;

	if (size == 1)
		return (struct cnr_halves){
			(cnr_v8u)__builtin_ia32_permti256(eight[0], eight[1], 0x20),
			(cnr_v8u)__builtin_ia32_permti256(eight[0], eight[1], 0x31),
		};
	both = (cnr_v8u)(cnr_v8f){ of[0], of[0], of[0], of[0], of[1], of[1], of[1], of[1] };
	return (struct cnr_halves){ both, both };
}

/* Some of the groups are odd. */
static void cnr_encode_odd(const struct cnr_lanes *l, u8 *words, const u8 *from, u32 first, u32 n)
{
	u32 i;

	if (n == CNR_SOME)
		cnr_encode_one(l, words, 0, from, first, n);
	else
		for (i = 0; i < n; i += CNR_SOME)
			cnr_bfloat16_encode(l, words + 2 * i, from + 2 * i, first + i, CNR_SOME);
}

static __always_inline void cnr_encode_chunk(const struct cnr_lanes *l, const u32 size, u8 *words,
					     const u8 *from, u32 group, u32 n)
{
	const struct cnr_biased biased = cnr_biased(l);
	float lanes[CNR_CHUNK];
	u32 odd = cnr_chunk(l, group, n, lanes, NULL);
	size_t i, at;

	if (odd && cnr_is_odd(l, odd, group, from, NULL, 0)) {
		cnr_encode_odd(l, words, from, group * size, n * size);
		return;
	}
	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = i * size * 2;
		*(cnr_v16i *)(words + at) =
			cnr_sixteen_lanes(&biased, from + at, cnr_of_groups(&lanes[i], size));
	}
}

static __always_inline void cnr_finish_groups(const struct cnr_lanes *l, const u32 size, u8 *words,
					      const float *units, u32 n)
{
	const cnr_v8u bias = CNR_ALL(cnr_v8u, l->members << l->scale);
	cnr_v16i *at;
	size_t i;

	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = (cnr_v16i *)(words + i * size * 2);
		*at = cnr_sixteen_sums(bias, *at, cnr_of_groups(&units[i], size));
	}
}

/* Some of the groups are odd. */
static void cnr_finish_odd(const struct cnr_lanes *l, u8 *words, u32 first, u32 n)
{
	u32 i;

	if (n == CNR_SOME)
		cnr_finish_one(l, words, 0, first, n);
	else
		for (i = 0; i < n; i += CNR_SOME)
			cnr_bfloat16_finish(l, words + 2 * i, first + i, CNR_SOME);
}

static __always_inline void cnr_finish_chunk(const struct cnr_lanes *l, const u32 size, u8 *words,
					     u32 group, u32 n)
{
	float units[CNR_CHUNK];
	u32 odd = cnr_chunk(l, group, n, NULL, units);

	if (odd && cnr_is_odd(l, odd, group, NULL, words, l->members))
		cnr_finish_odd(l, words, group * size, n * size);
	else
		cnr_finish_groups(l, size, words, units, n);
}

/* At most 16 elements in whole words, one by one. Return: the checksum of their results */
static u32 cnr_total_one(const struct cnr_lanes *l, u8 *to, const u8 *others, const u8 *from,
			 u32 first, u32 n)
{
	u32 lanes[8], other, i, sum = 0;

	cnr_encode_one(l, lanes, 0, from, first, n);
	for (i = 0; i < n / 2; i++) {
		memcpy(&other, others + 4 * i, sizeof(other));
		lanes[i] += other;
	}
	cnr_finish_one(l, lanes, 0, first, n);
	for (i = 0; i < n / 2; i++)
		sum += lanes[i];
	memcpy(to, lanes, 2 * n);
	return sum;
}

/* Some of the groups are odd. Return: the checksum of the results */
static u32 cnr_total_odd(const struct cnr_lanes *l, u8 *to, const u8 *others, const u8 *from,
			 u32 first, u32 n)
{
	u32 i, sum = 0;

	if (n == CNR_SOME)
		return cnr_total_one(l, to, others, from, first, n);
	for (i = 0; i < n; i += CNR_SOME)
		sum += cnr_bfloat16_total(l, to + 2 * i, others + 2 * i, from + 2 * i, first + i,
					  CNR_SOME);
	return sum;
}

/* Our own numbers, and the lanes of others, become results. Return: the checksum of the results */
static __always_inline cnr_v8u cnr_total_chunk(const struct cnr_lanes *l, const u32 size, u8 *to,
					       const u8 *others, const u8 *from, u32 group, u32 n)
{
	const cnr_v8u bias = CNR_ALL(cnr_v8u, l->members << l->scale);
	const struct cnr_biased biased = cnr_biased(l);
	cnr_v8u sum = CNR_ALL(cnr_v8u, 0), some;
	float lanes[CNR_CHUNK], units[CNR_CHUNK];
	u32 odd = cnr_chunk(l, group, n, lanes, units);
	size_t i, at;

	if (odd && cnr_is_odd(l, odd, group, from, others, l->members - 1)) {
		sum[0] = cnr_total_odd(l, to, others, from, group * size, n * size);
		return sum;
	}
	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = i * size * 2;
		/* Two lanes are a word, as in switches. */
		some = *(const cnr_v8u *)(others + at) + (cnr_v8u)
			cnr_sixteen_lanes(&biased, from + at, cnr_of_groups(&lanes[i], size));
		some = (cnr_v8u)cnr_sixteen_sums(bias, (cnr_v16i)some,
						 cnr_of_groups(&units[i], size));
		*(cnr_v8u *)(to + at) = some;
		sum += some;
	}
	return sum;
}

/* ---- packets ---- */

/* Return: how many groups are taken next, if @n elements are left; 0: they are no whole ones */
static __always_inline u32 cnr_groups_next(const u32 size, u32 n)
{
	return min_t(u32, n / size, CNR_CHUNK) & ~(CNR_STEP(size) - 1U);
}

static __always_inline void cnr_encode_as(const struct cnr_lanes *l, const u32 size, u8 *words,
					  const u8 *from, u32 first, u32 n)
{
	u32 i = min_t(u32, -first % size, n), groups;

	if (i)
		cnr_encode_one(l, words, 0, from, first, i);
	for (; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		cnr_encode_chunk(l, size, words + 2 * i, from + 2 * i, (first + i) / size, groups);
	if (i < n)
		cnr_encode_one(l, words, i, from + 2 * i, first + i, n - i);
}

static __always_inline void cnr_finish_as(const struct cnr_lanes *l, const u32 size, u8 *words,
					  u32 first, u32 n)
{
	u32 i = min_t(u32, -first % size, n), groups;

	if (i)
		cnr_finish_one(l, words, 0, first, i);
	for (; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		cnr_finish_chunk(l, size, words + 2 * i, (first + i) / size, groups);
	if (i < n)
		cnr_finish_one(l, words, i, first + i, n - i);
}

static __always_inline u32 cnr_total_as(const struct cnr_lanes *l, const u32 size, u8 *to,
					const u8 *others, const u8 *from, u32 first, u32 n)
{
	cnr_v8u sum = CNR_ALL(cnr_v8u, 0);
	u32 i, groups, one = 0;

	for (i = 0; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		sum += cnr_total_chunk(l, size, to + 2 * i, others + 2 * i, from + 2 * i,
				       (first + i) / size, groups);
	if (i < n)
		one = cnr_total_one(l, to + 2 * i, others + 2 * i, from + 2 * i, first + i, n - i);
	return one + cnr_vector_sum(sum);
}

void cnr_bfloat16_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first,
			 u32 n)
{
	if (l->group == 8)
		cnr_encode_as(l, 8, words, from, first, n);
	else
		cnr_encode_as(l, 1, words, from, first, n);
}

void cnr_bfloat16_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (l->group == 8)
		cnr_finish_as(l, 8, words, first, n);
	else
		cnr_finish_as(l, 1, words, first, n);
}

u32 cnr_bfloat16_total(const struct cnr_lanes *l, void *to, const void *others, const void *from,
		       u32 first, u32 n)
{
	if (l->group == 8)
		return cnr_total_as(l, 8, to, others, from, first, n);
	return cnr_total_as(l, 1, to, others, from, first, n);
}

/* ---- exponent fields ---- */

/* Return: the fields of sixteen numbers at @from */
static __always_inline cnr_v16i cnr_sixteen_fields(const u8 *from)
{
	return (cnr_v16i)((*(const cnr_v16h *)from & (cnr_v16h)cnr_sixteen(0x7fff)) >> 7);
}

/* Return: the larger of the first and of the last fields of four groups at @from, 4 bytes each */
static __always_inline cnr_v8u cnr_four_fields(const u8 *from)
{
	cnr_v4q eight = (cnr_v4q)__builtin_ia32_packuswb256(cnr_sixteen_fields(from),
							    cnr_sixteen_fields(from + 32));

	return (cnr_v8u)__builtin_ia32_pmaxub256((cnr_v32b)eight, (cnr_v32b)
		__builtin_ia32_psrlqi256(eight, 32));
}

/* Return: the largest fields of eight groups at @from */
static __always_inline u64 cnr_fields_chunk(const u32 size, const u8 *from)
{
	const cnr_v8h all = { 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff };
	cnr_v8f low, high;

	if (size == 1)
		return (u64)__builtin_convertvector((*(const cnr_v8h *)from & all) >> 7, cnr_v8b);
	/* The first half of each group has the largest one. */
	low = (cnr_v8f)cnr_four_fields(from);
	high = (cnr_v8f)cnr_four_fields(from + 64);
	return cnr_chunk_largest((cnr_v8u)__builtin_ia32_shufps256(low, high, 0x88));
}

static __always_inline void cnr_fields_as(const struct cnr_lanes *l, const u32 size, u8 *fields,
					  const u8 *from, u32 n)
{
	u64 eight;
	u32 some;

	for (; n >= CNR_EIGHT * size; n -= CNR_EIGHT * size) {
		eight = cnr_fields_chunk(size, from);
		memcpy(fields, &eight, sizeof(eight));
		fields += CNR_EIGHT;
		from += CNR_EIGHT * size * 2;
	}
	for (; n; n -= some) {
		some = min_t(u32, size, n);
		*fields++ = cnr_largest_field(l, from, some, false);
		from += 2 * some;
	}
}

void cnr_bfloat16_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	if (l->group == 8)
		cnr_fields_as(l, 8, fields, from, n);
	else
		cnr_fields_as(l, 1, fields, from, n);
}

#endif /* with AVX2 */
