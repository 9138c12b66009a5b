/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiled into the core of lane_sums_test: it counts how often the vector unit is borrowed. */
#ifndef SELFTESTS_CORE_VECTOR_COUNT_H
#define SELFTESTS_CORE_VECTOR_COUNT_H

#include "core/platform.h"

extern u32 vector_borrowed;

/* The function of platform.h, which was defined before */
#define cnr_vector_begin(words)	(cnr_vector_begin(words) && ++vector_borrowed)

#endif /* SELFTESTS_CORE_VECTOR_COUNT_H */
