// SPDX-License-Identifier: BSD-2-Clause
/*
 * SipHash, as the core's platform.h wants it. A result's mac is computed by its leader and again by
 * each member that it reaches, hundreds of times from the same bytes: what came out for the same
 * input lately is remembered here, with the input itself.
 */
#include "userspace/lib/siphash.h"

#define REMEMBERED	1024	/* a power of two */
#define MAC_WORDS	9	/* what a mac is made of: a header and the hash of the data */
#define WORDS		(MAC_WORDS + 2)		/* and the key */

struct remembered {
	u64 word[WORDS];
	u64 hash;
	bool known;
} __attribute__((__aligned__(64)));

/* Of macs computed by this program, whoever's they are: nothing but time hangs on them. */
static struct remembered remembered[REMEMBERED];

/*
 * Words are read one by one, as they were just written: reading several at a time would have to
 * wait until they are in the cache. So the compiler may not make vectors of them.
 */
static u64 word_at(const void *data, u32 i)
{
	u64 x = sip_load_le64((const u8 *)data + i * sizeof(u64));

	__asm__("" : "+r" (x));
	return x;
}

static u64 mac(const u8 key[16], const void *data)
{
	u64 k0 = word_at(key, 0), k1 = word_at(key, 1), differ, place;
	struct remembered *r;
	u32 i;

	/* The hash of the data, and where there are none the rest */
	place = word_at(data, MAC_WORDS - 1) + word_at(data, 1) + word_at(data, 2);
	r = &remembered[place * 0x9e3779b97f4a7c15ULL >> 32 & (REMEMBERED - 1)];
	differ = (k0 ^ r->word[MAC_WORDS]) | (k1 ^ r->word[MAC_WORDS + 1]);
	for (i = 0; i < MAC_WORDS; i++)
		differ |= word_at(data, i) ^ r->word[i];
	if (!differ && r->known)
		return r->hash;
	for (i = 0; i < MAC_WORDS; i++)
		r->word[i] = word_at(data, i);
	r->word[MAC_WORDS] = k0;
	r->word[MAC_WORDS + 1] = k1;
	r->known = true;
	r->hash = siphash(key, data, MAC_WORDS * sizeof(u64));
	return r->hash;
}

u64 cnr_siphash(const u8 key[16], const void *data, size_t len)
{
	return len == MAC_WORDS * sizeof(u64) ? mac(key, data) : siphash(key, data, len);
}

u64 cnr_siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	return siphash_numbered(key, data, from, to);
}
