// SPDX-License-Identifier: GPL-2.0
/*
 * Payloads of the core, with the vector unit. A packet has some hundred words, which are read up to
 * five times. The kernel does not let the compiler vectorise.
 *
 * The unit belongs to user space. The loops of reduce.h do the same where the unit may not be
 * borrowed (irq_fpu_usable()), on processors without AVX2, and for blocks that are too small to
 * gain.
 */

#include "canary.h"

#ifdef CONFIG_X86_64

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

#define CANARY_SIMD_STEP	32	/* words in one turn of a loop */
#define CANARY_SIMD_MIN		(2 * CANARY_SIMD_STEP)

static DEFINE_STATIC_KEY_FALSE(canary_simd_on);

void __init canary_simd_init(void)
{
	/* float_avx2.c converts float16 by F16C. */
	if (boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_F16C) &&
	    cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		static_branch_enable(&canary_simd_on);
}

/* Is the unit held, see cnr_vector_hold()? Softirqs are off then, and no interrupt comes here. */
static DEFINE_PER_CPU(bool, canary_simd_held);

static __always_inline bool canary_simd_begin(u32 words)
{
	if (!static_branch_likely(&canary_simd_on) || words < CANARY_SIMD_MIN)
		return false;
	if (this_cpu_read(canary_simd_held))
		return true;
	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin_mask(0);
	return true;
}

static __always_inline void canary_simd_end(void)
{
	if (!this_cpu_read(canary_simd_held))
		kernel_fpu_end();
}

/* Add up the lanes of ymm0 and ymm1: the last instructions of both loops. */
#define CANARY_SIMD_FOLD					\
	"vpaddd %%ymm1, %%ymm0, %%ymm0\n\t"			\
	"vextracti128 $1, %%ymm0, %%xmm1\n\t"			\
	"vpaddd %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vpshufd $0x4e, %%xmm0, %%xmm1\n\t"			\
	"vpaddd %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vpshufd $0xb1, %%xmm0, %%xmm1\n\t"			\
	"vpaddd %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vmovd %%xmm0, %k[sum]\n\t"				\
	"vzeroupper\n\t"

/* @end: behind the last word; the length is a multiple of the step, and not 0 */
static u32 canary_simd_checksum(const u32 *data, const u32 *end)
{
	u32 sum;

	asm volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\t"
		     "vpxor %%ymm1, %%ymm1, %%ymm1\n"
		     "1:\n\t"
		     "vpaddd (%[data]), %%ymm0, %%ymm0\n\t"
		     "vpaddd 32(%[data]), %%ymm1, %%ymm1\n\t"
		     "vpaddd 64(%[data]), %%ymm0, %%ymm0\n\t"
		     "vpaddd 96(%[data]), %%ymm1, %%ymm1\n\t"
		     "sub $-128, %[data]\n\t"
		     "cmp %[end], %[data]\n\t"
		     "jne 1b\n\t"
		     CANARY_SIMD_FOLD
		     : [data] "+r" (data), [sum] "=r" (sum)
		     : [end] "r" (end)
		     : "memory", "cc");
	return sum;
}

/* @combine: the instruction that combines words of @a in ymm2 to ymm5 with those of @b */
#define CANARY_SIMD_COMBINE(combine)				\
	"vpxor %%ymm0, %%ymm0, %%ymm0\n\t"			\
	"vpxor %%ymm1, %%ymm1, %%ymm1\n"			\
	"1:\n\t"						\
	"vmovdqu (%[a]), %%ymm2\n\t"				\
	"vmovdqu 32(%[a]), %%ymm3\n\t"				\
	"vmovdqu 64(%[a]), %%ymm4\n\t"				\
	"vmovdqu 96(%[a]), %%ymm5\n\t"				\
	combine " (%[b]), %%ymm2, %%ymm2\n\t"			\
	combine " 32(%[b]), %%ymm3, %%ymm3\n\t"			\
	combine " 64(%[b]), %%ymm4, %%ymm4\n\t"			\
	combine " 96(%[b]), %%ymm5, %%ymm5\n\t"			\
	"vpaddd %%ymm2, %%ymm0, %%ymm0\n\t"			\
	"vpaddd %%ymm3, %%ymm1, %%ymm1\n\t"			\
	"vpaddd %%ymm4, %%ymm0, %%ymm0\n\t"			\
	"vpaddd %%ymm5, %%ymm1, %%ymm1\n\t"			\
	"vmovdqu %%ymm2, (%[to])\n\t"				\
	"vmovdqu %%ymm3, 32(%[to])\n\t"			\
	"vmovdqu %%ymm4, 64(%[to])\n\t"			\
	"vmovdqu %%ymm5, 96(%[to])\n\t"			\
	"sub $-128, %[a]\n\t"					\
	"sub $-128, %[b]\n\t"					\
	"sub $-128, %[to]\n\t"					\
	"cmp %[end], %[a]\n\t"					\
	"jne 1b\n\t"						\
	CANARY_SIMD_FOLD

/* @end: the end of @a, as above */
static u32 canary_simd_add(u32 *to, const u32 *a, const u32 *b, const u32 *end)
{
	u32 sum;

	asm volatile(CANARY_SIMD_COMBINE("vpaddd")
		     : [a] "+r" (a), [b] "+r" (b), [to] "+r" (to), [sum] "=r" (sum)
		     : [end] "r" (end)
		     : "memory", "cc");
	return sum;
}

/* The same with maxima of bytes: shared exponents of floating-point numbers */
static u32 canary_simd_max8(u32 *to, const u32 *a, const u32 *b, const u32 *end)
{
	u32 sum;

	asm volatile(CANARY_SIMD_COMBINE("vpmaxub")
		     : [a] "+r" (a), [b] "+r" (b), [to] "+r" (to), [sum] "=r" (sum)
		     : [end] "r" (end)
		     : "memory", "cc");
	return sum;
}

/*
 * The loop of both hashes. 8 words in a register make 4 products of 64 bits. @sums: what else is
 * done with the words, which are in ymm2 to ymm5
 */
#define CANARY_SIMD_HASH(sums)					\
	"vpxor %%ymm0, %%ymm0, %%ymm0\n\t"			\
	"vpxor %%ymm1, %%ymm1, %%ymm1\n"				\
	"1:\n\t"						\
	"vmovdqu (%[data]), %%ymm2\n\t"				\
	"vmovdqu 32(%[data]), %%ymm3\n\t"			\
	"vmovdqu 64(%[data]), %%ymm4\n\t"			\
	"vmovdqu 96(%[data]), %%ymm5\n\t"			\
	sums							\
	"vpaddd (%[key]), %%ymm2, %%ymm2\n\t"			\
	"vpaddd 32(%[key]), %%ymm3, %%ymm3\n\t"			\
	"vpaddd 64(%[key]), %%ymm4, %%ymm4\n\t"			\
	"vpaddd 96(%[key]), %%ymm5, %%ymm5\n\t"			\
	"vpsrlq $32, %%ymm2, %%ymm6\n\t"			\
	"vpmuludq %%ymm6, %%ymm2, %%ymm2\n\t"			\
	"vpsrlq $32, %%ymm3, %%ymm7\n\t"			\
	"vpmuludq %%ymm7, %%ymm3, %%ymm3\n\t"			\
	"vpsrlq $32, %%ymm4, %%ymm6\n\t"			\
	"vpmuludq %%ymm6, %%ymm4, %%ymm4\n\t"			\
	"vpsrlq $32, %%ymm5, %%ymm7\n\t"			\
	"vpmuludq %%ymm7, %%ymm5, %%ymm5\n\t"			\
	"vpaddq %%ymm2, %%ymm0, %%ymm0\n\t"			\
	"vpaddq %%ymm3, %%ymm1, %%ymm1\n\t"			\
	"vpaddq %%ymm4, %%ymm0, %%ymm0\n\t"			\
	"vpaddq %%ymm5, %%ymm1, %%ymm1\n\t"			\
	"sub $-128, %[key]\n\t"					\
	"sub $-128, %[data]\n\t"				\
	"cmp %[end], %[data]\n\t"				\
	"jne 1b\n\t"						\
	"vpaddq %%ymm1, %%ymm0, %%ymm0\n\t"			\
	"vextracti128 $1, %%ymm0, %%xmm1\n\t"			\
	"vpaddq %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vpshufd $0x4e, %%xmm0, %%xmm1\n\t"			\
	"vpaddq %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vmovq %%xmm0, %[hash]\n\t"

/* @end: the end of @data, as above */
static u64 canary_simd_hash(const u32 *key, const u32 *data, const u32 *end)
{
	u64 hash;

	asm volatile(CANARY_SIMD_HASH("")
		     "vzeroupper\n\t"
		     : [key] "+r" (key), [data] "+r" (data), [hash] "=&r" (hash)
		     : [end] "r" (end)
		     : "memory", "cc");
	return hash;
}

/* The same, and the checksum of @data */
static u64 canary_simd_hash_sum(const u32 *key, const u32 *data, const u32 *end, u32 *to)
{
	u64 hash;
	u32 sum;

	asm volatile("vpxor %%ymm8, %%ymm8, %%ymm8\n\t"
		     "vpxor %%ymm9, %%ymm9, %%ymm9\n\t"
		     CANARY_SIMD_HASH("vpaddd %%ymm2, %%ymm8, %%ymm8\n\t"
				      "vpaddd %%ymm3, %%ymm9, %%ymm9\n\t"
				      "vpaddd %%ymm4, %%ymm8, %%ymm8\n\t"
				      "vpaddd %%ymm5, %%ymm9, %%ymm9\n\t")
		     "vmovdqa %%ymm8, %%ymm0\n\t"
		     "vmovdqa %%ymm9, %%ymm1\n\t"
		     CANARY_SIMD_FOLD
		     : [key] "+r" (key), [data] "+r" (data), [hash] "=&r" (hash),
		       [sum] "=r" (sum)
		     : [end] "r" (end)
		     : "memory", "cc");
	*to = sum;
	return hash;
}

/* Floats are rounded to nearest: unlike canary_simd_begin(), this sets what the unit does. */
static __always_inline bool canary_vector_begin(u32 words)
{
	if (!static_branch_likely(&canary_simd_on) || words < CANARY_SIMD_MIN || !irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

bool cnr_vector_begin(u32 words)
{
	if (this_cpu_read(canary_simd_held))
		return words >= CANARY_SIMD_MIN;
	return canary_vector_begin(words);
}

void cnr_vector_end(void)
{
	canary_simd_end();
}

/*
 * To borrow it takes as long as to add up a fifth of a packet. Who holds it may take locks of the
 * kernel, and a real-time kernel sleeps in those.
 */
bool cnr_vector_hold(u32 words)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || this_cpu_read(canary_simd_held) ||
	    !canary_vector_begin(words))
		return false;
	this_cpu_write(canary_simd_held, true);
	return true;
}

void cnr_vector_release(void)
{
	this_cpu_write(canary_simd_held, false);
	kernel_fpu_end();
}

u64 cnr_hash(const u32 *key, const u32 *data, u32 length)
{
	u32 n, words = length / 4;
	u64 hash;

	if (!canary_simd_begin(words))
		return canary_hash(key, data, words);
	n = round_down(words, CANARY_SIMD_STEP);
	hash = canary_simd_hash(key, data, data + n);
	canary_simd_end();
	return hash + canary_hash(key + n, data + n, words - n);
}

u64 cnr_hash_sum(u8 kind, const u32 *key, const u32 *data, u32 length, u32 *sum)
{
	u32 n, words = length / 4;
	u64 hash;

	if (canary_kind_check(kind) != CANARY_CHECK_SUM || !canary_simd_begin(words)) {
		*sum = canary_checksum(kind, data, words);
		return canary_hash(key, data, words);
	}
	n = round_down(words, CANARY_SIMD_STEP);
	hash = canary_simd_hash_sum(key, data, data + n, sum);
	canary_simd_end();
	*sum += canary_checksum(kind, data + n, words - n);
	return hash + canary_hash(key + n, data + n, words - n);
}

u32 cnr_checksum(u8 kind, const u32 *data, u32 length)
{
	u32 n, sum, words = length / 4;

	if (canary_kind_check(kind) != CANARY_CHECK_SUM || !canary_simd_begin(words))
		return canary_checksum(kind, data, words);
	n = round_down(words, CANARY_SIMD_STEP);
	sum = canary_simd_checksum(data, data + n);
	canary_simd_end();
	return sum + canary_checksum(kind, data + n, words - n);
}

/* There is vector code for the kinds that most packets have. Other kinds use the loops. */
u32 cnr_combine(u8 kind, u32 *to, const u32 *a, const u32 *b, u32 length)
{
	u32 n, sum, words = length / 4;

	if ((kind != CANARY_KIND_ADD32 && kind != CANARY_KIND_MAX8) || !canary_simd_begin(words))
		return canary_combine(kind, to, a, b, words);
	n = round_down(words, CANARY_SIMD_STEP);
	sum = kind == CANARY_KIND_ADD32 ? canary_simd_add(to, a, b, a + n) :
					  canary_simd_max8(to, a, b, a + n);
	canary_simd_end();
	return sum + canary_combine(kind, to + n, a + n, b + n, words - n);
}

#else /* without vector code */

void __init canary_simd_init(void)
{
}

bool cnr_vector_begin(u32 words)
{
	return false;
}

void cnr_vector_end(void)
{
}

bool cnr_vector_hold(u32 words)
{
	return false;
}

void cnr_vector_release(void)
{
}

#include "payload_loops.h"

#endif
