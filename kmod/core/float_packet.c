// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: the data of one packet of float_shared.c, several numbers at a time where the
 * vector unit may be used (float_avx2.c, bfloat_avx2.c), else one by one (float_lanes.c). No state,
 * no timers.
 */
#include "float_lanes.h"

#if defined(__x86_64__) && !defined(__CHECKER__) && !defined(__clang__)

/* Is there vector code for these lanes? The vector unit is not borrowed for others. */
static __always_inline bool cnr_vector_can(const struct cnr_lanes *l)
{
	/* Lanes of larger groups are not clamped. */
	if (l->dtype == CANARY_FLOAT32 && l->lane == 32)
		return l->group == 1 || l->group == 4 ||
		       ((l->group == 8 || l->group == 16) && l->scale >= 24);
	return l->dtype == CANARY_BFLOAT16 && l->lane == 16 && !l->average &&
	       (l->group == 8 || l->group == 1);
}

/* As the functions below. Return: false if there was nothing done */
static bool cnr_vector_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first,
			      u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	if (l->dtype == CANARY_FLOAT32)
		cnr_float32_encode(l, words, from, first, n);
	else
		cnr_bfloat16_encode(l, words, from, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	if (l->dtype == CANARY_FLOAT32)
		cnr_float32_finish(l, words, first, n);
	else
		cnr_bfloat16_finish(l, words, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_total(const struct cnr_lanes *l, void *to, const void *others,
			     const void *from, u32 first, u32 n, u32 *sum)
{
	/* Lanes that share a word are in the same group, or in groups that follow each other. */
	if (l->dtype == CANARY_BFLOAT16 && (first % l->group || n % 2))
		return false;
	if (l->average || !cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	*sum = l->dtype == CANARY_FLOAT32 ? cnr_float32_total(l, to, others, from, first, n) :
					    cnr_bfloat16_total(l, to, others, from, first, n);
	cnr_vector_end();
	return true;
}

static bool cnr_vector_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	if (!cnr_vector_can(l) || !cnr_vector_begin(n))
		return false;
	if (l->dtype == CANARY_FLOAT32)
		cnr_float32_fields(l, fields, from, n);
	else
		cnr_bfloat16_fields(l, fields, from, n);
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

/* Each group by itself, without the vector unit */
static CNR_APART void cnr_groups_encode(const struct cnr_lanes *l, void *words, const void *from,
					u32 first, u32 n)
{
	u32 i, some, field;
	const u8 *at;

	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		at = (const u8 *)from + i * l->f->bytes;
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_count(l, words, i, at, some);
		else
			cnr_lanes_put(l, words, i, at, some, cnr_unit(l, field), false);
	}
}

/* Elements of the vector from @first on, which are at @from, become lanes. */
void cnr_lanes_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	if (!cnr_vector_encode(l, words, from, first, n))
		cnr_groups_encode(l, words, from, first, n);
}

/* The same lanes of all members, added up, become results. */
void cnr_lanes_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	u32 i, some, field;

	if (cnr_vector_finish(l, words, first, n))
		return;
	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_counted(l, words, i, some);
		else
			cnr_lanes_sum(l, words, i, some, cnr_unit(l, field));
	}
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
