/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The elements of a block between frame and descriptor. Each is a function that the verifier
 * checks once. All return -1 if the frame is shorter than the descriptor says, which csw_classify
 * and csw_resize have excluded; the verifier does not know.
 */
#ifndef CANARY_BPF_LIB_DATA_H
#define CANARY_BPF_LIB_DATA_H

/* Elements between two looks at the end of the frame, and later of those that are left */
#define CSW_STRIDE	32
#define CSW_STEP	CANARY_REDUCE_UNROLL

static __always_inline void csw_copy_some(__u32 *to, const __u32 *from, __u32 n)
{
	__u64 *t = (__u64 *)to;
	const __u64 *f = (const __u64 *)from;
	__u32 i;

	CSW_UNROLL
	for (i = 0; i < n / 2; i++)
		t[i] = f[i];
}

static __always_inline void csw_add_some(__u32 *to, const __u32 *from, __u32 n)
{
	__u32 i;

	CSW_UNROLL
	for (i = 0; i < n; i += CSW_STEP)
		canary_reduce_sum32(to + i, from + i, CSW_STEP);
}

/* @times times (at most @most) @n elements of descriptor and frame, beginning with number @from */
#define CSW_WALK(ctx, d, from, n, times, most, operation) do {				\
	__u32 *acc = (d)->data + (from);						\
	__u32 *frame = (__u32 *)(csw_data(ctx) + CSW_OFF_DATA) + (from);		\
	__u32 left = (times), i;							\
											\
	CSW_LOOP									\
	for (i = 0; i < (most) && i < left; i++) {					\
		if ((void *)(frame + (n)) > csw_end(ctx))				\
			return -1;							\
		operation;								\
		acc += (n);								\
		frame += (n);								\
	}										\
} while (0)

/*
 * All elements: strides, then what is left in steps, then one by one. Where a loop begins is
 * opaque to clang: derived from the one before, it would have the verifier follow each way out
 * of that one through this.
 */
#define CSW_WALK_ALL(ctx, d, stride, step, single) do {					\
	__u32 elements, whole;								\
											\
	if (!(d))									\
		return -1;								\
	elements = (d)->elements;							\
	CSW_WALK(ctx, d, 0, CSW_STRIDE, elements / CSW_STRIDE,				\
		 CANARY_ELEMENTS_MAX / CSW_STRIDE, stride);				\
	whole = elements & ~(CSW_STRIDE - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole == elements || whole > CANARY_ELEMENTS_MAX - CSW_STRIDE)		\
		return 0;								\
	CSW_WALK(ctx, d, whole, CSW_STEP, elements % CSW_STRIDE / CSW_STEP,		\
		 CSW_STRIDE / CSW_STEP - 1, step);					\
	whole = elements & ~(CSW_STEP - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole > CANARY_ELEMENTS_MAX - CSW_STEP)					\
		return 0;								\
	CSW_WALK(ctx, d, whole, 1, elements % CSW_STEP, CSW_STEP - 1, single);		\
	return 0;									\
} while (0)

/* The descriptor's data become those of the frame. */
CSW_FUNC int csw_data_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK_ALL(ctx, d, csw_copy_some(acc, frame, CSW_STRIDE),
		     csw_copy_some(acc, frame, CSW_STEP), *acc = *frame);
}

/* The frame's data become those of the descriptor. */
CSW_FUNC int csw_data_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK_ALL(ctx, d, csw_copy_some(frame, acc, CSW_STRIDE),
		     csw_copy_some(frame, acc, CSW_STEP), *frame = *acc);
}

/* Add the frame's data to the descriptor. Not a function: most packets come just here. */
static __always_inline int csw_data_add_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK_ALL(ctx, d, csw_add_some(acc, frame, CSW_STRIDE),
		     csw_add_some(acc, frame, CSW_STEP), *acc += *frame);
}

/* Add the descriptor's data to the frame, which carries the sum away at once. */
CSW_FUNC int csw_data_add_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK_ALL(ctx, d, csw_add_some(frame, acc, CSW_STRIDE),
		     csw_add_some(frame, acc, CSW_STEP), *frame += *acc);
}

#endif /* CANARY_BPF_LIB_DATA_H */
