// SPDX-License-Identifier: BSD-2-Clause
/*
 * Messages of the daemon. All go to standard error. Standard output only has the line that says
 * that the switch is ready. A reader that is too slow misses lines, as the daemon does not wait for
 * it.
 */
#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

#include "internal.h"

/* Number of lines that found no room. Only the main thread writes messages. */
static unsigned int lost;

/* If a pipe has any room, it has room for a line. */
static bool say_line(const char *line, int len)
{
	struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLOUT &&
	       write(STDERR_FILENO, line, len) == len;
}

static void say_lost(const struct switchd *sw)
{
	char line[128];
	int len;

	len = snprintf(line, sizeof(line), "canary switch %s: %u lines were not taken\n", sw->name,
		       lost);
	if (say_line(line, len))
		lost = 0;
}

static void say(const struct switchd *sw, const char *what, const char *fmt, va_list ap)
{
	char text[512], line[sizeof(text) + 128];
	int len;

	vsnprintf(text, sizeof(text), fmt, ap);
	len = snprintf(line, sizeof(line), "canary switch %s: %s%s\n", sw->name, what, text);
	if (lost)
		say_lost(sw);
	if (lost || !say_line(line, len))
		lost++;
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
