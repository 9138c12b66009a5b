/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the data of one packet of float_shared.c. Numbers become lanes and sums of lanes
 * become numbers, where groups of elements share a unit. float_lanes.c does it number by number,
 * float_vector.h for several at a time, and float_packet.c chooses.
 */
#ifndef CANARY_CORE_FLOAT_LANES_H
#define CANARY_CORE_FLOAT_LANES_H

#include "floats.h"

/**
 * struct cnr_lanes - how a vector is cut into lanes
 * @dtype:	enum canary_dtype of a number
 * @average:	results are averages
 * @wide:	bytes of an exponent field
 * @lane:	bits: 16, 21 (three in a word of 64), 32 or 64
 * @half:	bits of the lower one of two counts in a lane
 * @scale:	bits of the largest integer that a lane holds, without its sign
 * @members:	of the communicator
 * @group:	elements of a group
 * @fields:	largest exponent fields of the groups of the vector. If all bits of one are set, the
 *		group is marked: its lanes count what is not finite
 */
struct cnr_lanes {
	const struct cnr_format *f;
	u8	dtype;
	bool	average;
	u8	wide;
	u8	lane;
	u8	half;
	u8	scale;
	u32	members;
	u32	group;
	u8	*fields;
};

static __always_inline u32 cnr_field_at(const struct cnr_lanes *l, const u8 *fields, u32 i)
{
	u32 field = fields[i * l->wide];

	return l->wide == 2 ? field | (u32)fields[i * 2 + 1] << 8 : field;
}

/* Return: the exponent of the unit of a group whose largest exponent field is @field */
static __always_inline s32 cnr_unit(const struct cnr_lanes *l, u32 field)
{
	return max_t(s32, (s32)max_t(u32, field, 1) - cnr_bias(l->f) + 1 - l->scale,
		     cnr_exponent_of(l->f, 0));
}

/* Return: how many of @n elements, from @first of the vector on, belong to the group of @first */
static __always_inline u32 cnr_group_left(const struct cnr_lanes *l, u32 first, u32 n)
{
	return min_t(u32, l->group - first % l->group, n);
}

/* float_lanes.c */
void cnr_lanes_init(struct cnr_lanes *l, u8 dtype, u8 how, u32 members);
u32 cnr_lanes_in(const struct cnr_lanes *l, u32 bytes);
u32 cnr_lanes_bytes(const struct cnr_lanes *l, u32 lanes);
u32 cnr_largest_field(const struct cnr_lanes *l, const void *from, u32 n, bool finite);
void cnr_lanes_put(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 n,
		   s32 unit, bool finite);
void cnr_lanes_count(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 n);
void cnr_lanes_sum(const struct cnr_lanes *l, void *words, u32 at, u32 n, s32 unit);
void cnr_lanes_counted(const struct cnr_lanes *l, void *words, u32 at, u32 n);
void cnr_groups_encode(const struct cnr_lanes *l, void *words, u32 at, const void *from, u32 first,
		       u32 n);
void cnr_groups_finish(const struct cnr_lanes *l, void *words, u32 at, u32 first, u32 n);

/* float_packet.c */
void cnr_lanes_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n);
void cnr_lanes_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n);
bool cnr_lanes_total(const struct cnr_lanes *l, void *to, const void *others, const void *from,
		     u32 first, u32 n, u32 *sum);
void cnr_lanes_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n);

/*
 * The same with the vector unit, for lanes that cnr_lanes_kinds has. Context: between
 * cnr_vector_begin() and cnr_vector_end(). The functions with _total return the checksum.
 */
#define CNR_VECTOR_FUNCTIONS(set)							\
	void cnr_##set##_encode(const struct cnr_lanes *l, void *words, const void *from,	\
				u32 first, u32 n);					\
	void cnr_##set##_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n);	\
	u32 cnr_##set##_total(const struct cnr_lanes *l, void *to, const void *others,		\
			      const void *from, u32 first, u32 n);			\
	void cnr_##set##_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)

CNR_VECTOR_FUNCTIONS(avx2);	/* float_avx2.c */
CNR_VECTOR_FUNCTIONS(avx512);	/* float_avx512.c */
CNR_VECTOR_FUNCTIONS(neon);	/* float_neon.c */

/* What lanes are, as one number */
#define CNR_LANES_KEY(dtype, lane, group)	((dtype) << 16 | (lane) << 8 | (group))

/*
 * Lanes that there is vector code for: @kind(type, bits, elements of a group). Those of 21 bits are
 * unpacked to 32 and packed again.
 */
#define CNR_LANES_KINDS(kind)								\
	kind(CANARY_FLOAT32, 32, 16)							\
	kind(CANARY_FLOAT32, 32, 8)							\
	kind(CANARY_FLOAT32, 32, 4)							\
	kind(CANARY_FLOAT32, 32, 1)							\
	kind(CANARY_FLOAT32, 64, 16)							\
	kind(CANARY_FLOAT32, 64, 1)							\
	kind(CANARY_FLOAT64, 64, 16)							\
	kind(CANARY_FLOAT64, 64, 8)							\
	kind(CANARY_FLOAT64, 64, 4)							\
	kind(CANARY_FLOAT64, 64, 1)							\
	kind(CANARY_BFLOAT16, 16, 8)							\
	kind(CANARY_BFLOAT16, 16, 1)							\
	kind(CANARY_BFLOAT16, 32, 16)							\
	kind(CANARY_BFLOAT16, 32, 32)							\
	kind(CANARY_BFLOAT16, 32, 1)							\
	kind(CANARY_FLOAT16, 32, 8)							\
	kind(CANARY_FLOAT16, 32, 32)							\
	kind(CANARY_FLOAT16, 32, 1)

#endif /* CANARY_CORE_FLOAT_LANES_H */
