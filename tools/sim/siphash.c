// SPDX-License-Identifier: BSD-2-Clause
/*
 * The keyed hashes that the core's platform.h asks for. All but one are SipHash. A packet has a mac,
 * which its receiver computes again. Nobody forges packets here, so a mac need not be hard to
 * guess. It only has to differ when key or input do. Multiplications do that in a tenth of the time.
 */
#include <stddef.h>
#include "userspace/lib/siphash.h"

/* Input of a mac: a header, with the hash of the data in place of the mac */
#define MAC_WORDS	(sizeof(struct canary_hdr) / sizeof(u64))

/*
 * Words are read one by one, as they were written just before. A wider read would have to wait
 * until they are in the cache. So the compiler must not make vectors of them.
 */
static u64 word_at(const void *data, u32 i)
{
	u64 x = sip_load_le64((const u8 *)data + i * sizeof(u64));

	__asm__("" : "+r" (x));
	return x;
}

/* Each product of two words has 128 bits, which depend on all bits of both. */
static u64 mac(const u8 key[16], const void *data)
{
	u64 hash = word_at(key, 0), other = word_at(key, 1);
	unsigned __int128 product;
	u32 i;

	_Static_assert(MAC_WORDS % 2 == 0, "words are taken in pairs");
	for (i = 0; i < MAC_WORDS; i += 2) {
		product = (unsigned __int128)(word_at(data, i) ^ hash) *
			  (word_at(data, i + 1) ^ other);
		hash = (u64)product ^ (u64)(product >> 64);
	}
	return hash;
}

u64 cnr_siphash(const u8 key[16], const void *data, size_t len)
{
	return len == sizeof(struct canary_hdr) ? mac(key, data) : siphash(key, data, len);
}

u64 cnr_siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	return siphash_numbered(key, data, from, to);
}
