// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is done with payloads, by each vector code of this processor: the same as plain loops say,
 * at any length and address, and not a byte more is written.
 */
#include <string.h>

#include "core/platform.h"
#include "selftests/tap.h"

#define WORDS	1100
#define PAST	0xabad1deaU

static u32 key[WORDS + 1], a[WORDS + 4], b[WORDS + 4], to[WORDS + 4], want[WORDS + 4];

static u32 draw(void)
{
	static u64 state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 32;
}

static u64 plain_hash(const u32 *data, u32 words)
{
	u64 hash = 0;
	u32 i;

	for (i = 0; i < words; i += 2)
		hash += (u64)(u32)(data[i] + key[i]) *
			(u32)((i + 1 < words ? data[i + 1] : 0) + key[i + 1]);
	return hash;
}

/* Return: how many of the results with @words words at an offset of @off words are wrong */
static int wrong_at(u32 words, u32 off)
{
	const u32 *x = a + off, *y = b + off;
	u32 sum = 0, total = 0, got, i;
	int wrong = 0;

	for (i = 0; i < WORDS + 4; i++)
		to[i] = PAST;
	memcpy(want, to, sizeof(want));
	for (i = 0; i < words; i++) {
		sum += x[i];
		want[off + i] = x[i] + y[i];
		total += want[off + i];
	}
	wrong += cnr_hash(key, x, 4 * words) != plain_hash(x, words);
	wrong += cnr_checksum(CANARY_KIND_ADD32, x, 4 * words) != sum;
	wrong += cnr_hash_sum(CANARY_KIND_ADD32, key, x, 4 * words, &got) != plain_hash(x, words);
	wrong += got != sum;
	wrong += cnr_combine(CANARY_KIND_ADD32, to + off, x, y, 4 * words) != total;
	wrong += !!memcmp(to, want, sizeof(to));
	/* in place */
	memcpy(to, a, sizeof(to));
	wrong += cnr_combine(CANARY_KIND_ADD32, to + off, to + off, y, 4 * words) != total;
	return wrong + !!memcmp(to + off, want + off, 4 * words);
}

static int wrong_kinds(u32 words)
{
	u32 i, sum = 0;
	int wrong = 0;

	for (i = 0; i < words; i++) {
		u32 k, word = 0;

		for (k = 0; k < 32; k += 8) {
			u32 x = a[i] >> k & 0xff, y = b[i] >> k & 0xff;

			word |= (x > y ? x : y) << k;
		}
		want[i] = word;
		sum += word;
	}
	wrong += cnr_combine(CANARY_KIND_MAX8, to, a, b, 4 * words) != sum;
	return wrong + !!memcmp(to, want, 4 * words);
}

static void test(enum cnr_vectors which, const char *name)
{
	int wrong = 0;
	u32 words;

	if (!cnr_vectors_have(which)) {
		tap_skip(name, "this processor does not have it");
		return;
	}
	__atomic_store_n(&cnr_vectors_used, which, __ATOMIC_RELAXED);
	for (words = 0; words <= WORDS; words += words < 200 ? 1 : 97)
		wrong += wrong_at(words, words % 4);
	tap(!wrong, "%s: hashes, checksums, sums", name);
	tap(!wrong_kinds(350), "%s: another kind", name);
}

int main(void)
{
	u32 i;

	for (i = 0; i <= WORDS; i++)
		key[i] = draw();
	for (i = 0; i < WORDS + 4; i++) {
		a[i] = draw();
		b[i] = draw();
	}
	test(CNR_VECTORS_NONE, "loops");
	test(CNR_VECTORS_AVX2, "AVX2");
	test(CNR_VECTORS_AVX512, "AVX-512");
	test(CNR_VECTORS_NEON, "NEON");
	return tap_done("user/payload");
}
