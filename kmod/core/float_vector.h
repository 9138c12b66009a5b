/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: float_lanes.c for several numbers at a time. This is the source of all vector
 * code. float_avx2.c, float_avx512.c and float_neon.c each include it once, behind the few
 * operations that their processors do in their own ways.
 *
 * They come to the same bits as float_lanes.c, because
 *  - units are powers of two. So a product with one is exact, and each result is rounded once.
 *  - neither subnormal numbers nor how the processor treats them matter: a number in units that are
 *    normal is at least half of one, or becomes 0, and a sum is a multiple of its unit. Groups with
 *    smaller units are odd, and done one by one. Conversions of float16 ignore what programs ask.
 *  - a sum that is too long for a float or a double is shortened to an odd one before it is rounded.
 *    Its last bit says that something was cut off. So no result is rounded twice.
 *
 * A group is odd, too, if it is marked. One look tells whether some groups have odd ones among
 * them. Zeros need no unit, and many vectors have more of them than of other numbers. So they are
 * done here whatever the unit is.
 *
 * A lane that shares a word is clamped, whatever a member does to its vector meanwhile. So is one
 * into which the largest number of a group, when rounded, does not fit. No number is too large for
 * others, unless it was changed; then its own sum is wrong, as it is anyway.
 *
 * What is called is between cnr_vector_begin() and cnr_vector_end() only.
 */
#ifndef CNR_BYTES
#error "it is included by files that say for which processor"
#endif

/* ---- fields become units ---- */

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
		.less = (u32)(unit + bias - 1 + l->scale), .more = (u32)(unit - bias + 1 - l->scale),
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

/* ---- numbers ---- */

/* Return: CNR_W numbers of a type of at most 32 bits */
static __always_inline cnr_vf cnr_read(const u8 type, const u8 *from)
{
	if (type == CANARY_FLOAT32)
		return *(const cnr_vf *)from;
	if (type == CANARY_FLOAT16)
		return cnr_from_half(*(const cnr_vh *)from);
	/* A bfloat16 is the upper half of a float32. */
	return (cnr_vf)(cnr_longer(*(const cnr_vh *)from) << 16);
}

/* Return: bits of @x, rounded to a number of 16 bits, in the lower half of 32 */
static __always_inline cnr_vu cnr_rounded(const u8 type, cnr_vf x)
{
	cnr_vu bits = (cnr_vu)x;

	if (type == CANARY_FLOAT16)
		return cnr_longer(cnr_to_half(x));
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* Return: as it was put */
static __always_inline cnr_vu cnr_write(const u8 type, u8 *to, cnr_vf x)
{
	cnr_vu bits = (cnr_vu)x;

	if (type == CANARY_FLOAT32) {
		*(cnr_vu *)to = bits;
		return bits;
	}
	bits = cnr_rounded(type, x);
	*(cnr_vh *)to = cnr_narrow(bits);
	return bits;
}

/* Return: CNR_D numbers */
static __always_inline cnr_vd cnr_read_wide(const u8 type, const u8 *from)
{
	if (type == CANARY_FLOAT64)
		return *(const cnr_vd *)from;
	return __builtin_convertvector(*(const cnr_hf *)from, cnr_vd);
}

/* ---- what loops do ---- */

/* What is done with elements */
enum cnr_do {
	CNR_ENCODE,	/* numbers at @from become lanes at @to */
	CNR_FINISH,	/* lanes at @sums become results at @to */
	CNR_TOTAL,	/* numbers, and lanes of all others, become results */
};

/* What all loops know when they are compiled */
struct cnr_kind {
	enum cnr_do what;
	u8	type;
	u8	lane;
	u8	group;
	bool	average;
};

/* ---- sums in lanes of up to 32 bits ---- */

/*
 * Return: @sums, but the last 7 bits of long ones are in the one before these. Results have fewer
 * bits than what is left.
 */
static __always_inline cnr_vs cnr_odd_sums(cnr_vs sums)
{
	cnr_vu x = (cnr_vu)sums, odd = (x | ((x & 0x7f) + 0x7f)) & ~0x7fU;
	cnr_vu longer = (cnr_vu)((x + (1U << 24)) >> 25 != 0);

	return (cnr_vs)((odd & longer) | (x & ~longer));
}

/* Half of cnr_averages(). @odd: the last bit of a float says if something was cut off */
static __always_inline cnr_hf cnr_half_averages(cnr_hs sums, double members, const bool odd)
{
	cnr_vd quotient = __builtin_convertvector(sums, cnr_vd) / cnr_vd_all(members);
	const u64 cut = (1ULL << 29) - 1;
	cnr_vq bits;

	if (odd) {
		bits = (cnr_vq)quotient;
		bits = (bits | ((bits & cut) + cut)) & ~cut;
		quotient = (cnr_vd)bits;
	}
	return __builtin_convertvector(quotient, cnr_hf);
}

/*
 * Return: @sums by @members. A quotient of doubles has more than twice the bits of a float, so it
 * does not matter that it is rounded twice.
 */
static __always_inline cnr_vf cnr_averages(cnr_vs sums, u32 members, const bool odd)
{
	union { cnr_vs all; cnr_hs half[2]; } x = { .all = sums };
	union { cnr_vf all; cnr_hf half[2]; } y;

	y.half[0] = cnr_half_averages(x.half[0], members, odd);
	y.half[1] = cnr_half_averages(x.half[1], members, odd);
	return y.all;
}

/**
 * struct cnr_way - how lanes are made and taken
 * @own:	bias of a lane
 * @all:	bias of the sum of all lanes
 * @longer:	sums may have more bits than a float
 * @average:	results are averages
 */
struct cnr_way {
	u64	own;
	u64	all;
	u32	members;
	bool	longer;
	bool	average;
};

static __always_inline struct cnr_way cnr_way(const struct cnr_lanes *l)
{
	const u64 all = (u64)l->members << l->scale;

	return (struct cnr_way){
		.own = 1ULL << l->scale, .all = all, .members = l->members, .longer = all > 1U << 24,
		.average = l->average,
	};
}

/* Return: results in units */
static __always_inline cnr_vf cnr_sums(const struct cnr_kind k, const struct cnr_way *way,
				       cnr_vs sums)
{
	if (k.average)
		return cnr_averages(sums, way->members, k.type != CANARY_FLOAT32);
	if (k.type != CANARY_FLOAT32 && k.lane == 32 && way->longer)
		sums = cnr_odd_sums(sums);
	return __builtin_convertvector(sums, cnr_vf);
}

/* ---- sums in lanes of 64 bits ---- */

/* struct cnr_pair - a number of up to 106 bits: @low is at most half of the last bit of @high */
struct cnr_pair {
	cnr_vd	high;
	cnr_vd	low;
};

/* Return: @a + @b, where a is 0 or not less than b */
static __always_inline struct cnr_pair cnr_pair(cnr_vd a, cnr_vd b)
{
	cnr_vd sum = a + b;

	return (struct cnr_pair){ sum, b - (sum - a) };
}

/* Return: integers, as they are */
static __always_inline struct cnr_pair cnr_pair_of(cnr_vl sums)
{
	/* In the last bits of 2^84 + 2^63, and in those of 2^52 */
	cnr_vq high = (cnr_vq)sums >> 32 ^ 0x4530000080000000ULL;
	cnr_vq low = ((cnr_vq)sums & 0xffffffff) | 0x4330000000000000ULL;

	return cnr_pair((cnr_vd)high - (0x1p84 + 0x1p63), (cnr_vd)low - 0x1p52);
}

/*
 * Return: @x by @members, which have up to 16 bits. The rest is exact, so is what it gives when it
 * can be: no quotient comes close to one that is halfway.
 */
static __always_inline struct cnr_pair cnr_pair_divide(struct cnr_pair x, double members)
{
	const cnr_vd by = cnr_vd_all(members);
	cnr_vd quotient = x.high / by, upper, rest;

	upper = (cnr_vd)((cnr_vq)quotient & ~0x1ffffULL);
	rest = x.high - upper * by - (quotient - upper) * by + x.low;
	return cnr_pair(quotient, rest / by);
}

/* Return: @x, shortened. Its last bit says if something was cut off. */
static __always_inline cnr_vd cnr_pair_odd(struct cnr_pair x)
{
	cnr_vq bits = (cnr_vq)x.high;
	/* 1, or -1 where the lower part has the other sign */
	cnr_vq step = (cnr_vq)((cnr_vl)(bits ^ (cnr_vq)x.low) < 0) | 1;
	cnr_vq inexact = (cnr_vq)(x.low != 0), even = (bits & 1) - 1;

	return (cnr_vd)(bits + (step & inexact & even));
}

/* Return: @sums as results that are rounded when they are written */
static __always_inline cnr_vd cnr_sums_wide(const u8 type, const struct cnr_way *way, cnr_vl sums,
					    const bool average)
{
	struct cnr_pair x;

	if (type == CANARY_FLOAT64 && !average)
		return cnr_from_long(sums);
	x = cnr_pair_of(sums);
	if (average)
		x = cnr_pair_divide(x, way->members);
	return type == CANARY_FLOAT64 ? x.high : cnr_pair_odd(x);
}

/* ---- loops ---- */

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
	return k.type != CANARY_FLOAT64 ? k.type != CANARY_FLOAT32 || (k.lane == 32 && k.group < 8) :
					  k.group < 8;
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

/* As many elements as one turn of a loop has: whole groups, and whole vectors */
static __always_inline u32 cnr_turn_of(const struct cnr_kind k)
{
	const u32 step = k.lane == 16 ? 2 * CNR_W : k.lane == 64 ? CNR_D : CNR_W;

	return max_t(u32, k.group, step);
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
	const u32 turn = cnr_turn_of(k);
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
 * Return: the checksum of results; of anything, if there are none. What is written might be @from or
 * @run, as far as compilers know, so these are copied.
 */
static __always_inline u32 cnr_run(const struct cnr_kind k, const struct cnr_way *from,
				   const struct cnr_run *run)
{
	const struct cnr_way way = *from;
	const struct cnr_run r = *run;
	const u32 turn = cnr_turn_of(k), groups = turn / k.group;
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

/* ---- one by one ---- */

#define CNR_SOME	32	/* most elements of a turn */

/* At most CNR_SOME elements, in whole words. Return: the checksum of results */
static u32 cnr_total_one(const struct cnr_lanes *l, u8 *to, const u8 *sums, const u8 *from,
			 u32 first, u32 n)
{
	u64 lanes[CNR_SOME], others[CNR_SOME];
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
	const u32 lane = l->lane / 8, members = l->members - (what == CNR_TOTAL), bits = l->f->bytes * 8;
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
		if (what != CNR_ENCODE && !cnr_all_are(r->sums + k * lane, run * lane, zeros, ~0ULL))
			return true;
		run /= l->group;
	}
	return false;
}

/* ---- packets ---- */

/* struct cnr_walk - @key: see CNR_LANES_KEY(); @turn: elements of a turn of its loop */
struct cnr_walk {
	struct cnr_way way;
	u32	key;
	u32	turn;
};

static __always_inline struct cnr_walk cnr_walk(const struct cnr_lanes *l)
{
	const u32 step = l->lane == 16 ? 2 * CNR_W : l->lane == 64 ? CNR_D : CNR_W;

	return (struct cnr_walk){
		cnr_way(l), CNR_LANES_KEY(l->dtype, l->lane, l->group), max_t(u32, l->group, step),
	};
}

/* @n elements from @i of @r, whose factors are @skip behind the first ones */
static __always_inline u32 cnr_part_of(const enum cnr_do what, const struct cnr_lanes *l,
				       const struct cnr_walk *w, const struct cnr_run *r, u32 i,
				       u32 n, u32 skip)
{
	const u32 size = l->f->bytes, lane = l->lane / 8;
	const struct cnr_run part = {
		.to = r->to + i * (what == CNR_ENCODE ? lane : size), .sums = r->sums + i * lane,
		.from = r->from + i * size, .lanes = r->lanes, .units = r->units, .skip = skip,
		.n = n,
	};

	return cnr_run_what(what, w->key, &w->way, &part);
}

/* Some groups are odd: turn by turn */
static CNR_APART u32 cnr_turns(enum cnr_do what, const struct cnr_lanes *l,
			       const struct cnr_walk *w, const struct cnr_run *r, u32 i, u32 first,
			       u32 n, u32 odd)
{
	const u32 groups = w->turn / l->group, all = (u32)((1ULL << groups) - 1);
	u32 k, some, sum = 0;

	for (k = 0; k < n; k += w->turn) {
		some = odd >> k / l->group & all;
		if (some && cnr_is_odd(what, l, r, i + k, some, (first + k) / l->group))
			sum += cnr_one_by_one(what, l, r, i + k, first + k, w->turn);
		else
			sum += cnr_part_of(what, l, w, r, i + k, w->turn, k / l->group);
	}
	return sum;
}

/*
 * Elements of a packet. @k: the lanes, as far as they are known when this is compiled. @l: the same
 *
 * Return: the checksum of results that are made in one pass
 */
static __always_inline u32 cnr_packet(const enum cnr_do what, const struct cnr_lanes k,
				      const struct cnr_lanes *l, u8 *to, const u8 *sums,
				      const u8 *from, u32 first, u32 n)
{
	const struct cnr_walk w = cnr_walk(&k);
	const u32 most = (k.lane == 64 ? CNR_CHUNK / 2 : CNR_CHUNK) * k.group;
	u32 i, some, group, odd, sum = 0;
	union cnr_factors lanes, units;
	const struct cnr_run r = {
		.to = to, .sums = sums, .from = from, .lanes = &lanes, .units = &units,
	};

	/* Groups and turns are powers of two. */
	i = min_t(u32, -first & (k.group - 1), n);
	if (i)
		sum = cnr_one_by_one(what, l, &r, 0, first, i);
	for (; (some = min_t(u32, n - i, most) & ~(w.turn - 1)); i += some) {
		group = (first + i) / k.group;
		odd = cnr_chunk(&k, l, group, some / k.group, what != CNR_FINISH ? &lanes : NULL,
				what != CNR_ENCODE ? &units : NULL);
		if (odd && cnr_is_odd(what, l, &r, i, odd, group))
			sum += cnr_turns(what, l, &w, &r, i, first + i, some, odd);
		else
			sum += cnr_part_of(what, &k, &w, &r, i, some, 0);
	}
	if (i < n)
		sum += cnr_one_by_one(what, l, &r, i, first + i, n - i);
	return sum;
}

/* The lanes that most vectors have. They have code of their own, from a packet to its numbers. */
static __always_inline bool cnr_is_usual(const struct cnr_lanes *l, u8 dtype, u8 lane, u32 group)
{
	return l->dtype == dtype && l->lane == lane && l->group == group && !l->average;
}

static __always_inline struct cnr_lanes cnr_usual(const struct cnr_lanes *l, u8 dtype, u8 lane,
						  u32 group)
{
	struct cnr_lanes k = *l;

	k.f = &cnr_formats[dtype];
	k.dtype = dtype;
	k.average = false;
	k.wide = 1;
	k.lane = lane;
	k.group = group;
	return k;
}

#define CNR_USUAL(what, l, ...)								\
	do {										\
		if (cnr_is_usual(l, CANARY_FLOAT32, 32, 16))				\
			return cnr_packet(what, cnr_usual(l, CANARY_FLOAT32, 32, 16), l,	\
					  __VA_ARGS__);					\
		if (cnr_is_usual(l, CANARY_BFLOAT16, 16, 8))				\
			return cnr_packet(what, cnr_usual(l, CANARY_BFLOAT16, 16, 8), l,	\
					  __VA_ARGS__);					\
	} while (0)

static CNR_APART u32 cnr_packet_encode(const struct cnr_lanes *l, u8 *words, const u8 *from,
				       u32 first, u32 n)
{
	CNR_USUAL(CNR_ENCODE, l, words, words, from, first, n);
	return cnr_packet(CNR_ENCODE, *l, l, words, words, from, first, n);
}

static CNR_APART u32 cnr_packet_finish(const struct cnr_lanes *l, u8 *words, u32 first, u32 n)
{
	CNR_USUAL(CNR_FINISH, l, words, words, words, first, n);
	return cnr_packet(CNR_FINISH, *l, l, words, words, words, first, n);
}

static CNR_APART u32 cnr_packet_total(const struct cnr_lanes *l, u8 *to, const u8 *sums,
				      const u8 *from, u32 first, u32 n)
{
	CNR_USUAL(CNR_TOTAL, l, to, sums, from, first, n);
	return cnr_packet(CNR_TOTAL, *l, l, to, sums, from, first, n);
}

/* ---- three lanes of 21 bits in a word of 64 ---- */

#define CNR_THREES	192	/* lanes that are unpacked at a time: whole words, and whole vectors */

/* @lanes: may be read up to 8 bytes behind the last one */
static void cnr_threes_pack(u8 *words, const u32 *lanes, u32 n)
{
	u64 two, three;
	cnr_vq low, high;
	u32 i = 0;

	for (; i + 3 * CNR_D <= n; i += 3 * CNR_D, words += CNR_BYTES) {
		cnr_threes_get(lanes + i, &low, &high);
		*(cnr_vq *)words = (low & 0xffffffff) | low >> 32 << 21 | high << 42;
	}
	for (; i < n; i += 3, words += 8) {
		memcpy(&two, lanes + i, 8);
		three = i + 2 < n ? lanes[i + 2] : 0;
		two = (i + 1 < n ? two >> 32 << 21 : 0) | (u32)two | three << 42;
		memcpy(words, &two, 8);
	}
}

/* @lanes: may be written up to 8 bytes behind the last one */
static void cnr_threes_unpack(u32 *lanes, const u8 *words, u32 n)
{
	const u32 mask = (1 << 21) - 1;
	cnr_vq x, low;
	u64 three;
	u32 i = 0;

	for (; i + 3 * CNR_D <= n; i += 3 * CNR_D, words += CNR_BYTES) {
		x = *(const cnr_vq *)words;
		low = (x & mask) | (x >> 21 & mask) << 32;
		cnr_threes_put(lanes + i, low, x >> 42 & mask);
	}
	for (; i < n; i += 3, words += 8) {
		memcpy(&three, words, 8);
		lanes[i] = three & mask;
		lanes[i + 1] = three >> 21 & mask;
		lanes[i + 2] = three >> 42 & mask;
	}
}

static CNR_APART void cnr_threes_encode(const struct cnr_lanes *l, u8 *words, const u8 *from,
					u32 first, u32 n)
{
	u32 lanes[CNR_THREES + 4], i, some;
	struct cnr_lanes unpacked = *l;

	unpacked.lane = 32;
	for (i = 0; i < n; i += some) {
		some = min_t(u32, n - i, CNR_THREES);
		cnr_packet_encode(&unpacked, (u8 *)lanes, from + i * 2, first + i, some);
		cnr_threes_pack(words + i / 3 * 8, lanes, some);
	}
}

/* Results are shorter, so lanes are read before results take their place. */
static CNR_APART void cnr_threes_finish(const struct cnr_lanes *l, u8 *words, u32 first, u32 n)
{
	u32 lanes[CNR_THREES + 4], i, some;
	struct cnr_lanes unpacked = *l;

	unpacked.lane = 32;
	for (i = 0; i < n; i += some) {
		some = min_t(u32, n - i, CNR_THREES);
		cnr_threes_unpack(lanes, words + i / 3 * 8, some);
		cnr_packet_finish(&unpacked, (u8 *)lanes, first + i, some);
		memcpy(words + i * 2, lanes, some * 2);
	}
}

static CNR_APART u32 cnr_threes_total(const struct cnr_lanes *l, u8 *to, const u8 *sums,
				      const u8 *from, u32 first, u32 n)
{
	u32 lanes[CNR_THREES + 4], i, some, sum = 0;
	struct cnr_lanes unpacked = *l;

	unpacked.lane = 32;
	for (i = 0; i < n; i += some) {
		some = min_t(u32, n - i, CNR_THREES);
		cnr_threes_unpack(lanes, sums + i / 3 * 8, some);
		sum += cnr_packet_total(&unpacked, to + i * 2, (const u8 *)lanes, from + i * 2,
					first + i, some);
	}
	return sum;
}

/* ---- for float_packet.c ---- */

void CNR_NAME(encode)(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	if (l->lane == 21)
		cnr_threes_encode(l, words, from, first, n);
	else
		cnr_packet_encode(l, words, from, first, n);
}

void CNR_NAME(finish)(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	if (l->lane == 21)
		cnr_threes_finish(l, words, first, n);
	else
		cnr_packet_finish(l, words, first, n);
}

u32 CNR_NAME(total)(const struct cnr_lanes *l, void *to, const void *others, const void *from,
		    u32 first, u32 n)
{
	return l->lane == 21 ? cnr_threes_total(l, to, others, from, first, n) :
			       cnr_packet_total(l, to, others, from, first, n);
}

/* ---- exponent fields ---- */

/*
 * Return: vector @i of magnitudes. Numbers of 16 bits are two in a word, where the larger one counts,
 * unless each has a group of its own. Of 64 bits, the upper half counts.
 */
static __always_inline cnr_vu cnr_magnitudes(const u8 type, const u32 group, const u8 *from,
					     size_t i)
{
	const u32 bytes = cnr_formats[type].bytes;
	cnr_vu two;

	if (bytes == 8)
		return cnr_upper_halves(from + i * 2 * CNR_BYTES) & ~0U >> 1;
	if (bytes == 4)
		return *(const cnr_vu *)(from + i * CNR_BYTES) & ~0U >> 1;
	if (group == 1)
		return cnr_longer(*(const cnr_vh *)(from + i * CNR_BYTES / 2)) & 0x7fff;
	two = *(const cnr_vu *)(from + i * CNR_BYTES) & 0x7fff7fff;
	return cnr_larger(two & 0xffff, two >> 16);
}

/* Return: the largest ones of @n vectors from @i on */
static __always_inline cnr_vu cnr_magnitudes_of(const u8 type, const u32 group, const u8 *from,
						size_t i, const u32 n)
{
	cnr_vu largest = cnr_magnitudes(type, group, from, i * n);
	u32 k;

#pragma GCC unroll 4
	for (k = 1; k < n; k++)
		largest = cnr_larger(largest, cnr_magnitudes(type, group, from, i * n + k));
	return largest;
}

/* Of each four from vector @i on */
static __always_inline cnr_vu cnr_fours(const u8 type, const u32 group, const u8 *from, size_t i,
					const u32 n)
{
	return cnr_quads(cnr_magnitudes_of(type, group, from, i, n),
			 cnr_magnitudes_of(type, group, from, i + 1, n),
			 cnr_magnitudes_of(type, group, from, i + 2, n),
			 cnr_magnitudes_of(type, group, from, i + 3, n));
}

/* Return: the largest magnitudes of CNR_W groups at @from */
static __always_inline cnr_vu cnr_largest(const u8 type, const u32 group, const u8 *from)
{
	/* Words of a group, vectors that make one, and words of a group then */
	const u32 words = cnr_formats[type].bytes == 2 && group > 1 ? group / 2 : group;
	const u32 n = words > CNR_W ? words / CNR_W : 1, left = words / n;

	if (left == 1)
		return cnr_magnitudes(type, group, from, 0);
	if (left == 4)
		return cnr_fours(type, group, from, 0, n);
	if (left == 8)
		return cnr_pairs(cnr_fours(type, group, from, 0, n),
				 cnr_fours(type, group, from, 4, n));
	return cnr_quads(cnr_fours(type, group, from, 0, n), cnr_fours(type, group, from, 4, n),
			 cnr_fours(type, group, from, 8, n), cnr_fours(type, group, from, 12, n));
}

/* The fields of CNR_W groups at @from */
static __always_inline void cnr_fields_put(const u8 type, const u32 group, u8 *fields,
					   const u8 *from)
{
	const struct cnr_format *f = &cnr_formats[type];
	cnr_vu x = cnr_largest(type, group, from);

	x >>= f->fraction - (f->bytes == 8 ? 32 : 0);
	if (f->exponent > 8)
		*(cnr_vh *)fields = cnr_narrow(x);
	else
		*(cnr_vb *)fields = cnr_bytes_of(x);
}

/* Return: how many of @n elements have their fields now */
static __always_inline u32 cnr_fields_as(const u8 type, const u32 group, u8 *fields,
					 const u8 *from, u32 n)
{
	const u32 bytes = cnr_formats[type].bytes, wide = cnr_formats[type].exponent > 8 ? 2 : 1;
	const u32 some = CNR_W * group, whole = n & ~(group - 1);
	u32 i = 0;

	if (whole < some)
		return 0;
	/* The last ones may be done twice. */
	for (; i < whole; i += some) {
		i = min_t(u32, i, whole - some);
		cnr_fields_put(type, group, fields + i / group * wide, from + (size_t)i * bytes);
	}
	return whole;
}

#define CNR_FIELDS_CASE(dtype, bits, size)						\
	case CNR_LANES_KEY(dtype, bits, size):						\
		return cnr_fields_as(dtype, size, fields, from, n);

static CNR_APART u32 cnr_fields_of(u32 key, u8 *fields, const u8 *from, u32 n)
{
	switch (key) {
	CNR_LANES_KINDS(CNR_FIELDS_CASE)
	default:
		return 0;
	}
}

void CNR_NAME(fields)(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	const u8 *at = from;
	u32 i, field, some;

	i = cnr_fields_of(CNR_LANES_KEY(l->dtype, l->lane == 21 ? 32 : l->lane, l->group), fields, at,
			  n);
	for (; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		field = cnr_largest_field(l, at + i * l->f->bytes, some, false);
		memcpy(fields + i / l->group * l->wide, &field, l->wide);
	}
}
