// SPDX-License-Identifier: BSD-2-Clause
/* The exchange of PMI-1 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse.h"
#include "pmi1.h"

static __attribute__((format(printf, 3, 4))) int fail(struct pmi1 *p, int err, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, sizeof(p->why), format, args);
	va_end(args);
	return err;
}

static int send_line(struct pmi1 *p, const char *line)
{
	size_t len = strlen(line), at;
	ssize_t n;

	for (at = 0; at < len; at += n) {
		n = send(p->fd, line + at, len - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return fail(p, -EPIPE, "pmi: the launcher is gone: %s", strerror(errno));
	}
	return 0;
}

/*
 * Read one line, without what may follow it. One that is too long is read to its end: the MPI
 * library goes on with this descriptor.
 */
static int receive_line(struct pmi1 *p, char line[PMI1_LINE])
{
	size_t at = 0;
	ssize_t n;
	char c;

	for (;;) {
		n = read(p->fd, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(p, -EPIPE, "pmi: the launcher is gone");
		if (c == '\n')
			break;
		if (at + 1 < PMI1_LINE)
			line[at] = c;
		at++;
	}
	if (at + 1 > PMI1_LINE)
		return fail(p, -EPROTO, "pmi: the launcher sends a line that is too long");
	line[at] = 0;
	return 0;
}

/* Copy the word behind "NAME=" of a line. Return: is it there, and does it fit? */
static bool take_word(const char *line, const char *name, char *word, size_t size)
{
	size_t len = strlen(name), n;

	while (*line) {
		line += strspn(line, " ");
		n = strcspn(line, " ");
		if (!strncmp(line, name, len) && line[len] == '=') {
			n -= len + 1;
			if (n >= size)
				return false;
			memcpy(word, line + len + 1, n);
			word[n] = 0;
			return true;
		}
		line += n;
	}
	return false;
}

/*
 * Send a command, and receive the answer, which begins with @answer and has no rc but 0.
 * @line: the command; receives the answer
 */
static int ask(struct pmi1 *p, char line[PMI1_LINE], const char *answer)
{
	char word[64], command[64];
	int err;

	snprintf(command, sizeof(command), "%.*s", (int)strcspn(line, "\n"), line);
	err = send_line(p, line) ?: receive_line(p, line);
	if (err)
		return err;
	if (!take_word(line, "cmd", word, sizeof(word)) || strcmp(word, answer) ||
	    (take_word(line, "rc", word, sizeof(word)) && strcmp(word, "0")))
		return fail(p, -EPROTO, "pmi: the launcher answers '%.100s' to '%s'", line,
			    command);
	return 0;
}

int pmi1_check(struct pmi1 *p)
{
	const char *number = getenv("PMI_FD");
	struct stat status;
	uint32_t fd;

	if (!number)
		return fail(p, -EINVAL, "pmi: PMI_FD is not set%s",
			    getenv("PMI_PORT") ? ", and PMI_PORT is not supported" : "");
	if (!parse_number(number, 0, INT32_MAX, &fd))
		return fail(p, -EINVAL, "pmi: PMI_FD is '%s', not a number", number);
	/* A program in between may have closed it, and opened a file of its own in its place. */
	if (!fstat(fd, &status) && !S_ISSOCK(status.st_mode))
		return fail(p, -ENOTSOCK,
			    "pmi: PMI_FD is %u, but that is no socket of the launcher", fd);
	p->fd = fd;
	return 0;
}

int pmi1_begin(struct pmi1 *p)
{
	char line[PMI1_LINE] = "cmd=init pmi_version=1 pmi_subversion=1\n";
	int err;

	err = pmi1_check(p) ?: ask(p, line, "response_to_init");
	if (err)
		return err;
	strcpy(line, "cmd=get_my_kvsname\n");
	err = ask(p, line, "my_kvsname");
	if (!err && !take_word(line, "kvsname", p->name, sizeof(p->name)))
		err = fail(p, -EPROTO, "pmi: the launcher answers '%.100s'", line);
	return err;
}

int pmi1_put(struct pmi1 *p, const char *key, const char *value)
{
	char line[PMI1_LINE];

	snprintf(line, sizeof(line), "cmd=put kvsname=%s key=%s value=%s\n", p->name, key, value);
	return ask(p, line, "put_result");
}

int pmi1_get(struct pmi1 *p, const char *key, char *value, size_t size)
{
	char line[PMI1_LINE];
	int err;

	snprintf(line, sizeof(line), "cmd=get kvsname=%s key=%s\n", p->name, key);
	err = ask(p, line, "get_result");
	if (!err && !take_word(line, "value", value, size))
		err = fail(p, -EPROTO, "pmi: the launcher answers '%.100s'", line);
	return err;
}

int pmi1_barrier(struct pmi1 *p)
{
	char line[PMI1_LINE] = "cmd=barrier_in\n";

	return ask(p, line, "barrier_out");
}

int pmi1_end(struct pmi1 *p)
{
	char line[PMI1_LINE] = "cmd=finalize\n";

	return ask(p, line, "finalize_ack");
}
