// SPDX-License-Identifier: BSD-2-Clause
/* Softmax regression. Compile it without contraction of a * b + c, which rounds only once. */
#include <math.h>
#include <string.h>

#include "softmax.h"

#define LOG2_E	1.44269504f
#define LN_2	0.69314718f

static float feature(const struct sample *s, int i)
{
	return i < PIXELS ? s->pixel[i] / (float)PIXEL_MAX : 1;
}

/* e^x for x <= 0, right to 1e-4: 2^whole, and a cubic polynomial for the rest */
static float exp_negative(float x)
{
	float t = x * LOG2_E, whole = floorf(t), rest = t - whole;

	if (whole < -30)
		return 0;
	return ldexpf(1 + rest * (0.695539f + rest * (0.224106f + rest * 0.080355f)), (int)whole);
}

/* -ln(p) for 0 < p <= 1: the exponent of p, and the first terms of a series for the rest */
static float minus_ln(float p)
{
	int exponent;
	float rest = frexpf(p, &exponent), t = (rest - 1) / (rest + 1), square = t * t;

	return -exponent * LN_2 - 2 * t * (1 + square * (1 / 3.0f + square * (1 / 5.0f)));
}

/* Return: the digit with the best score */
static int scores(const struct model *m, const struct sample *s, float score[CLASSES])
{
	int best = 0, c, i;

	for (c = 0; c < CLASSES; c++) {
		score[c] = 0;
		for (i = 0; i < FEATURES; i++)
			score[c] += m->weight[c * FEATURES + i] * feature(s, i);
		if (score[c] > score[best])
			best = c;
	}
	return best;
}

int softmax_guess(const struct model *m, const struct sample *s)
{
	float score[CLASSES];

	return scores(m, s, score);
}

int softmax_gradient(const struct model *m, const struct sample *s, float gradient[WEIGHTS],
		     float *loss)
{
	float score[CLASSES], e[CLASSES], sum = 0, p;
	int best = scores(m, s, score), c, i;

	for (c = 0; c < CLASSES; c++) {
		e[c] = exp_negative(score[c] - score[best]);
		sum += e[c];
	}
	for (c = 0; c < CLASSES; c++) {
		p = e[c] / sum;			/* how probable this digit is, says the model */
		if (c == s->digit) {
			*loss += minus_ln(p > 1e-9f ? p : 1e-9f);
			p -= 1;
		}
		for (i = 0; i < FEATURES; i++)
			gradient[c * FEATURES + i] += p * feature(s, i);
	}
	return best;
}

void softmax_step(struct model *m, const float gradient[WEIGHTS], int samples)
{
	int i;

	for (i = 0; i < WEIGHTS; i++)
		m->weight[i] -= gradient[i] / samples;
}

uint64_t softmax_digest(const struct model *m)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	uint32_t bits;
	int i, shift;

	for (i = 0; i < WEIGHTS; i++) {
		memcpy(&bits, &m->weight[i], sizeof(bits));
		for (shift = 0; shift < 32; shift += 8)
			hash = (hash ^ (bits >> shift & 0xff)) * 0x100000001b3ULL;
	}
	return hash;
}
