// SPDX-License-Identifier: BSD-2-Clause
/*
 * What it takes to convert floating-point numbers, by each set of vector instructions that this
 * processor has, and one by one.
 *
 *	float_speed		nanoseconds a KiB of the vector: a line of JSON for each figure
 *	float_speed --loop TYPE MEMBERS SET WORK N
 *				does it N times for 1408 bytes of lanes, to count instructions:
 *				perf stat -e instructions:u, or valgrind --tool=callgrind
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/float_lanes.h"

#define BYTES	1408	/* lanes of a packet */

static const struct {
	const char *name;
	u8	dtype;
	u32	members;
} kinds[] = {
	{ "float32", CANARY_FLOAT32, 8 },	{ "float32", CANARY_FLOAT32, 16 },
	{ "float32", CANARY_FLOAT32, 64 },	{ "float32", CANARY_FLOAT32, 1000 },
	{ "float64", CANARY_FLOAT64, 8 },	{ "float64", CANARY_FLOAT64, 1000 },
	{ "bfloat16", CANARY_BFLOAT16, 8 },	{ "bfloat16", CANARY_BFLOAT16, 64 },
	{ "bfloat16", CANARY_BFLOAT16, 1000 },	{ "float16", CANARY_FLOAT16, 16 },
	{ "float16", CANARY_FLOAT16, 1000 },
};

static const char *const sets[] = {
	[CNR_VECTORS_NONE] = "none", [CNR_VECTORS_AVX2] = "avx2", [CNR_VECTORS_AVX512] = "avx512",
	[CNR_VECTORS_NEON] = "neon",
};

static const char *const works[] = { "fields", "encode", "total", "finish" };

/* A packet: numbers, and what they become */
static struct cnr_lanes lanes;
static u32 count;
static u8 numbers[BYTES * 4], fields[BYTES * 2], others[BYTES], words[BYTES * 2];

static void prepare(u8 dtype, u32 members)
{
	u64 bits, state = 1;
	u32 i, middle;

	cnr_lanes_init(&lanes, dtype, 0, members);
	lanes.fields = fields;
	count = cnr_lanes_in(&lanes, BYTES);
	middle = cnr_exponent_max(lanes.f) / 2;
	for (i = 0; i < count; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		bits = state >> 20 & ((1ULL << lanes.f->fraction) - 1);
		bits |= (u64)(middle + (state >> 8 & 3)) << lanes.f->fraction;
		bits |= (state & 1) << (lanes.f->fraction + lanes.f->exponent);
		cnr_bits_put(lanes.f, numbers, i, bits);
	}
	memset(others, 0, sizeof(others));
	cnr_lanes_fields(&lanes, fields, numbers, count);
	cnr_lanes_encode(&lanes, others, numbers, 0, count);
}

/* What a member does, or the leader of a sum; without vectors, that takes it two passes. */
static void work(u32 which)
{
	u32 sum;

	switch (which) {
	case 0:
		cnr_lanes_fields(&lanes, words, numbers, count);
		break;
	case 1:
		if (lanes.lane == 21)
			memset(words, 0, BYTES);
		cnr_lanes_encode(&lanes, words, numbers, 0, count);
		break;
	case 2:
		if (cnr_lanes_total(&lanes, words, others, numbers, 0, count, &sum))
			break;
		memset(words, 0, BYTES);
		cnr_lanes_encode(&lanes, words, numbers, 0, count);
		cnr_combine(lanes.lane == 21 || lanes.lane == 64 ? CANARY_KIND_ADD64 : CANARY_KIND_ADD32,
			    (u32 *)words, (u32 *)words, (u32 *)others, BYTES);
		cnr_lanes_finish(&lanes, words, 0, count);
		break;
	default:
		memcpy(words, others, BYTES);
		cnr_lanes_finish(&lanes, words, 0, count);
		break;
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Return: nanoseconds for a KiB of the vector; the least of some trials */
static double measure(u32 which)
{
	double begin, took, best = 1;
	u32 trial, i;

	for (trial = 0; trial < 20; trial++) {
		begin = seconds();
		for (i = 0; i < 200; i++)
			work(which);
		took = (seconds() - begin) / 200;
		best = took < best ? took : best;
	}
	return best * 1e9 * 1024 / (count * lanes.f->bytes);
}

static u32 find(const char *const *names, u32 n, const char *name)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	fprintf(stderr, "float_speed: what is %s?\n", name);
	exit(2);
}

static int loop(char **argument)
{
	u32 i, which = find(works, ARRAY_SIZE(works), argument[3]), times = atoi(argument[4]);

	for (i = 0; i + 1 < ARRAY_SIZE(kinds) && strcmp(kinds[i].name, argument[0]); i++)
		;
	cnr_vectors_used = find(sets, ARRAY_SIZE(sets), argument[2]);
	if (!cnr_vectors_have(cnr_vectors_used)) {
		fprintf(stderr, "float_speed: this processor has no %s\n", argument[2]);
		return 1;
	}
	prepare(kinds[i].dtype, atoi(argument[1]));
	for (i = 0; i < times; i++)
		work(which);
	printf("%u bytes of the vector\n", count * lanes.f->bytes);
	return 0;
}

int main(int argc, char **argv)
{
	double value, scalar;
	u32 i, which, set;

	if (argc == 7 && !strcmp(argv[1], "--loop"))
		return loop(argv + 2);
	if (argc > 1) {
		fprintf(stderr, "usage: float_speed [--loop TYPE MEMBERS SET WORK N]\n");
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (which = 0; which < ARRAY_SIZE(works); which++) {
			scalar = 0;
			for (set = 0; set < ARRAY_SIZE(sets); set++) {
				if (!cnr_vectors_have(set))
					continue;
				cnr_vectors_used = set;
				prepare(kinds[i].dtype, kinds[i].members);
				value = measure(which);
				scalar = set ? scalar : value;
				printf("{\"name\":\"float.%s.%u.%s.%s\",\"value\":%.1f,\"unit\":\"ns/KiB\",\"baseline\":%.1f,\"ratio\":%.3f,\"command\":\"selftests/bench/float_speed\",\"note\":\"%s of %s among %u, %s; baseline: one by one\"}\n",
				       kinds[i].name, kinds[i].members, works[which], sets[set],
				       value, scalar, value / scalar, works[which], kinds[i].name,
				       kinds[i].members, sets[set]);
			}
		}
	}
	return 0;
}
