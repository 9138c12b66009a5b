// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: float_vector.h for x86 processors with AVX2 and F16C.
 *
 * The kernel compiles this file with the vector unit (Kbuild). It has no <immintrin.h>. So this
 * calls what both compilers have built in.
 */
#define CNR_BYTES	32
#define CNR_NAME(what)	cnr_avx2_##what

#include "float_lanes.h"

#ifdef CNR_HAS_AVX2

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#define CNR_AVX2_MIN16(a, b)	__builtin_elementwise_min(a, b)
#define CNR_AVX2_MAX16(a, b)	__builtin_elementwise_max(a, b)
#define CNR_AVX2_MAX32(a, b)	__builtin_elementwise_max(a, b)
#define CNR_AVX2_LONGER8(x)	__builtin_convertvector(x, cnr_vu)
#define CNR_AVX2_LONGER16(x)	__builtin_convertvector(x, cnr_vu)
#define CNR_AVX2_LONGER32(x)	__builtin_convertvector(x, cnr_vq)
#else
#ifndef __KERNEL__
#pragma GCC target("avx2,f16c")
#endif
#define CNR_AVX2_MIN16(a, b)	__builtin_ia32_pminsw256(a, b)
#define CNR_AVX2_MAX16(a, b)	__builtin_ia32_pmaxsw256(a, b)
#define CNR_AVX2_MAX32(a, b)	__builtin_ia32_pmaxsd256(a, b)
#define CNR_AVX2_LONGER8(x)	__builtin_ia32_pmovzxbd256((cnr_v16b)(cnr_v2i){ (s64)(u64)(x), 0 })
#define CNR_AVX2_LONGER16(x)	__builtin_ia32_pmovzxwd256((cnr_v8h)(x))
#define CNR_AVX2_LONGER32(x)	__builtin_ia32_pmovzxdq256((cnr_v4h)(x))
#endif

#include "float_vectors.h"

/* As built-in functions want them */
typedef short cnr_v16i __attribute__((__vector_size__(32)));
typedef int cnr_v8i __attribute__((__vector_size__(32)));
typedef long long cnr_v4i __attribute__((__vector_size__(32)));
typedef short cnr_v8h __attribute__((__vector_size__(16)));
typedef int cnr_v4h __attribute__((__vector_size__(16)));
typedef char cnr_v16b __attribute__((__vector_size__(16)));
typedef long long cnr_v2i __attribute__((__vector_size__(16)));

/* Return: the numbers in the order of their places, after an operation on each half of vectors */
#define CNR_AVX2_ORDER(x)	__builtin_ia32_permdi256((cnr_v4i)(x), 0xd8)

/* Return: the even numbers of @a and then of @b, or the odd ones; of each half of them */
#define CNR_AVX2_EVEN(a, b)	((cnr_v8i)__builtin_ia32_shufps256((cnr_vf)(a), (cnr_vf)(b), 0x88))
#define CNR_AVX2_ODD(a, b)	((cnr_v8i)__builtin_ia32_shufps256((cnr_vf)(a), (cnr_vf)(b), 0xdd))

/* If @x is no number, it is @y that comes out. */
static __always_inline cnr_vf cnr_least(cnr_vf x, cnr_vf y)
{
	return __builtin_ia32_minps256(x, y);
}

static __always_inline cnr_vf cnr_most(cnr_vf x, cnr_vf y)
{
	return __builtin_ia32_maxps256(x, y);
}

static __always_inline cnr_vd cnr_least_wide(cnr_vd x, cnr_vd y)
{
	return __builtin_ia32_minpd256(x, y);
}

static __always_inline cnr_vd cnr_most_wide(cnr_vd x, cnr_vd y)
{
	return __builtin_ia32_maxpd256(x, y);
}

/* The numbers have less than 32 bits. */
static __always_inline cnr_vu cnr_larger(cnr_vu x, cnr_vu y)
{
	return (cnr_vu)CNR_AVX2_MAX32((cnr_v8i)x, (cnr_v8i)y);
}

/* Return: the integers that are nearest; of two, the even ones */
static __always_inline cnr_vs cnr_nearest(cnr_vf x)
{
	return (cnr_vs)__builtin_ia32_cvtps2dq256(x);
}

/*
 * The same for numbers of up to 2^63. The last bit of 2^84 is 2^32, and that of 2^52 is 1. So
 * adding these rounds, and the integers are in the last bits.
 */
static __always_inline cnr_vl cnr_nearest_wide(cnr_vd x)
{
	cnr_vd upper = x + 0x1.8p84;
	cnr_vd lower = x - (upper - 0x1.8p84) + 0x1.8p52;

	return (cnr_vl)(((cnr_vq)upper << 32) + ((cnr_vq)lower - 0x4338000000000000ULL));
}

/* Return: the doubles that are nearest to integers; see cnr_pair_of() */
static __always_inline cnr_vd cnr_from_long(cnr_vl x)
{
	cnr_vq upper = (cnr_vq)x >> 32 ^ 0x4530000080000000ULL;
	cnr_vq lower = ((cnr_vq)x & 0xffffffff) | 0x4330000000000000ULL;

	return (cnr_vd)upper - (0x1p84 + 0x1p63 + 0x1p52) + (cnr_vd)lower;
}

static __always_inline cnr_vf cnr_from_half(cnr_vh x)
{
	return __builtin_ia32_vcvtph2ps256((cnr_v8h)x);
}

static __always_inline cnr_vh cnr_to_half(cnr_vf x)
{
	return (cnr_vh)__builtin_ia32_vcvtps2ph256(x, 0);
}

/* Return: the numbers in twice as many bits */
static __always_inline cnr_vu cnr_longer(cnr_vh x)
{
	return (cnr_vu)CNR_AVX2_LONGER16(x);
}

static __always_inline cnr_vq cnr_half_longer(cnr_hu x)
{
	return (cnr_vq)CNR_AVX2_LONGER32(x);
}

/* Return: bytes as numbers of 32 bits */
static __always_inline cnr_vu cnr_bytes_longer(cnr_vb x)
{
	return (cnr_vu)CNR_AVX2_LONGER8(x);
}

/* And back */
static __always_inline cnr_vb cnr_bytes_of(cnr_vu x)
{
	return __builtin_convertvector(x, cnr_vb);
}

/* Return: numbers of up to 16 bits, as such */
static __always_inline cnr_vh cnr_narrow(cnr_vu x)
{
	union { cnr_v4i all; cnr_vh half[2]; } both;

	both.all = (cnr_v4i)__builtin_ia32_packusdw256((cnr_v8i)x, (cnr_v8i)x);
	both.all = CNR_AVX2_ORDER(both.all);
	return both.half[0];
}

static __always_inline cnr_v2h cnr_narrow_both(cnr_vu a, cnr_vu b)
{
	return (cnr_v2h)CNR_AVX2_ORDER(__builtin_ia32_packusdw256((cnr_v8i)a, (cnr_v8i)b));
}

/* The same for numbers with a sign, each at most @most */
static __always_inline cnr_v2h cnr_pack(cnr_vs a, cnr_vs b, u32 most)
{
	const cnr_v16i above = (cnr_v16i)cnr_vu_all(most << 16 | most);
	cnr_v16i x = (cnr_v16i)CNR_AVX2_ORDER(__builtin_ia32_packssdw256((cnr_v8i)a, (cnr_v8i)b));

	x = CNR_AVX2_MIN16(x, above);
	return (cnr_v2h)CNR_AVX2_MAX16(x, -above);
}

/* Return: the sign bits of @x */
static __always_inline u32 cnr_bits_of(cnr_vs x)
{
	return __builtin_ia32_movmskps256((cnr_vf)x);
}

/* Are there only zeros? */
static __always_inline bool cnr_none(cnr_vu x)
{
	return __builtin_ia32_ptestz256((cnr_v4i)x, (cnr_v4i)x);
}

/* Return: the first numbers at @of, each @group times: 4 */
static __always_inline cnr_vf cnr_spread(const float *of, const u32 group)
{
	const cnr_v8i order = { 0, 0, 0, 0, 1, 1, 1, 1 };

	return __builtin_ia32_permvarsf256(*(const cnr_vf *)of, order);
}

/* A vector has no more doubles than the smallest group. */
static __always_inline cnr_vd cnr_spread_wide(const double *of, const u32 group)
{
	return *(const cnr_vd *)of;
}

/* Return: the largest of each two numbers of @a and @b */
static __always_inline cnr_vu cnr_pairs(cnr_vu a, cnr_vu b)
{
	return (cnr_vu)CNR_AVX2_ORDER(CNR_AVX2_MAX32(CNR_AVX2_EVEN(a, b), CNR_AVX2_ODD(a, b)));
}

/* Return: of each four numbers */
static __always_inline cnr_vu cnr_quads(cnr_vu a, cnr_vu b, cnr_vu c, cnr_vu d)
{
	const cnr_v8i order = { 0, 4, 1, 5, 2, 6, 3, 7 };
	cnr_v8i ab = CNR_AVX2_MAX32(CNR_AVX2_EVEN(a, b), CNR_AVX2_ODD(a, b));
	cnr_v8i cd = CNR_AVX2_MAX32(CNR_AVX2_EVEN(c, d), CNR_AVX2_ODD(c, d));

	ab = CNR_AVX2_MAX32(CNR_AVX2_EVEN(ab, cd), CNR_AVX2_ODD(ab, cd));
	return (cnr_vu)__builtin_ia32_permvarsi256(ab, order);
}

/* Return: the upper halves of CNR_W numbers of 64 bits */
static __always_inline cnr_vu cnr_upper_halves(const u8 *from)
{
	const cnr_vu *x = (const cnr_vu *)from;

	return (cnr_vu)CNR_AVX2_ORDER(CNR_AVX2_ODD(x[0], x[1]));
}

/* Of each three lanes, @low gets the first two, and the lower half of @high the third one. */
static __always_inline void cnr_threes_get(const u32 *lanes, cnr_vq *low, cnr_vq *high)
{
	typedef u64 two __attribute__((__aligned__(1), __may_alias__));
	u32 i;

#pragma GCC unroll 4
	for (i = 0; i < CNR_D; i++) {
		(*low)[i] = *(const two *)(lanes + 3 * i);
		(*high)[i] = *(const two *)(lanes + 3 * i + 2);
	}
}

/* And back. What is behind the last lane is overwritten. */
static __always_inline void cnr_threes_put(u32 *lanes, cnr_vq low, cnr_vq high)
{
	typedef u64 two __attribute__((__aligned__(1), __may_alias__));
	u32 i;

#pragma GCC unroll 4
	for (i = 0; i < CNR_D; i++) {
		*(two *)(lanes + 3 * i) = low[i];
		*(two *)(lanes + 3 * i + 2) = high[i];
	}
}

#include "float_vector.h"

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif /* with AVX2 */
