/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Payloads: how their words are combined and checked, and their lists merged, as their kind says
 * (kinds.h). This is the one definition for the core, the switch (BPF and native) and the
 * simulator.
 *
 * The includer has fixed-width types and struct canary_hdr in scope, and cnr_be16().
 */
#ifndef CANARY_REDUCE_H
#define CANARY_REDUCE_H

#include "kinds.h"

/*
 * Words of a step of a loop. Indices are as wide as pointers: a compiler computes an index that
 * wraps at 32 bits anew for each word.
 */
#define CANARY_REDUCE_UNROLL	8

/*
 * User space uses vectors. Compilers do not make them of loops over whole payloads, since payloads
 * might overlap.
 */
#if !defined(__bpf__) && !defined(__KERNEL__)
#define CANARY_REDUCE_VECTOR	1
typedef __u32 canary_words __attribute__((__vector_size__(4 * CANARY_REDUCE_UNROLL),
					  __aligned__(4), __may_alias__));

/*
 * canary_combine_into() for CANARY_REDUCE_UNROLL words. Compilers make vectors of the loop over
 * pairs, as copies of a fixed length do not overlap.
 */
static __always_inline void canary_combine_words(__u8 kind, __u32 *acc, const __u32 *data)
{
	__u32 own[CANARY_REDUCE_UNROLL], more[CANARY_REDUCE_UNROLL];
	int i;

	memcpy(own, acc, sizeof(own));
	memcpy(more, data, sizeof(more));
	for (i = 0; i < CANARY_REDUCE_UNROLL; i += 2)
		canary_combine_two(kind, &own[i], &own[i + 1], more[i], more[i + 1]);
	memcpy(acc, own, sizeof(own));
}

/* Combine @acc and @data into @acc. @kind is a constant. */
static __always_inline void canary_combine_into(__u8 kind, __u32 *acc, const __u32 *data,
						__u32 words)
{
	unsigned long i;

	for (i = 0; i + CANARY_REDUCE_UNROLL <= words; i += CANARY_REDUCE_UNROLL) {
		if (kind == CANARY_KIND_ADD32)
			*(canary_words *)(acc + i) += *(const canary_words *)(data + i);
		else
			canary_combine_words(kind, acc + i, data + i);
	}
	for (; i + 2 <= words; i += 2)
		canary_combine_two(kind, &acc[i], &acc[i + 1], data[i], data[i + 1]);
	if (i < words)
		acc[i] = canary_combine_word(kind, acc[i], data[i]);
}
#endif

/* @check is a constant. */
static __always_inline __u32 canary_checksum_as(enum canary_check check, const __u32 *data,
						__u32 words)
{
	unsigned long i = 0;
	__u32 sum = 0;
#ifdef CANARY_REDUCE_VECTOR
	canary_words part = { 0 };

	if (check == CANARY_CHECK_SUM) {
		for (; i + CANARY_REDUCE_UNROLL <= words; i += CANARY_REDUCE_UNROLL)
			part += *(const canary_words *)(data + i);
		sum = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] +
		      part[7];
	}
#else
	for (; i + CANARY_REDUCE_UNROLL <= words; i += CANARY_REDUCE_UNROLL) {
		sum = canary_check_join(check, sum, data[i]);
		sum = canary_check_join(check, sum, data[i + 1]);
		sum = canary_check_join(check, sum, data[i + 2]);
		sum = canary_check_join(check, sum, data[i + 3]);
		sum = canary_check_join(check, sum, data[i + 4]);
		sum = canary_check_join(check, sum, data[i + 5]);
		sum = canary_check_join(check, sum, data[i + 6]);
		sum = canary_check_join(check, sum, data[i + 7]);
	}
#endif
	for (; i < words; i++)
		sum = canary_check_join(check, sum, data[i]);
	return sum;
}

/* Return: what canary_hdr.contribution.sum has to be for the payload @data */
static __always_inline __u32 canary_checksum(__u8 kind, const __u32 *data, __u32 words)
{
	switch (canary_kind_check(kind)) {
	case CANARY_CHECK_SUM:
	default:
		return canary_checksum_as(CANARY_CHECK_SUM, data, words);
	}
}

/* Combine @a and @b into @to, which may be @a. @kind is a constant. Return: the checksum of @to */
static __always_inline __u32 canary_combine_as(__u8 kind, __u32 *to, const __u32 *a,
					       const __u32 *b, __u32 words)
{
	enum canary_check check = canary_kind_check(kind);
	__u32 sum = 0, one, two;
	unsigned long i;

	for (i = 0; i + 2 <= words; i += 2) {
		one = a[i];
		two = a[i + 1];
		canary_combine_two(kind, &one, &two, b[i], b[i + 1]);
		to[i] = one;
		to[i + 1] = two;
		sum = canary_check_join(check, canary_check_join(check, sum, one), two);
	}
	if (i < words) {
		to[i] = canary_combine_word(kind, a[i], b[i]);
		sum = canary_check_join(check, sum, to[i]);
	}
	return sum;
}

/* The same for any known kind */
#define CANARY_KIND_X(name, operator, lanes, identity, check, flags)	\
	kind == CANARY_KIND_##name ? canary_combine_as(CANARY_KIND_##name, to, a, b, words) :

static __always_inline __u32 canary_combine(__u8 kind, __u32 *to, const __u32 *a, const __u32 *b,
					    __u32 words)
{
	return CANARY_KINDS(CANARY_KIND_X) 0;
}

#undef CANARY_KIND_X

/* ---- lists: payloads of kinds with CANARY_K_SHARDS ---- */

#ifndef CANARY_TEST_LISTS
#define CANARY_TEST_LISTS(X)
#endif

/*
 * X(name, fits, scatter, merge): for each such kind, what is done to its lists. Lengths are in
 * bytes. Nobody has looked at what is in a list before.
 * @fits(list, length, words): has each entry its place in a block of @words words?
 * @scatter(block, list, length): combines entries of a list that fits into the words of @block
 * @merge(list, &length, room, more, more_length): combines @more into @list. Return: false if that
 *	would be longer than @room; @list is as before, then
 */
#define CANARY_LISTS(X)		CANARY_TEST_LISTS(X)

#define CANARY_LIST_X(name, fits, scatter, merge)	\
	kind == CANARY_KIND_##name ? fits(list, length, words) :

static __always_inline int canary_list_fits(__u8 kind, const __u32 *list, __u32 length, __u32 words)
{
	return CANARY_LISTS(CANARY_LIST_X) 0;
}

#undef CANARY_LIST_X
#define CANARY_LIST_X(name, fits, scatter, merge)	\
	kind == CANARY_KIND_##name ? scatter(block, list, length) :

static __always_inline void canary_list_scatter(__u8 kind, __u32 *block, const __u32 *list,
						__u32 length)
{
	CANARY_LISTS(CANARY_LIST_X) (void)0;
}

#undef CANARY_LIST_X
#define CANARY_LIST_X(name, fits, scatter, merge)	\
	kind == CANARY_KIND_##name ? merge(list, length, room, more, more_length) :

static __always_inline int canary_list_merge(__u8 kind, __u32 *list, __u32 *length, __u32 room,
					     const __u32 *more, __u32 more_length)
{
	return CANARY_LISTS(CANARY_LIST_X) 0;
}

#undef CANARY_LIST_X

/*
 * A keyed hash of data that are never merged: NH of RFC 4418 with a 64-bit result. It is universal
 * with 2^-32, over keys of as many words as there are data. If @words is odd, a 0 completes the
 * last pair.
 */
static __always_inline __u64 canary_hash(const __u32 *key, const __u32 *data, __u32 words)
{
	unsigned long i;
	__u64 hash = 0;

	for (i = 0; i + 2 <= words; i += 2)
		hash += (__u64)(__u32)(data[i] + key[i]) * (__u32)(data[i + 1] + key[i + 1]);
	if (i < words)
		hash += (__u64)(__u32)(data[i] + key[i]) * key[i + 1];
	return hash;
}

#endif /* CANARY_REDUCE_H */
