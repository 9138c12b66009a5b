// SPDX-License-Identifier: BSD-2-Clause
/*
 * A UNIX socket in the file system, where other processes of the same user can look at a member.
 * Who connects gets lines of the form "KIND NAME VALUE". KIND is n (number), s (string), c
 * (counter) or d (drop reason). `canary comm show` and `canary stats` read them. A socket that
 * cannot be made is no error.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "user.h"

/* The directory has to belong to this user alone: in /tmp somebody else may have made it. */
static bool own_directory(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) && errno != EEXIST)
		return false;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022) && access(path, W_OK) == 0;
}

static bool find_directory(char *path, size_t len)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	snprintf(path, len, "/run/canary");
	if (geteuid() == 0 && own_directory(path, 0755))
		return true;
	if (runtime && (size_t)snprintf(path, len, "%s/canary", runtime) < len &&
	    own_directory(path, 0700))
		return true;
	snprintf(path, len, "/tmp/canary-%u", (unsigned int)geteuid());
	return own_directory(path, 0700);
}

void user_publish_open(struct user_publish *p)
{
	static atomic_uint serial;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char dir[64];

	p->fd = -1;
	if (!find_directory(dir, sizeof(dir)))
		return;
	snprintf(p->path, sizeof(p->path), "%s/comm-%d-%u.sock", dir, (int)getpid(),
		 atomic_fetch_add(&serial, 1));
	memcpy(sun.sun_path, p->path, sizeof(sun.sun_path));
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return;
	/* A process that had this process id may have left one. */
	unlink(p->path);
	/*
	 * Only this user may read: with the epoch others could make packets that pass the first
	 * checks.
	 */
	if (fchmod(p->fd, 0600) || bind(p->fd, (struct sockaddr *)&sun, sizeof(sun)) || listen(p->fd, 8)) {
		close(p->fd);
		p->fd = -1;
	}
}

static void write_info(FILE *f, const struct canary_info *info)
{
	static const char *const states[] = {
		"new", "joining", "connected", "failed", "lingering",
	};

	fprintf(f, "s engine user\ns state %s\n",
		info->state < ARRAY_SIZE(states) ? states[info->state] : "?");
	fprintf(f, "n pid %d\ns command %s\n", (int)getpid(), program_invocation_short_name);
	fprintf(f, "n comm %u\nn rank %u\nn members %u\n", info->comm, info->rank,
		info->members);
	fprintf(f, "s local %s\ns root %s\n", lib_peer(&info->local),
		lib_peer(&info->root));
	fprintf(f, "n epoch %u\nn elements %u\nn window %u\nn srtt_us %u\nn error %d\n",
		info->epoch, info->elements, info->window, info->srtt, -info->error);
	fprintf(f, "s algorithm %s", cnr_algorithm_name(info->algorithm));
	if (info->number)
		fprintf(f, ":%u", info->number);
	fprintf(f, "\ns last %s\ns why %s\n",
		info->last ? cnr_algorithm_name(info->last) : "-", cnr_why_name(info->why));
}

static void write_operation(FILE *f, const struct cnr_info *info)
{
	if (!info->op)
		fprintf(f, "s operation -\ns switches -\n");
	else
		fprintf(f, "s operation %s:%s\ns switches %s\n", cnr_operator_name(info->op),
			cnr_dtype_name(info->dtype), info->switches ? "combine" : "pass");
}

static void write_trouble(FILE *f, const struct cnr_trouble *t)
{
	if (t->kind == CNR_TROUBLE_NONE)
		fprintf(f, "s trouble -\n");
	else
		fprintf(f, "s trouble %s@%s\n", cnr_trouble_name(t->kind),
			lib_address(&t->addr, t->port));
}

void user_publish_answer(struct user_publish *p, const struct canary_info *info,
			 const struct cnr_info *core, const struct cnr_trouble *trouble,
			 const struct canary_stat *stats, int count)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int fd, i;

	fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	f = open_memstream(&text, &len);
	if (f) {
		write_info(f, info);
		write_operation(f, core);
		write_trouble(f, trouble);
		for (i = 0; i < count; i++)
			fprintf(f, "%c %s %llu\n", stats[i].drop ? 'd' : 'c', stats[i].name,
				(unsigned long long)stats[i].value);
		fclose(f);
		/* A slow reader gets what fits. The buffer holds more than this text. */
		send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		free(text);
	}
	close(fd);
}

void user_publish_close(struct user_publish *p)
{
	if (p->fd < 0)
		return;
	unlink(p->path);
	close(p->fd);
	p->fd = -1;
}
