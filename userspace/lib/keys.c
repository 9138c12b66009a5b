// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keys from text and files: one key (parameters key and key-file), or the administrator's table of
 * keys for all communicators. The table is used when the application does not set a key.
 *
 * A key file that others can read does not protect. A table that others can write is not the
 * administrator's. Such files are refused.
 */
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib.h"
#include "userspace/common/parse.h"

#define PIPE_PATIENCE	10000	/* ms that a pipe may take to give the key */
#define KEYS_FILE	"/etc/canary/keys"
#define KEYS_VARIABLE	"CANARY_KEYS"

int lib_key_parse(const char *value, u8 key[16])
{
	u8 parsed[16];
	unsigned int byte;
	int i;

	for (i = 0; i < 32 && isxdigit((unsigned char)value[i]); i++)
		;
	if (i != 32 || value[32])
		return lib_error(-EINVAL, "key: has to be 32 hexadecimal digits");
	for (i = 0; i < 16; i++) {
		sscanf(value + 2 * i, "%2x", &byte);
		parsed[i] = byte;
	}
	memcpy(key, parsed, sizeof(parsed));
	return 0;
}

/* Only regular files are checked. A pipe is the business of who opened it. */
static int check_private(const char *path, FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st))
		return lib_error(-errno, "key-file: %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_mode & (S_IRWXO | S_IWGRP))
		return lib_error(-EACCES, "key-file: %s: others can read it, or the group can write it"
				 " (mode %o; chmod 600 or 640)", path, st.st_mode & 07777);
	if (st.st_uid && st.st_uid != geteuid())
		return lib_error(-EACCES, "key-file: %s: belongs to user %u, not to you or root", path,
				 st.st_uid);
	return 0;
}

/* A named pipe must not stop us for ever: it has to have a writer already. */
static FILE *open_key(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	FILE *file;

	if (fd < 0)
		return NULL;
	poll(&ready, 1, PIPE_PATIENCE);
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

int lib_key_file(struct canary_params *params, const char *path)
{
	char text[64] = "";
	FILE *file;
	int err;

	file = open_key(path);
	if (!file)
		return lib_error(-errno, "key-file: %s: %s", path, strerror(errno));
	err = check_private(path, file);
	if (!err && (fscanf(file, "%63s", text) != 1 || lib_key_parse(text, params->key)))
		err = lib_error(-EINVAL, "key-file: %s: has to hold 32 hexadecimal digits", path);
	fclose(file);
	explicit_bzero(text, sizeof(text));
	return err;
}

/* Parse FIRST[-LAST] KEY. Return: 1 if the line has the key of this communicator, 0 if not. */
static int keys_line(struct canary_params *params, char *line)
{
	char *save, *range, *key;
	u32 first, last;

	line[strcspn(line, "#\n")] = 0;
	range = strtok_r(line, " \t\r", &save);
	if (!range)
		return 0;
	key = strtok_r(NULL, " \t\r", &save);
	if (!key || !parse_range(range, &first, &last) || strtok_r(NULL, " \t\r", &save))
		return -EINVAL;
	if (params->comm < first || params->comm > last)
		return 0;
	return lib_key_parse(key, params->key) ?: 1;
}

static int keys_table(struct canary_params *params, const char *path, FILE *file)
{
	unsigned int number = 0;
	char line[256];
	int ret = 0;

	while (!ret && fgets(line, sizeof(line), file)) {
		number++;
		ret = strchr(line, '\n') || feof(file) ? keys_line(params, line) : -EINVAL;
	}
	explicit_bzero(line, sizeof(line));
	if (ret < 0)
		return lib_error(-EINVAL, "%s:%u: not of the form FIRST[-LAST] KEY, with a key of 32"
				 " hexadecimal digits", path, number);
	return 0;
}

int lib_keys_lookup(struct canary_params *params)
{
	static const uint8_t none[sizeof(params->key)];
	const char *given = secure_getenv(KEYS_VARIABLE);
	const char *path = given ? given : KEYS_FILE;
	FILE *file;
	int err;

	if (memcmp(params->key, none, sizeof(none)))
		return 0;
	file = fopen(path, "re");
	/*
	 * Without a table there is no key. If one is needed, rank 0 refuses the member and says
	 * why.
	 */
	if (!file && !given && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (!file)
		return lib_error(-errno, "%s: %s", path, strerror(errno));
	err = check_private(path, file);
	if (!err)
		err = keys_table(params, path, file);
	fclose(file);
	return err;
}
