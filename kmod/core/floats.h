/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: floating-point numbers, by integer arithmetic, so the kernel can do it anywhere.
 * Only float_vector.h uses the vector unit, and comes to the same bits. The bits of a
 * result depend on the elements of all members, and not on the way that they took.
 * docs/floating-point.md defines them.
 *
 *  - float.c: numbers and their parts, rounding; minima and maxima.
 *  - float_exact.c: exact sums, in one round.
 *  - float_shared.c: sums by shared exponents, which are reduced ahead of the data.
 *    Its lanes: float_lanes.c one by one, float_vector.h several at a time; float_packet.c chooses.
 *  - ranks.c: what is done in the order of ranks, such as products (product.c).
 *
 * Complex numbers are two numbers each. Sums take them for vectors of twice the length.
 */
#ifndef CANARY_CORE_FLOATS_H
#define CANARY_CORE_FLOATS_H

#include "blocks.h"

/**
 * struct cnr_format - a floating-point format
 * @bytes:	of a number
 * @fraction:	bits that are stored of the significand
 * @exponent:	bits
 */
struct cnr_format {
	u8	bytes;
	u8	fraction;
	u8	exponent;
};

static const struct cnr_format cnr_formats[] = {
	[CANARY_FLOAT16] = { 2, 10, 5 },
	[CANARY_BFLOAT16] = { 2, 7, 8 },
	[CANARY_FLOAT32] = { 4, 23, 8 },
	[CANARY_FLOAT64] = { 8, 52, 11 },
	[CANARY_COMPLEX64] = { 4, 23, 8 },
	[CANARY_COMPLEX128] = { 8, 52, 11 },
};

/* Return: the format of the numbers of @dtype; NULL if they are not of floating point */
static __always_inline const struct cnr_format *cnr_format(u8 dtype)
{
	return dtype < ARRAY_SIZE(cnr_formats) && cnr_formats[dtype].bytes ? &cnr_formats[dtype] :
									     NULL;
}

/**
 * struct cnr_number - a finite number: (-1)^negative * significand * 2^exponent
 * @sticky:	a bit below the lowest one of @significand is set; for cnr_round()
 */
struct cnr_number {
	u64	significand;
	s32	exponent;
	bool	negative;
	bool	sticky;
};

/* A number that is not finite, as sums count it */
enum cnr_special {
	CNR_FINITE	= 0,
	CNR_PLUS_INF	= 1,
	CNR_MINUS_INF	= 2,
	CNR_NAN		= 3,	/* an infinity of each sign makes it, too */
};

u64 cnr_round(const struct cnr_format *f, struct cnr_number n);
void cnr_number_divide(struct cnr_number *n, u32 by);
u64 cnr_special_bits(const struct cnr_format *f, enum cnr_special special);

/* Return: the exponent field whose bits are all set, which infinities and NaNs have */
static __always_inline u32 cnr_exponent_max(const struct cnr_format *f)
{
	return (1U << f->exponent) - 1;
}

static __always_inline s32 cnr_bias(const struct cnr_format *f)
{
	return (s32)(cnr_exponent_max(f) >> 1);
}

/* Return: the exponent of the least significant bit of numbers whose exponent field is @field */
static __always_inline s32 cnr_exponent_of(const struct cnr_format *f, u32 field)
{
	return (s32)(field ? field : 1) - cnr_bias(f) - f->fraction;
}

static __always_inline u32 cnr_exponent_field(const struct cnr_format *f, u64 bits)
{
	return (u32)(bits >> f->fraction) & cnr_exponent_max(f);
}

/* Return: what kind of number @bits is */
static __always_inline enum cnr_special cnr_special(const struct cnr_format *f, u64 bits)
{
	if (cnr_exponent_field(f, bits) != cnr_exponent_max(f))
		return CNR_FINITE;
	if (bits & ((1ULL << f->fraction) - 1))
		return CNR_NAN;
	return bits >> (f->fraction + f->exponent) & 1 ? CNR_MINUS_INF : CNR_PLUS_INF;
}

/* Return: the finite number @bits */
static __always_inline struct cnr_number cnr_number(const struct cnr_format *f, u64 bits)
{
	u32 field = cnr_exponent_field(f, bits);
	struct cnr_number n = {
		.significand = bits & ((1ULL << f->fraction) - 1),
		.exponent = cnr_exponent_of(f, field),
		.negative = bits >> (f->fraction + f->exponent) & 1,
	};

	if (field)
		n.significand |= 1ULL << f->fraction;
	return n;
}

/* Return: how many numbers an element of @dtype has */
static inline u32 cnr_numbers_in(u8 dtype)
{
	return dtype == CANARY_COMPLEX64 || dtype == CANARY_COMPLEX128 ? 2 : 1;
}

/* Return: the type of these */
static inline u8 cnr_number_type(u8 dtype)
{
	switch (dtype) {
	case CANARY_COMPLEX64:
		return CANARY_FLOAT32;
	case CANARY_COMPLEX128:
		return CANARY_FLOAT64;
	default:
		return dtype;
	}
}

/* Return: how many numbers the vector of @op has */
static inline u32 cnr_numbers(const struct cnr_op *op)
{
	return op->elements * cnr_numbers_in(op->dtype);
}

/*
 * Integers of so many bytes (2, 4 or 8), which need not be aligned. Copies of constant length take
 * one instruction, others call memcpy().
 */
static __always_inline u64 cnr_bytes_at(u32 bytes, const void *from, u32 i)
{
	u64 bits = 0;

	if (bytes == 8)
		memcpy(&bits, (const u8 *)from + i * 8, 8);
	else if (bytes == 4)
		memcpy(&bits, (const u8 *)from + i * 4, 4);
	else
		memcpy(&bits, (const u8 *)from + i * 2, 2);
	return bits;
}

static __always_inline void cnr_bytes_put(u32 bytes, void *to, u32 i, u64 bits)
{
	if (bytes == 8)
		memcpy((u8 *)to + i * 8, &bits, 8);
	else if (bytes == 4)
		memcpy((u8 *)to + i * 4, &bits, 4);
	else
		memcpy((u8 *)to + i * 2, &bits, 2);
}

/* Numbers in vectors */
static __always_inline u64 cnr_bits_at(const struct cnr_format *f, const void *from, u32 i)
{
	return cnr_bytes_at(f->bytes, from, i);
}

static __always_inline void cnr_bits_put(const struct cnr_format *f, void *to, u32 i, u64 bits)
{
	cnr_bytes_put(f->bytes, to, i, bits);
}

/* Return: how many bits it takes to tell @n things apart: the logarithm, rounded up */
static inline u32 cnr_log2_up(u32 n)
{
	return n > 1 ? cnr_fls64(n - 1) : 0;
}

static inline u32 cnr_div_up(u32 n, u32 by)
{
	return n / by + (n % by ? 1 : 0);
}

/*
 * Marks: some of the things 0 .. @n - 1 are marked. The marked ones are found by their number among
 * themselves, in a time that hardly grows with @n. @counts are those of each CNR_MARKS things, as
 * a binary indexed tree: entry k - 1 has the sum of the last (k & -k) ones of the first k.
 */
#define CNR_MARKS	64	/* a power of two */

static inline size_t cnr_marks_bytes(u32 n)
{
	return cnr_div_up(n, CNR_MARKS) * sizeof(u32);
}

void cnr_marks_add(u32 *counts, u32 n, u32 i, u32 marks);
u32 cnr_marks_all(const u32 *counts, u32 n);
u32 cnr_marks_find(const u32 *counts, u32 n, u32 *number);

extern const struct cnr_encoding cnr_float_exact;
extern const struct cnr_encoding cnr_float_each;
extern const struct cnr_encoding cnr_float_groups;

/* float.c */
enum canary_method cnr_float_method(const struct cnr_op *op);
u64 cnr_order_key(const struct cnr_format *f, u64 bits, bool least);
u64 cnr_order_number(const struct cnr_format *f, u64 key, bool least);
void cnr_order_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);
void cnr_order_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);

/* ranks.c */
#define CNR_RANKS_ELEMENT	16	/* longest elements */
size_t cnr_ranks_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
			const struct cnr_op *op);
u64 cnr_ranks_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
		     const struct cnr_op *op);
void cnr_ranks_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
void cnr_ranks_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);
void cnr_ranks_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);
void cnr_ranks_store(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, const u32 *words);
void cnr_ranks_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words);

/* product.c */
void cnr_product_step(const struct cnr_op *op, void *to, const void *by);
void cnr_complex_step(const struct cnr_op *op, void *to, const void *by);

#define CNR_FLOAT_ORDER(operator, type, bytes, bits)					\
	{ .op = operator, .dtype = type, .kind = CANARY_KIND_MAX##bits, .element = bytes, \
	  .how = CANARY_HOW_FLOATS, .part = cnr_part_same, .encode = cnr_order_encode,	\
	  .finish = cnr_order_finish, .store = cnr_elements_store,			\
	  .serve = cnr_elements_serve }

/* @function: what is done in the order of ranks, see cnr_encoding.step */
#define CNR_RANKS(operator, type, bytes, function)					\
	{ .op = operator, .dtype = type, .kind = CANARY_KIND_ADD32,			\
	  .element = bytes, .method = CANARY_METHOD_RANKS, .how = CANARY_HOW_FLOATS,	\
	  .step = function, .memory = cnr_ranks_memory,					\
	  .blocks = cnr_ranks_blocks, .part = cnr_ranks_part,				\
	  .encode = cnr_ranks_encode, .finish = cnr_ranks_finish,			\
	  .store = cnr_ranks_store, .serve = cnr_ranks_serve }

#define CNR_FLOAT_SUM(operator, type, bytes)						\
	{ .op = operator, .dtype = type, .element = bytes, .how = CANARY_HOW_FLOATS,	\
	  .choose = cnr_float_choose }

/* The rows of a type of @bits bits; cnr_float_choose() is where they are (encoding.c) */
#define CNR_FLOATS(type, bits)								\
	CNR_FLOAT_SUM(CANARY_OP_SUM, type, (bits) / 8),					\
	CNR_FLOAT_SUM(CANARY_OP_AVG, type, (bits) / 8),					\
	CNR_RANKS(CANARY_OP_PROD, type, (bits) / 8, cnr_product_step),			\
	CNR_FLOAT_ORDER(CANARY_OP_MIN, type, (bits) / 8, bits),				\
	CNR_FLOAT_ORDER(CANARY_OP_MAX, type, (bits) / 8, bits)

/* The rows of a type of two such numbers */
#define CNR_COMPLEX(type, bytes)							\
	CNR_FLOAT_SUM(CANARY_OP_SUM, type, bytes),					\
	CNR_FLOAT_SUM(CANARY_OP_AVG, type, bytes),					\
	CNR_RANKS(CANARY_OP_PROD, type, bytes, cnr_complex_step)

#endif /* CANARY_CORE_FLOATS_H */
