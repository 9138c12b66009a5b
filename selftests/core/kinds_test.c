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

/* The result does not depend on the order, or on who combines. The identity changes nothing. */
static bool combines(u8 kind)
{
	u32 a = word(), b = word(), c = word(), ab = canary_combine_word(kind, a, b), two[2];

	two[0] = a;
	two[1] = c;
	canary_combine_two(kind, &two[0], &two[1], b, a);
	return ab == canary_combine_word(kind, b, a) &&
	       canary_combine_word(kind, ab, c) ==
	       canary_combine_word(kind, a, canary_combine_word(kind, b, c)) &&
	       canary_combine_word(kind, a, canary_kind_identity(kind)) == a &&
	       two[0] == ab && two[1] == canary_combine_word(kind, c, a);
}

static bool takes_back(u8 kind)
{
	u32 a = word(), b = word();

	return !(canary_kind_flags(kind) & CANARY_K_UNDONE) ||
	       canary_take_back_word(kind, canary_combine_word(kind, a, b), b) == a;
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

	fill(a, WORDS);
	fill(b, WORDS);
	for (i = 0; i < n; i++)
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
	u32 i, good[4] = { 0 };

	/* Lists have entries, not a word at each place: shards_test.c */
	if (canary_kind_flags(kind) & CANARY_K_SHARDS)
		return;
	for (i = 0; i < TRIALS; i++) {
		good[0] += combines(kind);
		good[1] += takes_back(kind);
		good[2] += payloads(kind);
	}
	good[3] = of_header(kind);
	tap(good[0] == TRIALS, "%s: any order, and the identity", name);
	tap(good[1] == TRIALS, "%s: %s", name, canary_kind_flags(kind) & CANARY_K_UNDONE ?
	    "is taken back" : "is never taken back");
	tap(good[2] == TRIALS, "%s: payloads and checksums", name);
	tap(good[3], "%s: as headers say it", name);
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
			bad += cnr_element(i >> 8, i) != 0;
			continue;
		}
		n++;
		bad += e->op != i >> 8 || e->dtype != (u8)i || !e->element ||
		       cnr_element(i >> 8, i) != e->element ||
		       (!e->part && !canary_kind_known(e->kind)) ||
		       (!e->encode && e->element != canary_kind_lane(e->kind));
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
