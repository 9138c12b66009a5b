/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: fields of groups become what numbers and lanes are multiplied by. Part of
 * float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_UNITS_H
#define CANARY_CORE_FLOAT_UNITS_H

#include "float_vectors.h"

#define CNR_CHUNK	32	/* most groups that are looked at together; half of it of doubles */

/*
 * What makes lanes of numbers or numbers of lanes, for each group. There may be more of it on both
 * sides, of groups that are not asked for.
 */
union cnr_factors {
	float	f[CNR_CHUNK + 2 * CNR_W];
	double	d[CNR_CHUNK / 2 + 2 * CNR_W];
};

/**
 * struct cnr_look - what cnr_look_at() needs
 * @least:	the least field that makes a unit
 * @even:	the least one of a group that is not odd
 * @marked:	the field of marked groups
 * @less:	less a field, the exponent field of 1 by the unit
 * @more:	with a field, the exponent field of the unit
 * @wide:	units are doubles
 */
struct cnr_look {
	s32	least;
	s32	even;
	s32	marked;
	u32	less;
	u32	more;
	bool	wide;
};

static __always_inline struct cnr_look cnr_look(const struct cnr_lanes *l)
{
	const s32 bias = cnr_bias(l->f), unit = l->lane == 64 ? 1023 : 127;
	/* Units and 1 by them are normal, and so are averages. These are smaller by up to 2^16. */
	struct cnr_look look = {
		.least = 17 + l->scale, .even = 17 + l->scale,
		.marked = (s32)cnr_exponent_max(l->f), .wide = l->lane == 64,
		.less = (u32)(unit + bias - 1 + l->scale),
		.more = (u32)(unit - bias + 1 - l->scale),
	};

	if (l->dtype == CANARY_FLOAT16) {
		/* All units are. That of the least number is the smallest. */
		look.least = max_t(s32, 1, l->scale - l->f->fraction);
		look.even = 0;
	}
	return look;
}

/* The fields of CNR_W groups from @group on */
static __always_inline cnr_vs cnr_fields_at(const struct cnr_lanes *l, const u8 *at)
{
	if (l->wide == 2)
		return (cnr_vs)cnr_longer(*(const cnr_vh *)at);
	return (cnr_vs)cnr_bytes_longer(*(const cnr_vb *)at);
}

static __always_inline void cnr_factors_put(const struct cnr_look *look, union cnr_factors *to,
					    u32 i, cnr_vu exponents)
{
	union { cnr_vu all; cnr_hu half[2]; } x;

	if (!look->wide) {
		*(cnr_vu *)&to->f[i] = exponents << 23;
		return;
	}
	x.all = exponents;
	*(cnr_vq *)&to->d[i] = cnr_half_longer(x.half[0]) << 52;
	*(cnr_vq *)&to->d[i + CNR_D] = cnr_half_longer(x.half[1]) << 52;
}

/* cnr_chunk() for CNR_W groups with these fields. @i: where the first of them has its place */
static __always_inline u32 cnr_look_at(const struct cnr_look *look, cnr_vs f, u32 i,
				       union cnr_factors *lanes, union cnr_factors *units)
{
	cnr_vs odd = (f < look->even) | (f == look->marked);

	f = (cnr_vs)cnr_larger((cnr_vu)f, cnr_vu_all(look->least));
	if (lanes)
		cnr_factors_put(look, lanes, i, look->less - (cnr_vu)f);
	if (units)
		cnr_factors_put(look, units, i, look->more + (cnr_vu)f);
	return cnr_bits_of(odd);
}

/* Of the first @n groups of a vector that has hardly more */
static CNR_APART u32 cnr_chunk_short(const struct cnr_lanes *l, u32 group, u32 n,
				     union cnr_factors *lanes, union cnr_factors *units)
{
	const struct cnr_look look = cnr_look(l);
	u8 some[2 * CNR_W] = { 0 };
	u32 i;

	for (i = 0; i < n * l->wide; i++)
		some[i] = l->fields[group * l->wide + i];
	return cnr_look_at(&look, cnr_fields_at(l, some), CNR_W, lanes, units) & ((1U << n) - 1);
}

/*
 * Look at @n groups from @group on, at most CNR_CHUNK. @lanes: gets what makes lanes of numbers,
 * 1 by the unit of each group. @units: gets the units. One of them may be NULL. All are normal
 * numbers. The first group has place CNR_W there. Fields that are no groups' are not read. @k: as
 * for cnr_packet().
 *
 * Return: a bit for each group that is odd. What is in @lanes and @units for these is right for
 * zeros only
 */
static __always_inline u32 cnr_chunk(const struct cnr_lanes *k, const struct cnr_lanes *l,
				     u32 group, u32 n, union cnr_factors *lanes,
				     union cnr_factors *units)
{
	const struct cnr_look look = cnr_look(k);
	const u8 *at = k->fields + group * k->wide;
	u32 i, odd = 0;

	for (i = 0; i + CNR_W <= n; i += CNR_W)
		odd |= cnr_look_at(&look, cnr_fields_at(k, at + i * k->wide), CNR_W + i, lanes,
				   units) << i;
	if (i == n)
		return odd;
	if (group + n < CNR_W)
		return cnr_chunk_short(l, group, n, lanes, units);
	/* Those before the last ones were looked at, or nobody asks for them. */
	at = k->fields + (group + n - CNR_W) * k->wide;
	return odd | cnr_look_at(&look, cnr_fields_at(k, at), n, lanes, units) >>
		     (CNR_W - (n - i)) << i;
}

/* Return: what @of has for the vector of CNR_W numbers that begins @skip groups behind place @i */
static __always_inline cnr_vf cnr_factor(const union cnr_factors *of, const u32 group, size_t i)
{
	if (group == 1)
		return *(const cnr_vf *)&of->f[i];
	if (group < CNR_W)
		return cnr_spread(&of->f[i], group);
	return cnr_vf_all(of->f[i]);
}

/* The same for CNR_D numbers */
static __always_inline cnr_vd cnr_factor_wide(const union cnr_factors *of, const u32 group,
					      size_t i)
{
	if (group == 1)
		return *(const cnr_vd *)&of->d[i];
	if (group < CNR_D)
		return cnr_spread_wide(&of->d[i], group);
	return cnr_vd_all(of->d[i]);
}

#endif /* CANARY_CORE_FLOAT_UNITS_H */
