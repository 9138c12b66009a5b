/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Softmax regression: a score for each digit, which is a weighted sum of pixels. Nothing here
 * depends on how gradients are added up.
 *
 * Only operations are used that IEEE 754 defines to the last bit: + - * / and comparisons. So the
 * same samples give the same gradient on every machine, whatever its mathematical library is.
 */
#ifndef EXAMPLE_SOFTMAX_H
#define EXAMPLE_SOFTMAX_H

#include "dataset.h"

#define FEATURES	(PIXELS + 1)		/* and a constant */
#define WEIGHTS		(CLASSES * FEATURES)

struct model {
	float	weight[WEIGHTS];		/* FEATURES for each digit */
};

/*
 * softmax_gradient() - add the gradient of one sample, and its loss
 * Elements of a gradient are -1 to 1 for each sample. Return: which digit the model takes it for
 */
int softmax_gradient(const struct model *m, const struct sample *s, float gradient[WEIGHTS],
		     float *loss);

/* softmax_guess() - Return: which digit the model takes it for */
int softmax_guess(const struct model *m, const struct sample *s);

/* softmax_step() - go down the mean gradient of @samples, whose sum is @gradient */
void softmax_step(struct model *m, const float gradient[WEIGHTS], int samples);

/* softmax_digest() - a number that tells models apart: FNV-1a of the bits of all weights */
uint64_t softmax_digest(const struct model *m);

#endif /* EXAMPLE_SOFTMAX_H */
