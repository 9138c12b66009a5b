// SPDX-License-Identifier: BSD-2-Clause
/* Softmax regression in integers. "Q16" has 16 bits after the binary point. */
#include "softmax.h"

#define ONE	65536		/* 1 in Q16 */
#define LOG2_E	94548		/* log2(e) in Q16 */
#define LN_2	45426		/* ln(2) in Q16 */

static int feature(const struct sample *s, int i)
{
	return i < PIXELS ? s->pixel[i] : PIXEL_MAX;
}

/* 2^f for f in 0 .. 1, Q16: a cubic polynomial through both ends, right to 1e-4 */
static int64_t exp2_fraction(int64_t f)
{
	return ONE + (f * (45582 + (f * (14687 + (f * 5267 >> 16)) >> 16)) >> 16);
}

/* e^x for x <= 0; x in Q16, result in Q30 */
static int64_t exp_negative(int64_t x)
{
	int64_t t = x * LOG2_E >> 16;
	int64_t whole = t >> 16;

	if (whole <= -30)
		return 0;
	return (exp2_fraction(t - whole * ONE) << 14) >> -whole;
}

/* -ln(p) for p in 1 .. ONE; both in Q16. The logarithm's bits come by squaring. */
static int64_t minus_ln(int64_t p)
{
	int64_t log = 0;
	int i;

	while (p < ONE) {
		p <<= 1;
		log -= ONE;
	}
	for (i = 15; i >= 0; i--) {
		p = p * p >> 16;
		if (p >= 2 * ONE) {
			p >>= 1;
			log += 1 << i;
		}
	}
	return -log * LN_2 >> 16;
}

/* Scores of all digits, Q16. Return: the best one. */
static int scores(const struct model *m, const struct sample *s, int64_t score[CLASSES])
{
	int best = 0, c, i;

	for (c = 0; c < CLASSES; c++) {
		score[c] = 0;
		for (i = 0; i < FEATURES; i++)
			score[c] += (int64_t)m->weight[c][i] * feature(s, i);
		score[c] /= PIXEL_MAX;
		if (score[c] > score[best])
			best = c;
	}
	return best;
}

int softmax_guess(const struct model *m, const struct sample *s)
{
	int64_t score[CLASSES];

	return scores(m, s, score);
}

void softmax_add(const struct model *m, const struct sample *s, struct gradient *g)
{
	int64_t score[CLASSES], e[CLASSES], sum = 0, p;
	int best = scores(m, s, score), c, i;

	for (c = 0; c < CLASSES; c++) {
		e[c] = exp_negative(score[c] - score[best]);
		sum += e[c];
	}
	for (c = 0; c < CLASSES; c++) {
		p = (e[c] << 16) / sum;
		if (c == s->digit) {
			g->loss += minus_ln(p > 0 ? p : 1) >> 8;
			p -= ONE;
		}
		for (i = 0; i < FEATURES; i++)
			g->weight[c][i] += p * feature(s, i);
	}
	g->right += best == s->digit;
}

void softmax_step(struct model *m, const struct gradient *g, int samples, int rate)
{
	int c, i;

	for (c = 0; c < CLASSES; c++)
		for (i = 0; i < FEATURES; i++)
			m->weight[c][i] -= (int64_t)g->weight[c][i] * rate /
					   (samples * 256LL * PIXEL_MAX);
}

uint64_t softmax_hash(const struct model *m)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	int c, i, shift;

	for (c = 0; c < CLASSES; c++)
		for (i = 0; i < FEATURES; i++)
			for (shift = 0; shift < 32; shift += 8)
				hash = (hash ^ ((uint32_t)m->weight[c][i] >> shift & 0xff)) *
				       0x100000001b3ULL;
	return hash;
}
