// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client of the control sockets: prints what running switches say of themselves, with
 * -j one line of JSON for each.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "switchd.h"

#define PREFIX		"switch-"
#define SUFFIX		".sock"
#define PATIENCE_S	5

/* Send @request to the socket @file, copy the answer to @out. Return 0 or -errno. */
static int ask_one(const char *file, const char *request, FILE *out)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	char buf[4096];
	ssize_t n = -1;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s", SWITCHD_RUN_DIR, file);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) ||
	    send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		goto out;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, n, out);
out:
	if (n < 0)
		n = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return n;
}

static int show_one(const char *file, bool json)
{
	return ask_one(file, json ? "json\n" : "text\n", stdout);
}

/* What is not "ok" is a complaint. */
static int set_one(const char *file, const char *request)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int ret;

	if (!out)
		return -ENOMEM;
	ret = ask_one(file, request, out);
	fclose(out);
	if (!ret && strcmp(text, "ok\n")) {
		fprintf(stderr, "canary switch set: %s: %s", file, text);
		ret = -EINVAL;
	}
	free(text);
	return ret;
}

static int show_named(const char *name, bool json)
{
	char file[sizeof(PREFIX SUFFIX) + SWITCHD_NAME_MAX];
	int ret;

	if (strlen(name) > SWITCHD_NAME_MAX || strchr(name, '/')) {
		fprintf(stderr, "canary switch show: '%s' is no name of a switch\n", name);
		return 1;
	}
	snprintf(file, sizeof(file), PREFIX "%s" SUFFIX, name);
	ret = show_one(file, json);
	if (ret == -ENOENT || ret == -ECONNREFUSED)
		fprintf(stderr, "canary switch show: no switch '%s' is running here\n", name);
	else if (ret)
		fprintf(stderr, "canary switch show: %s: %s\n", name, strerror(-ret));
	return ret ? 1 : 0;
}

static int is_socket(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > strlen(PREFIX SUFFIX) && !strncmp(e->d_name, PREFIX, strlen(PREFIX)) &&
	       !strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX);
}

int switchd_show(const char *name, bool json)
{
	struct dirent **list;
	int n, i, ret, shown = 0, failed = 0;

	if (name)
		return show_named(name, json);
	n = scandir(SWITCHD_RUN_DIR, &list, is_socket, alphasort);
	for (i = 0; i < n; i++) {
		ret = show_one(list[i]->d_name, json);
		/* sockets of killed daemons and of those that end this moment are no news */
		if (!ret) {
			shown++;
		} else if (ret != -ECONNREFUSED && ret != -ENOENT) {
			fprintf(stderr, "canary switch show: %s: %s\n", list[i]->d_name,
				strerror(-ret));
			failed++;
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (!shown && !failed)
		fprintf(stderr, "canary switch show: no switch is running here\n");
	return shown && !failed ? 0 : 1;
}

static int set_named(const char *name, const char *request)
{
	char file[sizeof(PREFIX SUFFIX) + SWITCHD_NAME_MAX];
	int ret;

	if (strlen(name) > SWITCHD_NAME_MAX || strchr(name, '/')) {
		fprintf(stderr, "canary switch set: '%s' is no name of a switch\n", name);
		return 1;
	}
	snprintf(file, sizeof(file), PREFIX "%s" SUFFIX, name);
	ret = set_one(file, request);
	if (ret == -ENOENT || ret == -ECONNREFUSED)
		fprintf(stderr, "canary switch set: no switch '%s' is running here\n", name);
	else if (ret && ret != -EINVAL)
		fprintf(stderr, "canary switch set: %s: %s\n", name, strerror(-ret));
	return ret ? 1 : 0;
}

int switchd_set(const char *name, const char *setting, const char *value)
{
	struct dirent **list;
	char request[SWITCHD_SET_MAX + 64];
	int n, i, ret, done = 0, failed = 0;

	if (strlen(value) > SWITCHD_SET_MAX || strchr(value, '\n') || !*value) {
		fprintf(stderr, "canary switch set: --%s: 1 to %d characters in one line expected\n",
			setting, SWITCHD_SET_MAX);
		return 1;
	}
	snprintf(request, sizeof(request), "set %s %s\n", setting, value);
	if (name)
		return set_named(name, request);
	n = scandir(SWITCHD_RUN_DIR, &list, is_socket, alphasort);
	for (i = 0; i < n; i++) {
		ret = set_one(list[i]->d_name, request);
		done += !ret;
		failed += ret && ret != -ECONNREFUSED && ret != -ENOENT;
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (!done && !failed)
		fprintf(stderr, "canary switch set: no switch is running here\n");
	return done && !failed ? 0 : 1;
}
