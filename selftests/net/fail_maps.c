// SPDX-License-Identifier: BSD-2-Clause
/*
 * For LD_PRELOAD: makes calls fail while the file $FAIL_MAPS exists.
 *
 * If the file is empty, BPF maps can neither be changed nor walked through. If it has one of
 * "update", "delete" and "next", only these calls fail. Programs in the kernel still change maps.
 * So a test sees whether the daemon tries again.
 *
 * If it has "run", BPF_PROG_RUN reports a failure although the program ran. If it has "tags", no
 * device answers about its features. If it has "rtnl", questions over netlink get no answer.
 *
 * $COUNT_SEARCHES names a file that gets a line for each search for namespaces.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <dirent.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* These only fail if the file names them. */
static int is_asked_for(const char *what)
{
	return !strcmp(what, "run") || !strcmp(what, "tags") || !strcmp(what, "rtnl");
}

static int fails(const char *what)
{
	const char *name = getenv("FAIL_MAPS");
	FILE *file = name ? fopen(name, "re") : NULL;
	char which[16] = "";

	if (!file)
		return 0;
	if (fscanf(file, "%15s", which) != 1)
		which[0] = '\0';
	fclose(file);
	return (!which[0] && !is_asked_for(what)) || !strcmp(which, what);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	static int (*real)(int fd, const void *key, const void *value, __u64 flags);

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_map_update_elem");
	return fails("update") ? -ENOMEM : real(fd, key, value, flags);
}

int bpf_map_delete_elem(int fd, const void *key)
{
	static int (*real)(int fd, const void *key);

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_map_delete_elem");
	return fails("delete") ? -ENOMEM : real(fd, key);
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	static int (*real)(int fd, const void *key, void *next);

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_map_get_next_key");
	return fails("next") ? -ENOMEM : real(fd, key, next);
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int fd, unsigned long request, void *arg);
	const struct ifreq *ifr;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		real = dlsym(RTLD_NEXT, "ioctl");
	ifr = arg;
	if (request == SIOCETHTOOL && *(const uint32_t *)ifr->ifr_data == ETHTOOL_GSSET_INFO &&
	    fails("tags")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return real(fd, request, arg);
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *buf, size_t len)
{
	static ssize_t (*real)(const struct mnl_socket *nl, const void *buf, size_t len);

	if (!real)
		real = dlsym(RTLD_NEXT, "mnl_socket_sendto");
	return fails("rtnl") ? (ssize_t)len : real(nl, buf, len);
}

DIR *opendir(const char *name)
{
	static DIR *(*real)(const char *name);
	const char *count = getenv("COUNT_SEARCHES");
	FILE *file = count ? fopen(count, "ae") : NULL;

	if (file) {
		fprintf(file, "%s\n", name);
		fclose(file);
	}
	if (!real)
		real = dlsym(RTLD_NEXT, "opendir");
	return real(name);
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	static int (*real)(int fd, struct bpf_test_run_opts *opts);
	int ret;

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_prog_test_run_opts");
	ret = real(fd, opts);
	return fails("run") ? -ENOMEM : ret;
}
