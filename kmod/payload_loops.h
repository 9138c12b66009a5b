/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions on payloads (core/platform.h) where there is no vector code of ours: loops, which
 * compilers may turn into vector code. simd.c and userspace/lib/payload.c include it.
 */

u64 cnr_hash(const u32 *key, const u32 *data, u32 length)
{
	return canary_hash(key, data, length / 4);
}

u64 cnr_hash_sum(u8 kind, const u32 *key, const u32 *data, u32 length, u32 *sum)
{
	*sum = canary_checksum(kind, data, length / 4);
	return canary_hash(key, data, length / 4);
}

u32 cnr_checksum(u8 kind, const u32 *data, u32 length)
{
	return canary_checksum(kind, data, length / 4);
}

u32 cnr_combine(u8 kind, u32 *to, const u32 *a, const u32 *b, u32 length)
{
	return canary_combine(kind, to, a, b, length / 4);
}
