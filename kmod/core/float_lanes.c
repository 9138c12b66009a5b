// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: numbers become lanes, and sums of lanes become numbers, one by one. This is what
 * is right. float_vector.h has to come to the same bits, unless a member changes its buffer
 * meanwhile. No state, no timers.
 */
#include "float_lanes.h"

/*
 * How types are cut into lanes and groups, up to so many members. The more members, the coarser a
 * lane is, and the sooner an element loses bits to a large one of its group. These cuts cost the
 * fewest bytes that keep the bounds of docs/floating-point.md (selftests/bench/float_errors.c).
 * float_packet.c says which of them have vector code.
 */
static const struct cnr_cut {
	u8	dtype;
	u16	members;
	u8	lane;
	u8	group;
} cnr_cuts[] = {
	{ CANARY_FLOAT16, 16, 21, 8 },
	{ CANARY_FLOAT16, CANARY_MEMBERS_MAX, 32, 32 },
	{ CANARY_BFLOAT16, 8, 16, 8 },
	{ CANARY_BFLOAT16, 64, 21, 16 },
	{ CANARY_BFLOAT16, CANARY_MEMBERS_MAX, 32, 32 },
	{ CANARY_FLOAT32, 8, 32, 16 },
	{ CANARY_FLOAT32, 16, 32, 8 },
	{ CANARY_FLOAT32, 128, 32, 4 },
	{ CANARY_FLOAT32, CANARY_MEMBERS_MAX, 64, 16 },
	{ CANARY_FLOAT64, 64, 64, 16 },
	{ CANARY_FLOAT64, 128, 64, 8 },
	{ CANARY_FLOAT64, CANARY_MEMBERS_MAX, 64, 4 },
};

static const struct cnr_cut cnr_cut_narrow = { CANARY_FLOAT32, 1024, 32, 4 };

/* Fill in @l for sums of @dtype, asked for like @how (CANARY_HOW_*), but for cnr_lanes.fields. */
void cnr_lanes_init(struct cnr_lanes *l, u8 dtype, u8 how, u32 members)
{
	const struct cnr_cut *cut = cnr_cuts;

	while (cut->dtype != dtype || members > cut->members)
		cut++;
	if (cut->dtype == CANARY_FLOAT32 && cut->lane == 64 && how & CANARY_HOW_NARROW &&
	    members <= cnr_cut_narrow.members)
		cut = &cnr_cut_narrow;
	memset(l, 0, sizeof(*l));
	l->f = cnr_format(dtype);
	l->dtype = dtype;
	l->wide = l->f->exponent > 8 ? 2 : 1;
	l->lane = cut->lane;
	l->half = cut->lane / 2;
	l->scale = cut->lane - 1 - cnr_log2_up(members);
	l->members = members;
	l->group = cut->group;
}

/* Return: how many lanes fit into @bytes */
u32 cnr_lanes_in(const struct cnr_lanes *l, u32 bytes)
{
	return l->lane == 21 ? bytes / 8 * 3 : bytes / (l->lane / 8);
}

/* Return: bytes of @lanes lanes */
u32 cnr_lanes_bytes(const struct cnr_lanes *l, u32 lanes)
{
	return l->lane == 21 ? cnr_div_up(lanes, 3) * 8 : (lanes * l->lane / 8 + 3) & ~3U;
}

static __always_inline void cnr_lane_put(const struct cnr_lanes *l, void *words, u32 i, u64 lane)
{
	u64 three;

	if (l->lane == 21) {
		memcpy(&three, (u8 *)words + i / 3 * 8, sizeof(three));
		three |= lane << i % 3 * 21;
		memcpy((u8 *)words + i / 3 * 8, &three, sizeof(three));
		return;
	}
	memcpy((u8 *)words + i * (l->lane / 8), &lane, l->lane / 8);
}

static __always_inline u64 cnr_lane_get(const struct cnr_lanes *l, const void *words, u32 i)
{
	u64 lane = 0;

	if (l->lane == 21) {
		memcpy(&lane, (const u8 *)words + i / 3 * 8, sizeof(lane));
		return lane >> i % 3 * 21 & ((1 << 21) - 1);
	}
	memcpy(&lane, (const u8 *)words + i * (l->lane / 8), l->lane / 8);
	return lane;
}

/*
 * Each type in its lanes has code of its own, where both are constants. @call uses a struct
 * cnr_lanes @k.
 */
#define CNR_LANES_ARE(k, type, bits)					\
	((k).dtype == CANARY_##type && (k).lane == (bits) &&		\
	 ((k).f = &cnr_formats[CANARY_##type], (k).lane = (bits)))

#define CNR_LANES_AS(l, call)						\
	do {								\
		struct cnr_lanes k = *(l);				\
									\
		if (CNR_LANES_ARE(k, FLOAT16, 21))		\
			call;						\
		else if (CNR_LANES_ARE(k, FLOAT16, 32))		\
			call;						\
		else if (CNR_LANES_ARE(k, BFLOAT16, 16))	\
			call;						\
		else if (CNR_LANES_ARE(k, BFLOAT16, 21))	\
			call;						\
		else if (CNR_LANES_ARE(k, BFLOAT16, 32))	\
			call;						\
		else if (CNR_LANES_ARE(k, FLOAT32, 32))		\
			call;						\
		else if (CNR_LANES_ARE(k, FLOAT32, 64))		\
			call;						\
		else if (CNR_LANES_ARE(k, FLOAT64, 64))		\
			call;						\
		else							\
			call;						\
	} while (0)

static __always_inline u32 cnr_largest_field_as(const struct cnr_lanes *l, const void *from,
						u32 n, bool finite)
{
	u32 i, field, largest = 0;

	for (i = 0; i < n; i++) {
		field = cnr_exponent_field(l->f, cnr_bits_at(l->f, from, i));
		if (finite && field == cnr_exponent_max(l->f))
			continue;
		largest = max_t(u32, largest, field);
	}
	return largest;
}

/* Return: the largest exponent field of @n numbers; @finite: only of those that are finite */
u32 cnr_largest_field(const struct cnr_lanes *l, const void *from, u32 n, bool finite)
{
	u32 largest;

	CNR_LANES_AS(l, largest = cnr_largest_field_as(&k, from, n, finite));
	return largest;
}

/* Return: the lane of the number @bits, in units of 2^@unit */
static __always_inline u64 cnr_number_lane(const struct cnr_lanes *l, u64 bits, s32 unit)
{
	struct cnr_number n = cnr_number(l->f, bits);
	const u64 bias = 1ULL << l->scale;
	s32 shift = unit - n.exponent;
	u64 k, rest, half;

	if (shift <= 0) {
		k = -shift < 64 ? n.significand << -shift : 0;
	} else if (shift > 63) {
		k = 0;
	} else {
		half = 1ULL << (shift - 1);
		rest = n.significand & ((half << 1) - 1);
		k = n.significand >> shift;
		k += rest > half || (rest == half && k & 1);
	}
	/* An application that changes its vector meanwhile must not spoil other lanes. */
	k = min_t(u64, k, bias - 1);
	return n.negative ? bias - k : bias + k;
}

static __always_inline void cnr_lanes_put_as(const struct cnr_lanes *l, void *words, u32 at,
					     const void *from, u32 n, s32 unit, bool finite)
{
	u64 bits;
	u32 i;

	for (i = 0; i < n; i++) {
		bits = cnr_bits_at(l->f, from, i);
		if (finite && cnr_special(l->f, bits))
			bits = 0;
		cnr_lane_put(l, words, at + i, cnr_number_lane(l, bits, unit));
	}
}

/* Lanes from number @at on. @finite: what is not finite counts as 0 */
void cnr_lanes_put(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 n,
		   s32 unit, bool finite)
{
	CNR_LANES_AS(l, cnr_lanes_put_as(&k, words, at, from, n, unit, finite));
}

/* The low half of a lane counts ranks with +infinity or a NaN, the high half -infinity or a NaN. */
void cnr_lanes_count(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 n)
{
	enum cnr_special special;
	u32 i;

	for (i = 0; i < n; i++) {
		special = cnr_special(l->f, cnr_bits_at(l->f, from, i));
		cnr_lane_put(l, words, at + i,
			     (special & CNR_PLUS_INF ? 1 : 0) |
			     (special & CNR_MINUS_INF ? 1ULL << l->half : 0));
	}
}

static __always_inline void cnr_lanes_sum_as(const struct cnr_lanes *l, void *words, u32 at, u32 n,
					     s32 unit)
{
	u64 lane, bias = (u64)l->members << l->scale;
	struct cnr_number number;
	u32 i;

	for (i = at; i < at + n; i++) {
		lane = cnr_lane_get(l, words, i);
		number = (struct cnr_number){ .exponent = unit, .negative = lane < bias };
		number.significand = number.negative ? bias - lane : lane - bias;
		if (l->average)
			cnr_number_divide(&number, l->members);
		cnr_bits_put(l->f, words, i, cnr_round(l->f, number));
	}
}

/*
 * Lanes become numbers, in place. Numbers are not longer than lanes, so they are written behind
 * where lanes are read.
 */
void cnr_lanes_sum(const struct cnr_lanes *l, void *words, u32 at, u32 n, s32 unit)
{
	CNR_LANES_AS(l, cnr_lanes_sum_as(&k, words, at, n, unit));
}

/* Counts become what is not finite, or 0. */
void cnr_lanes_counted(const struct cnr_lanes *l, void *words, u32 at, u32 n)
{
	enum cnr_special special;
	u64 lane;
	u32 i;

	for (i = at; i < at + n; i++) {
		lane = cnr_lane_get(l, words, i);
		special = (lane & ((1ULL << l->half) - 1) ? CNR_PLUS_INF : 0) |
			  (lane >> l->half ? CNR_MINUS_INF : 0);
		cnr_bits_put(l->f, words, i, special ? cnr_special_bits(l->f, special) : 0);
	}
}

/* Elements from @first of the vector on, which are at @from, become lanes from number @at on. */
void cnr_groups_encode(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 first,
		       u32 n)
{
	u32 i, some, field;
	const u8 *group;

	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		group = (const u8 *)from + i * l->f->bytes;
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_count(l, words, at + i, group, some);
		else
			cnr_lanes_put(l, words, at + i, group, some, cnr_unit(l, field), false);
	}
}

/* The same lanes of all members, added up, become results. */
void cnr_groups_finish(const struct cnr_lanes *l, void *words, u32 at, u32 first, u32 n)
{
	u32 i, some, field;

	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_counted(l, words, at + i, some);
		else
			cnr_lanes_sum(l, words, at + i, some, cnr_unit(l, field));
	}
}
