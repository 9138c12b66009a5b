// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Layer 4, blocks: float_vector.h for arm64 processors, in user space. All of them have NEON. */
#define CNR_BYTES	16
#define CNR_NAME(what)	cnr_neon_##what

#include "float_lanes.h"

#ifdef CNR_HAS_NEON

#include <arm_neon.h>
#include "float_vectors.h"

/* If @x is no number, it stays what it is. Then it becomes the integer 0. */
static __always_inline cnr_vf cnr_least(cnr_vf x, cnr_vf y)
{
	return vminq_f32(x, y);
}

static __always_inline cnr_vf cnr_most(cnr_vf x, cnr_vf y)
{
	return vmaxq_f32(x, y);
}

static __always_inline cnr_vd cnr_least_wide(cnr_vd x, cnr_vd y)
{
	return vminq_f64(x, y);
}

static __always_inline cnr_vd cnr_most_wide(cnr_vd x, cnr_vd y)
{
	return vmaxq_f64(x, y);
}

static __always_inline cnr_vu cnr_larger(cnr_vu x, cnr_vu y)
{
	return vmaxq_u32(x, y);
}

/* Return: the integers that are nearest; of two, the even ones */
static __always_inline cnr_vs cnr_nearest(cnr_vf x)
{
	return vcvtnq_s32_f32(x);
}

static __always_inline cnr_vl cnr_nearest_wide(cnr_vd x)
{
	return vcvtnq_s64_f64(x);
}

/* Return: the doubles that are nearest to integers */
static __always_inline cnr_vd cnr_from_long(cnr_vl x)
{
	return vcvtq_f64_s64(x);
}

static __always_inline cnr_vf cnr_from_half(cnr_vh x)
{
	return vcvt_f32_f16((float16x4_t)x);
}

static __always_inline cnr_vh cnr_to_half(cnr_vf x)
{
	return (cnr_vh)vcvt_f16_f32(x);
}

/* Return: the numbers in twice as many bits */
static __always_inline cnr_vu cnr_longer(cnr_vh x)
{
	return vmovl_u16(x);
}

static __always_inline cnr_vq cnr_half_longer(cnr_hu x)
{
	return vmovl_u32(x);
}

/* Return: bytes as numbers of 32 bits */
static __always_inline cnr_vu cnr_bytes_longer(cnr_vb x)
{
	return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8((u32)x))));
}

/* And back */
static __always_inline cnr_vb cnr_bytes_of(cnr_vu x)
{
	const uint16x4_t half = vmovn_u32(x);

	return (cnr_vb)vget_lane_u32((uint32x2_t)vmovn_u16(vcombine_u16(half, half)), 0);
}

/* Return: numbers of up to 16 bits, as such */
static __always_inline cnr_vh cnr_narrow(cnr_vu x)
{
	return vmovn_u32(x);
}

static __always_inline cnr_v2h cnr_narrow_both(cnr_vu a, cnr_vu b)
{
	return vmovn_high_u32(vmovn_u32(a), b);
}

/* The same for numbers with a sign, each at most @most */
static __always_inline cnr_v2h cnr_pack(cnr_vs a, cnr_vs b, u32 most)
{
	int16x8_t x = vqmovn_high_s32(vqmovn_s32(a), b);

	x = vminq_s16(x, vdupq_n_s16((short)most));
	return (cnr_v2h)vmaxq_s16(x, vdupq_n_s16((short)-most));
}

/* Return: the sign bits of @x, which has all or none of each number */
static __always_inline u32 cnr_bits_of(cnr_vs x)
{
	const cnr_vu bits = { 1, 2, 4, 8 };

	return vaddvq_u32((cnr_vu)x & bits);
}

/* Are there only zeros? */
static __always_inline bool cnr_none(cnr_vu x)
{
	return !vmaxvq_u32(x);
}

/* A vector has no more numbers than the smallest group. */
static __always_inline cnr_vf cnr_spread(const float *of, const u32 group)
{
	return *(const cnr_vf *)of;
}

static __always_inline cnr_vd cnr_spread_wide(const double *of, const u32 group)
{
	return *(const cnr_vd *)of;
}

/* Return: the largest of each two numbers of @a and @b */
static __always_inline cnr_vu cnr_pairs(cnr_vu a, cnr_vu b)
{
	return vpmaxq_u32(a, b);
}

/* Return: of each four numbers */
static __always_inline cnr_vu cnr_quads(cnr_vu a, cnr_vu b, cnr_vu c, cnr_vu d)
{
	return vpmaxq_u32(vpmaxq_u32(a, b), vpmaxq_u32(c, d));
}

/* Return: the upper halves of CNR_W numbers of 64 bits */
static __always_inline cnr_vu cnr_upper_halves(const u8 *from)
{
	const cnr_vu *x = (const cnr_vu *)from;

	return vuzp2q_u32(x[0], x[1]);
}

/* Of each three lanes, @low gets the first two, and the lower half of @high the third one. */
static __always_inline void cnr_threes_get(const u32 *lanes, cnr_vq *low, cnr_vq *high)
{
	*low = (cnr_vq)vcombine_u32(vld1_u32(lanes), vld1_u32(lanes + 3));
	*high = (cnr_vq)vcombine_u32(vld1_u32(lanes + 2), vld1_u32(lanes + 5));
}

/* And back. What is behind the last lane is overwritten. */
static __always_inline void cnr_threes_put(u32 *lanes, cnr_vq low, cnr_vq high)
{
	vst1_u32(lanes, vget_low_u32((cnr_vu)low));
	vst1_u32(lanes + 2, vget_low_u32((cnr_vu)high));
	vst1_u32(lanes + 3, vget_high_u32((cnr_vu)low));
	vst1_u32(lanes + 5, vget_high_u32((cnr_vu)high));
}

#include "float_vector.h"

#endif /* with NEON */
