// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the daemon tells the manager that started it, as sd_notify(3) says: one datagram to the
 * socket that NOTIFY_SOCKET names. Without that variable there is nobody to tell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "internal.h"

/* Does the manager want to hear from this process? WATCHDOG_PID may name another one. */
static bool watched(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	return usec && *usec && (!pid || !*pid || strtol(pid, NULL, 10) == getpid());
}

void notify_open(struct switchd *sw)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un *to = &sw->notify.to;

	sw->notify.fd = -1;
	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(to->sun_path))
		return;
	to->sun_family = AF_UNIX;
	strcpy(to->sun_path, path);
	sw->notify.len = offsetof(struct sockaddr_un, sun_path) + strlen(path);
	/* an abstract name */
	if (*path == '@')
		to->sun_path[0] = '\0';
	sw->notify.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sw->notify.watchdog = watched();
}

void notify(struct switchd *sw, const char *fmt, ...)
{
	struct notify *n = &sw->notify;
	char text[512];
	bool failed;
	va_list ap;

	if (n->fd < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	failed = sendto(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
			(const struct sockaddr *)&n->to, n->len) < 0;
	/* once, not with each tick for ever */
	if (failed && !n->failed)
		sw_warn(sw, "NOTIFY_SOCKET: %s", strerror(errno));
	n->failed = failed;
}

/* RELOADING=1 needs the time, so that the manager can tell an old READY=1 from the next one. */
void notify_reloading(struct switchd *sw)
{
	notify(sw, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, sw_now() / 1000);
}

void notify_tick(struct switchd *sw)
{
	if (sw->notify.watchdog)
		notify(sw, "WATCHDOG=1");
}

void notify_close(struct switchd *sw)
{
	if (sw->notify.fd >= 0)
		close(sw->notify.fd);
	sw->notify.fd = -1;
}
