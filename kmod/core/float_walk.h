/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the way through a packet: what is odd in it, what loops can do. The lanes that
 * most vectors have come first. Part of float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_WALK_H
#define CANARY_CORE_FLOAT_WALK_H

#include "float_odd.h"

/* struct cnr_walk - @key: see CNR_LANES_KEY(); @turn: elements of a turn of its loop */
struct cnr_walk {
	struct cnr_way way;
	u32	key;
	u32	turn;
};

static __always_inline struct cnr_walk cnr_walk(const struct cnr_lanes *l)
{
	return (struct cnr_walk){
		cnr_way(l), CNR_LANES_KEY(l->dtype, l->lane, l->group),
		cnr_turn_of(l->lane, l->group),
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

/* struct cnr_scales - what numbers and lanes of some groups are multiplied by, see cnr_chunk() */
struct cnr_scales {
	union cnr_factors lanes;
	union cnr_factors units;
};

/*
 * Elements of a packet. @k: the lanes, as far as the compiler knows them. @l: the same.
 * @scales: room for factors. All kinds of lanes have the same, as the kernel's stack is small.
 *
 * Return: the checksum of results that are made in one pass
 */
static __always_inline u32 cnr_packet(const enum cnr_do what, const struct cnr_lanes k,
				      const struct cnr_lanes *l, struct cnr_scales *scales, u8 *to,
				      const u8 *sums, const u8 *from, u32 first, u32 n)
{
	const struct cnr_walk w = cnr_walk(&k);
	const u32 most = (k.lane == 64 ? CNR_CHUNK / 2 : CNR_CHUNK) * k.group;
	u32 i, some, group, odd, sum = 0;
	const struct cnr_run r = {
		.to = to, .sums = sums, .from = from, .lanes = &scales->lanes,
		.units = &scales->units,
	};

	/* Groups and turns are powers of two. */
	i = min_t(u32, -first & (k.group - 1), n);
	if (i)
		sum = cnr_one_by_one(what, l, &r, 0, first, i);
	for (; (some = min_t(u32, n - i, most) & ~(w.turn - 1)); i += some) {
		group = (first + i) / k.group;
		odd = cnr_chunk(&k, l, group, some / k.group,
				what != CNR_FINISH ? &scales->lanes : NULL,
				what != CNR_ENCODE ? &scales->units : NULL);
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

#define CNR_USUAL_AS(dtype, bits, size, what, l, ...)					\
	do {										\
		if (cnr_is_usual(l, dtype, bits, size))					\
			return cnr_packet(what, cnr_usual(l, dtype, bits, size), l,	\
					  __VA_ARGS__);					\
	} while (0)

/* Those of up to 8, 16 and 128 members */
#define CNR_USUAL(...)									\
	do {										\
		CNR_USUAL_AS(CANARY_FLOAT32, 32, 16, __VA_ARGS__);			\
		CNR_USUAL_AS(CANARY_FLOAT32, 32, 8, __VA_ARGS__);			\
		CNR_USUAL_AS(CANARY_FLOAT32, 32, 4, __VA_ARGS__);			\
		CNR_USUAL_AS(CANARY_BFLOAT16, 16, 8, __VA_ARGS__);			\
	} while (0)

static CNR_APART u32 cnr_packet_encode(const struct cnr_lanes *l, u8 *words, const u8 *from,
				       u32 first, u32 n)
{
	struct cnr_scales scales CNR_UNSET;

	CNR_USUAL(CNR_ENCODE, l, &scales, words, words, from, first, n);
	return cnr_packet(CNR_ENCODE, *l, l, &scales, words, words, from, first, n);
}

static CNR_APART u32 cnr_packet_finish(const struct cnr_lanes *l, u8 *words, u32 first, u32 n)
{
	struct cnr_scales scales CNR_UNSET;

	CNR_USUAL(CNR_FINISH, l, &scales, words, words, words, first, n);
	return cnr_packet(CNR_FINISH, *l, l, &scales, words, words, words, first, n);
}

static CNR_APART u32 cnr_packet_total(const struct cnr_lanes *l, u8 *to, const u8 *sums,
				      const u8 *from, u32 first, u32 n)
{
	struct cnr_scales scales CNR_UNSET;

	CNR_USUAL(CNR_TOTAL, l, &scales, to, sums, from, first, n);
	return cnr_packet(CNR_TOTAL, *l, l, &scales, to, sums, from, first, n);
}

#endif /* CANARY_CORE_FLOAT_WALK_H */
