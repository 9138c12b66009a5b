/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the largest exponent fields of groups, ahead of the data. Part of
 * float_vector.h.
 */
#ifndef CANARY_CORE_FLOAT_FIELDS_H
#define CANARY_CORE_FLOAT_FIELDS_H

#include "float_vectors.h"

/*
 * Return: vector @i of magnitudes. Numbers of 16 bits are two in a word, where the larger one
 * counts, unless each has a group of its own. Of 64 bits, the upper half counts.
 */
static __always_inline cnr_vu cnr_magnitudes(const u8 type, const u32 group, const u8 *from,
					     size_t i)
{
	const u32 bytes = cnr_formats[type].bytes;
	cnr_vu two;

	if (bytes == 8)
		return cnr_upper_halves(from + i * 2 * CNR_BYTES) & ~0U >> 1;
	if (bytes == 4)
		return *(const cnr_vu *)(from + i * CNR_BYTES) & ~0U >> 1;
	if (group == 1)
		return cnr_longer(*(const cnr_vh *)(from + i * CNR_BYTES / 2)) & 0x7fff;
	two = *(const cnr_vu *)(from + i * CNR_BYTES) & 0x7fff7fff;
	return cnr_larger(two & 0xffff, two >> 16);
}

/* Return: the largest ones of @n vectors from @i on */
static __always_inline cnr_vu cnr_magnitudes_of(const u8 type, const u32 group, const u8 *from,
						size_t i, const u32 n)
{
	cnr_vu largest = cnr_magnitudes(type, group, from, i * n);
	u32 k;

#pragma GCC unroll 4
	for (k = 1; k < n; k++)
		largest = cnr_larger(largest, cnr_magnitudes(type, group, from, i * n + k));
	return largest;
}

/* Of each four from vector @i on */
static __always_inline cnr_vu cnr_fours(const u8 type, const u32 group, const u8 *from, size_t i,
					const u32 n)
{
	return cnr_quads(cnr_magnitudes_of(type, group, from, i, n),
			 cnr_magnitudes_of(type, group, from, i + 1, n),
			 cnr_magnitudes_of(type, group, from, i + 2, n),
			 cnr_magnitudes_of(type, group, from, i + 3, n));
}

/* Return: the largest magnitudes of CNR_W groups at @from */
static __always_inline cnr_vu cnr_largest(const u8 type, const u32 group, const u8 *from)
{
	/* Words of a group, vectors that make one, and words of a group then */
	const u32 words = cnr_formats[type].bytes == 2 && group > 1 ? group / 2 : group;
	const u32 n = words > CNR_W ? words / CNR_W : 1, left = words / n;

	if (left == 1)
		return cnr_magnitudes(type, group, from, 0);
	if (left == 4)
		return cnr_fours(type, group, from, 0, n);
	if (left == 8)
		return cnr_pairs(cnr_fours(type, group, from, 0, n),
				 cnr_fours(type, group, from, 4, n));
	return cnr_quads(cnr_fours(type, group, from, 0, n), cnr_fours(type, group, from, 4, n),
			 cnr_fours(type, group, from, 8, n), cnr_fours(type, group, from, 12, n));
}

/* The fields of CNR_W groups at @from */
static __always_inline void cnr_fields_put(const u8 type, const u32 group, u8 *fields,
					   const u8 *from)
{
	const struct cnr_format *f = &cnr_formats[type];
	cnr_vu x = cnr_largest(type, group, from);

	x >>= f->fraction - (f->bytes == 8 ? 32 : 0);
	if (f->exponent > 8)
		*(cnr_vh *)fields = cnr_narrow(x);
	else
		*(cnr_vb *)fields = cnr_bytes_of(x);
}

/* Return: how many of @n elements have their fields now */
static __always_inline u32 cnr_fields_as(const u8 type, const u32 group, u8 *fields,
					 const u8 *from, u32 n)
{
	const u32 bytes = cnr_formats[type].bytes, wide = cnr_formats[type].exponent > 8 ? 2 : 1;
	const u32 some = CNR_W * group, whole = n & ~(group - 1);
	u32 i = 0;

	if (whole < some)
		return 0;
	/* The last ones may be done twice. */
	for (; i < whole; i += some) {
		i = min_t(u32, i, whole - some);
		cnr_fields_put(type, group, fields + i / group * wide, from + (size_t)i * bytes);
	}
	return whole;
}

#define CNR_FIELDS_CASE(dtype, bits, size)						\
	case CNR_LANES_KEY(dtype, bits, size):						\
		return cnr_fields_as(dtype, size, fields, from, n);

static CNR_APART u32 cnr_fields_of(u32 key, u8 *fields, const u8 *from, u32 n)
{
	switch (key) {
	CNR_LANES_KINDS(CNR_FIELDS_CASE)
	default:
		return 0;
	}
}

#endif /* CANARY_CORE_FLOAT_FIELDS_H */
