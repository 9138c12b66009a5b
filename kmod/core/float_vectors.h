/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: vectors of CNR_BYTES bytes. Part of float_avx2.c and others, see float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_VECTORS_H
#define CANARY_CORE_FLOAT_VECTORS_H

#include "float_lanes.h"

#define CNR_W	(CNR_BYTES / 4)		/* numbers of 32 bits in a vector */
#define CNR_D	(CNR_BYTES / 8)		/* of 64 bits */

/* They may be anywhere in memory. */
#define CNR_VECTOR(bytes)								\
	__attribute__((__vector_size__(bytes), __aligned__(1), __may_alias__))

typedef float cnr_vf CNR_VECTOR(CNR_BYTES);
typedef s32 cnr_vs CNR_VECTOR(CNR_BYTES);
typedef u32 cnr_vu CNR_VECTOR(CNR_BYTES);
typedef double cnr_vd CNR_VECTOR(CNR_BYTES);
typedef s64 cnr_vl CNR_VECTOR(CNR_BYTES);
typedef u64 cnr_vq CNR_VECTOR(CNR_BYTES);
typedef u16 cnr_v2h CNR_VECTOR(CNR_BYTES);

/* Half as long: CNR_W numbers of 16 bits, or CNR_D of 32 */
typedef u16 cnr_vh CNR_VECTOR(CNR_BYTES / 2);
typedef float cnr_hf CNR_VECTOR(CNR_BYTES / 2);
typedef s32 cnr_hs CNR_VECTOR(CNR_BYTES / 2);
typedef u32 cnr_hu CNR_VECTOR(CNR_BYTES / 2);

/* CNR_W bytes */
typedef u8 cnr_vb CNR_VECTOR(CNR_BYTES / 4);

static __always_inline cnr_vf cnr_vf_all(float x)
{
	return x - (cnr_vf){ 0 };
}

static __always_inline cnr_vd cnr_vd_all(double x)
{
	return x - (cnr_vd){ 0 };
}

static __always_inline cnr_vu cnr_vu_all(u32 x)
{
	return x - (cnr_vu){ 0 };
}

#endif /* CANARY_CORE_FLOAT_VECTORS_H */
