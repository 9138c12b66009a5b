/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Softmax regression in integers: no rounding depends on the machine, its mathematical library, or
 * the order in which gradients are added. So any number of processes ends with the same bits.
 */
#ifndef EXAMPLE_SOFTMAX_H
#define EXAMPLE_SOFTMAX_H

#include "dataset.h"

#define FEATURES	(PIXELS + 1)	/* and a constant */

/* A gradient element is at most 2^16 * PIXEL_MAX a sample: their sum has to fit 31 bits. */
#define BATCH_MAX	2000

/* Weights have 16 bits after the point. */
struct model {
	int32_t	weight[CLASSES][FEATURES];
};

/* What is added up over samples, processes, and inside the network: an array of int32 */
struct gradient {
	int32_t	weight[CLASSES][FEATURES];	/* 20 bits after the point */
	int32_t	loss;				/* 8 bits after the point */
	int32_t	right;				/* digits recognised */
};

#define GRADIENT_COUNT	(sizeof(struct gradient) / sizeof(int32_t))

/* softmax_add() - add the gradient of one sample */
void softmax_add(const struct model *m, const struct sample *s, struct gradient *g);

/* softmax_step() - go down the mean gradient of @samples; @rate has 8 bits after the point */
void softmax_step(struct model *m, const struct gradient *g, int samples, int rate);

/* softmax_guess() - Return: which digit it is */
int softmax_guess(const struct model *m, const struct sample *s);

/* softmax_hash() - a number that tells models apart (FNV-1a of the weights) */
uint64_t softmax_hash(const struct model *m);

#endif /* EXAMPLE_SOFTMAX_H */
