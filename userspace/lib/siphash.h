/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson, Bernstein 2012). The kernel has its own; both give the same numbers.
 */
#ifndef CANARY_LIB_SIPHASH_H
#define CANARY_LIB_SIPHASH_H

#include "core/platform.h"

struct sip_state {
	u64 v0, v1, v2, v3;
};

static inline u64 sip_rotl(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline u64 sip_load_le64(const u8 *p)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

static inline void sip_round(struct sip_state *s)
{
	s->v0 += s->v1;
	s->v1 = sip_rotl(s->v1, 13) ^ s->v0;
	s->v0 = sip_rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = sip_rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = sip_rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = sip_rotl(s->v1, 17) ^ s->v2;
	s->v2 = sip_rotl(s->v2, 32);
}

static inline void sip_word(struct sip_state *s, u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

static inline u64 siphash(const u8 key[16], const void *data, size_t len)
{
	u64 k0 = sip_load_le64(key), k1 = sip_load_le64(key + 8);
	struct sip_state s = {
		.v0 = k0 ^ 0x736f6d6570736575ULL,
		.v1 = k1 ^ 0x646f72616e646f6dULL,
		.v2 = k0 ^ 0x6c7967656e657261ULL,
		.v3 = k1 ^ 0x7465646279746573ULL,
	};
	const u8 *p = data;
	u8 last[8] = { 0 };
	size_t left = len;

	for (; left >= 8; left -= 8, p += 8)
		sip_word(&s, sip_load_le64(p));
	if (left)
		memcpy(last, p, left);
	last[7] = (u8)len;
	sip_word(&s, sip_load_le64(last));
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- of many inputs at once, that differ in their last word only ---- */

#define SIP_LANES	8

typedef u64 sip_lanes __attribute__((__vector_size__(8 * SIP_LANES)));

struct sip_states {
	sip_lanes v0, v1, v2, v3;
};

static inline __attribute__((__always_inline__)) void sip_rounds(struct sip_states *s, int rounds)
{
	sip_lanes v0 = s->v0, v1 = s->v1, v2 = s->v2, v3 = s->v3;

	while (rounds--) {
		v0 += v1;
		v2 += v3;
		v1 = (v1 << 13 | v1 >> 51) ^ v0;
		v3 = (v3 << 16 | v3 >> 48) ^ v2;
		v0 = v0 << 32 | v0 >> 32;
		v2 += v1;
		v0 += v3;
		v1 = (v1 << 17 | v1 >> 47) ^ v2;
		v3 = (v3 << 21 | v3 >> 43) ^ v0;
		v2 = v2 << 32 | v2 >> 32;
	}
	*s = (struct sip_states) { v0, v1, v2, v3 };
}

/*
 * The sum of the hashes of 16 bytes each, whose last two are a big-endian number: all from @from
 * up to below @to. Hashes are a chain of additions that wait for each other; here SIP_LANES
 * chains are under way.
 */
static inline u64 siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	const u64 length = 16ULL << 56;
	struct sip_state one = {
		.v0 = sip_load_le64(key) ^ 0x736f6d6570736575ULL,
		.v1 = sip_load_le64(key + 8) ^ 0x646f72616e646f6dULL,
		.v2 = sip_load_le64(key) ^ 0x6c7967656e657261ULL,
		.v3 = sip_load_le64(key + 8) ^ 0x7465646279746573ULL,
	};
	u64 last = sip_load_le64((const u8 *)data + 8) & ~(0xffffULL << 48), sum = 0;
	struct sip_states s;
	sip_lanes word = { 0 };
	u32 i;

	sip_word(&one, sip_load_le64(data));
	for (; from < to; from += SIP_LANES) {
		for (i = 0; i < SIP_LANES; i++)
			word[i] = last | (u64)htobe16(from + i) << 48;
		s.v0 = one.v0 + (sip_lanes) { 0 };
		s.v1 = one.v1 + (sip_lanes) { 0 };
		s.v2 = one.v2 + (sip_lanes) { 0 };
		s.v3 = one.v3 ^ word;
		sip_rounds(&s, 2);
		s.v0 ^= word;
		s.v3 ^= length;
		sip_rounds(&s, 2);
		s.v0 ^= length;
		s.v2 ^= 0xff;
		sip_rounds(&s, 4);
		s.v0 ^= s.v1 ^ s.v2 ^ s.v3;
		for (i = 0; i < SIP_LANES && from + i < to; i++)
			sum += s.v0[i];
	}
	return sum;
}

#endif /* CANARY_LIB_SIPHASH_H */
