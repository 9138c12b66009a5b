// SPDX-License-Identifier: BSD-2-Clause
/* Parsers of values, see parse.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "parse.h"

const struct parse_unit parse_counts[] = { { "", 1 }, { NULL, 0 } };

const struct parse_unit parse_times[] = {
	{ "ps", 1 }, { "ns", 1000 }, { "us", 1000000 }, { "ms", 1000000000 },
	{ "s", 1000000000000 }, { NULL, 0 },
};

const struct parse_unit parse_bytes[] = {
	{ "", 1 }, { "B", 1 }, { "K", 1 << 10 }, { "KiB", 1 << 10 }, { "M", 1 << 20 },
	{ "MiB", 1 << 20 }, { "G", 1 << 30 }, { "GiB", 1 << 30 }, { NULL, 0 },
};

const struct parse_unit parse_rates[] = {
	{ "bit", 1 }, { "kbit", 1000 }, { "mbit", 1000000 }, { "gbit", 1000000000 },
	{ "tbit", 1000000000000 }, { NULL, 0 },
};

const struct parse_unit parse_shares[] = { { "ppm", 1 }, { "%", 10000 }, { NULL, 0 } };

const struct parse_unit parse_us[] = {
	{ "", 1 }, { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { NULL, 0 },
};

const struct parse_unit parse_ms[] = { { "", 1 }, { "ms", 1 }, { "s", 1000 }, { NULL, 0 } };

#define FRACTION_FROM	100000000000000000ULL	/* further digits of a fraction are not kept */
#define EXPONENT_MIN	(-36)	/* less is no unit; 128 bits hold what is not */

/*
 * struct decimal - @digits times 10 to the power of @exponent
 * @rest:	digits of the fraction that @digits could not hold are not all zeros
 * @large:	the integer part does not fit @digits
 */
struct decimal {
	uint64_t digits;
	int exponent;
	bool rest;
	bool large;
};

static void take_digit(struct decimal *d, unsigned int digit)
{
	d->large |= d->digits > (UINT64_MAX - digit) / 10;
	d->digits = 10 * d->digits + digit;
}

static void take_fraction(struct decimal *d, unsigned int digit)
{
	if (d->digits >= FRACTION_FROM) {
		d->rest |= digit;
		return;
	}
	d->digits = 10 * d->digits + digit;
	d->exponent--;
}

static const char *take_exponent(struct decimal *d, const char *p)
{
	const char *q = p;
	bool minus;
	int exponent = 0;

	if ((*q | 0x20) != 'e')
		return p;
	q++;
	minus = *q == '-';
	q += minus || *q == '+';
	if (!isdigit((unsigned char)*q))
		return p;
	for (; isdigit((unsigned char)*q); q++)
		if (exponent < 1000)
			exponent = 10 * exponent + (*q - '0');
	d->exponent += minus ? -exponent : exponent;
	return q;
}

static const char *take_hex(struct decimal *d, const char *p)
{
	for (p += 2; isxdigit((unsigned char)*p); p++) {
		d->large |= d->digits >> 60;
		d->digits = d->digits << 4 |
			    (isdigit((unsigned char)*p) ? *p - '0' : (*p | 0x20) - 'a' + 10);
	}
	return p;
}

/* Return: what follows the number, or NULL if there is no number */
static const char *take_number(struct decimal *d, const char *p)
{
	if (!isdigit((unsigned char)*p))
		return NULL;
	if (p[0] == '0' && (p[1] | 0x20) == 'x' && isxdigit((unsigned char)p[2]))
		return take_hex(d, p);
	for (; isdigit((unsigned char)*p); p++)
		take_digit(d, *p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			take_fraction(d, *p - '0');
	return take_exponent(d, p);
}

/* Multiply @d by @factor and round. Return: false if 64 bits cannot hold the result. */
static bool scale(const struct decimal *d, uint64_t factor, uint64_t *value, bool *whole)
{
	unsigned __int128 n = (unsigned __int128)d->digits * factor, power = 1;
	int exponent = d->exponent;

	for (; n && exponent > 0; exponent--) {
		if (n > UINT64_MAX)
			return false;
		n *= 10;
	}
	if (exponent < EXPONENT_MIN) {
		*whole = !n && !d->rest;
		*value = 0;
		return true;
	}
	for (; exponent < 0; exponent++)
		power *= 10;
	*whole = !d->rest && !(n % power);
	n = n / power + (n % power >= power - power / 2 && power > 1);
	*value = n;
	return n <= UINT64_MAX;
}

enum parse_result parse_quantity(const char *text, const struct parse_unit *units, uint64_t min,
				 uint64_t max, uint64_t *value)
{
	struct decimal d = { 0 };
	const char *unit = take_number(&d, text);
	const struct parse_unit *u = units;
	uint64_t n = 0;
	bool whole;

	while (unit && u->name && strcasecmp(u->name, unit))
		u++;
	if (!unit || !u->name)
		return PARSE_JUNK;
	if (d.large || !scale(&d, u->factor / units->factor, &n, &whole))
		return PARSE_LARGE;
	if (!whole && !*units->name)
		return PARSE_JUNK;
	if (n < min || (!n && !whole))
		return PARSE_SMALL;
	if (n > max)
		return PARSE_LARGE;
	*value = n;
	return PARSE_OK;
}

bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *value)
{
	uint64_t n;

	if (parse_quantity(text, parse_counts, min, max, &n))
		return false;
	*value = n;
	return true;
}

void parse_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

const char *parse_shown(char text[PARSE_SHOWN], const char *value)
{
	size_t len = strlen(value);

	if (len < PARSE_SHOWN)
		memcpy(text, value, len + 1);
	else
		snprintf(text, PARSE_SHOWN, "%.*s...", PARSE_SHOWN - 4, value);
	parse_clean(text);
	return text;
}

bool parse_flag(const char *text, bool *value)
{
	static const char *const words[] = { "1", "0", "yes", "no", "true", "false", "on", "off" };
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcasecmp(text, words[i]))
			continue;
		*value = !(i % 2);
		return true;
	}
	return false;
}

bool parse_range(const char *text, uint32_t *first, uint32_t *last)
{
	const char *dash = strchr(text, '-');
	char from[PARSE_TEXT];
	uint32_t a, b;

	if (!dash) {
		if (!parse_number(text, 0, UINT32_MAX, &a))
			return false;
		*first = a;
		*last = a;
		return true;
	}
	if (dash - text >= (ptrdiff_t)sizeof(from))
		return false;
	memcpy(from, text, dash - text);
	from[dash - text] = '\0';
	if (!parse_number(from, 0, UINT32_MAX, &a) || !parse_number(dash + 1, a, UINT32_MAX, &b))
		return false;
	*first = a;
	*last = b;
	return true;
}

int parse_word(const char *text, const char *const words[])
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	return -1;
}

const char *parse_text(char *text, const struct parse_unit *units, uint64_t value)
{
	const struct parse_unit *best = units, *u;

	for (u = units; u->name && (value || *units->name); u++)
		if (!(value % (u->factor / units->factor)))
			best = u;
	snprintf(text, PARSE_TEXT, "%" PRIu64 "%s", value / (best->factor / units->factor),
		 best->name);
	return text;
}

const char *parse_words_text(char *text, size_t len, const char *const words[])
{
	size_t at = 0;
	int i;

	text[0] = '\0';
	for (i = 0; words[i] && at < len; i++)
		at += snprintf(text + at, len - at, "%s%s", i ? ", " : "", words[i]);
	return text;
}
