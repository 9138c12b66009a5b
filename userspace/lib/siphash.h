/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4 of bytes. It gives the same numbers as the kernel's. */
#ifndef CANARY_LIB_SIPHASH_H
#define CANARY_LIB_SIPHASH_H

#include "core/platform.h"
#include "userspace/common/siphash.h"

static inline u64 sip_load_le64(const u8 *p)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

static inline u64 siphash(const u8 key[16], const void *data, size_t len)
{
	struct sip_state s;
	const u8 *p = data;
	u8 last[8] = { 0 };
	size_t left = len;

	sip_start(&s, sip_load_le64(key), sip_load_le64(key + 8));
	for (; left >= 8; left -= 8, p += 8)
		sip_word(&s, sip_load_le64(p));
	if (left)
		memcpy(last, p, left);
	last[7] = (u8)len;
	sip_word(&s, sip_load_le64(last));
	return sip_end(&s);
}

/* ---- many inputs at once that differ only in their last word ---- */

#define SIP_LANES	8

typedef __u64 sip_lanes __attribute__((__vector_size__(8 * SIP_LANES)));

struct sip_states {
	sip_lanes v0, v1, v2, v3;
};

static __always_inline void sip_rounds_of_all(struct sip_states *s, int rounds)
{
	while (rounds--)
		SIP_ROUND(s->v0, s->v1, s->v2, s->v3);
}

/*
 * Sum of the hashes of 16 bytes each. The last two bytes are a big-endian number, which runs from
 * @from up to, but not including, @to. A hash is a chain of dependent additions. SIP_LANES chains
 * run side by side, so that the processor need not wait for each step.
 */
static inline u64 siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	const u64 length = 16ULL << 56;
	u64 last = sip_load_le64((const u8 *)data + 8) & ~(0xffffULL << 48), sum = 0;
	struct sip_state one;
	struct sip_states s;
	sip_lanes word = { 0 };
	u32 i;

	sip_start(&one, sip_load_le64(key), sip_load_le64(key + 8));
	sip_word(&one, sip_load_le64(data));
	for (; from < to; from += SIP_LANES) {
		for (i = 0; i < SIP_LANES; i++)
			word[i] = last | (u64)htobe16(from + i) << 48;
		s.v0 = one.v0 + (sip_lanes) { 0 };
		s.v1 = one.v1 + (sip_lanes) { 0 };
		s.v2 = one.v2 + (sip_lanes) { 0 };
		s.v3 = one.v3 ^ word;
		sip_rounds_of_all(&s, 2);
		s.v0 ^= word;
		s.v3 ^= length;
		sip_rounds_of_all(&s, 2);
		s.v0 ^= length;
		s.v2 ^= 0xff;
		sip_rounds_of_all(&s, 4);
		s.v0 ^= s.v1 ^ s.v2 ^ s.v3;
		for (i = 0; i < SIP_LANES && from + i < to; i++)
			sum += s.v0[i];
	}
	return sum;
}

#endif /* CANARY_LIB_SIPHASH_H */
