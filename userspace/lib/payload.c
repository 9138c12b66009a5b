// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the core does with payloads (platform.h): checksums, hashes, sums. With AVX2 where the
 * processor has it and CANARY_VECTORS does not forbid it. kmod/simd.c is the kernel's part of this.
 */
#include "core/platform.h"

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2	__attribute__((target("avx2")))
#define STEP	16	/* words of a turn */

static bool use_avx2(u32 words)
{
	enum cnr_vectors used = cnr_vectors();

	return words >= 4 * STEP && (used == CNR_VECTORS_AVX2 || used == CNR_VECTORS_AVX512);
}

AVX2 static inline __m256i load(const u32 *words)
{
	return _mm256_loadu_si256((const __m256i *)words);
}

/* Return: the sum of eight words */
AVX2 static inline u32 fold32(__m256i x)
{
	__m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
	return _mm_cvtsi128_si32(half);
}

/* Return: the sum of four numbers of 64 bits */
AVX2 static inline u64 fold64(__m256i x)
{
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	return (u64)_mm_cvtsi128_si64(half) + (u64)_mm_extract_epi64(half, 1);
}

/* Return: the products of four pairs of words. Compilers multiply 64 bits by 64, although 32 do. */
AVX2 static inline __m256i pairs(__m256i data, const u32 *key)
{
	__m256i x = _mm256_add_epi32(data, load(key));

	return _mm256_mul_epu32(x, _mm256_srli_epi64(x, 32));
}

/* In the following functions, @words is a multiple of STEP. */

AVX2 static u64 hash_avx2(const u32 *key, const u32 *data, u32 words)
{
	__m256i a = _mm256_setzero_si256(), b = a;
	u32 i;

	for (i = 0; i < words; i += STEP) {
		a = _mm256_add_epi64(a, pairs(load(data + i), key + i));
		b = _mm256_add_epi64(b, pairs(load(data + i + 8), key + i + 8));
	}
	return fold64(_mm256_add_epi64(a, b));
}

AVX2 static u64 hash_sum_avx2(const u32 *key, const u32 *data, u32 words, u32 *sum)
{
	__m256i a = _mm256_setzero_si256(), b = a, sum_a = a, sum_b = a, x, y;
	u32 i;

	for (i = 0; i < words; i += STEP) {
		x = load(data + i);
		y = load(data + i + 8);
		sum_a = _mm256_add_epi32(sum_a, x);
		sum_b = _mm256_add_epi32(sum_b, y);
		a = _mm256_add_epi64(a, pairs(x, key + i));
		b = _mm256_add_epi64(b, pairs(y, key + i + 8));
	}
	*sum = fold32(_mm256_add_epi32(sum_a, sum_b));
	return fold64(_mm256_add_epi64(a, b));
}

AVX2 static u32 checksum_avx2(const u32 *data, u32 words)
{
	__m256i a = _mm256_setzero_si256(), b = a;
	u32 i;

	for (i = 0; i < words; i += STEP) {
		a = _mm256_add_epi32(a, load(data + i));
		b = _mm256_add_epi32(b, load(data + i + 8));
	}
	return fold32(_mm256_add_epi32(a, b));
}

/* Add @a and @b into @to. Return: the checksum of @to */
AVX2 static u32 add_avx2(u32 *to, const u32 *a, const u32 *b, u32 words)
{
	__m256i sum_x = _mm256_setzero_si256(), sum_y = sum_x, x, y;
	u32 i;

	for (i = 0; i < words; i += STEP) {
		x = _mm256_add_epi32(load(a + i), load(b + i));
		y = _mm256_add_epi32(load(a + i + 8), load(b + i + 8));
		_mm256_storeu_si256((__m256i *)(to + i), x);
		_mm256_storeu_si256((__m256i *)(to + i + 8), y);
		sum_x = _mm256_add_epi32(sum_x, x);
		sum_y = _mm256_add_epi32(sum_y, y);
	}
	return fold32(_mm256_add_epi32(sum_x, sum_y));
}

u64 cnr_hash(const u32 *key, const u32 *data, u32 length)
{
	u32 words = length / 4, n = words - words % STEP;

	if (!use_avx2(words))
		return canary_hash(key, data, words);
	return hash_avx2(key, data, n) + canary_hash(key + n, data + n, words - n);
}

u64 cnr_hash_sum(u8 kind, const u32 *key, const u32 *data, u32 length, u32 *sum)
{
	u32 words = length / 4, n = words - words % STEP;
	u64 hash;

	if (canary_kind_check(kind) != CANARY_CHECK_SUM || !use_avx2(words)) {
		*sum = canary_checksum(kind, data, words);
		return canary_hash(key, data, words);
	}
	hash = hash_sum_avx2(key, data, n, sum);
	*sum += canary_checksum(kind, data + n, words - n);
	return hash + canary_hash(key + n, data + n, words - n);
}

u32 cnr_checksum(u8 kind, const u32 *data, u32 length)
{
	u32 words = length / 4, n = words - words % STEP;

	if (canary_kind_check(kind) != CANARY_CHECK_SUM || !use_avx2(words))
		return canary_checksum(kind, data, words);
	return checksum_avx2(data, n) + canary_checksum(kind, data + n, words - n);
}

/* There is vector code for the kind that most packets have. */
u32 cnr_combine(u8 kind, u32 *to, const u32 *a, const u32 *b, u32 length)
{
	u32 words = length / 4, n = words - words % STEP;

	if (kind != CANARY_KIND_ADD32 || !use_avx2(words))
		return canary_combine(kind, to, a, b, words);
	return add_avx2(to, a, b, n) + canary_combine(kind, to + n, a + n, b + n, words - n);
}

#else
#include "payload_loops.h"
#endif
