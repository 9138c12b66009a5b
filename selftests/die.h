/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a test program that cannot go on. die() prints why, as printf() does. die_errno()
 * prints what failed, and errno. A program may define before it includes this:
 *
 *	DIE_STATUS	exit status (1)
 *	DIE_TO		stream of the message (stderr)
 *	DIE_WHO		its prefix: a format and its arguments (the program's name)
 *	DIE_EXIT	the exit function (exit; _exit in forked processes: buffers are the parent's)
 */
#ifndef SELFTESTS_DIE_H
#define SELFTESTS_DIE_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DIE_STATUS
#define DIE_STATUS	1
#endif
#ifndef DIE_TO
#define DIE_TO		stderr
#endif
#ifndef DIE_WHO
#define DIE_WHO		"%s", program_invocation_short_name
#endif
#ifndef DIE_EXIT
#define DIE_EXIT	exit
#endif

static inline void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	char who[64], text[512];
	va_list args;

	snprintf(who, sizeof(who), DIE_WHO);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* One write, as others may end at the same time. */
	fprintf(DIE_TO, "%s: %s\n", who, text);
	fflush(DIE_TO);
	DIE_EXIT(DIE_STATUS);
}

static inline void __attribute__((noreturn)) die_errno(const char *what)
{
	die("%s: %s", what, strerror(errno));
}

#endif /* SELFTESTS_DIE_H */
