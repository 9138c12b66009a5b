/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The data of a block, between frame and descriptor: words of 32 bits. This copies them; combine.h
 * combines them.
 *
 * Incoming data are summed at the same time, and must have the sum that their header says. The
 * leader checks sums, too. But it checks the sum of all data, where errors of two damaged packets
 * may cancel. And the first switch that finds damage can tell on which link it happened.
 */
#ifndef CANARY_BPF_LIB_DATA_H
#define CANARY_BPF_LIB_DATA_H

/* Words between two checks for the end of the frame: first CSW_STRIDE, then CSW_STEP */
#define CSW_STRIDE	32
#define CSW_STEP	CANARY_REDUCE_UNROLL
#define CSW_WORDS_MAX	(CANARY_PAYLOAD_MAX / 4)

/*
 * Sums of the words of the frame's data, as they came (@in) and as they leave (@out). The low 32
 * bits are CANARY_CHECK_SUM. All 64 bits make the UDP checksum (checksum.h).
 */
struct csw_sums {
	__u64 in;
	__u64 out;
};

/*
 * ---- @n words of descriptor and frame; all arguments but the pointers are constants ---- (An
 * ordinary program does this with vectors.)
 */

/*
 * Add two words at a time. One chain of additions as long as the block would take longer than
 * everything else.
 */
static __always_inline void csw_sum_two(__u64 *sum, __u64 one, __u64 two)
{
	__u64 so_far = *sum;

	one += two;
	CSW_OPAQUE(one);
	so_far += one;
	/* Without this, clang adds up everything at the end, from the stack. */
	CSW_OPAQUE(so_far);
	*sum = so_far;
}

static __always_inline void csw_sum(__u64 *sum, const __u32 *data, __u32 n)
{
	__u32 i;

#if defined(CANARY_REDUCE_VECTOR) && defined(CSW_NO_CHECKSUMS)
	*sum += canary_checksum_as(CANARY_CHECK_SUM, data, n);
	return;
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2)
		csw_sum_two(sum, data[i], data[i + 1]);
	if (n == 1)
		*sum += *data;
}

/* Sum data that leave, for the UDP checksum. */
static __always_inline void csw_sum_out(struct csw_sums *s, const __u32 *data, __u32 n)
{
#ifndef CSW_NO_CHECKSUMS
	csw_sum(&s->out, data, n);
#endif
}

static __always_inline void csw_look(__u32 *acc, __u32 *frame, __u32 n, struct csw_sums *s)
{
	csw_sum(&s->in, frame, n);
}

static __always_inline void csw_copy_in(__u32 *acc, __u32 *frame, __u32 n, struct csw_sums *s)
{
	__u32 i, one, two;

#ifdef CANARY_REDUCE_VECTOR
	memcpy(acc, frame, n * sizeof(*acc));
	csw_sum(&s->in, frame, n);
	return;
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2) {
		one = frame[i];
		two = frame[i + 1];
		acc[i] = one;
		acc[i + 1] = two;
		csw_sum_two(&s->in, one, two);
	}
	if (n == 1) {
		*acc = *frame;
		s->in += *frame;
	}
}

static __always_inline void csw_copy_out(__u32 *acc, __u32 *frame, __u32 n, struct csw_sums *s)
{
	__u32 i;

	CSW_UNROLL
	for (i = 0; i < n / 2; i++)
		((__u64 *)frame)[i] = ((__u64 *)acc)[i];
	if (n == 1)
		*frame = *acc;
	csw_sum_out(s, acc, n);
}

/* ---- a whole block ---- */

/*
 * Call @each for @times pieces (at most @most) of @n words, beginning with word @from. Go to
 * @cut_short if the frame has fewer.
 */
#define CSW_WALK(ctx, d, from, n, times, most, each, sums, cut_short) do {		\
	__u32 *acc = (d)->data + (from);						\
	__u32 *frame = (__u32 *)(csw_data(ctx) + CSW_OFF_DATA) + (from);		\
	__u32 left = (times), i;							\
											\
	CSW_LOOP									\
	for (i = 0; i < (most) && i < left; i++) {					\
		if ((void *)(frame + (n)) > csw_end(ctx))				\
			goto cut_short;							\
		each(acc, frame, n, sums);						\
		acc += (n);								\
		frame += (n);								\
	}										\
} while (0)

/*
 * The same for all words: in strides, then the rest in steps, then the rest one by one. The start
 * of each loop is opaque to clang. Otherwise clang derives it from the loop before, and the
 * verifier follows each end of that loop through this one.
 */
#define CSW_WALK_ALL(ctx, d, each, sums, cut_short) do {				\
	__u32 words, whole;								\
											\
	if (!(d))									\
		goto cut_short;								\
	words = (d)->length / 4;							\
	CSW_WALK(ctx, d, 0, CSW_STRIDE, words / CSW_STRIDE,				\
		 CSW_WORDS_MAX / CSW_STRIDE, each, sums, cut_short);			\
	whole = words & ~(CSW_STRIDE - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole == words || whole > CSW_WORDS_MAX - CSW_STRIDE)			\
		break;									\
	CSW_WALK(ctx, d, whole, CSW_STEP, words % CSW_STRIDE / CSW_STEP,		\
		 CSW_STRIDE / CSW_STEP - 1, each, sums, cut_short);			\
	whole = words & ~(CSW_STEP - 1U);						\
	CSW_OPAQUE(whole);								\
	if (whole > CSW_WORDS_MAX - CSW_STEP)						\
		break;									\
	CSW_WALK(ctx, d, whole, 1, words % CSW_STEP, CSW_STEP - 1, each, sums, cut_short); \
} while (0)

enum csw_data_is {
	CSW_DATA_GOOD,
	CSW_DATA_DAMAGED,	/* not what the header says */
	CSW_DATA_CHECKSUM,	/* the UDP checksum is wrong */
	CSW_DATA_SHORT,		/* never happens, but the verifier needs it */
	CSW_DATA_FULL,		/* a list that does not fit beside what is there */
};

static __always_inline enum canary_drop csw_data_drop(int is)
{
	return is == CSW_DATA_CHECKSUM ? CANARY_DROP_CHECKSUM : CANARY_DROP_SUM;
}

/* Do the words that came, which add up to @sum, fit the checksum in their header, and UDP's? */
static __always_inline int csw_compare_sum(csw_xdp *ctx, __u64 sum)
{
	__u32 headers = csw_headers(ctx);
	struct csw_packet p;

	if (csw_packet_at(ctx, &p))
		return CSW_DATA_SHORT;
	if ((__u32)sum != cnr_be32(p.h->contribution.sum))
		return CSW_DATA_DAMAGED;
	return csw_check_ok(&p, headers, sum) ? CSW_DATA_GOOD : CSW_DATA_CHECKSUM;
}

/* The verifier checks each CSW_FUNC once, as a function. */

/* Copy the frame's data to the descriptor. */
CSW_FUNC int csw_data_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	struct csw_sums s = {};

	CSW_WALK_ALL(ctx, d, csw_copy_in, &s, cut_short);
	return csw_compare_sum(ctx, s.in);
cut_short:
	return CSW_DATA_SHORT;
}

/*
 * The data of @d leave, and their words add up to @out. If the checksum is linear, that of
 * @d is right already: it follows from those that came. UDP's does not.
 */
static __always_inline void csw_data_leave(struct csw_descriptor *d, __u64 out)
{
	d->out = out;
	if (!(canary_kind_flags(d->kind) & CANARY_K_LINEAR))
		d->sum = out;
}

/* Copy the descriptor's data to the frame. */
CSW_FUNC int csw_data_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	struct csw_sums s = {};

	CSW_WALK_ALL(ctx, d, csw_copy_out, &s, cut_short);
#ifdef CSW_NO_CHECKSUMS
	if (!(canary_kind_flags(d->kind) & CANARY_K_LINEAR))
		s.out = canary_checksum(d->kind, d->data, d->length / 4);
#endif
	csw_data_leave(d, s.out);
	return CSW_DATA_GOOD;
cut_short:
	return CSW_DATA_SHORT;
}

#endif /* CANARY_BPF_LIB_DATA_H */
