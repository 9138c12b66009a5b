// SPDX-License-Identifier: BSD-2-Clause
/* SipHash in user space, with the interface that the core's platform.h asks for. */
#include "siphash.h"

u64 cnr_siphash(const u8 key[16], const void *data, size_t len)
{
	return siphash(key, data, len);
}

u64 cnr_siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	return siphash_numbered(key, data, from, to);
}
