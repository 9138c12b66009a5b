// SPDX-License-Identifier: BSD-2-Clause
/* Error messages, see complain.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"

int complain(const char *who, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	fprintf(stderr, "%s: %s\n", who, text ? text : "out of memory");
	free(text);
	return -1;
}

int complain_errno(const char *who, const char *what)
{
	return complain(who, "%s: %s", what, strerror(errno));
}

int complain_memory(const char *who)
{
	return complain(who, "out of memory");
}
