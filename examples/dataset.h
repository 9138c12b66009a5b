/* SPDX-License-Identifier: BSD-2-Clause */
/* Handwritten digits, 8 x 8 pixels of 0 .. 16, as scikit-learn ships them (digits.csv.gz). */
#ifndef EXAMPLE_DATASET_H
#define EXAMPLE_DATASET_H

#include <stdint.h>

#define PIXELS		64
#define PIXEL_MAX	16
#define CLASSES		10
#define TEST_EVERY	5	/* every fifth digit is for testing, the others for training */

struct sample {
	uint8_t	pixel[PIXELS];
	uint8_t	digit;
};

struct dataset {
	struct sample	*train, *test;
	int		trains, tests;
};

/* dataset_read() - Return: 0, or -1 after having said on standard error what is wrong */
int dataset_read(struct dataset *set, const char *path);

void dataset_free(struct dataset *set);

#endif /* EXAMPLE_DATASET_H */
