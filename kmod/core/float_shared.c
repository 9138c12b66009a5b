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
#include "float_lanes.h"

/**
 * struct cnr_shared - an operation
 * @l:		its lanes; cnr_lanes.fields are results of part 1
 * @size:	bytes of a number
 * @numbers:	of the vector
 * @groups:	of the vector
 * @room:	exponent fields that fit into a block
 * @each:	elements of a block of data
 * @share:	elements whose exponents are in one block
 * @maxima:	blocks of part 1
 * @data:	blocks of part 2
 * @whole:	those of them that are full: all but the last one
 * @even:	the results of full blocks of data are words of the vector
 * @marked:	how many groups are marked, of those that are known; all are when part 1 is done
 * @marks:	which ones, counted while results of part 1 are stored
 * @finite:	results of part 3, for marked groups only
 * @special:	results of part 2: enum cnr_special of elements in marked groups, 2 bits each
 *
 * It is at the beginning of cnr_op.memory. What it points to follows.
 */
struct cnr_shared {
	struct cnr_lanes l;
	u32	size;
	u32	numbers;
	u32	groups;
	u32	room;
	u32	each;
	u32	share;
	u32	maxima;
	u32	data;
	u32	whole;
	bool	even;
	u32	marked;
	u32	*marks;
	u8	*finite;
	u8	*special;
};

/* Describe @elements of data. */
static void cnr_data_part(const struct cnr_shared *x, struct cnr_part *p, u32 elements)
{
	const u32 unit = x->l.lane == 21 || x->l.lane == 64 ? 8 : 4;

	p->elements = elements;
	p->length = cnr_lanes_bytes(&x->l, elements);
	p->result = (elements * x->l.f->bytes + unit - 1) & ~(unit - 1);
	p->kind = unit == 8 ? CANARY_KIND_ADD64 : CANARY_KIND_ADD32;
}

/* Fill in all that follows from @op and the communicator. */
static void cnr_shared_of(const struct cnr_comm *c, const struct cnr_op *op, struct cnr_shared *x)
{
	struct cnr_lanes *l = &x->l;

	cnr_lanes_init(l, cnr_number_type(op->dtype), op->how, cnr_addends(c, op));
	l->average = op->op == CANARY_OP_AVG;
	if (cnr_float_method(op) == CANARY_METHOD_EACH)
		l->group = 1;
	x->size = l->f->bytes;
	x->numbers = cnr_numbers(op);
	x->groups = cnr_div_up(x->numbers, l->group);
	x->room = c->length / l->wide;
	x->each = cnr_lanes_in(l, c->length);
	x->share = x->room * l->group;
	x->maxima = cnr_div_up(x->groups, x->room);
	x->data = cnr_div_up(x->numbers, x->each);
	x->whole = x->data - 1;
}

/* Return: where the marks end, in bytes of memory */
static size_t cnr_shared_marks(const struct cnr_shared *x)
{
	return sizeof(*x) + ((cnr_marks_bytes(x->groups) + 7) & ~(size_t)7);
}

/* Fill in what is kept of @op. */
static void cnr_shared_begin(const struct cnr_comm *c, const struct cnr_op *op,
			     struct cnr_shared *x)
{
	struct cnr_part full;
	size_t fields;

	cnr_shared_of(c, op, x);
	fields = (size_t)x->groups * x->l.wide;
	x->marks = (u32 *)(x + 1);
	x->l.fields = (u8 *)x + cnr_shared_marks(x);
	x->finite = x->l.fields + fields;
	x->special = x->finite + fields;
	cnr_data_part(x, &full, x->each);
	x->even = full.result == x->each * x->size;
}

/* Return: what is kept of @o. It is filled in when it is first asked for. */
static __always_inline struct cnr_shared *cnr_shared(const struct cnr_comm *c,
						     const struct cnr_operation *o)
{
	struct cnr_shared *x = o->op.memory;

	if (!x->l.f)
		cnr_shared_begin(c, &o->op, x);
	return x;
}

static size_t cnr_shared_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
				const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return cnr_shared_marks(&x) + 2 * (size_t)x.groups * x.l.wide + x.numbers / 4 + 1;
}

/* ---- groups ---- */

static bool cnr_is_marked_group(const struct cnr_shared *x, u32 group)
{
	return cnr_field_at(&x->l, x->l.fields, group) == cnr_exponent_max(x->l.f);
}

/* Is any of the groups of elements @first to @first + @n - 1 marked? */
static CNR_APART bool cnr_look_for_marked(const struct cnr_shared *x, u32 first, u32 n)
{
	u32 group, end = (first + n - 1) / x->l.group;

	for (group = first / x->l.group; group <= end; group++)
		if (cnr_is_marked_group(x, group))
			return true;
	return false;
}

/* The same. The fields of all of them are known */
static __always_inline bool cnr_has_marked(const struct cnr_shared *x, u32 first, u32 n)
{
	return x->marked && cnr_look_for_marked(x, first, n);
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

static u64 cnr_shared_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
			     const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return (u64)x.maxima + x.data;
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
	return cnr_div_up(marked, x->room) + cnr_div_up(marked, x->each / x->l.group);
}

static u32 cnr_shared_more(const struct cnr_comm *c, const struct cnr_operation *o)
{
	const struct cnr_shared *x = cnr_shared(c, o);

	return cnr_shared_append(x, x->marked);
}

static u64 cnr_shared_most(const struct cnr_comm *c, const struct cnr_op *op)
{
	struct cnr_shared x;

	cnr_shared_of(c, op, &x);
	return cnr_shared_append(&x, x.groups);
}

/* Return: which part @p is of */
static __always_inline u32 cnr_shared_of_part(const struct cnr_shared *x, const struct cnr_part *p)
{
	if (p->index - x->maxima < x->data)
		return 2;
	if (p->index < x->maxima)
		return 1;
	return p->index - x->maxima - x->data < cnr_div_up(x->marked, x->room) ? 3 : 4;
}

/* Parts 1 and 3: fields of groups, or of marked ones. @i: block of the part; @groups: how many */
static void cnr_maxima_part(const struct cnr_shared *x, struct cnr_part *p, u32 i, u32 groups)
{
	p->first = i * x->room;
	p->elements = min_t(u32, x->room, groups - p->first);
	p->length = (p->elements * x->l.wide + 3) & ~3U;
	p->result = p->length;
	p->kind = x->l.wide == 2 ? CANARY_KIND_MAX16 : CANARY_KIND_MAX8;
	p->after = 0;
}

/* Part 4: numbers of marked groups. @i: which block of the part */
static void cnr_marked_part(const struct cnr_shared *x, struct cnr_part *p, u32 i)
{
	u32 groups = x->each / x->l.group, some;

	some = min_t(u32, groups, x->marked - i * groups);
	cnr_data_part(x, p, some * x->l.group);
	p->first = i * groups;
	p->elements = some;
	p->after = x->maxima + x->data + cnr_div_up(x->marked, x->room);
}

/* @p->first and @p->elements count groups (part 1), elements (2), or marked groups (3, 4). */
static void cnr_shared_part(const struct cnr_comm *c, const struct cnr_operation *o,
			    struct cnr_part *p)
{
	const struct cnr_shared *x = cnr_shared(c, o);
	u32 i = p->index - x->maxima - x->data, part3 = cnr_div_up(x->marked, x->room);

	switch (cnr_shared_of_part(x, p)) {
	case 1:
		cnr_maxima_part(x, p, p->index, x->groups);
		break;
	case 2:
		p->first = (p->index - x->maxima) * x->each;
		cnr_data_part(x, p, min_t(u32, x->each, x->numbers - p->first));
		p->after = (p->first + p->elements - 1) / x->share + 1;
		break;
	case 3:
		cnr_maxima_part(x, p, i, x->marked);
		break;
	default:
		cnr_marked_part(x, p, i - part3);
		break;
	}
}

/* Most blocks are of part 2, and full. */
static void cnr_shared_alike(const struct cnr_comm *c, struct cnr_operation *o)
{
	const struct cnr_shared *x = cnr_shared(c, o);

	cnr_data_part(x, &o->full, x->each);
	o->full.index = x->maxima;
	o->alike = x->whole;
}

/* ---- contributions ---- */

/*
 * Part 1. There are more elements than a packet has data. So they are read in pieces, if the driver
 * has to map them.
 */
static void cnr_maxima_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_shared *x, const struct cnr_part *p, u32 *words)
{
	u32 groups = max_t(u32, c->length / x->l.f->bytes / x->l.group, 1);
	struct cnr_part some;
	u32 i;

	if (!o->op.at || o->op.source)
		groups = 0xffff / x->l.group;	/* what cnr_part.elements can say */
	/* Vector code takes 8 or 16 at a time. */
	if (groups > 8)
		groups &= groups < 16 ? ~7U : ~15U;

	for (i = 0; i < p->elements; i += groups) {
		some.first = (p->first + i) * x->l.group;
		some.elements = min_t(u32, min_t(u32, groups, p->elements - i) * x->l.group,
				      x->numbers - some.first);
		cnr_lanes_fields(&x->l, (u8 *)words + i * x->l.wide, cnr_vector_source(o, &some),
				 some.elements);
	}
}

/* Return: the elements of @group, which is @n long */
static const void *cnr_group_source(const struct cnr_operation *o, const struct cnr_shared *x,
				    u32 group, u32 *n)
{
	struct cnr_part p = { .first = group * x->l.group };

	*n = min_t(u32, x->l.group, x->numbers - p.first);
	p.elements = *n;
	return cnr_vector_source(o, &p);
}

/* Return: the marked group with this number */
static u32 cnr_marked(const struct cnr_shared *x, u32 number)
{
	u32 group = cnr_marks_find(x->marks, x->groups, &number);

	while (group + 1 < x->groups && (!cnr_is_marked_group(x, group) || number--))
		group++;
	return group;
}

/*
 * For parts 3 and 4. Return: the marked group that @p has at @i; @group is the one before it, if
 * there is one in @p
 */
static u32 cnr_marked_at(const struct cnr_shared *x, const struct cnr_part *p, u32 i, u32 group)
{
	if (!i)
		return cnr_marked(x, p->first);
	/* Far from here, search is faster than a look at each group in between. */
	while (++group % CNR_MARKS)
		if (cnr_is_marked_group(x, group))
			return group;
	return cnr_marked(x, p->first + i);
}

/* Parts 3 and 4 */
static void cnr_marked_encode(const struct cnr_operation *o, const struct cnr_shared *x,
			      const struct cnr_part *p, u32 *words, bool data)
{
	u32 i, n, field, group = 0;
	const void *from;

	for (i = 0; i < p->elements; i++) {
		group = cnr_marked_at(x, p, i, group);
		from = cnr_group_source(o, x, group, &n);
		if (data) {
			field = cnr_field_at(&x->l, x->finite, p->first + i);
			cnr_lanes_put(&x->l, words, i * x->l.group, from, n,
				      cnr_unit(&x->l, field), true);
		} else {
			field = cnr_largest_field(&x->l, from, n, true);
			memcpy((u8 *)words + i * x->l.wide, &field, x->l.wide);
		}
	}
}

static CNR_APART void cnr_other_encode(const struct cnr_comm *c, const struct cnr_operation *o,
				       const struct cnr_shared *x, const struct cnr_part *p,
				       u32 *words)
{
	u32 part = cnr_shared_of_part(x, p);

	/* Lanes of 21 bits are put together, and where a group ends early, lanes are left out. */
	if (part == 4 || x->l.lane == 21)
		memset(words, 0, p->length);
	else if (p->length)
		words[p->length / sizeof(*words) - 1] = 0;
	if (part == 1)
		cnr_maxima_encode(c, o, x, p, words);
	else if (part == 2)
		cnr_lanes_encode(&x->l, words, cnr_vector_source(o, p), p->first, p->elements);
	else
		cnr_marked_encode(o, x, p, words, part == 4);
}

/* Full blocks of part 2, unless their lanes are put together, leave nothing out. */
static void cnr_shared_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_part *p, u32 *words)
{
	const struct cnr_shared *x = cnr_shared(c, o);

	if (p->index - x->maxima >= x->whole || x->l.lane == 21)
		cnr_other_encode(c, o, x, p, words);
	else
		cnr_lanes_encode(&x->l, words, cnr_vector_source(o, p), p->first, p->elements);
}

/* ---- sums ---- */

static void cnr_marked_finish(const struct cnr_operation *o, const struct cnr_shared *x,
			      const struct cnr_part *p, u32 *words)
{
	u32 i, k, n, first, group = 0;
	enum cnr_special special;

	for (i = 0; i < p->elements; i++) {
		group = cnr_marked_at(x, p, i, group);
		first = group * x->l.group;
		n = min_t(u32, x->l.group, x->numbers - first);
		cnr_lanes_sum(&x->l, words, i * x->l.group, n,
			      cnr_unit(&x->l, cnr_field_at(&x->l, x->finite, p->first + i)));
		for (k = 0; k < n; k++) {
			special = cnr_special_of(x, first + k);
			if (special)
				cnr_bits_put(x->l.f, words, i * x->l.group + k,
					     cnr_special_bits(x->l.f, special));
		}
	}
}

/*
 * Words are aligned. Elements of two bytes need not be, where a block has an odd number of them.
 * Elements of marked groups stay as they are.
 */
static CNR_APART bool cnr_look_as_is(const struct cnr_shared *x, const struct cnr_part *p)
{
	return p->index - x->maxima < x->data && p->result == p->elements * x->size &&
	       !(p->first * x->size % sizeof(u32)) && !cnr_has_marked(x, p->first, p->elements);
}

/* Is @p of part 2, and its result what the vector has then? */
static __always_inline bool cnr_is_as_is(const struct cnr_shared *x, const struct cnr_part *p)
{
	if (p->index - x->maxima < x->whole && x->even && !x->marked)
		return true;
	return cnr_look_as_is(x, p);
}

static bool cnr_shared_as_is(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p)
{
	return cnr_is_as_is(cnr_shared(c, o), p);
}

static bool cnr_shared_total(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, u32 *to, const u32 *others, u32 *sum)
{
	const struct cnr_shared *x = cnr_shared(c, o);

	return cnr_is_as_is(x, p) &&
	       cnr_lanes_total(&x->l, to, others, cnr_vector_source(o, p), p->first, p->elements,
			       sum);
}

static void cnr_shared_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			      const struct cnr_part *p, u32 *words)
{
	const struct cnr_shared *x = cnr_shared(c, o);
	u32 part = cnr_shared_of_part(x, p);

	if (part == 2)
		cnr_lanes_finish(&x->l, words, p->first, p->elements);
	else if (part == 4)
		cnr_marked_finish(o, x, p, words);
}

/* ---- results ---- */

/* Part 2: marked groups only have what is not finite. */
static void cnr_data_tidy(const struct cnr_shared *x, const struct cnr_part *p, u32 *words)
{
	enum cnr_special special;
	u32 i, n, k;

	if (!cnr_has_marked(x, p->first, p->elements))
		return;
	for (i = 0; i < p->elements; i += n) {
		n = cnr_group_left(&x->l, p->first + i, p->elements - i);
		if (!cnr_is_marked_group(x, (p->first + i) / x->l.group))
			continue;
		for (k = i; k < i + n; k++) {
			special = cnr_special(x->l.f, cnr_bits_at(x->l.f, words, k));
			cnr_bits_put(x->l.f, words, k,
				     special ? cnr_special_bits(x->l.f, special) : 0);
		}
	}
}

/* Part 4: the last group of the vector may have fewer elements than there is room for. */
static void cnr_marked_tidy(const struct cnr_operation *o, const struct cnr_shared *x,
			    const struct cnr_part *p, u32 *words)
{
	u32 last = p->elements - 1, first = cnr_marked(x, p->first + last) * x->l.group;
	u32 n = min_t(u32, x->l.group, x->numbers - first), bytes = x->l.f->bytes;

	memset((u8 *)words + (last * x->l.group + n) * bytes, 0, (x->l.group - n) * bytes);
}

static void cnr_shared_tidy(const struct cnr_comm *c, const struct cnr_operation *o,
			    const struct cnr_part *p, u32 *words)
{
	const struct cnr_shared *x = cnr_shared(c, o);
	u32 part = cnr_shared_of_part(x, p);
	u32 end = p->elements * (part & 1 ? x->l.wide : x->l.f->bytes);

	if (part == 2)
		cnr_data_tidy(x, p, words);
	if (part == 4) {
		cnr_marked_tidy(o, x, p, words);
		end *= x->l.group;
	}
	memset((u8 *)words + end, 0, p->result - end);
}

/* Elements of marked groups stay as they are. It is noted which of them are special. */
static void cnr_data_store(const struct cnr_operation *o, const struct cnr_shared *x,
			   const struct cnr_part *p, const u32 *words)
{
	u32 i, n, k, size = x->l.f->bytes;

	if (!cnr_has_marked(x, p->first, p->elements)) {
		cnr_put(o, p, 0, words, p->elements * size);
		return;
	}
	for (i = 0; i < p->elements; i += n) {
		n = cnr_group_left(&x->l, p->first + i, p->elements - i);
		if (!cnr_is_marked_group(x, (p->first + i) / x->l.group)) {
			cnr_put(o, p, i * size, (const u8 *)words + i * size, n * size);
			continue;
		}
		for (k = i; k < i + n; k++)
			cnr_special_put(x, p->first + k,
					cnr_special(x->l.f, cnr_bits_at(x->l.f, words, k)));
	}
}

static void cnr_data_serve(const struct cnr_operation *o, const struct cnr_shared *x,
			   const struct cnr_part *p, u32 *words)
{
	enum cnr_special special;
	u32 i, n, k;

	memcpy(words, cnr_vector(o, p, CNR_USE_SERVE), p->elements * x->l.f->bytes);
	if (!cnr_has_marked(x, p->first, p->elements))
		return;
	for (i = 0; i < p->elements; i += n) {
		n = cnr_group_left(&x->l, p->first + i, p->elements - i);
		if (!cnr_is_marked_group(x, (p->first + i) / x->l.group))
			continue;
		for (k = i; k < i + n; k++) {
			special = cnr_special_of(x, p->first + k);
			cnr_bits_put(x->l.f, words, k,
				     special ? cnr_special_bits(x->l.f, special) : 0);
		}
	}
}

/* Copy the groups of @p to @words, or from them. */
static void cnr_marked_copy(const struct cnr_operation *o, const struct cnr_shared *x,
			    const struct cnr_part *p, u32 *words, enum cnr_use use)
{
	struct cnr_part one = { .led = p->led };
	u32 i, bytes, group = 0;
	void *at;

	for (i = 0; i < p->elements; i++) {
		group = cnr_marked_at(x, p, i, group);
		one.first = group * x->l.group;
		one.elements = min_t(u32, x->l.group, x->numbers - one.first);
		bytes = one.elements * x->l.f->bytes;
		at = (u8 *)words + i * x->l.group * x->l.f->bytes;
		if (use == CNR_USE_RESULT)
			cnr_put(o, &one, 0, at, bytes);
		else
			memcpy(at, cnr_vector(o, &one, use), bytes);
	}
}

/* Return: how many of @n groups from @group on are certainly not marked */
static u32 cnr_not_marked(const struct cnr_shared *x, u32 group, u32 n)
{
	const u64 one = x->l.wide == 2 ? 0x0001000100010001ULL : 0x0101010101010101ULL;
	const u64 high = one << (x->l.f->exponent - 1), low = high - one;
	const u8 *at = x->l.fields + group * x->l.wide;
	u32 i, k, bytes = n * x->l.wide;
	u64 fields[4], marked = 0;

	for (i = 0; i + sizeof(fields) <= bytes; i += sizeof(fields)) {
		memcpy(fields, at + i, sizeof(fields));
		/* The lower bits of a field are all set if 1 more carries into the highest one. */
#pragma GCC unroll 4
		for (k = 0; k < ARRAY_SIZE(fields); k++)
			marked |= ((fields[k] & low) + one) & fields[k];
		if (marked & high)
			break;
	}
	return i / x->l.wide;
}

/* Part 1. A result is stored once. Hardly any group is marked. */
static void cnr_maxima_store(struct cnr_shared *x, const struct cnr_part *p, const u32 *words)
{
	u32 group, end = p->first + p->elements;

	memcpy(x->l.fields + p->first * x->l.wide, words, p->elements * x->l.wide);
	for (group = p->first; group < end; group++) {
		group += cnr_not_marked(x, group, end - group);
		if (group < end && cnr_is_marked_group(x, group)) {
			cnr_marks_add(x->marks, x->groups, group, 1);
			x->marked++;
		}
	}
}

static CNR_APART void cnr_other_store(const struct cnr_operation *o, struct cnr_shared *x,
				      const struct cnr_part *p, const u32 *words)
{
	switch (cnr_shared_of_part(x, p)) {
	case 1:
		cnr_maxima_store(x, p, words);
		break;
	case 2:
		cnr_data_store(o, x, p, words);
		break;
	case 3:
		memcpy(x->finite + p->first * x->l.wide, words, p->elements * x->l.wide);
		break;
	default:
		cnr_marked_copy(o, x, p, (u32 *)words, CNR_USE_RESULT);
		break;
	}
}

static void cnr_shared_store(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, const u32 *words)
{
	struct cnr_shared *x = cnr_shared(c, o);

	if (p->index - x->maxima < x->data && !x->marked)
		cnr_put(o, p, 0, words, p->elements * x->size);
	else
		cnr_other_store(o, x, p, words);
}

static void cnr_shared_serve(const struct cnr_comm *c, const struct cnr_operation *o,
			     const struct cnr_part *p, u32 *words)
{
	const struct cnr_shared *x = cnr_shared(c, o);

	memset(words, 0, p->result);
	switch (cnr_shared_of_part(x, p)) {
	case 1:
		memcpy(words, x->l.fields + p->first * x->l.wide, p->elements * x->l.wide);
		break;
	case 2:
		cnr_data_serve(o, x, p, words);
		break;
	case 3:
		memcpy(words, x->finite + p->first * x->l.wide, p->elements * x->l.wide);
		break;
	default:
		cnr_marked_copy(o, x, p, words, CNR_USE_SERVE);
		break;
	}
}

#define CNR_SHARED(how)									\
	{ .method = how, .numbers = true,						\
	  .memory = cnr_shared_memory, .blocks = cnr_shared_blocks,			\
	  .settles = cnr_shared_settles, .more = cnr_shared_more,			\
	  .most = cnr_shared_most, .part = cnr_shared_part,				\
	  .alike = cnr_shared_alike,							\
	  .encode = cnr_shared_encode, .finish = cnr_shared_finish,			\
	  .tidy = cnr_shared_tidy,							\
	  .as_is = cnr_shared_as_is, .total = cnr_shared_total,				\
	  .store = cnr_shared_store, .serve = cnr_shared_serve }

const struct cnr_encoding cnr_float_each = CNR_SHARED(CANARY_METHOD_EACH);
const struct cnr_encoding cnr_float_groups = CNR_SHARED(CANARY_METHOD_GROUPS);
