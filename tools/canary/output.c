// SPDX-License-Identifier: BSD-2-Clause
/* Result files, see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "userspace/common/complain.h"

static int refuse(const struct output *o, const char *what, int error)
{
	return complain("canary", "%s%s: %s", o->said, what, strerror(error));
}

/* Can files be made in the folder of @file? errno says why not. */
static bool may_make(const char *file)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", file);
	return !access(dirname(copy), W_OK | X_OK);
}

/* A file may be replaced if only its content changes by that. */
static bool may_replace(const struct output *o)
{
	return S_ISREG(o->old.st_mode) && o->old.st_nlink == 1 &&
	       (!geteuid() || geteuid() == o->old.st_uid) && !access(o->path, W_OK);
}

/* There is no such file yet: check that it can be made. Return: 0 or an errno */
static int find_room(struct output *o)
{
	struct stat link;

	if (!*o->path || !lstat(o->path, &link))	/* no name, or a dangling link */
		return ENOENT;
	if (o->path[strlen(o->path) - 1] == '/')
		return EISDIR;
	if (!may_make(o->path))
		return errno;
	o->file = strdup(o->path);
	return o->file ? 0 : ENOMEM;
}

int output_open(struct output *o, const char *said, const char *path)
{
	int error;

	memset(o, 0, sizeof(*o));
	o->said = said;
	o->path = path;
	o->fd = -1;
	if (!strcmp(path, "-")) {
		o->fd = STDOUT_FILENO;
		return 0;
	}
	if (stat(path, &o->old)) {
		memset(&o->old, 0, sizeof(o->old));
		error = errno == ENOENT ? find_room(o) : errno;
		return error ? refuse(o, path, error) : 0;
	}
	if (may_replace(o)) {
		o->file = realpath(path, NULL);
		if (o->file && may_make(o->file))
			return 0;
		free(o->file);
		o->file = NULL;
	}
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	return o->fd < 0 ? refuse(o, path, errno) : 0;
}

static int write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		data += n;
		len -= n;
	}
	return 0;
}

/*
 * Reserve space in a file without changing its content. A file system that cannot reserve space
 * counts as having it. Return: 0, or an errno if there is no space.
 */
static int make_room(int fd, size_t len)
{
	struct stat before;
	int error;

	if (fstat(fd, &before))
		return errno;
	error = posix_fallocate(fd, 0, len);
	if (error != ENOSPC && error != EDQUOT && error != EFBIG)
		return 0;
	/* posix_fallocate() may have made the file longer. */
	return ftruncate(fd, before.st_size) ? errno : error;
}

/*
 * Overwrite what is there. Space in a file is reserved first, so that a full disk does not destroy
 * the content.
 */
static int write_over(struct output *o, const void *data, size_t len)
{
	bool file = S_ISREG(o->old.st_mode);
	int error = file && len ? make_room(o->fd, len) : 0;

	if (!error)
		error = write_all(o->fd, data, len);
	if (!error && file && ftruncate(o->fd, len))
		error = errno;
	if (o->fd != STDOUT_FILENO) {
		if (close(o->fd) && !error)
			error = errno;
		o->fd = -1;
	}
	return error ? refuse(o, o->path, error) : 0;
}

/* Set the mode of the file that is replaced, or the mode that open() would give. */
static int set_mode(const struct output *o, int fd)
{
	mode_t mode = o->old.st_mode & 0777, mask;

	if (o->old.st_mode) {
		if (fchown(fd, geteuid() ? -1 : o->old.st_uid, o->old.st_gid)) {
			if (!geteuid())
				return errno;
			mode &= ~S_IRWXG;	/* these rights were another group's */
		}
		return fchmod(fd, mode) ? errno : 0;
	}
	mask = umask(0);
	umask(mask);
	return fchmod(fd, 0666 & ~mask) ? errno : 0;
}

/*
 * Write a file next to the one that it will replace. Return: 0, or an errno; then there is no file
 */
static int write_beside(const struct output *o, char *made, const void *data, size_t len)
{
	int fd = mkostemp(made, O_CLOEXEC), error;

	if (fd < 0)
		return errno;
	error = write_all(fd, data, len);
	if (!error)
		error = set_mode(o, fd);
	/*
	 * Without fsync() a crash could leave the name without the data. EINVAL: not supported
	 * here.
	 */
	if (!error && fsync(fd) && errno != EINVAL)
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (error)
		unlink(made);
	return error;
}

int output_write(struct output *o, const void *data, size_t len)
{
	char made[PATH_MAX + 16], dir[PATH_MAX];
	int error;

	if (!o->file)
		return write_over(o, data, len);
	snprintf(dir, sizeof(dir), "%s", o->file);
	snprintf(made, sizeof(made), "%s/.canary-XXXXXX", dirname(dir));
	error = write_beside(o, made, data, len);
	if (error)
		return refuse(o, o->path, error);
	if (!rename(made, o->file))
		return 0;
	/* The file cannot be replaced; it may be a mount point. So overwrite it. */
	error = errno;
	o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0 ? refuse(o, o->path, error) : write_over(o, data, len)) {
			       return complain("canary", "%s%s has the results", o->said, made);
	}
	unlink(made);
	return 0;
}

void output_close(struct output *o)
{
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	o->fd = -1;
	free(o->file);
	o->file = NULL;
}
