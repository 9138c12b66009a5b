// SPDX-License-Identifier: BSD-2-Clause
/*
 * The settings that a switch begins with, from three places: options of the command line, lines of
 * the file of --config, rules in the file of --rules, which is also written here. A file that is
 * missing admits nobody, so that a lost file does not open a switch to everybody.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "setting.h"

#define MISTAKES_TOLD	10	/* of a file that may be something else altogether */

/* Where the reader is, and what it found */
struct reading {
	struct switchd_options *o;
	void (*tell)(void *arg, const char *text);
	void *arg;
	const char *file;		/* NULL: the command line */
	unsigned int line;		/* 0: the file as a whole */
	unsigned int mistakes;
	bool admit;			/* --admit was given */
};

/* Tell a mistake in the present line. Options have no dashes in a file. Return: -1 */
static int mistake(struct reading *r, const char *err)
{
	char text[SWITCHD_PATH_MAX + 512];

	if (r->mistakes++ >= MISTAKES_TOLD)
		return -1;
	if (!r->file)
		snprintf(text, sizeof(text), "%s", err);
	else if (!r->line)
		snprintf(text, sizeof(text), "%s: %s", r->file, err);
	else
		snprintf(text, sizeof(text), "%s:%u: %s", r->file, r->line,
			 err + (strncmp(err, "--", 2) ? 0 : 2));
	r->tell(r->arg, text);
	return -1;
}

/* Cut off a comment, and blanks at both ends. A name or a list may have a # inside. */
static char *strip(char *line)
{
	char *p;

	for (p = line; *p && (*p != '#' || (p > line && !isspace((unsigned char)p[-1]))); p++)
		;
	*p = '\0';
	while (p > line && (!*p || isspace((unsigned char)*p)))
		*p-- = '\0';
	while (isspace((unsigned char)*line))
		line++;
	return line;
}

/* Why must a file like this not decide who is admitted? Return: NULL if it may */
static const char *unfit(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return strerror(EISDIR);
	if (!S_ISREG(st->st_mode))
		return "is no regular file";
	if (st->st_uid && st->st_uid != geteuid())
		return "belongs to another user";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it: chmod go-w";
	return NULL;
}

/*
 * Open a file without waiting, as nobody may write to a FIFO. Return: NULL, and @why. If there is no
 * such file, that is NULL, too.
 */
static FILE *open_file(const char *file, const char **why)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f = NULL;

	*why = NULL;
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd >= 0 && !fstat(fd, &st)) {
		*why = unfit(&st);
		f = *why ? NULL : fdopen(fd, "r");
		if (f)
			return f;
	}
	if (!*why)
		*why = strerror(errno);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/*
 * Give each line of the file that has more than a comment to @take. Return: 0, -1 after a mistake,
 * or -ENOENT if there is no file
 */
static int read_file(struct reading *r, const char *file,
		     int (*take)(struct reading *r, char *text, char *err, size_t len))
{
	unsigned int before = r->mistakes;
	char *line = NULL, err[512];
	const char *why;
	FILE *f = open_file(file, &why);
	size_t room = 0;
	ssize_t n;

	if (!f && !why)
		return -ENOENT;
	r->file = file;
	for (r->line = 1; f && (n = getline(&line, &room, f)) > 0; r->line++) {
		if (strlen(line) != (size_t)n)
			mistake(r, "a NUL character");
		else if (*strip(line) && take(r, strip(line), err, sizeof(err)))
			mistake(r, err);
	}
	r->line = 0;
	if (f && ferror(f))
		why = strerror(errno);
	if (why)
		mistake(r, why);
	if (r->mistakes > MISTAKES_TOLD) {
		snprintf(err, sizeof(err), "%s: %u more mistakes", file,
			 r->mistakes - MISTAKES_TOLD);
		r->tell(r->arg, err);
	}
	r->file = NULL;
	if (f)
		fclose(f);
	free(line);
	return r->mistakes == before ? 0 : -1;
}

static int take_rule(struct reading *r, char *text, char *err, size_t len)
{
	return option_admit(r->o, text, err, len);
}

static void admit_nobody(struct switchd_options *o)
{
	o->admission.on = true;
	o->admission.rules = 0;
}

/* An empty file admits nobody, as well as one that is missing. */
static int read_rules(struct reading *r)
{
	struct switchd_options *o = r->o;

	if (r->admit)
		return mistake(r, "--rules: not together with --admit, as --save writes all rules there");
	admit_nobody(o);
	/* the file that is missing would have named this one */
	if (o->config_missing)
		return 0;
	o->rules_missing = read_file(r, o->rules, take_rule) == -ENOENT;
	return 0;
}

static int take_line(struct reading *r, char *text, char *err, size_t len);

static int take_one(struct reading *r, const struct setting *s, const char *value, char *err,
		    size_t len)
{
	r->admit |= s->take == option_admit;
	if (setting_take(s, r->o, value, err, len))
		return -1;
	if (s->take != option_config || read_file(r, r->o->config, take_line) != -ENOENT)
		return 0;
	r->o->config_missing = true;
	admit_nobody(r->o);
	return 0;
}

/* Parse "NAME VALUE", or "NAME" of an option without a value. */
static int take_line(struct reading *r, char *text, char *err, size_t len)
{
	char *value = text + strcspn(text, " \t");
	const struct setting *s;

	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t");
	s = setting_find(text, SETTING_RUN);
	if (!s)
		return switchd_refuse(err, len, "there is no setting '%.100s'", text);
	if (s->take == option_config)
		return switchd_refuse(err, len, "%s: only an option, not in a file", text);
	if (s->option.argument && !*value)
		return switchd_refuse(err, len, "%s: to what?", text);
	if (!s->option.argument && *value)
		return switchd_refuse(err, len, "%s: takes no value", text);
	return take_one(r, s, value, err, len);
}

int switchd_options_read(struct switchd_options *o, const struct switchd_given *given,
			 void (*tell)(void *arg, const char *text), void *arg)
{
	struct reading r = { .o = o, .tell = tell, .arg = arg };
	const struct setting *s;
	unsigned int i;
	char err[512];

	switchd_options_init(o);
	for (i = 0; i < given->n && !r.mistakes; i++) {
		s = setting_find(given->setting[i].name, SETTING_RUN);
		if (take_one(&r, s, given->setting[i].value, err, sizeof(err)))
			mistake(&r, err);
	}
	if (!r.mistakes && o->rules[0])
		read_rules(&r);
	return r.mistakes ? -1 : 0;
}

static int write_rules(const struct switchd_admission *a, FILE *f)
{
	char text[SWITCHD_RULE_TEXT];
	unsigned int i;

	fprintf(f, "# Whom the switch serves: a rule a line, see --admit in canary-switch(8).\n"
		"# Without any, nobody. `canary switch set --save` writes this file.\n");
	if (!a->on)
		fprintf(f, "everybody\n");
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		fprintf(f, "%s\n", text);
	}
	return fflush(f) || fsync(fileno(f)) ? -errno : 0;
}

/*
 * A new file takes the place of the old one, so that there is always a complete one. What an earlier
 * attempt left is removed. It may be somebody else's, or a FIFO that nobody reads.
 */
int switchd_rules_save(const char *file, const struct switchd_admission *a)
{
	char path[SWITCHD_PATH_MAX + 8];
	int fd, ret;
	FILE *f;

	snprintf(path, sizeof(path), "%s.new", file);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	ret = write_rules(a, f);
	if (fclose(f) && !ret)
		ret = -errno;
	if (!ret && rename(path, file))
		ret = -errno;
	if (ret)
		unlink(path);
	return ret;
}
