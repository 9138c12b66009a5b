// SPDX-License-Identifier: BSD-2-Clause
/* Addresses as people write them, see address.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "address.h"
#include "userspace/common/parse.h"

bool address_parse(const char *text, size_t len, struct canary_addr *addr)
{
	char copy[INET6_ADDRSTRLEN];
	__be32 ip;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strchr(copy, ':'))
		return inet_pton(AF_INET6, copy, addr) == 1;
	if (inet_pton(AF_INET, copy, &ip) != 1)
		return false;
	*addr = canary_addr_of_ip4(ip);
	return true;
}

bool address_parse_port(const char *text, struct canary_addr *addr, const char **port)
{
	const char *end, *colon = strchr(text, ':');

	*port = NULL;
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':') || !memchr(text, ':', end - text))
			return false;
		*port = end[1] ? end + 2 : NULL;
		return address_parse(text + 1, end - text - 1, addr);
	}
	/* More than one colon: an IPv6 address without brackets, which has no port. */
	if (!colon || strchr(colon + 1, ':'))
		return address_parse(text, strlen(text), addr);
	*port = colon + 1;
	return address_parse(text, colon - text, addr);
}

enum address_prefix address_parse_prefix(const char *text, struct canary_addr *addr,
					 uint32_t *bits)
{
	const char *slash = strchr(text, '/');
	uint32_t start;

	if (!address_parse(text, slash ? (size_t)(slash - text) : strlen(text), addr))
		return ADDRESS_PREFIX_JUNK;
	start = canary_addr_is_ip4(addr) ? CANARY_ADDR_IP4_START : 0;
	*bits = CANARY_ADDR_BITS - start;
	if (slash && !parse_number(slash + 1, 0, *bits, bits))
		return ADDRESS_PREFIX_LENGTH;
	*bits += start;
	return canary_addr_is_prefix(addr, *bits) ? ADDRESS_PREFIX_OK : ADDRESS_PREFIX_ONES;
}

static bool is_ip4(const struct canary_addr *addr)
{
	return canary_addr_is_ip4(addr) || canary_addr_is_any(addr);
}

const char *address_text(const struct canary_addr *addr, char *text)
{
	__be32 ip = canary_addr_ip4(addr);

	if (is_ip4(addr))
		return inet_ntop(AF_INET, &ip, text, ADDRESS_TEXT);
	return inet_ntop(AF_INET6, addr, text, ADDRESS_TEXT);
}

const char *address_port_text(const struct canary_addr *addr, __be16 port, char *text)
{
	char host[ADDRESS_TEXT];

	address_text(addr, host);
	snprintf(text, ADDRESS_TEXT, is_ip4(addr) ? "%.45s:%u" : "[%.45s]:%u", host, ntohs(port));
	return text;
}

const char *address_prefix_text(const struct canary_addr *addr, uint32_t bits, char *text)
{
	uint32_t start = canary_addr_is_ip4(addr) && bits >= CANARY_ADDR_IP4_START ?
			 CANARY_ADDR_IP4_START : 0;
	char host[ADDRESS_TEXT];

	if (start)
		address_text(addr, host);
	else
		inet_ntop(AF_INET6, addr, host, sizeof(host));
	snprintf(text, ADDRESS_TEXT, "%.45s/%u", host, bits - start);
	return text;
}
