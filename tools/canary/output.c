// SPDX-License-Identifier: BSD-2-Clause
/* Files of results, see output.h. */
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

/* Can files be made where @file is? errno says why not. */
static bool may_make(const char *file)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", file);
	return !access(dirname(copy), W_OK | X_OK);
}

/* Only what then is the same as before but for its content */
static bool may_replace(const struct output *o)
{
	return S_ISREG(o->old.st_mode) && o->old.st_nlink == 1 &&
	       (!geteuid() || geteuid() == o->old.st_uid) && !access(o->path, W_OK);
}

/* Nothing is there. Return: 0 or an errno */
static int find_room(struct output *o)
{
	struct stat link;

	if (!*o->path || !lstat(o->path, &link))	/* a link that leads nowhere */
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

/* In a file, whose content stays. Return: 0, or an errno if there is none; who cannot tell has. */
static int make_room(int fd, size_t len)
{
	struct stat before;
	int error;

	if (fstat(fd, &before))
		return errno;
	error = posix_fallocate(fd, 0, len);
	if (error != ENOSPC && error != EDQUOT && error != EFBIG)
		return 0;
	/* it is longer by what there was room for */
	return ftruncate(fd, before.st_size) ? errno : error;
}

/* Over what is there. Where that is a file, room comes first: a full disk shall not cost it. */
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

/* As the file that is replaced, or as open() would have made it */
static int set_mode(const struct output *o, int fd)
{
	mode_t mode = o->old.st_mode & 0777, mask;

	if (o->old.st_mode) {
		if (fchown(fd, geteuid() ? -1 : o->old.st_uid, o->old.st_gid)) {
			if (!geteuid())
				return errno;
			mode &= ~S_IRWXG;	/* they were another group's */
		}
		return fchmod(fd, mode) ? errno : 0;
	}
	mask = umask(0);
	umask(mask);
	return fchmod(fd, 0666 & ~mask) ? errno : 0;
}

/* A file beside the one that it is to replace. Return: 0, or an errno and no file */
static int write_beside(const struct output *o, char *made, const void *data, size_t len)
{
	int fd = mkostemp(made, O_CLOEXEC), error;

	if (fd < 0)
		return errno;
	error = write_all(fd, data, len);
	if (!error)
		error = set_mode(o, fd);
	/* else a crash could leave the name without the data; EINVAL: not with this file system */
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
	/* such as a mount point */
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
