// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that the ranks of a host share. It has no name. So nothing is left behind, and only
 * processes of the same user, which may look into the member, can open it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node.h"

static size_t head_bytes(unsigned int ranks)
{
	size_t bytes = sizeof(struct node_shared) + ranks * sizeof(struct node_rank);

	return (bytes + 4095) & ~(size_t)4095;
}

/* The member's own chunks stay in its vector. Its place has results. */
size_t node_memory_bytes(unsigned int ranks)
{
	return head_bytes(ranks) + (size_t)ranks * NODE_SLOTS * NODE_ROOM;
}

void *node_chunk(const struct cmpi_node *n, unsigned int rank, uint64_t chunk)
{
	return (char *)n->shared + head_bytes(n->local) +
	       (rank * NODE_SLOTS + chunk % NODE_SLOTS) * (size_t)NODE_ROOM;
}

void *node_result(const struct cmpi_node *n, uint64_t chunk)
{
	return node_chunk(n, 0, chunk);
}

static int failed(char *why, const char *what)
{
	int err = errno;

	snprintf(why, NODE_WHY, "memory for the ranks of this host: %s: %s", what, strerror(err));
	return -err;
}

static int map(struct cmpi_node *n, int fd, char *why)
{
	void *at = mmap(NULL, n->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return failed(why, "mmap");
	/* A child of fork() is none of these ranks. */
	madvise(at, n->bytes, MADV_DONTFORK);
	n->shared = at;
	return 0;
}

/* Take all of it now: what is missing later would kill the process. */
static int reserve(struct cmpi_node *n, int fd, char *why)
{
	struct rlimit limit;

	/* A file beyond this limit would kill the process, too. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < n->bytes) {
		errno = EFBIG;
		return failed(why, "ulimit -f");
	}
	if (fallocate(fd, 0, 0, n->bytes))
		return failed(why, "fallocate");
	if (fchmod(fd, 0600))
		return failed(why, "fchmod");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return failed(why, "seals");
	return 0;
}

int node_memory_make(struct cmpi_node *n, uint64_t token, char *why)
{
	int err;

	n->bytes = node_memory_bytes(n->local);
	n->fd = memfd_create("canary-node", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (n->fd < 0)
		return failed(why, "memfd_create");
	err = reserve(n, n->fd, why) ?: map(n, n->fd, why);
	if (!err) {
		n->shared->token = token;
		n->shared->rank[0].pid = getpid();
	}
	return err;
}

/* Is this what the member has made? */
static int check(const struct cmpi_node *n, int fd, char *why)
{
	struct stat s;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &s))
		return failed(why, "fstat");
	if (seals >= 0 && seals & F_SEAL_SHRINK && s.st_uid == geteuid() &&
	    (size_t)s.st_size == n->bytes)
		return 0;
	errno = ESTALE;
	return failed(why, "the member's is not there");
}

int node_memory_attach(struct cmpi_node *n, const struct cmpi_offer *offer, char *why)
{
	char path[64];
	int err, fd;

	n->bytes = node_memory_bytes(n->local);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", offer->pid, offer->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return failed(why, path);
	err = check(n, fd, why) ?: map(n, fd, why);
	close(fd);
	if (err)
		return err;
	if (n->shared->token != offer->token) {
		errno = ESTALE;
		return failed(why, "it is another one's");
	}
	n->shared->rank[n->own].pid = getpid();
	return 0;
}

void node_memory_free(struct cmpi_node *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
	/* A child of fork() does not have it. */
	if (n->shared && n->pid == getpid())
		munmap(n->shared, n->bytes);
	n->shared = NULL;
}
