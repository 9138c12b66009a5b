// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: float_lanes.c for float32 in lanes of 32 bits, on x86 processors with AVX2.
 * float_avx2.h says why it comes to the same bits.
 *
 * If a lane has 24 bits or more beside its sign and the bits for other members, no number of a
 * group can become too large for it. So nothing is clamped. A member that changes its vector
 * meanwhile gets a wrong sum, as it does anyway, of the elements that it changed. A lane has a word
 * for itself, so it carries into no other.
 */
#include "float_avx2.h"

#ifdef CNR_AVX2

/* How many groups of @group a vector has numbers of */
#define CNR_STEP(group)		((group) < 8 ? 8 / (group) : 1)

/*
 * Elements that are converted one by one if some of their groups are odd: a group, or a vector of
 * smaller groups
 */
static u32 cnr_together(const struct cnr_lanes *l)
{
	return max_t(u32, l->group, 8);
}

/* Have lanes to be clamped? Larger groups are only where there are few members. */
#define CNR_CLAMP(group)	((group) < 8)

/* Return: what @of has for the groups of a vector of 8 numbers */
static __always_inline cnr_v8f cnr_of_groups(const float *of, u32 group)
{
	if (group == 1)
		return *(const cnr_v8f *)of;
	if (group == 4)
		return (cnr_v8f){ of[0], of[0], of[0], of[0], of[1], of[1], of[1], of[1] };
	return CNR_ALL(cnr_v8f, *of);
}

/* struct cnr_clamp - the most that a lane has, and the least, without the bias */
struct cnr_clamp {
	cnr_v8s	most;
	cnr_v8s	least;
};

static __always_inline struct cnr_clamp cnr_clamp(const struct cnr_lanes *l)
{
	const s32 most = (s32)(1U << l->scale) - 1;

	return (struct cnr_clamp){ CNR_ALL(cnr_v8s, most), CNR_ALL(cnr_v8s, -most) };
}

/* Return: eight numbers at @from in units; @lane: 1 by the unit. @clamp: NULL, or to be clamped */
static __always_inline cnr_v8u cnr_eight_lanes(const u8 *from, cnr_v8f lane,
					       const struct cnr_clamp *clamp)
{
	cnr_v8s k = (cnr_v8s)__builtin_ia32_cvtps2dq256(*(const cnr_v8f *)from * lane);

	if (clamp) {
		k = (cnr_v8s)__builtin_ia32_pminsd256(k, clamp->most);
		k = (cnr_v8s)__builtin_ia32_pmaxsd256(k, clamp->least);
	}
	return (cnr_v8u)k;
}

/* Some of the groups are odd. */
static void cnr_encode_odd(const struct cnr_lanes *l, u8 *words, const u8 *from, u32 first, u32 n)
{
	const u32 some = cnr_together(l);
	u32 i;

	if (n == some)
		cnr_encode_one(l, words, 0, from, first, n);
	else
		for (i = 0; i < n; i += some)
			cnr_float32_encode(l, words + 4 * i, from + 4 * i, first + i, some);
}

static __always_inline void cnr_encode_chunk(const struct cnr_lanes *l, const u32 size, u8 *words,
					     const u8 *from, u32 group, u32 n)
{
	const cnr_v8u bias = CNR_ALL(cnr_v8u, 1U << l->scale);
	const struct cnr_clamp clamp = cnr_clamp(l);
	float lanes[CNR_CHUNK];
	u32 odd = cnr_chunk(l, group, n, lanes, NULL);
	cnr_v8f lane;
	size_t i, at;

	if (odd && cnr_is_odd(l, odd, group, from, NULL, 0)) {
		cnr_encode_odd(l, words, from, group * size, n * size);
		return;
	}
#pragma GCC unroll 2
	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = i * size * 4;
		lane = cnr_of_groups(&lanes[i], size);
		*(cnr_v8u *)(words + at) = bias +
			cnr_eight_lanes(from + at, lane, CNR_CLAMP(size) ? &clamp : NULL);
		if (size == 16)
			*(cnr_v8u *)(words + at + 32) = bias +
				cnr_eight_lanes(from + at + 32, lane, NULL);
	}
}

/*
 * Return: @sums by @members. A quotient of doubles has more than twice the bits of a float, so it
 * does not matter that it is rounded twice.
 */
static __always_inline cnr_v8f cnr_averages(cnr_v8s sums, u32 members)
{
	typedef double cnr_v4d __attribute__((__vector_size__(32)));
	typedef s32 cnr_v4s __attribute__((__vector_size__(16)));
	typedef float cnr_v4f __attribute__((__vector_size__(16)));
	cnr_v4d by = { members, members, members, members };
	cnr_v4s low = { sums[0], sums[1], sums[2], sums[3] };
	cnr_v4s high = { sums[4], sums[5], sums[6], sums[7] };
	cnr_v4f one, two;

	one = __builtin_convertvector(__builtin_convertvector(low, cnr_v4d) / by, cnr_v4f);
	two = __builtin_convertvector(__builtin_convertvector(high, cnr_v4d) / by, cnr_v4f);
	return (cnr_v8f){ one[0], one[1], one[2], one[3], two[0], two[1], two[2], two[3] };
}

/* Eight lanes at @at become results. */
static __always_inline void cnr_eight_sums(u8 *at, cnr_v8u bias, cnr_v8f unit, u32 members,
					   bool average)
{
	cnr_v8s lanes = (cnr_v8s)(*(const cnr_v8u *)at - bias);
	cnr_v8f sums = average ? cnr_averages(lanes, members) :
				 __builtin_convertvector(lanes, cnr_v8f);

	*(cnr_v8f *)at = sums * unit;
}

static __always_inline void cnr_finish_groups(const struct cnr_lanes *l, const u32 size, u8 *words,
					      const float *units, u32 n, bool average)
{
	const cnr_v8u bias = CNR_ALL(cnr_v8u, l->members << l->scale);
	const u32 members = l->members;
	cnr_v8f unit;
	size_t i, at;

#pragma GCC unroll 2
	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = i * size * 4;
		unit = cnr_of_groups(&units[i], size);
		cnr_eight_sums(words + at, bias, unit, members, average);
		if (size == 16)
			cnr_eight_sums(words + at + 32, bias, unit, members, average);
	}
}

/* Some of the groups are odd. */
static void cnr_finish_odd(const struct cnr_lanes *l, u8 *words, u32 first, u32 n)
{
	const u32 some = cnr_together(l);
	u32 i;

	if (n == some)
		cnr_finish_one(l, words, 0, first, n);
	else
		for (i = 0; i < n; i += some)
			cnr_float32_finish(l, words + 4 * i, first + i, some);
}

static __always_inline void cnr_finish_chunk(const struct cnr_lanes *l, const u32 size, u8 *words,
					     u32 group, u32 n)
{
	float units[CNR_CHUNK];
	u32 odd = cnr_chunk(l, group, n, NULL, units);

	if (odd && cnr_is_odd(l, odd, group, NULL, words, l->members))
		cnr_finish_odd(l, words, group * size, n * size);
	else if (l->average)
		cnr_finish_groups(l, size, words, units, n, true);
	else
		cnr_finish_groups(l, size, words, units, n, false);
}

/* At most 16 elements, one by one. Return: the checksum of their results */
static u32 cnr_total_one(const struct cnr_lanes *l, u8 *to, const u8 *others, const u8 *from,
			 u32 first, u32 n)
{
	u32 lanes[16], other, i, sum = 0;

	cnr_encode_one(l, lanes, 0, from, first, n);
	for (i = 0; i < n; i++) {
		memcpy(&other, others + 4 * i, sizeof(other));
		lanes[i] += other;
	}
	cnr_finish_one(l, lanes, 0, first, n);
	for (i = 0; i < n; i++)
		sum += lanes[i];
	memcpy(to, lanes, 4 * n);
	return sum;
}

/* Some of the groups are odd. Return: the checksum of the results */
static u32 cnr_total_odd(const struct cnr_lanes *l, u8 *to, const u8 *others, const u8 *from,
			 u32 first, u32 n)
{
	const u32 some = cnr_together(l);
	u32 i, sum = 0;

	if (n == some)
		return cnr_total_one(l, to, others, from, first, n);
	for (i = 0; i < n; i += some)
		sum += cnr_float32_total(l, to + 4 * i, others + 4 * i, from + 4 * i, first + i,
					 some);
	return sum;
}

/* Our own lanes less the bias of all, and @others, become results at @to. Return: their bits */
static __always_inline cnr_v8u cnr_eight_total(u8 *to, const u8 *others, cnr_v8u own, cnr_v8f unit)
{
	cnr_v8s lanes = (cnr_v8s)(own + *(const cnr_v8u *)others);
	cnr_v8f results = __builtin_convertvector(lanes, cnr_v8f) * unit;

	*(cnr_v8f *)to = results;
	return (cnr_v8u)results;
}

/*
 * Our own numbers at @from, and the lanes of all others, become results at @to. These may be all
 * the same memory. Return: the checksum of the results
 */
static __always_inline cnr_v8u cnr_total_chunk(const struct cnr_lanes *l, const u32 size, u8 *to,
					       const u8 *others, const u8 *from, u32 group, u32 n)
{
	const cnr_v8u bias = CNR_ALL(cnr_v8u, (1U << l->scale) - (l->members << l->scale));
	const struct cnr_clamp clamp = cnr_clamp(l);
	cnr_v8u sum = CNR_ALL(cnr_v8u, 0), eight;
	float lanes[CNR_CHUNK], units[CNR_CHUNK];
	cnr_v8f lane, unit;
	u32 odd = cnr_chunk(l, group, n, lanes, units);
	size_t i, at;

	if (odd && cnr_is_odd(l, odd, group, from, others, l->members - 1)) {
		sum[0] = cnr_total_odd(l, to, others, from, group * size, n * size);
		return sum;
	}
#pragma GCC unroll 2
	for (i = 0; i < n; i += CNR_STEP(size)) {
		at = i * size * 4;
		lane = cnr_of_groups(&lanes[i], size);
		unit = cnr_of_groups(&units[i], size);
		eight = cnr_eight_lanes(from + at, lane, CNR_CLAMP(size) ? &clamp : NULL) + bias;
		eight = cnr_eight_total(to + at, others + at, eight, unit);
		sum += eight;
		if (size == 16) {
			eight = cnr_eight_total(to + at + 32, others + at + 32,
						cnr_eight_lanes(from + at + 32, lane, NULL) + bias,
						unit);
			sum += eight;
		}
	}
	return sum;
}

/* ---- packets ---- */

/* Return: how many of @n elements, from @first of the vector on, are before a whole group */
static __always_inline u32 cnr_before_groups(const u32 size, u32 first, u32 n)
{
	return min_t(u32, -first % size, n);
}

/* Return: how many groups the next chunk has, if @n elements are left; 0: they are no whole ones */
static __always_inline u32 cnr_groups_next(const u32 size, u32 n)
{
	return min_t(u32, n / size, CNR_CHUNK) & ~(CNR_STEP(size) - 1U);
}

static __always_inline void cnr_encode_as(const struct cnr_lanes *l, const u32 size, u8 *words,
					  const u8 *from, u32 first, u32 n)
{
	u32 i = cnr_before_groups(size, first, n), groups;

	if (i)
		cnr_encode_one(l, words, 0, from, first, i);
	for (; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		cnr_encode_chunk(l, size, words + 4 * i, from + 4 * i, (first + i) / size, groups);
	if (i < n)
		cnr_encode_one(l, words, i, from + 4 * i, first + i, n - i);
}

static __always_inline void cnr_finish_as(const struct cnr_lanes *l, const u32 size, u8 *words,
					  u32 first, u32 n)
{
	u32 i = cnr_before_groups(size, first, n), groups;

	if (i)
		cnr_finish_one(l, words, 0, first, i);
	for (; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		cnr_finish_chunk(l, size, words + 4 * i, (first + i) / size, groups);
	if (i < n)
		cnr_finish_one(l, words, i, first + i, n - i);
}

static __always_inline u32 cnr_total_as(const struct cnr_lanes *l, const u32 size, u8 *to,
					const u8 *others, const u8 *from, u32 first, u32 n)
{
	u32 i = cnr_before_groups(size, first, n), groups, one = 0;
	cnr_v8u sum = CNR_ALL(cnr_v8u, 0);

	if (i)
		one = cnr_total_one(l, to, others, from, first, i);
	for (; (groups = cnr_groups_next(size, n - i)); i += groups * size)
		sum += cnr_total_chunk(l, size, to + 4 * i, others + 4 * i, from + 4 * i,
				       (first + i) / size, groups);
	if (i < n)
		one += cnr_total_one(l, to + 4 * i, others + 4 * i, from + 4 * i, first + i, n - i);
	return one + cnr_vector_sum(sum);
}

void cnr_float32_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	switch (l->group) {
	case 16:
		cnr_encode_as(l, 16, words, from, first, n);
		break;
	case 8:
		cnr_encode_as(l, 8, words, from, first, n);
		break;
	case 4:
		cnr_encode_as(l, 4, words, from, first, n);
		break;
	default:
		cnr_encode_as(l, 1, words, from, first, n);
		break;
	}
}

void cnr_float32_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	switch (l->group) {
	case 16:
		cnr_finish_as(l, 16, words, first, n);
		break;
	case 8:
		cnr_finish_as(l, 8, words, first, n);
		break;
	case 4:
		cnr_finish_as(l, 4, words, first, n);
		break;
	default:
		cnr_finish_as(l, 1, words, first, n);
		break;
	}
}

u32 cnr_float32_total(const struct cnr_lanes *l, void *to, const void *others, const void *from,
		      u32 first, u32 n)
{
	switch (l->group) {
	case 16:
		return cnr_total_as(l, 16, to, others, from, first, n);
	case 8:
		return cnr_total_as(l, 8, to, others, from, first, n);
	case 4:
		return cnr_total_as(l, 4, to, others, from, first, n);
	default:
		return cnr_total_as(l, 1, to, others, from, first, n);
	}
}

/* ---- exponent fields ---- */

/* Return: eight numbers at @from without their signs */
static __always_inline cnr_v8u cnr_magnitudes(const u8 *from)
{
	return *(const cnr_v8u *)from & CNR_ALL(cnr_v8u, ~0U >> 1);
}

/* Return: eight fields of group @i of @from, the largest one among them */
static __always_inline cnr_v8u cnr_group_fields(const u32 size, const u8 *from, u32 i)
{
	cnr_v8u most = cnr_magnitudes(from + 4 * size * i);

	if (size == 16)
		most = (cnr_v8u)__builtin_ia32_pmaxud256((cnr_v8s)most, (cnr_v8s)
			cnr_magnitudes(from + 4 * size * i + 32));
	return most >> 23;
}

/* Return: four vectors of eight fields as one of bytes. Both halves keep their order. */
static __always_inline cnr_v8u cnr_fields_pack(cnr_v8u a, cnr_v8u b, cnr_v8u c, cnr_v8u d)
{
	cnr_v16i low = (cnr_v16i)__builtin_ia32_packssdw256((cnr_v8s)a, (cnr_v8s)b);
	cnr_v16i high = (cnr_v16i)__builtin_ia32_packssdw256((cnr_v8s)c, (cnr_v8s)d);

	return (cnr_v8u)__builtin_ia32_packuswb256(low, high);
}

/* Return: the largest fields of eight groups at @from */
static __always_inline u64 cnr_fields_chunk(const u32 size, const u8 *from)
{
	cnr_v8u even, odd;
	cnr_v32b low, high;

	if (size == 1)
		return (u64)__builtin_convertvector(cnr_magnitudes(from) >> 23, cnr_v8b);
	if (size == 4)
		return cnr_chunk_largest(cnr_fields_pack(cnr_magnitudes(from) >> 23,
							 cnr_magnitudes(from + 32) >> 23,
							 cnr_magnitudes(from + 64) >> 23,
							 cnr_magnitudes(from + 96) >> 23));
	even = cnr_fields_pack(cnr_group_fields(size, from, 0), cnr_group_fields(size, from, 2),
			       cnr_group_fields(size, from, 4), cnr_group_fields(size, from, 6));
	odd = cnr_fields_pack(cnr_group_fields(size, from, 1), cnr_group_fields(size, from, 3),
			      cnr_group_fields(size, from, 5), cnr_group_fields(size, from, 7));
	low = (cnr_v32b)__builtin_ia32_permti256((cnr_v4q)even, (cnr_v4q)odd, 0x20);
	high = (cnr_v32b)__builtin_ia32_permti256((cnr_v4q)even, (cnr_v4q)odd, 0x31);
	return cnr_chunk_largest((cnr_v8u)__builtin_ia32_pmaxub256(low, high));
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
		from += CNR_EIGHT * size * 4;
	}
	for (; n; n -= some) {
		some = min_t(u32, size, n);
		*fields++ = cnr_largest_field(l, from, some, false);
		from += 4 * some;
	}
}

void cnr_float32_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	switch (l->group) {
	case 16:
		cnr_fields_as(l, 16, fields, from, n);
		break;
	case 8:
		cnr_fields_as(l, 8, fields, from, n);
		break;
	case 4:
		cnr_fields_as(l, 4, fields, from, n);
		break;
	default:
		cnr_fields_as(l, 1, fields, from, n);
		break;
	}
}

#endif /* with AVX2 */
