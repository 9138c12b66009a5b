/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The elements of a block between frame and descriptor. Each is a function that the verifier
 * checks once. All return -1 if the frame is shorter than the descriptor says, which csw_classify
 * and csw_resize have excluded; the verifier does not know.
 */
#ifndef CANARY_BPF_LIB_DATA_H
#define CANARY_BPF_LIB_DATA_H

#define CSW_STEP	CANARY_REDUCE_UNROLL	/* elements between two looks at the end */

static __always_inline void csw_copy_step(__u32 *to, const __u32 *from)
{
	__u64 *t = (__u64 *)to;
	const __u64 *f = (const __u64 *)from;

	t[0] = f[0];
	t[1] = f[1];
	t[2] = f[2];
	t[3] = f[3];
}

static __always_inline void csw_add_step(__u32 *to, const __u32 *from)
{
	canary_reduce_sum32(to, from, CSW_STEP);
}

/*
 * Walk over the elements of frame and descriptor: whole steps, then what is left. A macro
 * because the two sides change roles. What is left is reached without what the loop has
 * computed, so that the verifier need not follow each way out of the loop to the end.
 */
#define CSW_WALK(ctx, d, step, single) do {						\
	__u32 *data = csw_data(ctx) + CSW_OFF_DATA;					\
	void *end = csw_end(ctx);							\
	__u32 *acc, *frame;								\
	__u32 steps, rest, i;								\
											\
	if (!(d))									\
		return -1;								\
	steps = (d)->elements / CSW_STEP;						\
	CSW_LOOP									\
	for (i = 0; i < CANARY_ELEMENTS_MAX / CSW_STEP && i < steps; i++) {		\
		acc = (d)->data + i * CSW_STEP;						\
		frame = data + i * CSW_STEP;						\
		if ((void *)(frame + CSW_STEP) > end)					\
			return -1;							\
		step;									\
	}										\
	rest = (d)->elements % CSW_STEP;						\
	steps *= CSW_STEP;								\
	CSW_OPAQUE(steps);								\
	if (!rest || steps > CANARY_ELEMENTS_MAX - CSW_STEP)				\
		return 0;								\
	acc = (d)->data + steps;							\
	frame = data + steps;								\
	CSW_LOOP									\
	for (i = 0; i < CSW_STEP && i < rest; i++, acc++, frame++) {			\
		if ((void *)(frame + 1) > end)						\
			return -1;							\
		single;									\
	}										\
	return 0;									\
} while (0)

/* The descriptor's data become those of the frame. */
CSW_FUNC int csw_data_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK(ctx, d, csw_copy_step(acc, frame), *acc = *frame);
}

/* The frame's data become those of the descriptor. */
CSW_FUNC int csw_data_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK(ctx, d, csw_copy_step(frame, acc), *frame = *acc);
}

/* Add the frame's data to the descriptor. */
CSW_FUNC int csw_data_add_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK(ctx, d, csw_add_step(acc, frame), *acc += *frame);
}

/* Add the descriptor's data to the frame, which carries the sum away at once. */
CSW_FUNC int csw_data_add_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	CSW_WALK(ctx, d, csw_add_step(frame, acc), *frame += *acc);
}

#endif /* CANARY_BPF_LIB_DATA_H */
