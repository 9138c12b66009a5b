// SPDX-License-Identifier: BSD-2-Clause
/* The own address: of an interface that the user names, or of the first one that is usable. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "address.h"
#include "own_address.h"

static unsigned int interface_mtu(const char *name)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_mtu = 0 };
	unsigned int mtu = 1500;

	if (sock < 0)
		return mtu;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (!ioctl(sock, SIOCGIFMTU, &request))
		mtu = request.ifr_mtu;
	close(sock);
	return mtu;
}

static uint32_t ip4(const struct ifaddrs *at)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(void *)at->ifa_addr;

	return in->sin_addr.s_addr;
}

/* Does the user's word mean this interface? */
static bool matches(const struct ifaddrs *at, const char *word)
{
	struct canary_addr prefix, own = canary_addr_of_ip4(ip4(at));
	uint32_t bits;

	if (!strcmp(at->ifa_name, word))
		return true;
	return address_parse_prefix(word, &prefix, &bits) == ADDRESS_PREFIX_OK &&
	       canary_addr_within(&own, &prefix, bits);
}

static const struct ifaddrs *find(const struct ifaddrs *all, const char *word, bool loopback)
{
	const struct ifaddrs *at;

	for (at = all; at; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    !(at->ifa_flags & IFF_UP))
			continue;
		if (word ? matches(at, word) : !(at->ifa_flags & IFF_LOOPBACK) == !loopback)
			return at;
	}
	return NULL;
}

/* Return: 0, -ENOMEM, or -EADDRNOTAVAIL if no word of @interfaces means an interface */
static int find_named(const struct ifaddrs *all, const char *interfaces,
		      const struct ifaddrs **found)
{
	char *words = strdup(interfaces), *word, *rest = NULL;

	if (!words)
		return -ENOMEM;
	for (word = strtok_r(words, ",", &rest); word && !*found; word = strtok_r(NULL, ",", &rest))
		*found = find(all, word, false);
	free(words);
	return *found ? 0 : -EADDRNOTAVAIL;
}

/* The first one that is up and no loopback. With @loopback: else that one */
static int find_any(const struct ifaddrs *all, bool loopback, const struct ifaddrs **found)
{
	*found = find(all, NULL, false);
	if (!*found && loopback)
		*found = find(all, NULL, true);
	return *found ? 0 : -EADDRNOTAVAIL;
}

int own_address(const char *interfaces, bool loopback, struct canary_addr *addr, unsigned int *mtu)
{
	const struct ifaddrs *found = NULL;
	struct ifaddrs *all;
	int ret;

	if (getifaddrs(&all))
		return -errno;
	ret = interfaces[0] ? find_named(all, interfaces, &found) :
			      find_any(all, loopback, &found);
	if (!ret) {
		*addr = canary_addr_of_ip4(ip4(found));
		*mtu = interface_mtu(found->ifa_name);
	}
	freeifaddrs(all);
	return ret;
}
