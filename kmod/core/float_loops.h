/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the loops over elements whose groups are not odd. There is one for each kind of
 * lanes, and each thing that is done with them. Part of float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_LOOPS_H
#define CANARY_CORE_FLOAT_LOOPS_H

#include "float_sums.h"
#include "float_units.h"

/**
 * struct cnr_run - elements and their groups; all of these may be the same memory
 * @lanes:	makes lanes of numbers, for each group
 * @units:	makes numbers of lanes
 * @skip:	factors ahead of the first one
 * @n:		how many elements, in whole turns
 */
struct cnr_run {
	u8	*to;
	const u8 *sums;
	const u8 *from;
	const union cnr_factors *lanes;
	const union cnr_factors *units;
	u32	skip;
	u32	n;
};

/* Have lanes to be clamped? Others cannot become too large, see float_packet.c. */
static __always_inline bool cnr_clamps(const struct cnr_kind k)
{
	if (k.type == CANARY_FLOAT64)
		return k.group < 8;
	return k.type != CANARY_FLOAT32 || (k.lane == 32 && k.group < 8);
}

/*
 * Return: CNR_W numbers in units. Of lanes with a @bias of more than 24 bits, nothing is too large.
 */
static __always_inline cnr_vs cnr_in_units(const struct cnr_kind k, const u8 *from, cnr_vf lane,
					   u32 bias)
{
	cnr_vf x = cnr_read(k.type, from) * lane;

	if (cnr_clamps(k) && k.lane == 32) {
		x = cnr_least(x, cnr_vf_all((float)(s32)(bias - 1)));
		x = cnr_most(x, cnr_vf_all(-(float)(s32)(bias - 1)));
	}
	return cnr_nearest(x);
}

/* CNR_W numbers, byte @at of lanes is theirs. Return: words of results, for cnr_run_sum() */
static __always_inline cnr_vu cnr_step(const struct cnr_kind k, const struct cnr_way *way,
				       const struct cnr_run *r, size_t i, cnr_vf lane, cnr_vf unit)
{
	const size_t size = k.type == CANARY_FLOAT32 ? 4 : 2;
	cnr_vu lanes;

	if (k.what != CNR_FINISH)
		lanes = (cnr_vu)cnr_in_units(k, r->from + i * size, lane, way->own);
	if (k.what == CNR_ENCODE) {
		*(cnr_vu *)(r->to + i * 4) = lanes + (u32)way->own;
		return lanes;
	}
	if (k.what == CNR_TOTAL)
		lanes += *(const cnr_vu *)(r->sums + i * 4) + ((u32)way->own - (u32)way->all);
	else
		lanes = *(const cnr_vu *)(r->sums + i * 4) - (u32)way->all;
	return cnr_write(k.type, r->to + i * size,
			       cnr_sums(k, way, (cnr_vs)lanes) * unit);
}

/* 2 CNR_W bfloat16 in lanes of 16 bits */
static __always_inline cnr_vu cnr_step_narrow(const struct cnr_kind k, const struct cnr_way *way,
					      const struct cnr_run *r, size_t i,
					      const cnr_vf lane[2], const cnr_vf unit[2])
{
	const cnr_vh *at = (const cnr_vh *)(r->sums + i * 2);
	const u32 most = way->own - 1;
	cnr_vs own[2], sums[2];
	cnr_vh words[2];
	cnr_v2h lanes;
	cnr_vu x[2];
	u32 j;

	if (k.what != CNR_FINISH) {
		for (j = 0; j < 2; j++)
			own[j] = cnr_in_units(k, r->from + (i + j * CNR_W) * 2, lane[j], 0);
		lanes = cnr_pack(own[0], own[1], most) + (u16)way->own;
	}
	if (k.what == CNR_ENCODE) {
		*(cnr_v2h *)(r->to + i * 2) = lanes;
		return (cnr_vu)lanes;
	}
	/* Two lanes are a word, as in switches. */
	if (k.what == CNR_TOTAL) {
		*(cnr_vu *)words = (cnr_vu)lanes + *(const cnr_vu *)(r->sums + i * 2);
		at = words;
	}
	for (j = 0; j < 2; j++) {
		sums[j] = (cnr_vs)(cnr_longer(at[j]) - (u32)way->all);
		x[j] = cnr_rounded(k.type, cnr_sums(k, way, sums[j]) * unit[j]);
	}
	lanes = cnr_narrow_both(x[0], x[1]);
	*(cnr_v2h *)(r->to + i * 2) = lanes;
	return (cnr_vu)lanes;
}

/* CNR_D numbers in lanes of 64 bits */
static __always_inline cnr_vu cnr_step_wide(const struct cnr_kind k, const struct cnr_way *way,
					    const struct cnr_run *r, size_t i, cnr_vd lane,
					    cnr_vd unit)
{
	const size_t size = k.type == CANARY_FLOAT32 ? 4 : 8;
	const double most = (double)(s64)(way->own - 1);
	union { cnr_vu all; cnr_hu half[2]; } half = { 0 };
	cnr_vq lanes;
	cnr_vd x;

	if (k.what != CNR_FINISH) {
		x = cnr_read_wide(k.type, r->from + i * size) * lane;
		if (cnr_clamps(k)) {
			x = cnr_least_wide(x, cnr_vd_all(most));
			x = cnr_most_wide(x, cnr_vd_all(-most));
		}
		lanes = (cnr_vq)cnr_nearest_wide(x);
	}
	if (k.what == CNR_ENCODE) {
		*(cnr_vq *)(r->to + i * 8) = lanes + way->own;
		return (cnr_vu)lanes;
	}
	if (k.what == CNR_TOTAL)
		lanes += *(const cnr_vq *)(r->sums + i * 8) + (way->own - way->all);
	else
		lanes = *(const cnr_vq *)(r->sums + i * 8) - way->all;
	x = cnr_sums_wide(k.type, way, (cnr_vl)lanes, k.average) * unit;
	if (k.type == CANARY_FLOAT64) {
		*(cnr_vd *)(r->to + i * 8) = x;
		return (cnr_vu)x;
	}
	half.half[0] = (cnr_hu)__builtin_convertvector(x, cnr_hf);
	*(cnr_hu *)(r->to + i * 4) = half.half[0];
	return half.all;
}

/* Return: one of @sum's words, where results are words, or half ones */
static __always_inline u32 cnr_run_sum(const struct cnr_kind k, cnr_vu sum)
{
	const u32 size = cnr_formats[k.type].bytes;
	u32 i, all = 0;

	/* Results of 16 bits are in turns the lower half of a word, and the upper one. */
	for (i = 0; i < CNR_W; i++)
		all += size == 2 && k.lane == 32 && i % 2 ? sum[i] << 16 : sum[i];
	return all;
}

/* One turn, at element @i. Return: as cnr_step() */
static __always_inline cnr_vu cnr_one_turn(const struct cnr_kind k, const struct cnr_way *way,
					   const struct cnr_run *r, size_t i, size_t place)
{
	const u32 turn = cnr_turn_of(k.lane, k.group);
	cnr_vf lane[2] = { 0 }, unit[2] = { 0 };
	cnr_vd wide[2] = { 0 };
	cnr_vu sum = { 0 };
	size_t at;
	u32 j, h;

#pragma GCC unroll 16
	for (j = 0; j < turn; j += k.lane == 64 ? CNR_D : CNR_W) {
		at = place + j / k.group;
		if (k.lane == 64) {
			if (k.what != CNR_FINISH)
				wide[0] = cnr_factor_wide(r->lanes, k.group, at);
			if (k.what != CNR_ENCODE)
				wide[1] = cnr_factor_wide(r->units, k.group, at);
			sum += cnr_step_wide(k, way, r, i + j, wide[0], wide[1]);
			continue;
		}
		h = j / CNR_W % 2;
		if (k.what != CNR_FINISH)
			lane[h] = cnr_factor(r->lanes, k.group, at);
		if (k.what != CNR_ENCODE)
			unit[h] = cnr_factor(r->units, k.group, at);
		if (k.lane == 32)
			sum += cnr_step(k, way, r, i + j, lane[h], unit[h]);
		else if (h)
			sum += cnr_step_narrow(k, way, r, i + j - CNR_W, lane, unit);
	}
	return sum;
}

/*
 * Return: the checksum of results; of anything, if there are none. What is written might be @from
 * or @run, as far as compilers know, so these are copied.
 */
static __always_inline u32 cnr_run(const struct cnr_kind k, const struct cnr_way *from,
				   const struct cnr_run *run)
{
	const struct cnr_way way = *from;
	const struct cnr_run r = *run;
	const u32 turn = cnr_turn_of(k.lane, k.group), groups = turn / k.group;
	size_t i, place = CNR_W + r.skip, end = r.n;
	cnr_vu sum = { 0 };

	/* Two turns at a time, where most sums are. Elsewhere, it does not gain what it is long. */
	if (turn <= 2 * CNR_W && !k.average && k.lane < 64 &&
	    (k.type == CANARY_FLOAT32 || k.lane == 16)) {
		for (i = 0; i + 2 * turn <= end; i += 2 * turn) {
			sum += cnr_one_turn(k, &way, &r, i, place);
			sum += cnr_one_turn(k, &way, &r, i + turn, place + groups);
			place += 2 * groups;
		}
		if (i < end)
			sum += cnr_one_turn(k, &way, &r, i, place);
	} else {
		for (i = 0; i < end; i += turn) {
			sum += cnr_one_turn(k, &way, &r, i, place);
			place += groups;
		}
	}
	return k.what == CNR_TOTAL ? cnr_run_sum(k, sum) : 0;
}

/* ---- loops for each kind of lanes ---- */

#define CNR_KIND(dtype, bits, size)							\
	case CNR_LANES_KEY(dtype, bits, size): {					\
		const struct cnr_kind k = { what, dtype, bits, size, average };		\
											\
		return cnr_run(k, way, r);						\
	}

static __always_inline u32 cnr_run_as(const u32 key, const enum cnr_do what, const bool average,
				      const struct cnr_way *way, const struct cnr_run *r)
{
	switch (key) {
	CNR_LANES_KINDS(CNR_KIND)
	default:
		return 0;
	}
}

static CNR_APART void cnr_run_encode(u32 key, const struct cnr_way *way, const struct cnr_run *r)
{
	cnr_run_as(key, CNR_ENCODE, false, way, r);
}

static CNR_APART void cnr_run_finish(u32 key, const struct cnr_way *way, const struct cnr_run *r)
{
	cnr_run_as(key, CNR_FINISH, false, way, r);
}

static CNR_APART void cnr_run_average(u32 key, const struct cnr_way *way, const struct cnr_run *r)
{
	cnr_run_as(key, CNR_FINISH, true, way, r);
}

static CNR_APART u32 cnr_run_total(u32 key, const struct cnr_way *way, const struct cnr_run *r)
{
	return cnr_run_as(key, CNR_TOTAL, false, way, r);
}

static __always_inline u32 cnr_run_what(const enum cnr_do what, u32 key,
					const struct cnr_way *way, const struct cnr_run *r)
{
	/* There are no calls where it is known when this is compiled. */
	if (__builtin_constant_p(key) && __builtin_constant_p(way->average))
		return cnr_run_as(key, what, way->average, way, r);
	if (what == CNR_TOTAL)
		return cnr_run_total(key, way, r);
	if (what == CNR_ENCODE)
		cnr_run_encode(key, way, r);
	else if (way->average)
		cnr_run_average(key, way, r);
	else
		cnr_run_finish(key, way, r);
	return 0;
}

#endif /* CANARY_CORE_FLOAT_LOOPS_H */
