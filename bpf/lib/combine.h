/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How data are combined, as their kind says (kmod/kinds.h).
 *
 * Sums of 32-bit words, the most frequent kind, are inline where most packets come by. The verifier
 * would not take that for all kinds. So other kinds have one function, which it checks once: it
 * combines one stride, and is called for each. It takes two words at a time, whatever lanes are in
 * them.
 */
#ifndef CANARY_BPF_LIB_COMBINE_H
#define CANARY_BPF_LIB_COMBINE_H

/* ---- sums of 32-bit words ---- */

static __always_inline void csw_add_in(__u32 *acc, __u32 *frame, __u32 n, struct csw_sums *s)
{
	__u32 i, one, two;

#ifdef CANARY_REDUCE_VECTOR
	if (n > 1) {
		canary_combine_into(CANARY_KIND_ADD32, acc, frame, n);
		csw_sum(&s->in, frame, n);
		return;
	}
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2) {
		one = frame[i];
		two = frame[i + 1];
		acc[i] += one;
		acc[i + 1] += two;
		csw_sum_two(&s->in, one, two);
	}
	if (n == 1) {
		one = *frame;
		*acc += one;
		s->in += one;
	}
}

static __always_inline void csw_add_out(__u32 *acc, __u32 *frame, __u32 n, struct csw_sums *s)
{
	__u32 i, one, two;

#ifdef CANARY_REDUCE_VECTOR
	if (n > 1) {
		csw_sum(&s->in, frame, n);
		canary_combine_into(CANARY_KIND_ADD32, frame, acc, n);
		csw_sum_out(s, frame, n);
		return;
	}
#endif
	CSW_UNROLL
	for (i = 0; i + 2 <= n; i += 2) {
		one = frame[i];
		two = frame[i + 1];
		frame[i] = one + acc[i];
		frame[i + 1] = two + acc[i + 1];
		csw_sum_two(&s->in, one, two);
	}
	if (n == 1) {
		one = *frame;
		*frame = one + *acc;
		s->in += one;
	}
	csw_sum_out(s, frame, n);
}

/* ---- any words, by their kind ---- */

enum csw_lanes_do {
	CSW_LANES_LOOK,		/* only sum the words that come */
	CSW_LANES_IN,		/* combine into the descriptor */
	CSW_LANES_OUT,		/* combine into the frame */
	CSW_LANES_BACK,		/* undo CSW_LANES_IN */
};

/* @n words, 2 or 1. One word is the lower half. */
static __always_inline __u64 csw_get_two(const __u32 *word, __u32 n)
{
	return n == 2 ? *(const __u64 *)word : *word;
}

static __always_inline void csw_put_two(__u32 *word, __u32 n, __u64 two)
{
	if (n == 2)
		*(__u64 *)word = two;
	else
		*word = two;
}

/*
 * Two sums of 32-bit words, of which two come at a time. This takes fewer instructions than to take
 * each pair apart: the lower halves follow from @both, which may overflow, and @upper.
 */
struct csw_halves {
	__u64 both;
	__u64 upper;
};

static __always_inline void csw_sum_halves(struct csw_halves *h, __u64 two)
{
	__u64 both = h->both + two, upper = h->upper + (two >> 32);

	/* as in csw_sum_two() */
	CSW_OPAQUE(both);
	CSW_OPAQUE(upper);
	h->both = both;
	h->upper = upper;
}

static __always_inline __u64 csw_sum_of(const struct csw_halves *h)
{
	return h->both - (h->upper << 32) + h->upper;
}

struct csw_lanes_sums {
	struct csw_halves in, out;
};

/*
 * @kind, @what and @n are constants here and below: the compiler keeps only the code for them. What
 * cannot be undone was summed before it is combined.
 */
static __always_inline void csw_lanes_two(__u8 kind, enum csw_lanes_do what, __u32 *acc,
					  __u32 *frame, __u32 n, struct csw_lanes_sums *s)
{
	bool undone = canary_kind_flags(kind) & CANARY_K_UNDONE;
	__u64 more = csw_get_two(frame, n), both;

	if (what == CSW_LANES_LOOK || what == CSW_LANES_OUT || (what == CSW_LANES_IN && undone))
		csw_sum_halves(&s->in, more);
	switch (what) {
	case CSW_LANES_LOOK:
		break;
	case CSW_LANES_IN:
		csw_put_two(acc, n, canary_combine_64(kind, csw_get_two(acc, n), more));
		break;
	case CSW_LANES_OUT:
		both = canary_combine_64(kind, csw_get_two(acc, n), more);
		csw_put_two(frame, n, both);
		csw_sum_halves(&s->out, both);
		break;
	case CSW_LANES_BACK:
		csw_put_two(acc, n, canary_take_back(kind, csw_get_two(acc, n), more));
		break;
	}
}

#define CSW_LANES_STRIDES	5	/* in one call; CSW_WORDS_MAX is a multiple of that */
#define CSW_LANES_MAX		(CSW_LANES_STRIDES * CSW_STRIDE)

/* @words words, up to CSW_LANES_MAX, in strides. The frame ends at @end. */
static __always_inline void csw_lanes_strides(__u8 kind, enum csw_lanes_do what, __u32 *acc,
					      __u32 *frame, const void *end, __u32 words,
					      struct csw_lanes_sums *s)
{
	__u32 i, k;

	CSW_LOOP
	for (i = 0; i < CSW_LANES_STRIDES && i < words / CSW_STRIDE; i++) {
		/* Without this, clang checks another register than it uses. */
		CSW_OPAQUE(frame);
		if ((void *)(frame + CSW_STRIDE) > end)
			return;
		CSW_UNROLL
		for (k = 0; k < CSW_STRIDE; k += 2)
			csw_lanes_two(kind, what, acc + k, frame + k, 2, s);
		acc += CSW_STRIDE;
		frame += CSW_STRIDE;
	}
}

/* @words words, fewer than CSW_STRIDE */
static __always_inline void csw_lanes_rest(__u8 kind, enum csw_lanes_do what, __u32 *acc,
					   __u32 *frame, const void *end, __u32 words,
					   struct csw_lanes_sums *s)
{
	__u32 i;

	CSW_LOOP
	for (i = 0; i < CSW_STRIDE / 2 - 1 && i < words / 2; i++) {
		CSW_OPAQUE(frame);
		if ((void *)(frame + 2) > end)
			return;
		csw_lanes_two(kind, what, acc, frame, 2, s);
		acc += 2;
		frame += 2;
	}
	CSW_OPAQUE(frame);
	if (words % 2 && (void *)(frame + 1) <= end)
		csw_lanes_two(kind, what, acc, frame, 1, s);
}

#define CSW_LANES_X(name, operator, lanes, identity, check, flags, f)			\
	kind == CANARY_KIND_##name &&							\
	((flags) & (CANARY_K_SWITCHES | CANARY_K_SHARDS)) == CANARY_K_SWITCHES &&	\
	(what != CSW_LANES_BACK || ((flags) & CANARY_K_UNDONE)) ?			\
	f(CANARY_KIND_##name, what, acc, frame, end, words, s) :

/* Call @f for the kind, which is no constant. The rest is as csw_lanes() has it. */
#define CSW_LANES_BY_KIND(f)	(CANARY_KINDS(CSW_LANES_X, f) (void)0)

static __always_inline void csw_lanes(__u8 kind, enum csw_lanes_do what, bool rest, __u32 *acc,
				      __u32 *frame, const void *end, __u32 words,
				      struct csw_lanes_sums *s)
{
	if (what == CSW_LANES_LOOK && rest)
		csw_lanes_rest(CANARY_KIND_NONE, what, acc, frame, end, words, s);
	else if (what == CSW_LANES_LOOK)
		csw_lanes_strides(CANARY_KIND_NONE, what, acc, frame, end, words, s);
	else if (rest)
		CSW_LANES_BY_KIND(csw_lanes_rest);
	else
		CSW_LANES_BY_KIND(csw_lanes_strides);
}

/*
 * Do it with words of the block from word @at on: in @rest those behind the last stride, else up to
 * CSW_LANES_MAX. Of words that leave, the sum is added to that in the descriptor. Return: the sum
 * of those that came
 */
static __always_inline __u64 csw_lanes_at(csw_xdp *ctx, struct csw_descriptor *d, __u32 at,
					  __u32 what, bool rest)
{
	struct csw_lanes_sums s = {};
	const void *end = csw_end(ctx);
	__u32 words, *acc, *frame;

	if (!d || at > CSW_WORDS_MAX - (rest ? CSW_STRIDE : CSW_LANES_MAX))
		return 0;
	words = d->length / 4 - at;
	acc = d->data + at;
	frame = (__u32 *)(csw_data(ctx) + CSW_OFF_DATA) + at;
	switch (what) {
	case CSW_LANES_LOOK:
		csw_lanes(d->kind, CSW_LANES_LOOK, rest, acc, frame, end, words, &s);
		break;
	case CSW_LANES_IN:
		csw_lanes(d->kind, CSW_LANES_IN, rest, acc, frame, end, words, &s);
		break;
	case CSW_LANES_OUT:
		csw_lanes(d->kind, CSW_LANES_OUT, rest, acc, frame, end, words, &s);
		d->out += csw_sum_of(&s.out);
		break;
	default:
		csw_lanes(d->kind, CSW_LANES_BACK, rest, acc, frame, end, words, &s);
		break;
	}
	return csw_sum_of(&s.in);
}

CSW_FUNC __u64 csw_lanes_most(csw_xdp *ctx, struct csw_descriptor *d, __u32 at, __u32 what)
{
	return csw_lanes_at(ctx, d, at, what, false);
}

CSW_FUNC __u64 csw_lanes_last(csw_xdp *ctx, struct csw_descriptor *d, __u32 at, __u32 what)
{
	return csw_lanes_at(ctx, d, at, what, true);
}

/* Do it with all words of a block. Return: the sum of those that came */
static __always_inline __u64 csw_lanes_all(csw_xdp *ctx, struct csw_descriptor *d, __u32 what)
{
	__u32 at, words = d->length / 4, whole = words & ~(CSW_STRIDE - 1U);
	__u64 sum = 0;

	CSW_LOOP
	for (at = 0; at < CSW_WORDS_MAX && at < whole; at += CSW_LANES_MAX)
		sum += csw_lanes_most(ctx, d, at, what);
	if (whole < words)
		sum += csw_lanes_last(ctx, d, whole, what);
	return sum;
}

/* ---- lists ---- */

/*
 * Does the switch merge lists of @kind? Where no kind has both flags, as in programs for the kernel
 * so far, this is a constant.
 */
static __always_inline bool csw_merges_lists(__u8 kind)
{
	const __u32 flags = CANARY_K_SHARDS | CANARY_K_SWITCHES;

	return (canary_kind_flags(kind) & flags) == flags;
}

/*
 * Merge the frame's list into that of the descriptor. It is checked before, as it cannot be taken
 * out again.
 */
static __always_inline int csw_list_add_in(csw_xdp *ctx, struct csw_descriptor *d, __u8 kind)
{
	__u32 length = d->length, more, i;
	struct csw_packet p;
	const __u32 *list;
	__u64 sum = 0;
	int is;

	if (csw_packet_at(ctx, &p))
		return CSW_DATA_SHORT;
	more = canary_length(p.h);
	list = csw_data(ctx) + CSW_OFF_DATA;
	if ((void *)list + more > csw_end(ctx))
		return CSW_DATA_SHORT;
	for (i = 0; i < more / 4; i++)
		sum += list[i];
	is = csw_compare_sum(ctx, sum);
	if (is != CSW_DATA_GOOD)
		return is;
	if (!canary_list_merge(kind, d->data, &length, d->room, list, more))
		return CSW_DATA_FULL;
	d->length = length;
	return CSW_DATA_GOOD;
}

/* ---- a whole block ---- */

/* Undo csw_data_add_in(), if data of that kind can be undone. */
CSW_FUNC int csw_data_take_back(csw_xdp *ctx, struct csw_descriptor *d)
{
	if (d)
		csw_lanes_all(ctx, d, CSW_LANES_BACK);
	return CSW_DATA_DAMAGED;
}

/*
 * Damaged data are rare. So if data can be taken back, they are checked while they are combined.
 * Data of other kinds are checked before any are combined.
 */
CSW_FUNC int csw_data_combine_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	bool undone;
	int is;

	if (!d)
		return CSW_DATA_SHORT;
	undone = canary_kind_flags(d->kind) & CANARY_K_UNDONE;
	is = csw_compare_sum(ctx, csw_lanes_all(ctx, d, undone ? CSW_LANES_IN : CSW_LANES_LOOK));
	if (undone && is != CSW_DATA_GOOD)
		csw_data_take_back(ctx, d);
	if (!undone && is == CSW_DATA_GOOD)
		csw_lanes_all(ctx, d, CSW_LANES_IN);
	return is;
}

static __always_inline int csw_data_add_words(csw_xdp *ctx, struct csw_descriptor *d)
{
	struct csw_sums s = {};
	int is;

	CSW_WALK_ALL(ctx, d, csw_add_in, &s, cut_short);
	is = csw_compare_sum(ctx, s.in);
	if (is != CSW_DATA_GOOD)
		csw_data_take_back(ctx, d);
	return is;
cut_short:
	return CSW_DATA_SHORT;
}

/*
 * Combine the frame's data with those of the descriptor. If they are damaged, the descriptor does
 * not change. This is inline, as most packets come here.
 */
static __always_inline int csw_data_add_in(csw_xdp *ctx, struct csw_descriptor *d)
{
	if (d->kind == CANARY_KIND_ADD32)
		return csw_data_add_words(ctx, d);
	if (csw_merges_lists(d->kind))
		return csw_list_add_in(ctx, d, d->kind);
	return csw_data_combine_in(ctx, d);
}

CSW_FUNC int csw_data_combine_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	int is;

	if (!d)
		return CSW_DATA_SHORT;
	d->out = 0;
	is = csw_compare_sum(ctx, csw_lanes_all(ctx, d, CSW_LANES_OUT));
	if (is == CSW_DATA_GOOD)
		csw_data_leave(d, d->out);
	return is;
}

/* Combine the descriptor's data with the frame's. The frame carries the result away at once. */
CSW_FUNC int csw_data_add_out(csw_xdp *ctx, struct csw_descriptor *d)
{
	struct csw_sums s = {};
	int is;

	if (d && d->kind != CANARY_KIND_ADD32)
		return csw_data_combine_out(ctx, d);
	CSW_WALK_ALL(ctx, d, csw_add_out, &s, cut_short);
	is = csw_compare_sum(ctx, s.in);
	if (is == CSW_DATA_GOOD)
		csw_data_leave(d, s.out);
	return is;
cut_short:
	return CSW_DATA_SHORT;
}

#endif /* CANARY_BPF_LIB_COMBINE_H */
