// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: float_vector.h for x86 processors with AVX-512 (F, BW, DQ, VL), in user space.
 */
#define CNR_BYTES	64
#define CNR_NAME(what)	cnr_avx512_##what

#include "float_lanes.h"

#ifdef CNR_HAS_AVX512

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c"))), \
			     apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#endif

#include "float_vectors.h"

/* If @x is no number, it is @y that comes out. */
static __always_inline cnr_vf cnr_least(cnr_vf x, cnr_vf y)
{
	return _mm512_min_ps(x, y);
}

static __always_inline cnr_vf cnr_most(cnr_vf x, cnr_vf y)
{
	return _mm512_max_ps(x, y);
}

static __always_inline cnr_vd cnr_least_wide(cnr_vd x, cnr_vd y)
{
	return _mm512_min_pd(x, y);
}

static __always_inline cnr_vd cnr_most_wide(cnr_vd x, cnr_vd y)
{
	return _mm512_max_pd(x, y);
}

static __always_inline cnr_vu cnr_larger(cnr_vu x, cnr_vu y)
{
	return (cnr_vu)_mm512_max_epu32((__m512i)x, (__m512i)y);
}

/* Return: the integers that are nearest; of two, the even ones */
static __always_inline cnr_vs cnr_nearest(cnr_vf x)
{
	return (cnr_vs)_mm512_cvtps_epi32(x);
}

static __always_inline cnr_vl cnr_nearest_wide(cnr_vd x)
{
	return (cnr_vl)_mm512_cvtpd_epi64(x);
}

/* Return: the doubles that are nearest to integers */
static __always_inline cnr_vd cnr_from_long(cnr_vl x)
{
	return _mm512_cvtepi64_pd((__m512i)x);
}

static __always_inline cnr_vf cnr_from_half(cnr_vh x)
{
	return _mm512_cvtph_ps((__m256i)x);
}

static __always_inline cnr_vh cnr_to_half(cnr_vf x)
{
	return (cnr_vh)_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}

/* Return: the numbers in twice as many bits */
static __always_inline cnr_vu cnr_longer(cnr_vh x)
{
	return (cnr_vu)_mm512_cvtepu16_epi32((__m256i)x);
}

static __always_inline cnr_vq cnr_half_longer(cnr_hu x)
{
	return (cnr_vq)_mm512_cvtepu32_epi64((__m256i)x);
}

/* Return: bytes as numbers of 32 bits */
static __always_inline cnr_vu cnr_bytes_longer(cnr_vb x)
{
	return (cnr_vu)_mm512_cvtepu8_epi32((__m128i)x);
}

/* And back */
static __always_inline cnr_vb cnr_bytes_of(cnr_vu x)
{
	return (cnr_vb)_mm512_cvtepi32_epi8((__m512i)x);
}

/* Return: numbers of up to 16 bits, as such */
static __always_inline cnr_vh cnr_narrow(cnr_vu x)
{
	return (cnr_vh)_mm512_cvtepi32_epi16((__m512i)x);
}

/* Return: numbers in the order of their places, after an operation on each quarter of vectors */
static __always_inline __m512i cnr_avx512_order(__m512i x)
{
	return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
}

static __always_inline cnr_v2h cnr_narrow_both(cnr_vu a, cnr_vu b)
{
	return (cnr_v2h)cnr_avx512_order(_mm512_packus_epi32((__m512i)a, (__m512i)b));
}

/* The same for numbers with a sign, each at most @most */
static __always_inline cnr_v2h cnr_pack(cnr_vs a, cnr_vs b, u32 most)
{
	__m512i x = cnr_avx512_order(_mm512_packs_epi32((__m512i)a, (__m512i)b));

	x = _mm512_min_epi16(x, _mm512_set1_epi16((short)most));
	return (cnr_v2h)_mm512_max_epi16(x, _mm512_set1_epi16((short)-most));
}

/* Return: the sign bits of @x */
static __always_inline u32 cnr_bits_of(cnr_vs x)
{
	return _mm512_movepi32_mask((__m512i)x);
}

/* Are there only zeros? */
static __always_inline bool cnr_none(cnr_vu x)
{
	return !_mm512_test_epi32_mask((__m512i)x, (__m512i)x);
}

/* Return: the first numbers at @of, each @group times: 4 or 8 */
static __always_inline cnr_vf cnr_spread(const float *of, const u32 group)
{
	const __m512i fours = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	const __m512i eights = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);

	return _mm512_permutexvar_ps(group == 4 ? fours : eights, _mm512_loadu_ps(of));
}

/* The same for doubles: 4 times */
static __always_inline cnr_vd cnr_spread_wide(const double *of, const u32 group)
{
	const __m512i fours = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);

	return _mm512_permutexvar_pd(fours, _mm512_loadu_pd(of));
}

/* Return: the even numbers of @a and then of @b, or the odd ones; of each quarter of them */
static __always_inline cnr_vu cnr_avx512_even(cnr_vu a, cnr_vu b)
{
	return (cnr_vu)_mm512_shuffle_ps((cnr_vf)a, (cnr_vf)b, 0x88);
}

static __always_inline cnr_vu cnr_avx512_odd(cnr_vu a, cnr_vu b)
{
	return (cnr_vu)_mm512_shuffle_ps((cnr_vf)a, (cnr_vf)b, 0xdd);
}

/* Return: the largest of each two numbers of @a and @b */
static __always_inline cnr_vu cnr_pairs(cnr_vu a, cnr_vu b)
{
	cnr_vu x = cnr_larger(cnr_avx512_even(a, b), cnr_avx512_odd(a, b));

	return (cnr_vu)cnr_avx512_order((__m512i)x);
}

/* Return: of each four numbers */
static __always_inline cnr_vu cnr_quads(cnr_vu a, cnr_vu b, cnr_vu c, cnr_vu d)
{
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13,
						2, 6, 10, 14, 3, 7, 11, 15);
	cnr_vu ab = cnr_larger(cnr_avx512_even(a, b), cnr_avx512_odd(a, b));
	cnr_vu cd = cnr_larger(cnr_avx512_even(c, d), cnr_avx512_odd(c, d));

	ab = cnr_larger(cnr_avx512_even(ab, cd), cnr_avx512_odd(ab, cd));
	return (cnr_vu)_mm512_permutexvar_epi32(order, (__m512i)ab);
}

/* Return: the upper halves of CNR_W numbers of 64 bits */
static __always_inline cnr_vu cnr_upper_halves(const u8 *from)
{
	const cnr_vu *x = (const cnr_vu *)from;

	return (cnr_vu)cnr_avx512_order((__m512i)cnr_avx512_odd(x[0], x[1]));
}

/* Of each three lanes, @low gets the first two, and the lower half of @high the third one. */
static __always_inline void cnr_threes_get(const u32 *lanes, cnr_vq *low, cnr_vq *high)
{
	const __m512i two = _mm512_setr_epi32(0, 1, 3, 4, 6, 7, 9, 10,
					      12, 13, 15, 16, 18, 19, 21, 22);
	const __m512i third = _mm512_setr_epi32(2, 2, 5, 5, 8, 8, 11, 11,
						14, 14, 17, 17, 20, 20, 23, 23);
	__m512i x = _mm512_loadu_si512(lanes);
	__m512i y = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(lanes + CNR_W)));

	*low = (cnr_vq)_mm512_permutex2var_epi32(x, two, y);
	*high = (cnr_vq)_mm512_permutex2var_epi32(x, third, y);
}

/* And back */
static __always_inline void cnr_threes_put(u32 *lanes, cnr_vq low, cnr_vq high)
{
	const __m512i first = _mm512_setr_epi32(0, 1, 16, 2, 3, 18, 4, 5,
						20, 6, 7, 22, 8, 9, 24, 10);
	const __m512i last = _mm512_setr_epi32(11, 26, 12, 13, 28, 14, 15, 30,
					       0, 0, 0, 0, 0, 0, 0, 0);
	__m512i x = _mm512_permutex2var_epi32((__m512i)low, first, (__m512i)high);
	__m512i y = _mm512_permutex2var_epi32((__m512i)low, last, (__m512i)high);

	_mm512_storeu_si512(lanes, x);
	_mm256_storeu_si256((__m256i *)(lanes + CNR_W), _mm512_castsi512_si256(y));
}

#include "float_vector.h"

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif /* with AVX-512 */
