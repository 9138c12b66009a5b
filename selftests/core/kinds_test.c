// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of kinds: its claims hold for each kind, whichever loop computes it. Each operator on
 * each type that exists has a kind.
 */
#include <stdio.h>

#include "core/inside.h"
#include "selftests/tap.h"

#define WORDS	77
#define TRIALS	300

static u64 state = 1;

static u32 word(void)
{
	static const u32 edge[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff8001 };

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 61 ? state >> 32 : edge[(state >> 40) % ARRAY_SIZE(edge)];
}

static void fill(u32 *data, u32 n)
{
	while (n--)
		*data++ = word();
}

/* Two words in a row, the lower one first */
static u64 both(u8 kind, u64 a, u64 b)
{
	u32 low = a, high = a >> 32;

	canary_combine_two(kind, &low, &high, b, b >> 32);
	return (u64)high << 32 | low;
}

static u64 double_word(void)
{
	return (u64)word() << 32 | word();
}

/* Is a lane longer than a word? */
static bool is_wide(u8 kind)
{
	return canary_kind_lane(kind) == 8;
}

/*
 * The result does not depend on the order, or on who combines: word by word, or two at a time. The
 * identity changes nothing.
 */
static bool combines(u8 kind)
{
	u64 a = double_word(), b = double_word(), c = double_word(), ab = both(kind, a, b);
	u64 identity = canary_kind_identity(kind);

	if (!is_wide(kind)) {
		identity |= identity << 32;
		if ((u32)ab != canary_combine_word(kind, a, b) ||
		    ab >> 32 != canary_combine_word(kind, a >> 32, b >> 32))
			return false;
	}
	return ab == both(kind, b, a) && both(kind, ab, c) == both(kind, a, both(kind, b, c)) &&
	       both(kind, a, identity) == a && canary_combine_64(kind, a, b) == ab;
}

/* What is done to one lane, in a loop that any reader believes */
static u64 plain_lane(u8 kind, u64 a, u64 b)
{
	switch (kind >> 3) {
	case CANARY_ADD:
		return a + b;
	case CANARY_MAX:
		return a > b ? a : b;
	case CANARY_OR:
		return a | b;
	case CANARY_XOR:
		return a ^ b;
	default:
		return a * b;
	}
}

static bool lane_by_lane(u8 kind)
{
	u64 a = double_word(), b = double_word(), got = both(kind, a, b), want = 0, mask;
	u32 bits = 8 * canary_kind_lane(kind), at;

	mask = ~0ULL >> (64 - bits);
	for (at = 0; at < 64; at += bits)
		want |= (plain_lane(kind, a >> at & mask, b >> at & mask) & mask) << at;
	return got == want;
}

static bool takes_back(u8 kind)
{
	u64 a = double_word(), b = double_word();
	u32 one = canary_combine_word(kind, a, b);

	return !(canary_kind_flags(kind) & CANARY_K_UNDONE) ||
	       (canary_take_back(kind, both(kind, a, b), b) == a &&
		(is_wide(kind) || (u32)canary_take_back(kind, one, (u32)b) == (u32)a));
}

static u32 plain_check(u8 kind, const u32 *data, u32 n)
{
	u32 sum = 0;

	while (n--)
		sum = canary_check_join(canary_kind_check(kind), sum, *data++);
	return sum;
}

/* The loops for words, vectors and payloads agree, in place or not. So do checksums. */
static bool payloads(u8 kind)
{
	u32 a[WORDS], b[WORDS], want[WORDS], to[WORDS], n = word() % (WORDS + 1), i, check;
	u64 pair;

	if (is_wide(kind))
		n &= ~1U;
	fill(a, WORDS);
	fill(b, WORDS);
	for (i = 0; i + 2 <= n; i += 2) {
		pair = both(kind, (u64)a[i + 1] << 32 | a[i], (u64)b[i + 1] << 32 | b[i]);
		want[i] = pair;
		want[i + 1] = pair >> 32;
	}
	if (i < n)
		want[i] = canary_combine_word(kind, a[i], b[i]);
	check = plain_check(kind, want, n);
	if (cnr_combine(kind, to, a, b, 4 * n) != check || memcmp(to, want, 4 * n))
		return false;
	if (cnr_checksum(kind, want, 4 * n) != check)
		return false;
	if ((canary_kind_flags(kind) & CANARY_K_LINEAR) &&
	    canary_check_join(canary_kind_check(kind), plain_check(kind, a, n),
			      plain_check(kind, b, n)) != check)
		return false;
	memcpy(to, a, sizeof(to));
	canary_combine_into(kind, to, b, n);
	if (memcmp(to, want, 4 * n) || memcmp(to + n, a + n, sizeof(a) - 4 * n))
		return false;
	return cnr_combine(kind, a, a, b, 4 * n) == check && !memcmp(a, want, 4 * n);
}

static bool of_header(u8 kind)
{
	struct cnr_out out = { .hdr.type = 0 };
	u32 data[3] = { 0 };

	cnr_data(&out, kind, data, sizeof(data));
	return canary_kind(&out.hdr) == kind && canary_length(&out.hdr) == sizeof(data) &&
	       canary_kind_known(kind) && out.payload == data && out.len == sizeof(data);
}

static void test_kind(u8 kind, const char *name)
{
	u32 i, good[5] = { 0 };

	/* Lists have entries, not a word at each place: shards_test.c */
	if (canary_kind_flags(kind) & CANARY_K_SHARDS)
		return;
	for (i = 0; i < TRIALS; i++) {
		good[0] += combines(kind);
		good[1] += takes_back(kind);
		good[2] += payloads(kind);
		good[4] += lane_by_lane(kind);
	}
	good[3] = of_header(kind);
	tap(good[0] == TRIALS, "%s: any order, and the identity", name);
	tap(good[1] == TRIALS, "%s: %s", name, canary_kind_flags(kind) & CANARY_K_UNDONE ?
	    "is taken back" : "is never taken back");
	tap(good[2] == TRIALS, "%s: payloads and checksums", name);
	tap(good[3], "%s: as headers say it", name);
	tap(good[4] == TRIALS, "%s: each lane by itself", name);
}

static void test_unknown(void)
{
	struct canary_hdr h = { .type = 0 };
	u32 i, known = 0, kinds = 0;

	for (i = 0; i < 0x100; i++) {
		h.contribution.kind = i;
		known += canary_kind_known(canary_kind(&h));
	}
#define CANARY_KIND_X(...) kinds++;
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
	tap(known == kinds, "headers say %u kinds that are known, of %u", known, kinds);
}

static void test_encodings(void)
{
	const struct cnr_encoding *e;
	u32 i, n = 0, bad = 0;

	for (i = 0; i < 0x10000; i++) {
		e = cnr_encoding(i >> 8, i);
		if (!e) {
			bad += cnr_element(i >> 8, i) || cnr_lane(i >> 8, i);
			continue;
		}
		n++;
		bad += e->op != i >> 8 || e->dtype != (u8)i || !e->element ||
		       cnr_element(i >> 8, i) != e->element ||
		       (e->kind && !e->blocks && cnr_lane(i >> 8, i) < e->element) ||
		       (!e->part && !e->choose && !canary_kind_known(e->kind)) ||
		       (!e->encode && e->kind && e->element != canary_kind_lane(e->kind) &&
			e->kind != CANARY_KIND_OR && e->kind != CANARY_KIND_XOR);
	}
	tap(n && !bad, "%u operators on types have what they need", n);
}

int main(void)
{
#define CANARY_KIND_X(name, ...) test_kind(CANARY_KIND_##name, #name);
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
	test_unknown();
	test_encodings();
	return tap_done("kinds");
}
