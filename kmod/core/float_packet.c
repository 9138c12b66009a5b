// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: the data of one packet of float_shared.c, eight numbers at a time where the
 * vector unit may be used (float_avx2.c), else one by one (float_lanes.c). No state, no timers.
 */
#include "float_lanes.h"

/* Elements of the vector from @first on, which are at @from, become lanes. */
void cnr_lanes_encode(const struct cnr_lanes *l, void *words, const void *from, u32 first, u32 n)
{
	u32 i, some, field;
	const u8 *at;
	bool done;

	if (cnr_avx2_can(l) && cnr_vector_begin(n)) {
		done = cnr_avx2_encode(l, words, from, first, n);
		cnr_vector_end();
		if (done)
			return;
	}
	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		at = (const u8 *)from + i * l->f->bytes;
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_count(l, words, i, at, some);
		else
			cnr_lanes_put(l, words, i, at, some, cnr_unit(l, field), false);
	}
}

/* The same lanes of all members, added up, become results. */
void cnr_lanes_finish(const struct cnr_lanes *l, void *words, u32 first, u32 n)
{
	u32 i, some, field;
	bool done;

	if (cnr_avx2_can(l) && cnr_vector_begin(n)) {
		done = cnr_avx2_finish(l, words, first, n);
		cnr_vector_end();
		if (done)
			return;
	}
	for (i = 0; i < n; i += some) {
		some = cnr_group_left(l, first + i, n - i);
		field = cnr_field_at(l, l->fields, (first + i) / l->group);
		if (field == cnr_exponent_max(l->f))
			cnr_lanes_counted(l, words, i, some);
		else
			cnr_lanes_sum(l, words, i, some, cnr_unit(l, field));
	}
}

/* The largest exponent fields of groups: @n elements, of which the first one begins a group */
void cnr_lanes_fields(const struct cnr_lanes *l, u8 *fields, const void *from, u32 n)
{
	u32 i, some, field;
	bool done;

	if (cnr_avx2_can(l) && cnr_vector_begin(n)) {
		done = cnr_avx2_fields(l, fields, from, n);
		cnr_vector_end();
		if (done)
			return;
	}
	for (i = 0; i < n; i += some) {
		some = min_t(u32, l->group, n - i);
		field = cnr_largest_field(l, (const u8 *)from + i * l->f->bytes, some, false);
		memcpy(fields, &field, l->wide);
		fields += l->wide;
	}
}
