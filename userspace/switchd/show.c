// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client of the control sockets. It prints the state of running switches, with -j as one line
 * of JSON each, and changes their settings. The sockets are those of the whole machine. Without a
 * name, switches of this network namespace are meant. None is changed that may belong to another
 * namespace.
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
#include "userspace/common/complain.h"
#include "userspace/common/parse.h"

#define PREFIX		"switch-"
#define SUFFIX		".sock"
/* A main loop that did not turn for 10 s hangs (clock.c). Until then, it may still answer. */
#define PATIENCE_S	15

/* Send @request to the socket @file, and copy the answer to @out. Return: 0 or -errno */
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
	/* a daemon may let connect() wait, or read() */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
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

#define FILE_MAX	(sizeof(PREFIX SUFFIX) + SWITCHD_NAME_MAX)

static int file_of(const char *verb, const char *name, char *file)
{
	if (!*name || strlen(name) > SWITCHD_NAME_MAX || strchr(name, '/')) {
		fprintf(stderr, "canary switch %s: '%s' is no name of a switch\n", verb, name);
		return -1;
	}
	snprintf(file, FILE_MAX, PREFIX "%s" SUFFIX, name);
	return 0;
}

/* Sockets of killed daemons, and of those that are just ending, are not reported. */
static bool is_gone(int ret)
{
	return ret == -ENOENT || ret == -ECONNREFUSED;
}

static int is_socket(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > strlen(PREFIX SUFFIX) && !strncmp(e->d_name, PREFIX, strlen(PREFIX)) &&
	       !strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX);
}

/* Switches that run on this machine */
struct switches {
	struct dirent **list;	/* in this order: wanted, doubtful, others that run, dead */
	int found;		/* length of the list */
	int n;			/* number of wanted ones: in this network namespace, or all */
	int doubtful;		/* number that may be in this namespace or not */
	int others;
};

enum place { DEAD, HERE, ELSEWHERE, UNKNOWN };

/* Where is the switch? If it says nothing, or no inode, that is unknown. */
static enum place place_of(const char *file)
{
	uint64_t netns = 0;
	char *text = NULL, *end;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int ret;

	if (!out)
		return UNKNOWN;
	ret = ask_one(file, "netns\n", out);
	if (!fclose(out) && !ret) {
		/* without exactly one line the answer was cut short */
		end = strchr(text, '\n');
		if (end && !end[1]) {
			*end = '\0';
			parse_quantity(text, parse_counts, 0, UINT64_MAX, &netns);
		}
	}
	free(text);
	if (is_gone(ret))
		return DEAD;
	if (!netns || !switchd_netns())
		return UNKNOWN;
	return netns == switchd_netns() ? HERE : ELSEWHERE;
}

/* Move entry @i of the list to @at. Those between move down. */
static void move_up(struct switches *s, int i, int at)
{
	struct dirent *e = s->list[i];

	memmove(s->list + at + 1, s->list + at, (i - at) * sizeof(e));
	s->list[at] = e;
}

static void switches_find(struct switches *s, bool all)
{
	enum place place;
	int i;

	memset(s, 0, sizeof(*s));
	s->found = scandir(SWITCHD_RUN_DIR, &s->list, is_socket, alphasort);
	if (s->found < 0)
		s->list = NULL;
	for (i = 0; i < s->found; i++) {
		place = place_of(s->list[i]->d_name);
		if (place == HERE || (place != DEAD && all))
			move_up(s, i, s->n++);
		else if (place == UNKNOWN)
			move_up(s, i, s->n + s->doubtful++);
		else if (place == ELSEWHERE)
			move_up(s, i, s->n + s->doubtful + s->others++);
	}
}

static void switches_free(struct switches *s)
{
	int i;

	for (i = 0; i < s->found; i++)
		free(s->list[i]);
	free(s->list);
}

/* Print @n names from @list on, and end the line. */
static void say_names(struct dirent **list, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fprintf(stderr, " %.*s", (int)(strlen(list[i]->d_name) - strlen(PREFIX SUFFIX)),
			list[i]->d_name + strlen(PREFIX));
	fprintf(stderr, "\n");
}

static void say_none(const char *verb, const struct switches *s)
{
	if (!s->others) {
		fprintf(stderr, "canary switch %s: no switch is running on this machine\n", verb);
		return;
	}
	fprintf(stderr, "canary switch %s: no switch is running in this network namespace; in others (--name NAME, or --all):",
		verb);
	say_names(s->list + s->n + s->doubtful, s->others);
}

/* ---- state ---- */

static int show_one(const char *file, bool json)
{
	return ask_one(file, json ? "json\n" : "text\n", stdout);
}

static int show_named(const char *name, bool json)
{
	char file[FILE_MAX];
	int ret;

	if (file_of("show", name, file))
		return 2;
	ret = show_one(file, json);
	if (is_gone(ret))
		complain("canary switch show", "no switch '%s' is running on this machine",
			 name);
	else if (ret)
		complain("canary switch show", "%s: %s", name, strerror(-ret));
	return ret ? 1 : 0;
}

int switchd_show(const char *name, bool all, bool json)
{
	int i, ret, shown = 0, failed = 0;
	struct switches s;

	if (name)
		return show_named(name, json);
	switches_find(&s, all);
	for (i = 0; i < s.n + s.doubtful; i++) {
		ret = show_one(s.list[i]->d_name, json);
		if (!ret) {
			shown++;
		} else if (!is_gone(ret)) {
			complain("canary switch show", "%s: %s", s.list[i]->d_name,
				 strerror(-ret));
			failed++;
		}
	}
	if (!shown && !failed)
		say_none("show", &s);
	switches_free(&s);
	return shown && !failed ? 0 : 1;
}

/* ---- settings ---- */

/*
 * @how: "set" or "try". An answer other than "ok" is an error message, and printed. Return: 0 or
 * -errno
 */
static int set_one(const char *file, const char *how, const char *settings)
{
	char request[SWITCHD_SET_MAX + 64], *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int ret;

	if (!out)
		return -ENOMEM;
	snprintf(request, sizeof(request), "%s\n%s\n", how, settings);
	ret = ask_one(file, request, out);
	fclose(out);
	if (!ret && strcmp(text, "ok\n"))
		ret = -EINVAL;
	if (ret == -EINVAL)
		fprintf(stderr, "canary switch set: %.*s: %s", (int)(strlen(file) - strlen(PREFIX SUFFIX)),
			file + strlen(PREFIX), *text ? text : "no answer\n");
	else if (ret && !is_gone(ret))
		complain("canary switch set", "%s: %s", file, strerror(-ret));
	free(text);
	return ret;
}

static int set_named(const char *name, const char *settings)
{
	char file[FILE_MAX];
	int ret;

	if (file_of("set", name, file))
		return 2;
	ret = set_one(file, "set", settings);
	if (is_gone(ret))
		complain("canary switch set", "no switch '%s' is running on this machine",
			 name);
	return ret ? 1 : 0;
}

/* As set_one(), but a switch that has ended meanwhile is an error. */
static int set_next(const char *file, const char *how, const char *settings)
{
	int ret = set_one(file, how, settings);

	if (is_gone(ret))
		complain("canary switch set", "%.*s: has ended meanwhile",
			 (int)(strlen(file) - strlen(PREFIX SUFFIX)), file + strlen(PREFIX));
	return ret;
}

/* Without @all or a name, no switch may be changed that may belong to another namespace. */
static bool is_clear(const struct switches *s, bool all)
{
	if (all)
		return true;
	if (s->doubtful) {
		fprintf(stderr, "canary switch set: %s whether they are in this network namespace, which switch? --name NAME, or --all of this machine:",
			switchd_netns() ? "these do not say" : "without /proc nobody knows");
		say_names(s->list + s->n, s->doubtful);
		return false;
	}
	if (s->n > 1) {
		fprintf(stderr, "canary switch set: %d switches run in this network namespace, which one? --name NAME, or --all of this machine:",
			s->n);
		say_names(s->list, s->n);
		return false;
	}
	return true;
}

/*
 * First ask all switches whether they would, then tell them to. If one refuses in the second step,
 * the others cannot be undone, and are named.
 */
static int set_listed(const struct switches *s, bool all, const char *settings)
{
	int i, failed = 0;

	if (!is_clear(s, all))
		return 1;
	for (i = 0; s->n > 1 && i < s->n; i++)
		failed += !!set_next(s->list[i]->d_name, "try", settings);
	for (i = 0; !failed && i < s->n; i++)
		failed += !!set_next(s->list[i]->d_name, "set", settings);
	if (failed && i > 1) {
		fprintf(stderr, "canary switch set: changed already:");
		say_names(s->list, i - 1);
	}
	if (!s->n)
		say_none("set", s);
	return s->n && !failed ? 0 : 1;
}

/* Write one line for each setting. Return: 0, or -1 after an error message */
static int write_settings(const struct switchd_setting *setting, unsigned int n, char *text,
			  size_t room)
{
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!*setting[i].value || strchr(setting[i].value, '\n') ||
		    at + strlen(setting[i].name) + strlen(setting[i].value) + 2 >= room) {
			return complain("canary switch set", "--%s: 1 to %d characters in one line expected, all together",
					setting[i].name, SWITCHD_SET_MAX);
		}
		at += sprintf(text + at, "%s %s\n", setting[i].name, setting[i].value);
	}
	return 0;
}

int switchd_set(const char *name, bool all, const struct switchd_setting *setting, unsigned int n)
{
	char settings[SWITCHD_SET_MAX + 1], err[256];
	struct switches s;
	int ret;

	if (write_settings(setting, n, settings, sizeof(settings)))
		return 2;
	if (switchd_settings_check(setting, n, err, sizeof(err))) {
		complain("canary switch set", "%s", err);
		return 2;
	}
	if (name)
		return set_named(name, settings);
	switches_find(&s, all);
	ret = set_listed(&s, all, settings);
	switches_free(&s);
	return ret;
}
