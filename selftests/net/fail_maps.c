// SPDX-License-Identifier: BSD-2-Clause
/*
 * For LD_PRELOAD: maps of BPF cannot be changed while the file $FAIL_MAPS exists. Programs change
 * them all the same; what is seen is whether the daemon tries again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

static int fails(void)
{
	const char *file = getenv("FAIL_MAPS");

	return file && !access(file, F_OK);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	static int (*real)(int fd, const void *key, const void *value, __u64 flags);

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_map_update_elem");
	return fails() ? -ENOMEM : real(fd, key, value, flags);
}

int bpf_map_delete_elem(int fd, const void *key)
{
	static int (*real)(int fd, const void *key);

	if (!real)
		real = dlsym(RTLD_NEXT, "bpf_map_delete_elem");
	return fails() ? -ENOMEM : real(fd, key);
}
