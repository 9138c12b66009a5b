// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that ranks of a host share: the seat of each of them. It has no name. So nothing is left
 * behind, and only processes of the same user, which may look into its process, can open it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node.h"

static int failed(char *why, const char *what)
{
	int err = errno;

	snprintf(why, NODE_WHY, "memory to share on this host: %s: %s", what, strerror(err));
	return -err;
}

static struct node_seat *map(int fd, char *why)
{
	struct node_seat *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (s == MAP_FAILED) {
		failed(why, "mmap");
		return NULL;
	}
	/* A child of fork() is none of these ranks. */
	madvise(s, sizeof(*s), MADV_DONTFORK);
	return s;
}

/* Take all of it now: what is missing later would kill the process. */
static int reserve(int fd, char *why)
{
	struct rlimit limit;

	/* A file beyond this limit would kill the process, too. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < sizeof(struct node_seat)) {
		errno = EFBIG;
		return failed(why, "ulimit -f");
	}
	if (fallocate(fd, 0, 0, sizeof(struct node_seat)))
		return failed(why, "fallocate");
	if (fchmod(fd, 0600))
		return failed(why, "fchmod");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return failed(why, "seals");
	return 0;
}

/* May other processes of this user open it? */
static int show(int fd, char *why)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (access(path, R_OK | W_OK))
		return failed(why, path);
	if (prctl(PR_GET_DUMPABLE) == 1)
		return 0;
	errno = EPERM;
	return failed(why, "the process is not dumpable");
}

struct node_seat *node_seat_make(int *fd, char *why)
{
	*fd = memfd_create("canary-node", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0) {
		failed(why, "memfd_create");
		return NULL;
	}
	return reserve(*fd, why) || show(*fd, why) ? NULL : map(*fd, why);
}

/* Is this a seat that nobody can make shorter? */
static int check(int fd, char *why)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat s;

	if (fstat(fd, &s))
		return failed(why, "fstat");
	if (seals >= 0 && seals & F_SEAL_SHRINK && s.st_uid == geteuid() &&
	    (size_t)s.st_size == sizeof(struct node_seat))
		return 0;
	errno = ESTALE;
	return failed(why, "that of another process");
}

struct node_seat *node_seat_open(const struct cmpi_offer *offer, char *why)
{
	struct node_seat *s;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", offer->pid, offer->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		failed(why, path);
		return NULL;
	}
	s = check(fd, why) ? NULL : map(fd, why);
	close(fd);
	if (!s || s->token == offer->token)
		return s;
	node_seat_close(s);
	errno = ESTALE;
	failed(why, "the token of another process");
	return NULL;
}

void node_seat_close(struct node_seat *s)
{
	if (s)
		munmap(s, sizeof(*s));
}
