/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: three lanes of 21 bits in a word of 64. They are unpacked to 32 bits, and packed
 * again. Part of float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_THREES_H
#define CANARY_CORE_FLOAT_THREES_H

#include "float_walk.h"

#define CNR_THREES	192	/* lanes unpacked at a time: whole words, and whole vectors */

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
	u32 lanes[CNR_THREES + 4] CNR_UNSET;
	u32 i, some;
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
	u32 lanes[CNR_THREES + 4] CNR_UNSET;
	u32 i, some;
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
	u32 lanes[CNR_THREES + 4] CNR_UNSET;
	u32 i, some, sum = 0;
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

#endif /* CANARY_CORE_FLOAT_THREES_H */
