// SPDX-License-Identifier: BSD-2-Clause
/* Parsing and printing of addresses, and the functions of struct canary_addr */
#include <arpa/inet.h>
#include <string.h>

#include "selftests/tap.h"
#include "userspace/common/address.h"

static const struct {
	const char *text;
	bool good;
	const char *port;
	const char *shown;	/* NULL: the same as @text */
} addresses[] = {
	{ "10.0.0.1", true, NULL, NULL },
	{ "10.0.0.1:22600", true, "22600", "10.0.0.1" },
	{ "10.0.0.1:", true, "", "10.0.0.1" },
	{ "::ffff:10.0.0.1", true, NULL, "10.0.0.1" },
	{ "2001:db8::1", true, NULL, NULL },
	{ "[2001:db8::1]:22601", true, "22601", "2001:db8::1" },
	{ "[2001:db8::1]", true, NULL, "2001:db8::1" },
	{ "", false, NULL, NULL },
	{ "10.0.0", false, NULL, NULL },
	{ "10.0.0.256", false, NULL, NULL },
	{ "10.0.0.1 ", false, NULL, NULL },
	{ "[10.0.0.1]:22600", false, NULL, NULL },
	{ "[2001:db8::1", false, NULL, NULL },
	{ "[2001:db8::1]22601", false, NULL, NULL },
	{ "2001:db8::g", false, NULL, NULL },
	{ "2001:0db8:0000:0000:0000:0000:0000:0000:0000:0000:0001", false, NULL, NULL },
};

static void test_addresses(void)
{
	struct canary_addr addr;
	char text[ADDRESS_TEXT];
	const char *port;
	bool good;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		port = NULL;
		good = address_parse_port(addresses[i].text, &addr, &port);
		if (good)
			good = !strcmp(address_text(&addr, text), addresses[i].shown ?
				       addresses[i].shown : addresses[i].text) &&
			       (port ? addresses[i].port && !strcmp(port, addresses[i].port) :
				!addresses[i].port);
		tap(good == addresses[i].good, "address '%s'", addresses[i].text);
	}
}

static const struct {
	const char *text;
	enum address_prefix is;
	uint32_t bits;
} prefixes[] = {
	{ "10.0.0.0/8", ADDRESS_PREFIX_OK, 104 },
	{ "0.0.0.0/0", ADDRESS_PREFIX_OK, 96 },
	{ "10.0.0.1/32", ADDRESS_PREFIX_OK, 128 },
	{ "::/0", ADDRESS_PREFIX_OK, 0 },
	{ "2001:db8::/32", ADDRESS_PREFIX_OK, 32 },
	{ "2001:db8:8000::/33", ADDRESS_PREFIX_OK, 33 },
	{ "10.0.0.1/31", ADDRESS_PREFIX_ONES, 127 },
	{ "2001:db8:8000::/32", ADDRESS_PREFIX_ONES, 32 },
	{ "10.0.0.0/33", ADDRESS_PREFIX_LENGTH, 0 },
	{ "::/129", ADDRESS_PREFIX_LENGTH, 0 },
	{ "10.0.0.0/", ADDRESS_PREFIX_LENGTH, 0 },
	{ "10.0.0/8", ADDRESS_PREFIX_JUNK, 0 },
};

static void test_prefixes(void)
{
	struct canary_addr addr, cut;
	enum address_prefix is;
	char text[ADDRESS_TEXT];
	uint32_t bits;
	bool right;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		is = address_parse_prefix(prefixes[i].text, &addr, &bits);
		right = is == prefixes[i].is;
		if (right && (is == ADDRESS_PREFIX_OK || is == ADDRESS_PREFIX_ONES)) {
			cut = addr;
			canary_addr_cut(&cut, bits);
			right = bits == prefixes[i].bits && canary_addr_is_prefix(&cut, bits) &&
				canary_addr_within(&addr, &cut, bits) &&
				canary_addr_equal(&addr, &cut) == (is == ADDRESS_PREFIX_OK) &&
				!strcmp(address_prefix_text(&addr, bits, text), prefixes[i].text);
		}
		tap(right, "prefix '%s'", prefixes[i].text);
	}
	/* addresses of nobody and of everybody */
	addr = canary_addr_of_ip4(0);
	tap(canary_addr_is_any(&addr) && !canary_addr_is_zero(&addr) &&
	    !canary_addr_is_host_ip4(&addr), "0.0.0.0 is any address, and no host's");
}

static void test_order(void)
{
	static const char *const order[] = { "::2", "9.255.0.1", "10.0.0.1", "10.0.0.2",
					     "128.0.0.1", "2001:db8::", "ff02::1" };
	struct canary_addr a, b;
	bool right = true;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		for (k = 0; k < ARRAY_SIZE(order); k++) {
			right &= address_parse(order[i], strlen(order[i]), &a) &&
				 address_parse(order[k], strlen(order[k]), &b);
			right &= (canary_addr_compare(&a, &b) < 0) == (i < k);
			right &= !canary_addr_compare(&a, &b) == (i == k);
			right &= canary_addr_equal(&a, &b) == (i == k);
		}
	}
	tap(right, "addresses are in order, and equal only to themselves");
}

int main(void)
{
	test_addresses();
	test_prefixes();
	test_order();
	return tap_done("user/address");
}
