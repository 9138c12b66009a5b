/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses as people write them. All programs take and show the same:
 *
 *   10.0.0.1		2001:db8::1		an address
 *   10.0.0.1:22600	[2001:db8::1]:22600	an address with a port
 *   10.0.0.0/8		2001:db8::/32		a prefix; without a length it is the address itself
 *
 * The parser also takes addresses that the caller cannot use. The caller refuses those.
 */
#ifndef CANARY_COMMON_ADDRESS_H
#define CANARY_COMMON_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kmod/core/platform.h"

#define ADDRESS_TEXT	64	/* room for any of them */

/* address_parse() - parse @len bytes of @text. Return: false if they are no address. */
bool address_parse(const char *text, size_t len, struct canary_addr *addr);

/*
 * address_parse_port() - parse ADDRESS[:PORT]
 * @port: receives where the port begins, or NULL if there is none
 */
bool address_parse_port(const char *text, struct canary_addr *addr, const char **port);

/* What is wrong with a prefix */
enum address_prefix {
	ADDRESS_PREFIX_OK,
	ADDRESS_PREFIX_JUNK,	/* no address */
	ADDRESS_PREFIX_LENGTH,	/* no length, or one that is too large */
	ADDRESS_PREFIX_ONES,	/* bits behind the length are set */
};

/* address_parse_prefix() - parse ADDRESS[/LENGTH]. @bits counts as in struct canary_addr. */
enum address_prefix address_parse_prefix(const char *text, struct canary_addr *addr,
					 uint32_t *bits);

/* Each writes up to ADDRESS_TEXT bytes to @text and returns it. The zero address is 0.0.0.0. */
const char *address_text(const struct canary_addr *addr, char *text);
const char *address_port_text(const struct canary_addr *addr, __be16 port, char *text);
const char *address_prefix_text(const struct canary_addr *addr, uint32_t bits, char *text);

#endif /* CANARY_COMMON_ADDRESS_H */
