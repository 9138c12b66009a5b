// SPDX-License-Identifier: BSD-2-Clause
/*
 * The members on this machine. What user engines say comes from other processes, maybe of other
 * users. So it is checked before it is shown.
 */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engines.h"
#include "member_json.h"
#include "userspace/common/complain.h"

#define PROC_MEMBERS	"/proc/net/canary"
#define PROC_STATS	"/proc/net/canary_stats"
#define FIELDS_MAX	512
#define COLUMNS_MAX	32
#define ANSWER_SECONDS	1

static int out_of_memory(void)
{
	return complain_memory("canary");
}

static bool is_number(const char *s)
{
	if (*s == '-')
		s++;
	return *s && strlen(s) < 20 && strspn(s, "0123456789") == strlen(s) &&
	       (*s != '0' || !s[1]);
}

static bool printable(const char *s)
{
	for (; *s; s++)
		if (!isprint((unsigned char)*s))
			return false;
	return true;
}

static int add_field(struct report *r, enum field_kind kind, const char *name, const char *value)
{
	struct field *fields;

	if (r->n == FIELDS_MAX || !printable(name) || !printable(value))
		return 0;
	if (kind == FIELD_NUMBER && !is_number(value))
		kind = FIELD_STRING;
	if ((kind == FIELD_COUNTER || kind == FIELD_DROP) && !is_number(value))
		return 0;
	fields = realloc(r->fields, (r->n + 1) * sizeof(*fields));
	if (!fields)
		return out_of_memory();
	r->fields = fields;
	fields += r->n++;
	fields->kind = kind;
	snprintf(fields->name, sizeof(fields->name), "%s", name);
	snprintf(fields->value, sizeof(fields->value), "%s", value);
	return 0;
}

static int add_report(struct reports *all, struct report *r)
{
	struct report *list;

	list = realloc(all->list, (all->n + 1) * sizeof(*list));
	if (!list) {
		report_free(r);
		return out_of_memory();
	}
	all->list = list;
	list[all->n++] = *r;
	return 0;
}

void report_free(struct report *r)
{
	free(r->fields);
	memset(r, 0, sizeof(*r));
}

void reports_free(struct reports *all)
{
	while (all->n)
		report_free(&all->list[--all->n]);
	free(all->list);
	memset(all, 0, sizeof(*all));
}

const char *report_value(const struct report *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->fields[i].kind <= FIELD_STRING && !strcmp(r->fields[i].name, name))
			return r->fields[i].value;
	return NULL;
}

static void json_kind(struct json *j, const struct report *r, unsigned int kinds)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		if (!(kinds & 1U << f->kind))
			continue;
		if (f->kind == FIELD_STRING)
			json_string(j, json_key(f->name), f->value);
		else
			json_number(j, json_key(f->name), "%s", f->value);
	}
}

void report_json(struct json *j, const struct report *r)
{
	json_kind(j, r, 1U << FIELD_NUMBER | 1U << FIELD_STRING);
}

void report_json_counters(struct json *j, const struct report *r)
{
	json_kind(j, r, 1U << FIELD_COUNTER);
	json_object(j, "drops");
	json_kind(j, r, 1U << FIELD_DROP);
	json_end(j);
}

/* Split a line into words, in place. Return: number of words. */
static int split(char *line, char *words[COLUMNS_MAX])
{
	char *save, *word = strtok_r(line, " \t\n", &save);
	int n = 0;

	for (; word && n < COLUMNS_MAX; word = strtok_r(NULL, " \t\n", &save))
		words[n++] = word;
	return n;
}

/*
 * The kernel shows these fields only to the member's user, and to the administrator of the network
 * namespace.
 */
static bool may_hide(const char *name)
{
	return !strcmp(name, "epoch") || !strcmp(name, "una") || !strcmp(name, "next");
}

static int add_column(struct report *r, const char *name, const char *value)
{
	if (!may_hide(name) || strcmp(value, "-"))
		return add_field(r, FIELD_NUMBER, name, value);
	if (report_value(r, "hidden"))
		return 0;
	return add_field(r, FIELD_STRING, "hidden", "epoch, una, next");
}

int engines_kernel(struct reports *all)
{
	char head[512], line[512], *name[COLUMNS_MAX], *value[COLUMNS_MAX];
	FILE *f = fopen(PROC_MEMBERS, "re");
	int names, values, i, err = 0;

	if (!f)
		return 0;
	names = fgets(head, sizeof(head), f) ? split(head, name) : 0;
	while (!err && fgets(line, sizeof(line), f)) {
		struct report r = { 0 };

		values = split(line, value);
		err = add_field(&r, FIELD_STRING, "engine", "kernel");
		for (i = 0; i < names && i < values && !err; i++)
			err = add_column(&r, name[i], value[i]);
		if (err)
			report_free(&r);
		else
			err = add_report(all, &r);
	}
	fclose(f);
	return err;
}

bool engines_kernel_stats(struct report *r)
{
	FILE *f = fopen(PROC_STATS, "re");
	char line[256], *word[COLUMNS_MAX];
	bool drop;

	memset(r, 0, sizeof(*r));
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		/* "drop-none" counts packets that were taken. */
		if (split(line, word) != 2 || !strcmp(word[0], "drop-none"))
			continue;
		drop = !strncmp(word[0], "drop-", 5);
		add_field(r, drop ? FIELD_DROP : FIELD_COUNTER, word[0] + (drop ? 5 : 0), word[1]);
	}
	fclose(f);
	return true;
}

/* Remove a socket that nobody listens at. Its process is gone. */
static void clean_stale(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	int pid;

	if (sscanf(name, "comm-%d-", &pid) == 1 && kill(pid, 0) && errno == ESRCH)
		unlink(path);
}

static FILE *ask(const char *path)
{
	struct timeval patience = { .tv_sec = ANSWER_SECONDS };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	FILE *f;
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		return NULL;
	memcpy(sun.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun))) {
		if (errno == ECONNREFUSED)
			clean_stale(path);
		close(fd);
		return NULL;
	}
	f = fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

static int take_answer(struct reports *all, FILE *f, const char *path)
{
	char line[256], name[32], value[96], kind;
	struct report r = { 0 };

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%c %31s %95[^\n]", &kind, name, value) != 3)
			continue;
		if (add_field(&r, kind == 'n' ? FIELD_NUMBER : kind == 'c' ? FIELD_COUNTER :
			      kind == 'd' ? FIELD_DROP : FIELD_STRING, name, value)) {
			report_free(&r);
			return -1;
		}
	}
	if (!report_value(&r, "comm") || !report_value(&r, "rank")) {
		/* The process has just ended, or it is stopped. */
		if (ferror(f))
			complain("canary", "%s: no answer", path);
		report_free(&r);
		return 0;
	}
	return add_report(all, &r);
}

int engines_user(struct reports *all)
{
	static const char *const patterns[] = {
		"/run/canary/comm-*.sock",
		"/run/user/*/canary/comm-*.sock",
		"/tmp/canary-*/comm-*.sock",
	};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char own[128];
	glob_t found;
	FILE *f;
	size_t i;
	int err;

	err = glob(patterns[0], 0, NULL, &found);
	for (i = 1; i < 3; i++)
		err = glob(patterns[i], GLOB_APPEND, NULL, &found);
	if (runtime && strncmp(runtime, "/run/user/", 10) &&
	    (size_t)snprintf(own, sizeof(own), "%s/canary/comm-*.sock", runtime) < sizeof(own))
		err = glob(own, GLOB_APPEND, NULL, &found);
	err = err == GLOB_NOSPACE ? out_of_memory() : 0;
	for (i = 0; i < found.gl_pathc && !err; i++) {
		f = ask(found.gl_pathv[i]);
		if (!f)
			continue;
		err = take_answer(all, f, found.gl_pathv[i]);
		fclose(f);
	}
	globfree(&found);
	return err;
}
