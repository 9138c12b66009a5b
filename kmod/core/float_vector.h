/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: float_lanes.c for several numbers at a time. This is the source of all vector
 * code. float_avx2.c, float_avx512.c and float_neon.c each include it once, behind the few
 * operations that their processors do in their own ways.
 *
 * What it includes, each of which uses those before it:
 *  - float_units.h: what makes lanes of numbers, and numbers of lanes.
 *  - float_sums.h: numbers in memory, and what sums of lanes come to.
 *  - float_loops.h: the loops over elements.
 *  - float_odd.h: groups that these cannot do.
 *  - float_walk.h: the way through a packet.
 *  - float_threes.h: lanes of 21 bits.
 *  - float_fields.h: exponent fields; it needs none of the others.
 *
 * They come to the same bits as float_lanes.c, because
 *  - units are powers of two. So a product with one is exact, and each result is rounded once.
 *  - neither subnormal numbers nor how the processor treats them matter: a number in units that are
 *    normal is at least half of one, or becomes 0, and a sum is a multiple of its unit. Groups with
 *    smaller units are odd, and done one by one. Conversions of float16 ignore what programs ask.
 *  - a sum that is too long for a float or a double is shortened to an odd one before it is
 *    rounded. Its last bit says that something was cut off. So no result is rounded twice.
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

#include "float_threes.h"
#include "float_fields.h"

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

void CNR_NAME(fields)(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	const u8 *at = from;
	u32 i, field, some, lane = l->lane == 21 ? 32 : l->lane;

	i = cnr_fields_of(CNR_LANES_KEY(l->dtype, lane, l->group), fields, at, n);
	for (; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		field = cnr_largest_field(l, at + i * l->f->bytes, some, false);
		memcpy(fields + i / l->group * l->wide, &field, l->wide);
	}
}
