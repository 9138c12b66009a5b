// SPDX-License-Identifier: BSD-2-Clause
/*
 * The exchange of PMI-1, which mpiexec of MPICH and srun --mpi=pmi2 offer: lines of text over a
 * descriptor that the process inherits. There is no library for it in Debian that both have.
 *
 *	cmd=put kvsname=NAME key=KEY value=VALUE	cmd=put_result rc=0
 *	cmd=barrier_in					cmd=barrier_out, when all ranks sent it
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "launcher.h"
#include "userspace/common/parse.h"

#define LINE	1024	/* the longest line of PMI-1 */
#define KEY	"canary-root"

static int send_line(int fd, const char *line)
{
	size_t len = strlen(line), at;
	ssize_t n;

	for (at = 0; at < len; at += n) {
		n = send(fd, line + at, len - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return lib_error(-EPIPE, "pmi: the launcher is gone: %s", strerror(errno));
	}
	return 0;
}

/* Read one line, without what may follow it. */
static int receive_line(int fd, char line[LINE])
{
	size_t at = 0;
	ssize_t n;

	while (at + 1 < LINE) {
		n = read(fd, line + at, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return lib_error(-EPIPE, "pmi: the launcher is gone");
		if (line[at] == '\n') {
			line[at] = 0;
			return 0;
		}
		at++;
	}
	return lib_error(-EPROTO, "pmi: the launcher sends a line that is too long");
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
static int ask(int fd, char line[LINE], const char *answer)
{
	char word[64], command[64];
	int err;

	snprintf(command, sizeof(command), "%.*s", (int)strcspn(line, "\n"), line);
	err = send_line(fd, line) ?: receive_line(fd, line);
	if (err)
		return err;
	if (!take_word(line, "cmd", word, sizeof(word)) || strcmp(word, answer) ||
	    (take_word(line, "rc", word, sizeof(word)) && strcmp(word, "0")))
		return lib_error(-EPROTO, "pmi: the launcher answers '%.100s' to '%s'", line,
				 command);
	return 0;
}

static int get_root(int fd, const char *name, char *text)
{
	char line[LINE];
	int err;

	snprintf(line, sizeof(line), "cmd=get kvsname=%s key=" KEY "\n", name);
	err = ask(fd, line, "get_result");
	if (!err && !take_word(line, "value", text, ADDRESS_TEXT))
		err = lib_error(-EPROTO, "pmi: the launcher answers '%.100s'", line);
	return err;
}

static int talk(int fd, struct launched *l, char *text)
{
	char line[LINE] = "cmd=init pmi_version=1 pmi_subversion=1\n";
	char name[LAUNCHER_ID];
	int err;

	err = ask(fd, line, "response_to_init");
	if (err)
		return err;
	strcpy(line, "cmd=get_my_kvsname\n");
	err = ask(fd, line, "my_kvsname");
	if (err)
		return err;
	if (!take_word(line, "kvsname", name, sizeof(name)))
		return lib_error(-EPROTO, "pmi: the launcher answers '%.100s'", line);
	if (!l->rank) {
		snprintf(line, sizeof(line), "cmd=put kvsname=%s key=" KEY " value=%s\n", name,
			 text);
		err = ask(fd, line, "put_result");
	}
	strcpy(line, "cmd=barrier_in\n");
	err = err ?: ask(fd, line, "barrier_out");
	if (!err && l->rank)
		err = get_root(fd, name, text);
	if (!err && !l->id[0])
		snprintf(l->id, sizeof(l->id), "%s", name);
	/* Whoever ends without it counts as crashed. */
	strcpy(line, "cmd=finalize\n");
	return err ?: ask(fd, line, "finalize_ack");
}

int pmi_exchange(struct launched *l, char *text)
{
	const char *number = getenv("PMI_FD");
	struct stat status;
	u32 fd;

	if (!number)
		return lib_error(-EINVAL, "pmi: PMI_FD is not set%s: give the number of the communicator and the address of rank 0",
				 getenv("PMI_PORT") ? ", and PMI_PORT is not supported" : "");
	if (!parse_number(number, 0, INT32_MAX, &fd))
		return lib_error(-EINVAL, "pmi: PMI_FD is '%s', not a number", number);
	/* A program in between may have closed it, and opened a file of its own in its place. */
	if (!fstat(fd, &status) && !S_ISSOCK(status.st_mode))
		return lib_error(-ENOTSOCK, "pmi: PMI_FD is %u, but that is no socket of the launcher", fd);
	if (dlsym(RTLD_DEFAULT, "MPI_Init"))
		return lib_error(-EBUSY, "pmi: PMI_FD belongs to the MPI library of this process: broadcast the address of rank 0 by MPI");
	return talk(fd, l, text);
}
