// SPDX-License-Identifier: BSD-2-Clause
/*
 * The address and port of a member, for both engines. The route to rank 0 gives the address. The
 * port comes from the range of Canary.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/canary.h>
#include "lib.h"

void lib_to_sockaddr(struct sockaddr_in *sin, const struct canary_addr *addr, __be16 port)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = canary_addr_ip4(addr);
	sin->sin_port = port;
}

struct canary_peer lib_of_sockaddr(const struct sockaddr_in *sin)
{
	return (struct canary_peer){
		.addr = canary_addr_of_ip4(sin->sin_addr.s_addr),
		.port = sin->sin_port,
	};
}

int lib_open_routed(const struct canary_params *params, struct canary_peer *local)
{
	struct sockaddr_in any_port, root;
	socklen_t len = sizeof(any_port);
	int fd, err;

	lib_to_sockaddr(&any_port, &local->addr, 0);
	lib_to_sockaddr(&root, &params->root.addr, params->root.port);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return lib_error(-errno, "UDP socket: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&any_port, sizeof(any_port))) {
		err = lib_error(-errno, "bind: %s: %s", lib_peer(local), strerror(errno));
		goto close;
	}
	if (connect(fd, (struct sockaddr *)&root, sizeof(root)) ||
	    getsockname(fd, (struct sockaddr *)&any_port, &len)) {
		err = lib_error(-errno, "root: %s: %s", lib_peer(&params->root),
				strerror(errno));
		goto close;
	}
	local->addr = canary_addr_of_ip4(any_port.sin_addr.s_addr);
	return fd;
close:
	close(fd);
	return err;
}

static int bind_port(int fd, int family, const struct canary_peer *local)
{
	struct sockaddr_canary scan = {
		.scan_family = family,
		.scan_port = local->port,
		.scan_addr = local->addr,
	};
	struct sockaddr_in sin;
	int err;

	lib_to_sockaddr(&sin, &local->addr, local->port);
	if (family == AF_INET)
		err = bind(fd, (struct sockaddr *)&sin, sizeof(sin));
	else
		err = bind(fd, (struct sockaddr *)&scan, sizeof(scan));
	return err ? -errno : 0;
}

/*
 * Take any free port. The first one of the range is tried last, as a rank 0 that starts later may
 * want it.
 */
static int bind_any(int fd, int family, const struct canary_params *params,
		    struct canary_peer *local)
{
	bool beside_root = canary_addr_equal(&local->addr, &params->root.addr);
	int i, err;

	for (i = 1; i <= CANARY_PORTS; i++) {
		local->port = htons(CANARY_PORT_BASE + i % CANARY_PORTS);
		if (beside_root && local->port == params->root.port)
			continue;
		err = bind_port(fd, family, local);
		if (err != -EADDRINUSE)
			return err;
	}
	local->port = 0;
	return err;
}

int lib_bind(int fd, int family, const struct canary_params *params, struct canary_peer *local)
{
	bool any = !local->port;
	int routed, err;

	/* A member that will be formed from a table has a given address. */
	if (!params->table) {
		routed = lib_open_routed(params, local);
		if (routed < 0)
			return routed;
		close(routed);
	}
	if (any)
		err = bind_any(fd, family, params, local);
	else
		err = bind_port(fd, family, local);
	if (err == -EADDRINUSE && any)
		return lib_error(err, "bind: all ports %d to %d of %s are taken",
				 CANARY_PORT_BASE, CANARY_PORT_BASE + CANARY_PORTS - 1,
				 lib_peer(local));
	if (err)
		return lib_error(err, "bind: %s: %s", lib_peer(local), strerror(-err));
	return 0;
}

int lib_share_check(const struct canary_params *params, const struct canary_peer *local)
{
	const struct canary_peer *bind = &params->bind;

	if ((canary_addr_is_any(&bind->addr) || canary_addr_equal(&bind->addr, &local->addr)) &&
	    (!bind->port || bind->port == local->port))
		return 0;
	return lib_error(-EINVAL, "share: that communicator is at %s, not at %s",
			 lib_peer(local), lib_peer(bind));
}
