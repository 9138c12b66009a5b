/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the protocol core needs from its surroundings: types, byte order, string functions and
 * SipHash. It is the only file of the core that knows __KERNEL__.
 */
#ifndef CANARY_CORE_PLATFORM_H
#define CANARY_CORE_PLATFORM_H

#ifdef __KERNEL__

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/siphash.h>
#include <asm/byteorder.h>
#include <linux/canary_wire.h>

static inline u64 cnr_siphash(const u8 key[16], const void *data, size_t len)
{
	siphash_key_t k;
	u64 word[2];

	memcpy(&k, key, sizeof(k));
	/* Each contribution needs a tag, which is a hash of 16 bytes. This one has no loop. */
	if (__builtin_constant_p(len) && len == sizeof(word)) {
		memcpy(word, data, sizeof(word));
		return siphash_2u64(word[0], word[1], &k);
	}
	return siphash(data, len, &k);
}

static inline u64 cnr_siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to)
{
	u8 in[16];
	u64 sum = 0;

	memcpy(in, data, sizeof(in));
	for (; from < to; from++) {
		in[14] = from >> 8;
		in[15] = from;
		sum += cnr_siphash(key, in, sizeof(in));
	}
	return sum;
}

static inline u64 cnr_div64(u64 a, u32 b)
{
	return div_u64(a, b);
}

/* Return: the number of the highest bit of @a, from 1 on; 0: there is none */
static inline u32 cnr_fls64(u64 a)
{
	return fls64(a);
}

#else /* user space: user engine, simulator, tests */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <endian.h>
#include <linux/types.h>
#include <linux/canary_wire.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#ifndef __must_check
#define __must_check __attribute__((__warn_unused_result__))
#endif
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b)	((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

u64 cnr_siphash(const u8 key[16], const void *data, size_t len);

/*
 * Return: the sum of the hashes of 16 bytes each. Their last two bytes are a big-endian number,
 * from @from up to below @to
 */
u64 cnr_siphash_numbered(const u8 key[16], const void *data, u32 from, u32 to);

static inline u64 cnr_div64(u64 a, u32 b)
{
	return a / b;
}

static inline u32 cnr_fls64(u64 a)
{
	return a ? 64 - __builtin_clzll(a) : 0;
}

#endif /* __KERNEL__ */

/* Functions that are not to be part of those that call them */
#define CNR_APART	__attribute__((__noinline__))

/*
 * Variables that stay as they are until they are written. Kernels are compiled to clear all others
 * first, and large ones would be cleared for each packet.
 */
#ifdef __has_attribute
#if __has_attribute(__uninitialized__)
#define CNR_UNSET	__attribute__((__uninitialized__))
#endif
#endif
#ifndef CNR_UNSET
#define CNR_UNSET
#endif

#define cnr_be16(x)	be16_to_cpu(x)
#define cnr_be32(x)	be32_to_cpu(x)

#define CNR_USEC	1000ULL
#define CNR_MSEC	(1000 * CNR_USEC)
#define CNR_SEC		(1000 * CNR_MSEC)
#define CNR_NEVER	(~0ULL)

#include "parse.h"
#include "../reduce.h"

/* Sets of instructions that there is vector code for, the best one last */
enum cnr_vectors {
	CNR_VECTORS_NONE,
	CNR_VECTORS_AVX2,
	CNR_VECTORS_AVX512,
	CNR_VECTORS_NEON,
	CNR_VECTORS_UNKNOWN
};

/* What is compiled for a processor. sparse knows no vectors, and older clang lacks functions. */
#if !defined(__CHECKER__) && (!defined(__clang__) || __clang_major__ >= 14)
#ifdef __x86_64__
#define CNR_HAS_AVX2
#ifndef __KERNEL__
#define CNR_HAS_AVX512
#endif
#elif defined(__aarch64__) && !defined(__KERNEL__)
#define CNR_HAS_NEON
#endif
#endif

/*
 * Functions on payloads of @length bytes, a multiple of 4. They use what the processor has for it.
 * cnr_vector_begin(): may vector code be used on so many words? Then cnr_vector_end() follows.
 * cnr_vectors(): which one.
 * cnr_vector_hold(): borrows the vector unit once for all of these functions that are called until
 * cnr_vector_release(), which follows if it returns true. Nothing sleeps meanwhile.
 * cnr_checksum(): what canary_hdr.contribution.sum has to be. cnr_combine(): combines @a and @b
 * into @to, which may be @a; returns the checksum of @to. cnr_hash(): canary_hash(), of data under
 * a mac. cnr_hash_sum(): both this and the checksum. kmod/simd.c and userspace/lib/payload.c have
 * these four.
 */
u64 cnr_hash(const u32 *key, const u32 *data, u32 length);
u64 cnr_hash_sum(u8 kind, const u32 *key, const u32 *data, u32 length, u32 *sum);
u32 cnr_checksum(u8 kind, const u32 *data, u32 length);
u32 cnr_combine(u8 kind, u32 *to, const u32 *a, const u32 *b, u32 length);

#ifdef __KERNEL__
bool cnr_vector_begin(u32 words);
void cnr_vector_end(void);
bool cnr_vector_hold(u32 words);
void cnr_vector_release(void);

static inline enum cnr_vectors cnr_vectors(void)
{
	return CNR_VECTORS_AVX2;
}
#else
/*
 * What this process uses. It is found when it is first asked for: the best one that the processor
 * has, or what the variable CANARY_VECTORS asks for. Tests set it. Several threads may find it at a
 * time: they find the same, and read and write it atomically.
 */
extern enum cnr_vectors cnr_vectors_used;

enum cnr_vectors cnr_vectors_find(void);

/* Has this processor that one? */
bool cnr_vectors_have(enum cnr_vectors which);

static inline enum cnr_vectors cnr_vectors(void)
{
	enum cnr_vectors used = __atomic_load_n(&cnr_vectors_used, __ATOMIC_RELAXED);

	return used == CNR_VECTORS_UNKNOWN ? cnr_vectors_find() : used;
}

#define CNR_CSR_ROUNDING	0x6000	/* not to the nearest */
#define CNR_CSR_SILENT		0x1f80	/* all exceptions are masked */
#define CNR_FPCR_CHANGED	0x07ff9f00UL	/* rounding, formats, subnormal numbers, traps */

/*
 * Vectors of floats are rounded as the program says, and it may have changed that. It may also want
 * a signal when a number overflows, or cannot be exact.
 */
static inline bool cnr_vector_begin(u32 words)
{
	if (words < 64 || cnr_vectors() == CNR_VECTORS_NONE)
		return false;
#if defined(CNR_HAS_AVX2)
	return (__builtin_ia32_stmxcsr() & (CNR_CSR_ROUNDING | CNR_CSR_SILENT)) == CNR_CSR_SILENT;
#elif defined(CNR_HAS_NEON)
	u64 fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r" (fpcr));
	return !(fpcr & CNR_FPCR_CHANGED);
#else
	return false;
#endif
}

static inline void cnr_vector_end(void)
{
}

/* A program has the vector unit anyway. */
static inline bool cnr_vector_hold(u32 words)
{
	return false;
}

static inline void cnr_vector_release(void)
{
}
#endif

#endif /* CANARY_CORE_PLATFORM_H */
