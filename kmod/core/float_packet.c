// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: the data of one packet of float_shared.c, several numbers at a time where the
 * vector unit may be used (float_vector.h), else one by one (float_lanes.c). No state,
 * no timers.
 */
#include "float_lanes.h"

/* The function of the set of instructions that is used */
#if defined(CNR_HAS_AVX512)
#define CNR_VECTORS_DO(call, ...)							\
	(cnr_vectors() == CNR_VECTORS_AVX512 ? cnr_avx512_##call(__VA_ARGS__) :		\
					       cnr_avx2_##call(__VA_ARGS__))
#elif defined(CNR_HAS_AVX2)
#define CNR_VECTORS_DO(call, ...)	cnr_avx2_##call(__VA_ARGS__)
#elif defined(CNR_HAS_NEON)
#define CNR_VECTORS_DO(call, ...)	cnr_neon_##call(__VA_ARGS__)
#endif

#ifdef CNR_VECTORS_DO

#define CNR_LANES_CASE(dtype, bits, size)	case CNR_LANES_KEY(dtype, bits, size):

/* Is there vector code for these lanes? The vector unit is not borrowed for others. */
static __always_inline bool cnr_vector_can(const struct cnr_lanes *l)
{
	switch (CNR_LANES_KEY(l->dtype, l->lane == 21 ? 32 : l->lane, l->group)) {
	CNR_LANES_KINDS(CNR_LANES_CASE)
		break;
	default:
		return false;
	}
	/* Lanes of larger groups of these are not clamped. */
	if (l->group < 8 || l->f->bytes == 2)
		return true;
	return l->scale >= (l->dtype == CANARY_FLOAT64 ? 53 : 24);
}

/* As the functions below. Return: false if there was nothing done */
static bool cnr_vector_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first,
			      u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	CNR_VECTORS_DO(encode, l, words, from, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	CNR_VECTORS_DO(finish, l, words, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_total(const struct cnr_lanes *l, void *to, const void *others,
			     const void *from, u32 first, u32 n, u32 *sum)
{
	/* Numbers that share a word are in the same group, or in groups that follow each other. */
	if (l->f->bytes == 2 && (first % l->group || n % 2))
		return false;
	if (l->average || !cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	*sum = CNR_VECTORS_DO(total, l, to, others, from, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	CNR_VECTORS_DO(fields, l, fields, from, n);
	cnr_vector_end();
	return true;
}

#else

static bool cnr_vector_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first,
			      u32 n)
{
	return false;
}

static bool cnr_vector_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	return false;
}

static bool cnr_vector_total(const struct cnr_lanes *l, void *to, const void *others,
			     const void *from, u32 first, u32 n, u32 *sum)
{
	return false;
}

static bool cnr_vector_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	return false;
}

#endif

/* Elements of the vector from @first on, which are at @from, become lanes. */
void cnr_lanes_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	if (!cnr_vector_encode(l, words, from, first, n))
		cnr_groups_encode(l, words, 0, from, first, n);
}

/* The same lanes of all members, added up, become results. */
void cnr_lanes_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (!cnr_vector_finish(l, words, first, n))
		cnr_groups_finish(l, words, 0, first, n);
}

/*
 * Elements of the vector from @first on, which are at @from, and the lanes that all others have
 * contributed, become results at @to. *@sum: their checksum, as words of 32 bits. The memory may be
 * the same. Return: false if that cannot be done in one pass; then nothing was done
 */
bool cnr_lanes_total(const struct cnr_lanes *l, void *to, const void *others, const void *from,
		     u32 first, u32 n, u32 *sum)
{
	return cnr_vector_total(l, to, others, from, first, n, sum);
}

/* The largest exponent fields of groups: @n elements, of which the first one begins a group */
void cnr_lanes_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	u32 i, some, field;

	if (cnr_vector_fields(l, fields, from, n))
		return;
	for (i = 0; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		field = cnr_largest_field(l, (const u8 *)from + i * l->f->bytes, some, false);
		memcpy(fields, &field, l->wide);
		fields += l->wide;
	}
}
