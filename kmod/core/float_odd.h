/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: groups that are odd, and elements that are too few for a turn of a loop.
 * float_lanes.c does them. Part of float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_ODD_H
#define CANARY_CORE_FLOAT_ODD_H

#include "float_loops.h"

/* ---- one by one ---- */

#define CNR_SOME	32	/* most elements of a turn */

/* At most CNR_SOME elements, in whole words. Return: the checksum of results */
static u32 cnr_total_one(const struct cnr_lanes *l, u8 *to, const u8 *sums, const u8 *from,
			 u32 first, u32 n)
{
	u64 lanes[CNR_SOME] CNR_UNSET, others[CNR_SOME] CNR_UNSET;
	u32 *own = (u32 *)lanes, i;

	cnr_groups_encode(l, lanes, 0, from, first, n);
	memcpy(others, sums, n * (l->lane / 8));
	if (l->lane == 64)
		for (i = 0; i < n; i++)
			lanes[i] += others[i];
	else
		for (i = 0; i < n * l->lane / 32; i++)
			own[i] += ((const u32 *)others)[i];
	cnr_groups_finish(l, lanes, 0, first, n);
	memcpy(to, lanes, n * l->f->bytes);
	return canary_checksum(CANARY_KIND_ADD32, own, n * l->f->bytes / 4);
}

/*
 * @n elements from @first of the vector on, which is element @i of what @r has. Lanes that become
 * results without others are in their place.
 */
static u32 cnr_one_by_one(enum cnr_do what, const struct cnr_lanes *l, const struct cnr_run *r,
			  u32 i, u32 first, u32 n)
{
	const u32 size = l->f->bytes, lane = l->lane / 8, end = i + n;
	u32 some, sum = 0;

	if (what == CNR_ENCODE)
		cnr_groups_encode(l, r->to, i, r->from + i * size, first, n);
	else if (what == CNR_FINISH)
		cnr_groups_finish(l, r->to, i, first, n);
	for (; what == CNR_TOTAL && i < end; i += some) {
		some = min_t(u32, end - i, CNR_SOME);
		sum += cnr_total_one(l, r->to + i * size, r->sums + i * lane, r->from + i * size,
				     first, some);
		first += some;
	}
	return sum;
}

/* ---- groups that are odd ---- */

/* Do all numbers or lanes in @bytes at @at have these bits? @value and @mask: of 64 bits */
static inline bool cnr_all_are(const u8 *at, u32 bytes, u64 value, u64 mask)
{
	cnr_vq any = { 0 };
	u64 some, last = 0;
	u32 i;

	for (i = 0; i + CNR_BYTES <= bytes; i += CNR_BYTES)
		any |= *(const cnr_vq *)(at + i) ^ value;
	for (; i + 8 <= bytes; i += 8) {
		memcpy(&some, at + i, 8);
		last |= some ^ value;
	}
	some = value;
	for (; i < bytes; i += 2)
		memcpy((u8 *)&some + i % 8, at + i, 2);
	last |= some ^ value;
	return !(last & mask) && cnr_none((cnr_vu)(any & mask));
}

/* Return: @value of @bits bits, as often as it is in 64 */
static inline u64 cnr_often(u64 value, u32 bits)
{
	for (; bits < 64; bits *= 2)
		value |= value << bits;
	return value;
}

/*
 * Return: whether any of the groups in @odd is really not like others. It does not matter what
 * makes lanes or results of zeros. Group @group of the vector is at element @at of @r.
 */
static CNR_APART bool cnr_is_odd(enum cnr_do what, const struct cnr_lanes *l,
				 const struct cnr_run *r, u32 at, u32 odd, u32 group)
{
	const u32 members = l->members - (what == CNR_TOTAL);
	const u32 lane = l->lane / 8, bits = l->f->bytes * 8;
	const u64 zeros = cnr_often((u64)members << l->scale, l->lane);
	const u64 magnitude = cnr_often((1ULL << (bits - 1)) - 1, bits);
	u64 left = odd;
	u32 i, k, run;

	for (; left; left &= ~0ULL << (i + run)) {
		i = __builtin_ctzll(left);
		run = __builtin_ctzll(~(left >> i));
		for (k = i; k < i + run; k++)
			if (cnr_field_at(l, l->fields, group + k) == cnr_exponent_max(l->f))
				return true;
		k = at + i * l->group;
		run *= l->group;
		if (what != CNR_FINISH &&
		    !cnr_all_are(r->from + k * l->f->bytes, run * l->f->bytes, 0, magnitude))
			return true;
		if (what != CNR_ENCODE &&
		    !cnr_all_are(r->sums + k * lane, run * lane, zeros, ~0ULL))
			return true;
		run /= l->group;
	}
	return false;
}

#endif /* CANARY_CORE_FLOAT_ODD_H */
