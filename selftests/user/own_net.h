/* SPDX-License-Identifier: BSD-2-Clause */
/* A network namespace for a test program, as ports of the machine may be in use. */
#ifndef SELFTESTS_OWN_NET_H
#define SELFTESTS_OWN_NET_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Return: false if that is not allowed here */
static inline bool own_net(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP };
	int fd, err;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	strcpy(ifr.ifr_name, "lo");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	err = ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return !err;
}

#endif /* SELFTESTS_OWN_NET_H */
