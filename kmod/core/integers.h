/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the rows of the table of encodings for integers (encoding.c, integers.c).
 *
 *  - Words are elements: sums, products, XOR, OR, maxima of unsigned types.
 *  - Words are elements XOR a mask: so minima and maxima of signed types become unsigned maxima,
 *    and AND becomes OR.
 *  - Truth: lanes are 0 or 1.
 *  - Averages and saturated sums: lanes are wide enough for the exact sum. Elements of 64 bits have
 *    two lanes, for the lower and the higher half.
 *
 * Leaders make elements of what all have contributed. So results are elements.
 */
#ifndef CANARY_CORE_INTEGERS_H
#define CANARY_CORE_INTEGERS_H

#include "blocks.h"

void cnr_masked_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words);
void cnr_masked_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words);
void cnr_truth_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);
void cnr_truth_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);
const struct cnr_encoding *cnr_sum_choose(const struct cnr_comm *c, const struct cnr_op *op);
void cnr_wide_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
void cnr_wide_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words);
void cnr_saturate_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			 const struct cnr_part *p, u32 *words);
void cnr_average_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);
void cnr_elements_store(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, const u32 *words);
void cnr_elements_serve(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);

#define CNR_PLAIN(operator, type, bytes, combine)					\
	{ .op = operator, .dtype = type, .kind = combine, .element = bytes }

#define CNR_MASKED(operator, type, bytes, combine, bits)				\
	{ .op = operator, .dtype = type, .kind = combine, .element = bytes,		\
	  .mask = bits, .part = cnr_part_same, .encode = cnr_masked_encode,		\
	  .finish = cnr_masked_finish, .store = cnr_elements_store,			\
	  .serve = cnr_elements_serve }

/* @invert: 1 if what is combined is whether elements are 0 */
#define CNR_TRUTH(operator, type, bytes, combine, invert)				\
	{ .op = operator, .dtype = type, .kind = combine, .element = bytes,		\
	  .mask = invert, .part = cnr_part_same, .encode = cnr_truth_encode,		\
	  .finish = cnr_truth_finish, .store = cnr_elements_store,			\
	  .serve = cnr_elements_serve }

/* Kinds of wide lanes, by bits of an element there. 65535 elements of 16 bits add up to 32 bits. */
#define CNR_WIDE_32	CANARY_KIND_ADD32
#define CNR_WIDE_64	CANARY_KIND_ADD64
#define CNR_WIDE_128	CANARY_KIND_ADD64	/* two lanes */

#define CNR_WIDE(bits)									\
	.kind = CNR_WIDE_##bits, .lane = (bits) / 8, .part = cnr_wide_part,		\
	.encode = cnr_wide_encode, .store = cnr_elements_store, .serve = cnr_elements_serve

#define CNR_AVERAGE(type, bytes, bits)							\
	{ .op = CANARY_OP_AVG, .dtype = type, .element = bytes,				\
	  .finish = cnr_average_finish, CNR_WIDE(bits) }

#define CNR_SUM(type, bytes, bits)							\
	{ .op = CANARY_OP_SUM, .dtype = type, .kind = CANARY_KIND_ADD##bits,		\
	  .element = bytes, .how = CANARY_HOW_SATURATE, .choose = cnr_sum_choose }

/* What holds for signed and unsigned types of @bits bits; @wide: bits of the lanes of averages */
#define CNR_INTEGERS_OF(type, bits, wide)						\
	CNR_SUM(type, (bits) / 8, bits),						\
	CNR_PLAIN(CANARY_OP_PROD, type, (bits) / 8, CANARY_KIND_MUL##bits),		\
	CNR_PLAIN(CANARY_OP_OR, type, (bits) / 8, CANARY_KIND_OR),			\
	CNR_PLAIN(CANARY_OP_XOR, type, (bits) / 8, CANARY_KIND_XOR),			\
	CNR_MASKED(CANARY_OP_AND, type, (bits) / 8, CANARY_KIND_OR, ~0ULL),		\
	CNR_TRUTH(CANARY_OP_LAND, type, (bits) / 8, CANARY_KIND_OR, 1),			\
	CNR_TRUTH(CANARY_OP_LOR, type, (bits) / 8, CANARY_KIND_OR, 0),			\
	CNR_TRUTH(CANARY_OP_LXOR, type, (bits) / 8, CANARY_KIND_XOR, 0),		\
	CNR_AVERAGE(type, (bits) / 8, wide)

/* @high: the highest bit of each lane in 64 bits */
#define CNR_INTEGERS(bits, wide, high)							\
	CNR_INTEGERS_OF(CANARY_INT##bits, bits, wide),					\
	CNR_MASKED(CANARY_OP_MAX, CANARY_INT##bits, (bits) / 8, CANARY_KIND_MAX##bits,	\
		   high),								\
	CNR_MASKED(CANARY_OP_MIN, CANARY_INT##bits, (bits) / 8, CANARY_KIND_MAX##bits,	\
		   ~(high)),								\
	CNR_INTEGERS_OF(CANARY_UINT##bits, bits, wide),					\
	CNR_PLAIN(CANARY_OP_MAX, CANARY_UINT##bits, (bits) / 8, CANARY_KIND_MAX##bits),	\
	CNR_MASKED(CANARY_OP_MIN, CANARY_UINT##bits, (bits) / 8, CANARY_KIND_MAX##bits,	\
		   ~0ULL)

#endif /* CANARY_CORE_INTEGERS_H */
