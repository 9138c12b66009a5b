// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user engine's UDP socket: address, port, path MTU, options. user_train.c sends and receives.
 */
#include <ifaddrs.h>
#include <limits.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "user.h"

/* Every member may send a leader a whole window at once. */
#define SOCKET_BUFFER	(8 << 20)

static int interface_mtu(int fd, const char *name)
{
	struct ifreq ifr = { 0 };

	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	return ioctl(fd, SIOCGIFMTU, &ifr) ? -errno : ifr.ifr_mtu;
}

/*
 * MTU of the interface that has the address. A router may have its address on the loopback device.
 * Then it is the smallest MTU of all real interfaces.
 */
static int local_mtu(int fd, const struct canary_peer *local)
{
	__be32 own = canary_addr_ip4(&local->addr);
	bool on_loopback = true, loopback_net = ntohl(own) >> 24 == 127;
	struct ifaddrs *all, *i;
	int mtu, least = INT_MAX;

	if (getifaddrs(&all))
		return -errno;
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    ((struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr != own)
			continue;
		on_loopback = i->ifa_flags & IFF_LOOPBACK;
		mtu = interface_mtu(fd, i->ifa_name);
		if (!on_loopback || loopback_net)
			least = min_t(int, mtu, least);
	}
	for (i = all; i && on_loopback && !loopback_net; i = i->ifa_next) {
		if (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		mtu = interface_mtu(fd, i->ifa_name);
		if (mtu > 0)
			least = min_t(int, mtu, least);
	}
	freeifaddrs(all);
	return least;
}

/*
 * MTU of the interface towards rank 0. The kernel may know a smaller MTU of the route, but an
 * attacker can forge that. The rendezvous finds out what a path really takes.
 */
static int route_mtu(int fd, const struct canary_peer *local)
{
	socklen_t len = sizeof(int);
	int mtu, own, err = 0;

	if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len))
		err = -errno;
	own = local_mtu(fd, local);
	/* emulators of other processors do not have the option */
	if (err)
		return err == -ENOPROTOOPT && own < INT_MAX ? own : err;
	return own < INT_MAX ? max_t(int, mtu, own) : mtu;
}

int user_path_mtu(const struct canary_params *params, const struct canary_peer *local)
{
	struct canary_peer address = *local;
	int fd, mtu;

	fd = lib_open_routed(params, &address);
	if (fd < 0)
		return fd;
	mtu = params->rank ? route_mtu(fd, local) : local_mtu(fd, local);
	close(fd);
	if (mtu < 0)
		return lib_error(mtu, "MTU of the path: %s", strerror(-mtu));
	if (params->mtu)
		mtu = min_t(int, mtu, params->mtu);
	/* Larger packets would not carry more data. */
	mtu = min_t(int, mtu, CANARY_PAYLOAD_MAX + CANARY_UDP_HEADERS +
		    canary_addr_ip_header(&local->addr));
	if (mtu < 576)
		return lib_error(-EMSGSIZE, "MTU of the path to %s is %d, less than 576",
				 lib_peer(&params->root), mtu);
	return mtu;
}

static void set_buffer(int fd, int force, int option, int size)
{

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, option, &size, sizeof(size));
}

/* Drop packets without a UDP checksum, which the kernel would accept. */
static int want_checksums(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct udphdr, check)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, ~0U),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/*
 * Packets are not fragmented, and ICMP about the path MTU is not believed. IP_RECVERR is set for
 * another reason: without it the kernel does not tell that a queue of this host was full.
 */
static int set_options(int fd)
{
	int one = 1, pmtu = IP_PMTUDISC_PROBE;

	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, SOCKET_BUFFER);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SOCKET_BUFFER);
	if (want_checksums(fd) ||
	    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu)))
		return lib_error(-errno, "UDP socket options: %s", strerror(errno));
	return 0;
}

int user_socket_open(const struct canary_params *params, struct canary_peer *local)
{
	int fd, err;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return lib_error(-errno, "UDP socket: %s", strerror(errno));
	err = set_options(fd);
	if (!err)
		err = lib_bind(fd, AF_INET, params, local);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The kernel doubles the value. */
void user_out_room(int sock, u32 bytes)
{
	set_buffer(sock, SO_SNDBUFFORCE, SO_SNDBUF, bytes / 2);
}
