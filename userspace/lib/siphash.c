// SPDX-License-Identifier: BSD-2-Clause
/*
 * SipHash-2-4 (Aumasson, Bernstein 2012), as the core's platform.h wants it in user space.
 * The kernel has its own; both give the same numbers.
 */
#include "core/platform.h"

struct sip_state {
	u64 v0, v1, v2, v3;
};

static u64 rotl(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static u64 load_le64(const u8 *p)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

static void sip_round(struct sip_state *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static void sip_word(struct sip_state *s, u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

u64 cnr_siphash(const u8 key[16], const void *data, size_t len)
{
	u64 k0 = load_le64(key), k1 = load_le64(key + 8);
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
		sip_word(&s, load_le64(p));
	if (left)
		memcpy(last, p, left);
	last[7] = (u8)len;
	sip_word(&s, load_le64(last));
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
