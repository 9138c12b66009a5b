/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Element arithmetic: what "adding two blocks" means for an operator and a type. The one
 * definition for host core, switch (BPF) and simulator.
 *
 * The includer has fixed-width types (__u32, __s32) in scope.
 */
#ifndef CANARY_REDUCE_H
#define CANARY_REDUCE_H

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/*
 * Unrolling by 8 halves the cost in BPF, whose JIT does not vectorise, and in the kernel, where
 * compilers must not. Indices as wide as pointers: one that wraps at 32 bits is computed
 * anew for each element. Elsewhere 8 elements are a vector: of their own compilers make none, as
 * @acc and @data might overlap.
 */
#define CANARY_REDUCE_UNROLL	8

#if !defined(__bpf__) && !defined(__KERNEL__)
#define CANARY_REDUCE_VECTOR	1
typedef __u32 canary_lanes __attribute__((__vector_size__(4 * CANARY_REDUCE_UNROLL),
					  __aligned__(4), __may_alias__));
#endif

/*
 * acc[i] += data[i], each lane wrapping on its own (two's complement). Lanes are unsigned so
 * that wrapping is defined.
 */
static __always_inline void canary_reduce_sum32(__u32 *acc, const __u32 *data, __u32 elements)
{
	unsigned long i;

	for (i = 0; i + CANARY_REDUCE_UNROLL <= elements; i += CANARY_REDUCE_UNROLL) {
#ifdef CANARY_REDUCE_VECTOR
		*(canary_lanes *)(acc + i) += *(const canary_lanes *)(data + i);
#else
		acc[i] += data[i];
		acc[i + 1] += data[i + 1];
		acc[i + 2] += data[i + 2];
		acc[i + 3] += data[i + 3];
		acc[i + 4] += data[i + 4];
		acc[i + 5] += data[i + 5];
		acc[i + 6] += data[i + 6];
		acc[i + 7] += data[i + 7];
#endif
	}
	for (; i < elements; i++)
		acc[i] += data[i];
}

/* The linear checksum of canary_hdr.sum: it adds up exactly as wrapping int32 data do. */
static __always_inline __u32 canary_checksum(const __u32 *data, __u32 elements)
{
	unsigned long i;
	__u32 sum = 0;
#ifdef CANARY_REDUCE_VECTOR
	canary_lanes lanes = { 0 };

	for (i = 0; i + CANARY_REDUCE_UNROLL <= elements; i += CANARY_REDUCE_UNROLL)
		lanes += *(const canary_lanes *)(data + i);
	sum = lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] +
	      lanes[7];
#else
	for (i = 0; i + CANARY_REDUCE_UNROLL <= elements; i += CANARY_REDUCE_UNROLL) {
		sum += data[i];
		sum += data[i + 1];
		sum += data[i + 2];
		sum += data[i + 3];
		sum += data[i + 4];
		sum += data[i + 5];
		sum += data[i + 6];
		sum += data[i + 7];
	}
#endif
	for (; i < elements; i++)
		sum += data[i];
	return sum;
}

/* to[i] = a[i] + b[i], as above; @to may be @a. Return: the checksum of @to */
static __always_inline __u32 canary_add32(__u32 *to, const __u32 *a, const __u32 *b,
					  __u32 elements)
{
	unsigned long i;
	__u32 sum = 0;

	for (i = 0; i < elements; i++) {
		to[i] = a[i] + b[i];
		sum += to[i];
	}
	return sum;
}

/*
 * A keyed hash of data that are never merged: NH of RFC 4418 with 64-bit result, universal with
 * 2^-32 over keys of as many words as there are data. @elements odd: a 0 completes the last pair.
 */
static __always_inline __u64 canary_hash(const __u32 *key, const __u32 *data, __u32 elements)
{
	unsigned long i;
	__u64 hash = 0;

	for (i = 0; i + 2 <= elements; i += 2)
		hash += (__u64)(__u32)(data[i] + key[i]) * (__u32)(data[i + 1] + key[i + 1]);
	if (i < elements)
		hash += (__u64)(__u32)(data[i] + key[i]) * key[i + 1];
	return hash;
}

#endif /* CANARY_REDUCE_H */
