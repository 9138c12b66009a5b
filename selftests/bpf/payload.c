// SPDX-License-Identifier: BSD-2-Clause
/*
 * The data of the switch tests: what ranks contribute, and what comes of it. This goes lane by lane,
 * byte by byte. It shares nothing with kmod/kinds.h but the numbers of kinds.
 */
#include <string.h>

#include "world.h"

uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static uint32_t element(int rank, uint32_t block, uint8_t salt, uint32_t i)
{
	/* large numbers, so that most sums overflow */
	return mix((uint64_t)block << 32 ^ (uint64_t)rank << 20 ^ (uint64_t)salt << 40 ^ i);
}

static uint64_t get(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static void put(uint8_t *p, uint32_t bytes, uint64_t v)
{
	for (; bytes--; v >>= 8)
		*p++ = v;
}

static uint64_t combine(uint8_t kind, uint64_t a, uint64_t b)
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

void payload_combine(uint8_t kind, uint8_t *to, const uint8_t *more, uint32_t bytes)
{
	uint32_t lane = 1 << (kind & 7), at;

	for (at = 0; at + lane <= bytes; at += lane)
		put(to + at, lane, combine(kind, get(to + at, lane), get(more + at, lane)));
}

uint32_t payload_checksum(const uint8_t *p, uint32_t bytes)
{
	uint32_t sum = 0, at;

	for (at = 0; at < bytes; at += 4)
		sum += get(p + at, 4);
	return sum;
}

void payload_of(int rank, const struct msg *m, uint8_t *p)
{
	uint32_t i;

	for (i = 0; i < m->elements; i++)
		put(p + 4 * i, 4, element(rank, m->block, m->salt, i));
}

uint32_t payload_elements(uint8_t *p, const struct msg *m)
{
	uint8_t more[FRAME_MAX];
	bool first = true;
	int rank;

	memset(p, 0, 4 * m->elements);
	for (rank = 0; rank < 32; rank++) {
		if (!(m->ranks & R(rank)))
			continue;
		payload_of(rank, m, first ? p : more);
		if (!first)
			payload_combine(m->kind, p, more, 4 * m->elements);
		first = false;
	}
	return payload_checksum(p, 4 * m->elements);
}
