/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The steps of SipHash-2-4 (Aumasson, Bernstein 2012), for code that has no kernel's SipHash: the
 * library, the simulator, the switch programs. The includer has to define __u64.
 *
 *	sip_start(&s, k0, k1);
 *	sip_word(&s, word);		for each 8 bytes, little-endian
 *	sip_word(&s, rest | length << 56);
 *	hash = sip_end(&s);
 */
#ifndef CANARY_COMMON_SIPHASH_H
#define CANARY_COMMON_SIPHASH_H

#define SIP_ROTATE(x, bits)	((x) << (bits) | (x) >> (64 - (bits)))

/* One round. With variables that are vectors it computes several hashes at once. */
#define SIP_ROUND(v0, v1, v2, v3)			\
	do {						\
		v0 += v1;				\
		v1 = SIP_ROTATE(v1, 13) ^ v0;		\
		v0 = SIP_ROTATE(v0, 32);		\
		v2 += v3;				\
		v3 = SIP_ROTATE(v3, 16) ^ v2;		\
		v0 += v3;				\
		v3 = SIP_ROTATE(v3, 21) ^ v0;		\
		v2 += v1;				\
		v1 = SIP_ROTATE(v1, 17) ^ v2;		\
		v2 = SIP_ROTATE(v2, 32);		\
	} while (0)

struct sip_state {
	__u64 v0, v1, v2, v3;
};

static __always_inline void sip_rounds(struct sip_state *s, int rounds)
{
	while (rounds--)
		SIP_ROUND(s->v0, s->v1, s->v2, s->v3);
}

static __always_inline void sip_start(struct sip_state *s, __u64 k0, __u64 k1)
{
	s->v0 = k0 ^ 0x736f6d6570736575ULL;
	s->v1 = k1 ^ 0x646f72616e646f6dULL;
	s->v2 = k0 ^ 0x6c7967656e657261ULL;
	s->v3 = k1 ^ 0x7465646279746573ULL;
}

static __always_inline void sip_word(struct sip_state *s, __u64 word)
{
	s->v3 ^= word;
	sip_rounds(s, 2);
	s->v0 ^= word;
}

static __always_inline __u64 sip_end(struct sip_state *s)
{
	s->v2 ^= 0xff;
	sip_rounds(s, 4);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

#endif /* CANARY_COMMON_SIPHASH_H */
