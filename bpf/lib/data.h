/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The elements of a block between frame and descriptor.
 *
 * What comes in is summed at the same time, and has to be what its header says. The leader checks
 * sums, too, but of what all have added, where two damaged packets may make up for each other;
 * and whoever finds out first can tell on which link it happened.
 */
#ifndef CANARY_BPF_LIB_DATA_H
#define CANARY_BPF_LIB_DATA_H

/* Elements between two looks at the end of the frame, and later of those that are left */
#define CSW_STRIDE	32
#define CSW_STEP	CANARY_REDUCE_UNROLL

/*
 * ---- of @n elements of descriptor and frame; return: the sum of the frame's ----
 * (With vectors where this runs as an ordinary program.)
 */

static __always_inline __u32 csw_copy_in(__u32 *acc, __u32 *frame, __u32 n)
{
	__u32 i, sum = 0;

#ifdef CANARY_REDUCE_VECTOR
	memcpy(acc, frame, n * sizeof(*acc));
	return canary_checksum(frame, n);
#endif
	CSW_UNROLL
	for (i = 0; i < n; i++) {
		acc[i] = frame[i];
		sum += frame[i];
	}
	return sum;
}

static __always_inline __u32 csw_copy_out(__u32 *acc, __u32 *frame, __u32 n)
{
	__u32 i;

	CSW_UNROLL
	for (i = 0; i < n / 2; i++)
		((__u64 *)frame)[i] = ((__u64 *)acc)[i];
	if (n == 1)
		*frame = *acc;
	return 0;
}

/* Two at a time: a chain of additions as long as the block would take longer than all the rest. */
static __always_inline __u32 csw_add_in(__u32 *acc, __u32 *frame, __u32 n)
{
	__u32 i, one, two, sum = 0;

#ifdef CANARY_REDUCE_VECTOR
	if (n > 1) {
		canary_reduce_sum32(acc, frame, n);
		return canary_checksum(frame, n);
	}
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2) {
		one = frame[i];
		two = frame[i + 1];
		acc[i] += one;
		acc[i + 1] += two;
		one += two;
		CSW_OPAQUE(one);
		sum += one;
	}
	if (n == 1) {
		sum = *frame;
		*acc += sum;
	}
	return sum;
}

static __always_inline __u32 csw_add_out(__u32 *acc, __u32 *frame, __u32 n)
{
	__u32 i, one, two, sum = 0;

#ifdef CANARY_REDUCE_VECTOR
	if (n > 1) {
		sum = canary_checksum(frame, n);
		canary_reduce_sum32(frame, acc, n);
		return sum;
	}
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2) {
		one = frame[i];
		two = frame[i + 1];
		frame[i] = acc[i] + one;
		frame[i + 1] = acc[i + 1] + two;
		one += two;
		CSW_OPAQUE(one);
		sum += one;
	}
	if (n == 1) {
		sum = *frame;
		*frame += *acc;
	}
	return sum;
}

static __always_inline __u32 csw_take_back(__u32 *acc, __u32 *frame, __u32 n)
{
	__u32 i;

	CSW_UNROLL
	for (i = 0; i < n; i++)
		acc[i] -= frame[i];
	return 0;
}

/* ---- of a whole block ---- */

/*
 * @sum += @each of @times times (at most @most) @n elements, beginning with number @from. Go to
 * @cut_short if the frame has fewer.
 */
#define CSW_WALK(ctx, d, from, n, times, most, each, sum, cut_short) do {		\
	__u32 *acc = (d)->data + (from);						\
	__u32 *frame = (__u32 *)(csw_data(ctx) + CSW_OFF_DATA) + (from);		\
	__u32 left = (times), i;							\
											\
	CSW_LOOP									\
	for (i = 0; i < (most) && i < left; i++) {					\
		if ((void *)(frame + (n)) > csw_end(ctx))				\
			goto cut_short;							\
		(sum) += each(acc, frame, n);						\
		acc += (n);								\
		frame += (n);								\
	}										\
} while (0)

/*
 * The same for all elements: strides, then what is left in steps, then one by one. Where a loop
 * begins is opaque to clang: derived from the one before, it would have the verifier follow each
 * way out of that one through this.
 */
#define CSW_WALK_ALL(ctx, d, each, sum, cut_short) do {					\
	__u32 elements, whole;								\
											\
	if (!(d))									\
		goto cut_short;								\
	elements = (d)->elements;							\
	CSW_WALK(ctx, d, 0, CSW_STRIDE, elements / CSW_STRIDE,				\
		 CANARY_ELEMENTS_MAX / CSW_STRIDE, each, sum, cut_short);		\
	whole = elements & ~(CSW_STRIDE - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole == elements || whole > CANARY_ELEMENTS_MAX - CSW_STRIDE)		\
		break;									\
	CSW_WALK(ctx, d, whole, CSW_STEP, elements % CSW_STRIDE / CSW_STEP,		\
		 CSW_STRIDE / CSW_STEP - 1, each, sum, cut_short);			\
	whole = elements & ~(CSW_STEP - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole > CANARY_ELEMENTS_MAX - CSW_STEP)					\
		break;									\
	CSW_WALK(ctx, d, whole, 1, elements % CSW_STEP, CSW_STEP - 1, each, sum, cut_short);	\
} while (0)

/* Each is a function that the verifier checks once. */
enum csw_data_is {
	CSW_DATA_GOOD,
	CSW_DATA_DAMAGED,	/* not what the header says; done nevertheless */
	CSW_DATA_SHORT,		/* excluded before; the verifier has to see it */
};

static __always_inline int csw_compare_sum(csw_xdp *ctx, __u32 sum)
{
	void *data = csw_data(ctx);
	const struct canary_hdr *h = data + CSW_OFF_DATA - sizeof(*h);

	if (data + CSW_OFF_DATA > csw_end(ctx))
		return CSW_DATA_SHORT;
	return sum == cnr_be32(h->contribution.sum) ? CSW_DATA_GOOD : CSW_DATA_DAMAGED;
}

/* The frame's data become those of the descriptor. */
CSW_FUNC int csw_data_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	__u32 sum = 0;

	CSW_WALK_ALL(ctx, d, csw_copy_in, sum, cut_short);
	return csw_compare_sum(ctx, sum);
cut_short:
	return CSW_DATA_SHORT;
}

/* The descriptor's data become those of the frame. */
CSW_FUNC int csw_data_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	__u32 sum = 0;

	CSW_WALK_ALL(ctx, d, csw_copy_out, sum, cut_short);
	return CSW_DATA_GOOD;
cut_short:
	return CSW_DATA_SHORT;
}

/* Add the frame's data to the descriptor. Not a function: most packets come just here. */
static __always_inline int csw_data_add_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	__u32 sum = 0;

	CSW_WALK_ALL(ctx, d, csw_add_in, sum, cut_short);
	return csw_compare_sum(ctx, sum);
cut_short:
	return CSW_DATA_SHORT;
}

/* Add the descriptor's data to the frame, which carries the sum away at once. */
CSW_FUNC int csw_data_add_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	__u32 sum = 0;

	CSW_WALK_ALL(ctx, d, csw_add_out, sum, cut_short);
	return csw_compare_sum(ctx, sum);
cut_short:
	return CSW_DATA_SHORT;
}

/* Undo csw_data_add_in(). */
CSW_FUNC int csw_data_take_back(csw_xdp *ctx, struct csw_descriptor *d)
{
	__u32 sum = 0;

	CSW_WALK_ALL(ctx, d, csw_take_back, sum, cut_short);
	return CSW_DATA_GOOD;
cut_short:
	return CSW_DATA_SHORT;
}

#endif /* CANARY_BPF_LIB_DATA_H */
