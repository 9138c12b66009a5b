// SPDX-License-Identifier: BSD-2-Clause
/*
 * Conversion between floating-point numbers and lanes, by each way that there is: with each set of
 * vector instructions (float_vector.h) and one by one (float_lanes.c). They must give the same bits.
 * floats_test.c says whether these are right.
 */
#include <stdlib.h>

#include "core/float_lanes.h"
#include "selftests/tap.h"

#define ELEMENTS	700

static const u8 types[] = { CANARY_FLOAT16, CANARY_BFLOAT16, CANARY_FLOAT32, CANARY_FLOAT64 };
static const u16 members[] = { 2, 7, 8, 9, 16, 17, 64, 65, 128, 129, 1024, 5000, 65535 };

static u64 state;

static u64 any(void)
{
	u64 x = state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* The set that is tested */
static enum cnr_vectors tested;

/* Has the program asked its processor to take subnormal numbers for 0? */
static bool flushes;

/* Forbid vectors, or permit them. */
static void permit(bool vectors)
{
	cnr_vectors_used = vectors ? tested : CNR_VECTORS_NONE;
#ifdef __x86_64__
	__builtin_ia32_ldmxcsr(0x1f80 | (vectors && flushes ? 0x8040 : 0));
#endif
}

/* Numbers of which some are huge, tiny, 0 or not finite; @kind says how many, and whether in runs */
static void make_numbers(const struct cnr_format *f, u8 *numbers, u32 kind)
{
	u32 i, field, most = cnr_exponent_max(f), middle = most / 2;
	bool zeros = false;
	u64 bits;

	for (i = 0; i < ELEMENTS; i++) {
		if (kind == 4 && i % 16 == 0)
			zeros = any() % 4;
		field = middle + any() % 9;
		if (kind == 1)
			field = any() % most;
		else if (kind == 2)
			field = any() % (any() % 2 ? 3 : 60);
		else if (kind == 3 && !(any() % 60))
			field = any() % 2 ? most : 0;
		else if (kind == 4)
			field = any() % 2 ? 0 : any() % 40;
		bits = any() & ((1ULL << f->fraction) - 1);
		bits |= (u64)field << f->fraction | (any() & 1) << (f->fraction + f->exponent);
		if (zeros)
			bits &= 1ULL << (f->fraction + f->exponent);
		cnr_bits_put(f, numbers, i, any() % 16 ? bits : 0);
	}
}

/* How often results were made in one pass */
static u32 totals;

/*
 * Are results the same that are made in one pass of our own @numbers and the lanes of @others, even
 * if they take their places? @want: results
 */
static bool total_same(const struct cnr_lanes *l, const u8 *numbers, const u64 *others, u32 first,
		       u32 n, const void *want)
{
	static u64 from[ELEMENTS + 8], to[ELEMENTS + 8];
	u32 place, bytes = n * l->f->bytes, sum, check;
	void *at[] = { to, to, from };

	for (place = 0; place < ARRAY_SIZE(at); place++) {
		memcpy(from, numbers, bytes);
		memcpy(to, others, cnr_lanes_bytes(l, n));
		if (!cnr_lanes_total(l, at[place], place == 1 ? to : others, from, first, n, &sum))
			return true;
		totals++;
		check = canary_checksum(CANARY_KIND_ADD32, want, bytes / 4);
		if (bytes % 4 || sum != check || memcmp(at[place], want, bytes))
			return false;
	}
	return true;
}

/* Lanes that members may add up to, @first is within the first group */
static bool same(struct cnr_lanes *l, u32 first, u32 n, u32 kind)
{
	static u8 numbers[ELEMENTS * 8], fields[2][ELEMENTS * 2];
	static u64 lanes[2][ELEMENTS + 8], sum[ELEMENTS + 8], others[ELEMENTS + 8];
	u32 way, i, k, words = cnr_lanes_bytes(l, n) / 8;
	static u8 own[ELEMENTS * 8];
	bool equal;

	make_numbers(l->f, numbers, kind);
	memset(fields, 0, sizeof(fields));
	memset(lanes, 0, sizeof(lanes));
	for (way = 0; way < 2; way++) {
		permit(way);
		cnr_lanes_fields(l, fields[way], numbers, first + n);
		l->fields = fields[0];
		cnr_lanes_encode(l, lanes[way], numbers + first * l->f->bytes, first, n);
	}
	equal = !memcmp(fields[0], fields[1], sizeof(fields[0])) &&
		!memcmp(lanes[0], lanes[1], sizeof(lanes[0]));
	/* What others have: the same numbers, and others within the same exponents */
	memcpy(sum, lanes[0], sizeof(sum));
	memcpy(own, numbers, sizeof(own));
	memset(others, 0, sizeof(others));
	for (i = 1; i < min_t(u32, l->members, 5); i++) {
		if (i < 4) {
			for (k = 0; k < ELEMENTS; k++)
				numbers[(k + 1) * l->f->bytes - 1] ^= any() & 0x80;
			memset(lanes[1], 0, sizeof(lanes[1]));
			permit(false);
			cnr_lanes_encode(l, lanes[1], numbers + first * l->f->bytes, first, n);
		}
		/* All members from the fourth one on have the same. */
		for (k = 0; k <= words; k++) {
			sum[k] += lanes[1][k] * (i < 4 ? 1 : l->members - 4);
			others[k] += lanes[1][k] * (i < 4 ? 1 : l->members - 4);
		}
	}
	for (way = 0; way < 2; way++) {
		permit(way);
		memcpy(lanes[way], sum, sizeof(sum));
		cnr_lanes_finish(l, lanes[way], first, n);
	}
	permit(true);
	equal = equal && total_same(l, own + first * l->f->bytes, others, first, n, lanes[0]);
	return equal && !memcmp(lanes[0], lanes[1], n * l->f->bytes);
}

/*
 * Sums that are halfway between two results, or next to that. Who rounds twice gets the wrong one.
 * @first is within the first group.
 */
static bool halfway(struct cnr_lanes *l, u32 first, u32 n)
{
	const u32 bits = l->f->fraction + 1, span = l->scale + cnr_fls64(l->members) - 1;
	const u32 shifts = span > bits + 2 ? span - bits - 1 : 1;
	static u64 lanes[2][ELEMENTS + 8];
	static u8 fields[ELEMENTS * 2];
	u32 i, way, field = cnr_exponent_max(l->f) / 2;
	u64 lane, all = (u64)l->members << l->scale;

	for (i = 0; i < ELEMENTS; i++)
		memcpy(fields + i * l->wide, &field, l->wide);
	l->fields = fields;
	memset(lanes, 0, sizeof(lanes));
	for (i = 0; i < n; i++) {
		lane = 1ULL << (bits - 1) | (any() & ((1ULL << (bits - 1)) - 1));
		lane = ((2 * lane + 1) << any() % shifts) + any() % 3 - 1;
		lane = any() % 2 ? all + lane : all - lane;
		if (l->lane == 21)
			lanes[0][i / 3] |= lane << i % 3 * 21;
		else
			memcpy((u8 *)lanes[0] + i * (l->lane / 8), &lane, l->lane / 8);
	}
	memcpy(lanes[1], lanes[0], sizeof(lanes[0]));
	for (way = 0; way < 2; way++) {
		permit(way);
		cnr_lanes_finish(l, lanes[way], first, n);
	}
	permit(true);
	return !memcmp(lanes[0], lanes[1], n * l->f->bytes);
}

/*
 * Memory of just so many bytes, with a copy of @from. Sanitizers see who reads or writes outside.
 * @ahead: bytes that are left out at its beginning, so that it is not aligned. It is @block that has
 * to be given back.
 */
static u8 *exactly(const void *from, u32 bytes, u32 ahead, void **block)
{
	u8 *at = malloc(ahead + bytes);

	*block = at;
	memcpy(at + ahead, from, bytes);
	return at + ahead;
}

/* Lanes of one member become those of @times, which have the same. */
static void multiply(const struct cnr_lanes *l, void *lanes, u32 n, u32 times)
{
	const u32 size = l->lane == 21 || l->lane == 64 ? 8 : 4;
	u32 i;

	for (i = 0; i < cnr_lanes_bytes(l, n) / size; i++)
		cnr_bytes_put(size, lanes, i, cnr_bytes_at(size, lanes, i) * times);
}

/*
 * Elements from anywhere in a vector, and memory that ends where they do: does vector code come to
 * the same, and stay within?
 */
static bool within(struct cnr_lanes *l, u32 first, u32 n, u32 kind)
{
	const u32 size = l->f->bytes, room = cnr_lanes_bytes(l, n), ahead = any() % 4 * size;
	const u32 groups = cnr_div_up(first + n, l->group) * l->wide;
	static u8 numbers[ELEMENTS * 8], fields[ELEMENTS * 2];
	static u64 lanes[ELEMENTS + 8], zeros[ELEMENTS + 8];
	u8 *whole, *own, *near, *from, *words, *to;
	void *block[6];
	u32 i, sum;
	bool equal;

	make_numbers(l->f, numbers, kind);
	memset(lanes, 0, sizeof(lanes));
	whole = exactly(numbers, (first + n) * size, ahead, &block[0]);
	near = exactly(zeros, groups, 0, &block[1]);
	from = exactly(whole + first * size, n * size, ahead, &block[2]);
	words = exactly(zeros, room, any() % 4 * 4, &block[3]);
	permit(false);
	cnr_lanes_fields(l, fields, numbers, first + n);
	l->fields = fields;
	cnr_lanes_encode(l, lanes, from, first, n);
	permit(true);
	cnr_lanes_fields(l, near, whole, first + n);
	equal = !memcmp(fields, near, groups);
	l->fields = near;
	cnr_lanes_encode(l, words, from, first, n);
	equal = equal && !memcmp(words, lanes, room);
	multiply(l, words, n, l->members - 1);
	own = exactly(words, room, any() % 4 * 4, &block[4]);
	to = exactly(from, n * size, ahead, &block[5]);
	multiply(l, lanes, n, l->members);
	memcpy(words, lanes, room);
	cnr_lanes_finish(l, words, first, n);
	permit(false);
	cnr_lanes_finish(l, lanes, first, n);
	equal = equal && !memcmp(words, lanes, n * size);
	permit(true);
	if (cnr_lanes_total(l, to, own, from, first, n, &sum))
		equal = equal && !memcmp(to, lanes, n * size);
	for (i = 0; i < ARRAY_SIZE(block); i++)
		free(block[i]);
	return equal;
}

static const struct {
	const char *name;
	enum cnr_vectors which;
} sets[] = {
	{ "AVX2", CNR_VECTORS_AVX2 },
	{ "AVX-512", CNR_VECTORS_AVX512 },
	{ "NEON", CNR_VECTORS_NEON },
};

/* Do @vectors vectors of each type and number of members have the same lanes and results? */
static void test_set(const char *name, u32 vectors)
{
	u32 t, m, i, first, n, good;
	struct cnr_lanes l;

	totals = 0;
	for (t = 0; t < ARRAY_SIZE(types); t++) {
		for (m = 0; m < ARRAY_SIZE(members); m++) {
			good = 0;
			for (i = 0; i < vectors; i++) {
				cnr_lanes_init(&l, types[t], i / 20 % 2 ? CANARY_HOW_NARROW : 0,
					       members[m]);
				l.average = i & 1;
				if (i & 2)
					l.group = 1;
				flushes = i & 64;
				first = any() % 3 ? 0 : any() % l.group;
				n = 64 + any() % 600;
				good += same(&l, first, n, i / 4 % 5) && halfway(&l, first, n) &&
					within(&l, any() % (ELEMENTS - n), n, i / 4 % 5);
			}
			tap(good == vectors, "%s: type %u, %u members: %u of %u vectors", name,
			    types[t], members[m], good, vectors);
		}
	}
	tap(totals > vectors, "%s: %u times, results were made in one pass", name, totals);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		tested = sets[i].which;
		if (cnr_vectors_have(tested))
			test_set(sets[i].name, 400);
		else
			tap_skip(sets[i].name, "this processor does not have it");
	}
	flushes = false;
	permit(false);
	return tap_done("core-lanes");
}
