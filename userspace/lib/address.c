// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a member lives: the address that the route to rank 0 gives it, and a port of the range.
 * The same for both engines.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/canary.h>
#include "lib.h"

int lib_open_routed(const struct canary_params *params, struct sockaddr_in *local)
{
	struct sockaddr_in any_port = *local;
	socklen_t len = sizeof(*local);
	int fd, err;

	any_port.sin_port = 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return lib_error(-errno, "UDP socket: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&any_port, sizeof(any_port))) {
		err = lib_error(-errno, "bind: %s: %s", lib_address(local), strerror(errno));
		goto close;
	}
	if (connect(fd, (const struct sockaddr *)&params->root, sizeof(params->root)) ||
	    getsockname(fd, (struct sockaddr *)&any_port, &len)) {
		err = lib_error(-errno, "root: %s: %s", lib_address(&params->root),
				strerror(errno));
		goto close;
	}
	local->sin_addr = any_port.sin_addr;
	return fd;
close:
	close(fd);
	return err;
}

/* struct sockaddr_canary has the form of struct sockaddr_in, so one function binds both. */
_Static_assert(sizeof(struct sockaddr_canary) == sizeof(struct sockaddr_in), "size");
_Static_assert(offsetof(struct sockaddr_canary, scan_port) ==
	       offsetof(struct sockaddr_in, sin_port), "port");
_Static_assert(offsetof(struct sockaddr_canary, scan_addr) ==
	       offsetof(struct sockaddr_in, sin_addr), "address");

static int bind_port(int fd, int family, const struct sockaddr_in *local)
{
	struct sockaddr_in sin = *local;

	sin.sin_family = family;
	return bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ? -errno : 0;
}

/* Any free port; the first one last, it may be wanted by a rank 0 that starts later. */
static int bind_any(int fd, int family, const struct canary_params *params,
		    struct sockaddr_in *local)
{
	bool beside_root = local->sin_addr.s_addr == params->root.sin_addr.s_addr;
	int i, err;

	for (i = 1; i <= CANARY_PORTS; i++) {
		local->sin_port = htons(CANARY_PORT_BASE + i % CANARY_PORTS);
		if (beside_root && local->sin_port == params->root.sin_port)
			continue;
		err = bind_port(fd, family, local);
		if (err != -EADDRINUSE)
			return err;
	}
	local->sin_port = 0;
	return err;
}

int lib_bind(int fd, int family, const struct canary_params *params, struct sockaddr_in *local)
{
	bool any = !local->sin_port;
	int routed, err;

	routed = lib_open_routed(params, local);
	if (routed < 0)
		return routed;
	close(routed);
	if (any)
		err = bind_any(fd, family, params, local);
	else
		err = bind_port(fd, family, local);
	if (err == -EADDRINUSE && any)
		return lib_error(err, "bind: all ports %d to %d of %s are taken",
				 CANARY_PORT_BASE, CANARY_PORT_BASE + CANARY_PORTS - 1,
				 lib_address(local));
	if (err)
		return lib_error(err, "bind: %s: %s", lib_address(local), strerror(-err));
	return 0;
}

int lib_share_check(const struct canary_params *params, const struct sockaddr_in *local)
{
	const struct sockaddr_in *bind = &params->bind;

	if ((!bind->sin_addr.s_addr || bind->sin_addr.s_addr == local->sin_addr.s_addr) &&
	    (!bind->sin_port || bind->sin_port == local->sin_port))
		return 0;
	return lib_error(-EINVAL, "share: that communicator is at %s, not at %s",
			 lib_address(local), lib_address(bind));
}
