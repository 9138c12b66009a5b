// SPDX-License-Identifier: BSD-2-Clause
/* Parsers of numbers, durations, prefixes and lists, and what they refuse */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"

int switchd_refuse(char *err, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -1;
}

int switchd_each(void *arg, const char *text, char *err, size_t len,
		 int (*fn)(void *arg, char *one, char *err, size_t len))
{
	char *copy = strdup(text), *rest = copy, *one;
	int ret = 0;

	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	while (!ret && (one = strsep(&rest, ",")))
		ret = fn(arg, one, err, len);
	free(copy);
	return ret;
}

int setting_quantity(const char *said, const char *text, const struct parse_unit *units,
		     uint64_t min, uint64_t max, uint64_t *value, char *err, size_t len)
{
	const struct option_row row = { .units = units, .min = min, .max = max };
	enum parse_result result = parse_quantity(text, units, min, max, value);
	char range[2 * PARSE_TEXT];

	if (result == PARSE_OK)
		return 0;
	option_range(&row, range);
	if (units == parse_counts)
		return switchd_refuse(err, len, "%s: '%s' is not a number from %s", said, text,
				      range);
	if (result == PARSE_JUNK)
		return switchd_refuse(err, len, "%s: '%s' is no duration: a number and ns, us, ms or s (%s)",
				      said, text, range);
	return switchd_refuse(err, len, "%s: %s is out of range: %s", said, text, range);
}

int setting_number(const char *said, const char *text, uint32_t min, uint32_t max,
		   uint32_t *value, char *err, size_t len)
{
	uint64_t n;

	if (setting_quantity(said, text, parse_counts, min, max, &n, err, len))
		return -1;
	*value = n;
	return 0;
}

int switchd_prefix(const char *option, const char *expected, const char *text,
		   struct switchd_prefix *prefix, char *err, size_t len)
{
	switch (address_parse_prefix(text, &prefix->addr, &prefix->bits)) {
	case ADDRESS_PREFIX_JUNK:
		return switchd_refuse(err, len, "%s: '%s' is %s", option, text, expected);
	case ADDRESS_PREFIX_LENGTH:
		return switchd_refuse(err, len, "%s: '%s' is not a length of a prefix from 0 to %d",
				      option, strchr(text, '/'),
				      canary_addr_is_ip4(&prefix->addr) ? CANARY_ADDR_IP4_BITS :
				      CANARY_ADDR_BITS);
	default:
		break;
	}
	/* IPv6 is refused here and nowhere else. Neither routes nor the data plane know it. */
	if (!canary_addr_is_ip4(&prefix->addr))
		return switchd_refuse(err, len, "%s: '%s': IPv6 is not supported yet", option, text);
	return 0;
}
