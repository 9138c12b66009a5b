// SPDX-License-Identifier: GPL-2.0
/* Addresses of sockets: their family, and the checks of one. */

#include <linux/module.h>
#include <linux/socket.h>
#include "canary.h"

int canary_family = AF_CANARY;
module_param_named(family, canary_family, int, 0444);
MODULE_PARM_DESC(family, "number of the socket family, an unused one");

/* Check an address for bind() and connect(). Return: 0 or a negative errno */
int canary_check_addr(const struct sockaddr *addr, int len)
{
	const struct sockaddr_canary *a = (const struct sockaddr_canary *)addr;

	if (len < (int)sizeof(*a))
		return -EINVAL;
	if (a->scan_family != canary_family)
		return -EAFNOSUPPORT;
	if (a->scan_zero || a->scan_scope)
		return -EINVAL;
	/* IPv6 is refused only here. Code that sends and receives packets relies on that. */
	if (!canary_addr_is_ip4(&a->scan_addr) && !canary_addr_is_any(&a->scan_addr))
		return -EAFNOSUPPORT;
	if (a->scan_port && !canary_port_ok(a->scan_port))
		return -EINVAL;
	return 0;
}
