// SPDX-License-Identifier: BSD-2-Clause
/* digits.csv.gz: a line has 64 pixels and the digit, separated by commas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dataset.h"

#define SAMPLES_MAX	(1 << 16)

static int parse_line(struct sample *s, const char *line)
{
	char *end;
	long value;
	int i;

	for (i = 0; i <= PIXELS; i++) {
		value = strtol(line, &end, 10);
		if (end == line || value < 0 || value > (i < PIXELS ? PIXEL_MAX : CLASSES - 1))
			return -1;
		if (i < PIXELS)
			s->pixel[i] = value;
		else
			s->digit = value;
		if (*end != (i < PIXELS ? ',' : '\n'))
			return -1;
		line = end + 1;
	}
	return 0;
}

static struct sample *next_sample(struct dataset *set, int number)
{
	if (number % TEST_EVERY == TEST_EVERY - 1)
		return &set->test[set->tests++];
	return &set->train[set->trains++];
}

int dataset_read(struct dataset *set, const char *path)
{
	gzFile file = gzopen(path, "rb");
	char line[1024];
	int n = 0, err;

	memset(set, 0, sizeof(*set));
	set->train = calloc(SAMPLES_MAX, sizeof(*set->train));
	set->test = calloc(SAMPLES_MAX, sizeof(*set->test));
	if (!file || !set->train || !set->test) {
		perror(path);
		goto fail;
	}
	while (gzgets(file, line, sizeof(line))) {
		if (n == SAMPLES_MAX || parse_line(next_sample(set, n), line)) {
			fprintf(stderr, "%s:%d: not 64 pixels and a digit\n", path, n + 1);
			goto fail;
		}
		n++;
	}
	gzerror(file, &err);
	if (err != Z_OK || !set->tests) {
		fprintf(stderr, "%s: cannot be read to the end, or is too short\n", path);
		goto fail;
	}
	gzclose(file);
	return 0;
fail:
	if (file)
		gzclose(file);
	dataset_free(set);
	return -1;
}

void dataset_free(struct dataset *set)
{
	free(set->train);
	free(set->test);
	memset(set, 0, sizeof(*set));
}
