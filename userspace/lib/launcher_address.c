// SPDX-License-Identifier: BSD-2-Clause
/* Where rank 0 is, for launchers: its own address and a free port, or the address of its host. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "launcher.h"
#include "userspace/common/own_address.h"

#define INTERFACES	"CANARY_INTERFACES"

static bool is_loopback(const struct canary_addr *addr)
{
	return ntohl(canary_addr_ip4(addr)) >> 24 == IN_LOOPBACKNET;
}

/* The address that others can send to */
static int choose_address(struct canary_addr *addr, bool one_host)
{
	const char *interfaces = getenv(INTERFACES) ?: "";
	unsigned int mtu;

	if (!own_address(interfaces, one_host, addr, &mtu))
		return 0;
	if (*interfaces)
		return lib_error(-EADDRNOTAVAIL, INTERFACES ": this host has no address of '%s'",
				 interfaces);
	return lib_error(-EADDRNOTAVAIL, "this host has no address that others can send to");
}

static bool is_free(const struct canary_peer *peer)
{
	struct sockaddr_in sin;
	bool bound;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	lib_to_sockaddr(&sin, &peer->addr, peer->port);
	bound = !bind(fd, (struct sockaddr *)&sin, sizeof(sin));
	close(fd);
	return bound;
}

/*
 * The port is only taken when the member is opened. So begin anywhere: two jobs that start on a
 * host at the same time then hardly choose the same.
 */
static int free_port(struct canary_peer *own)
{
	char text[ADDRESS_TEXT];
	u32 start = 0, i;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	for (i = 0; i < CANARY_PORTS; i++) {
		own->port = htons(CANARY_PORT_BASE + (start + i) % CANARY_PORTS);
		if (is_free(own))
			return 0;
	}
	return lib_error(-EADDRINUSE, "%s is not of this host, or its ports %d to %d are taken",
			 address_text(&own->addr, text), CANARY_PORT_BASE,
			 CANARY_PORT_BASE + CANARY_PORTS - 1);
}

int launcher_own_address(struct canary_peer *own, bool one_host)
{
	int err = 0;

	if (canary_addr_is_any(&own->addr))
		err = choose_address(&own->addr, one_host);
	if (!err && !own->port)
		err = free_port(own);
	return err;
}

/*
 * A host may know itself by a loopback address: Debian's installer has such a line in /etc/hosts.
 * Others send to it by another address: that of its first interface, most likely.
 */
int launcher_host_address(const struct launched *l, struct canary_addr *addr)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *list, *i;
	bool found = false;
	int err;

	if (address_parse(l->host, strlen(l->host), addr))
		return 0;
	err = getaddrinfo(l->host, NULL, &hints, &list);
	if (err)
		return lib_error(-EADDRNOTAVAIL, "%s: the host of rank 0 is %s: %s", l->name, l->host,
				 gai_strerror(err));
	for (i = list; i && !found; i = i->ai_next) {
		*addr = canary_addr_of_ip4(((struct sockaddr_in *)i->ai_addr)->sin_addr.s_addr);
		found = !is_loopback(addr);
	}
	freeaddrinfo(list);
	if (found || l->one_host || !strcmp(l->host, "localhost"))
		return 0;
	return choose_address(addr, false);
}

bool launcher_first_host(const char *list, char *name, size_t len)
{
	bool inside = false, skip = false;
	size_t at = 0;

	for (; *list && (inside || *list != ','); list++) {
		if (*list == '[' || *list == ']') {
			if (inside == (*list == '['))
				return false;
			inside = *list == '[';
			skip = false;
			continue;
		}
		skip |= inside && (*list == '-' || *list == ',');
		if (skip)
			continue;
		if (at + 1 >= len)
			return false;
		name[at++] = *list;
	}
	name[at] = 0;
	return at && !inside;
}
