// SPDX-License-Identifier: BSD-2-Clause
/* What time it is */
#include <time.h>

#include "cmpi.h"

uint64_t cmpi_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}
