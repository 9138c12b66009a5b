// SPDX-License-Identifier: BSD-2-Clause
/* Gradients as int32 with 20 bits after the point, as float32, and as bfloat16 */
#include <math.h>
#include <string.h>

#include "gradients.h"

#define POINT	(1 << 20)

static const struct gradients types[] = {
	{ "float32", CANARY_FLOAT32, 4, 128 },
	{ "bfloat16", CANARY_BFLOAT16, 2, 64 },
	{ "int32", CANARY_INT32, 4, CANARY_MEMBERS_MAX },
};

const struct gradients *gradients_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

/* A bfloat16 is the upper half of a float. Of two that are as near, the even one is taken. */
static uint16_t to_bfloat16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static float from_bfloat16(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void gradients_round(const struct gradients *g, const float *from, size_t n, void *to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		switch (g->dtype) {
		case CANARY_INT32:
			((int32_t *)to)[i] = lrintf(from[i] * POINT);
			break;
		case CANARY_BFLOAT16:
			((uint16_t *)to)[i] = to_bfloat16(from[i]);
			break;
		default:
			((float *)to)[i] = from[i];
		}
	}
}

void gradients_read(const struct gradients *g, const void *from, size_t n, float *to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		switch (g->dtype) {
		case CANARY_INT32:
			to[i] = ((const int32_t *)from)[i] / (float)POINT;
			break;
		case CANARY_BFLOAT16:
			to[i] = from_bfloat16(((const uint16_t *)from)[i]);
			break;
		default:
			to[i] = ((const float *)from)[i];
		}
	}
}

/* Return: the exponent field of a float, which a bfloat16 has, too */
static int exponent_field(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 23 & 0xff;
}

/* Return: bits that the network has for the sum of an element; one of them is for its sign */
static int lane(const struct gradients *g, int members)
{
	return g->dtype == CANARY_FLOAT32 ? 32 : members <= 8 ? 16 : 21;
}

/*
 * Sum of one element over all processes. All numbers become multiples of a unit, which follows from
 * the largest exponent, so the order of the additions does not matter. The sum is rounded once.
 */
static float sum_alone(const struct gradients *g, const float *x, int members)
{
	int largest = 1, bits = lane(g, members) - 1, k, exponent;
	int64_t sum = 0;

	for (k = 0; k < members; k++)
		if (exponent_field(x[k]) > largest)
			largest = exponent_field(x[k]);
	for (k = 1; k < members; k *= 2)
		bits--;				/* a lane has room for the sum of all */
	exponent = largest - 127 + 1 - bits;
	if (exponent < (g->size == 2 ? -133 : -149))
		exponent = g->size == 2 ? -133 : -149;	/* the least number of the type */
	for (k = 0; k < members; k++) {
		int64_t most = (1LL << bits) - 1, multiple = llrint(ldexp(x[k], -exponent));

		sum += multiple > most ? most : multiple < -most ? -most : multiple;
	}
	return ldexp(sum, exponent);		/* from double to float: rounded here */
}

void gradients_alone(const struct gradients *g, void *vectors, int members, size_t n)
{
	float x[128];
	size_t i;
	int k;

	if (members == 1)
		return;
	for (i = 0; i < n; i++) {
		char *at = (char *)vectors + i * g->size;

		if (g->dtype == CANARY_INT32) {
			for (k = 1; k < members; k++)
				((int32_t *)vectors)[i] += ((int32_t *)vectors)[k * n + i];
			continue;
		}
		for (k = 0; k < members; k++)
			gradients_read(g, at + k * n * g->size, 1, &x[k]);
		x[0] = sum_alone(g, x, members);
		gradients_round(g, x, 1, at);
	}
}
