/* SPDX-License-Identifier: BSD-2-Clause */
/* The address by which other hosts reach this process. All programs choose it alike. */
#ifndef CANARY_COMMON_OWN_ADDRESS_H
#define CANARY_COMMON_OWN_ADDRESS_H

#include <stdbool.h>
#include "kmod/core/platform.h"

/*
 * own_address() - the address by which other hosts reach this process
 * @interfaces:	names of interfaces or prefixes, separated by commas, of which the first one that
 *		has an address counts; "": the first interface that is up and no loopback
 * @loopback:	if this machine has no other one, the loopback's will do
 * @addr:	receives it
 * @mtu:	receives the MTU of the interface
 * Return: 0; -EADDRNOTAVAIL: there is none; a negative errno of getifaddrs(3)
 */
int own_address(const char *interfaces, bool loopback, struct canary_addr *addr, unsigned int *mtu);

#endif /* CANARY_COMMON_OWN_ADDRESS_H */
