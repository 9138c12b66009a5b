// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the daemon says, all of it on standard error: standard output has the one line that
 * tells that the switch is ready.
 */
#include <stdarg.h>

#include "internal.h"

static void say(const struct switchd *sw, const char *what, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "canary switch %s: %s%s\n", sw->name, what, text);
}

void sw_error(const struct switchd *sw, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(sw, "error: ", fmt, ap);
	va_end(ap);
}

void sw_warn(const struct switchd *sw, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(sw, "warning: ", fmt, ap);
	va_end(ap);
}

void sw_info(const struct switchd *sw, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(sw, "", fmt, ap);
	va_end(ap);
}

void sw_debug(const struct switchd *sw, const char *fmt, ...)
{
	va_list ap;

	if (!sw->opt->verbose)
		return;
	va_start(ap, fmt);
	say(sw, "", fmt, ap);
	va_end(ap);
}
