// SPDX-License-Identifier: BSD-2-Clause
/*
 * SipHash with the interface that the core's platform.h asks for. The leader of a block computes
 * the mac of the result, and each member that gets it computes it again, from the same bytes. So
 * recent hashes are remembered, with their input.
 */
#include "userspace/lib/siphash.h"

#define REMEMBERED	1024	/* a power of two */
#define MAC_WORDS	9	/* input of a mac: a header and the hash of the data */
#define WORDS		(MAC_WORDS + 2)		/* with the key */

struct remembered {
	u64 word[WORDS];
	u64 hash;
	bool known;
} __attribute__((__aligned__(64)));

/* All members share the table. That saves time and changes nothing else. */
static struct remembered remembered[REMEMBERED];

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

static u64 mac(const u8 key[16], const void *data)
{
	u64 k0 = word_at(key, 0), k1 = word_at(key, 1), differ, place;
	struct remembered *r;
	u32 i;

	/*
	 * The hash of the data tells blocks apart. Where there is none, other words of the header
	 * do.
	 */
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
