// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: sums of floating-point numbers by shared exponents. Groups of elements that
 * follow each other in the vector share one.
 *
 * Blocks, in this order:
 *  1. The largest exponent fields of groups, by maximum.
 *  2. The data. Each element is a multiple of a unit that follows from the exponent of its group,
 *     and a lane has that integer with a bias. In a marked group, somebody has an infinity or a
 *     NaN. Its lanes count those instead, and its elements stay as they are.
 *  3. The largest exponent fields of marked groups, as if they had finite numbers only. These and
 *     the next ones are appended when the results of 1 are here.
 *  4. The data of marked groups, as if what is not finite were 0. With what 2 counted, they are
 *     complete.
 *
 * cnr_op.memory: see struct cnr_shared. No timers.
 */
#include "floats.h"

/**
 * struct cnr_shared - an operation
 * @wide:	bytes of an exponent field in a packet
 * @group:	elements of a group
 * @groups:	of the vector
 * @lane:	bits: 16, 21 (three in a word of 64), 32 or 64
 * @scale:	bits of the largest integer that a lane holds, without its sign
 * @room:	exponent fields that fit into a block
 * @each:	elements of a block of data
 * @maxima, @data: blocks of part 1 and of part 2
 * @marked:	how many groups are marked; known when part 1 is done
 * @before:	their marks
 * @exponents:	results of part 1
 * @finite:	results of part 3, for marked groups only
 * @special:	results of part 2: enum cnr_special of elements in marked groups, 2 bits each
 */
struct cnr_shared {
	const struct cnr_format *f;
	u32	wide;
	u32	group;
	u32	groups;
	u32	lane;
	u32	scale;
	u32	room;
	u32	each;
	u32	maxima;
	u32	data;
	u32	*marked;
	u32	*before;
	u8	*exponents;
	u8	*finite;
	u8	*special;
};

/* Return: bits of a lane */
static u32 cnr_shared_lane(const struct cnr_op *op, u32 members)
{
	switch (op->dtype) {
	case CANARY_FLOAT16:
		return members <= 128 ? 21 : 32;
	case CANARY_BFLOAT16:
		return members <= 16 ? 16 : members <= 512 ? 21 : 32;
	case CANARY_FLOAT32:
		return members <= (op->how & CANARY_HOW_NARROW ? 1024 : 128) ? 32 : 64;
	default:
		return 64;
	}
}

static u32 cnr_shared_group(const struct cnr_op *op, const struct cnr_encoding *e)
{
	if (e->method == CANARY_METHOD_EACH)
		return 1;
	return op->dtype == CANARY_FLOAT16 || op->dtype == CANARY_BFLOAT16 ? 32 : 16;
}

/* Return: how many lanes fit into @bytes */
static u32 cnr_lanes_in(const struct cnr_shared *x, u32 bytes)
{
	return x->lane == 21 ? bytes / 8 * 3 : bytes / (x->lane / 8);
}

/* Return: bytes of @lanes lanes */
static u32 cnr_lanes_bytes(const struct cnr_shared *x, u32 lanes)
{
	return x->lane == 21 ? cnr_div_up(lanes, 3) * 8 : (lanes * x->lane / 8 + 3) & ~3U;
}

/* Return: where the marks end, in bytes of memory */
static size_t cnr_shared_marks(const struct cnr_shared *x)
{
	return sizeof(u64) + ((cnr_marks_bytes(x->groups) + 7) & ~(size_t)7);
}

/* Find what is kept in @memory. */
static void cnr_shared_places(struct cnr_shared *x, u8 *memory)
{
	size_t fields = (size_t)x->groups * x->wide;

	x->marked = (u32 *)memory;
	x->before = (u32 *)(memory + sizeof(u64));
	x->exponents = memory + cnr_shared_marks(x);
	x->finite = x->exponents + fields;
	x->special = x->finite + fields;
}

static void cnr_shared_of(const struct cnr_comm *c, const struct cnr_op *op, struct cnr_shared *x)
{
	x->f = cnr_format(op->dtype);
	x->wide = x->f->exponent > 8 ? 2 : 1;
	x->group = cnr_shared_group(op, cnr_encoding_of(c, op));
	x->groups = cnr_div_up(op->elements, x->group);
	x->lane = cnr_shared_lane(op, c->cfg.members);
	x->scale = x->lane - 1 - cnr_log2_up(c->cfg.members);
	x->room = c->length / x->wide;
	x->each = cnr_lanes_in(x, c->length);
	x->maxima = cnr_div_up(x->groups, x->room);
	x->data = cnr_div_up(op->elements, x->each);
	if (op->memory)
		cnr_shared_places(x, op->memory);
}

static size_t cnr_shared_memory(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return cnr_shared_marks(&x) + 2 * (size_t)x.groups * x.wide + op->elements / 4 + 1;
}

/* ---- groups ---- */

static u32 cnr_field_at(const struct cnr_shared *x, const u8 *fields, u32 i)
{
	u32 field = fields[i * x->wide];

	return x->wide == 2 ? field | (u32)fields[i * 2 + 1] << 8 : field;
}

static void cnr_field_put(const struct cnr_shared *x, void *fields, u32 i, u32 field)
{
	memcpy((u8 *)fields + i * x->wide, &field, x->wide);
}

static bool cnr_is_marked_group(const struct cnr_shared *x, u32 group)
{
	return cnr_field_at(x, x->exponents, group) == cnr_exponent_max(x->f);
}

static bool cnr_is_marked(const void *x, u32 group)
{
	return cnr_is_marked_group(x, group);
}

static enum cnr_special cnr_special_of(const struct cnr_shared *x, u32 i)
{
	return x->special[i / 4] >> i % 4 * 2 & 3;
}

static void cnr_special_put(const struct cnr_shared *x, u32 i, enum cnr_special special)
{
	x->special[i / 4] &= ~(3 << i % 4 * 2);
	x->special[i / 4] |= special << i % 4 * 2;
}

/* ---- blocks ---- */

static u32 cnr_shared_blocks(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return x.maxima + x.data;
}

static u32 cnr_shared_settles(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return x.maxima;
}

/* Return: how many blocks parts 3 and 4 have with so many marked groups */
static u32 cnr_shared_append(const struct cnr_shared *x, u32 marked)
{
	return cnr_div_up(marked, x->room) + cnr_div_up(marked, x->each / x->group);
}

static u32 cnr_shared_more(const struct cnr_comm *c, const struct cnr_operation *o)
{
	struct cnr_shared x;

	cnr_shared_of(c, &o->op, &x);
	*x.marked = cnr_marks_count(x.before, x.groups, cnr_is_marked, &x);
	return cnr_shared_append(&x, *x.marked);
}

static u32 cnr_shared_most(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return cnr_shared_append(&x, x.groups);
}

/*
 * Which part is @p of? @p->first and @p->elements are then in groups (1), elements (2), marked
 * groups by number (3, 4).
 */
static u32 cnr_shared_cut(const struct cnr_operation *o, const struct cnr_shared *x,
			  struct cnr_part *p)
{
	u32 i = p->index, groups;

	p->after = 0;
	if (i < x->maxima) {
		p->first = i * x->room;
		p->elements = min_t(u32, x->room, x->groups - p->first);
		return 1;
	}
	i -= x->maxima;
	if (i < x->data) {
		p->first = i * x->each;
		p->elements = min_t(u32, x->each, o->op.elements - p->first);
		p->after = (p->first + p->elements - 1) / x->group / x->room + 1;
		return 2;
	}
	i -= x->data;
	if (i < cnr_div_up(*x->marked, x->room)) {
		p->first = i * x->room;
		p->elements = min_t(u32, x->room, *x->marked - p->first);
		return 3;
	}
	i -= cnr_div_up(*x->marked, x->room);
	groups = x->each / x->group;
	p->first = i * groups;
	p->elements = min_t(u32, groups, *x->marked - p->first);
	p->after = x->maxima + x->data + cnr_div_up(*x->marked, x->room);
	return 4;
}

static u32 cnr_shared_part_of(const struct cnr_operation *o, const struct cnr_shared *x,
			      struct cnr_part *p)
{
	u32 part = cnr_shared_cut(o, x, p);
	u32 lanes = part == 4 ? p->elements * x->group : p->elements;
	u32 unit = x->lane == 21 || x->lane == 64 ? 8 : 4;

	if (part & 1) {
		p->length = (p->elements * x->wide + 3) & ~3U;
		p->result = p->length;
		p->kind = x->wide == 2 ? CANARY_KIND_MAX16 : CANARY_KIND_MAX8;
	} else {
		p->length = cnr_lanes_bytes(x, lanes);
		p->result = (lanes * x->f->bytes + unit - 1) & ~(unit - 1);
		p->kind = unit == 8 ? CANARY_KIND_ADD64 : CANARY_KIND_ADD32;
	}
	return part;
}

static void cnr_shared_part(const struct cnr_comm *c, const struct cnr_operation *o,
			    struct cnr_part *p)
{
	struct cnr_shared x;

	cnr_shared_of(c, &o->op, &x);
	cnr_shared_part_of(o, &x, p);
}

/* ---- parts 1 and 3: exponents ---- */

/* Return: the elements of @group, which is @n long */
static const void *cnr_group_source(const struct cnr_operation *o, const struct cnr_shared *x,
				    u32 group, u32 *n)
{
	struct cnr_part p = { .first = group * x->group };

	*n = min_t(u32, x->group, o->op.elements - p.first);
	p.elements = *n;
	return cnr_vector_source(o, &p);
}

static u32 cnr_largest_field(const struct cnr_shared *x, const void *from, u32 n, bool finite)
{
	u32 i, field, largest = 0;

	for (i = 0; i < n; i++) {
		field = cnr_exponent_field(x->f, cnr_bits_at(x->f, from, i));
		if (finite && field == cnr_exponent_max(x->f))
			continue;
		largest = max_t(u32, largest, field);
	}
	return largest;
}

static void cnr_maxima_encode(const struct cnr_operation *o, const struct cnr_shared *x,
			      const struct cnr_part *p, u32 *words)
{
	const void *from;
	u32 i, n;

	for (i = 0; i < p->elements; i++) {
		from = cnr_group_source(o, x, p->first + i, &n);
		cnr_field_put(x, words, i, cnr_largest_field(x, from, n, false));
	}
}

static void cnr_finite_encode(const struct cnr_operation *o, const struct cnr_shared *x,
			      const struct cnr_part *p, u32 *words)
{
	u32 i, n, group = cnr_marks_find(x->before, x->groups, cnr_is_marked, x, p->first);
	const void *from;

	for (i = 0; i < p->elements; group++) {
		if (!cnr_is_marked_group(x, group))
			continue;
		from = cnr_group_source(o, x, group, &n);
		cnr_field_put(x, words, i++, cnr_largest_field(x, from, n, true));
	}
}

/* ---- parts 2 and 4: lanes ---- */

static void cnr_lane_write(const struct cnr_shared *x, void *words, u32 i, u64 lane)
{
	u64 three;

	if (x->lane == 21) {
		memcpy(&three, (u64 *)words + i / 3, sizeof(three));
		three |= lane << i % 3 * 21;
		memcpy((u64 *)words + i / 3, &three, sizeof(three));
		return;
	}
	memcpy((u8 *)words + i * (x->lane / 8), &lane, x->lane / 8);
}

static u64 cnr_lane_read(const struct cnr_shared *x, const void *words, u32 i)
{
	u64 lane = 0;

	if (x->lane == 21) {
		memcpy(&lane, (const u64 *)words + i / 3, sizeof(lane));
		return lane >> i % 3 * 21 & ((1 << 21) - 1);
	}
	memcpy(&lane, (const u8 *)words + i * (x->lane / 8), x->lane / 8);
	return lane;
}

/* Return: the exponent of the unit of a group whose largest exponent field is @field */
static s32 cnr_unit(const struct cnr_shared *x, u32 field)
{
	return max_t(s32, (s32)max_t(u32, field, 1) - cnr_bias(x->f) + 1 - (s32)x->scale,
		     cnr_exponent_of(x->f, 0));
}

/* Return: the lane of the number @bits, in units of 2^@unit */
static u64 cnr_number_lane(const struct cnr_shared *x, u64 bits, s32 unit)
{
	struct cnr_number n = cnr_number(x->f, bits);
	const u64 bias = 1ULL << x->scale;
	s32 shift = unit - n.exponent;
	u64 k, rest, half;

	if (shift <= 0) {
		k = -shift < 64 ? n.significand << -shift : 0;
	} else if (shift > 63) {
		k = 0;
	} else {
		half = 1ULL << (shift - 1);
		rest = n.significand & ((half << 1) - 1);
		k = n.significand >> shift;
		k += rest > half || (rest == half && k & 1);
	}
	k = min_t(u64, k, bias - 1);
	return n.negative ? bias - k : bias + k;
}

/* Half of a lane counts ranks with +infinity or a NaN, the other half those with -infinity or one. */
static u64 cnr_count_lane(const struct cnr_shared *x, enum cnr_special special)
{
	return (special & CNR_PLUS_INF ? 1 : 0) |
	       (special & CNR_MINUS_INF ? 1ULL << x->lane / 2 : 0);
}

static enum cnr_special cnr_counted(const struct cnr_shared *x, u64 lane)
{
	return (lane & ((1ULL << x->lane / 2) - 1) ? CNR_PLUS_INF : 0) |
	       (lane >> x->lane / 2 ? CNR_MINUS_INF : 0);
}

static void cnr_data_encode(const struct cnr_operation *o, const struct cnr_shared *x,
			    const struct cnr_part *p, u32 *words)
{
	const void *from = cnr_vector_source(o, p);
	u32 i, group = p->first / x->group, left = x->group - p->first % x->group;
	u32 field = cnr_field_at(x, x->exponents, group);
	s32 unit = cnr_unit(x, field);
	u64 bits;

	for (i = 0; i < p->elements; i++) {
		if (!left--) {
			left = x->group - 1;
			field = cnr_field_at(x, x->exponents, ++group);
			unit = cnr_unit(x, field);
		}
		bits = cnr_bits_at(x->f, from, i);
		cnr_lane_write(x, words, i, field == cnr_exponent_max(x->f) ?
			       cnr_count_lane(x, cnr_special(x->f, bits)) :
			       cnr_number_lane(x, bits, unit));
	}
}

static void cnr_marked_encode(const struct cnr_operation *o, const struct cnr_shared *x,
			      const struct cnr_part *p, u32 *words)
{
	u32 i, k, n, group = cnr_marks_find(x->before, x->groups, cnr_is_marked, x, p->first);
	const void *from;
	u64 bits;
	s32 unit;

	for (i = 0; i < p->elements; group++) {
		if (!cnr_is_marked_group(x, group))
			continue;
		from = cnr_group_source(o, x, group, &n);
		unit = cnr_unit(x, cnr_field_at(x, x->finite, p->first + i));
		for (k = 0; k < n; k++) {
			bits = cnr_bits_at(x->f, from, k);
			if (cnr_special(x->f, bits))
				bits = 0;
			cnr_lane_write(x, words, i * x->group + k, cnr_number_lane(x, bits, unit));
		}
		i++;
	}
}

static void cnr_shared_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_part *p, u32 *words)
{
	struct cnr_shared x;
	struct cnr_part cut = *p;

	cnr_shared_of(c, &o->op, &x);
	memset(words, 0, p->length);
	switch (cnr_shared_cut(o, &x, &cut)) {
	case 1:
		cnr_maxima_encode(o, &x, p, words);
		break;
	case 2:
		cnr_data_encode(o, &x, p, words);
		break;
	case 3:
		cnr_finite_encode(o, &x, p, words);
		break;
	default:
		cnr_marked_encode(o, &x, p, words);
		break;
	}
}

/* ---- sums ---- */

/* Return: the sum, or the average, that the lanes of all members add up to */
static u64 cnr_sum_of(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_shared *x, u64 lane, s32 unit)
{
	u64 bias = (u64)c->cfg.members << x->scale;
	struct cnr_number n = { .exponent = unit, .negative = lane < bias };

	n.significand = n.negative ? bias - lane : lane - bias;
	if (o->op.op == CANARY_OP_AVG)
		cnr_number_divide(&n, c->cfg.members);
	return cnr_round(x->f, n);
}

/* Numbers are not longer than lanes, so they are written behind where lanes are read. */
static void cnr_data_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			    const struct cnr_shared *x, const struct cnr_part *p, u32 *words)
{
	enum cnr_special special;
	u32 i, field;
	u64 lane;

	for (i = 0; i < p->elements; i++) {
		field = cnr_field_at(x, x->exponents, (p->first + i) / x->group);
		lane = cnr_lane_read(x, words, i);
		if (field != cnr_exponent_max(x->f)) {
			lane = cnr_sum_of(c, o, x, lane, cnr_unit(x, field));
		} else {
			special = cnr_counted(x, lane);
			lane = special ? cnr_special_bits(x->f, special) : 0;
		}
		cnr_bits_put(x->f, words, i, lane);
	}
}

static void cnr_marked_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_shared *x, const struct cnr_part *p, u32 *words)
{
	u32 i, k, group = cnr_marks_find(x->before, x->groups, cnr_is_marked, x, p->first);
	enum cnr_special special;
	u64 lane;
	s32 unit;

	for (i = 0; i < p->elements; group++) {
		if (!cnr_is_marked_group(x, group))
			continue;
		unit = cnr_unit(x, cnr_field_at(x, x->finite, p->first + i));
		for (k = i * x->group; k < (i + 1) * x->group; k++) {
			lane = cnr_lane_read(x, words, k);
			special = CNR_FINITE;
			if (group * x->group + k % x->group < o->op.elements)
				special = cnr_special_of(x, group * x->group + k % x->group);
			else
				lane = (u64)c->cfg.members << x->scale;
			cnr_bits_put(x->f, words, k,
				     special ? cnr_special_bits(x->f, special) :
				     cnr_sum_of(c, o, x, lane, unit));
		}
		i++;
	}
}

static void cnr_shared_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_part *p, u32 *words)
{
	struct cnr_part cut = *p;
	struct cnr_shared x;
	u32 bytes;

	cnr_shared_of(c, &o->op, &x);
	switch (cnr_shared_cut(o, &x, &cut)) {
	case 2:
		cnr_data_finish(c, o, &x, p, words);
		bytes = p->elements * x.f->bytes;
		break;
	case 4:
		cnr_marked_finish(c, o, &x, p, words);
		bytes = p->elements * x.group * x.f->bytes;
		break;
	default:
		return;
	}
	memset((u8 *)words + bytes, 0, p->result - bytes);
}

/* ---- results ---- */

/* Return: how many elements of the group of element @i are left in @p, from there on */
static u32 cnr_group_left(const struct cnr_shared *x, const struct cnr_part *p, u32 i)
{
	return min_t(u32, x->group - (p->first + i) % x->group, p->elements - i);
}

/* Elements of marked groups stay as they are. It is noted which of them are special. */
static void cnr_data_store(const struct cnr_operation *o, const struct cnr_shared *x,
			   const struct cnr_part *p, const u32 *words)
{
	u8 *to = cnr_vector(o, p, CNR_USE_RESULT);
	u32 i, n, size = x->f->bytes;

	for (i = 0; i < p->elements; i += n) {
		n = cnr_group_left(x, p, i);
		if (!cnr_is_marked_group(x, (p->first + i) / x->group)) {
			memcpy(to + i * size, (const u8 *)words + i * size, n * size);
			continue;
		}
		n = 1;
		cnr_special_put(x, p->first + i,
				cnr_special(x->f, cnr_bits_at(x->f, words, i)));
	}
}

static void cnr_data_serve(const struct cnr_operation *o, const struct cnr_shared *x,
			   const struct cnr_part *p, u32 *words)
{
	enum cnr_special special;
	u32 i, n;

	memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->elements * x->f->bytes);
	for (i = 0; i < p->elements; i += n) {
		n = cnr_group_left(x, p, i);
		if (!cnr_is_marked_group(x, (p->first + i) / x->group))
			continue;
		n = 1;
		special = cnr_special_of(x, p->first + i);
		cnr_bits_put(x->f, words, i, special ? cnr_special_bits(x->f, special) : 0);
	}
}

/* Copy the groups of @p to @words, or from them. */
static void cnr_marked_copy(const struct cnr_operation *o, const struct cnr_shared *x,
			    const struct cnr_part *p, u32 *words, enum cnr_use use)
{
	u32 i, group = cnr_marks_find(x->before, x->groups, cnr_is_marked, x, p->first);
	struct cnr_part one;
	void *elements, *at;

	for (i = 0; i < p->elements; group++) {
		if (!cnr_is_marked_group(x, group))
			continue;
		one.first = group * x->group;
		one.elements = min_t(u32, x->group, o->op.elements - one.first);
		elements = cnr_vector(o, &one, use);
		at = (u8 *)words + i++ * x->group * x->f->bytes;
		if (use == CNR_USE_RESULT)
			memcpy(elements, at, one.elements * x->f->bytes);
		else
			memcpy(at, elements, one.elements * x->f->bytes);
	}
}

static void cnr_shared_store(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, const u32 *words)
{
	struct cnr_part cut = *p;
	struct cnr_shared x;

	cnr_shared_of(c, &o->op, &x);
	switch (cnr_shared_cut(o, &x, &cut)) {
	case 1:
		memcpy(x.exponents + p->first * x.wide, words, p->elements * x.wide);
		break;
	case 2:
		cnr_data_store(o, &x, p, words);
		break;
	case 3:
		memcpy(x.finite + p->first * x.wide, words, p->elements * x.wide);
		break;
	default:
		cnr_marked_copy(o, &x, p, (u32 *)words, CNR_USE_RESULT);
		break;
	}
}

static void cnr_shared_serve(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, u32 *words)
{
	struct cnr_part cut = *p;
	struct cnr_shared x;

	cnr_shared_of(c, &o->op, &x);
	memset(words, 0, p->result);
	switch (cnr_shared_cut(o, &x, &cut)) {
	case 1:
		memcpy(words, x.exponents + p->first * x.wide, p->elements * x.wide);
		break;
	case 2:
		cnr_data_serve(o, &x, p, words);
		break;
	case 3:
		memcpy(words, x.finite + p->first * x.wide, p->elements * x.wide);
		break;
	default:
		cnr_marked_copy(o, &x, p, words, CNR_USE_SERVE);
		break;
	}
}

#define CNR_SHARED(how)									\
	{ .method = how, .memory = cnr_shared_memory, .blocks = cnr_shared_blocks,	\
	  .settles = cnr_shared_settles, .more = cnr_shared_more,			\
	  .most = cnr_shared_most, .part = cnr_shared_part,				\
	  .encode = cnr_shared_encode, .finish = cnr_shared_finish,			\
	  .store = cnr_shared_store, .serve = cnr_shared_serve }

const struct cnr_encoding cnr_float_each = CNR_SHARED(CANARY_METHOD_EACH);
const struct cnr_encoding cnr_float_groups = CNR_SHARED(CANARY_METHOD_GROUPS);
