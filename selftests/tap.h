/* SPDX-License-Identifier: BSD-2-Clause */
/* TAP for test programs in C: one line for each check, the plan and a summary at the end */
#ifndef SELFTESTS_TAP_H
#define SELFTESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_passed, tap_failed, tap_skipped;

static inline bool __attribute__((format(printf, 2, 3)))
tap(bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		tap_passed++;
	else
		tap_failed++;
	printf("%sok %d - ", good ? "" : "not ", tap_passed + tap_failed + tap_skipped);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return good;
}

static inline void __attribute__((unused)) tap_skip(const char *what, const char *why)
{
	tap_skipped++;
	printf("ok %d - %s # SKIP %s\n", tap_passed + tap_failed + tap_skipped, what, why);
}

/* Return: the exit status. */
static inline int tap_done(const char *name)
{
	printf("1..%d\n", tap_passed + tap_failed + tap_skipped);
	printf("# %s: %d passed, %d failed, %d skipped\n", name, tap_passed, tap_failed,
	       tap_skipped);
	return tap_failed || !tap_passed;
}

#endif /* SELFTESTS_TAP_H */
